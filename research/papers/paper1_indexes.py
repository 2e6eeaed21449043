"""What indexes cost: time and memory to build one, the memory of a Python grammar, and whether an index is right."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import maskwright
import outlines_core

from lab.log import Log
from lab.paths import data, tokenizer_file
from lab.results import Result
from paper1_build import patterns
from paper1_peer import accepts

ENGINES = ("maskwright", "outlines-core")
VOCABULARY = "llama3_1"

#: Patterns and the characters of the texts on which they are tried; one token for each character.
TRIALS = {
    "a|ab": "ab",
    "a(bc)?": "abc",
    "0|[0-9]+": "01",
    r"[0-9]+(\.[0-9]+)?": "1.",
    "[ab]+(-[ab]+)*": "ab-",
    "a+?b*": "ab",
    r"([0-9]*)?\.?[0-9]*": "1.",
    "(a|ab)(c|bcd)": "abcd",
}
LONGEST = 6
N_PROGRAMS = 20


def builds(result: Result, log: Log, n_rounds: int) -> None:
    """Builds each index `n_rounds` times, each in its own process; the fastest counts, and its memory."""
    for pattern in patterns():
        for engine in ENGINES:
            for i in range(n_rounds):
                key = f"{pattern} / {engine} / {i}"
                if key not in log:
                    log.append(key, _build(engine, pattern))
                    print(f"paper1 indexes: {key}", flush=True)
            runs = [log.entries[f"{pattern} / {engine} / {i}"] for i in range(n_rounds)]
            fastest = min(runs, key=lambda run: run["ms"])
            result.others[f"{pattern} / {engine} / build"] = {
                name: round(value, 3) for name, value in fastest.items() if name != "key"
            }
            result.facts[f"{pattern} / {engine} / tokens in the first mask"] = fastest["allowed"]
        ours, theirs = (result.others[f"{pattern} / {engine} / build"]["ms"] for engine in ENGINES)
        result.ratios[f"{pattern} / outlines-core over maskwright / build"] = round(theirs / ours, 1)


def _build(engine: str, pattern: str) -> dict[str, Any]:
    script = Path(__file__).with_name("paper1_build.py")
    command = [sys.executable, str(script), engine, VOCABULARY, pattern]
    output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    measured: dict[str, Any] = json.loads(output)
    return measured


def trials(result: Result) -> None:
    """Compares each engine's verdicts with Python's `re`, on all texts of at most `LONGEST` characters."""
    for pattern, characters in TRIALS.items():
        wrong = dict.fromkeys(ENGINES, 0)
        refused: list[str] = []
        texts = ["".join(text) for n in range(1, LONGEST + 1) for text in itertools.product(characters, repeat=n)]
        tokenizer = maskwright.Tokenizer.from_tokens([c.encode() for c in characters] + [b"</s>"], [len(characters)])
        grammar = maskwright.Compiler(tokenizer).compile_regex(pattern)
        tokens: dict[str | bytes, list[int]] = {c.encode(): [i] for i, c in enumerate(characters)}
        index = outlines_core.Index(pattern, outlines_core.Vocabulary(len(characters), tokens))
        for text in texts:
            ids = [characters.index(character) for character in text]
            matcher = maskwright.Matcher(grammar)
            ours = matcher.accept_tokens(ids) == len(ids) and matcher.is_accepting()
            theirs = accepts(index, ids)
            right = re.fullmatch(pattern, text) is not None
            wrong["maskwright"] += ours != right
            wrong["outlines-core"] += theirs != right
            refused += [text] if right and not theirs else []
        result.never[f"{pattern} / maskwright / wrong verdicts"] = [wrong["maskwright"], len(texts)]
        result.facts[f"{pattern} / outlines-core / wrong verdicts"] = [wrong["outlines-core"], len(texts)]
        result.facts[f"{pattern} / texts that match"] = sum(re.fullmatch(pattern, text) is not None for text in texts)
        result.facts[f"{pattern} / outlines-core / refuses"] = min(refused, key=len, default=None)


def programs(result: Result) -> None:
    """Reads Python programs with a mask at each token, and notes the memory of the compiler (section 5)."""
    tokenizer = maskwright.Tokenizer.from_file(tokenizer_file("gpt2"))
    compiler = maskwright.Compiler(tokenizer)
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    maskwright.Matcher(compiler.compile_regex("x")).fill_next_token_bitmask(mask)
    shared = compiler.memory_usage()
    grammar = compiler.compile_builtin("python")
    n_masks = n_accepted = 0
    files = sorted(data("programs/python/full").glob("*.py"))[:N_PROGRAMS]
    for file in files:
        tokens = tokenizer.encode(file.read_text(encoding="utf-8").rstrip("\n") + "\n")
        matcher = maskwright.Matcher(grammar)
        for token in tokens:
            matcher.fill_next_token_bitmask(mask)
            n_masks += 1
            if not matcher.accept_token(token):
                print(f"REFUSED {file.name}: {matcher.explain(token)}", flush=True)
                break
        n_accepted += matcher.n_tokens == len(tokens) and matcher.is_accepting()
    result.never["Python programs / refused"] = [len(files) - n_accepted, len(files)]
    result.others["Python programs / memory"] = {
        "masks": n_masks,
        "vocabulary": shared,
        "index": compiler.memory_usage() - shared,
        "grammar": grammar.memory_usage(),
    }
