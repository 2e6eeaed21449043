"""Masks, tokens and the state of a matcher."""

import json

import maskwright
import numpy as np
import pytest
from conftest import allowed, brute_force, unpack

SCHEMA = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}, "n": {"type": "integer"}, "s": {"type": "string"}},
    "required": ["ok"],
    "additionalProperties": False,
}

GRAMMARS = {
    "regex": (lambda c: c.compile_regex("(ab|é)*[0-9]{2}"), "ab\u00e912"),
    "choice": (lambda c: c.compile_choice(["yes", "no", "yes sir"]), "yes sir"),
    "gbnf": (lambda c: c.compile_gbnf('root ::= "(" root ")" | [0-9]+'), "((12))"),
    "schema": (lambda c: c.compile_json_schema(SCHEMA), '{"ok": true, "n": 12, "s": "\u00e9ab"}'),
}


@pytest.mark.parametrize("name", GRAMMARS)
def test_masks_equal_brute_force_at_every_step(name, tokenizer, compiler):
    compile_grammar, text = GRAMMARS[name]
    matcher = maskwright.Matcher(compile_grammar(compiler))
    for token in [*tokenizer.encode(text), tokenizer.eos_token_ids[0]]:
        tokens = allowed(matcher, tokenizer.vocab_size)
        assert tokens == brute_force(matcher, tokenizer.vocab_size)
        assert token in tokens
        assert (tokenizer.eos_token_ids[0] in tokens) == matcher.is_accepting()
        assert matcher.accept_token(token)
    assert matcher.is_accepting() and matcher.is_terminated()


def test_masks_equal_brute_force_on_a_real_vocabulary(real_tokenizer, real_compiler):
    matcher = maskwright.Matcher(real_compiler.compile_json_schema(SCHEMA))
    text = json.dumps({"ok": False, "n": -12, "s": 'quo"te'})
    for token in real_tokenizer.encode(text):
        tokens = allowed(matcher, real_tokenizer.vocab_size)
        assert tokens == brute_force(matcher, real_tokenizer.vocab_size)
        assert token in tokens and matcher.accept_token(token)
    assert matcher.is_accepting()
    eos = set(real_tokenizer.eos_token_ids)
    assert eos <= set(allowed(matcher, real_tokenizer.vocab_size))


def test_fill_says_whether_the_mask_is_needed():
    tokenizer = maskwright.Tokenizer.from_tokens([b"a", b"b", b"</s>"], eos=[2])
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_regex("(?s-u:[ab]*)"))
    mask = maskwright.allocate_token_bitmask(1, 3)
    assert matcher.fill_next_token_bitmask(mask) is False and mask[0, 0] == 0b111
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_regex("a+"))
    assert matcher.fill_next_token_bitmask(mask, row=0) is True and mask[0, 0] == 0b001


def test_a_refused_token_changes_nothing(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_regex("a[0-9]b"))
    assert matcher.accept_token(ord("a"))
    before = allowed(matcher, tokenizer.vocab_size)
    for refused in (ord("a"), 270, 271, -1, 2**31, 2**63 - 1):
        assert matcher.accept_token(refused) is False
    assert matcher.accept_bytes(b"1c") is False
    assert matcher.validate_tokens([ord("1"), ord("c")]) == 1
    assert allowed(matcher, tokenizer.vocab_size) == before
    assert matcher.accept_tokens([ord("1"), ord("c"), ord("b")]) == 1
    assert matcher.accept_bytes(b"b") and matcher.is_accepting() and not matcher.is_terminated()


def test_rollback_past_the_end_of_the_text(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_choice(["yes", "no"]))
    start = allowed(matcher, tokenizer.vocab_size)
    tokens = [*tokenizer.encode("yes"), 270]
    assert matcher.accept_tokens(tokens) == len(tokens) and matcher.is_terminated()
    assert matcher.accept_token(270) is False
    matcher.rollback(1)
    assert matcher.is_accepting() and not matcher.is_terminated()
    assert allowed(matcher, tokenizer.vocab_size) == [270]
    matcher.rollback(len(tokens) - 1)
    assert allowed(matcher, tokenizer.vocab_size) == start
    with pytest.raises(ValueError, match="roll back 1"):
        matcher.rollback(1)
    with pytest.raises(ValueError, match="-1"):
        matcher.rollback(-1)
    assert allowed(matcher, tokenizer.vocab_size) == start


def test_forks_are_independent(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_choice(["yes", "no"]))
    fork = matcher.fork()
    assert fork.accept_token(ord("n")) and matcher.accept_token(ord("y"))
    assert allowed(fork, tokenizer.vocab_size) == [ord("o")]
    assert allowed(matcher, tokenizer.vocab_size) == [ord("e")]
    fork.rollback(1)
    matcher.reset()
    assert allowed(fork, tokenizer.vocab_size) == allowed(matcher, tokenizer.vocab_size)


