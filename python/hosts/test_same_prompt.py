"""The same prompt from the command line, in transformers and in llama-cpp-python: the same tokens, and pages that say the same."""

import json
import os
import re
import subprocess

import maskwright
import pytest
import torch
from conftest import MAX_NEW_TOKENS, SCHEMAS
from llama_cpp import Llama, LogitsProcessorList
from maskwright.integrations import llama_cpp, transformers
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPTS = ["Ada Lovelace as JSON:\n", "The colours of the rainbow:\n", "A point, as JSON: ", "A person: "]
NAMES = ["person", "colours", "point", "person"]
#: Two tokens whose probabilities differ by less may change places: llama.cpp and the command line compute with small integers.
CLOSE = 0.1


def data_of(page):
    """What a page shows: for each token its id, place, number of allowed tokens, and probabilities of those wanted and allowed."""
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    ids = [token["i"] for token in data["tokens"]]

    def candidates(kept):
        return {ids[token]: probability for token, probability, *_ in kept}

    return [
        {
            "id": ids[step["k"]],
            "place": data["strings"][step["p"]] if "p" in step else None,
            "n_allowed": step.get("n"),
            "left": step.get("l"),
            "wanted": candidates(step.get("w", [])),
            "allowed": candidates(step.get("a", [])),
        }
        for step in data["steps"]
    ]


@pytest.fixture(scope="module")
def pages(folder, gguf, tmp_path_factory):
    """For each prompt, the pages of the three programs."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    compiler = maskwright.Compiler(maskwright.Tokenizer.from_hf(tokenizer, model=model))
    llama = Llama(str(gguf), n_ctx=512, verbose=False)
    file = tmp_path_factory.mktemp("pages") / "page.html"
    pages = []
    for name, prompt in zip(NAMES, PROMPTS, strict=True):
        line = [os.environ["MASKWRIGHT_HOSTS_CLI"], "generate", "--model", str(gguf), "--raw", "--no-heal", "--prompt", prompt]
        line += ["--strategy", "greedy", "--no-jump-forward", "--max-tokens", str(MAX_NEW_TOKENS), "--trace", str(file)]
        subprocess.run([*line, "--json-schema", json.dumps(SCHEMAS[name])], check=True, capture_output=True, timeout=300)
        of_program = [file.read_text(encoding="utf-8")]

        trace = maskwright.Trace()
        processor = transformers.LogitsProcessor(compiler.compile_json_schema(SCHEMAS[name]), trace=trace)
        inputs = tokenizer(prompt, return_tensors="pt")
        model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor], do_sample=False)
        of_program.append(trace.html())

        trace = maskwright.Trace()
        processors = LogitsProcessorList([llama_cpp.LogitsProcessor(SCHEMAS[name], llama, trace=trace)])
        llama(prompt, max_tokens=MAX_NEW_TOKENS, temperature=0, logits_processor=processors)
        assert processors[0].error is None
        of_program.append(trace.html())
        pages.append([data_of(page) for page in of_program])
    return pages


def test_three_programs_write_the_same(pages):
    """Up to rounding: where two of them part, both tokens were about as likely."""
    n_same, largest = 0, 0.0
    for first, *others in pages:
        for other in others:
            n_common = next((n for n, (one, two) in enumerate(zip(first, other)) if one["id"] != two["id"]), min(len(first), len(other)))
            is_same = n_common == len(first) == len(other)
            n_same += is_same
            for one, two in zip(first[: n_common + (not is_same)], other):
                assert [one[key] for key in ("place", "n_allowed", "left")] == [two[key] for key in ("place", "n_allowed", "left")]
                for kind in ("wanted", "allowed"):
                    for id in one[kind].keys() & two[kind].keys():
                        largest = max(largest, abs(one[kind][id] - two[kind][id]))
            if not is_same:
                one, two = first[n_common]["id"], other[n_common]["id"]
                for step in (first[n_common], other[n_common]):
                    assert abs(step["allowed"][one] - step["allowed"][two]) < CLOSE, (one, two, step)
    print(f"\n{n_same} of {2 * len(pages)} texts are token for token those of the command line; probabilities differ by at most {largest:.3f}")
    assert n_same >= len(pages) // 2
    assert largest < 0.3
