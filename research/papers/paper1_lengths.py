"""The time of a mask against the length of the text (the figure after section 3.2)."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import maskwright
import outlines_core

from lab import plots
from lab.log import Log
from lab.paths import tokenizer_file
from lab.results import Result
from lab.statistics import quantile, summary
from paper1_patterns import IDENTIFIER, PERSON
from paper1_peer import Follower, vocabulary

LENGTHS = (100, 300, 1000, 3000, 10000)
#: Times are of this many tokens before each length.
WINDOW = 60
#: The paper's baseline asks about every token of the vocabulary; it is measured on each n-th token, and multiplied.
NAIVE_STRIDE = 200
VOCABULARIES = {"gpt2": "GPT-2", "llama3_1": "Llama 3.1"}
WORDS = "[a-z ]+"
PATTERNS = ("identifier", "words", "person records")


def record_list() -> str:
    """outlines-core's own regular expression for a list of person records."""
    schema = {"type": "array", "items": PERSON}
    return str(outlines_core.json_schema.build_regex_from_schema(json.dumps(schema)))


def expression(pattern: str) -> str:
    """The regular expression of one of the `PATTERNS`."""
    return {"identifier": IDENTIFIER, "words": WORDS}.get(pattern) or record_list()


#: Patterns whose every beginning of a text is a text, so that `re.fullmatch` answers whether a text can continue.
PREFIX_CLOSED = ("identifier", "words")


def run(result: Result, log: Log, vocabularies: tuple[str, ...]) -> None:
    for name in vocabularies:
        missing = [pattern for pattern in PATTERNS if not all(key in log for key in _keys(pattern, name))]
        if missing:
            tokenizer = maskwright.Tokenizer.from_file(tokenizer_file(name))
            peer = vocabulary(tokenizer)
        for pattern in missing:
            _measure(tokenizer, peer, pattern, name, log)
        for pattern in PATTERNS:
            for key in _keys(pattern, name):
                result.times[key] = {field: value for field, value in log.entries[key].items() if field != "key"}
            _compare(result, pattern, name)


def _engines(pattern: str) -> list[str]:
    return ["maskwright", "outlines-core"] + (["from the start"] if pattern in PREFIX_CLOSED else [])


def _keys(pattern: str, name: str) -> list[str]:
    return [f"{pattern} / {name} / {engine} / {length}" for engine in _engines(pattern) for length in LENGTHS]


def _compare(result: Result, pattern: str, name: str) -> None:
    def median(engine: str, length: int) -> float:
        return result.times[f"{pattern} / {name} / {engine} / {length}"]["p50"]

    for engine in _engines(pattern):
        growth = median(engine, 10000) / median(engine, 1000)
        result.ratios[f"{pattern} / {name} / {engine} / 10,000 tokens over 1,000"] = round(growth, 2)
    # The median over all lengths: one cell alone depends on what else the machine did at that moment.
    for engine in _engines(pattern)[1:]:
        faster = quantile([median(engine, length) / median("maskwright", length) for length in LENGTHS], 0.5)
        result.ratios[f"{pattern} / {name} / {engine} over maskwright"] = round(faster, 1)


def _measure(tokenizer: maskwright.Tokenizer, peer: Any, pattern: str, name: str, log: Log) -> None:
    regex = expression(pattern)
    tokens = tokenizer.encode(_text(pattern))[: LENGTHS[-1]]
    grammar = maskwright.Compiler(tokenizer).compile_regex(regex, dialect="rust")
    followers = {
        "maskwright": maskwright.Matcher(grammar),
        "outlines-core": Follower(outlines_core.Index(regex, peer)),
    }
    for engine, follower in followers.items():
        times = _steps(tokenizer, follower, tokens)
        for length in LENGTHS:
            log.append(f"{pattern} / {name} / {engine} / {length}", summary(times[length - WINDOW : length]))
        print(f"paper1 lengths: {pattern} / {name} / {engine}", flush=True)
    if pattern in PREFIX_CLOSED:
        prefix = f"{pattern} / {name} / from the start"
        for length in LENGTHS:
            text = tokenizer.decode(tokens[:length]).decode()
            log.append(f"{prefix} / {length}", summary(_naive(tokenizer, re.compile(regex), text)))
        print(f"paper1 lengths: {prefix}", flush=True)


def _text(pattern: str) -> str:
    """A text of more than 10,000 tokens."""
    chance = random.Random(0)
    words = ["user", "count", "total", "price", "index", "name", "value", "item", "first", "last", "list", "number"]
    chosen = [chance.choice(words) for _ in range(12000)]
    if pattern == "identifier":
        return "_".join(chosen)
    if pattern == "words":
        return " ".join(chosen)
    people = [
        {"name": f"{first} {second}"[:20], "age": chance.randrange(100), "email": f"{first}@{second}.org"}
        for first, second in zip(chosen[:1000], chosen[1000:])
    ]
    return json.dumps(people)


def _steps(tokenizer: maskwright.Tokenizer, follower: Any, tokens: list[int]) -> list[float]:
    """For each token, the microseconds to accept it and to write the next mask."""
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    follower.fill_next_token_bitmask(mask)
    times = []
    for position, token in enumerate(tokens):
        start = perf_counter_ns()
        accepted = follower.accept_token(token)
        follower.fill_next_token_bitmask(mask)
        times.append((perf_counter_ns() - start) / 1000)
        if not accepted:
            raise AssertionError(f"token {position}, {tokenizer.token_bytes(token)!r}, is refused")
    return times


def _naive(tokenizer: maskwright.Tokenizer, expression: re.Pattern[str], text: str) -> list[float]:
    """The baseline of section 3.2: each token of the vocabulary is tried, and the text is matched from its start.

    Processor time: one such mask takes so long that other work on the machine would count.
    """
    spelled = [tokenizer.token_bytes(token) for token in range(0, tokenizer.vocab_size, NAIVE_STRIDE)]
    strings = [token.decode("utf-8", "replace") for token in spelled if token]
    scale = tokenizer.vocab_size / len(strings)
    times: list[float] = []
    stop = time.monotonic() + 10
    while len(times) < 5 and (not times or time.monotonic() < stop):
        start = time.thread_time_ns()
        for string in strings:
            expression.fullmatch(text + string)
        times.append((time.thread_time_ns() - start) / 1000 * scale)
    return times


def plot(result: Result, folder: Path) -> None:
    """Microseconds for a mask against the tokens so far, by pattern, with GPT-2's vocabulary as in the paper."""
    figure, axes = plots.figure(width=7.6, height=2.9, columns=len(PATTERNS))
    colours = plots.COLOURS | {"from the start": plots.COLOURS["no constraint"]}
    for panel, pattern in zip(axes, PATTERNS):
        for engine in _engines(pattern):
            times = [result.times[f"{pattern} / gpt2 / {engine} / {length}"]["p50"] for length in LENGTHS]
            label = "matching from the start" if engine == "from the start" else engine
            panel.plot(LENGTHS, times, "o-", markersize=3, color=colours[engine], label=label)
        panel.set(xscale="log", yscale="log", title=pattern, xlabel="tokens so far", ylim=(0.3, 1e8))
    axes[0].set_ylabel("µs for a token and its mask")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3)
    plots.save(figure, folder / "paper1-lengths.svg")


