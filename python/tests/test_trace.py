"""What a model wanted to write, and what a grammar let it write."""

import numpy as np
import pytest

import maskwright
from maskwright import Matcher, Trace

SCHEMA = {"type": "object", "properties": {"age": {"type": "integer", "maximum": 120}}, "required": ["age"]}


@pytest.fixture
def tokenizer():
    return maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])


@pytest.fixture
def grammar(tokenizer):
    return maskwright.Compiler(tokenizer).compile_json_schema(SCHEMA, whitespace="compact")


def written(matcher, trace, text, favourite):
    """Writes a text that the model does not want: its favourite is always the same."""
    mask = maskwright.allocate_token_bitmask(1, 257)
    for token in [*text, 256]:
        matcher.fill_next_token_bitmask(mask)
        logits = np.zeros(257, dtype=np.float32)
        logits[favourite] = 9.0
        trace.step(logits, mask, token)
        assert matcher.accept_token(token)


def test_a_page_says_what_was_refused_and_why(grammar):
    matcher = Matcher(grammar, max_tokens=40)
    trace = Trace(matcher, title="An age", model="none", prompt="How old?")
    written(matcher, trace, b'{"age":20}', ord("9"))
    page = trace.html()
    assert page.startswith("<!doctype html>") and "An age" in page and "How old?" in page
    assert "at /age: 209 is above" in page.replace("\\u0022", '"')
    assert len(trace) == 11 and trace.cost_nats > 50 and repr(trace) == "Trace(11 tokens)"
    lines = trace.text()
    assert "/age" in lines and 'wanted "9"' in lines
    assert "srcdoc" in trace._repr_html_() and "<script" not in trace._repr_html_()


def test_a_page_is_written(grammar, tmp_path):
    trace = Trace(grammar)
    assert trace.cost_nats is None
    trace.step(np.zeros(257, dtype=np.float64), None, 65)
    assert trace.cost_nats == pytest.approx(0.0)
    trace.save(tmp_path / "trace.html")
    assert (tmp_path / "trace.html").read_text(encoding="utf-8") == trace.html()


def test_tokens_without_a_tokenizer_are_numbers():
    trace = Trace()
    trace.step(np.array([1.0, 2.0], dtype=np.float16), np.array([1], dtype=np.int32), 0)
    assert "#0" in trace.text() and "#1" in trace.text()


@pytest.mark.parametrize(
    ("logits", "mask", "token", "error"),
    [
        (np.zeros(257, dtype=np.float32), None, 257, ValueError),
        (np.zeros(257, dtype=np.float32), None, -1, ValueError),
        (np.zeros(257, dtype=np.int64), None, 0, TypeError),
        (np.zeros((2, 257), dtype=np.float32), None, 0, ValueError),
        (np.zeros(257, dtype=np.float32), np.zeros(9, dtype=np.int64), 0, TypeError),
        (np.zeros(257, dtype=np.float32), np.zeros((2, 9), dtype=np.int32), 0, ValueError),
        ("logits", None, 0, (TypeError, ValueError)),
    ],
)
def test_what_is_no_row_of_numbers_is_refused(grammar, logits, mask, token, error):
    trace = Trace(Matcher(grammar))
    with pytest.raises(error):
        trace.step(logits, mask, token)
    assert len(trace) == 0


def test_odd_logits_and_masks_are_noted(grammar):
    trace = Trace(Matcher(grammar))
    odd = np.full(300, np.nan, dtype=np.float32)
    odd[5] = np.inf
    trace.step(odd, np.zeros(1, dtype=np.int32), 299)
    trace.step(np.full(257, -np.inf, dtype=np.float32), None, 0)
    assert len(trace) == 2 and "<!doctype html>" in trace.html()


def test_another_type_is_refused():
    with pytest.raises(TypeError, match="not of str"):
        Trace("tokenizer.json")


def test_a_state_is_told_in_words(grammar):
    matcher = Matcher(grammar)
    assert matcher.accept_bytes('{"age":20')
    state = matcher.state()
    assert state.path == "/age" and state.rules == [] and not state.is_complete
    assert [(keyword.name, keyword.value, keyword.pointer) for keyword in state.keywords] == [
        ("type", '"integer"', "/properties/age"),
        ("maximum", "120", "/properties/age"),
    ]
    assert state.next[0].words == "`,`" and state.next[0].examples == [","]
    assert str(state).startswith("at /age: expected ") and matcher.expected().startswith("`,` or `}`")
    assert "<table>" in state._repr_html_() and "&quot;maximum&quot;: 120" in state._repr_html_()
    assert matcher.explain(ord("0")) == 'token 48 `0` is refused: at /age: 200 is above "maximum": 120'


def test_a_search_shows_its_tree(grammar):
    trace = Trace(title="old")
    trace.step(np.zeros(257, dtype=np.float32), None, 65)

    def logits_fn(sequences):
        return np.stack([np.sin(np.arange(257) * (len(ids) + 1)) for ids in sequences])

    matcher = Matcher(grammar, max_tokens=12)
    for strategy in ["best-of", "beam", "mcts", "likeliest", "smc"]:
        best = matcher.search(logits_fn, [1], strategy=strategy, tries=4, trace=trace)[0]
        assert len(trace) == len(best.token_ids)
        page = trace.html()
        assert page.count('"o":"chosen"') == len(best.token_ids) and "old" in page
    with pytest.raises(TypeError, match="expected a Trace"):
        matcher.search(logits_fn, [1], trace="page.html")


def test_calls_of_tools_are_regions(tokenizer):
    tools = [{"name": "look", "parameters": {"type": "object", "properties": {"at": {"type": "string"}}, "required": ["at"]}}]
    matcher = Matcher(maskwright.Compiler(tokenizer).compile_tool_calls(tools, format="qwen_3"))
    trace = Trace(matcher)
    written(matcher, trace, b'<tool_call>\n{"name": "look", "arguments": {"at": "x"}}\n</tool_call>', ord("9"))
    lines = trace.text()
    assert "tool" in lines and "look" in lines and "argument" in lines


def test_what_looks_like_a_call_in_free_text_is_no_region(tokenizer):
    arguments = {"type": "json_schema", "json_schema": {"type": "object", "properties": {"n": {"type": "integer"}}}}
    call = {"type": "tag", "begin": "<f=a>", "content": arguments, "end": "</f>"}
    thinks = {"type": "tag", "begin": "<think>", "content": {"type": "any_text"}, "end": "</think>"}
    calls = {"type": "triggered_tags", "triggers": ["<f="], "tags": [call]}
    tag = {"type": "structural_tag", "format": {"type": "sequence", "elements": [thinks, calls]}}
    grammar = maskwright.Compiler(tokenizer).compile_structural_tag(tag)
    begun = b'<think>I call <f=a>{"n": 99'
    for text, regions in [
        (begun, ["tag <think> bytes 0..open"]),
        (begun + b'</think><f=a>{"n": 1}</f>', ["tag <think> bytes 0..35", "tag a bytes 35..52", "argument n bytes 46..47"]),
    ]:
        matcher = Matcher(grammar)
        trace = Trace(matcher)
        mask = maskwright.allocate_token_bitmask(1, 257)
        for token in text:
            matcher.fill_next_token_bitmask(mask)
            trace.step(np.zeros(257, dtype=np.float32), mask, token)
            assert matcher.accept_token(token)
        assert [line[7:] for line in trace.text().splitlines() if line.startswith("region ")] == regions
