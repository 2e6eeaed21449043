"""Strings that name special tokens: `special_tokens_in_text=True`, and the sources that the adapters for servers compile.

The cases are in `testdata/structural-tags/special.jsonl`. A case has a structural tag (`format` or `document`) or a grammar in GBNF or
Lark; `stops` are stop tokens of the session. A text is a string, read byte by byte, or a list in which `["<|x|>"]` is that token.
"""

import itertools
import json
from pathlib import Path

import maskwright
import pytest
from maskwright import Compiler, GrammarError, LimitError, Matcher, Tokenizer
from maskwright.integrations._serving import specs

CASES = [
    json.loads(line)
    for line in (Path(__file__).parents[2] / "testdata/structural-tags/special.jsonl").read_text(encoding="utf-8").splitlines()
]
LONGER = [b"<|", b"|>", b"channel", b"ab", b'{"', b'":', b"assistant", b"a<|return|>", b"<|x", b"1<"]
SPECIAL = ["<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|x|>", "<|x|>y", "y<"]
ENDS = ["<|return|>", "<|call|>", "</s>"]
TOKENS = [bytes([byte]) for byte in range(256)] + LONGER + [name.encode() for name in [*SPECIAL, *ENDS]]
IDS = {token.decode(): id for id, token in enumerate(TOKENS) if id >= 256 + len(LONGER)}
LEXERS = ["contextual", "basic", "dynamic_complete"]


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    ends = [IDS[name] for name in ENDS]
    return Compiler(Tokenizer.from_tokens(TOKENS, ends, [IDS[name] for name in SPECIAL] + ends))


def grammars_of(compiler: Compiler, case: dict):
    """The grammars of a case: one, or one for each lexer."""
    are_read = {"special_tokens_in_text": not case.get("off", False)}
    if "gbnf" in case:
        return [compiler.compile_gbnf(case["gbnf"], **are_read)]
    if "lark" in case:
        return [compiler.compile_lark(case["lark"], lexer=lexer, **are_read) for lexer in LEXERS]
    tag = case.get("document") or {"type": "structural_tag", "format": case["format"]}
    return [compiler.compile_structural_tag(tag, **are_read)]


def ids_of(text) -> list[int]:
    pieces = [text] if isinstance(text, str) else text
    return [id for piece in pieces for id in (piece.encode() if isinstance(piece, str) else [IDS[piece[0]]])]


def allowed(matcher: Matcher) -> list[int]:
    """The ids in the mask. They must be those that the session accepts; with a lexer and a limit on tokens, some may be missing."""
    mask = maskwright.allocate_token_bitmask(1, len(TOKENS))
    matcher.fill_next_token_bitmask(mask)
    bits = int.from_bytes(mask.tobytes(), "little")
    ids = [id for id in range(len(TOKENS)) if bits >> id & 1]
    accepted = [id for id in range(len(TOKENS)) if matcher.validate_tokens([id]) == 1]
    is_exact = matcher.mask_status == "exact"
    assert is_exact or matcher.max_tokens is not None
    assert ids == accepted or not is_exact and {*ids} < {*accepted}, [TOKENS[id] for id in {*ids} ^ {*accepted}]
    return ids


def is_text(grammar, ids: list[int], stops: list[int], limit: int | None = None) -> bool:
    """Whether the tokens are a whole text; they may end with a token that ends texts."""
    matcher = Matcher(grammar, stop_token_ids=stops or None, max_tokens=limit)
    for at, id in enumerate(ids):
        is_allowed = id in allowed(matcher)
        is_accepted = matcher.accept_token(id)
        assert is_accepted == is_allowed or matcher.mask_status == "bound"
        if not is_accepted:
            return False
        if matcher.is_terminated():
            return at == len(ids) - 1
    return matcher.is_accepting()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_cases(compiler: Compiler, case: dict) -> None:
    stops = [IDS[name] for name in case.get("stops", [])]
    for grammar in grammars_of(compiler, case):
        for text in case["yes"]:
            ids = ids_of(text)
            assert is_text(grammar, ids, stops), text
            has_end = ids[-1:] and TOKENS[ids[-1]].decode(errors="replace") in [*ENDS, *case.get("stops", [])]
            # The token count of the text, plus one for the end unless the text ends with a token that ends texts.
            n_tokens = len(ids) + (0 if has_end else 1)
            assert is_text(grammar, ids, stops, limit=n_tokens), f"{text} within {n_tokens} tokens"
            for n_read in range(len(ids)):
                matcher = Matcher(grammar, stop_token_ids=stops or None, max_tokens=n_tokens)
                assert matcher.accept_tokens(ids[:n_read]) == n_read
                assert matcher.tokens_to_finish() <= n_tokens - n_read
                rest = matcher.finish()
                assert matcher.accept_tokens(rest) == len(rest) and matcher.is_terminated(), (text, n_read, rest)
        for text in case["no"]:
            assert not is_text(grammar, ids_of(text), stops), text


