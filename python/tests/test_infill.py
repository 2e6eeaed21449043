"""Templates with holes, and canvases of masked tokens."""

import itertools

import maskwright
import pytest
from conftest import unpack
from maskwright import Canvas, Hole, Template

TOKENS = [b"(", b")", b"()", b"a", b")a", b"</s>", b"<pad>"]
EOS, PAD = 5, 6
NESTED = 'root ::= "(" root ")" root | "a" | ""\n'


@pytest.fixture(scope="module")
def tiny():
    tokens = [*TOKENS[:5], b"", b""]
    return maskwright.Tokenizer.from_tokens(tokens, eos=[EOS])


@pytest.fixture(scope="module")
def nested(tiny):
    return maskwright.Compiler(tiny).compile_gbnf(NESTED)


def is_word(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_accepting()


def fillings(grammar, positions):
    """All ways to fill a canvas, by trying."""
    found = []
    for ids in itertools.product(range(7), repeat=len(positions)):
        if any(known is not None and known != id for known, id in zip(positions, ids)):
            continue
        text = list(itertools.takewhile(lambda id: id < EOS, ids))
        tail = ids[len(text) :]
        if all(id == EOS or id == PAD and at > 0 for at, id in enumerate(tail)):
            if is_word(grammar, b"".join(TOKENS[id] for id in text)):
                found.append(list(ids))
    return found


@pytest.mark.parametrize("positions", [[None] * 3, [0, None, None], [None, 4, None], [None, None, 5], [0, 5, None], []])
def test_canvas_masks_are_exact(tiny, nested, positions):
    canvas = Canvas(nested, positions, padding_id=PAD)
    found = fillings(nested, positions)
    assert canvas.is_possible() == bool(found)
    for i in range(len(positions)):
        mask = maskwright.allocate_token_bitmask(2, tiny.vocab_size)
        free = [*positions[:i], None, *positions[i + 1 :]]
        expected = {ids[i] for ids in fillings(nested, free)}
        assert canvas.fill_bitmask(i, mask, row=1) is (len(expected) < 7) and not mask[0].any()
        assert unpack(mask[1], tiny.vocab_size) == sorted(expected)
    if found:
        assert canvas.complete() in found
    else:
        with pytest.raises(ValueError, match="cannot be completed"):
            canvas.complete()


def test_set_and_undo(nested):
    canvas = Canvas(nested, [None] * 4)
    assert canvas.set(0, 0) and not canvas.set(1, 5) and canvas.positions == [0, None, None, None]
    for refused in (-1, 7, 2**40):
        assert canvas.set(1, refused) is False
    assert canvas.set(3, 1) and len(canvas) == 4 and repr(canvas) == "Canvas(positions=4, masked=2)"
    assert canvas.undo() and canvas.positions == [0, None, None, None]
    canvas.unset(0)
    assert canvas.undo() and canvas.undo() and not canvas.undo()
    assert canvas.positions == [None] * 4


def test_template_masks_are_exact(tiny, nested):
    parts = [b"(", Hole(tokens=2), b")", Hole(max_tokens=1)]
    template = Template(nested, parts)
    assert template.is_possible() and template.why_impossible() is None
    texts = [(list(ids), b"".join(TOKENS[id] for id in ids)) for n in range(3) for ids in itertools.product(range(5), repeat=n)]
    whole = [
        (first, second)
        for (first, a), (second, b) in itertools.product(texts, texts)
        if len(first) == 2 and len(second) <= 1 and is_word(nested, b"(" + a + b")" + b)
    ]
    mask = maskwright.allocate_token_bitmask(1, tiny.vocab_size)
    for prefix in [[], *([id] for id in range(5))]:
        template.fill_next_token_bitmask(0, prefix, mask)
        expected = {first[len(prefix)] for first, _ in whole if first[: len(prefix)] == prefix}
        assert unpack(mask[0], tiny.vocab_size) == sorted(expected)
    template.fill_next_token_bitmask(1, [], mask)
    ends = {EOS} if any(second == [] for _, second in whole) else set()
    assert unpack(mask[0], tiny.vocab_size) == sorted({second[0] for _, second in whole if second} | ends)
    first, second = whole[-1]
    assert not template.fix(0, [*first, 0]) and not template.fix(0, [99, -1])
    assert template.fix(0, first) and template.fix(1, second)
    assert template.complete() == b"(" + b"".join(TOKENS[id] for id in first) + b")" + b"".join(TOKENS[id] for id in second)


def test_templates_cut_inside_of_symbols(tokenizer, compiler):
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}}
    grammar = compiler.compile_json_schema({**schema, "required": ["name", "age"], "additionalProperties": False})
    template = Template(grammar, [b'{"na', Hole(), b'\xa9"', Hole(max_tokens=8), b": 3", Hole(), b"}"])
    text = template.complete()
    assert is_word(grammar, text) and text.startswith(b'{"na') and b'\xa9"' in text
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    template.fill_next_token_bitmask(0, [], mask)
    assert ord("m") in unpack(mask[0], tokenizer.vocab_size)


