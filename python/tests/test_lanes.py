"""Checks of a server's requests: few long ones at a time, and none that wait for them."""

import json
import threading
import time
from concurrent.futures import Future

import maskwright
import pytest
from maskwright.integrations._serving import lanes, specs
from maskwright.integrations._serving.lanes import Lanes
from maskwright.integrations._serving.options import Options
from maskwright.integrations._serving.specs import Grammars, Spec

#: Takes more work than the limit, in little memory.
LONG = '{"allOf": [' + ", ".join('{"if": {"required": ["k%d"]}, "then": {"required": ["p%d"]}}' % (n, n) for n in range(200)) + "]}"


@pytest.fixture
def pool():
    made = Lanes(1)
    yield made
    made.shutdown(cancel_futures=True)


def long(seconds=0.05):
    if lanes.work_here() is not None:
        raise lanes.Later
    time.sleep(seconds)
    return "long"


def test_long_calls_do_not_hold_up_short_ones(pool):
    waiting = [pool.submit(long) for _ in range(30)]
    begin = time.perf_counter()
    assert [pool.submit(lambda n=n: n).result(5) for n in range(30)] == list(range(30))
    assert time.perf_counter() - begin < 1.0
    assert not waiting[-1].done(), "one at a time"
    assert [each.result(10) for each in waiting] == ["long"] * 30


def test_those_who_wait_hold_no_thread(pool):
    made = Future()

    def wait():
        lanes.wait_for(made)
        return made.result()

    waiting = [pool.submit(wait) for _ in range(30)]
    assert pool.submit(lambda: 1).result(5) == 1
    made.set_result("made")
    assert [each.result(5) for each in waiting] == ["made"] * 30


def test_errors_and_cancelled_calls(pool):
    def fail():
        raise KeyError("x")

    with pytest.raises(KeyError):
        pool.submit(fail).result(5)
    begun, free = threading.Event(), threading.Event()
    # As many as there are threads.
    held = [pool.submit(lambda: begun.set() or free.wait(5)) for _ in range(8)]
    assert begun.wait(5)
    n_calls = []
    dropped = pool.submit(lambda: n_calls.append(1))
    assert dropped.cancel() and not held[0].cancel()
    free.set()
    assert all(each.result(5) for each in held) and n_calls == []


def test_one_call_compiles_and_others_wait(pool, tokenizer, monkeypatch):
    compile_spec, asked = specs.compile_spec, []

    def counted(compiler, spec, cancel):
        asked.append(lanes.work_here())
        return compile_spec(compiler, spec, cancel)

    monkeypatch.setattr(specs, "compile_spec", counted)
    grammars = Grammars(specs.compiler_of(tokenizer, Options()))
    grammars.get(Spec("regex", "a+"))
    waiting = [pool.submit(grammars.get, Spec("json", LONG)) for _ in range(20)]
    begin = time.perf_counter()
    for _ in range(20):
        assert pool.submit(grammars.get, Spec("regex", "a+")).result(5)
    assert time.perf_counter() - begin < 0.3
    errors = {str(each.exception(30)) for each in waiting}
    assert len(errors) == 1 and "more work than the limit of 16000000 units allows" in errors.pop()
    assert len(asked) == 3 and asked[1:] == [lanes._QUICK_WORK, None]
    # Outside of the lanes too.
    with pytest.raises(maskwright.LimitError):
        grammars.get(Spec("json", LONG))
    assert len(asked) == 3


def test_a_verdict_is_the_same_in_both_lanes(pool, tokenizer):
    schemas = ['{"type": "integer"}', '{"enum": [%s]}' % ", ".join(map(str, range(3000))), '{"type": "x"}', LONG]
    alone, at_once = (Grammars(specs.compiler_of(tokenizer, Options())) for _ in range(2))

    def verdict(grammars, text):
        try:
            return bool(grammars.get(Spec("json", text)))
        except maskwright.Error as error:
            return str(error)

    waiting = [pool.submit(verdict, at_once, text) for text in schemas * 3]
    assert [each.result(60) for each in waiting] == [verdict(alone, text) for text in schemas] * 3


def test_a_list_of_tools_has_one_limit_together(tokenizer):
    tools = [
        {"type": "object", "properties": {"name": {"const": f"t{n}"}, "parameters": {"enum": list(range(n, n + 3000))}}}
        for n in range(10)
    ]
    text = json.dumps({"anyOf": [*tools, {"properties": {"name": {"const": "x"}, "parameters": {"type": "nothing"}}}]})
    options = Options(compile_work=80_000)._replace(grammar=Options().grammar._replace(on_tool_error="leave_out"))
    grammars = Grammars(specs.compiler_of(tokenizer, options), options)
    with pytest.raises(maskwright.LimitError, match="more work than the limit of 80000 units"):
        grammars.get(Spec("json", text, options.grammar))
    token = maskwright.CancelToken(work=100_000)
    with pytest.raises(maskwright.WorkCancelled):
        for _ in range(100):
            grammars.compiler.compile_json_schema({"enum": list(range(20_000))}, cancel=token)
    assert token.is_cancelled


def test_what_is_being_compiled_is_not_dropped(pool, tokenizer, monkeypatch):
    """Those who wait for it would wait without an end."""
    compile_spec, free = specs.compile_spec, threading.Event()

    def slow(compiler, spec, cancel):
        if spec.text == "slow":
            assert free.wait(10)
        return compile_spec(compiler, spec, cancel)

    monkeypatch.setattr(specs, "compile_spec", slow)
    grammars = Grammars(specs.compiler_of(tokenizer, Options()), Options(n_kept=2))
    waiting = [pool.submit(grammars.get, Spec("regex", "slow")) for _ in range(3)]
    for n in range(5):
        grammars.get(Spec("regex", "a" * n))
    free.set()
    assert len({id(each.result(10)) for each in waiting}) == 1
    assert len(grammars._kept) == 2
