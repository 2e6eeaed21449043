"""What notebooks show of grammars, reports and matchers. Everything in them may be hostile."""

import maskwright
import pytest
from maskwright import Matcher


@pytest.fixture
def compiler():
    tokenizer = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])
    return maskwright.Compiler(tokenizer)


def test_a_grammar_shows_what_it_enforces(compiler):
    schema = {"type": "object", "properties": {"<b>": {"type": "string", "format": "date"}}}
    grammar = compiler.compile_json_schema(schema, strict=False)
    page = grammar._repr_html_()
    assert "json_schema" in page and "<td>257</td>" in page and "`{`" in page
    assert grammar.report._repr_html_() in page
    assert "<b>" not in page and "/properties/&lt;b&gt;" in page


def test_a_report_begins_with_what_is_not_enforced(compiler):
    schema = {"properties": {f"k{n}": {"type": "string"} for n in range(300)} | {"z": {"form_at": "date"}}}
    with pytest.warns(maskwright.SchemaWarning, match="form_at"):
        report = compiler.compile_json_schema(schema, strict=False).report
    assert isinstance(report, list) and isinstance(report, maskwright.Report)
    page = report._repr_html_()
    first = page.split("<tr")[2]
    assert "form_at" in first and "bold" in first and "did you mean format?" in first and "/properties/z" in first
    assert page.count("<tr") == 201 and f"and {len(report) - 200} more" in page
    assert compiler.compile_regex("a").report._repr_html_() == "<p>every rule of the grammar is enforced</p>"


def test_a_report_names_tools(compiler):
    tools = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}}}]
    page = compiler.compile_tool_calls(tools, format="qwen_3").report._repr_html_()
    assert ">tool<" in page and "<td>look</td>" in page


def test_a_matcher_shows_its_text_and_state(compiler):
    matcher = Matcher(compiler.compile_regex("<i>[0-9]{3}"), max_tokens=9)
    assert matcher.accept_bytes("<i>1")
    page = matcher._repr_html_()
    assert "&lt;i&gt;1" in page and "of at most 9" in page and "a digit" in page and "<i>" not in page
    finished = Matcher(compiler.compile_choice(["a"]))
    assert finished.accept_tokens([97, 256]) == 2
    assert "<td>a</td>" in finished._repr_html_()