def test_forced_tokens_spell_forced_bytes(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_regex("(yes|yeah) sir"))
    assert matcher.forced_bytes() == b"ye"
    assert matcher.accept_bytes(b"yea")
    assert matcher.forced_bytes() == b"h sir"
    forced = matcher.forced_tokens()
    assert tokenizer.decode(forced) == b"h sir", "nothing can follow, so all of it is settled"
    assert matcher.accept_tokens(forced) == len(forced)
    assert matcher.forced_bytes() == b"" and matcher.forced_tokens() == [270]


def test_forced_tokens_on_a_real_vocabulary(real_tokenizer, real_compiler):
    matcher = maskwright.Matcher(real_compiler.compile_json_schema(SCHEMA, whitespace="compact"))
    forced = matcher.forced_tokens()
    assert matcher.forced_bytes() == b'{"ok":'
    assert matcher.forced_bytes().startswith(real_tokenizer.decode(forced))
    assert matcher.accept_tokens(forced) == len(forced)


def test_explain_says_what_was_expected(compiler):
    matcher = maskwright.Matcher(compiler.compile_regex("a[0-9]"))
    assert "allowed" in matcher.explain(ord("a"))
    assert "refused" in matcher.explain(ord("b")) and "expected" in matcher.explain(ord("b"))
    assert "not complete" in matcher.explain(270)
    for no_id in (-1, 271, 2**40):
        assert str(no_id) in matcher.explain(no_id)


def test_after_the_end_a_mask_has_the_ends_of_sequence(compiler, tokenizer):
    matcher = maskwright.Matcher(compiler.compile_choice(["no"]))
    matcher.accept_tokens([*tokenizer.encode("no"), 270])
    mask = np.full((1, 12), 7, dtype=np.int32)
    assert matcher.fill_next_token_bitmask(mask)
    assert unpack(mask[0], 271) == [270] and matcher.mask_status == "exact"
    assert not matcher.accept_token(270), "the text has ended"
    assert matcher.forced_bytes() == b"" and matcher.forced_tokens() == []


def test_without_ends_of_sequence_all_tokens_come_after_the_end():
    endless = maskwright.Tokenizer.from_tokens([b"n", b"o", b"no"], eos=[])
    matcher = maskwright.Matcher(maskwright.Compiler(endless).compile_choice(["no"]))
    assert allowed(matcher, 3) == [0, 2]
    matcher.accept_token(2)
    mask = maskwright.allocate_token_bitmask(1, 3)
    assert not matcher.fill_next_token_bitmask(mask), "every token is allowed"
    assert unpack(mask[0], 3) == [0, 1, 2]
    assert not matcher.accept_token(0)


@pytest.mark.parametrize("limit", [8, 60])
def test_masks_say_whether_they_are_exact(compiler, tokenizer, limit):
    grammar = compiler.compile_json_schema({"type": "array", "items": {"type": "integer"}})
    matcher, free = maskwright.Matcher(grammar, max_tokens=limit), maskwright.Matcher(grammar)
    for token in tokenizer.encode("[1, 2]"):
        is_all = allowed(matcher, tokenizer.vocab_size) == allowed(free, tokenizer.vocab_size)
        assert matcher.mask_status == ("exact" if is_all else "bound")
        assert matcher.accept_token(token) and free.accept_token(token)
    contextual = compiler.compile_lark('start: "a"+ "b"')
    matcher = maskwright.Matcher(contextual, max_tokens=3)
    allowed(matcher, tokenizer.vocab_size)
    assert matcher.mask_status == "exact", "all tokens fit"
    matcher.accept_token(ord("a"))
    assert allowed(matcher, tokenizer.vocab_size) == [ord("b"), *tokenizer.encode("ab")]
    assert matcher.mask_status == "exact", "nothing shorter follows another letter"
    assert maskwright.Matcher(contextual).mask_status == "exact"


def test_mask_arguments_are_checked(compiler, tokenizer):
    matcher = maskwright.Matcher(compiler.compile_choice(["no"]))
    fill = matcher.fill_next_token_bitmask
    for wrong_type in (np.zeros((1, 9), dtype=np.int64), np.zeros((1, 9), dtype=np.uint32), [[0] * 9], None, b"abcd"):
        with pytest.raises(TypeError):
            fill(wrong_type)
    read_only = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    read_only.flags.writeable = False
    transposed = np.zeros((9, 2), dtype=np.int32).T
    for wrong_shape in (np.zeros(9, np.int32), np.zeros((1, 8), np.int32), np.zeros((1, 1, 9), np.int32), read_only, transposed):
        with pytest.raises(ValueError):
            fill(wrong_shape)
    mask = maskwright.allocate_token_bitmask(2, tokenizer.vocab_size)
    for row in (2, -1, 2**40):
        with pytest.raises(IndexError, match="2 rows"):
            fill(mask, row)
    assert not mask.any()
    wide = np.full((2, 12), -1, dtype=np.int32)
    assert fill(wide, 1)
    assert (wide[0] == -1).all(), "other rows are left alone"
    assert unpack(wide[1, :9], tokenizer.vocab_size) == brute_force(matcher, tokenizer.vocab_size)
    assert not wide[1, 9:].any(), "words beyond the vocabulary are cleared"


