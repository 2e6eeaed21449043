"""Tokens that a grammar names by name or id, and stop tokens of a session."""

import pickle

import maskwright
import numpy as np
import pytest
from maskwright import Compiler, GrammarError, Hole, Matcher, Template, Tokenizer

TOKENS = [b"a", b"b", b"<", b"think>", b"<|sep|>", b"</think>", b"<think>", b"\xff", b"</s>"]
A, B, SEP, END_THINK, THINK, BYTE_FF, EOS = 0, 1, 4, 5, 6, 7, 8


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer.from_tokens(TOKENS, eos_token_ids=[EOS], special_token_ids=[SEP, END_THINK])


@pytest.fixture
def compiler(tokenizer: Tokenizer) -> Compiler:
    return Compiler(tokenizer)


def allowed(matcher: Matcher) -> list[int]:
    mask = np.zeros((1, 1), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    ids = [id for id in range(len(TOKENS)) if mask[0, 0] >> id & 1]
    assert ids == [id for id in range(len(TOKENS)) if matcher.validate_tokens([id]) == 1]
    return ids


def test_special_tokens_have_names(tokenizer: Tokenizer) -> None:
    assert tokenizer.special_tokens == {"<|sep|>": SEP, "</think>": END_THINK}
    assert tokenizer.token_bytes(SEP) is None
    assert tokenizer.token_bytes(BYTE_FF) == b"\xff"
    assert tokenizer.decode([A, BYTE_FF]) == b"a\xff"
    assert tokenizer.encode(b"a\xffa") == [A, BYTE_FF, A]
    saved = Tokenizer.deserialize(tokenizer.serialize())
    assert saved.special_tokens == tokenizer.special_tokens
    with pytest.raises(maskwright.TokenizerError, match="no token has the id 9"):
        Tokenizer.from_tokens(TOKENS, [EOS], [9])


@pytest.mark.parametrize("notation", ["lark", "gbnf"])
def test_reasoning_and_an_answer(compiler: Compiler, notation: str) -> None:
    if notation == "lark":
        grammar = compiler.compile_lark('start: <think> /b+/ </think> "a"')
    else:
        grammar = compiler.compile_gbnf('root ::= <think> "b"+ </think> "a"')
    matcher = Matcher(grammar)
    assert allowed(matcher) == [THINK]
    assert matcher.forced_bytes() == b"<think>b"
    assert matcher.forced_tokens() == [THINK, B]
    assert not matcher.accept_bytes("<think>")
    assert matcher.accept_tokens([THINK, B, B]) == 3
    assert allowed(matcher) == [B, END_THINK]
    assert "special" in matcher.explain(SEP)
    assert matcher.accept_tokens([END_THINK, A]) == 2
    assert allowed(matcher) == [EOS]
    assert matcher.text == b"<think>bb</think>a"
    assert pickle.loads(pickle.dumps(matcher)).text == matcher.text
    limited = Matcher(grammar, max_tokens=5)
    assert limited.accept_token(THINK) and limited.accept_token(B)
    assert allowed(limited) == [END_THINK]
    assert limited.finish() == [END_THINK, A, EOS]


def test_a_name_that_is_not_there(compiler: Compiler) -> None:
    with pytest.raises(GrammarError, match=r"named `<\|sop\|>`; did you mean `<\|sep\|>`") as caught:
        compiler.compile_gbnf("root ::= <|sop|>")
    assert caught.value.hint == "did you mean `<|sep|>`?"


def test_stop_tokens(compiler: Compiler) -> None:
    grammar = compiler.compile_regex("a*b")
    matcher = Matcher(grammar, stop_token_ids=[SEP, A])
    assert matcher.stop_token_ids == [SEP, A]
    assert allowed(matcher) == [B], "`a` ends texts, so it is no part of one"
    assert matcher.accept_token(B)
    assert allowed(matcher) == [A, SEP, EOS]
    fork = matcher.fork()
    assert matcher.accept_token(A) and matcher.is_terminated and fork.stop_token_ids == [SEP, A]
    again = pickle.loads(pickle.dumps(fork))
    assert allowed(again) == [A, SEP, EOS]
    matcher.rollback(1)
    matcher.reset()
    assert allowed(matcher) == [B]
    limited = Matcher(grammar, max_tokens=2, stop_token_ids=[SEP])
    assert allowed(limited) == [B]
    assert limited.accept_tokens([B, SEP]) == 2 and limited.is_terminated
    with pytest.raises(ValueError, match="has 9 ids"):
        Matcher(grammar, stop_token_ids=[9])


def test_templates(compiler: Compiler) -> None:
    grammar = compiler.compile_gbnf('root ::= <|sep|> "ab" <|sep|>')
    template = Template(grammar, [Hole(tokens=1), b"a", Hole(), [SEP]])
    assert template.is_possible()
    assert template.complete() == b"<|sep|>ab<|sep|>"
    assert not template.fix(0, [A]) and template.fix(0, [SEP])
    assert template.fix(1, [B]) and template.complete() == b"<|sep|>ab<|sep|>"
    assert not Template(grammar, [b"<|sep|>", Hole()]).is_possible(), "its name is text"
    assert not Template(grammar, [b"\xff\x00", Hole()]).is_possible()
    either = compiler.compile_lark('start: <think> "a" | /<think>b/', lexer="basic")
    for last in (A, B):
        assert Template(either, [[THINK, last]]).is_possible()


def test_canvases(compiler: Compiler) -> None:
    grammar = compiler.compile_gbnf("root ::= <[6]> [ab] (<[5]> | <[4]>)")
    canvas = maskwright.Canvas(grammar, [None, None, None])
    mask = np.zeros((1, 1), dtype=np.int32)
    canvas.fill_bitmask(2, mask)
    assert mask[0, 0] == 1 << SEP | 1 << END_THINK
    assert not canvas.set(0, SEP) and canvas.set(0, THINK) and canvas.set(2, SEP)
    assert canvas.complete() in ([THINK, A, SEP], [THINK, B, SEP])
    anything = compiler.compile_lark('start: "a" <[*]>', lexer="dynamic_complete")
    canvas = maskwright.Canvas(anything, [None, None], mask_id=SEP)
    canvas.fill_bitmask(1, mask)
    assert mask[0, 0] == sum(1 << id for id in range(len(TOKENS)) if id not in (SEP, EOS))
    assert not canvas.set(1, SEP) and not maskwright.Canvas(anything, [A, SEP], mask_id=SEP).is_possible()
    with pytest.raises(ValueError, match="names the token"):
        maskwright.Canvas(compiler.compile_gbnf("root ::= <[4]>"), [None], mask_id=SEP)
