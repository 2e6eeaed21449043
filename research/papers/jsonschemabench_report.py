"""From the log of `jsonschemabench` to its result and its file of verdicts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from lab.log import Log
from lab.results import Result
from lab.statistics import quantile, summary

ENGINES = ("maskwright", "maskwright, any order", "llguidance", "glrmask", "xgrammar", "outlines-core")
OURS, OURS_ANY = ENGINES[:2]
#: Engines that read all schemas: times are compared over what all of them accept.
FULL = ENGINES[:3]
#: Engines that read a part of them.
SLOW = ENGINES[3:]
#: From the worst: a schema with several faults has the first of them as its verdict.
VERDICTS = ("crashed", "timed out", "refused", "invalid accepted", "valid refused", "right")


@dataclass
class Outcome:
    """What an engine did with a schema. Indices are of the schema's instances."""

    verdict: str
    reason: str = ""
    #: Microseconds from the start to the first mask; `None` if the schema is not compiled.
    first: float | None = None
    invalid_accepted: list[int] = field(default_factory=list)
    valid_refused: list[int] = field(default_factory=list)
    #: Times of the valid instances that are accepted.
    cold: dict[int, list[float]] = field(default_factory=dict)
    warm: dict[int, list[float]] = field(default_factory=dict)
    commits: dict[int, list[float]] = field(default_factory=dict)
    memory: float = 0.0

    @property
    def is_judged(self) -> bool:
        """Whether all instances were read."""
        return self.verdict in VERDICTS[3:]


#: By engine and index of the schema.
Outcomes = dict[str, dict[int, Outcome]]


def key(engine: str, record: dict[str, Any]) -> str:
    return f"{engine} / {record['set']} / {record['id']}"


def outcomes(log: Log, schemas: Sequence[dict[str, Any]]) -> Outcomes:
    """All that was run, by engine and index of the schema."""
    return {
        engine: {
            index: _outcome(log.entries[key(engine, record)])
            for index, record in enumerate(schemas)
            if key(engine, record) in log
        }
        for engine in ENGINES
    }


def _outcome(entry: dict[str, Any]) -> Outcome:
    memory = entry.get("memory", 0.0)
    for verdict in VERDICTS[:3]:
        if verdict in entry:
            return Outcome(verdict, entry[verdict], entry.get("first"), memory=memory)
    tests = list(enumerate(entry["tests"]))
    invalid_accepted = [index for index, test in tests if test["accepted"] and not test["valid"]]
    valid_refused = [index for index, test in tests if test["valid"] and not test["accepted"]]
    verdict = "invalid accepted" if invalid_accepted else "valid refused" if valid_refused else "right"
    read = [(index, test) for index, test in tests if test["valid"] and test["accepted"]]
    return Outcome(
        verdict,
        first=entry["first"],
        invalid_accepted=invalid_accepted,
        valid_refused=valid_refused,
        cold={index: test["cold"] for index, test in read},
        warm={index: test["warm"] for index, test in read},
        commits={index: test["commits"] for index, test in read},
        memory=memory,
    )


def tsv(found: Outcomes, schemas: Sequence[dict[str, Any]]) -> str:
    """A line for each schema; for each engine its verdict, the reason, and times in microseconds."""
    columns = ("verdict", "reason", "compile + first mask", "mean mask", "max mask")
    head = ["set", "schema", "valid instances", "invalid instances"]
    lines = [head + [f"{engine}: {column}" for engine in ENGINES for column in columns]]
    for index, record in enumerate(schemas):
        n_valid = sum(test["valid"] for test in record["tests"])
        line = [record["set"], record["id"], str(n_valid), str(len(record["tests"]) - n_valid)]
        for engine in ENGINES:
            line += _cells(found[engine].get(index))
        lines.append(line)
    return "".join("\t".join(line) + "\n" for line in lines)


def _cells(outcome: Outcome | None) -> list[str]:
    if outcome is None:
        return [""] * 5
    masks = [time for times in outcome.cold.values() for time in times]
    times = [f"{sum(masks) / len(masks):.3g}", f"{max(masks):.1f}"] if masks else ["", ""]
    first = "" if outcome.first is None else f"{outcome.first:.0f}"
    return [outcome.verdict, outcome.reason.replace("\t", " "), first, *times]