def test_allocated_masks():
    mask = maskwright.allocate_token_bitmask(3, 33)
    assert mask.shape == (3, 2) and mask.dtype == np.int32 and not mask.any()
    assert maskwright.allocate_token_bitmask(0, 33).shape == (0, 2)
    with pytest.raises((OverflowError, ValueError)):
        maskwright.allocate_token_bitmask(-1, 33)
    with pytest.raises((MemoryError, ValueError)):
        maskwright.allocate_token_bitmask(2**60, 2**60)


def test_draft_tree_equals_step_by_step(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_regex("(ab|a1|yes)+"))
    matcher.accept_bytes(b"yes")
    n = tokenizer.vocab_size
    y, a, b, one = ord("y"), ord("a"), ord("b"), ord("1")
    #          0   1  2  3    4   5(refused) 6(after refused) 7(refused) 8(end)
    parents = [-1, 0, 0, 1, -1, 0, 5, 4, 1]
    ids = [a, b, one, y, 267, one + 1, b, 256, 270]
    mask = np.full((10, (n + 31) // 32), 7, dtype=np.int32)
    before = allowed(matcher, n)
    accepted = matcher.fill_draft_tree(parents, ids, mask)
    for node in range(len(ids)):
        path = [node]
        while parents[path[-1]] >= 0:
            path.append(parents[path[-1]])
        tokens = [ids[i] for i in reversed(path)]
        fork = matcher.fork()
        assert accepted[node] == (fork.accept_tokens(tokens) == len(tokens))
        expected = allowed(fork, n) if accepted[node] else []
        assert unpack(mask[node], n) == expected
    assert accepted == [True, True, True, True, True, False, False, True, True]
    assert (mask[9] == 7).all() and allowed(matcher, n) == before
    assert matcher.fill_draft_tree([], [], mask) == []
    for wrong in (([0], [a]), ([-2], [a]), ([-1, 1], [a, b]), ([-1], [a, b]), ([-1] * 11, [a] * 11)):
        with pytest.raises(ValueError):
            matcher.fill_draft_tree(*wrong, mask)


def test_caches_can_be_cleared(tokenizer):
    compiler = maskwright.Compiler(tokenizer, limits={"compile_work": 10**7, "advanced": {"row_cache_bytes": 10**7}}, threads=1)
    grammar = compiler.compile_json_schema(SCHEMA)
    matcher = maskwright.Matcher(grammar)
    before = allowed(matcher, tokenizer.vocab_size)
    assert matcher.accept_bytes(b'{"ok": true, "s": "a')
    inside = allowed(matcher, tokenizer.vocab_size)
    used = compiler.memory_usage()
    assert used > 0 and grammar.memory_usage() > 0
    compiler.clear_caches()
    # A new compiler has the rows of JSON's own terminals; a cleared one has none.
    assert compiler.memory_usage() < min(used, maskwright.Compiler(tokenizer).memory_usage())
    assert allowed(matcher, tokenizer.vocab_size) == inside
    assert allowed(maskwright.Matcher(grammar), tokenizer.vocab_size) == before


def test_rows_are_saved_and_loaded(tokenizer_file, tmp_path):
    tokenizer = maskwright.Tokenizer.from_file(tokenizer_file)
    schema = {"type": "object", "properties": {"when": {"format": "date-time"}, "note": {"pattern": "ab[0-9]{3}"}}}
    text = '{"when": "2026-11-22T08:00:00Z", "note": "xab123"}'

    def masks(compiler):
        matcher = maskwright.Matcher(compiler.compile_json_schema(schema))
        masks = []
        for token in tokenizer.encode(text):
            mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
            matcher.fill_next_token_bitmask(mask)
            masks.append(mask)
            assert matcher.accept_token(token)
        return np.concatenate(masks)

    first = maskwright.Compiler(tokenizer)
    expected = masks(first)
    path = tmp_path / "rows"
    first.save_rows(path)
    second = maskwright.Compiler(tokenizer)
    assert second.load_rows(path) > 0
    assert (masks(second) == expected).all()
    third = maskwright.Compiler(tokenizer, rows=path)
    assert third.load_rows(path) == 0, "it has them all"
    assert (masks(third) == expected).all()
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(ValueError, match="damaged"):
        second.load_rows(path)
    with pytest.raises(ValueError, match="damaged"):
        maskwright.Compiler(tokenizer, rows=path)
    with pytest.raises(OSError):
        maskwright.Compiler(tokenizer, rows=tmp_path / "none")
    with pytest.raises(OSError):
        second.load_rows(tmp_path / "none")
    assert list(tmp_path.iterdir()) == [path]
