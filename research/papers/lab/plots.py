"""Plots as small SVG files that look alike and are the same, byte for byte, for the same data."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_STYLE = {
    "svg.hashsalt": "maskwright",
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "legend.frameon": False,
}

#: A colour for each engine or method, the same in every plot.
COLOURS = {
    "maskwright": "#0b6e4f",
    "llguidance": "#d1495b",
    "xgrammar": "#30638e",
    "outlines-core": "#edae49",
    "glrmask": "#8d6a9f",
    "no constraint": "#777777",
}


def figure(width: float = 6.4, height: float = 3.2, columns: int = 1) -> tuple[Any, Any]:
    """A figure and its axes (an array of them if there are several columns), in inches."""
    # Only plots need matplotlib; the tables of the pages do not.
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams |= _STYLE
    import matplotlib.pyplot

    return matplotlib.pyplot.subplots(1, columns, figsize=(width, height), layout="constrained")


def save(figure: Any, path: Path) -> None:
    import matplotlib.pyplot

    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None, "Creator": None})
    matplotlib.pyplot.close(figure)
    # Matplotlib leaves spaces at the ends of lines.
    path.write_text("\n".join(line.rstrip() for line in path.read_text().splitlines()) + "\n")
