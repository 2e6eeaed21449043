"""Draws how long a mask takes in each engine: docs/pictures/mask-times-light.svg and -dark.svg.

usage: mask_times.py

The curves and the numbers are those of docs/results/jsonschemabench.json, which `cargo xtask papers jsonschemabench` writes.
"""

import json
from math import log10
from pathlib import Path

from drawing import Drawing

ROOT = Path(__file__).resolve().parents[2]
OURS = "maskwright"
#: The dashes of each engine's line, its width, and where its name is: at which share, on which side, how far away.
ENGINES = {
    "llguidance": ("2 3", 2.4, 0.0025, "start", 26),
    "xgrammar": ("11 3 2 3", 2.2, 0.025, "start", 20),
    "outlines-core": ("5 4", 2.2, 0.3162, "start", 22),
    "glrmask": ("11 4", 2.6, 0.0004, "end", 16),
    OURS: ("", 4, 0.0002512, "end", 88),
}
#: All have a contrast of at least 4.5 with `page` and `card`.
COLOURS = {
    "light": {"llguidance": "#9a4a00", "xgrammar": "#0b5cad", "outlines-core": "#57606a", "glrmask": "#7a2fb8"},
    "dark": {"llguidance": "#ffab5e", "xgrammar": "#6cb6ff", "outlines-core": "#9aa6b2", "glrmask": "#d0a2ff"},
}
TIMES = {1: "1 µs", 10: "10 µs", 100: "100 µs", 1_000: "1 ms", 10_000: "10 ms"}
SHARES = {1: "all", 0.1: "10%", 0.01: "1%", 0.001: "1 in 1,000", 0.0001: "1 in 10,000"}
LEFT, RIGHT, TOP, BOTTOM = 116, 834, 88, 302
SHORTEST, LONGEST = 0.5, 20_000


def x_of(time):
    return LEFT + (RIGHT - LEFT) * log10(time / SHORTEST) / log10(LONGEST / SHORTEST)


def y_of(share):
    return TOP + (BOTTOM - TOP) * log10(share) / log10(min(SHARES))


def in_words(time):
    """A time in microseconds, in words."""
    time, unit = (time / 1000, "ms") if time >= 1000 else (time, "µs")
    return f"{time:.0f} {unit}" if time >= 10 else f"{time:.1f} {unit}"


def n_schemas(data, engine):
    """How many schemas an engine's times are from; some engines read a sample."""
    return data["others"].get(f"schemas timed / {engine}", data["others"]["schemas timed"])


def curve_of(data, engine):
    """Times in microseconds with the share of masks that take longer, as far down as the picture goes."""
    points = [(time, share) for time, share in data["others"][f"curve / mask / {engine}"] if share >= min(SHARES)]
    if not all(SHORTEST <= time <= LONGEST for time, _ in points):
        raise ValueError(f"times of {engine} are outside the picture")
    return points


def describe(data, measured):
    """The picture in words."""
    rows = []
    for engine in sorted(ENGINES, key=lambda engine: data["times"][f"mask / {engine}"]["p50"]):
        found = data["times"][f"mask / {engine}"]
        half, most, nearly_all, longest = (in_words(found[name]) for name in ["p50", "p99", "p999", "max"])
        version = "" if engine == OURS else f" {data['versions'][engine]}"
        rows.append(
            f"{engine}{version} ({n_schemas(data, engine):,} schemas, {found['n']:,} masks): half within {half}, 99% "
            f"within {most}, 99.9% within {nearly_all}, the slowest {longest}."
        )
    return (
        f"The share of masks that take longer than a time, both on logarithmic scales. {measured}, {data['date']}. Only valid "
        "texts that maskwright, llguidance and the engine itself accept: schemas that it refuses or does not compile in time "
        f"are not in its times. {' '.join(rows)}"
    )


def grid(drawing):
    for time, words in TIMES.items():
        drawing.path([(x_of(time), TOP), (x_of(time), BOTTOM)], "line", 1)
        drawing.text(x_of(time), BOTTOM + 19, words, 15, "quiet", "middle")
    for share, words in SHARES.items():
        drawing.path([(LEFT, y_of(share)), (RIGHT, y_of(share))], "line", 1)
        drawing.text(LEFT - 10, y_of(share) + 5, words, 15, "quiet", "end")


def draw(data, scheme):
    settings = data["settings"]
    if settings["threads"] != 1 or not settings["data"].startswith("a third of MaskBench"):
        raise ValueError("the picture would say what is not so")
    vocabulary = settings["vocabulary"].split(",")[0]
    measured = f"New masks over a third of MaskBench (JSONSchemaBench), {vocabulary}'s vocabulary, one thread, a busy machine"
    drawing = Drawing(scheme, 340, "How long a mask takes", describe(data, measured))
    drawing.colours = drawing.colours | COLOURS[scheme] | {OURS: drawing.colours["good"]}
    drawing.text(20, 30, "How long a mask takes", 18, weight=600)
    drawing.text(840, 30, "The share of masks that take longer than a time: further left is faster", 14, "quiet", "end")
    drawing.text(20, 54, measured, 13, "quiet")
    drawing.box(14, 66, 832, 262, "card")
    grid(drawing)
    for engine, (dashes, width, share, side, away) in ENGINES.items():
        curve = curve_of(data, engine)
        line = [(round(x_of(time), 1), round(y_of(share), 1)) for time, share in curve]
        drawing.path(line, engine, width, dashes=dashes)
        time = min(curve, key=lambda point: abs(log10(point[1] / share)))[0]
        x, y = x_of(time) + (away if side == "start" else -away), y_of(share)
        drawing.text(x, y, engine, 19 if engine == OURS else 17, engine, side, 700 if engine == OURS else 600)
        drawing.text(x, y + 17, f"{n_schemas(data, engine):,} schemas", 14, engine, side)
    drawing.save(ROOT / f"docs/pictures/mask-times-{scheme}.svg")


def main():
    data = json.loads((ROOT / "docs/results/jsonschemabench.json").read_text(encoding="utf-8"))
    for scheme in ["light", "dark"]:
        draw(data, scheme)


if __name__ == "__main__":
    main()
