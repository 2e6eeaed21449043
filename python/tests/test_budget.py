"""Limits on tokens: texts that are complete within them."""

import json
import random

import maskwright
import pytest
from conftest import allowed, brute_force

LIST = 'root ::= "[" (value (", " value)*)? "]"\nvalue ::= root | "true" | [0-9]+\n'


def write(matcher, vocab_size, seed, forced=False):
    """A text of tokens drawn evenly from the masks."""
    draw, tokens = random.Random(seed), []
    while not matcher.is_terminated():
        run = matcher.forced_tokens() if forced else []
        for token in run or [draw.choice(allowed(matcher, vocab_size))]:
            assert matcher.accept_token(token)
            tokens.append(token)
    return tokens


@pytest.mark.parametrize("forced", [False, True])
def test_texts_are_complete_within_the_limit(tokenizer, compiler, forced):
    grammar = compiler.compile_gbnf(LIST)
    for limit in range(3, 12):
        for seed in range(10):
            tokens = write(maskwright.Matcher(grammar, max_tokens=limit), tokenizer.vocab_size, seed, forced)
            assert len(tokens) <= limit and tokens[-1] == 270
            free = maskwright.Matcher(grammar)
            assert free.accept_tokens(tokens) == len(tokens) and free.is_terminated()


def test_masks_are_part_of_brute_force(tokenizer, compiler):
    grammar = compiler.compile_gbnf(LIST)
    for seed in range(5):
        matcher = maskwright.Matcher(grammar, max_tokens=7)
        draw = random.Random(seed)
        while not matcher.is_terminated():
            tokens = allowed(matcher, tokenizer.vocab_size)
            assert tokens == brute_force(matcher, tokenizer.vocab_size) and tokens, "a mask has what is accepted"
            assert matcher.accept_token(draw.choice(tokens))


def test_a_completion_has_the_fewest_tokens_that_spell_it(compiler):
    matcher = maskwright.Matcher(compiler.compile_choice(["yesno", "ababab"]))
    assert matcher.tokens_to_finish() == 3, "yes, no, end"
    assert matcher.accept_bytes(b"a")
    assert matcher.tokens_to_finish() == 4, "b, ab, ab, end"


def test_finish_is_a_completion_of_that_length(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_gbnf(LIST))
    assert matcher.accept_tokens(tokenizer.encode("[[12, [tr")) > 0
    tokens = matcher.finish()
    assert len(tokens) == matcher.tokens_to_finish()
    assert not matcher.is_terminated(), "the state does not change"
    assert matcher.accept_tokens(tokens) == len(tokens) and matcher.is_terminated()
    assert (matcher.tokens_to_finish(), matcher.finish()) == (0, [])


def test_a_limit_that_no_text_keeps_is_refused_at_once(compiler):
    grammar = compiler.compile_choice(["yes sir"])
    least = maskwright.Matcher(grammar).tokens_to_finish()
    maskwright.Matcher(grammar, max_tokens=least)
    for limit in range(least):
        with pytest.raises(maskwright.MaxTokensTooSmall, match=f": {least} are enough") as error:
            maskwright.Matcher(grammar, max_tokens=limit)
        assert error.value.needed == least
    with pytest.raises(ValueError, match="-1"):
        maskwright.Matcher(grammar, max_tokens=-1)


def test_forks_and_rollback_keep_the_limit(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_regex("a*"), max_tokens=4)
    assert matcher.accept_tokens([97] * 5) == 3, "a fourth would leave no room for the end"
    fork = matcher.fork()
    assert allowed(fork, tokenizer.vocab_size) == [270] and fork.accept_token(270)
    assert matcher.explain(97).endswith("within the tokens that are left")
    matcher.rollback(1)
    assert 97 in allowed(matcher, tokenizer.vocab_size)
    matcher.reset()
    assert matcher.accept_tokens([97] * 9) == 3


@pytest.mark.parametrize("name", ["arithmetic", "json", "smiles", "sql"])
def test_built_in_grammars(tokenizer, compiler, name):
    grammar = compiler.compile_builtin(name)
    start = maskwright.Matcher(grammar)
    least = start.tokens_to_finish()
    assert len(start.finish()) == least
    for seed in range(5):
        limit = least + 2 * seed
        tokens = write(maskwright.Matcher(grammar, max_tokens=limit), tokenizer.vocab_size, seed, forced=seed % 2 == 0)
        assert len(tokens) <= limit
        free = maskwright.Matcher(grammar)
        assert free.accept_tokens(tokens) == len(tokens) and free.is_terminated()


def test_schemas(tokenizer, compiler):
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}, "s": {"type": "string"}}, "required": ["ok"]}
    grammar = compiler.compile_json_schema(schema)
    least = maskwright.Matcher(grammar).tokens_to_finish()
    for seed in range(10):
        limit = least + seed
        tokens = write(maskwright.Matcher(grammar, max_tokens=limit), tokenizer.vocab_size, seed)
        assert len(tokens) <= limit


def test_texts_whose_items_differ_are_finished(real_tokenizer):
    compiler = maskwright.Compiler(real_tokenizer)
    for n_items in (6, 30, 100):
        schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": n_items}
        grammar = compiler.compile_json_schema(schema)
        least, status = maskwright.Matcher(grammar).tokens_to_finish_with_status()
        ids = maskwright.Matcher(grammar).finish()
        *ids, end = ids
        items = json.loads(real_tokenizer.decode(ids))
        assert end in real_tokenizer.eos_token_ids
        assert len(set(items)) == len(items) >= n_items
        assert len(ids) == least - 1 and status == "upper"
        # Also where no search was given up before.
        assert maskwright.Matcher(grammar, max_tokens=least).max_tokens == least


@pytest.mark.parametrize("spare", range(4))
@pytest.mark.parametrize("text", ['{"":"","a":"', '{"":"', '{"', '{"x":"","":"'])
def test_a_mask_and_its_tokens_agree_where_keys_differ(text, spare):
    """`","` and `",",` lead to one place of the grammar, within a key; but the key that the first one begins is there already."""
    words = [b'",",', b'","', b'","x', b'":""', b'":"","', b'{"', b'""', b'"}', b'",', b'":"', b"xy", b'":"","y":""}']
    tokens = [bytes([byte]) for byte in b'{}":,axy!'] + words
    tokenizer = maskwright.Tokenizer.from_tokens([*tokens, b"</s>"], eos=[len(tokens)])
    schema = {"type": "object", "additionalProperties": {"const": ""}, "minProperties": 4}
    grammar = maskwright.Compiler(tokenizer).compile_json_schema(schema, whitespace="compact")
    start = maskwright.Matcher(grammar)
    assert start.accept_bytes(text.encode())
    limit = start.n_tokens + start.tokens_to_finish() + spare
    matcher = maskwright.Matcher(grammar, max_tokens=limit)
    assert matcher.accept_bytes(text.encode())
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    matcher.fill_next_token_bitmask(mask)
    is_exact = matcher.mask_status == "exact"
    for id in range(tokenizer.vocab_size):
        is_allowed = bool(mask[0, id // 32] >> (id % 32) & 1)
        if is_exact or is_allowed:
            assert is_allowed == (matcher.validate_tokens([id]) == 1), tokens[id : id + 1]
