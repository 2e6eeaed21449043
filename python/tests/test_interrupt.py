"""Ctrl-C ends each kind of call soon, and leaves objects as they were."""

import os
import subprocess
import sys

import pytest

#: The longest time between Ctrl-C and KeyboardInterrupt, in seconds; some 20 ms on an idle machine.
SOON = 0.2 if "CI" not in os.environ else 1.0

PROGRAM = '''
import os, random, signal, sys, threading, time
import numpy as np
import maskwright
from maskwright import Canvas, Compiler, Hole, Matcher, Template, Tokenizer

signal.signal(signal.SIGINT, signal.default_int_handler)
tokenizer = Tokenizer.from_tokens([bytes([b]) for b in range(256)] + [b"</s>"], eos_token_ids=[256])
compiler = Compiler(tokenizer)
# Many long tokens, so that a mask has much to look at.
choice = random.Random(1)
words = {bytes(choice.choices(b"ab", k=choice.randrange(20, 40))) for _ in range(60_000)}
wide = Compiler(Tokenizer.from_tokens([bytes([b]) for b in range(256)] + sorted(words) + [b"</s>"], [256 + len(words)]))
mask = np.zeros((4, (257 + len(words) + 31) // 32), np.int32)
keys = {f"p{i}": {"type": "string"} for i in range(40)}
schema = {"type": "object", "properties": keys, "required": list(keys), "additionalProperties": False}

def any_order():
    return compiler.compile_json_schema(schema, property_order="any", whitespace="compact")

def hostile(n=25):
    """A session whose mask takes seconds."""
    patterns = ["^(a|b)*a(a|b){%d}$" % n, "^(a|b)*b(a|b){22}$"]
    schema = {"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns]}
    matcher = Matcher(wide.compile_json_schema(schema))
    matcher.accept_bytes(b'"')
    return matcher

def letters():
    return compiler.compile_regex("(a|b)*a(a|b){22}x")

@SETUP@

sent = []

def press():
    sent.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

threading.Timer(0.4, press).start()
try:
    call()
except KeyboardInterrupt:
    print(time.perf_counter() - sent[0])
else:
    sys.exit("the call ended by itself")
check()
'''

#: What is called, and what holds afterwards.
CALLS = {
    "fill_next_token_bitmask": """
matcher = hostile()
call = lambda: matcher.fill_next_token_bitmask(mask)
check = lambda: [matcher.accept_token(ord("a")) or sys.exit("refused"), matcher.text == b'"a' or sys.exit("text")]
""",
    "fill_next_token_bitmask_batch": """
matchers = [hostile(), *(Matcher(wide.compile_regex("a+")) for _ in range(3))]
call = lambda: maskwright.fill_next_token_bitmask_batch(matchers, mask)
check = lambda: matchers[0].accept_token(ord("b")) or sys.exit("refused")
""",
    "fill_draft_tree": """
matcher = hostile()
call = lambda: matcher.fill_draft_tree([-1, 0], [ord("a"), ord("b")], mask)
check = lambda: matcher.n_tokens == 1 or sys.exit("it has moved")
""",
    "accept_bytes": """
matcher = Matcher(letters())
call = lambda: matcher.accept_bytes(b"ab" * 20_000_000)
check = lambda: matcher.text == b"" or sys.exit(matcher.text[:20])
""",
    "check": """
grammar = letters()
call = lambda: grammar.check(b"ab" * 20_000_000)
check = lambda: not grammar.check("ab") or sys.exit("valid")
""",
    "accept_tokens": """
matcher = Matcher(letters(), max_tokens=20_000_000)
call = lambda: matcher.accept_tokens([ord("a"), ord("b")] * 5_000_000)
check = lambda: matcher.n_tokens == 0 or sys.exit(f"{matcher.n_tokens} tokens are left")
""",
    "Canvas.decide": """
canvas = Canvas(any_order(), [None] * 80)
call = lambda: canvas.decide()
check = lambda: canvas.positions == [None] * 80 or sys.exit("it has changed")
""",
    "Canvas.set": """
canvas = Canvas(any_order(), [None] * 80)
call = lambda: canvas.set(0, ord("{"))
check = lambda: canvas.positions == [None] * 80 or sys.exit("it has changed")
""",
    "Template.decide": """
template = Template(any_order(), [Hole(max_tokens=400)])
call = lambda: template.decide()
check = lambda: repr(template) == "Template(holes=1)" or sys.exit("it has changed")
""",
    "compile": """
call = lambda: [compiler.compile_json_schema({"enum": [f"{n}x{i}" for i in range(5000)]}) for n in range(1000)]
check = lambda: compiler.compile_regex("a")
""",
    "search": """
matcher = hostile()
call = lambda: matcher.search(lambda rows: np.zeros((len(rows), 257 + len(words)), np.float32), [97], tries=2)
check = lambda: matcher.n_tokens == 1 or sys.exit("it has moved")
""",
    "a file that never comes": """
os.mkfifo(sys.argv[1])
call = lambda: Tokenizer.from_file(sys.argv[1])
check = lambda: os._exit(0)
""",
}


def run(program, *arguments):
    run = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, run.stdout + run.stderr[-2000:]
    return run.stdout


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no such signals and files")
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_ends_it_soon(call, tmp_path):
    took = float(run(PROGRAM.replace("@SETUP@", CALLS[call]), tmp_path / "fifo"))
    assert took < SOON, f"{took:.3f} s"


def test_a_handler_that_does_not_raise_lets_the_work_go_on():
    program = PROGRAM.partition("@SETUP@")[0] + """
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(time.perf_counter()))
start = time.perf_counter()
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
n_tokens = Matcher(compiler.compile_regex("(a|b){250000}")).tokens_to_finish()
while not seen:
    time.sleep(0.01)
canvas = Canvas(any_order(), [None] * 26)
threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
print(canvas.decide(), canvas.decide(), len(seen), n_tokens)
"""
    first, second, n_seen, n_tokens = run(program).split()
    assert first == second in ("impossible", "open")
    assert int(n_seen) >= 1 and int(n_tokens) == 250_001
