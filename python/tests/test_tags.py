"""Structural tags."""

import json
import pathlib

import maskwright
import pytest
from pydantic import BaseModel, Field

TAG = {
    "type": "structural_tag",
    "format": {
        "type": "triggered_tags",
        "triggers": ["<f="],
        "tags": [{"type": "tag", "begin": "<f=a>", "content": {"type": "json_schema", "json_schema": {"type": "integer"}}, "end": "</f>"}],
    },
}


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_accepting()


class Tag(BaseModel):
    kind: str = Field("structural_tag", serialization_alias="type")
    format: dict


def test_text_dict_file_and_model_are_the_same(compiler, tmp_path):
    file = tmp_path / "tag.json"
    file.write_text(json.dumps(TAG))
    for tag in [TAG, json.dumps(TAG), pathlib.Path(file), Tag(format=TAG["format"])]:
        grammar = compiler.compile_structural_tag(tag)
        assert accepts(grammar, "x<f=a>12</f>y") and not accepts(grammar, "<f=a>x</f>")
        assert [entry.pointer for entry in grammar.report] == ["/format/tags/0/content/json_schema"]
    for tag in [Tag, 5, None]:
        with pytest.raises(TypeError, match="structural tag"):
            compiler.compile_structural_tag(tag)


def test_a_saved_tag_is_the_same(compiler):
    grammar = compiler.compile_structural_tag(TAG, whitespace="compact")
    again = maskwright.CompiledGrammar.deserialize(grammar.serialize(), compiler)
    assert accepts(again, "<f=a>1</f>") and again.report == grammar.report


@pytest.mark.parametrize(
    ("tag", "error", "pointer", "hint"),
    [
        ({"format": {"type": "any_txt"}}, maskwright.GrammarError, "/format/type", "`any_text`"),
        ({"format": {"type": "token", "token": "<nothing>"}}, maskwright.GrammarError, "/format/token", None),
        ({"format": {"type": "token", "token": 1 << 30}}, maskwright.GrammarError, "/format/token", None),
        ({"format": {"type": "json_schema", "json_schema": {"type": "nothing"}}}, maskwright.SchemaError, "/format/json_schema", None),
        ([], maskwright.GrammarError, "", None),
        ({"format": {"type": "any_text", "max_tokens": -3}}, maskwright.GrammarError, "/format/max_tokens", None),
        ({"format": float("nan")}, maskwright.GrammarError, None, None),
        ('{"format": ', maskwright.GrammarError, None, None),
    ],
)
def test_errors_say_where(compiler, tag, error, pointer, hint):
    with pytest.raises(error) as raised:
        compiler.compile_structural_tag(tag)
    assert raised.value.pointer == pointer
    assert hint is None or hint in raised.value.hint


def test_what_is_not_enforced_is_in_the_report(compiler):
    schema = {"type": "array", "items": {"type": "string"}, "uniqueItems": True}
    tag = {"format": {"type": "or", "elements": [{"type": "json_schema", "json_schema": schema}, {"type": "any_text"}]}}
    with pytest.raises(maskwright.GrammarError, match="uniqueItems"):
        compiler.compile_structural_tag(tag)
    [entry] = [entry for entry in compiler.compile_structural_tag(tag, strict=False).report if entry.keyword == "uniqueItems"]
    assert (entry.pointer, entry.status) == ("/format/elements/0/json_schema", "not enforced")


def test_options_are_for_the_schemas(compiler):
    schema = {"type": "object", "properties": {"a": {"type": "null"}, "b": {"type": "null"}}}
    tag = {"format": {"type": "json_schema", "json_schema": schema}}
    text = '{ "b" :null,"a":null }'
    assert not accepts(compiler.compile_structural_tag(tag), text)
    assert accepts(compiler.compile_structural_tag(tag, whitespace="any", property_order="any"), text)
    tag["format"] |= {"max_whitespace_cnt": 1, "any_order": True}
    assert accepts(compiler.compile_structural_tag(tag), text)
    with pytest.raises(ValueError, match="whitespace"):
        compiler.compile_structural_tag(tag, whitespace="none")


def test_misspelt_keywords_are_warned_about(compiler):
    with pytest.warns(maskwright.SchemaWarning, match="minLength"):
        compiler.compile_structural_tag({"format": {"type": "json_schema", "json_schema": {"minLenght": 1}}})
