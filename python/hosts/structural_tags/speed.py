"""Compile and mask times of a structural tag of many tools, beside xgrammar in the same run.

`python python/hosts/structural_tags/speed.py TOKENIZER.json`, in an environment with xgrammar, transformers and a release
build of this package. Each compilation is of tools that no compilation before had. xgrammar takes a minute for one such
tag on one thread, so it compiles one.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import maskwright
import numpy as np
import xgrammar
from transformers import PreTrainedTokenizerFast

N_TOOLS = 50
N_RUNS = 20


def parameter(tool: int, index: int, run: int) -> tuple[str, Any]:
    kinds: list[dict[str, Any]] = [
        {"type": "string", "description": "free text"},
        {"type": "integer", "minimum": 0, "maximum": 100 + run},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "string", "enum": [f"red{run}", "green", f"blue{tool}"]},
        {"type": "array", "items": {"type": "string"}},
        {"type": "object", "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
         "required": ["lat", "lon"], "additionalProperties": False},
        {"type": "string", "maxLength": 20 + tool},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"type": "string", "pattern": "^[a-z]{2}-[0-9]{4}$"},
    ]
    return f"parameter_{tool}_{index}_{run}", kinds[index % len(kinds)]


VALUES: list[Any] = ["some text", 7, 1.5, True, "green", ["a", "b"], {"lat": 1.0, "lon": 2.5}, "short", None, "ab-1234"]


def tag_of(run: int) -> str:
    tags = []
    for tool in range(N_TOOLS):
        properties = dict(parameter(tool, index, run) for index in range(10))
        schema = {"type": "object", "properties": properties, "required": list(properties),
                  "additionalProperties": False}
        tags.append({"type": "tag", "begin": f"<function=tool_{tool}_{run}>",
                     "content": {"type": "json_schema", "json_schema": schema}, "end": "</function>"})
    form = {"type": "triggered_tags", "triggers": ["<function="], "tags": tags}
    return json.dumps({"type": "structural_tag", "format": form})


def text_of(run: int) -> str:
    calls = []
    for tool in (0, 17, 49):
        arguments = {parameter(tool, index, run)[0]: value for index, value in enumerate(VALUES)}
        calls.append(f"<function=tool_{tool}_{run}>{json.dumps(arguments)}</function>")
    return "I will call some tools. " + " And then another one:\n".join(calls) + "\nThat is all."


def quantiles(times: list[float]) -> str:
    times = sorted(times)
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]  # noqa: E731
    return f"p50 {at(0.5) * 1e6:8.1f} us, p99 {at(0.99) * 1e6:8.1f} us, max {times[-1] * 1e6:9.1f} us"


def main() -> None:
    path = sys.argv[1]
    ours = maskwright.Compiler(maskwright.Tokenizer.from_file(path))
    tokenizer = PreTrainedTokenizerFast(tokenizer_file=path)
    info = xgrammar.TokenizerInfo.from_huggingface(tokenizer)
    theirs = xgrammar.GrammarCompiler(info, max_threads=1, cache_enabled=False)
    mask = np.zeros((1, (info.vocab_size + 31) // 32), dtype=np.int32)
    bitmask = xgrammar.allocate_token_bitmask(1, info.vocab_size)
    compiles: dict[str, list[float]] = {"maskwright": [], "xgrammar": []}
    masks: dict[str, list[float]] = {"maskwright": [], "xgrammar": []}
    accepts: dict[str, list[float]] = {"maskwright": [], "xgrammar": []}
    for run in range(N_RUNS):
        tag, ids = tag_of(run), tokenizer.encode(text_of(run), add_special_tokens=False)
        begin = time.perf_counter()
        grammar = ours.compile_structural_tag(tag)
        compiles["maskwright"].append(time.perf_counter() - begin)
        matcher, their_matcher = maskwright.Matcher(grammar), None
        if run == 0:
            begin = time.perf_counter()
            compiled = theirs.compile_structural_tag(tag)
            compiles["xgrammar"].append(time.perf_counter() - begin)
            their_matcher = xgrammar.GrammarMatcher(compiled)
        for token in ids:
            begin = time.perf_counter()
            matcher.fill_next_token_bitmask(mask, 0)
            filled = time.perf_counter()
            assert matcher.accept_token(token), (tokenizer.decode([token]), matcher.text[-40:])
            accepted = time.perf_counter()
            masks["maskwright"].append(filled - begin)
            accepts["maskwright"].append(accepted - filled)
            if their_matcher is None:
                continue
            begin = time.perf_counter()
            their_matcher.fill_next_token_bitmask(bitmask)
            filled = time.perf_counter()
            assert their_matcher.accept_token(token), (tokenizer.decode([token]), matcher.text[-40:])
            accepted = time.perf_counter()
            masks["xgrammar"].append(filled - begin)
            accepts["xgrammar"].append(accepted - filled)
    for engine in compiles:
        first, *others = compiles[engine]
        median = statistics.median(others or [first])
        print(f"{engine:10} compile: first {first * 1e3:.2f} ms, median of others {median * 1e3:.2f} ms")
        print(f"{engine:10} masks:   {quantiles(masks[engine])} ({len(masks[engine])})")
        print(f"{engine:10} accept:  {quantiles(accepts[engine])}")


if __name__ == "__main__":
    main()
