"""What compilers and grammars say they take, and the limit on it."""

import gc
import subprocess
import sys
from pathlib import Path

import maskwright
import pytest

TOKENIZER = maskwright.Tokenizer.from_tiktoken("gpt2")
TEXT = '{"a": [1, "x"], "b": "some text", "c": -2.5e+30}'


def schema(number):
    keys = {"a": {"type": "array"}, "b": {"type": "string", "pattern": f"^[a-z ]{{0,{number % 40 + 9}}}$"}, "c": {"type": "number"}}
    return {"type": "object", "properties": keys, "title": f"number {number}"}


def masks(grammar):
    matcher, row = maskwright.Matcher(grammar), maskwright.allocate_token_bitmask(1, TOKENIZER.vocab_size)
    written = []
    for token in TOKENIZER.encode(TEXT):
        matcher.fill_next_token_bitmask(row)
        written.append(row.tobytes())
        assert matcher.accept_token(token)
    return written


def test_grammars_in_use_are_counted():
    compiler = maskwright.Compiler(TOKENIZER)
    empty = compiler.memory_usage()
    grammars = [compiler.compile_json_schema(schema(number)) for number in range(60)]
    compiled = [grammar.memory_usage() for grammar in grammars]
    assert all(4_000 < n_bytes < 1_000_000 for n_bytes in compiled)
    assert compiler.memory_usage() - empty >= sum(compiled)
    for grammar in grammars:
        masks(grammar)
    used = [grammar.memory_usage() for grammar in grammars]
    assert all(after > before for before, after in zip(compiled, used, strict=True))
    assert compiler.memory_usage() - empty >= sum(used)
    del grammars, grammar
    gc.collect()
    compiler.clear_caches()
    assert compiler.memory_usage() < 200_000


def test_the_limit_drops_what_can_be_made_again():
    free, limited = maskwright.Compiler(TOKENIZER), maskwright.Compiler(TOKENIZER, {"memory_bytes": 4_000_000})
    kept = {compiler: [compiler.compile_json_schema(schema(number)) for number in range(120)] for compiler in (free, limited)}
    session = maskwright.Matcher(kept[limited][0])
    assert session.accept_bytes('{"a')
    for number in range(120):
        assert masks(kept[limited][number]) == masks(kept[free][number])
    assert limited.memory_usage() < 5_000_000 < free.memory_usage()
    assert session.accept_bytes('": []}') and session.is_accepting()
    assert masks(kept[limited][0]) == masks(kept[free][0])


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system does not tell the memory of a process")
def test_a_hostile_compilation_gives_its_memory_back():
    program = """
import json, os, threading, maskwright
def memory():
    return int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 1_000_000
assert "MIMALLOC_PURGE_DELAY" not in os.environ
compiler = maskwright.Compiler(maskwright.Tokenizer.from_tokens([bytes([b]) for b in range(256)] + [b"</s>"], eos=[256]))
before, most = memory(), [0]
schema = json.dumps({"enum": [{"a": n, "b": {"c": [f"x{n}"]}} for n in range(15_000)]})
def compile_often():
    for _ in range(3):
        grammar = compiler.compile_json_schema(schema)
        most[0] = max(most[0], memory())
        del grammar
thread = threading.Thread(target=compile_often)
thread.start()
thread.join()
print(before, most[0], memory())
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    before, most, after = map(int, run.stdout.split())
    assert most - before > 20, "it takes memory"
    assert after - before < 40, run.stdout
