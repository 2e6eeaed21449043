"""Cells and tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from lab.statistics import wilson


def table(head: Sequence[str], rows: Sequence[Sequence[str]], n_labels: int = 1) -> str:
    """A table whose first `n_labels` columns are labels and whose other columns are numbers."""
    rule = ["---"] * n_labels + ["---:"] * (len(head) - n_labels)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, rule, *rows])


def share(counts: Sequence[int] | None) -> str:
    """`k of n` as a percentage with its 95% interval, such as `88% (79 to 93)`; "–" where nothing was run."""
    if counts is None:
        return "–"
    k, n = counts
    low, high = wilson(k, n)
    return f"{100 * k / n:.0f}% ({100 * low:.0f} to {100 * high:.0f})"


def count(counts: Sequence[int] | None) -> str:
    """`k of n` in words."""
    return "–" if counts is None else f"{counts[0]:,} of {counts[1]:,}"


def number(value: float | None) -> str:
    """A number with three significant digits, or "–"."""
    if value is None:
        return "–"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"
