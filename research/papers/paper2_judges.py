"""What judges the texts of `paper2_texts`, and how unconstrained texts are prepared for it.

The judge is the script of the campaign `programs`: Python's own parser, and sqlite's. The grammar has the syntax of
Python 3.12, so the judge needs that version or a later one. The path is searched for it; `MASKWRIGHT_JUDGE_PYTHON`
names another one.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from lab.paths import ROOT

SCRIPT = ROOT / "research" / "campaigns" / "src" / "programs" / "judge.py"
LEAST_PYTHON = (3, 12)
NAMES = ("python3.14", "python3.13", "python3.12", "python3")

#: Where the answer to a prompt for one function ends, by the custom of HumanEval (Chen et al. 2021).
STOPS = {"python": ("\nclass", "\ndef", "\n#", "\nif", "\nprint"), "sql": ("\n\n", "\n--")}
_FENCED = re.compile(r"```\w*\n(.*?)(?:\n```|\Z)", re.DOTALL)


def judge(texts: Sequence[tuple[str, str]]) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The versions of Python and sqlite, and for each language and text a verdict.

    A wrong text has an `objection`. The verdict on a right one is empty, or names what in it is `beyond` sqlite. Such a
    text is right once this is written in sqlite's words.
    """
    command = [interpreter(), str(SCRIPT)]
    done = subprocess.run(command, input=json.dumps(texts), stdout=subprocess.PIPE, text=True, check=True)
    answer = json.loads(done.stdout)
    return answer["versions"], answer["verdicts"]


@cache
def interpreter() -> str:
    given = os.environ.get("MASKWRIGHT_JUDGE_PYTHON")
    for name in [given] if given else [sys.executable, *filter(None, map(shutil.which, NAMES))]:
        program = f"import sys; print(sys.version_info >= {LEAST_PYTHON})"
        done = subprocess.run([name, "-c", program], capture_output=True, text=True, check=False)
        if done.stdout.strip() == "True":
            return name
    raise SystemExit("the judge needs Python 3.12 or later: set MASKWRIGHT_JUDGE_PYTHON to one")


def without_fence(front: str, text: str) -> str:
    """The code in a Markdown text: up to the closing fence if it begins with code, otherwise the first block."""
    if front:
        return text.partition("\n```")[0] + "\n"
    found = _FENCED.search(text)
    return found[1] + "\n" if found else text


def cut(language: str, front: str, text: str) -> str:
    """The text up to the end of the answer: where the next definition or query begins, or a query's semicolon."""
    body = text[len(front) :] if text.startswith(front) else text.lstrip()
    ends = [place for stop in STOPS[language] if (place := body.find(stop)) >= 0]
    if language == "sql" and ";" in body:
        ends.append(body.index(";"))
    return (front if text.startswith(front) else "") + body[: min(ends, default=len(body))] + "\n"
