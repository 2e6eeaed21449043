"""The tables and plots of `jsonschemabench`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jsonschemabench_report import ENGINES, FULL, OURS, SLOW
from lab.results import Result
from lab.tables import count, number, table

#: What MaskBench's README reports (LLGuidance 0.6.7, XGrammar 0.1.10, Outlines 0.1.13; 10,163 schemas, other machine).
PUBLISHED = {
    "schemas all right": ("7,765 of 10,163", "5,216 of 10,163", "4,259 of 10,163"),
    "schemas refused": ("2,373", "2,089", "3,608"),
    "crashes, out of time or memory": ("0", "200", "1,033"),
    "schemas with invalid accepted": ("0", "1,249", "614"),
    "compile + first mask: median": ("987", "535,498", "6,987,012"),
    "compile + first mask: 99% within": ("14,180", "62,151,076", "621,693,634"),
    "a mask: median": ("36", "8", "118"),
    "a mask: 99% within": ("460", "4,936", "358,041"),
    "a mask: 99.9% within": ("1,453", "44,687", "598,956"),
}
_MEASURES = ("compile + first mask", "mask", "mask made before", "commit")
_QUANTILES = {"p50": "median", "p99": "99% within", "p999": "99.9% within"}


def tables(result: Result) -> dict[str, str]:
    return {
        "readme": _readme(result),
        "verdicts": _verdicts(result),
        "times": _times(result),
        "slow_times": _slow_times(result),
        "sets": _sets(result),
        "reasons": _reasons(result),
        "published": _published(),
    }


def plot(result: Result, folder: Path) -> None:
    """How many masks, and how many compilations, take longer than how long."""
    from lab.plots import COLOURS, figure, save

    for measure, name, title in (("mask", "masks", "masks"), ("compile + first mask", "compile", "schemas")):
        drawing, axes = figure()
        for engine in ENGINES:
            points = result.others.get(f"curve / {measure} / {engine}")
            if points:
                style = "--" if engine in SLOW else ":" if "any order" in engine else "-"
                colour = COLOURS[engine.split(",")[0]]
                axes.plot(*zip(*points, strict=True), style, color=colour, label=_title(result, engine))
        axes.set(xscale="log", yscale="log", xlabel="microseconds", ylabel=f"share of {title} that take longer")
        axes.legend()
        save(drawing, folder / f"jsonschemabench-{name}.svg")


def _title(result: Result, engine: str) -> str:
    """An engine's name with its version; ours has none, since it is this one."""
    version = result.versions.get(engine)
    return f"{engine} {version}" if version and engine != OURS else engine


def _readme(result: Result) -> str:
    """The short table: xgrammar and outlines-core read a part, so their counts are of that."""
    engines = [engine for engine in ENGINES if engine != "maskwright, any order"]
    n = result.shares[f"{OURS} / schemas compiled"][1]

    def cells(name: str) -> list[str]:
        found = [result.shares[f"{engine} / {name}"] for engine in engines]
        return [f"{k:,}" if of == n else f"{k:,} of {of:,}" for k, of in found]

    def accepted() -> list[str]:
        found = [(e, result.shares[f"{e} / invalid instances accepted"]) for e in engines]
        return [f"{k:,} of {of:,}" if engine in SLOW else f"{k:,}" for engine, (k, of) in found]

    def medians(*names: str) -> list[str]:
        measure = names[0]
        times = [result.times.get(f"{measure} / {engine}") for engine in engines]
        return ["–" if t is None else " / ".join(_us(t[name]) for name in names[1:]) for t in times]

    rows = [
        [f"schemas compiled, of {n:,}", *cells("schemas compiled")],
        ["schemas with every verdict right", *cells("schemas all right")],
        ["invalid texts accepted", *accepted()],
        ["compile + first mask: median", *medians("compile + first mask", "p50")],
        ["a new mask: median / 99% within", *medians("mask", "p50", "p99")],
        ["peak memory beyond the tokenizer, MiB", *(number(result.others[f"{e} / memory, MiB"]) for e in engines)],
    ]
    return table(["", *(_title(result, engine) for engine in engines)], rows)


