"""One step of 256 sequences over 32 schemas: the time to fill their masks, beside xgrammar and llguidance in the same run.

`python python/hosts/batches.py TOKENIZER.json MASKBENCH.jsonl`, in the environment of `cargo xtask hosts xgrammar` with
`llguidance` and a release build of this package. Sequences begin at random places of texts that all three accept, and
begin anew where a text ends. Each engine fills a batch with its own call for that, on all cores that it takes.
"""

from __future__ import annotations

import json
import random
import sys
import time
from typing import Any

import llguidance
import llguidance.hf
import llguidance.numpy
import maskwright
import numpy as np
import xgrammar
from transformers import PreTrainedTokenizerFast

N_SEQUENCES, N_SCHEMAS, N_STEPS = 256, 32, 200


class Engines:
    """The three engines' sessions of one text, side by side."""

    def __init__(self, path: str) -> None:
        self.hf = PreTrainedTokenizerFast(tokenizer_file=path, eos_token="<|eot_id|>")
        self.ours = maskwright.Compiler(maskwright.Tokenizer.from_file(path))
        self.info = xgrammar.TokenizerInfo.from_huggingface(self.hf)
        self.xgrammar = xgrammar.GrammarCompiler(self.info)
        self.llguidance = llguidance.hf.from_tokenizer(self.hf)

    def compile(self, schema: str) -> tuple[Any, Any, Any]:
        options = {"whitespace_flexible": True}
        grammar = llguidance.LLMatcher.grammar_from_json_schema(schema, defaults=options)
        return self.ours.compile_json_schema(schema), self.xgrammar.compile_json_schema(schema), grammar

    def start(self, grammars: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        ours, theirs, grammar = grammars
        session = llguidance.LLMatcher(self.llguidance, grammar)
        return maskwright.Matcher(ours), xgrammar.GrammarMatcher(theirs), session


def accept(sessions: tuple[Any, Any, Any], ids: list[int]) -> bool:
    ours, theirs, session = sessions
    return all(ours.accept_token(id) and theirs.accept_token(id) and session.consume_token(id) for id in ids)


def texts(engines: Engines, file: str) -> list[tuple[tuple[Any, Any, Any], list[int]]]:
    """Schemas that all three compile, each with a text of theirs that all three accept."""
    found = []
    with open(file, encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            valid = [test["data"] for test in entry["tests"] if test["valid"]]
            if not valid:
                continue
            ids = engines.hf.encode(json.dumps(valid[0], ensure_ascii=False), add_special_tokens=False)
            if not 20 < len(ids) < 400:
                continue
            try:
                grammars = engines.compile(json.dumps(entry["schema"]))
                if not accept(engines.start(grammars), ids):
                    continue
            except (maskwright.Error, RuntimeError, ValueError):
                continue
            found.append((grammars, ids))
            if len(found) == N_SCHEMAS:
                break
    return found


def main() -> None:
    engines = Engines(sys.argv[1])
    cases = texts(engines, sys.argv[2])
    assert len(cases) == N_SCHEMAS, f"only {len(cases)} schemas"
    place = random.Random(1)
    of = [cases[index % N_SCHEMAS] for index in range(N_SEQUENCES)]
    at = [place.randrange(len(ids) - 1) for _, ids in of]
    sessions = [engines.start(grammars) for grammars, _ in of]
    for (_, ids), position, session in zip(of, at, sessions, strict=True):
        assert accept(session, ids[:position])
    mask = np.zeros((N_SEQUENCES, (engines.info.vocab_size + 31) // 32), dtype=np.int32)
    bitmask = xgrammar.allocate_token_bitmask(N_SEQUENCES, engines.info.vocab_size)
    ll_mask = llguidance.numpy.allocate_token_bitmask(N_SEQUENCES, engines.llguidance.vocab_size)
    batch, executor = xgrammar.BatchGrammarMatcher(), llguidance.LLExecutor()
    times: dict[str, list[float]] = {"maskwright": [], "xgrammar": [], "llguidance": []}
    for _ in range(N_STEPS):
        ours, theirs, others = ([session[engine] for session in sessions] for engine in range(3))
        rows = [(matcher, row) for row, matcher in enumerate(others)]
        for name, fill in (
            ("maskwright", lambda: maskwright.fill_next_token_bitmask_batch(ours, mask)),
            ("xgrammar", lambda: batch.batch_fill_next_token_bitmask(theirs, bitmask)),
            ("llguidance", lambda: llguidance.numpy.fill_next_token_bitmask_par(executor, rows, ll_mask)),
        ):
            begin = time.perf_counter()
            fill()
            times[name].append(time.perf_counter() - begin)
        for index, (grammars, ids) in enumerate(of):
            assert accept(sessions[index], [ids[at[index]]])
            at[index] += 1
            if at[index] == len(ids):
                at[index], sessions[index] = 0, engines.start(grammars)
    for name, all_times in times.items():
        by_time = sorted(all_times)
        p50, p99 = by_time[N_STEPS // 2] * 1e3, by_time[N_STEPS * 99 // 100] * 1e3
        print(f"{name:10} p50 {p50:6.2f} ms, p99 {p99:6.2f} ms, first {all_times[0] * 1e3:6.2f} ms")


if __name__ == "__main__":
    main()
