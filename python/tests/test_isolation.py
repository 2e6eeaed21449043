"""One tool that cannot be compiled costs that tool: what the adapters of servers do with the tags that servers make."""

import json
import re
import time

import maskwright
import pytest
from maskwright.integrations._serving import options
from maskwright.integrations._serving.specs import Grammars, Spec, one_line

GOOD = {"type": "object", "properties": {"x": {"type": "integer"}}, "additionalProperties": False}
BAD = {"type": "object", "properties": {"x": {"type": "text"}}}


def tag(name, schema):
    content = {"type": "json_schema", "json_schema": schema}
    return {"type": "tag", "begin": f'<call>{{"name": "{name}", "arguments": ', "content": content, "end": "}</call>"}


def triggered(*tags):
    return json.dumps({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<call>"], "tags": tags}})


def branches(*tools):
    branch = [{"properties": {"name": {"enum": [name]}, "parameters": schema}, "required": ["name", "parameters"]} for name, schema in tools]
    return json.dumps({"type": "array", "minItems": 1, "items": {"type": "object", "anyOf": branch}})


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_accepting()


@pytest.fixture
def grammars(compiler, monkeypatch):
    def make(way):
        monkeypatch.setenv("MASKWRIGHT_ON_TOOL_ERROR", way)
        grammars = Grammars(compiler, options.read())
        return lambda kind, text: grammars.get(Spec(kind, text, grammars.options.grammar), "r1")

    return make


def test_a_bad_tool_of_a_tag_costs_that_tool(grammars, caplog):
    text = triggered(tag("first", GOOD), tag("bad", BAD), tag("worse", {"$ref": "#/nowhere"}), tag("last", GOOD))
    with pytest.raises(maskwright.SchemaError) as refused:
        grammars("raise")("structural_tag", text)
    assert one_line(refused.value).startswith("the tool bad; ")
    left = grammars("leave_out")("structural_tag", text)
    assert re.findall("request r1: (the tool .* is left out): ", caplog.text) == ["the tool bad is left out", "the tool worse is left out"]
    loose = grammars("any_json")("structural_tag", text)

    def call(name, arguments):
        return f'hi <call>{{"name": "{name}", "arguments": {arguments}}}</call>'

    for grammar in (left, loose):
        assert accepts(grammar, call("first", '{"x": 1}')) and accepts(grammar, call("last", "{}"))
        assert not accepts(grammar, call("first", '{"x": "1"}'))
        assert accepts(grammar, call("bad", '{"x": "1"}')) == (grammar is loose)
        assert not accepts(grammar, call("bad", "1"))


def test_a_bad_branch_of_a_schema_costs_that_branch(grammars, caplog):
    text = branches(("first", GOOD), ("bad", BAD))
    grammar = grammars("leave_out")("json", text)
    assert "request r1: the tool bad is left out: " in caplog.text
    assert accepts(grammar, '[{"name": "first", "parameters": {"x": 1}}]')
    assert not accepts(grammar, '[{"name": "bad", "parameters": {}}]')
    loose = grammars("any_json")("json", text)
    assert accepts(loose, '[{"name": "bad", "parameters": {"y": []}}]')


def test_a_tool_is_named_where_it_is_alone_or_listed_twice(grammars, caplog, counted):
    twice = [tag("bad", BAD), tag("bad", BAD)]
    for tags, way in ((twice[:1], "raise"), (twice[:1], "leave_out"), (twice, "any_json")):
        if way == "any_json":
            grammars(way)("structural_tag", triggered(*tags))
        else:
            with pytest.raises(maskwright.SchemaError) as refused:
                grammars(way)("structural_tag", triggered(*tags))
            assert one_line(refused.value).startswith("the tool bad; ")
    assert caplog.text.count("the tool bad takes any JSON") == counted("maskwright_tools_not_compiled_total") == 1
    forged = {"begin": "<x\nrequest 1: fine>" + "x" * 200, "content": {"type": "json_schema", "json_schema": BAD}, "end": "</x>"}
    with pytest.raises(maskwright.SchemaError) as refused:
        grammars("raise")("structural_tag", json.dumps({"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<x"], "tags": [forged]}}))
    assert "\n" not in one_line(refused.value) and one_line(refused.value).startswith("the tool <x request 1: fine>xx")
    with pytest.raises(maskwright.Error) as refused:
        grammars("raise")("json", json.dumps({"type": "object", "properties": {"a": {"type": "text"}}}))
    assert not hasattr(refused.value, "__notes__")