def test_an_impossible_template_says_why(nested):
    template = Template(nested, [b"()", Hole(tokens=0), b")"])
    assert not template.is_possible() and template.why_impossible().endswith("\u27c2)")
    with pytest.raises(ValueError, match="no text of the language"):
        template.complete()


def test_arguments_are_checked(tiny, nested):
    mask = maskwright.allocate_token_bitmask(1, tiny.vocab_size)
    with pytest.raises(TypeError, match="bytes, str, a list of token ids or Hole"):
        Template(nested, [7])
    with pytest.raises(ValueError, match="not both"):
        Hole(max_tokens=1, tokens=1)
    with pytest.raises(ValueError, match="-1"):
        Hole(tokens=-1)
    assert Hole(tokens=2) == Hole(tokens=2) != Hole(max_tokens=2)
    template = Template(nested, [Hole(tokens=1), Hole()])
    for wrong in (-1, 2):
        with pytest.raises(IndexError, match="it has 2"):
            template.fill_next_token_bitmask(wrong, [], mask)
        with pytest.raises(IndexError):
            template.fix(wrong, [])
    assert template.fix(0, [2])
    with pytest.raises(ValueError, match="fixed already"):
        template.fix(0, [2])
    with pytest.raises(ValueError, match="vocabulary"):
        template.fill_next_token_bitmask(1, [99], mask)
    canvas = Canvas(nested, [None, None])
    for wrong in (-1, 2):
        with pytest.raises(IndexError, match="it has 2"):
            canvas.set(wrong, 0)
        with pytest.raises(IndexError):
            canvas.fill_bitmask(wrong, mask)
    with pytest.raises(ValueError, match="words"):
        canvas.fill_bitmask(0, mask[:, :0].copy())
    with pytest.raises(ValueError, match="vocabulary"):
        Canvas(nested, [7])
    with pytest.raises(ValueError, match="padding"):
        Canvas(nested, [None], padding_id=0)
    with pytest.raises(maskwright.LimitError, match="positions"):
        Canvas(nested, [None] * 100_000)


def test_lexed_grammars(tokenizer, compiler):
    grammar = compiler.compile_builtin("arithmetic")
    template = Template(grammar, [b"(1", Hole(), b"* (", Hole(max_tokens=2)])
    assert template.is_possible() and is_word(grammar, template.complete())
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    template.fill_next_token_bitmask(1, [ord("x")], mask)
    assert unpack(mask[0], tokenizer.vocab_size) == [ord(")")]
    assert template.fix(0, [ord(")")]) and not template.fix(1, tokenizer.encode("x"))
    canvas = Canvas(compiler.compile_builtin("json"), [ord("["), None, None, ord("]")])
    assert canvas.is_possible() and not canvas.set(1, ord(","))


def test_indentation_counts_in_canvases_and_templates(compiler, tokenizer):
    grammar = compiler.compile_builtin("python")
    tokens = tokenizer.encode("if x:\n  y\n")
    masked = [None if token == tokenizer.encode("y")[0] else token for token in tokens]
    canvas = Canvas(grammar, masked)
    assert canvas.is_possible() and canvas.complete() is not None
    too_narrow = tokenizer.encode("if x:\n  y\n z\n")
    assert not Canvas(grammar, too_narrow).is_possible()
    template = Template(grammar, [b"if x:\n", Hole(max_tokens=3), b"  y\n"])
    assert is_word(grammar, template.complete())
    template = Template(grammar, [b"if x:\n", Hole(), b"z\n  y\n"])
    assert is_word(grammar, template.complete())
    assert not Template(grammar, [b"if x:\n  y\n z", Hole()]).is_possible()
