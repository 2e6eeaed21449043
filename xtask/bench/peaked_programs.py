"""Functions in C++ of which a model is sure of half the tokens: the likeliest text beside masks from left to right.

usage: peaked_programs.py TOKENIZER FUNCTIONS [N]

The logits of a random half of the positions have the function's own token far above all others; the other half is random. A text from left to right takes the
likeliest token that the mask allows, with as many tokens as there are positions.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import maskwright
import numpy as np
from maskwright import Canvas, Matcher

LONGEST = 200


def from_left_to_right(grammar: Any, logits: np.ndarray, padding: int) -> list[int]:
    matcher = Matcher(grammar, max_tokens=len(logits))
    mask = maskwright.allocate_token_bitmask(1, logits.shape[1])
    ids: list[int] = []
    for row in logits:
        if matcher.is_terminated():
            ids.append(padding)
            continue
        matcher.fill_next_token_bitmask(mask)
        allowed = np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: logits.shape[1]].astype(bool)
        ids.append(int(np.where(allowed, row, -np.inf).argmax()))
        if not matcher.accept_token(ids[-1]):
            return []
    return ids if matcher.is_terminated() else []


def is_text(grammar: Any, ids: list[int]) -> bool:
    ends = set(grammar.tokenizer.eos_token_ids)
    n_text = next((at for at, id in enumerate(ids) if id in ends), None)
    matcher = Matcher(grammar)
    return n_text is not None and matcher.accept_tokens(ids[: n_text + 1]) == n_text + 1


def main() -> None:
    tokenizer = maskwright.Tokenizer.from_file(sys.argv[1])
    n = int(sys.argv[3]) if len(sys.argv) > 3 else 50
    grammar = maskwright.Compiler(tokenizer).compile_builtin("cpp")
    [eos, *_] = tokenizer.eos_token_ids
    rng = np.random.default_rng(0)
    figures: dict[str, list[tuple[bool, float, float, float]]] = {}
    n_exact = 0
    with open(sys.argv[2], encoding="utf-8") as lines:
        entries = [json.loads(line) for line in lines]
    # Each function is there several times, with other parts removed.
    texts = list(dict.fromkeys(entry["declaration"] + entry["canonical_solution"] for entry in entries))
    chosen = 0
    for text in texts:
        ids = [*tokenizer.encode(text), eos]
        if chosen == n:
            break
        if len(ids) > LONGEST or not is_text(grammar, ids):
            continue
        chosen += 1
        logits = rng.standard_normal((len(ids), tokenizer.vocab_size), dtype=np.float32)
        peaks = rng.random(len(ids)) < 0.5
        logits[peaks, np.array(ids)[peaks]] += 20
        scores = logits - np.log(np.exp(logits).sum(-1, keepdims=True))

        def measure(name: str, found: list[int], seconds: float) -> None:
            valid = is_text(grammar, found)
            kept = np.array(found)[peaks] == np.array(ids)[peaks] if found else np.zeros(peaks.sum(), dtype=bool)
            total = float(sum(scores[at, id] for at, id in enumerate(found))) if found else -np.inf
            figures.setdefault(name, []).append((valid, float(kept.mean()), total, seconds))

        start = time.perf_counter()
        found = Matcher(grammar).likeliest(logits)
        measure("likeliest", found.token_ids, time.perf_counter() - start)
        n_exact += found.status == "exact"
        start = time.perf_counter()
        measure("from left to right", from_left_to_right(grammar, logits, eos), time.perf_counter() - start)
        known = [id if is_sure else None for id, is_sure in zip(ids, peaks, strict=True)]
        start = time.perf_counter()
        try:
            filled = Canvas(grammar, known).likeliest(logits).token_ids
        except maskwright.LimitError:
            filled = []
        measure("a canvas with the sure tokens known", filled, time.perf_counter() - start)
        if chosen % 10 == 0 and chosen < n:
            report(chosen, n_exact, figures)
    report(chosen, n_exact, figures)


def report(n_functions: int, n_exact: int, figures: dict[str, list[tuple[bool, float, float, float]]]) -> None:
    print(f"{n_functions} functions, {n_exact} answers exact", flush=True)
    for name, each in figures.items():
        table = np.array([figure[1:] for figure in each])
        print(
            f"{name}: {sum(figure[0] for figure in each)} valid, {sum(figure[1] == 1 for figure in each)} keep every sure token, {table[:, 0].mean():.1%} of "
            f"these tokens kept, log-probability p50 {np.median(table[:, 1]):.0f}, p50 {np.median(table[:, 2]):.2f} s, most {table[:, 2].max():.2f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
