"""The meaning of patterns: dialects, ASCII, and warnings about strings of grammars."""

import pickle
import re
import warnings

import maskwright
import pytest


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_accepting()


@pytest.fixture(scope="module")
def compiler():
    return maskwright.Compiler(maskwright.Tokenizer.from_tokens([*(bytes([byte]) for byte in range(256)), b"</s>"], eos_token_ids=[256]))


@pytest.mark.parametrize(
    ("pattern", "ascii", "unicode"),
    [(r"\d", "1", "٣"), (r"\w", "a", "é"), (r"\s", " ", "\u2003"), (r"[\d-]", "-", "٣"), (r"\w\b.", "a-", "é-"),
     (r"(?i)[\wß]", "a", "ſ"), (r"\b{start}\w", "a", "é")],
)  # fmt: skip
def test_classes_are_of_ascii_where_no_dialect_is_named(compiler, pattern, ascii, unicode):
    plain = compiler.compile_regex(pattern)
    assert accepts(plain, ascii) and not accepts(plain, unicode)
    again = pickle.loads(pickle.dumps(plain))
    assert accepts(again, ascii) and not accepts(again, unicode)
    for wide in (
        compiler.compile_regex(pattern, unicode=True),
        compiler.compile_regex("(?u)" + pattern),
        compiler.compile_regex(pattern, dialect="rust"),
    ):
        assert accepts(wide, ascii) and accepts(wide, unicode)
        assert accepts(pickle.loads(pickle.dumps(wide)), unicode)


def test_what_is_named_means_what_it_means(compiler):
    assert accepts(compiler.compile(re.compile(r"\d")), "٣") and accepts(compiler.compile_regex(r"\d", dialect="python"), "٣")
    assert accepts(compiler.compile_lark("start: A\nA: /\\d/"), "٣")
    assert not accepts(compiler.compile_json_schema({"type": "string", "pattern": r"^\d$"}), '"٣"')
    for text in ("é", "😀", "K"):
        assert accepts(compiler.compile_regex(r"."), text)
    assert accepts(compiler.compile_regex(r"[^a]\D\W\S"), "éééé") and accepts(compiler.compile_regex(r"(?i)straße"), "STRAẞE")


@pytest.mark.parametrize(
    ("dialect", "told"), [("ecma", r"\\p\{Nd\}"), ("python", "leave unicode away"), ("rust", "leave unicode away")]
)
def test_unicode_goes_with_no_dialect(compiler, dialect, told):
    with pytest.raises(ValueError, match=told):
        compiler.compile_regex("a", dialect=dialect, unicode=True)


def test_compiled_patterns_go_to_compile(compiler):
    with pytest.raises(TypeError, match=r"call compile\(pattern\)"):
        compiler.compile_regex(re.compile("a"))
    with pytest.raises(TypeError, match="not bytes"):
        compiler.compile_regex(b"a")


@pytest.mark.parametrize("dialect", ["python", "ecma"])
def test_look_behind(compiler, dialect):
    grammar = compiler.compile_regex(r"(===|==|!=|~=)((?<====)[a-z]+|(?<!==|~=)[0-9]+)", dialect=dialect)
    assert accepts(grammar, "===abc") and accepts(grammar, "!=12")
    assert not accepts(grammar, "==abc") and not accepts(grammar, "~=12") and not accepts(grammar, "===12")
    with pytest.raises(maskwright.GrammarError, match="greatest length"):
        compiler.compile_regex("b(?<=a+b)", dialect=dialect)


@pytest.mark.parametrize("lexer", ["contextual", "basic", "dynamic_complete"])
def test_look_behind_of_terminals_sees_what_is_before_them(compiler, lexer):
    grammar = compiler.compile_lark('start: (EQ | NE) (SAME | OTHER)\nEQ: /===?/\nNE: "!="\nSAME: /(?<====)x/\nOTHER: /(?<!===|a)y/',
                                    lexer=lexer)  # fmt: skip
    for text, is_in in [("===x", True), ("==x", False), ("!=x", False), ("!=y", True), ("===y", False), ("==y", True)]:
        assert accepts(grammar, text) == is_in, text


def test_strings_with_names_of_special_tokens():
    tokens = [b"a", b"<end>", *(bytes([byte]) for byte in range(256))]
    compiler = maskwright.Compiler(maskwright.Tokenizer.from_tokens([*tokens, b"</s>"], eos_token_ids=[len(tokens)], special_token_ids=[1]))
    with pytest.warns(maskwright.GrammarWarning, match=r"1:10: .*write <end> without quotes") as told:
        grammar = compiler.compile_gbnf('root ::= "a<end>"')
    assert told[0].filename == __file__ and accepts(grammar, "a<end>")
    with pytest.warns(maskwright.GrammarWarning, match="1:8: "):
        compiler.compile_lark('start: "<end>"')
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compiler.compile_gbnf('root ::= "a" <end>')
        compiler.compile_regex("<end>")


def test_a_long_chain_of_optional_rules(compiler):
    """A parser that distinguished each of the thousand places would reach its limit at the first byte."""
    grammar = compiler.compile_gbnf("root ::= " + "x? " * 1000 + '\nx ::= "(" x? ")"')
    assert accepts(grammar, "((()))()" * 20) and accepts(grammar, "") and not accepts(grammar, "())")
    assert accepts(grammar, "()" * 1000) and not accepts(grammar, "()" * 1001)
