"""The experiment: how `compile_tool_calls` does on the tools of real servers and of type libraries.

    python research/tools/run.py [--only WORD] [--offline] [--seed N] [--sizes DRAWN,MADE,MUTATED] [--without KEYWORD]

It collects the tools (`collect.py`; `--offline` takes those in the cache), compiles each alone and each server's list as
a whole, compares our verdicts about arguments with those of Ajv and jsonschema, prints a table, and writes
`target/experiments/tools/result.json`. The exit status is 1 if there are wrong verdicts, or tools lost to another's fault.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
import zlib
from pathlib import Path
from typing import Any

import maskwright

import collect
import formats
import ours
import pydantic_types
from judges import Ajv
from verdicts import Court, Outcome, compare, texts_of
from walk import keywords, without


def main() -> int:
    arguments = _arguments()
    failed = {} if arguments.offline else collect.collect(jobs=arguments.jobs)
    sources = {name: tools for name, tools in _sources().items() if arguments.only in name}
    compiler = ours.compiler()
    court = Court(Ajv(collect.node_modules()))
    found = []
    for name, tools in sources.items():
        start = time.monotonic()
        found.append(_source(name, tools, compiler, court, arguments))
        print(f"{_line(found[-1])}  {time.monotonic() - start:5.0f} s", flush=True)
    court.ajv.close()
    result = _summary(found, failed)
    result["formats"] = formats.survey(compiler, {} if arguments.without else sources)
    path = collect.CACHE / "result.json"
    path.write_text(json.dumps({"summary": result, "sources": found}, ensure_ascii=False, indent=1))
    _print(result, found)
    print(f"\nwritten: {path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path}")
    return 1 if result["wrong"] or result["lost"] or result["failed"] else 0


def _sources() -> dict[str, list[Any]]:
    """The lists of tools by name; those of functions hold the functions themselves."""
    return {**collect.load(), "types-functions": pydantic_types.functions()}


def _source(name: str, tools: list[Any], compiler: Any, court: Court, arguments: argparse.Namespace) -> dict[str, Any]:
    """Everything about one list of tools."""
    rows = []
    alone = set()
    answers: dict[str, list[tuple[str, bool]]] = {}
    for tool in tools:
        title, schema = _parts(tool)
        if arguments.without:
            if arguments.without not in keywords(schema):
                continue
            tool = {"name": title, "inputSchema": without(schema, {arguments.without})}
        compiled = ours.Tool(compiler, tool, title)
        if compiled.state != "wholly":
            alone.add(title)
        row: dict[str, Any] = {"tool": title, "state": compiled.state, "ms": round(compiled.milliseconds, 2)}
        row |= {key: value for key in ("message", "left_out", "annotations", "warnings") if (value := getattr(compiled, key))}
        outcome = Outcome()
        if compiled.state != "refused":
            seed = zlib.crc32(f"{arguments.seed} {name} {title}".encode())
            try:
                outcome = compare(compiled, schema, texts_of(compiled, schema, seed, arguments.sizes), court)
            except (AssertionError, maskwright.Error, maskwright.InternalError) as error:
                row["failed"] = f"{type(error).__name__}: {error}"
            row["slowest ms"] = round(compiled.slowest, 1)
            row |= {"limits": compiled.limits} if compiled.limits else {}
        answers[title] = outcome.answers
        row |= {"counts": dict(outcome.counts), "sides": dict(outcome.sides), "listed": outcome.listed}
        if outcome.errors:
            row["judges"] = outcome.errors
        rows.append(row)
    found: dict[str, Any] = {"source": name, "tools": rows, "lost": []}
    if arguments.without:
        return found | {"ms": None}
    try:
        gone, whole, took = ours.left_out(compiler, tools)
        found |= {"ms": round(took, 2), "lost": sorted(gone ^ alone)}
        found["lost"] += [name for name in answers if name not in gone and _differs(whole, name, answers[name])]
    except maskwright.Error as error:
        found |= {"ms": None, "lost": [] if alone == {row["tool"] for row in rows} else [f"the whole list: {error}"]}
    return found


def _differs(whole: Any, name: str, answers: list[tuple[str, bool]]) -> bool:
    """Whether the grammar of all tools answers otherwise than the one of this tool did."""
    try:
        matcher = ours.begun(whole, name)
        return any(ours.ends(matcher, text) != answer for text, answer in answers)
    except (AssertionError, maskwright.Error):
        return True


def _parts(tool: Any) -> tuple[str, Any]:
    """A tool's name and its schema."""
    if callable(tool):
        return tool.__name__, maskwright.schema_from(tool)
    return tool["name"], tool["inputSchema"]


def _total(found: list[dict[str, Any]], key: str) -> collections.Counter[str]:
    total: collections.Counter[str] = collections.Counter()
    for source in found:
        for row in source["tools"]:
            total.update(row[key])
    return total


