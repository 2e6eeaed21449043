"""`LogitsProcessor` in `generate` of DiffusionGemma: a tiny random model of transformers' own code writes valid and whole texts."""

import ast
import json
import re
import time
from types import SimpleNamespace

import jsonschema
import maskwright
import pytest
import torch
import transformers
from conftest import SCHEMAS, check, compile_all, run_page
from maskwright.integrations.diffusion_gemma import LogitsProcessor
from transformers import AutoTokenizer, LogitsProcessorList
from transformers.models.diffusion_gemma import (
    DiffusionGemmaConfig,
    DiffusionGemmaForBlockDiffusion,
    DiffusionGemmaTextConfig,
)
from transformers.models.gemma4 import Gemma4VisionConfig

N_CALLS = 25
TOOLS = [{"name": "weather", "parameters": {**SCHEMAS["person"], "title": "weather"}}]


class Peaks:
    """Makes a few tokens of each position as good as certain: others at each step."""

    def __call__(self, input_ids, scores, cur_step):
        peaked = scores.clone()
        for _ in range(3):
            ids = torch.randint(scores.shape[2], scores.shape[:2])
            peaked.scatter_add_(-1, ids[..., None], torch.full((*scores.shape[:2], 1), 12.0, dtype=scores.dtype))
        return peaked


@pytest.fixture(scope="module")
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder)


def tiny_model(tokenizer, canvas_length, dtype=torch.float32):
    torch.manual_seed(0)
    text = DiffusionGemmaTextConfig(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        head_dim=16,
        global_head_dim=16,
        sliding_window=64,
        num_experts=2,
        top_k_experts=1,
        moe_intermediate_size=16,
        layer_types=["sliding_attention", "full_attention"],
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
    )
    vision = Gemma4VisionConfig(hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=1, num_key_value_heads=1, head_dim=16)
    model = DiffusionGemmaForBlockDiffusion(DiffusionGemmaConfig(text_config=text, vision_config=vision, canvas_length=canvas_length))
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model.to(dtype).eval()


@pytest.fixture(scope="module")
def model(tokenizer):
    return tiny_model(tokenizer, 64)


@pytest.fixture(scope="module")
def grammars(tokenizer):
    compiler = maskwright.Compiler(maskwright.Tokenizer.from_hf(tokenizer))
    return compile_all(compiler) | {
        "python": compiler.compile_builtin("python"),
        "calls": compiler.compile_tool_calls(TOOLS, format="hermes", tool_choice="required", parallel=False),
    }


def is_valid(name, text):
    """Whether a text is one of the grammar; judged without this package."""
    try:
        if name == "python":
            ast.parse(text)
        elif name == "calls":
            # Any text may come before the call.
            _, mark, call = text.partition("<tool_call>")
            assert mark and call.endswith("</tool_call>")
            call = json.loads(call.removesuffix("</tool_call>"))
            assert call["name"] == "weather"
            jsonschema.Draft202012Validator(SCHEMAS["person"]).validate(call["arguments"])
        else:
            check(name, text)
    except (SyntaxError, ValueError, AssertionError, jsonschema.ValidationError):
        return False
    return True


def generate(model, tokenizer, processors, n_rows, seed=0, **options):
    """The texts of some rows, and whether each has its end."""
    torch.manual_seed(seed)
    prompt = tokenizer("Write it.", return_tensors="pt").input_ids.repeat(n_rows, 1)
    options = {"max_new_tokens": 150, "max_denoising_steps": 4} | options
    sequences = model.generate(prompt, logits_processor=LogitsProcessorList(processors), **options).sequences
    new = sequences[:, prompt.shape[1] :].tolist()
    ends = [row.index(tokenizer.eos_token_id) if tokenizer.eos_token_id in row else None for row in new]
    limit = options["max_new_tokens"]
    whole = [end is not None and end < limit for end in ends]
    return [tokenizer.decode(row[:end]) for row, end in zip(new, ends, strict=True)], whole


@pytest.mark.parametrize("peaked", [False, True])
def test_all_texts_are_valid_and_whole(model, tokenizer, grammars, peaked):
    names = [*grammars, "python", "calls"]
    n_rows = 4
    n_valid, seconds = 0, 0.0
    for seed in range(N_CALLS):
        chosen = [names[(n_rows * seed + row) % len(names)] for row in range(n_rows)]
        processors = [LogitsProcessor([grammars[name] for name in chosen])]
        processors = [Peaks(), *processors] if peaked else processors
        start = time.monotonic()
        texts, whole = generate(model, tokenizer, processors, n_rows, seed)
        seconds += time.monotonic() - start
        for name, text, is_whole in zip(chosen, texts, whole, strict=True):
            assert is_whole, (name, text)
            assert is_valid(name, text), (name, text)
            n_valid += 1
    print(f"\npeaked {peaked}: {n_valid} of {N_CALLS * n_rows} texts valid and whole, {seconds / N_CALLS:.2f} s a call")


