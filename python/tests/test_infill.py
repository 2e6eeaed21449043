"""Templates with holes, and canvases of masked tokens."""

import itertools
import random

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
    assert canvas.decide() == ("possible" if found else "impossible")
    for i in range(len(positions)):
        mask = maskwright.allocate_token_bitmask(2, tiny.vocab_size)
        free = [*positions[:i], None, *positions[i + 1 :]]
        expected = {ids[i] for ids in fillings(nested, free)}
        assert canvas.fill_bitmask(i, mask, row=1, exact=True) == "exact" and not mask[0].any()
        assert unpack(mask[1], tiny.vocab_size) == sorted(expected)
        status = canvas.fill_bitmask(i, mask)
        proven = set(unpack(mask[0], tiny.vocab_size))
        assert proven == expected or status == "bound" and proven < expected
        assert canvas.allows(i, range(-1, 9)) == ["yes" if id in expected else "no" for id in range(-1, 9)]
    if found:
        assert canvas.complete() in found
    else:
        with pytest.raises(ValueError, match="cannot be completed"):
            canvas.complete()


#: Grammars of every kind that a session can run, over few tokens.
KINDS = {
    "contextual lexer": ([b"i", b"f", b" ", b"if"], lambda c: c.compile_lark(NAMES)),
    "basic lexer": ([b"i", b"f", b" ", b"if"], lambda c: c.compile_lark(NAMES, lexer="basic")),
    "no lexer": ([b"i", b"f", b" ", b"if"], lambda c: c.compile_lark(NAMES, lexer="dynamic_complete")),
    "indentation": (
        [b"a", b":\n", b" ", b"\n", b"a\n"],
        lambda c: c.compile_lark(BLOCKS, lexer="basic", indentation="python"),
    ),
    "items that differ": ([b"[", b"1", b"2", b",", b"]", b"1,"], lambda c: c.compile_json_schema(DIFFERENT)),
    "keys in any order": (
        [b'{"', b"a", b'":1,"', b'":1}', b"aa", b"{}"],
        lambda c: c.compile_json_schema(KEYS, property_order="any"),
    ),
}
NAMES = 'start: "if" NAME\nNAME: /[if]+/\n%ignore " "\n'
BLOCKS = """
start: statement+
statement: "a" _NL | "a" ":" _NL _INDENT statement+ _DEDENT
_NL: /(\\r?\\n[ ]*)+/
%declare _INDENT _DEDENT
%ignore " "
"""
DIFFERENT = {"type": "array", "items": {"enum": [1, 2, 12]}, "uniqueItems": True, "minItems": 1}
KEYS = {"type": "object", "properties": {"a": {"const": 1}, "aa": {"const": 1}}, "additionalProperties": False}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_right_for_every_grammar(kind):
    texts, compile_with = KINDS[kind]
    n_tokens = len(texts)
    tokenizer = maskwright.Tokenizer.from_tokens([*texts, b""], eos_token_ids=[n_tokens])
    grammar = compile_with(maskwright.Compiler(tokenizer))
    words = [
        ids + (n_tokens,) * (5 - n)
        for n in range(6)
        for ids in itertools.product(range(n_tokens), repeat=n)
        if is_word(grammar, b"".join(texts[id] for id in ids))
    ]

    def fitting(positions):
        return [word for word in words if all(known in (None, id) for known, id in zip(positions, word))]

    n_answers = n_open = 0
    generator = random.Random(kind)
    for number in range(21):
        word = generator.choice(words)
        positions = [None if number == 0 or generator.random() < 0.6 else id for id in word]
        found = fitting(positions)
        canvas = Canvas(grammar, positions)
        assert canvas.decide() == "possible" and tuple(canvas.complete()) in found
        for i in range(5):
            true = {word[i] for word in fitting([*positions[:i], None, *positions[i + 1 :]])}
            answers = canvas.allows(i, range(n_tokens + 1))
            assert all(answer == "open" or (answer == "yes") == (id in true) for id, answer in enumerate(answers))
            n_answers, n_open = n_answers + len(answers), n_open + answers.count("open")
            mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
            status = canvas.fill_bitmask(i, mask, exact=True)
            proven = set(unpack(mask[0], tokenizer.vocab_size))
            assert proven == true if status == "exact" else proven <= true
        while None in canvas.positions:
            i = generator.choice([i for i, id in enumerate(canvas.positions) if id is None])
            id, before = generator.randrange(n_tokens + 1), canvas.positions
            [answer] = canvas.allows(i, [id])
            assert canvas.set(i, id) == (answer == "yes")
            assert canvas.positions == [*before[:i], id if answer == "yes" else None, *before[i + 1 :]]
            assert tuple(canvas.complete()) in found
    assert n_answers > 500 and n_open == 0


def test_a_canvas_that_is_open(tiny):
    """With too little work for any answer."""
    grammar = maskwright.Compiler(tiny, limits={"infill_work": 1}).compile_gbnf(NESTED)
    canvas = Canvas(grammar, [None] * 40 + [1] + [None] * 40)
    mask = maskwright.allocate_token_bitmask(1, tiny.vocab_size)
    assert canvas.decide() == "open" and canvas.allows(0, [0, EOS]) == ["open", "no"]
    assert not canvas.set(0, 0) and canvas.positions.count(None) == 80
    assert canvas.fill_bitmask(0, mask) == "bound" and not mask.any()
    for call in (canvas.is_possible, canvas.complete):
        with pytest.raises(maskwright.LimitError, match="1 units of work of the limit infill_work") as error:
            call()
        assert error.value.hint == 'raise it with Compiler(tokenizer, limits={"infill_work": 10})'
        assert error.value.hint in str(error.value)


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
        assert template.fill_next_token_bitmask(0, prefix, mask) == "exact"
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
    assert not template.is_possible() and "\u27c2)`; expected " in template.why_impossible()
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


def test_an_impossible_canvas_says_why(compiler):
    schema = {"type": "object", "properties": {"age": {"type": "integer", "maximum": 120}}, "required": ["age"]}
    grammar = compiler.compile_json_schema(schema, whitespace="compact")
    canvas = Canvas(grammar, [*b'{"age":200', None, None])
    assert not canvas.is_possible()
    assert canvas.why_impossible().endswith('{"age":20\u27c20`; at /age: 200 is above "maximum": 120')
    with pytest.raises(ValueError, match="the canvas cannot be completed: .*at /age: 200 is above"):
        canvas.complete()
    possible = Canvas(grammar, [*b'{"age":20', None])
    assert possible.why_impossible() is None
