"""Threads, batches, cancellation, signals."""

import ctypes
import json
import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import maskwright
import numpy as np
import pytest
from conftest import allowed, unpack

#: Large enough that compiling it takes longer than a signal may wait.
HUGE = json.dumps({"enum": [f"{i:x}" * 40 for i in range(200_000)]})


@pytest.fixture(scope="module")
def patient(tokenizer):
    """A compiler that never runs out of fuel, so that only a cancellation ends its work."""
    return maskwright.Compiler(tokenizer, limits={"compile_work": 2**63})


def test_compiling_in_threads_while_masks_are_served(tokenizer):
    compiler = maskwright.Compiler(tokenizer)
    grammar = compiler.compile_json_schema({"type": "array", "items": {"type": "string"}})
    start = allowed(maskwright.Matcher(grammar), tokenizer.vocab_size)

    def compile_many(worker):
        for i in range(20):
            made = compiler.compile_json_schema({"type": "object", "properties": {f"p{worker}{i}": {"type": "integer"}}, "required": [f"p{worker}{i}"]})
            assert maskwright.Matcher(made).accept_bytes(b'{"p%d%d": 1' % (worker, i))
        return worker

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(compile_many, worker) for worker in range(4)]
        n_served = 0
        while n_served < 200 or not all(future.done() for future in futures):
            matcher = maskwright.Matcher(grammar)
            assert allowed(matcher, tokenizer.vocab_size) == start
            assert matcher.accept_bytes(b'["a')
            n_served += 1
        assert [future.result() for future in futures] == [0, 1, 2, 3]


def test_one_matcher_from_many_threads(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_regex("a*"))
    mask = maskwright.allocate_token_bitmask(8, tokenizer.vocab_size)

    def use(_):
        for _ in range(200):
            assert matcher.accept_token(ord("a"))
            maskwright.fill_next_token_bitmask_batch([matcher] * 2, np.zeros_like(mask))
            matcher.fork().accept_token(ord("a"))
            repr(matcher)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(4)))
    matcher.rollback(800)
    with pytest.raises(ValueError):
        matcher.rollback(1)


