"""The masks of `testdata/masks`, which are the same in every language, and grammars as text for the C library."""

import json
import warnings
from pathlib import Path

import maskwright
import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "testdata" / "masks"


def pairs():
    with open(FOLDER / "pairs.jsonl", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


@pytest.fixture(scope="module")
def compiler():
    lines = [line.split(" ") for line in (FOLDER / "vocabulary.txt").read_text(encoding="utf-8").splitlines()]
    marked = [[i for i, line in enumerate(lines) if line[1:] == [mark]] for mark in ("end", "special")]
    return maskwright.Compiler(maskwright.Tokenizer.from_tokens([bytes.fromhex(line[0]) for line in lines], *marked))


def compiled(compiler, pair):
    compile_kind = getattr(compiler, f"compile_{pair['kind']}")
    source = json.loads(pair["source"]) if pair["kind"] in ("choice", "tool_calls") else pair["source"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return compile_kind(source, **pair["options"])


def masks_of(matcher, tokens):
    """FNV-1a over the masks before each token and after the last."""
    mask = maskwright.allocate_token_bitmask(1, matcher.grammar.tokenizer.vocab_size)
    number = 0xCBF29CE484222325
    for token in [*tokens, None]:
        matcher.fill_next_token_bitmask(mask)
        for byte in mask.astype("<i4").tobytes():
            number = ((number ^ byte) * 0x100000001B3) & 0xFFFFFFFFFFFFFFFF
        assert token is None or matcher.accept_token(token)
    return f"{number:016x}"


def test_masks_are_those_of_the_record(compiler):
    assert len(pairs()) == 500
    for pair in pairs():
        matcher = maskwright.Matcher(compiled(compiler, pair))
        assert masks_of(matcher, pair["tokens"]) == pair["masks"], pair


def test_a_grammar_as_text_for_the_c_library(compiler):
    for pair in pairs()[::10]:
        text = compiled(compiler, pair).to_llguidance()
        assert text.startswith('%llguidance {"maskwright":') and "\n" not in text
        described = json.loads(text.removeprefix("%llguidance "))["maskwright"]
        assert described["kind"] == pair["kind"]
    documents = {"name.json": {"type": "string"}}
    grammar = compiler.compile_json_schema({"$ref": "name.json"}, documents=documents)
    with pytest.raises(maskwright.GrammarError, match="needs other documents or files"):
        grammar.to_llguidance()


def test_the_dialect_of_llguidance(compiler):
    text = '%llguidance {}\nstart: "f" A{2}\nA: /x*y|xy/'
    grammar = compiler.compile_lark(text, dialect="llguidance")
    assert [grammar.check(word).is_valid for word in ("fyxxy", "fy", "fxyxy")] == [True, False, True]
    with pytest.raises(maskwright.GrammarError, match="stands only in grammars of llguidance's dialect") as caught:
        compiler.compile_lark(text)
    assert (caught.value.line, caught.value.column) == (1, 1)
    with pytest.raises(maskwright.GrammarError, match='"ignore_once": true of llguidance is not supported'):
        compiler.compile_lark(text.replace("{}", '{"ignore_once": true}'), dialect="llguidance")
    with pytest.raises(maskwright.Error, match='dialect is "larc", expected "lark" or "llguidance"'):
        compiler.compile_lark(text, dialect="larc")
    # Its own lexer can still be chosen.
    assert compiler.compile_lark(text, dialect="llguidance", lexer="contextual").check("fyy").is_valid
    assert np.all(maskwright.Matcher(grammar).forced_bytes() == b"f")
