"""Why a server may read a text otherwise than the independent parser, each reason with a check.

Most are marks of the format within strings or text: a parser that looks for marks before it reads JSON is misled by them. The check
overwrites these marks, and then the server must agree.
"""

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tool_parsers import FAMILIES


class Difference(NamedTuple):
    """A text that a server reads otherwise."""

    server: str
    family: str
    #: The text after the reasoning.
    text: str
    #: Where the model's own text and values are, and whether they are JSON.
    spans: list[tuple[int, int, bool]]
    wanted: list[tuple[str, Any]]
    found: list[tuple[str, Any]]
    failure: str | None
    request: Any
    #: Whether the server agrees about another text.
    agrees: Callable[[str], bool]


def overwrite(difference, pattern):
    """The text with an `x` for each character of the pattern's matches within strings and text; None if there are none."""
    text, n_changes = list(difference.text), 0
    for start, end, is_json in difference.spans:
        parts = [(start, end)]
        if is_json:
            strings = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL).finditer(difference.text, start, end)
            parts = [string.span(1) for string in strings]
        for low, high in parts:
            for found in re.compile(pattern).finditer(difference.text, low, high):
                text[found.start() : found.end()] = "x" * (found.end() - found.start())
                n_changes += 1
    return "".join(text) if n_changes else None


def marks_of(difference):
    """A pattern for the family's marks and halves of them."""
    marks = sorted({mark.strip() for mark in FAMILIES[difference.family].marks} - {""}, key=len, reverse=True)
    return "|".join(map(re.escape, marks))


def marks_mislead(difference):
    changed = overwrite(difference, marks_of(difference))
    return changed is not None and difference.agrees(changed)


#: Reasons, the first that holds counts: what is different, in which servers, in which families, and the check.
REASONS: list[tuple[str, tuple[str, ...], tuple[str, ...] | None, Callable[[Difference], bool]]] = [
    ("a mark of the format within a string or text misleads the server's parser", ("vllm", "sglang"), None, marks_mislead),
]


def explain(difference):
    """The reason for a difference, or None."""
    for reason, servers, families, holds in REASONS:
        if difference.server in servers and (families is None or difference.family in families) and holds(difference):
            return reason
    return None
