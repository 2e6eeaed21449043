"""Steps of 256 sequences over 32 schemas under limits on tokens: the time to start a session, and to fill the masks of a step.

usage: limits.py TOKENIZER MASKBENCH.jsonl [WORK]

Each limit is the length of the sequence's own text and so many tokens more. Each has a compiler of its own: the first line is with
schemas that it has not seen, the second with the same schemas again. Sequences begin at random places of their texts, and begin anew where
a text ends. WORK is the limit `mask_work`; 0 for none. With one, a text's beginning may be refused as a draft; then a sequence begins with
what was accepted.
"""

from __future__ import annotations

import json
import random
import sys
import time
from typing import Any

import maskwright
import numpy as np

N_SEQUENCES, N_SCHEMAS, N_STEPS, N_THREADS = 256, 32, 100, 2
#: How many tokens there are beyond those of the text; None for no limit. The last stands for 0 to 8, each sequence its own.
SPARES: tuple[int | str | None, ...] = (None, 500, 40, "0 to 8")


def texts(tokenizer: Any, file: str) -> list[tuple[str, list[int]]]:
    """Schemas, each with the tokens of a text that it accepts."""
    compiler = maskwright.Compiler(tokenizer)
    found = []
    with open(file, encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            valid = [test["data"] for test in entry["tests"] if test["valid"]]
            ids = tokenizer.encode(json.dumps(valid[0], ensure_ascii=False)) if valid else []
            if not 20 < len(ids) < 400:
                continue
            schema = json.dumps(entry["schema"])
            try:
                grammar = compiler.compile_json_schema(schema)
            except maskwright.Error:
                continue
            if maskwright.Matcher(grammar).validate_tokens(ids) == len(ids):
                found.append((schema, ids))
            if len(found) == N_SCHEMAS:
                break
    return found


def run(compiler: Any, cases: list[tuple[str, list[int]]], spare: int | str | None) -> str:
    """Compiles the schemas and takes the steps; a line of times."""
    grammars = [compiler.compile_json_schema(schema) for schema, _ in cases]
    choice = random.Random(1)
    starts: list[float] = []
    # One more for the end of the text.
    spares = [choice.randrange(9) if spare == "0 to 8" else spare for _ in range(N_SEQUENCES)]

    def start(index: int) -> Any:
        ids, more = cases[index % N_SCHEMAS][1], spares[index]
        limit = None if more is None else len(ids) + 1 + int(more)
        begin = time.perf_counter()
        matcher = maskwright.Matcher(grammars[index % N_SCHEMAS], max_tokens=limit)
        starts.append(time.perf_counter() - begin)
        return matcher

    at = [choice.randrange(len(cases[index % N_SCHEMAS][1]) - 1) for index in range(N_SEQUENCES)]
    matchers = [start(index) for index in range(N_SEQUENCES)]
    for index, matcher in enumerate(matchers):
        at[index] = matcher.accept_tokens(cases[index % N_SCHEMAS][1][: at[index]])
    n_vocab = compiler.tokenizer.vocab_size
    mask = np.zeros((N_SEQUENCES, (n_vocab + 31) // 32), dtype=np.int32)
    steps, n_bound, n_refused = [], 0, 0
    for _ in range(N_STEPS):
        begin = time.perf_counter()
        maskwright.fill_next_token_bitmask_batch(matchers, mask)
        steps.append((time.perf_counter() - begin) * 1e3)
        for index, matcher in enumerate(matchers):
            ids = cases[index % N_SCHEMAS][1]
            n_bound += matcher.mask_status == "bound"
            if not matcher.accept_token(ids[at[index]]):
                # A mask with bounded work lacked the text's own token: a sampler would take another one.
                n_refused += 1
                at[index], matchers[index] = 0, start(index)
                continue
            at[index] += 1
            if at[index] == len(ids):
                at[index], matchers[index] = 0, start(index)
    steps.sort()
    starts.sort()
    return (
        f"step p50 {steps[len(steps) // 2]:6.2f} ms, p99 {steps[len(steps) * 99 // 100]:6.1f} ms, max {steps[-1]:6.1f} ms; "
        f"session p50 {starts[len(starts) // 2] * 1e3:5.2f} ms, max {starts[-1] * 1e3:6.1f} ms; "
        f"{100 * n_bound / (N_STEPS * N_SEQUENCES):5.2f}% of masks bounds, {n_refused} texts left"
    )


def main() -> None:
    tokenizer = maskwright.Tokenizer.from_file(sys.argv[1])
    cases = texts(tokenizer, sys.argv[2])
    assert len(cases) == N_SCHEMAS, f"only {len(cases)} schemas"
    work = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    for spare in SPARES:
        compiler = maskwright.Compiler(tokenizer, limits={"mask_work": work} if work else None, threads=N_THREADS)
        for what in ("new", "again"):
            print(f"{spare!s:>6} {what:5} {run(compiler, cases, spare)}", flush=True)


if __name__ == "__main__":
    main()