def test_every_mix_of_text_and_tokens_is_read(compiler: Compiler) -> None:
    """The text of a tag may be spelled with any of the special tokens in its strings."""
    call = {"type": "tag", "begin": "<|channel|>f<|constrain|>json<|message|>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}}, "end": "<|end|>"}
    format = {"type": "tags_with_separator", "tags": [call], "separator": "<|start|>", "at_least_one": True}
    grammar = compiler.compile_structural_tag({"format": format}, special_tokens_in_text=True)
    text = [["<|channel|>"], "f", ["<|constrain|>"], "json", ["<|message|>"], "12", ["<|end|>"], ["<|start|>"]]
    text += [["<|channel|>"], "f", ["<|constrain|>"], "json", ["<|message|>"], "3", ["<|end|>"]]
    names = [at for at, piece in enumerate(text) if isinstance(piece, list)]
    for are_tokens in itertools.product([False, True], repeat=len(names)):
        mixed = list(text)
        for at, is_token in zip(names, are_tokens, strict=True):
            mixed[at] = text[at] if is_token else text[at][0]
        matcher = Matcher(grammar)
        ids = ids_of(mixed)
        assert matcher.accept_tokens(ids) == len(ids) and matcher.is_accepting(), mixed
    matcher = Matcher(grammar)
    matcher.accept_tokens(ids_of([["<|channel|>"], "f", ["<|constrain|>"]]))
    assert not matcher.accept_token(IDS["<|message|>"]), "no token that the string does not name there"


def test_only_the_end_that_is_named_ends_the_text(compiler: Compiler) -> None:
    grammar = compiler.compile_gbnf('root ::= "a"+ "<|call|>"', special_tokens_in_text=True)
    matcher = Matcher(grammar, max_tokens=3)
    assert matcher.accept_token(97)
    assert IDS["<|call|>"] in allowed(matcher) and IDS["</s>"] not in allowed(matcher)
    assert "ends with <|call|>" in matcher.explain(IDS["</s>"])
    assert matcher.tokens_to_finish() == 1 and matcher.finish() == [IDS["<|call|>"]]
    fork = matcher.fork()
    assert fork.accept_token(97) and allowed(fork) == [IDS["<|call|>"]]
    assert matcher.accept_token(IDS["<|call|>"]) and matcher.is_terminated() and matcher.text == b"a"
    matcher.rollback(1)
    assert not matcher.is_terminated() and matcher.text == b"a"
    assert Matcher(compiler.compile_gbnf('root ::= "<|call|>"', special_tokens_in_text=True)).accept_token(IDS["<|call|>"])


def test_forced_tokens_include_the_one_end(compiler: Compiler) -> None:
    matcher = Matcher(compiler.compile_gbnf('root ::= "a" "<|call|>"?', special_tokens_in_text=True))
    assert matcher.accept_token(97)
    after = Matcher(compiler.compile_gbnf('root ::= "a"', special_tokens_in_text=True))
    assert after.accept_token(97) and after.forced_tokens() == [min(IDS[name] for name in ENDS)]


def test_grammars_are_saved_with_the_option(compiler: Compiler) -> None:
    grammar = compiler.compile_gbnf('root ::= "<|x|>"', special_tokens_in_text=True)
    again = maskwright.CompiledGrammar.deserialize(grammar.serialize(), compiler)
    assert Matcher(again).accept_token(IDS["<|x|>"])
    assert not Matcher(compiler.compile_gbnf('root ::= "<|x|>"')).accept_token(IDS["<|x|>"])


def test_infilling_says_that_it_cannot_tell_ends(compiler: Compiler) -> None:
    grammar = compiler.compile_gbnf('root ::= "a" "<|call|>"', special_tokens_in_text=True)
    with pytest.raises(GrammarError, match="special_tokens_in_text"):
        maskwright.Canvas(grammar, [None, None])
    grammar = compiler.compile_gbnf('root ::= "a" "<|x|>"', special_tokens_in_text=True)
    assert maskwright.Canvas(grammar, [None, IDS["<|x|>"], None]).is_possible()


def test_names_that_overlap_too_much() -> None:
    tokenizer = Tokenizer.from_tokens([b"a", b"aa", b"aaa", b"</s>"], [3], [0, 1, 2])
    with pytest.raises(LimitError, match="in more than 64 ways") as caught:
        Compiler(tokenizer).compile_gbnf('root ::= "' + "a" * 1000 + '"', special_tokens_in_text=True)
    assert caught.value.line == 1
    tag = {"format": {"type": "const_string", "value": "a" * 1000}}
    with pytest.raises(LimitError, match="in more than 64 ways") as caught:
        Compiler(tokenizer).compile_structural_tag(tag, special_tokens_in_text=True)
    assert caught.value.pointer == "/format"


@pytest.mark.parametrize("kind", ["structural_tag", "gbnf", "lark"])
def test_servers_read_names_in_strings(compiler: Compiler, kind: str) -> None:
    texts = {
        "structural_tag": json.dumps({"type": "structural_tag", "format": {"type": "const_string", "value": "<|x|>"}}),
        "gbnf": 'root ::= "<|x|>"',
        "lark": 'start: "<|x|>"',
    }
    spec = specs.Spec("structural_tag" if kind == "structural_tag" else "grammar", texts[kind])
    assert Matcher(specs.compile_spec(compiler, spec)).accept_token(IDS["<|x|>"])
