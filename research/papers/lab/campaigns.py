"""Campaigns in Rust, which write logs of their own."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from lab.paths import ROOT


def run(name: str, log: Path, *arguments: str, fresh: bool = False) -> list[dict[str, Any]]:
    """Runs a campaign, which continues its log, and returns the log's entries.

    Raises:
        CalledProcessError: if the campaign failed, or what it claims does not hold.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    command = ["cargo", "xtask", "experiment", name, "--log", str(log), *arguments]
    environment = {"RAYON_NUM_THREADS": "1"} | os.environ
    subprocess.run([*command, *(["--fresh"] if fresh else [])], cwd=ROOT, check=True, env=environment)
    return entries(log)


def entries(log: Path) -> list[dict[str, Any]]:
    """The entries of a campaign's log."""
    lines = map(json.loads, log.read_text(encoding="utf-8").splitlines())
    return [line["entry"] for line in lines if "entry" in line]
