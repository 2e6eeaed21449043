"""Folders and data files."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
#: Published results, one file for each experiment.
RESULTS = ROOT / "docs" / "results"
#: Logs of runs, which a run continues.
LOGS = ROOT / "target" / "papers-logs"


def shared() -> Path:
    """The folder with papers' data, tokenizers and benchmarks, which is not part of the repository."""
    folder = Path(os.environ.get("MASKWRIGHT_SHARED", ROOT.parent / "shared"))
    if not folder.is_dir():
        raise SystemExit(f"{folder} is not there: set MASKWRIGHT_SHARED to the folder with the data")
    return folder


def data(name: str) -> Path:
    return shared() / "data" / name


def tokenizer_file(name: str) -> Path:
    return shared() / "tokenizers" / name / "tokenizer.json"