def test_none_is_valid_without_it(model, tokenizer, grammars):
    names = list(grammars)
    texts, whole = generate(model, tokenizer, [], len(names))
    assert not any(is_whole and is_valid(name, text) for name, text, is_whole in zip(names, texts, whole, strict=True))


def test_reduced_precision(tokenizer, grammars):
    model = tiny_model(tokenizer, 32, torch.bfloat16)
    names = ["person", "date", "calls", "gbnf"]
    texts, whole = generate(model, tokenizer, [Peaks(), LogitsProcessor([grammars[name] for name in names])], 4, max_new_tokens=80)
    assert all(whole) and all(map(is_valid, names, texts)), texts


def test_text_over_several_blocks(tokenizer, grammars):
    model = tiny_model(tokenizer, 8)
    compiler = grammars["date"].compiler
    grammar = compiler.compile_regex("([a-z]{3} ){20}[0-9]{4}")
    texts, whole = generate(model, tokenizer, [LogitsProcessor(grammar)], 3, max_new_tokens=61)
    assert all(whole), texts
    for text in texts:
        words = text.split(" ")
        assert len(words) == 21 and all(len(word) == 3 and word.islower() for word in words[:20]) and words[20].isdigit()


def test_used_twice_and_misused(model, tokenizer, grammars):
    processor = LogitsProcessor(grammars["date"])
    for n_rows in (2, 1):
        texts, whole = generate(model, tokenizer, [processor], n_rows)
        assert all(whole) and all(is_valid("date", text) for text in texts)
    with pytest.raises(ValueError, match="too few for the grammar"):
        generate(model, tokenizer, [LogitsProcessor(grammars["calls"])], 1, max_new_tokens=3)
    with pytest.raises(ValueError, match="2 grammars"):
        generate(model, tokenizer, [LogitsProcessor([grammars["date"], grammars["gbnf"]])], 3)
    other = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] * 256, eos_token_ids=[0])
    with pytest.raises(ValueError, match="compile the grammar for this model's tokenizer"):
        generate(model, tokenizer, [LogitsProcessor(re.compile("[a-z]+"), maskwright.Compiler(other))], 1)


def test_the_guide(tokenizer, monkeypatch, tmp_path):
    """Its example, with the tiny model in the place of the one that it loads."""
    model = tiny_model(tokenizer, 64)
    processor = SimpleNamespace(tokenizer=tokenizer, apply_chat_template=tokenizer.apply_chat_template, decode=tokenizer.decode)
    monkeypatch.setattr(transformers.AutoProcessor, "from_pretrained", lambda name: processor)
    monkeypatch.setattr(DiffusionGemmaForBlockDiffusion, "from_pretrained", lambda name, device_map: model)
    names = run_page("docs/guides/diffusion.md", "cargo xtask hosts transformers", tmp_path, {"512": "100"}).names
    assert isinstance(names["person"], names["Person"])


def test_time_beside_a_pass(tokenizer, grammars):
    """A block of 256 positions with 64 candidates: the search alone, and the whole processor beside a pass of the model."""
    model = tiny_model(tokenizer, 256)
    peaks, processor = Peaks(), LogitsProcessor(grammars["person"])
    scores = peaks(None, torch.randn(1, 256, len(tokenizer)), 1)
    values, ids = scores.log_softmax(-1).topk(64)
    for name in ("person", "anything", "date", "python", "calls"):
        matcher = maskwright.Matcher(grammars[name])
        for _ in range(2):
            start = time.monotonic()
            found = matcher.likeliest(candidates=(ids[0], values[0]))
            search = time.monotonic() - start
        processor = LogitsProcessor(grammars[name])
        prompt = torch.tensor([[1]])
        for _ in range(2):
            start = time.monotonic()
            processor(prompt, scores, 1)
            whole = time.monotonic() - start
        print(f"\n{name}: search {search * 1e3:.1f} ms ({found.status}), processor {whole * 1e3:.0f} ms", end="")
    with torch.no_grad():
        start = time.monotonic()
        generate(model, tokenizer, [], 1, max_new_tokens=256, max_denoising_steps=1)
    print(f"\na pass of the tiny model: {(time.monotonic() - start) * 1e3:.0f} ms")