def test_a_tool_that_takes_too_much_work_costs_that_tool(tokenizer, monkeypatch, caplog):
    compiler = maskwright.Compiler(tokenizer, limits={"compile_work": 60_000})
    monkeypatch.setenv("MASKWRIGHT_ON_TOOL_ERROR", "leave_out")
    many = {"type": "object", "properties": {"x": {"enum": [f"w{i}" for i in range(90_000)]}}}
    text = triggered(tag("first", GOOD), tag("heavy", many), tag("last", GOOD))
    grammar = Grammars(compiler, options.read()).get(Spec("structural_tag", text, options.read().grammar), "r1")
    assert re.findall("the tool (.*) is left out", caplog.text) == ["heavy"]
    assert accepts(grammar, '<call>{"name": "last", "arguments": {"x": 1}}</call>')


def test_one_tool_alone(grammars):
    for text in (triggered(tag("only", BAD)), branches(("only", BAD))):
        kind = "structural_tag" if "triggers" in text else "json"
        with pytest.raises(maskwright.SchemaError):
            grammars("leave_out")(kind, text)
        assert grammars("any_json")(kind, text) is not None


#: Documents with lists that are not lists of tools, or whose numbers Python cannot keep: nothing of them may change.
KEPT = {
    "sequence": {"type": "sequence", "elements": [tag("think", GOOD), tag("bad", BAD)]},
    "one of two shapes": tag("draw", {"anyOf": [{"properties": {"name": {"const": "circle"}, "arguments": BAD}}, GOOD]}),
    "number": {"type": "or", "elements": [tag("bad", BAD), tag("big", {"type": "object", "maxProperties": 7, "x": 0.5})]},
}


@pytest.mark.parametrize("name", KEPT)
def test_other_lists_are_left_alone(grammars, name):
    text = json.dumps({"type": "structural_tag", "format": KEPT[name]}).replace("0.5", "0.1000000000000000000001")
    with pytest.raises(maskwright.Error):
        grammars("leave_out")("structural_tag", text)


@pytest.mark.parametrize("keyword", ["allOf", "oneOf", "anyOf"])
def test_a_schema_of_a_user_keeps_its_branches(grammars, keyword):
    branch = {"properties": {"name": {"const": "a"}, "x": {"type": "text"}}, "required": ["name"]}
    text = json.dumps({keyword: [branch, {"properties": {"name": {"const": "b"}}}]})
    with pytest.raises(maskwright.SchemaError):
        grammars("leave_out")("json", text)


def test_many_tools_cost_a_compilation_each(grammars):
    tools = [tag(f"tool_{i}", GOOD) for i in range(200)]
    start = time.monotonic()
    grammar = grammars("leave_out")("structural_tag", triggered(*tools, tag("bad", BAD)))
    assert accepts(grammar, '<call>{"name": "tool_7", "arguments": {"x": 1}}</call>')
    assert time.monotonic() - start < 4


def test_what_is_no_fault_of_a_tool_is_an_error(grammars):
    for way in ("leave_out", "any_json"):
        made = grammars(way)
        with pytest.raises(maskwright.Error):
            made("structural_tag", '{"type": "structural_tag", "format": {"type": "tog"}}')
        with pytest.raises(maskwright.Error):
            made("json", "{")
        with pytest.raises(maskwright.Error):
            made("json", json.dumps(BAD))


def test_the_environment_is_checked(grammars):
    with pytest.raises(ValueError, match="MASKWRIGHT_ON_TOOL_ERROR"):
        grammars("ignore")
