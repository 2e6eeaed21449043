"""The argument `indentation` of `compile_lark`: the names of the terminals of indentation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

#: For each key of the dict, the attribute of Lark's `Indenter` with the same meaning, and its value in `PythonIndenter`.
#: Of several names for line ends, the one in the grammar is used.
NAMES: dict[str, tuple[str, Any]] = {
    "newline": ("NL_type", ["_NEWLINE", "_NL"]),
    "indent": ("INDENT_type", "_INDENT"),
    "dedent": ("DEDENT_type", "_DEDENT"),
    "open": ("OPEN_PAREN_types", ["LPAR", "LSQB", "LBRACE"]),
    "close": ("CLOSE_PAREN_types", ["RPAR", "RSQB", "RBRACE"]),
    "tab_len": ("tab_len", 8),
}

#: The greatest width of a tab.
MAX_TAB_LEN = 1000


def names(indentation: object) -> tuple[list[str], str, str, list[str], list[str], int]:
    """The names of line ends, of the start and the end of a block, and of brackets, and the width of a tab.

    `indentation`: "python", a dict, or an object with the attributes of Lark's `Indenter`.
    """
    given: dict[str, object] = {}
    labels = {key: f"indentation[{key!r}]" for key in NAMES}
    if isinstance(indentation, Mapping):
        for key in indentation:
            if key not in NAMES:
                raise ValueError(f"indentation has the key {key!r}, expected one of {_listed(NAMES)}{_meant(key, NAMES)}")
        given = dict(indentation)
    elif indentation != "python":
        attributes = [attribute for attribute, _ in NAMES.values()]
        missing = [attribute for attribute in attributes if not hasattr(indentation, attribute)]
        if len(missing) == len(attributes):
            raise (ValueError if isinstance(indentation, str) else TypeError)(
                f"indentation is {indentation!r}, expected \"python\", a dict with the keys {_listed(NAMES)}, an instance of "
                "Lark's Indenter, or None"
            )
        if missing:
            raise TypeError(f"indentation is {indentation!r}, which lacks {_listed(missing)} of Lark's Indenter")
        given = {key: getattr(indentation, attribute) for key, (attribute, _) in NAMES.items()}
        labels = {key: f"indentation.{attribute}" for key, (attribute, _) in NAMES.items()}
    values = {key: given.get(key, default) for key, (_, default) in NAMES.items()}
    newline = values["newline"]
    return (
        _all_names(newline, labels["newline"]) if newline is NAMES["newline"][1] else [_name(newline, labels["newline"])],
        _name(values["indent"], labels["indent"]),
        _name(values["dedent"], labels["dedent"]),
        _all_names(values["open"], labels["open"]),
        _all_names(values["close"], labels["close"]),
        _tab_len(values["tab_len"], labels["tab_len"]),
    )


def _name(value: object, label: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{label} is {value!r}, expected the name of a terminal")
    if any("\ud800" <= c <= "\udfff" for c in value):
        raise ValueError(f"{label} is {value!r}, which has half of a surrogate pair")
    return value


def _all_names(value: object, label: str) -> list[str]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise TypeError(f"{label} is {value!r}, expected a list of names of terminals")
    return [_name(name, f"an item of {label}") for name in value]


def _tab_len(value: object, label: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{label} is {value!r}, expected a number of spaces")
    if not 1 <= value <= MAX_TAB_LEN:
        raise ValueError(f"{label} is {value}, expected 1 to {MAX_TAB_LEN} spaces")
    return value


def _listed(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)


def _meant(key: object, names: Iterable[str]) -> str:
    near = get_close_matches(str(key), list(names), 1)
    return f"; did you mean {near[0]!r}?" if near else ""
