"""Which tools cannot be enforced in which format of calls.

`run.py` looks at one format, in which a call is one JSON object. Others write arguments in tags, or have text beside
calls, and enforce less. Here each tool is compiled alone in every format.
"""

from __future__ import annotations

import collections
import re
import warnings
from typing import Any

import maskwright


def survey(compiler: maskwright.Compiler, sources: dict[str, list[Any]]) -> dict[str, Any]:
    """The number of refused tools by format, and by reason (without names and places), with one example each."""
    refused: dict[str, int] = {}
    reasons: collections.Counter[str] = collections.Counter()
    examples: dict[str, str] = {}
    for format in maskwright.tool_formats():
        refused[format] = 0
        for source, tools in sources.items():
            for tool in tools:
                message = _message(compiler, tool, format)
                if message is None:
                    continue
                refused[format] += 1
                reason = _reason(message, format)
                reasons[reason] += 1
                examples.setdefault(reason, f"{source}, {format}: {message}")
    return {"refused": refused, "reasons": [[reason, count, examples[reason]] for reason, count in reasons.most_common()]}


def _message(compiler: maskwright.Compiler, tool: Any, format: str) -> str | None:
    """The error of compiling one tool, on one line; None if it can be enforced."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compiler.compile_tool_calls([tool], format=format, tool_choice="required", property_order="any")
        except maskwright.Error as error:
            return str(error).split("\n")[0]
    return None


def _reason(message: str, format: str) -> str:
    """What is said of the fault, without names and places."""
    said = re.sub(r"^.*? at /\S*: ", "", message)
    return re.sub(r'in the style \w+|"[^"]*"', "…", said).strip()
