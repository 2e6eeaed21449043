"""Writes the tables of `docs/papers.md` and README.md from the published results.

A table stands between `<!-- results: NAME.TABLE -->` and `<!-- end of results -->`. NAME is an experiment, and TABLE a key of
what its `tables` returns.
"""

from __future__ import annotations

import importlib
import re

from lab.paths import ROOT
from lab.results import Result

PAGES = ("docs/papers.md", "README.md")
_BLOCK = re.compile(r"(<!-- results: (\w+)\.(\w+) -->\n).*?(<!-- end of results -->)", re.DOTALL)


def rendered(text: str) -> str:
    """A page with its tables as the published results have them."""
    tables: dict[str, dict[str, str]] = {}

    def block(match: re.Match[str]) -> str:
        name, table = match[2], match[3]
        if name not in tables:
            tables[name] = importlib.import_module(name).tables(Result.published(name))
        return f"{match[1]}\n{tables[name][table]}\n\n{match[4]}"

    return _BLOCK.sub(block, text)


def write() -> None:
    for name in PAGES:
        path = ROOT / name
        if path.exists():
            path.write_text(rendered(path.read_text(encoding="utf-8")), encoding="utf-8")
