"""`Compiler.compile_tool_calls`: tools and choices as Python has them. The formats are tested in `crates/tags`."""

import json
import pickle
import typing
from pathlib import Path

import maskwright
import pytest

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}


def tokenizer_of_bytes():
    return maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])


@pytest.fixture(scope="module")
def compiler():
    return maskwright.Compiler(tokenizer_of_bytes())


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_accepting()


def call(name, arguments):
    return f'{{"name": "{name}", "parameters": {json.dumps(arguments)}}}'


def test_tools_of_all_kinds(compiler):
    def add(a: int, b: int = 1) -> int:
        return a + b

    class Note(typing.TypedDict):
        text: str

    tools = [WEATHER, {"name": "now", "inputSchema": {"type": "object", "additionalProperties": False}}, add, Note]
    for given in (tools, tuple(tools), iter(tools)):
        grammar = compiler.compile_tool_calls(given, format="llama", tool_choice="required")
        assert accepts(grammar, call("get_weather", {"city": "Rome"})) and accepts(grammar, call("now", {}))
        assert accepts(grammar, call("add", {"a": 1})) and accepts(grammar, call("Note", {"text": "x"}))
        assert not accepts(grammar, call("add", {"b": 1})) and not accepts(grammar, "hello")
    text = json.dumps({"tools": [WEATHER]})
    for given in (text, {"tools": [WEATHER]}):
        assert accepts(compiler.compile_tool_calls(given, format="llama"), call("get_weather", {"city": "Rome"}))


def test_a_file_of_tools(compiler, tmp_path):
    path = tmp_path / "tools.json"
    path.write_text(json.dumps([WEATHER]), encoding="utf-8")
    assert accepts(compiler.compile_tool_calls(path, format="llama"), call("get_weather", {"city": "Rome"}))
    path.write_text(json.dumps([{"name": "f", "parameters": {"type": "text"}}]), encoding="utf-8")
    with pytest.raises(maskwright.Error) as told:
        compiler.compile_tool_calls(path, format="llama")
    assert (told.value.path, told.value.pointer) == (str(path), "/0/parameters/type")


def test_choices(compiler):
    def grammar(choice, **options):
        tools = [WEATHER, {"name": "now"}]
        return compiler.compile_tool_calls(tools, format="qwen_3", tool_choice=choice, **options)

    def written(name, arguments):
        return f'<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(arguments)}}}\n</tool_call>'

    now, rome = written("now", {}), written("get_weather", {"city": "Rome"})
    for choice, texts in [
        ("auto", [True, True, True, True]),
        (None, [True, True, True, True]),
        ("none", [True, False, False, False]),
        ("required", [False, True, True, True]),
        ("now", [False, True, False, False]),
        ({"type": "function", "function": {"name": "now"}}, [False, True, False, False]),
        ({"type": "tool", "name": "get_weather"}, [False, False, True, False]),
        (
            {"type": "allowed_tools", "mode": "auto", "tools": [{"type": "function", "name": "now"}]},
            [True, True, False, False],
        ),
    ]:
        made = grammar(choice)
        assert [accepts(made, text) for text in ("hello", now, rome, f"{now}\n{rome}")] == texts, choice
    one = grammar("auto", parallel=False)
    assert accepts(one, f"hello\n{now}") and not accepts(one, f"{now}\n{rome}")
    bare = grammar("required", text=False)
    assert accepts(bare, now) and not accepts(bare, f"hello\n{now}")
    thinking = grammar("required", reasoning=True)
    assert accepts(thinking, f"<think>\nhm\n</think>\n\n{now}") and not accepts(thinking, now)
    either = grammar("required", reasoning="auto")
    assert accepts(either, f"<think>\nhm\n</think>\n\n{now}") and accepts(either, now)


