"""Ids without a token, at every entry point that takes an id: an answer or a ValueError, and never a panic.

Servers use -1 for rejected draft tokens, and models have scores beyond the tokenizer's vocabulary.
"""

import maskwright
import numpy as np
import pytest

#: A vocabulary with special tokens, wide enough for masks of several words.
TOKENS = [bytes([byte]) for byte in range(256)] + [b"ab", b"<|im_start|>", b"<|im_end|>", b"<think>", b"</think>", b"</s>"]
SPECIAL = [257, 258, 259, 260]
EOS = 261
SIZE = len(TOKENS)

REASONING = {
    "format": {
        "type": "sequence",
        "elements": [
            {"type": "tag", "begin": {"type": "token", "token": 259}, "content": {"type": "any_tokens"}, "end": {"type": "token", "token": 260}},
            {"type": "regex", "pattern": "[ab]+"},
        ],
    }
}

GRAMMARS = {
    "json": lambda compiler: compiler.compile_json_schema({"type": "object"}),
    "any but one": lambda compiler: compiler.compile_gbnf("root ::= !<[0]>"),
    "any but a special one": lambda compiler: compiler.compile_gbnf("root ::= !<|im_start|>*"),
    "any": lambda compiler: compiler.compile_lark("start: <[*]>"),
    "reasoning": lambda compiler: compiler.compile_structural_tag(REASONING),
}

#: Numbers without a token that fit 64 bits.
NO_TOKENS = [-1, -(2**31), SIZE, SIZE + 10, SIZE + 400, 2**31, 2**32 - 1, 2**32, 2**32 + 97, 2**63 - 1]
#: Numbers that do not fit 64 bits.
TOO_LARGE = [2**63, 2**64, -(2**63) - 1, 10**5_000]
#: Values that are not integers.
NO_INTEGERS = [1.5, "a", b"a", [1], {}]


@pytest.fixture(scope="module")
def tokenizer():
    return maskwright.Tokenizer.from_tokens(TOKENS, eos_token_ids=[EOS], special_token_ids=SPECIAL)


@pytest.fixture(scope="module", params=GRAMMARS)
def grammar(tokenizer, request):
    return GRAMMARS[request.param](maskwright.Compiler(tokenizer))


def canvas(grammar):
    return maskwright.Canvas(grammar, [None, None])


def template(grammar):
    return maskwright.Template(grammar, [maskwright.Hole(max_tokens=4)])


def mask(rows=1):
    return maskwright.allocate_token_bitmask(rows, SIZE)


#: Calls with an id, and their result for an id without a token.
REFUSED = {
    "accept_token": (lambda grammar, id: maskwright.Matcher(grammar).accept_token(id), False),
    "accept_tokens": (lambda grammar, id: maskwright.Matcher(grammar).accept_tokens([id]), 0),
    "validate_tokens": (lambda grammar, id: maskwright.Matcher(grammar).validate_tokens([id]), 0),
    "validate_tokens, second": (lambda grammar, id: maskwright.Matcher(grammar).validate_tokens([ord("{"), id]) < 2, True),
    "fill_draft_tree": (lambda grammar, id: maskwright.Matcher(grammar).fill_draft_tree([-1], [id], mask()), [False]),
    "with a limit": (lambda grammar, id: maskwright.Matcher(grammar, max_tokens=30).accept_token(id), False),
    "with a stop token": (lambda grammar, id: maskwright.Matcher(grammar, stop_token_ids=[256]).accept_token(id), False),
    "explain": (lambda grammar, id: "is refused" in maskwright.Matcher(grammar).explain(id), True),
    "Canvas.set": (lambda grammar, id: canvas(grammar).set(0, id), False),
    "Canvas.allows": (lambda grammar, id: canvas(grammar).allows(0, [id]), ["no"]),
    "Template.fix": (lambda grammar, id: template(grammar).fix(0, [id]), False),
}

