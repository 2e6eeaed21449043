"""Results as they are published in `docs/results`, and the comparison of a sample with them."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import platform
import subprocess
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from lab.paths import RESULTS, ROOT
from lab.statistics import agree

#: A time of a sample agrees with the published one if their ratios to a time of the same run are this close.
RATIO_TOLERANCE = 4.0


@dataclass
class Result:
    """The outcome of one experiment.

    Keys are the cells of the tables, their parts separated by " / ", such as "2 regions / maskwright / compiles".
    """

    name: str
    #: What the experiment was run with: sizes, seeds, models, limits.
    settings: dict[str, Any]
    #: Shares as `[k, n]`: a sample must agree within the 95% intervals.
    shares: dict[str, list[int]] = field(default_factory=dict)
    #: Claims of the kind "never", as `[k, n]`: k is 0 in every run, or the run fails.
    never: dict[str, list[int]] = field(default_factory=dict)
    #: Facts that every run gives again exactly, sampled or not.
    facts: dict[str, Any] = field(default_factory=dict)
    #: Times in microseconds: n, mean, p50, p99, max.
    times: dict[str, dict[str, float]] = field(default_factory=dict)
    #: Ratios of times within one run. A sample must agree within a factor.
    ratios: dict[str, float] = field(default_factory=dict)
    #: Other numbers and texts, which a sample need not give again.
    others: dict[str, Any] = field(default_factory=dict)
    #: Filled in by `publish`.
    date: str = ""
    commit: str = ""
    machine: str = ""
    versions: dict[str, str] = field(default_factory=dict)

    def stamp(self, packages: tuple[str, ...]) -> None:
        """Says when, from which commit, where and with which versions of `packages` the run was made."""
        self.date = datetime.date.today().isoformat()
        git = ["git", "-C", str(ROOT), "rev-parse", "--short", "HEAD"]
        self.commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
        self.machine = f"{_processor()}, {platform.system()}, Python {platform.python_version()}"
        self.versions = {name: importlib.metadata.version(name) for name in packages}

    def write(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_lines(asdict(self)) + "\n", encoding="utf-8")

    @staticmethod
    def read(path: Path) -> Result:
        return Result(**json.loads(path.read_text(encoding="utf-8")))

    @staticmethod
    def published(name: str) -> Result:
        return Result.read(RESULTS / f"{name}.json")

    def violations(self) -> list[str]:
        """Claims of the kind "never" that did not hold."""
        return [f"{key}: {k} of {n}" for key, (k, n) in self.never.items() if k]

    def differences(self, sample: Result) -> list[str]:
        """Where a sample does not give again what this result says. Keys that the sample lacks are passed over."""
        found = []
        for key, (k, n) in sample.shares.items():
            published = self.shares.get(key)
            if published is None:
                found.append(f"{key}: not in the published result")
            elif not agree((k, n), (published[0], published[1])):
                found.append(f"{key}: {k} of {n} here, {published[0]} of {published[1]} published")
        for key, fact in sample.facts.items():
            if self.facts.get(key) != fact:
                found.append(f"{key}: {fact!r} here, {self.facts.get(key)!r} published")
        for key, ratio in sample.ratios.items():
            published_ratio = self.ratios.get(key)
            if published_ratio and not 1 / RATIO_TOLERANCE <= ratio / published_ratio <= RATIO_TOLERANCE:
                found.append(f"{key}: a ratio of {ratio:.3g} here, {published_ratio:.3g} published")
        return found


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []:
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _lines(result: dict[str, Any]) -> str:
    """JSON with a line for each entry of the two upper levels: readable, and a change shows in a diff."""
    parts = []
    for name, value in result.items():
        if isinstance(value, dict) and value:
            inner = ",\n".join(f"  {json.dumps(key)}: {json.dumps(item, ensure_ascii=False)}" for key, item in value.items())
            parts.append(f" {json.dumps(name)}: {{\n{inner}\n }}")
        else:
            parts.append(f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}"
