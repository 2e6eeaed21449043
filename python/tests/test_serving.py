"""Compile and mask at the same time: short forms of what `cargo xtask bench serving` runs for minutes."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import maskwright
import pytest
from conftest import SHARED, allowed

DATA, TOKENIZER = SHARED / "data" / "maskbench", SHARED / "tokenizers" / "llama3_1" / "tokenizer.json"
PROGRAM = Path(__file__).with_name("serving.py")

#: Each in a process of its own: a freeze must not take the test run with it.
SCENARIOS = ["one", "eight", "batch", "cancel", "interrupt"] + (["fork"] if hasattr(os, "fork") else [])


@pytest.mark.skipif(not DATA.is_dir(), reason="the data of MaskBench are absent (MASKWRIGHT_SHARED)")
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_server_never_freezes(scenario):
    program = [sys.executable, PROGRAM, scenario, "--data", DATA, "--tokenizer", TOKENIZER, "--seconds", "6"]
    run = subprocess.run(program, capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr[-4000:]
    calls = json.loads(run.stdout)["calls"]
    assert calls["compile"] >= 20, calls
    expected = {"batch": "batch", "fork": "child", "interrupt": "interrupt", "cancel": "cancelled"}
    assert calls[expected.get(scenario, "mask")] >= 3, calls


def test_a_hard_pattern_does_not_freeze_the_interpreter(tokenizer, tmp_path):
    """Searches for words that take seconds, while other threads mask with grammars of the same compiler."""
    program = tmp_path / "hard.py"
    program.write_text(HARD)
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr[-4000:]
    n_compiled, n_masks = map(int, run.stdout.split())
    assert n_compiled >= 2 and n_masks >= 100, run.stdout


#: Lengths that are multiples of coprime numbers: whether there is a word takes a search through their product.
HARD = """
import faulthandler, json, threading, time, maskwright
faulthandler.dump_traceback_later(60, exit=True)
tokenizer = maskwright.Tokenizer.from_tokens([bytes([b]) for b in range(256)] + [b"</s>"], eos=[256])
compiler = maskwright.Compiler(tokenizer)
end = time.monotonic() + 4
n_compiled = n_masks = 0

def compile_hard():
    global n_compiled
    i = 0
    while time.monotonic() < end:
        i += 1
        parts = [{"pattern": f"^(?:[a-z]{{{p}}}){{{1 + i % 3},}}$"} for p in (11, 13, 17)]
        schema = {"type": "string", "allOf": parts, "minLength": 10 + i}
        try:
            compiler.compile_json_schema(json.dumps(schema), strict=False)
        except ValueError:
            pass
        n_compiled += 1

threads = [threading.Thread(target=compile_hard) for _ in range(2)]
for thread in threads:
    thread.start()
mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
slowest = 0
while time.monotonic() < end:
    grammar = compiler.compile_regex(f"[a-z]{{{1 + n_masks % 50},}}x?[0-9]+")
    matcher = maskwright.Matcher(grammar)
    for byte in b"abcdefgh":
        start = time.monotonic()
        matcher.fill_next_token_bitmask(mask)
        matcher.accept_token(byte)
        slowest = max(slowest, time.monotonic() - start)
        n_masks += 1
for thread in threads:
    thread.join()
assert slowest < 5, slowest
print(n_compiled, n_masks)
"""


def test_a_cancelled_search_for_a_word_is_a_cancellation(tokenizer):
    """Wherever in the compilation the token is cancelled; the search takes most of the time."""
    parts = [{"pattern": f"^(?:a{{{n}}})+$"} for n in (7, 17, 19, 23)]
    n_cancelled = 0
    for attempt in range(24):
        compiler = maskwright.Compiler(tokenizer)
        cancel = maskwright.CancelToken()
        timer = threading.Timer(0.002 * attempt, cancel.cancel)
        timer.start()
        try:
            compiler.compile_json_schema({"type": "string", "allOf": parts}, cancel=cancel)
        except maskwright.WorkCancelled:
            n_cancelled += 1
        finally:
            timer.cancel()
            timer.join()
    assert n_cancelled >= 2


def test_matchers_of_one_grammar_in_many_threads(real_tokenizer):
    """Each thread's masks are those of a thread alone, cold and warm."""
    schema = {"type": "object", "properties": {f"p{i}": {"type": "string", "pattern": f"^[a-{chr(98 + i)}]+-{i}"} for i in range(12)}}
    texts = [json.dumps({f"p{i}": "aa-%d!" % i}) for i in range(12)]

    def masks(grammar, text):
        matcher = maskwright.Matcher(grammar)
        found = []
        for token in real_tokenizer.encode(text):
            found.append(allowed(matcher, real_tokenizer.vocab_size))
            assert matcher.accept_token(token)
        return found

    alone = maskwright.Compiler(real_tokenizer).compile_json_schema(schema)
    expected = [masks(alone, text) for text in texts]
    shared = maskwright.Compiler(real_tokenizer).compile_json_schema(schema)
    found = [None] * 12

    def work(index):
        found[index] = masks(shared, texts[index])

    for _ in range(2):
        threads = [threading.Thread(target=work, args=[index]) for index in range(12)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_in_a_signal_handler_leaves_both_processes_able_to_go_on(tmp_path):
    """The handler runs in the middle of a compilation, whose locks are free then."""
    program = tmp_path / "handler.py"
    program.write_text(FORKING_HANDLER)
    run = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=180)
    assert run.returncode == 0, run.stderr[-4000:]
    assert sorted(run.stdout.split()) == ["child", "parent"], run.stdout


FORKING_HANDLER = """
import faulthandler, json, os, signal, maskwright
faulthandler.enable()
signal.alarm(90)
tokenizer = maskwright.Tokenizer.from_tokens([bytes([b]) for b in range(256)] + [b"</s>"], eos=[256])
compiler = maskwright.Compiler(tokenizer, limits={"compile_work": 2**63})
before = maskwright.Matcher(compiler.compile_regex("a+b"))
huge = json.dumps({"enum": [f"{i:x}" * 10 for i in range(60_000)]})
children = []

def fork(*_):
    if not children:
        children.append(os.fork())

signal.signal(signal.SIGVTALRM, fork)
signal.setitimer(signal.ITIMER_VIRTUAL, 0.05, 0.02)
while not children:
    compiler.compile_json_schema(huge)
signal.setitimer(signal.ITIMER_VIRTUAL, 0)
mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
before.fill_next_token_bitmask(mask)
assert mask.any() and before.accept_token(ord("a"))
after = maskwright.Matcher(compiler.compile_regex("c+d"))
after.fill_next_token_bitmask(mask)
assert mask.any()
if children[0]:
    assert os.waitpid(children[0], 0)[1] == 0
    print("parent")
else:
    print("child", flush=True)
"""