#: Calls with an id that must be a token, or with another number; a wrong number is an error that shows it.
ERRORS = {
    "stop_token_ids": lambda grammar, id: maskwright.Matcher(grammar, stop_token_ids=[id]),
    "Canvas": lambda grammar, id: maskwright.Canvas(grammar, [id]),
    "Canvas, second": lambda grammar, id: maskwright.Canvas(grammar, [None, id]),
    "padding_id": lambda grammar, id: maskwright.Canvas(grammar, [None], padding_id=id),
    "mask_id": lambda grammar, id: maskwright.Canvas(grammar, [None], mask_id=id),
    "Template": lambda grammar, id: maskwright.Template(grammar, [[id]]),
    "Template prefix": lambda grammar, id: template(grammar).fill_next_token_bitmask(0, [id], mask()),
    "token_bytes": lambda grammar, id: grammar.tokenizer.token_bytes(id),
    "Canvas.set, position": lambda grammar, id: canvas(grammar).set(id, 97),
    "Canvas.unset": lambda grammar, id: canvas(grammar).unset(id),
    "Canvas.allows, position": lambda grammar, id: canvas(grammar).allows(id, [97]),
    "Canvas.fill_bitmask": lambda grammar, id: canvas(grammar).fill_bitmask(id, mask()),
    "Template.fix, hole": lambda grammar, id: template(grammar).fix(id, [97]),
    "Template, hole": lambda grammar, id: template(grammar).fill_next_token_bitmask(id, [], mask()),
    "rollback": lambda grammar, id: maskwright.Matcher(grammar).rollback(id),
    "mask row": lambda grammar, id: maskwright.Matcher(grammar).fill_next_token_bitmask(mask(), id),
    "batch row": lambda grammar, id: maskwright.fill_next_token_bitmask_batch([maskwright.Matcher(grammar)], mask(), [id]),
    "eos_token_ids": lambda grammar, id: maskwright.Tokenizer.from_tokens(TOKENS, eos_token_ids=[id]),
    "special_token_ids": lambda grammar, id: maskwright.Tokenizer.from_tokens(TOKENS, eos_token_ids=[], special_token_ids=[id]),
    "draft tree parent": lambda grammar, id: maskwright.Matcher(grammar).fill_draft_tree([-2 if id == -1 else id], [97], mask()),
}


def raised(call, *arguments):
    with pytest.raises((ValueError, IndexError)) as error:
        call(*arguments)
    return error.value


@pytest.mark.parametrize("name", REFUSED)
def test_ids_without_a_token_are_refused(grammar, name):
    call, expected = REFUSED[name]
    for id in NO_TOKENS:
        assert call(grammar, id) == expected, id
    for id in TOO_LARGE:
        assert isinstance(raised(call, grammar, id), ValueError)
    for wrong in [*NO_INTEGERS, None]:
        with pytest.raises(TypeError):
            call(grammar, wrong)
    # A bool is an int in Python, and True is the token 1.
    assert call(grammar, True) == call(grammar, 1) and call(grammar, np.int64(1)) == call(grammar, 1)


@pytest.mark.parametrize("name", ERRORS)
def test_errors_show_the_number_as_it_was_given(grammar, name):
    call = ERRORS[name]
    for id in NO_TOKENS:
        shown = str(raised(call, grammar, id))
        assert str(-2 if name == "draft tree parent" and id == -1 else id) in shown, shown
    for id in TOO_LARGE:
        assert isinstance(raised(call, grammar, id), ValueError)
    for wrong in NO_INTEGERS:
        with pytest.raises(TypeError):
            call(grammar, wrong)


def test_a_rejected_draft_ends_what_is_accepted(tokenizer):
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_gbnf("root ::= !<|im_start|>*"))
    assert matcher.accept_tokens([64, -1]) == 1 and matcher.accept_tokens([64, SIZE + 400, 65]) == 1
    assert matcher.validate_tokens([-1]) == 0 and matcher.validate_tokens([0, -1]) == 1
    masks = mask(3)
    assert matcher.fill_draft_tree([-1, 0, 1], [65, -1, 66], masks) == [True, False, False]
    assert masks[0].any() and not masks[1:].any()
    assert matcher.text == b"@@" and matcher.n_tokens == 2, "the matcher works on"


def test_other_calls_with_numbers(tokenizer):
    grammar = maskwright.Compiler(tokenizer).compile_regex("[ab]{1,3}")

    def logits(sequences):
        return np.zeros((len(sequences), SIZE), dtype=np.float32)

    def search(**options):
        return maskwright.Matcher(grammar, max_tokens=4).search(logits, options.pop("prompt_ids", [0]), **options)

    for seed in (-1, 2**64, 2**70, -(2**70)):
        assert str(seed) in str(raised(lambda seed=seed: search(seed=seed)))
    assert search(seed=2**64 - 1) and search(prompt_ids=[SIZE + 400])
    for prompt in (-1, 2**32, 2**63, 2**64):
        assert str(prompt) in str(raised(lambda prompt=prompt: search(prompt_ids=[prompt])))
    for number in (-1, 2**64):
        for call in (maskwright.allocate_token_bitmask, lambda *size: maskwright.allocate_token_bitmask(*reversed(size))):
            assert str(number) in str(raised(call, number, 1))
        assert str(number) in str(raised(lambda number=number: maskwright.fill_next_token_bitmask_batch([], 64, stride=number)))
    for limit in (-1, 2**63, 2**64):
        assert str(limit) in str(raised(maskwright.Matcher, grammar, limit))
    assert "2**63 - 1" in str(raised(maskwright.Matcher, grammar, 2**63))
    assert maskwright.Matcher(grammar, 2**63 - 1).max_tokens == 2**63 - 1
    for id in (-1, 2**32, 2**63):
        assert str(id) in str(raised(tokenizer.decode, [97, id]))
        assert str(id) in str(raised(tokenizer.decoder().feed, id))
    assert tokenizer.decode([97, SIZE, SIZE + 400, 2**32 - 1, 98]) == b"ab", "ids without a token have no bytes"
