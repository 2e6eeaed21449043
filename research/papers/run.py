"""The experiments of the four papers, and the page that shows them.

    python research/papers/run.py [NAME …] [--sample] [--fresh] [--page]

Without names, all of them. A full run continues where the last one stopped, and writes `docs/results/NAME.json` and the plots
in `docs/results`. With `--sample` an experiment takes about two minutes, and is compared with the published result: shares
must agree within their 95% intervals, facts exactly, times as ratios; the status is 1 if they do not. `--page` only writes
the tables of `docs/papers.md` and README.md again from the published results.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from dataclasses import dataclass
from typing import Any

from lab.log import Log
from lab.paths import LOGS
from lab.results import RESULTS, Result
import page

NAMES = ["paper1", "paper2_masks", "paper2_texts", "paper3_regions", "paper3_diffusion", "paper4", "jsonschemabench"]


@dataclass(frozen=True)
class Options:
    """How an experiment is run."""

    sample: bool
    fresh: bool

    def log(self, name: str, settings: dict[str, Any]) -> Log:
        """The log of this name, which a run with the same settings continues; samples always begin anew."""
        path = LOGS / ("sample" if self.sample else "full") / f"{name}.jsonl"
        return Log(path, settings, fresh=self.fresh or self.sample)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--sample", action="store_true", help="two minutes of it, compared with the published result")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs did")
    parser.add_argument("--page", action="store_true", help="only write the tables of the pages again")
    arguments = parser.parse_args()
    unknown = set(arguments.names) - set(NAMES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")
    failures: list[str] = []
    if not arguments.page:
        options = Options(arguments.sample, arguments.fresh)
        for name in arguments.names or NAMES:
            failures += [f"{name}: {failure}" for failure in _run(name, options)]
    if not arguments.sample:
        page.write()
    for failure in failures:
        print(f"FAILED {failure}")
    return 1 if failures else 0


def _run(name: str, options: Options) -> list[str]:
    """Runs one experiment; returns what is wrong."""
    experiment = importlib.import_module(name)
    start = time.monotonic()
    result: Result = experiment.run(options)
    print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)
    result.stamp(experiment.PACKAGES)
    failures = [f"must never be: {violation}" for violation in result.violations()]
    if options.sample:
        result.write(LOGS / "sample" / f"{name}.json")
        published = Result.published(name)
        failures += published.differences(result)
        compared = len(result.shares) + len(result.facts) + len(result.ratios)
        print(f"{name}: {compared} cells compared with those of {published.date}, {len(failures)} differ")
    else:
        result.write(RESULTS / f"{name}.json")
        if hasattr(experiment, "plot"):
            experiment.plot(result, RESULTS)
    return failures


if __name__ == "__main__":
    sys.exit(main())