def test_batch_equals_single(tokenizer, compiler):
    n = tokenizer.vocab_size
    grammars = [compiler.compile_choice(["yes", "no"]), compiler.compile_regex("[ab]+"), compiler.compile_json_schema({})]
    matchers = [maskwright.Matcher(grammars[i % 3]) for i in range(50)]
    ended = maskwright.Matcher(grammars[0])
    ended.accept_tokens([*tokenizer.encode("no"), 270])
    matchers[7] = ended
    mask = np.full((52, (n + 31) // 32), 7, dtype=np.int32)
    assert maskwright.fill_next_token_bitmask_batch(matchers, mask) is None
    assert (mask[[50, 51]] == 7).all(), "rows without a matcher are left alone"
    assert unpack(mask[7], n) == [270], "a text that has ended"
    for row, matcher in enumerate(matchers):
        assert unpack(mask[row], n) == allowed(matcher, n)
    # Into rows of one's choice.
    rows = list(range(51, 1, -1))
    scattered = np.full_like(mask, 7)
    maskwright.fill_next_token_bitmask_batch(matchers, scattered, rows)
    assert (scattered[rows] == mask[:50]).all() and (scattered[:2] == 7).all()
    # The same by address, with room between the rows.
    n_words = (n + 31) // 32
    memory = np.full((50, n_words + 3), 7, dtype=np.int32)
    maskwright.fill_next_token_bitmask_batch(matchers, memory.ctypes.data, stride=memory.strides[0])
    assert (memory[:, :n_words] == mask[:50]).all() and (memory[:, n_words:] == 7).all()
    maskwright.fill_next_token_bitmask_batch([], mask)


def test_a_batch_fills_what_it_can(tokenizer):
    """A row that fails allows nothing, and the error says which and why; all others are filled."""
    wide = maskwright.Tokenizer.from_tokens([b"%d" % i for i in range(1000)], eos=[0])
    failing = maskwright.Matcher(maskwright.Compiler(wide).compile_regex("[1-9]+"))
    good = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_choice(["yes", "no"]))
    n = tokenizer.vocab_size
    mask = np.full((4, (n + 31) // 32), 7, dtype=np.int32)
    with pytest.raises(ValueError, match="words") as alone:
        failing.fill_next_token_bitmask(mask)
    with pytest.raises(maskwright.BatchError, match="row 2: .*words") as raised:
        maskwright.fill_next_token_bitmask_batch([good, failing, good], mask, rows=[0, 2, 3])
    assert isinstance(raised.value, maskwright.Error) and isinstance(raised.value, ValueError)
    (row, error), = raised.value.errors.items()
    assert row == 2 and isinstance(error, ValueError) and str(error) == str(alone.value)
    assert not mask[2].any() and (mask[1] == 7).all()
    assert unpack(mask[0], n) == unpack(mask[3], n) == allowed(good, n)


def test_cold_batch_in_parallel(real_tokenizer):
    """Rows that take milliseconds, so that helper threads join in."""
    compiler = maskwright.Compiler(real_tokenizer, threads=4)
    single = maskwright.Compiler(real_tokenizer, threads=1)
    patterns = [f"[a-{chr(ord('b') + i)}]+ {i}" for i in range(12)]
    mask = maskwright.allocate_token_bitmask(12, real_tokenizer.vocab_size)
    matchers = [maskwright.Matcher(compiler.compile_regex(pattern)) for pattern in patterns]
    maskwright.fill_next_token_bitmask_batch(matchers, mask)
    expected = np.zeros_like(mask)
    matchers = [maskwright.Matcher(single.compile_regex(pattern)) for pattern in patterns]
    maskwright.fill_next_token_bitmask_batch(matchers, expected)
    assert (mask == expected).all() and mask.any(axis=1).all()


def test_batch_arguments_are_checked(tokenizer, compiler):
    batch = maskwright.fill_next_token_bitmask_batch
    matchers = [maskwright.Matcher(compiler.compile_regex("a"))] * 2
    memory = (ctypes.c_int32 * 32)()
    address = ctypes.addressof(memory)
    for wrong in ((0, 36), (address + 1, 36), (address, 35), (address, 32), (address, 2**63)):
        with pytest.raises(ValueError):
            batch(matchers, wrong[0], stride=wrong[1])
    with pytest.raises(TypeError):
        batch(matchers, address)
    with pytest.raises(TypeError):
        batch(matchers, maskwright.allocate_token_bitmask(2, 271), stride=36)
    for rows in ([0], [0, 0], [0, 2], [0, 1, 2]):
        with pytest.raises(ValueError):
            batch(matchers, maskwright.allocate_token_bitmask(2, 271), rows)
    with pytest.raises(IndexError):
        batch(matchers, maskwright.allocate_token_bitmask(2, 271), [0, -1])
    with pytest.raises(TypeError):
        batch([None], maskwright.allocate_token_bitmask(2, 271))
    with pytest.raises(ValueError, match="1 row for 2"):
        batch(matchers, maskwright.allocate_token_bitmask(1, 271))
    assert not any(memory)
    with pytest.raises(maskwright.BatchError, match="3 words.*1 more") as narrow:
        batch(matchers, np.ones((2, 3), dtype=np.int32))
    assert list(narrow.value.errors) == [0, 1], "too narrow, row by row"


def cancelled_while_compiling(compiler):
    """The token of a compilation that a timer's thread ended, which it can only if compiling leaves it room."""
    for attempt in range(1, 100):
        cancel = maskwright.CancelToken()
        assert not cancel.is_cancelled
        timer = threading.Timer(0.05 * attempt, cancel.cancel)
        timer.start()
        try:
            compiler.compile_json_schema(HUGE, cancel=cancel)
        except maskwright.WorkCancelled:
            return cancel
        finally:
            timer.cancel()
            timer.join()
    pytest.fail("no compilation was cancelled")


def test_cancel_from_another_thread(patient):
    cancel = cancelled_while_compiling(patient)
    assert cancel.is_cancelled
    compiles = [
        lambda **kw: patient.compile_json_schema({"type": "integer"}, **kw),
        lambda **kw: patient.compile_regex("a+", **kw),
        lambda **kw: patient.compile_gbnf('root ::= "a"+ "b"', **kw),
        lambda **kw: patient.compile_choice(["a", "b"], **kw),
    ]
    for compile_grammar in compiles:
        with pytest.raises(maskwright.WorkCancelled):
            compile_grammar(cancel=cancel)
        compile_grammar(cancel=maskwright.CancelToken())


def test_cancel_in_a_thread_of_its_own(patient):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(cancelled_while_compiling, patient).result(timeout=300).is_cancelled


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no interval timers on this system")
def test_a_signal_ends_a_compilation(patient):
    """A signal while compiling runs its handler, and what that raises comes out (as Ctrl-C's does).

    Only an exception that comes out of a compilation's work cancels its token; one that comes while the schema is
    still being copied does not, so that there are several attempts.
    """

    class Ring(Exception):
        pass

    def ring(*_):
        raise Ring

    previous = signal.signal(signal.SIGALRM, ring)
    try:
        for attempt in range(1, 100):
            cancel = maskwright.CancelToken()
            with pytest.raises(Ring):
                signal.setitimer(signal.ITIMER_REAL, 0.05 * attempt)
                while True:
                    patient.compile_json_schema(HUGE, cancel=cancel)
            if cancel.is_cancelled:
                return
        pytest.fail("the signal never ended a compilation")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_can_compile_and_fill(tokenizer, compiler):
    maskwright.Matcher(compiler.compile_regex("a+b"))
    child = os.fork()
    if child == 0:
        matchers = [maskwright.Matcher(compiler.compile_regex(f"a{{{i}}}b")) for i in range(1, 30)]
        mask = maskwright.allocate_token_bitmask(30, tokenizer.vocab_size)
        maskwright.fill_next_token_bitmask_batch(matchers, mask)
        os._exit(0 if mask.any() else 1)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")