def _verdicts(result: Result) -> str:
    names = {
        "schemas all right": "every verdict right",
        "schemas right but for order": "… or only another order of keys refused",
        "schemas refused": "schema refused",
        "schemas timed out": "out of time",
        "schemas crashed": "crashed, or out of memory",
        "schemas with invalid accepted": "an invalid instance accepted",
        "schemas with valid refused": "a valid instance refused",
    }
    rows = [["schemas", *(f"{result.shares[f'{engine} / schemas refused'][1]:,}" for engine in ENGINES)]]
    for name, title in names.items():
        found = [result.shares[f"{engine} / {name}"] for engine in ENGINES]
        rows.append([title, *(f"{k:,} ({100 * k / n:.1f}%)" if n else "–" for k, n in found)])
    of_instances = {
        "invalid instances accepted": "invalid instances accepted",
        "valid instances refused": "valid instances refused",
        "valid instances in schema order refused": "… of those in the schema's order",
    }
    for name, title in of_instances.items():
        rows.append([title, *(count(result.shares[f"{engine} / {name}"]) for engine in ENGINES)])
    return table(["", *(_title(result, engine) for engine in ENGINES)], rows)


def _times(result: Result) -> str:
    """Times in microseconds of the engines that read all schemas."""
    rows = _time_rows(result, FULL)
    memory = [number(result.others[f"{engine} / memory, MiB"]) for engine in FULL]
    rows.append(["peak memory beyond the tokenizer, MiB", *memory])
    return table(["", *(_title(result, engine) for engine in FULL)], rows)


def _slow_times(result: Result) -> str:
    """Times of the engines that read a part, each beside ours over the same instances."""
    columns = [name for engine in SLOW for name in (engine, f"maskwright where {engine} ran")]
    heads = [head for engine in SLOW for head in (_title(result, engine), "maskwright there")]
    rows = [["schemas", *(f"{result.others[f'schemas timed / {engine}']:,}" for engine in SLOW for _ in range(2))]]
    return table(["", *heads], rows + _time_rows(result, columns))


def _time_rows(result: Result, columns: Any) -> list[list[str]]:
    rows = []
    for measure in _MEASURES:
        for name, words in _QUANTILES.items():
            if measure == "compile + first mask" and name == "p999":
                continue
            times = [result.times.get(f"{measure} / {column}") for column in columns]
            title = "a new mask" if measure == "mask" else "a mask made before" if measure != "commit" else "commit"
            title = measure if measure.startswith("compile") else title
            rows.append([f"{title}: {words}", *("–" if time is None else _us(time[name]) for time in times)])
    return rows


def _us(value: float) -> str:
    """Microseconds with two digits at least."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"


def _sets(result: Result) -> str:
    """Schemas with every verdict right, for each data set."""
    names = [key.split(" / right in ")[1] for key in result.others if key.startswith(f"{OURS} / right in ")]

    def cell(engine: str, name: str) -> str:
        found = result.others.get(f"{engine} / right in {name}")
        return "–" if found is None else f"{100 * found[0] / found[1]:.0f}% of {found[1]:,}"

    rows = [[name.replace("_", " "), *(cell(engine, name) for engine in ENGINES)] for name in names]
    return table(["", *(_title(result, engine) for engine in ENGINES)], rows)


def _reasons(result: Result) -> str:
    """Why engines refuse schemas or fail on them, the commonest reasons first."""
    rows = [
        [_title(result, engine), f"`{reason.replace('|', '/').replace('`', chr(39))}`", f"{n:,}"]
        for engine in ENGINES
        if engine != "maskwright, any order"
        for reason, n in list(result.others[f"{engine} / reasons"].items())[:4]
    ]
    return table(["", "reason", "schemas"], rows, n_labels=2)


def _published() -> str:
    rows = [[name, *cells] for name, cells in PUBLISHED.items()]
    return table(["as MaskBench reports", "LLGuidance 0.6.7", "XGrammar 0.1.10", "Outlines 0.1.13"], rows)
