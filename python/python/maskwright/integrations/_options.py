"""What an operator sets for a server, by environment variables. Knows no server.

The table of them is in docs/guides/operating.md. A variable with a wrong value stops the server while it starts, with a message that
names the variable: a server that goes on with another value than its operator meant is worse.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal, NamedTuple, TypeVar, cast

PropertyOrder = Literal["schema", "any"]
Whitespace = Literal["flexible", "compact", "any"]
Numbers = Literal["plain", "any"]
Unenforced = Literal["log", "refuse"]

_T = TypeVar("_T", int, float)

#: Stands for no limit.
NONE = "none"


class Options(NamedTuple):
    """See `read`."""

    mask_work: int | None = 400_000
    """The work units of one mask: some 10 ms. A step of a server waits for the masks of all its sequences."""
    compile_seconds: float = 5.0
    """How long a compilation may take. The compiler's own limits count work, and hold first for most grammars."""
    n_kept: int = 512
    """How many grammars are kept, and errors of those that cannot be compiled. Their tables share the compiler's memory limit."""
    threads: int | None = None
    """How many threads fill masks; None for the compiler's own choice."""
    property_order: PropertyOrder = "schema"
    whitespace: Whitespace = "flexible"
    """Where a request does not say."""
    numbers: Numbers = "plain"
    unenforced: Unenforced = "log"
    """What becomes of a request with a keyword that cannot be enforced."""


def read(environment: Mapping[str, str] = os.environ) -> Options:
    """The options that the environment sets.

    Raises ValueError for a value that is none, which names the variable.
    """
    default = Options()
    return Options(
        mask_work=_number(environment, "MASKWRIGHT_MASK_WORK", default.mask_work, 0, can_be_none=True),
        compile_seconds=_number(environment, "MASKWRIGHT_COMPILE_SECONDS", default.compile_seconds, 0.01) or 0.0,
        n_kept=_number(environment, "MASKWRIGHT_GRAMMARS", default.n_kept, 1) or 1,
        threads=_number(environment, "MASKWRIGHT_THREADS", default.threads, 1),
        property_order=cast(
            "PropertyOrder", _choice(environment, "MASKWRIGHT_PROPERTY_ORDER", default.property_order, ("schema", "any"))
        ),
        whitespace=cast(
            "Whitespace", _choice(environment, "MASKWRIGHT_WHITESPACE", default.whitespace, ("flexible", "compact", "any"))
        ),
        numbers=cast("Numbers", _choice(environment, "MASKWRIGHT_NUMBERS", default.numbers, ("plain", "any"))),
        unenforced=cast("Unenforced", _choice(environment, "MASKWRIGHT_UNENFORCED", default.unenforced, ("log", "refuse"))),
    )


def _number(
    environment: Mapping[str, str], variable: str, default: _T | None, least: _T, *, can_be_none: bool = False
) -> _T | None:
    given = environment.get(variable, "").strip()
    if not given:
        return default
    if can_be_none and given.lower() == NONE:
        return None
    try:
        number = type(least)(given)
    except ValueError:
        number = None
    # A number that is none is not at least anything.
    if number is None or not least <= number < float("inf"):
        what = "a whole number" if isinstance(least, int) else "a number"
        raise ValueError(f"{variable} is {given!r}, expected {what} of at least {least}" + (f", or {NONE}" if can_be_none else ""))
    return number


def _choice(environment: Mapping[str, str], variable: str, default: str, choices: tuple[str, ...]) -> str:
    given = environment.get(variable, "").strip() or default
    if given not in choices:
        raise ValueError(f"{variable} is {given!r}, expected one of {', '.join(choices)}")
    return given
