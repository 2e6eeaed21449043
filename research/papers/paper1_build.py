"""Builds one index in a process of its own, and prints what it took as JSON: the resident size needs a fresh process.

    python paper1_build.py ENGINE VOCABULARY PATTERN

Times are processor time, so that other work on the machine counts little.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import maskwright
import numpy
import outlines_core

from lab.generate import Sampler, write
from lab.models import RandomLogits
from lab.paths import tokenizer_file
from paper1_patterns import EMAIL, IDENTIFIER, IP, PERSON
from paper1_peer import Follower, release_memory, vocabulary

#: Texts that are written at random after the first mask, so that maskwright has built tables for many states.
N_TEXTS = 50
MAX_TOKENS = 30


#: The patterns, in the order of the tables.
NAMES = ("IP address", "IP address, ASCII", "identifier", "identifier, ASCII", "e-mail", "person record")


def patterns() -> dict[str, str]:
    r"""Both engines read `\d` and `\w` as Unicode here, so there are ASCII versions of the patterns that have them.

    The person record is outlines-core's own regular expression for the schema, for both engines.
    """
    return {
        "IP address": IP,
        "IP address, ASCII": IP.replace(r"\d", "[0-9]"),
        "identifier": IDENTIFIER,
        "identifier, ASCII": "[A-Za-z_][A-Za-z0-9_]*",
        "e-mail": EMAIL,
        "person record": str(outlines_core.json_schema.build_regex_from_schema(json.dumps(PERSON))),
    }


def main() -> None:
    engine, name, pattern = sys.argv[1:]
    tokenizer = maskwright.Tokenizer.from_file(tokenizer_file(name))
    build = {"maskwright": _maskwright, "outlines-core": _outlines_core}[engine]
    print(json.dumps(build(tokenizer, patterns()[pattern])))


def _maskwright(tokenizer: maskwright.Tokenizer, pattern: str) -> dict[str, Any]:
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    # The first grammar makes the vocabulary's own tables, which all grammars share. They stand for outlines-core's
    # `Vocabulary`.
    compiler = maskwright.Compiler(tokenizer)
    maskwright.Matcher(compiler.compile_regex("x")).fill_next_token_bitmask(mask)
    before, shared = resident(), compiler.memory_usage()
    start = time.process_time()
    grammar = compiler.compile_regex(pattern, dialect="rust")
    matcher = maskwright.Matcher(grammar)
    matcher.fill_next_token_bitmask(mask)
    seconds = time.process_time() - start
    first = {"resident": resident() - before, "reported": compiler.memory_usage() - shared}
    for seed in range(N_TEXTS):
        model = RandomLogits(tokenizer.vocab_size, seed)
        write(model, tokenizer, [], MAX_TOKENS, Sampler(1.0, seed), maskwright.Matcher(grammar, max_tokens=MAX_TOKENS))
    reported = compiler.memory_usage() - shared
    return {"ms": seconds * 1000, **first, "later": reported, "shared": shared, "allowed": _allowed(mask)}


def _outlines_core(tokenizer: maskwright.Tokenizer, pattern: str) -> dict[str, Any]:
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    tokens = vocabulary(tokenizer)
    before = resident()
    start = time.process_time()
    index = outlines_core.Index(pattern, tokens)
    follower = Follower(index)
    follower.fill_next_token_bitmask(mask)
    seconds = time.process_time() - start
    return {"ms": seconds * 1000, "resident": resident() - before, "allowed": _allowed(mask)}


def resident() -> int:
    """The resident size of this process, in bytes, without memory that was freed."""
    release_memory()
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def _allowed(mask: numpy.ndarray) -> int:
    return int(numpy.bitwise_count(mask.view(numpy.uint32)).sum())


if __name__ == "__main__":
    main()
