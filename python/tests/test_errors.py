"""Bad input: the right exception, and a message with the place."""

import json

import maskwright
import pytest


def test_exceptions_are_value_errors():
    names = ["GrammarError", "SchemaError", "TokenizerError", "LimitError"]
    assert all(issubclass(getattr(maskwright, name), ValueError) for name in names)
    assert issubclass(maskwright.CancelledError, RuntimeError)
    assert maskwright.GrammarError.__module__ == "maskwright"


def test_every_name_is_there():
    for name in maskwright.__all__:
        assert getattr(maskwright, name).__doc__, f"{name} has no docstring"


@pytest.mark.parametrize("pattern", ["(ab", "a{2", "[z-a]", "a**b(", "\\p{Nonsense}"])
def test_broken_regex(compiler, pattern):
    with pytest.raises(maskwright.GrammarError) as error:
        compiler.compile_regex(pattern)
    assert pattern in str(error.value), "the message has a source frame"


def test_broken_gbnf(compiler):
    with pytest.raises(maskwright.GrammarError) as error:
        compiler.compile_gbnf('root ::= "a" item\nitem ::= [0-9')
    assert "2" in str(error.value) and "item ::= [0-9" in str(error.value)
    with pytest.raises(maskwright.GrammarError, match="nowhere"):
        compiler.compile_gbnf('root ::= "a" nowhere')
    with pytest.raises(maskwright.GrammarError):
        compiler.compile_gbnf('root ::= "a" root')


def test_no_choice(compiler):
    with pytest.raises(maskwright.GrammarError):
        compiler.compile_choice([])
    with pytest.raises(TypeError):
        compiler.compile_choice("yes")


def test_broken_schema(compiler):
    with pytest.raises(maskwright.SchemaError):
        compiler.compile_json_schema('{"type": "object"')
    with pytest.raises(maskwright.SchemaError, match="/properties/a"):
        compiler.compile_json_schema({"properties": {"a": {"type": "nonsense"}}})
    with pytest.raises(maskwright.SchemaError, match="/properties/b"):
        compiler.compile_json_schema({"properties": {"b": {"$ref": "#/$defs/nowhere"}}})
    with pytest.raises(ValueError):
        compiler.compile_json_schema({"type": "integer", "minimum": 3, "maximum": 2})
    with pytest.raises(TypeError):
        compiler.compile_json_schema({"const": {1, 2}})


def test_options_are_checked(compiler, tokenizer):
    for wrong in ({"property_order": "x"}, {"whitespace": "none"}):
        with pytest.raises(ValueError):
            compiler.compile_json_schema({}, **wrong)
    with pytest.raises(TypeError):
        compiler.compile_json_schema({}, "schema")
    with pytest.raises(ValueError):
        maskwright.Compiler(tokenizer, threads=0)
    with pytest.raises(TypeError, match="fuel"):
        maskwright.Compiler(tokenizer, limits={"fuel": 1})


def test_limits(tokenizer):
    compiler = maskwright.Compiler(tokenizer, limits={"compile_fuel": 10})
    with pytest.raises(maskwright.LimitError, match="10"):
        compiler.compile_json_schema({"enum": list(range(100))})


def test_report(compiler):
    items = {"type": "string", "pattern": "a", "x-hint": 1}
    schema = {"type": "array", "items": items, "minItems": 2, "uniqueItems": True}
    with pytest.raises(maskwright.SchemaError, match="uniqueItems"):
        compiler.compile_json_schema(schema)
    grammar = compiler.compile_json_schema(schema, strict=False)
    found = {(entry.pointer, entry.keyword): entry for entry in grammar.report}
    assert found["", "uniqueItems"].status == "not enforced" and found["", "uniqueItems"].reason
    assert found["", "items"].status == "enforced" and found["", "items"].reason is None
    assert found["/items", "x-hint"].status == "annotation"
    assert "uniqueItems" in repr(found["", "uniqueItems"])
    assert found["", "items"] in grammar.report and len(set(grammar.report)) == len(grammar.report)
    assert compiler.compile_regex("a").report == []


def test_order_of_a_dict_is_kept(compiler):
    grammar = compiler.compile_json_schema({"properties": {"b": {"const": 1}, "a": {"const": 2}}, "required": ["a", "b"], "type": "object", "additionalProperties": False})
    assert maskwright.Matcher(grammar).accept_bytes(b'{"b": 1, "a": 2}')
    assert not maskwright.Matcher(grammar).accept_bytes(b'{"a"')


def test_whitespace(compiler):
    schema = json.dumps({"type": "array", "items": {"const": 1}})
    texts = {"compact": b"[1,1]", "flexible": b"[1, 1]", "any": b"[ 1 ,1\t]"}
    for whitespace, text in texts.items():
        grammar = compiler.compile_json_schema(schema, whitespace=whitespace)
        accepts = {name: maskwright.Matcher(grammar).accept_bytes(text) for name, text in texts.items()}
        assert accepts[whitespace]
        assert whitespace != "compact" or not (accepts["flexible"] or accepts["any"])
        assert whitespace != "flexible" or not accepts["any"]


def test_arguments_of_the_wrong_type(tokenizer, compiler):
    with pytest.raises(TypeError):
        maskwright.Compiler("tokenizer.json")
    with pytest.raises(TypeError):
        maskwright.Matcher(compiler)
    with pytest.raises(TypeError):
        compiler.compile_regex(b"a")
    matcher = maskwright.Matcher(compiler.compile_regex("a+"))
    for wrong in (None, "a", 1.5):
        with pytest.raises(TypeError):
            matcher.accept_token(wrong)
    assert matcher.accept_token(ord("a"))
