"""How far a text is in a language: `CompiledGrammar.check`."""

import maskwright
import pytest

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "maximum": 120}}, "required": ["age"]}


@pytest.mark.parametrize("given", [str, str.encode])
def test_a_text_is_valid_or_has_a_place_and_a_reason(compiler, given):
    """From Python one had to feed a matcher byte by byte."""
    grammar = compiler.compile_json_schema(SCHEMA)
    valid = grammar.check(given('{"age": 20}'))
    assert valid and valid.is_valid and valid.is_prefix and valid.offset == 11
    assert (valid.reason, valid.expected, valid.path, valid.token) == (None, [], None, None)
    assert repr(valid) == "Check(is_valid=True)" and str(valid) == "the text is in the language"
    wrong = grammar.check(given('{\n  "age": 200}'))
    assert not wrong and not wrong.is_valid and not wrong.is_prefix
    assert (wrong.offset, wrong.line, wrong.column) == (13, 2, 12)
    assert (wrong.reason, wrong.path) == ('at /age: 200 is above "maximum": 120', "/age")
    assert wrong.expected and all(isinstance(each, str) for each in wrong.expected)
    assert repr(wrong) == r'Check(is_valid=False, offset=13, line=2, column=12, reason="at /age: 200 is above \"maximum\": 120")'
    first, line, mark, expected = str(wrong).splitlines()
    assert first == 'not in the language: line 2 column 12 (byte 13): at /age: 200 is above "maximum": 120'
    assert line == ' 2 |   "age": 200}' and mark.index("^") == line.index("200") + 2 and expected.startswith("expected ")
    begun = grammar.check(given('{"age": 2'))
    assert not begun and begun.is_prefix and begun.offset == 9 and begun.reason == "the text ends too early"
    assert "at /age: 200" in wrong._repr_html_() and "valid" in valid._repr_html_()


def test_empty_texts_and_bytes_that_are_no_text(compiler):
    grammar = compiler.compile_regex(".+")
    for empty in ("", b""):
        check = grammar.check(empty)
        assert not check and check.is_prefix and (check.offset, check.line, check.column) == (0, 1, 1)
    check = grammar.check(b"\xc3\xa4\xff")
    assert not check.is_prefix and (check.offset, check.column) == (2, 2) and check.reason == r'"\xff" cannot come here'
    check = grammar.check(b"a\xc3")
    assert not check and check.is_prefix and check.offset == 2
    assert compiler.compile_regex("a?").check("")


def test_names_of_special_tokens_are_text_unless_asked_for():
    tokens = [bytes([byte]) for byte in range(256)] + [b"</s>", b"<call>"]
    tokenizer = maskwright.Tokenizer.from_tokens(tokens, eos_token_ids=[256], special_token_ids=[257])
    grammar = maskwright.Compiler(tokenizer).compile_gbnf("root ::= <call> [a-z]+")
    assert grammar.check("<call>go").offset == 0
    assert grammar.check("<call>go", special_tokens=True)
    wrong = grammar.check("<call>go<call>", special_tokens=True)
    assert wrong.offset == 8 and "is refused" in wrong.token and wrong.token in str(wrong)


def test_limits_and_long_texts(tokenizer, compiler):
    bounded = maskwright.Compiler(tokenizer, limits={"mask_work": 1})
    assert bounded.compile_regex("(ab)*").check("ab" * 1000)
    tight = maskwright.Compiler(tokenizer, limits={"advanced": {"max_threads": 1}})
    grammar = tight.compile_gbnf('root ::= "q" (a | b | c)\na ::= "x" a "1" | "y"\nb ::= "x" b "2" | "y"\nc ::= "x" c "3" | "y"')
    with pytest.raises(maskwright.LimitError, match="more than the limit of 1"):
        grammar.check("qxxxx")
    grammar, text = compiler.compile_regex(r"((ab)+\n)*"), "abab\n" * 200_000
    assert grammar.check(text)
    wrong = grammar.check(text + "b")
    assert (wrong.offset, wrong.line, wrong.column) == (len(text), 200_001, 1) and len(repr(wrong)) < 200


def test_what_is_no_text_is_refused(compiler):
    grammar = compiler.compile_regex("a")
    with pytest.raises(TypeError, match="a text as str or bytes, not int"):
        grammar.check(1)
    with pytest.raises(TypeError, match="True or False, not int"):
        grammar.check("a", special_tokens=1)
    with pytest.raises(maskwright.Error, match="surrogate"):
        grammar.check("\ud800")
