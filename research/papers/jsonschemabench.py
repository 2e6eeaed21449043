"""JSONSchemaBench: real JSON Schemas, with instances that are to be accepted or refused, through five engines.

The schemas are a third of MaskBench, the part of JSONSchemaBench that has instances (Geng et al. 2025). Engines take
turns in rounds of some hundred schemas, so that all of them meet the same load of the machine. A round is every
fortieth schema. glrmask takes part in every fourth round; xgrammar and outlines-core, which need seconds to compile a
schema, take turns with half of the first round at the end.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import jsonschemabench_report as report
from jsonschemabench_children import MEMORY_LIMIT, Child
from lab.log import Log
from lab.paths import LOGS, RESULTS, data
from lab.results import Result

PACKAGES = ("maskwright", "llguidance", "xgrammar", "glrmask", "outlines-core", "tokenizers")

ROUNDS = 40
SLOW_EVERY = 80
#: Of each engine: every how many-th schema, and the processor seconds for one schema.
PLAN = {
    "maskwright": (1, 60),
    "maskwright, any order": (1, 60),
    "llguidance": (1, 60),
    "glrmask": (4, 20),
    "xgrammar": (SLOW_EVERY, 20),
    "outlines-core": (SLOW_EVERY, 20),
}
#: A sample takes every how many-th schema, and of xgrammar's and outlines-core's.
SAMPLE_EVERY, SAMPLE_EVERY_SLOW = 100, 800

SETTINGS = {
    "data": "a third of MaskBench: 3,813 schemas, 4,767 valid and 7,736 invalid instances",
    "vocabulary": "Llama 3.1, 128,256 tokens",
    "instances": "json.dumps(data, ensure_ascii=False), keys in the order given",
    "processor seconds for a schema": {name: seconds for name, (_, seconds) in PLAN.items()},
    "memory limit, MiB": MEMORY_LIMIT,
    "options": {
        "maskwright": 'numbers="any"; "any order" also property_order="any"',
        "llguidance": "defaults",
        "xgrammar": "strict_mode=False, max_threads=1",
        "glrmask": "defaults",
        "outlines-core": "defaults",
    },
    "threads": 1,
    "times": "the lesser of the clock's and the processor's, so that other programs of the machine do not count",
}


class Options(Protocol):
    sample: bool

    def log(self, name: str, settings: dict[str, Any]) -> Log: ...


def run(options: Options) -> Result:
    schemas = records()
    # An engine may read more schemas than before without a new start of the log.
    log = options.log("jsonschemabench", SETTINGS)
    _measure(schemas, log, options.sample)
    outcomes = report.outcomes(log, schemas)
    parts = {"every how many-th schema": {name: every for name, (every, _) in PLAN.items()}}
    result = report.result(outcomes, schemas, SETTINGS | parts)
    report.compare_exactly(result, outcomes, range(0, len(schemas), SAMPLE_EVERY), options.sample)
    folder: Path = LOGS / "sample" if options.sample else RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "jsonschemabench.tsv").write_text(report.tsv(outcomes, schemas), encoding="utf-8")
    return result


def tables(result: Result) -> dict[str, str]:
    import jsonschemabench_tables

    return jsonschemabench_tables.tables(result)


def plot(result: Result, folder: Path) -> None:
    import jsonschemabench_tables

    jsonschemabench_tables.plot(result, folder)


def records() -> list[dict[str, Any]]:
    """The schemas in the order of their names, each with the data set it is from."""
    found = []
    for file in sorted(data("maskbench").glob("*.jsonl")):
        with file.open(encoding="utf-8") as lines:
            found += [json.loads(line) | {"set": file.stem} for line in lines]
    return sorted(found, key=lambda record: str(record["id"]))


def _plan(n_schemas: int, is_sample: bool) -> Iterator[tuple[str, int]]:
    """Which engine reads which schema, in order."""
    fast = {engine: every for engine, (every, _) in PLAN.items() if every < ROUNDS}
    slow = [engine for engine in PLAN if engine not in fast]
    for number in range(1 if is_sample else ROUNDS):
        step = SAMPLE_EVERY if is_sample else ROUNDS
        for engine, every in fast.items():
            yield from ((engine, index) for index in range(number, n_schemas, step) if index % every == 0)
    for index in range(0, n_schemas, SAMPLE_EVERY_SLOW if is_sample else SLOW_EVERY):
        yield from ((engine, index) for engine in slow)


def _measure(schemas: list[dict[str, Any]], log: Log, is_sample: bool) -> None:
    """Runs what the log does not have yet."""
    children = {engine: Child(engine, seconds) for engine, (_, seconds) in PLAN.items()}
    plan = [(engine, i) for engine, i in _plan(len(schemas), is_sample) if report.key(engine, schemas[i]) not in log]
    start = shown = time.monotonic()
    for n_done, (engine, index) in enumerate(plan):
        record = schemas[index]
        answer = children[engine].ask({"schema": record["schema"], "tests": record["tests"]})
        for stage in ("refused", "crashed", "timed out"):
            if stage in answer:
                answer[stage] = short(answer[stage])
        log.append(report.key(engine, record), answer)
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"jsonschemabench: {n_done + 1} of {len(plan)}, {engine}, {shown - start:.0f} s", flush=True)
    for child in children.values():
        child.stop()


def short(reason: str) -> str:
    """A reason in one line of at most 80 characters, without times, places of source files and JSON pointers."""
    reason = re.sub(r"^\[[\d:]+\] \S+?:\d+: ", "", reason.strip())
    reason = re.sub(r"(#|\bat )/[^\s:,'\"]*", r"\1/…", reason)
    reason = re.sub(r"\s+", " ", reason)
    return reason if len(reason) <= 80 else reason[:79] + "…"
