"""Threads for what requests wait for, in which a few long compilations hold up no others. Knows no server.

A call begins in the quick lane, where it may do little work; those of grammars that are known in one of their own. One that needs more
(`Later`) is called again in the long lane, which does few at a time. One that needs what another call is making leaves its thread, and is called again once that is made. So calls must be repeatable:
what they make is kept where the next call finds it, and an exception says that they have not begun.
"""

from __future__ import annotations

import functools
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from maskwright.integrations._serving import metrics, options

#: The work units of a call in the quick lane: some 50 ms.
_QUICK_WORK = 500_000


class Later(BaseException):
    """The call needs more work than it may do here. Not an `Exception`: hosts catch those."""


class _Waits(BaseException):
    """The call needs what another one is making."""

    def __init__(self, made: Future[Any]) -> None:
        self.made = made


class _Here(threading.local):
    """The call of this thread, and the work that it may do; None for no limit."""

    call: object = None
    work: int | None = None


_here = _Here()


def work_here() -> int | None:
    """The work units that the present call may do before it has to raise `Later`; None for any number."""
    return _here.work


def call_here() -> object:
    """What stands for the present call, each time that it is called; another object for each call outside of the lanes."""
    return object() if _here.call is None else _here.call


def wait_for(made: Future[Any]) -> None:
    """Returns once a future is done. In a lane, the thread is free for others until then."""
    if made.done():
        return
    if _here.call is not None:
        raise _Waits(made)
    made.exception()


@functools.cache
def of_process() -> Lanes:
    """The lanes of this process."""
    return Lanes(options.read().n_long)


def timed(answer: Future[Any]) -> Future[Any]:
    """The same future; how long it takes from now on is counted as the check of a request."""
    begin = time.perf_counter()
    answer.add_done_callback(lambda _: metrics.observe("maskwright_check_seconds", time.perf_counter() - begin))
    return answer


class Lanes:
    """Has the methods that servers use of an executor."""

    def __init__(self, n_long: int | None = None) -> None:
        n_cores = os.cpu_count() or 1
        self._quick = ThreadPoolExecutor(min(max(n_cores // 2, 2), 8), "maskwright-quick")
        self._known = ThreadPoolExecutor(2, "maskwright-known")
        self._long = ThreadPoolExecutor(n_long or max(n_cores // 8, 1), "maskwright-long")

    def submit(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """Calls in the quick lane, and later in the long one if need be."""
        return self._begin(self._quick, call, *args)

    def submit_known(self, call: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """The same for a call that has no grammar to compile, most probably."""
        return self._begin(self._known, call, *args)

    def _begin(self, lane: ThreadPoolExecutor, call: Callable[..., Any], *args: Any) -> Future[Any]:
        answer: Future[Any] = Future()
        lane.submit(self._run, answer, lambda: call(*args), _QUICK_WORK)
        return answer

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """See `concurrent.futures.Executor.shutdown`."""
        for lane in (self._known, self._quick, self._long):
            lane.shutdown(wait, cancel_futures=cancel_futures)

    def _run(self, answer: Future[Any], call: Callable[[], Any], work: int | None) -> None:
        # Once it has begun, it goes on: others may wait for what it makes.
        if not answer.running() and not answer.set_running_or_notify_cancel():
            return
        _here.call, _here.work = answer, work
        try:
            made = call()
        except Later:
            self._long.submit(self._run, answer, call, None)
        except _Waits as waits:
            lane = self._quick if work is not None else self._long
            waits.made.add_done_callback(lambda _: lane.submit(self._run, answer, call, work))
        except BaseException as error:
            answer.set_exception(error)
        else:
            answer.set_result(made)
        finally:
            _here.call = _here.work = None