def test_a_bad_tool_costs_that_tool(compiler):
    bad = {"name": "draw", "inputSchema": {"type": "object", "properties": {"at": {"pattern": "(a)\\1"}}}}
    with pytest.raises(maskwright.Error, match="the tool .draw.") as told:
        compiler.compile_tool_calls([WEATHER, bad], format="llama")
    assert told.value.pointer == "/1/inputSchema/properties/at"
    for on_error, can_be_called in [("leave_out", False), ("any_json", True)]:
        grammar = compiler.compile_tool_calls([WEATHER, bad], format="llama", tool_choice="required", on_error=on_error)
        assert accepts(grammar, call("get_weather", {"city": "Rome"}))
        assert accepts(grammar, call("draw", {"at": 1})) is can_be_called
        (entry,) = [entry for entry in grammar.report if entry.status == "not enforced"]
        assert (entry.tool, entry.keyword, entry.pointer) == ("draw", "inputSchema", "/1") and "draw" in repr(entry)
        assert {entry.tool for entry in grammar.report} == {"draw", "get_weather"}


def test_saved_grammars(compiler):
    grammar = compiler.compile_tool_calls([WEATHER], format="llama")
    again = maskwright.CompiledGrammar.deserialize(grammar.serialize(), compiler)
    assert accepts(again, call("get_weather", {"city": "Rome"})) and accepts(pickle.loads(pickle.dumps(grammar)), "hello")


def test_the_format_of_a_chat_template(tmp_path):
    """It is found beside a file, and kept by pickling."""
    tokens = {chr(byte): byte for byte in range(33, 127)}
    model = {"type": "BPE", "vocab": tokens, "merges": []}
    path = tmp_path / "tokenizer.json"
    added = [{"id": 300, "content": "</s>", "special": True, "single_word": False, "lstrip": False, "rstrip": False}]
    path.write_text(json.dumps({"model": model, "added_tokens": added, "decoder": {"type": "ByteLevel"}}), encoding="utf-8")
    load = lambda: maskwright.Tokenizer.from_file(path, eos_token_ids=[300])  # noqa: E731
    with pytest.raises(maskwright.GrammarError, match="has no chat template.*qwen_3"):
        maskwright.Compiler(load()).compile_tool_calls([WEATHER])
    template = tmp_path / "chat_template.jinja"
    template.write_text('<tool_call> {"name": x, "arguments": y}', encoding="utf-8")
    tokenizer = pickle.loads(pickle.dumps(load()))
    assert tokenizer.chat_template == template.read_text(encoding="utf-8")
    assert maskwright.Compiler(tokenizer).compile_tool_calls([WEATHER]).report
    for text, why in (("{{ messages }}{{ tools }}", "is of no known format"), ("{{ messages }}", "has no tools")):
        template.write_text(text, encoding="utf-8")
        with pytest.raises(maskwright.GrammarError, match=f"chat template {why}.*qwen_3"):
            maskwright.Compiler(load()).compile_tool_calls([WEATHER])


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (3, {}, TypeError, "a list of tools"),
        ([3], {}, TypeError, "a tool as a dict"),
        ([{"name": object()}], {}, maskwright.GrammarError, "no JSON"),
        ([WEATHER, WEATHER], {}, maskwright.GrammarError, "the tools 0 and 1 have the same name"),
        ([WEATHER], {"format": "qwen"}, maskwright.GrammarError, "no format of tool calls"),
        ([WEATHER], {"tool_choice": "getweather"}, maskwright.GrammarError, "did you mean `get_weather`"),
        ([WEATHER], {"tool_choice": 3}, TypeError, "tool_choice as a str or a dict"),
        ([WEATHER], {"reasoning": "maybe"}, ValueError, "reasoning is 'maybe'"),
        ([WEATHER], {"reasoning": True}, maskwright.GrammarError, "no marks around reasoning"),
        ([WEATHER], {"on_error": "ignore"}, ValueError, "on_error is"),
        ([], {"tool_choice": "required"}, maskwright.GrammarError, "there are no tools"),
        ([{"type": "web_search"}], {}, maskwright.GrammarError, "leave it out"),
    ],
)
def test_wrong_use(compiler, arguments, options, error, message):
    with pytest.raises(error, match=message):
        compiler.compile_tool_calls(arguments, **{"format": "llama", **options})


def test_formats():
    assert len(maskwright.tool_formats()) >= 25 and maskwright.tool_formats() == sorted(maskwright.tool_formats())


def test_the_guide_has_each_format():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "tool-calls.md").read_text(encoding="utf-8")
    assert [name for name in maskwright.tool_formats() if f"| `{name}`" not in guide] == []
