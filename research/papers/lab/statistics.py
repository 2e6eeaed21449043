"""Intervals of shares, and quantiles of times."""

from __future__ import annotations

import math
from collections.abc import Sequence

#: Two-sided 95%.
Z = 1.959964


def wilson(k: int, n: int) -> tuple[float, float]:
    """The 95% interval of a share of which `k` of `n` were observed (Wilson 1927)."""
    if n == 0:
        return 0.0, 1.0
    share = k / n
    centre = (share + Z * Z / (2 * n)) / (1 + Z * Z / n)
    half = Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n)) / (1 + Z * Z / n)
    return max(0.0, centre - half), min(1.0, centre + half)


def agree(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Whether the 95% intervals of two shares, each `(k, n)`, overlap."""
    (low, high), (other_low, other_high) = wilson(*first), wilson(*second)
    return low <= other_high and other_low <= high


def quantile(values: Sequence[float], q: float) -> float:
    """The smallest value that a share of at least `q` of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(q * len(ordered)) - 1)]


def summary(values: Sequence[float]) -> dict[str, float]:
    """Number, mean, median, 99% quantile and maximum; rounded to four significant digits."""
    figures = {"mean": sum(values) / len(values), "p50": quantile(values, 0.5)}
    figures |= {"p99": quantile(values, 0.99), "max": max(values)}
    return {"n": len(values)} | {name: float(f"{value:.4g}") for name, value in figures.items()}