def _judged(counts: collections.Counter[str]) -> int:
    """How many texts were judged: the classes but those that are parts of others."""
    return sum(count for key, count in counts.items() if key not in ("one judge only", "drawn with a key twice"))


def _summary(found: list[dict[str, Any]], failed: dict[str, str]) -> dict[str, Any]:
    """The figures of the whole run."""
    rows = [(source["source"], row) for source in found for row in source["tools"]]
    counts = _total(found, "counts")
    reasons = collections.Counter(
        (keyword, (reason or "").split("\n")[0]) for _, row in rows for _, keyword, reason in row.get("left_out", [])
    )
    annotations = collections.Counter(keyword for _, row in rows for _, keyword, _ in row.get("annotations", []))
    times = sorted(row["ms"] for _, row in rows)
    slow = sorted(((row.get("slowest ms", 0), source, row["tool"]) for source, row in rows), reverse=True)
    lists = sorted(source["ms"] for source in found if source["ms"] is not None)
    return {
        "lists": len(found),
        "servers that failed": failed,
        "tools": len(rows),
        "states": dict(collections.Counter(row["state"] for _, row in rows)),
        "verdicts": _judged(counts),
        "counts": dict(counts.most_common()),
        "sides": dict(_total(found, "sides").most_common()),
        "not enforced": [[*key, count] for key, count in reasons.most_common()],
        "annotations": dict(annotations.most_common(40)),
        "refused": [[source, row["tool"], row["message"]] for source, row in rows if row["state"] == "refused"],
        "compile ms": {"p50": times[len(times) // 2], "p99": times[len(times) * 99 // 100], "max": times[-1]} if times else {},
        "list ms": {"p50": lists[len(lists) // 2], "max": lists[-1]} if lists else {},
        "limits": [[source, row["tool"], *row["limits"]] for source, row in rows if row.get("limits")],
        "failed": [[source, row["tool"], row["failed"]] for source, row in rows if row.get("failed")],
        "slowest masks, ms": [list(entry) for entry in slow[:20]],
        "lost": [[source["source"], tool] for source in found for tool in source["lost"]],
        "wrong": [
            {"source": source, "tool": row["tool"], **case}
            for source, row in rows
            for case in row["listed"]
            if case["class"] in ("wrong accepted", "wrong refused", "drawn and refused")
        ],
    }


def _line(source: dict[str, Any]) -> str:
    """A row of the table: a source, its tools by state, its verdicts and those that are wrong."""
    counts = _total([source], "counts")
    states = collections.Counter(row["state"] for row in source["tools"])
    wrong = counts["wrong accepted"] + counts["wrong refused"] + counts["drawn and refused"]
    split = sum(count for key, count in counts.items() if key.startswith("split"))
    shown = (len(source["tools"]), states["wholly"], states["partly"], states["refused"], _judged(counts), split, counts["format"], counts["told"])
    return f"{source['source'][:44]:44}" + "".join(f"{number:8}" for number in (*shown, wrong, len(source["lost"])))


def _print(result: dict[str, Any], found: list[dict[str, Any]]) -> None:
    titles = ("tools", "wholly", "partly", "refused", "judged", "split", "format", "told", "wrong", "lost")
    print("\n" + " " * 44 + "".join(f"{title:>8}" for title in titles))
    for source in found:
        print(_line(source))
    whole = {"source": "all", "tools": [row for source in found for row in source["tools"]], "lost": result["lost"]}
    print(_line(whole))
    for key in ("counts", "sides", "not enforced", "annotations", "compile ms", "list ms", "slowest masks, ms", "servers that failed", "limits"):
        print(f"\n{key}:")
        for entry in result[key].items() if isinstance(result[key], dict) else result[key]:
            print("  ", *entry)
    print("\nrefused by format:", *(f"{name} {count}" for name, count in result["formats"]["refused"].items()))
    for reason, count, example in result["formats"]["reasons"]:
        print(f"   {count:5}  {reason}\n          {example}")
    for key in ("refused", "failed", "lost", "wrong"):
        print(f"\n{key}: {len(result[key])}")
        for entry in result[key][:60]:
            print("  ", json.dumps(entry, ensure_ascii=False))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", metavar="WORD", help="only lists with this in their name")
    parser.add_argument("--offline", action="store_true", help="take the lists in the cache, install and start nothing")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="how many servers to install and start at once")
    sizes = lambda text: tuple(int(part) for part in text.split(","))  # noqa: E731
    parser.add_argument("--sizes", type=sizes, default=(6, 15, 30), metavar="DRAWN,MADE,MUTATED", help="texts per tool")
    parser.add_argument("--without", metavar="KEYWORD", help="compile schemas without this keyword: there must be wrong verdicts then")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
