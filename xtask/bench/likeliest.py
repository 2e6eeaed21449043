"""The likeliest text of the regular expressions in real schemas, beside a dense dynamic program in numpy.

usage: likeliest.py TOKENIZER MASKBENCH_FOLDER [N_PATTERNS]

The dense program knows for each state where each token leads (from outlines_core's index), and keeps the best path to each state, position by position. Both must find the same
probability, unless Python's `re` says that the index lacks a text.
"""

from __future__ import annotations

import collections
import glob
import json
import os
import re
import sys
import time
from typing import Any

import maskwright
import numpy as np
import outlines_core
from maskwright import Matcher

N_POSITIONS = 64
#: The dense tables of more states take too much memory.
MOST_STATES = 200


def patterns(folder: str) -> list[str]:
    """The patterns of strings, the most frequent first."""
    found: collections.Counter[str] = collections.Counter()

    def visit(value: Any) -> None:
        if isinstance(value, dict):
            if isinstance(pattern := value.get("pattern"), str):
                found[pattern] += 1
            for part in value.values():
                visit(part)
        elif isinstance(value, list):
            for part in value:
                visit(part)

    for file in sorted(glob.glob(os.path.join(folder, "*.jsonl"))):
        with open(file, encoding="utf-8") as lines:
            for line in lines:
                visit(json.loads(line))
    # Whole patterns only, which both sides read alike.
    return [text[1:-1] for text, _ in found.most_common() if text[:1] == "^" and text[-1:] == "$" and "\\$" not in text[-2:]]


class Dense:
    """The states of a pattern, and for each state its tokens in the order of the states that they lead to."""

    def __init__(self, pattern: str, vocabulary: Any, eos: int) -> None:
        index = outlines_core.Index(f"(?:{pattern})", vocabulary)
        transitions = index.get_transitions()
        states = sorted({index.get_initial_state(), *transitions, *(to for row in transitions.values() for to in row.values())})
        number = {state: at for at, state in enumerate(states)}
        self.n_states = len(states)
        self.start = number[index.get_initial_state()]
        self.ends = np.array([index.is_final_state(state) for state in states])
        self.eos = eos
        self.rows = []
        for state in states if self.n_states <= MOST_STATES else []:
            row = {token: number[to] for token, to in transitions.get(state, {}).items() if token != eos}
            tokens = np.array(sorted(row, key=lambda token: (row[token], token)), dtype=np.int64)
            to = np.array([row[token] for token in tokens.tolist()], dtype=np.int64)
            begins = np.flatnonzero(np.r_[True, to[1:] != to[:-1]]) if len(to) else np.array([], dtype=np.int64)
            self.rows.append((tokens, begins, to[begins]))

    def best(self, scores: np.ndarray) -> float:
        """The probability of the likeliest text, its logarithm."""
        best = np.full(self.n_states, -np.inf)
        best[self.start] = 0.0
        ended = -np.inf
        for row in scores:
            after = np.full(self.n_states, -np.inf)
            ended = max(ended, best[self.ends].max(initial=-np.inf)) + row[self.eos]
            for state, (tokens, begins, to) in enumerate(self.rows):
                if best[state] > -np.inf and len(tokens):
                    reached = np.maximum.reduceat(row[tokens], begins) + best[state]
                    after[to] = np.maximum(after[to], reached)
            best = after
        return float(ended)


def peaked(grammar: Any, logits: np.ndarray, rng: np.random.Generator) -> np.ndarray | None:
    """The same logits with the tokens of a random text far above the others."""
    try:
        matcher = Matcher(grammar, max_tokens=N_POSITIONS)
    except ValueError:
        return None
    mask = maskwright.allocate_token_bitmask(1, logits.shape[1])
    logits = logits.copy()
    eos = grammar.tokenizer.eos_token_ids[0]
    for row in logits:
        token = eos
        if not matcher.is_terminated():
            matcher.fill_next_token_bitmask(mask)
            token = int(rng.choice(np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[: logits.shape[1]])))
            matcher.accept_token(token)
        row[token] += 15
    return logits


def main() -> None:
    tokenizer = maskwright.Tokenizer.from_file(sys.argv[1])
    n_patterns = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    [eos, *_] = tokenizer.eos_token_ids
    tokens: dict[bytes, list[int]] = {}
    for id in range(tokenizer.vocab_size):
        if text := tokenizer.token_bytes(id):
            tokens.setdefault(text, []).append(id)
    vocabulary = outlines_core.Vocabulary(eos, tokens)
    rng = np.random.default_rng(0)
    random = rng.standard_normal((N_POSITIONS, tokenizer.vocab_size), dtype=np.float32)
    compiler = maskwright.Compiler(tokenizer)
    counts: collections.Counter[str] = collections.Counter()
    times: dict[str, list[float]] = collections.defaultdict(list)
    for pattern in patterns(sys.argv[2]):
        if counts["patterns"] == n_patterns:
            break
        try:
            grammar = compiler.compile_regex(pattern, unicode=True)
            dense = Dense(pattern, vocabulary, eos)
        except Exception:  # One of both does not read it: lookaround, other dialects.
            counts["not read by both"] += 1
            continue
        counts["patterns"] += 1
        size = "small" if dense.n_states <= MOST_STATES else "large"
        for kind, logits in (("random", random), ("peaked", peaked(grammar, random, rng))):
            if logits is None:
                counts["no text so short"] += 1
                continue
            for turn in ("first", "again"):
                start = time.perf_counter()
                try:
                    found = Matcher(grammar).likeliest(logits)
                except ValueError:
                    found = None
                times[f"{size} {kind} {turn}"].append(time.perf_counter() - start)
            if found is None:
                counts["no text so short"] += 1
                continue
            counts[f"{size} {kind} {found.status}"] += 1
            if size == "small":
                start = time.perf_counter()
                best = dense.best(logits - np.log(np.exp(logits).sum(-1, keepdims=True)))
                times[f"{size} {kind} dense"].append(time.perf_counter() - start)
                text = tokenizer.decode(found.token_ids[: found.n_tokens - 1]).decode()
                if found.log_probability > best + 1e-2 and re.fullmatch(pattern, text):
                    counts["a text that the index lacks"] += 1
                    print(f"{pattern!r}: {text!r} is a text of it that outlines_core's index refuses")
                    continue
                differs = abs(best - found.log_probability) > 1e-2
                counts["different"] += differs
                if differs or found.status != "exact":
                    print(f"{pattern!r}: {found.status}, {found.log_probability:.3f}, dense {best:.3f}, {dense.n_states} states")
    for name, count in sorted(counts.items()):
        print(f"{name}: {count}")
    for name, seconds in sorted(times.items()):
        ms = np.array(seconds) * 1e3
        print(f"{name}: p50 {np.median(ms):.1f} ms, p95 {np.quantile(ms, 0.95):.1f} ms, most {ms.max():.1f} ms")


if __name__ == "__main__":
    main()
