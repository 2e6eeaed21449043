"""A small model writes calls in every format, each read by a parser that shares no code with the grammar."""

import os

import maskwright
import pytest
import torch
from conftest import SMOLLM2, run_page
from maskwright.integrations.transformers import LogitsProcessor
from tool_parsers import parse
from tool_parsers.checking import faults
from transformers import AutoModelForCausalLM, AutoTokenizer

#: Texts of each format.
N_TEXTS = 10
#: How many tokens a text may have beyond the fewest that any has: marks take many tokens in this vocabulary.
MORE_TOKENS = 50
CITY = {"type": "string", "pattern": "^[A-Z][a-z]{2,10}$"}
SCHEMAS = {
    "get_weather": {
        "type": "object",
        "properties": {"city": CITY, "days": {"type": "integer", "minimum": 1, "maximum": 14}, "unit": {"enum": ["C", "F"]}},
        "required": ["city", "days"],
        "additionalProperties": False,
    },
    "find_flights": {
        "type": "object",
        "properties": {
            "from_city": CITY,
            "stops": {"type": "array", "items": CITY, "maxItems": 2},
            "direct": {"type": "boolean"},
            "seat": {"type": "object", "properties": {"row": {"type": "integer"}}, "required": ["row"], "additionalProperties": False},
        },
        "required": ["from_city", "direct"],
        "additionalProperties": False,
    },
}
PROMPTS = [
    "How is the weather in Rome for the next three days?",
    "Find a direct flight from Oslo.",
    "Will it be warm in Madrid tomorrow?",
    "I want to fly from Paris with a stop in Vienna.",
    "Weather for Berlin, one week, please.",
]


@pytest.fixture(scope="module")
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder, padding_side="left")


@pytest.fixture(scope="module")
def model(folder):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()


@pytest.fixture(scope="module")
def compiler(tokenizer, model):
    return maskwright.Compiler(maskwright.Tokenizer.from_hf(tokenizer, model=model))


def test_the_guide_runs(tmp_path):
    calls = run_page("docs/guides/tool-calls.md", "cargo xtask hosts transformers", tmp_path, SMOLLM2).names["calls"]
    assert len(calls) >= 3
    for call in calls:
        assert call["name"] == "get_weather" and 1 <= call["arguments"]["days"] <= 14 and call["arguments"]["city"] is not None


def test_the_guide_shows_a_call_while_it_is_written(tmp_path):
    runner = run_page("docs/guides/streaming-tool-calls.md", "cargo xtask hosts transformers", tmp_path, SMOLLM2)
    names, shown = runner.names, runner.printed
    (call,) = names["grammar"].parse(names["follower"].text).calls
    assert call.name == "get_weather" and isinstance(call.arguments["city"], str)
    assert shown.endswith(f"\nget_weather: {call.arguments_json}\n")
    # Some pieces were there before the end.
    assert sum(event.kind == "argument" for event in names["follower"].events()) > 3


@pytest.mark.parametrize("family", maskwright.tool_formats())
def test_calls_can_be_parsed(model, tokenizer, compiler, family):
    tools = [{"name": name, "parameters": schema} for name, schema in SCHEMAS.items()]
    grammar = compiler.compile_tool_calls(tools, format=family, tool_choice="required", text=False)
    chats = [[{"role": "user", "content": f"Tools: {', '.join(SCHEMAS)}. {prompt}"}] for prompt in PROMPTS]
    inputs = tokenizer.apply_chat_template(
        chats, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True
    )
    width = inputs["input_ids"].shape[1]
    torch.manual_seed(1)
    sequences = model.generate(
        **inputs,
        logits_processor=[LogitsProcessor(grammar)],
        max_new_tokens=maskwright.Matcher(grammar).tokens_to_finish() + MORE_TOKENS,
        do_sample=True,
        temperature=1.1,
        num_return_sequences=N_TEXTS // len(PROMPTS),
    )[:, width:]
    # No text may be ended by the limit.
    assert all(tokenizer.eos_token_id in row for row in sequences.tolist())
    texts = [tokenizer.decode([token for token in row if token != tokenizer.eos_token_id]) for row in sequences.tolist()]
    assert len(texts) == N_TEXTS
    for text in texts:
        message = parse(family, text, SCHEMAS)
        assert message.calls, text
        for name, arguments in message.calls:
            assert not faults(arguments, SCHEMAS[name]), text
    print(f"\n{family}: {texts[0]!r}")
