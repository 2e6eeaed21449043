"""Logs of runs: lines of JSON, appended as results come, so that a run that was stopped continues."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


class Log:
    """The results of one experiment so far, each with a key.

    The first line holds the settings. A log made with other settings is started anew.
    """

    def __init__(self, path: Path, settings: dict[str, Any], fresh: bool = False) -> None:
        self.path = path
        self.entries: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        head = json.dumps({"settings": settings}, sort_keys=True)
        lines = path.read_text(encoding="utf-8").split("\n") if path.exists() and not fresh else []
        if lines and lines[0] == head:
            # A line that was cut off when the run was stopped has no end and is written again.
            for line in lines[1:-1]:
                entry = json.loads(line)
                self.entries[entry["key"]] = entry
            text = "\n".join(lines[:-1]) + "\n"
        else:
            text = head + "\n"
        path.write_text(text, encoding="utf-8")

    def __contains__(self, key: str) -> bool:
        return key in self.entries

    def append(self, key: str, entry: dict[str, Any]) -> None:
        """Adds the result of `key`, on disk at once."""
        entry = {"key": key} | entry
        self.entries[key] = entry
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=False) + "\n")