def result(found: Outcomes, schemas: Sequence[dict[str, Any]], settings: dict[str, Any]) -> Result:
    made = Result("jsonschemabench", settings)
    reordered = _in_another_order(found)
    for engine in ENGINES:
        _count(made, engine, found[engine], schemas, reordered)
    for engine in (OURS, OURS_ANY):
        made.never[f"{engine} / invalid instances accepted"] = made.shares[f"{engine} / invalid instances accepted"]
    name = f"{OURS_ANY} / valid instances refused"
    made.never[name] = made.shares[name]
    _times(made, found)
    return made


def compare_exactly(made: Result, found: Outcomes, indices: range, is_sample: bool) -> None:
    """Adds the verdicts on the sample's schemas as facts, which a sample must give again.

    A sample is a part of the published schemas, so its verdicts must be the same; intervals of shares are for
    independent samples, and one rare fault among few schemas would contradict them. So a sample has no shares of these
    engines. Those of xgrammar and outlines-core depend on the time limit, and so on the machine: they stay shares.
    """
    for engine in (*FULL, "glrmask"):
        verdicts = [found[engine][index].verdict for index in indices if index in found[engine]]
        made.facts[f"{engine} / verdicts of the sample"] = " ".join(verdict.replace(" ", "-") for verdict in verdicts)
        if is_sample:
            made.shares = {key: share for key, share in made.shares.items() if not key.startswith(f"{engine} / ")}


def _in_another_order(found: Outcomes) -> set[tuple[int, int]]:
    """Valid instances whose keys are not in the schema's order: only `property_order="any"` accepts them."""
    return {
        (index, test)
        for index, outcome in found[OURS].items()
        for test in outcome.valid_refused
        if index in found[OURS_ANY] and test in found[OURS_ANY][index].cold
    }


def _count(
    made: Result,
    engine: str,
    by_schema: dict[int, Outcome],
    schemas: Sequence[dict[str, Any]],
    reordered: set[tuple[int, int]],
) -> None:
    """Verdicts of schemas and of instances; those of instances over the schemas that the engine judged."""
    n = len(by_schema)
    judged = {index: outcome for index, outcome in by_schema.items() if outcome.is_judged}

    def schemas_with(name: str, is_so: Callable[[Outcome], bool]) -> None:
        made.shares[f"{engine} / {name}"] = [sum(map(is_so, by_schema.values())), n]

    schemas_with("schemas all right", lambda outcome: outcome.verdict == "right")
    schemas_with("schemas compiled", lambda outcome: outcome.first is not None)
    schemas_with("schemas refused", lambda outcome: outcome.verdict == "refused")
    schemas_with("schemas timed out", lambda outcome: outcome.verdict == "timed out")
    schemas_with("schemas crashed", lambda outcome: outcome.verdict == "crashed")
    schemas_with("schemas with invalid accepted", lambda outcome: bool(outcome.invalid_accepted))
    schemas_with("schemas with valid refused", lambda outcome: bool(outcome.valid_refused))
    refused = [(index, test) for index, outcome in judged.items() for test in outcome.valid_refused]
    tests = [(index, place, test["valid"]) for index in judged for place, test in enumerate(schemas[index]["tests"])]
    valid = [(index, place) for index, place, is_valid in tests if is_valid]
    n_in_order = sum(test not in reordered for test in valid)
    n_accepted = sum(len(outcome.invalid_accepted) for outcome in judged.values())
    made.shares[f"{engine} / invalid instances accepted"] = [n_accepted, len(tests) - len(valid)]
    made.shares[f"{engine} / valid instances refused"] = [len(refused), len(valid)]
    made.shares[f"{engine} / valid instances in schema order refused"] = [
        sum(test not in reordered for test in refused),
        n_in_order,
    ]
    # The schemas whose faults are only refusals of another order of keys, which is a choice of an engine.
    made.shares[f"{engine} / schemas right but for order"] = [
        sum(
            not outcome.invalid_accepted and all((index, test) in reordered for test in outcome.valid_refused)
            for index, outcome in judged.items()
        ),
        n,
    ]
    for name in sorted({record["set"] for record in schemas}):
        of_set = [outcome for index, outcome in by_schema.items() if schemas[index]["set"] == name]
        if of_set:
            made.others[f"{engine} / right in {name}"] = [sum(o.verdict == "right" for o in of_set), len(of_set)]
    made.others[f"{engine} / memory, MiB"] = round(max((o.memory for o in by_schema.values()), default=0.0), 1)
    made.others[f"{engine} / reasons"] = _reasons(by_schema.values())


