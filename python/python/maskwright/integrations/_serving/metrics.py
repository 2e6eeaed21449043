"""Counters of what Maskwright does in a server, for its Prometheus page.

Masks are filled in another process than the one that serves the page. So each process writes its counters to a file of its own, in the
format of prometheus_client's multi-process mode, and the collector of that mode adds them up. Where a server runs prometheus_client in
that mode, the files lie in the server's folder, and its own page has them. Otherwise `publish` makes a folder, and adds a collector of it
to the process's registry. Without either, and without prometheus_client, nothing is counted.

The files are written directly, and not through `prometheus_client.Counter`: whether that class writes files is settled when it is first
imported, before a server knows of this package.
"""

from __future__ import annotations

import functools
import itertools
import os
import tempfile
import threading
import time
from bisect import bisect_left
from typing import Any, get_args

from maskwright._maskwright import __version__
from maskwright.integrations._serving.log import LOG
from maskwright.integrations._serving.options import Kind

#: The folder that `publish` made, for the processes that are started later.
_FOLDER = "MASKWRIGHT_METRICS_FOLDER"

_HELP = {
    "maskwright_info": "The version of Maskwright",
    "maskwright_grammar_cache_hits": "Requests whose grammar was known, also as one that cannot be compiled",
    "maskwright_compilations": "Grammars that were compiled, by kind, and whether they were refused",
    "maskwright_compile_seconds": "Seconds of one compilation",
    "maskwright_check_seconds": "Seconds until a request's grammar and limit were checked, with all that it waited for",
    "maskwright_grammar_bytes": "Bytes of all grammars and of the tables that they share",
    "maskwright_grammars_not_enforced": "Compiled grammars that have a keyword which cannot be enforced",
    "maskwright_tools_not_compiled": "Tools that were left out, or may have any arguments",
    "maskwright_requests_refused": "Requests that were refused, by reason: the grammar, its work, the options, or a limit on tokens that no text fits",
    "maskwright_texts_failed": "Texts that ended with an error after they had begun",
    "maskwright_texts_cut_off": "Texts whose limit on tokens could not be kept, because too little of it was left",
    "maskwright_masks": "Masks, by status: exact, or a bound, which may lack tokens because of the limit on work or close to the limit on tokens; and of a grammar that is new or known",
    "maskwright_mask_seconds": "Seconds to fill the masks of one step, or one mask if they are filled one by one",
    "maskwright_forced_tokens_drafted": "Drafted tokens that the grammar forces",
    "maskwright_forced_tokens_accepted": "Drafted tokens that the grammar forces and the model took",
}
_REASONS = ("grammar", "work", "limit", "tokens", "options", "tokenizer", "engine")
#: The values of the labels of counters.
_LABELS: dict[str, dict[str, tuple[str, ...]]] = {
    "maskwright_grammar_cache_hits": {},
    "maskwright_compilations": {"kind": get_args(Kind), "outcome": ("compiled", "refused")},
    "maskwright_grammars_not_enforced": {"kind": get_args(Kind)},
    "maskwright_tools_not_compiled": {},
    "maskwright_requests_refused": {"reason": _REASONS},
    "maskwright_texts_failed": {},
    "maskwright_texts_cut_off": {},
    "maskwright_masks": {"status": ("exact", "bound"), "grammar": ("new", "known")},
    "maskwright_forced_tokens_drafted": {},
    "maskwright_forced_tokens_accepted": {},
}
_BOUNDS = {
    "maskwright_compile_seconds": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    "maskwright_check_seconds": (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0),
    "maskwright_mask_seconds": (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
}


def publish() -> None:
    """Lets this process's page show the counters of it and of those that it starts, if the server's own set-up does not."""
    global _made
    if os.environ.keys() & {"PROMETHEUS_MULTIPROC_DIR", _FOLDER}:
        return
    try:
        from prometheus_client import REGISTRY
        from prometheus_client.multiprocess import MultiProcessCollector
    except ImportError:
        return
    try:
        _made = tempfile.TemporaryDirectory(prefix="maskwright-metrics-")
    except OSError as error:
        LOG.warning("nothing is counted, since there is no folder for temporary files: %s", error)
        return
    os.environ[_FOLDER] = _made.name
    REGISTRY.register(MultiProcessCollector(None, _made.name))


#: Removed when the process ends.
_made: tempfile.TemporaryDirectory[str] | None = None


def started() -> None:
    """Notes that Maskwright runs in this process, and its version."""
    _write("gauge_max", "maskwright_info", [("", (("version", __version__),), 1)])


def count(name: str, amount: float = 1, **labels: str) -> None:
    """Adds to a counter, which is one of `_LABELS`."""
    _write("counter", name, [("_total", tuple(labels.items()), amount)])


def set_bytes(name: str, n_bytes: int) -> None:
    """Sets a gauge, which is one of `_HELP`. The page has the sum over the processes."""
    _write("gauge_sum", name, [("", (), n_bytes)])


def observe(name: str, seconds: float) -> None:
    """Adds a duration to a histogram, which is one of `_BOUNDS`."""
    bounds = _BOUNDS[name]
    at = bisect_left(bounds, seconds)
    bound = str(bounds[at]) if at < len(bounds) else "+Inf"
    _write("histogram", name, [("_bucket", (("le", bound),), 1), ("_sum", (), seconds)])


_LOCK = threading.Lock()
#: The files of a process by their kinds, with the process and the folder that they are for.
_files: tuple[tuple[int, str | None], dict[str, Any]] = (0, None), {}


def _write(kind: str, metric: str, samples: list[tuple[str, tuple[tuple[str, str], ...], float]]) -> None:
    """Writes samples of a metric into a file of this process, each by the suffix of its name and its labels. Counters and histograms are
    added to, gauges are set.
    """
    global _files
    identity = os.getpid(), os.environ.get("PROMETHEUS_MULTIPROC_DIR") or os.environ.get(_FOLDER)
    try:
        with _LOCK:
            if _files[0] != identity:
                _files = identity, {}
                _files = identity, _opened(*identity)
            file = _files[1].get(kind)
            if file is None:
                return
            for suffix, labels, amount in samples:
                key = _key(metric, metric + suffix, labels)
                before = 0 if kind.startswith("gauge") else file.read_value(key)[0]
                file.write_value(key, before + amount, time.time())
    except Exception as error:
        # Such as a full disk, or a file that another process left. A server must not stop because of what it counts.
        _files = identity, {}
        LOG.warning("nothing more is counted in this process: %s", error)


def _opened(pid: int, folder: str | None) -> dict[str, Any]:
    if folder is None:
        return {}
    try:
        from prometheus_client.mmap_dict import MmapedDict
    except ImportError:
        return {}
    files = {}
    for kind in ("counter", "histogram", "gauge_max", "gauge_sum"):
        # The server's own numbers lie in files with its pid alone.
        path = os.path.join(folder, f"{kind}_maskwright{pid}.db")
        with open(path, "ab") as file:
            # Writing to mapped memory for which the disk has no room would end the process.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, 1 << 20)
        files[kind] = MmapedDict(path)
    # A histogram must show all of its buckets, the empty ones too.
    for metric, bounds in _BOUNDS.items():
        for bound in (*map(str, bounds), "+Inf"):
            files["histogram"].read_value(_key(metric, f"{metric}_bucket", (("le", bound),)))
    # A counter begins with 0: Prometheus sees no increase in one that comes with its first event.
    for metric, labels in _LABELS.items():
        for values in itertools.product(*labels.values()):
            files["counter"].read_value(_key(metric, f"{metric}_total", tuple(zip(labels, values, strict=True))))
    return files


@functools.cache
def _key(metric: str, name: str, labels: tuple[tuple[str, str], ...]) -> str:
    from prometheus_client.mmap_dict import mmap_key

    return str(mmap_key(metric, name, [label for label, _ in labels], [value for _, value in labels], _HELP[metric]))


def _after_fork() -> None:
    """Another thread may have held the lock in the parent."""
    global _LOCK
    _LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
