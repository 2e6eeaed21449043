"""Runs canitoolcall on our events, and prints a table.

    python research/calls/run.py [--tokenizers FOLDER] [ID…]

`FOLDER`, by default `tokenizers` in the folder that MASKWRIGHT_SHARED names, has `llama3_1/tokenizer.json`, and `qwen2_5` and `gpt4o`
beside it. `ID…` are patterns of messages, all by default. The exit status is 1 if a message is read otherwise than expected and `differences.json` does not say why.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from canitoolcall.results import CaseResult, Status
from canitoolcall.runner import RunConfig, run

HERE = Path(__file__).parent

#: What becomes of a message. "refused": the grammar does not have it, for a reason that `differences.json` gives; "on purpose": it is
#: read otherwise, for such a reason.
KINDS = ("right", "right but for white space", "refused", "on purpose", "wrong", "error")


def main() -> int:
    arguments = _arguments()
    paths = [str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {"PYTHONPATH": os.pathsep.join(paths), "MASKWRIGHT_TOKENIZERS": str(arguments.tokenizers)}
    sys.path.insert(0, str(HERE))
    config = RunConfig(engine="adapter:Maskwright", ids=arguments.ids, env=environment, jobs=arguments.jobs, include_observed="all")
    results = run(config)
    explained = {id: entry["why"] for entry in json.loads((HERE / "differences.json").read_text()) for id in entry["ids"]}
    rows: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    reasons: collections.Counter[str] = collections.Counter()
    n_faults = 0
    for case in results.cases:
        kind = _kind(case, explained)
        if kind in ("wrong", "error") or (case.fixture_id in explained and kind not in ("refused", "on purpose")):
            n_faults += 1
            print(f"{case.fixture_id}: {kind}; {case.harness_error or 'the difference that is explained is gone'}")
            for detail in sorted({f"{row.check}: {row.detail}" for row in case.checks if row.status is Status.FAIL}):
                print(f"    {detail}")
        if kind in ("refused", "on purpose"):
            reasons[explained[case.fixture_id]] += 1
        family = f"{case.family} ({case.parser_config['format']})" if case.parser_config else case.family
        rows[family][kind] += 1
        rows["all"][kind] += 1
    print("| family (format) | messages | " + " | ".join(KINDS) + " |\n|" + "---|" * (len(KINDS) + 2))
    for family, counts in sorted(rows.items(), key=lambda row: (row[0] == "all", row[0])):
        print(f"| {family} | {counts.total()} | " + " | ".join(str(counts[kind]) for kind in KINDS) + " |")
    n_read = rows["all"].total() - rows["all"]["refused"]
    print(f"\nOf {n_read} messages that the grammars have, {rows['all']['right'] + rows['all']['right but for white space']} are read as expected.")
    for why, count in reasons.most_common():
        print(f"* {count}: {why}")
    return 1 if n_faults else 0


def _kind(case: CaseResult, explained: Mapping[str, str]) -> str:
    """One of KINDS."""
    if case.status is Status.PASS:
        return "right"
    if case.status is Status.SOFT_PASS:
        return "right but for white space"
    if case.status is not Status.FAIL or case.observed is None:
        return "error"
    if case.fixture_id not in explained:
        return "wrong"
    parses = [case.observed.nonstream, *case.observed.streams.values()]
    return "refused" if all((parse.exception or "").startswith(("Refused", "Incomplete")) for parse in parses) else "on purpose"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    shared = os.environ.get("MASKWRIGHT_SHARED")
    default = Path(shared) / "tokenizers" if shared else None
    parser.add_argument("--tokenizers", type=Path, metavar="FOLDER", default=default, required=not shared)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("ids", nargs="*", metavar="ID")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