def _reasons(found: Iterable[Outcome]) -> dict[str, int]:
    """How often an engine gave the commonest reasons to refuse a schema or to fail on it."""
    counts: dict[str, int] = {}
    for outcome in found:
        if outcome.reason:
            # Such as a format's name, or how far beyond a limit a schema is.
            reason = re.sub(r"(?<=Unknown format: ).*|\d{3,}", "…", f"{outcome.verdict}: {outcome.reason}")
            counts[reason] = counts.get(reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:8])


def _times(made: Result, found: Outcomes) -> None:
    """Times over what all engines of `FULL` accept; a slow engine's over its own part of that, beside ours there."""
    common = set.intersection(*({i for i, o in found[engine].items() if o.is_judged} for engine in FULL))
    tests = {index: set.intersection(*(set(found[engine][index].cold) for engine in FULL)) for index in sorted(common)}
    made.others["schemas timed"] = len(tests)
    made.others["instances timed"] = sum(map(len, tests.values()))
    for engine in FULL:
        _summarize(made, engine, found[engine], tests)
    for engine in SLOW:
        peer = found[engine]
        part = {i: own & set(peer[i].cold) for i, own in tests.items() if i in peer and peer[i].is_judged}
        made.others[f"schemas timed / {engine}"] = len(part)
        if part:
            _summarize(made, engine, peer, part)
            _summarize(made, f"maskwright where {engine} ran", found[OURS], part)
    for engine in FULL[2:]:
        _ratios(made, engine, OURS)
    for engine in SLOW:
        _ratios(made, engine, f"maskwright where {engine} ran")


def _summarize(made: Result, name: str, by_schema: dict[int, Outcome], tests: dict[int, set[int]]) -> None:
    firsts = [first for index in tests if (first := by_schema[index].first) is not None]

    def all_of(kind: str) -> list[float]:
        return [time for i, own in tests.items() for test in sorted(own) for time in getattr(by_schema[i], kind)[test]]

    measured = {"compile + first mask": firsts, "mask": all_of("cold")}
    measured |= {"mask made before": all_of("warm"), "commit": all_of("commits")}
    for measure, values in measured.items():
        if values:
            tail = {"p999": float(f"{quantile(values, 0.999):.4g}")}
            made.times[f"{measure} / {name}"] = summary(values) | tail
    for measure in ("compile + first mask", "mask"):
        if measured[measure]:
            made.others[f"curve / {measure} / {name}"] = _curve(measured[measure])


def _curve(values: list[float]) -> list[list[float]]:
    """Points `[time, share of values above it]`, evenly spaced on a logarithmic scale of shares."""
    ordered = sorted(values)
    points, share = [], 1.0
    while share * len(ordered) >= 1:
        points.append(
            [float(f"{ordered[min(len(ordered) - 1, int((1 - share) * len(ordered)))]:.4g}"), float(f"{share:.4g}")]
        )
        share /= 10**0.1
    return points


def _ratios(made: Result, peer: str, ours: str) -> None:
    """Our times to a peer's. A sample has too few schemas for ratios of tails, and of engines that read few schemas."""
    for measure in ("compile + first mask", "mask"):
        if f"{measure} / {peer}" not in made.times:
            continue
        own, other = made.times[f"{measure} / {ours}"], made.times[f"{measure} / {peer}"]
        for name in ("p50", "p99", "p999"):
            is_steady = name == "p50" and peer in (*FULL, "glrmask")
            cells = made.ratios if is_steady else made.others
            cells[f"{measure} / maskwright to {peer} / {name}"] = float(f"{own[name] / other[name]:.4g}")
