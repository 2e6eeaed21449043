"""Masks in a bounded amount of work, as a server asks for them. `xtask/bench/hostile.py` measures how long they take."""

import maskwright
import numpy as np
import pytest

#: What one mask takes seconds for, or a walk under a limit on tokens does.
HOSTILE = {
    "counts after a choice": lambda compiler: compiler.compile_regex("(a|b)*a(a|b){9}(c.*d){9}x"),
    "patterns and a length": lambda compiler: compiler.compile_json_schema(
        {"type": "string", "minLength": 12, "allOf": [{"pattern": "a.*b"}, {"pattern": "d.{3}e"}]}
    ),
    "keys that differ": lambda compiler: compiler.compile_json_schema({"minProperties": 5}),
    "items that differ": lambda compiler: compiler.compile_json_schema(
        {"type": "array", "items": {"type": ["integer", "string"]}, "minItems": 6, "uniqueItems": True}
    ),
    "any order": lambda compiler: compiler.compile_json_schema(
        {"properties": {f"p{n}": {"type": "string"} for n in range(12)}, "required": [f"p{n}" for n in range(12)]},
        property_order="any",
    ),
    "words that swallow words": lambda compiler: compiler.compile_lark('start: A A B\nA: "x"\nB: "xx"'),
    "Python": lambda compiler: compiler.compile_builtin("python"),
}


def allowed(matcher, mask, **options):
    matcher.fill_next_token_bitmask(mask, **options)
    bits = np.unpackbits(mask[0].view(np.uint8), bitorder="little")
    return [int(id) for id in np.flatnonzero(bits)]


@pytest.mark.parametrize("work", [0, 2_000, 100_000])
@pytest.mark.parametrize("spare", [None, 3, 60])
@pytest.mark.parametrize("name", HOSTILE)
def test_no_mask_is_empty_and_what_it_has_is_accepted(tokenizer, name, spare, work):
    grammar = HOSTILE[name](maskwright.Compiler(tokenizer, {"mask_work": work}))
    limit = None if spare is None else maskwright.Matcher(grammar).tokens_to_finish() + spare
    matcher = maskwright.Matcher(grammar, max_tokens=limit)
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    choice = np.random.default_rng(work)
    for n_tokens in range(60 if limit is None else limit):
        if matcher.is_terminated():
            return
        tokens = allowed(matcher, mask)
        assert tokens, f"an empty mask after {n_tokens} tokens, {matcher.mask_status}"
        assert set(tokens) <= set(allowed(matcher, mask)), "a mask became smaller"
        token = int(choice.choice(tokens))
        assert matcher.validate_tokens([token]) == 1
        assert matcher.accept_token(token)
    assert limit is None or matcher.is_terminated(), "the text is not complete in time"


def test_the_masks_of_a_batch_may_have_so_much_work(tokenizer):
    grammar = HOSTILE["patterns and a length"](maskwright.Compiler(tokenizer))
    matchers = [maskwright.Matcher(grammar), maskwright.Matcher(grammar, max_tokens=60)]
    mask = maskwright.allocate_token_bitmask(2, tokenizer.vocab_size)
    maskwright.fill_next_token_bitmask_batch(matchers, mask, work=0)
    bounds = mask.copy()
    assert [matcher.mask_status for matcher in matchers] == ["bound", "bound"]
    assert bounds.any(axis=1).all()
    maskwright.fill_next_token_bitmask_batch(matchers, mask)
    assert [matcher.mask_status for matcher in matchers] == ["exact", "exact"]
    assert (bounds & ~mask == 0).all()
    for wrong in (-1, "much", 1.5):
        with pytest.raises((TypeError, ValueError, OverflowError)):
            maskwright.fill_next_token_bitmask_batch(matchers, mask, work=wrong)


def test_any_order_with_many_keys_has_masks_near_its_limit(tokenizer):
    """A list with too many orders: the search for some token that fits failed, or found none."""
    names = [f"p{n}" for n in range(12)]
    inner = {"type": "object", "properties": {name: {"enum": [1, "x"]} for name in names[:4]}, "required": names[:4]}
    schema = {
        "type": "object",
        "properties": {name: inner if n % 4 == 0 else {"type": "string"} for n, name in enumerate(names)},
        "required": names[:9],
    }
    grammar = maskwright.Compiler(tokenizer).compile_json_schema(schema, property_order="any")
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    least = maskwright.Matcher(grammar).tokens_to_finish()
    for spare in (0, 1, 5):
        matcher = maskwright.Matcher(grammar, max_tokens=least + spare)
        choice = np.random.default_rng(spare)
        while not matcher.is_terminated():
            assert matcher.accept_token(int(choice.choice(allowed(matcher, mask)))), matcher.text


def test_a_bound_is_part_of_the_exact_mask(tokenizer):
    exact = maskwright.Matcher(HOSTILE["patterns and a length"](maskwright.Compiler(tokenizer)))
    bounded = maskwright.Matcher(
        HOSTILE["patterns and a length"](maskwright.Compiler(tokenizer, {"mask_work": 3_000}))
    )
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    n_bound = 0
    for _ in range(30):
        some, all = allowed(bounded, mask), allowed(exact, mask)
        assert set(some) <= set(all)
        if bounded.mask_status == "exact":
            assert some == all
        n_bound += bounded.mask_status == "bound"
        assert exact.mask_status == "exact"
        assert bounded.accept_token(some[0]) and exact.accept_token(some[0])
    assert n_bound >= 5


def test_a_vocabulary_without_an_end():
    """No mask with work left to do is taken for that after the end of a text, which allows all tokens."""
    tokenizer = maskwright.Tokenizer.from_tokens([b"a", b"b", b"c", b"ab"], eos=[])
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer, {"mask_work": 0}).compile_regex("(a|b)*(ab)?"))
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    for _ in range(20):
        tokens = allowed(matcher, mask)
        assert tokens and 2 not in tokens
        assert matcher.accept_token(tokens[-1])


def test_a_call_may_have_its_own_limit(tokenizer):
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_regex("(a|b)*a(a|b){12}"))
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    few = allowed(matcher, mask, work=0)
    assert few and matcher.mask_status == "bound"
    assert allowed(matcher, mask) == [ord("a"), ord("b"), tokenizer.encode(b"ab")[0]]
    assert matcher.mask_status == "exact"
    assert allowed(matcher, mask, work=0) == allowed(matcher, mask), "it is known by now"


def test_drafts_are_refused_where_they_are_not_decided(tokenizer):
    grammar = maskwright.Compiler(tokenizer, {"mask_work": 1}).compile_regex("(a|b)*a(a|b){12}")
    matcher = maskwright.Matcher(grammar)
    assert matcher.validate_tokens([ord("a"), ord("b"), ord("a")]) <= 3
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    tokens = allowed(matcher, mask)
    assert matcher.fork().accept_tokens([tokens[0]] * 40) >= 1, "the first is one of the mask"


@pytest.mark.parametrize(("given", "error"), [(-1, ValueError), ("many", TypeError), (1.5, TypeError)])
def test_work_is_a_count(tokenizer, given, error):
    with pytest.raises(error):
        maskwright.Compiler(tokenizer, {"mask_work": given})
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_regex("a"))
    with pytest.raises(error):
        matcher.fill_next_token_bitmask(maskwright.allocate_token_bitmask(1, tokenizer.vocab_size), work=given)
