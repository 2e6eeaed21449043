"""What an operator sets for a server, by environment variables. Knows no server.

The table of them is in docs/guides/operating.md. A variable with a wrong value stops the server while it starts, with a message that
names the variable: a server that goes on with another value than its operator meant is worse.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, get_args

PropertyOrder = Literal["schema", "any"]
Whitespace = Literal["flexible", "compact", "any"]
Numbers = Literal["plain", "any"]
Unenforced = Literal["log", "refuse"]
OnToolError = Literal["raise", "leave_out", "any_json"]


class Options(NamedTuple):
    """See `read`."""

    mask_work: int | None = 400_000
    """The work units of one mask: some 10 ms. A step of a server waits for the masks of all its sequences. None for no limit."""
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
    on_tool_error: OnToolError = "raise"
    """What becomes of a tool that cannot be compiled."""


def read(environment: Mapping[str, str] = os.environ) -> Options:
    """The options that the environment sets; a variable without text sets nothing.

    Raises ValueError for a value that is none, which names the variable.
    """
    options: dict[str, Any] = {}
    for field, (variable, read_value, expected) in _VARIABLES.items():
        given = environment.get(variable, "").strip()
        if given:
            try:
                options[field] = read_value(given)
            except ValueError:
                raise ValueError(f"{variable} is {given!r}, expected {expected}") from None
    return Options(**options)


def _at_least(kind: Callable[[str], Any], least: float) -> Callable[[str], Any]:
    """Reads a number; ValueError if it is less than `least`, infinite or none."""

    def read_number(given: str) -> Any:
        number = kind(given)
        if not least <= number < float("inf"):
            raise ValueError
        return number

    return read_number


def _or_none(given: str) -> int | None:
    return None if given.lower() == "none" else int(_at_least(int, 0)(given))


def _one_of(choices: Any) -> tuple[Callable[[str], str], str]:
    """Reads one of the texts of a `Literal`, and says what is expected."""
    names = get_args(choices)
    return lambda given: str(names[names.index(given)]), f"one of {', '.join(names)}"


#: By option, its variable, how its value is read, and what is expected.
_VARIABLES: dict[str, tuple[str, Callable[[str], Any], str]] = {
    "mask_work": ("MASKWRIGHT_MASK_WORK", _or_none, "a whole number of at least 0, or none"),
    "compile_seconds": ("MASKWRIGHT_COMPILE_SECONDS", _at_least(float, 0.01), "a number of at least 0.01"),
    "n_kept": ("MASKWRIGHT_GRAMMARS", _at_least(int, 1), "a whole number of at least 1"),
    "threads": ("MASKWRIGHT_THREADS", _at_least(int, 1), "a whole number of at least 1"),
    "property_order": ("MASKWRIGHT_PROPERTY_ORDER", *_one_of(PropertyOrder)),
    "whitespace": ("MASKWRIGHT_WHITESPACE", *_one_of(Whitespace)),
    "numbers": ("MASKWRIGHT_NUMBERS", *_one_of(Numbers)),
    "unenforced": ("MASKWRIGHT_UNENFORCED", *_one_of(Unenforced)),
    "on_tool_error": ("MASKWRIGHT_ON_TOOL_ERROR", *_one_of(OnToolError)),
}
