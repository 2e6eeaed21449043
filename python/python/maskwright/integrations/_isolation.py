"""One tool that cannot be compiled costs that tool, not the request.

A server turns a request's tools into one structural tag, or into one JSON Schema with a branch for each. Where that does not
compile, the tools in it are compiled one by one. Those that fail are left out, or take any JSON object as arguments.
"""

from __future__ import annotations

import copy
import json
import os
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from maskwright._maskwright import CancelledError, CompiledGrammar, Error

#: What becomes of a tool that cannot be compiled: `raise` (the request fails), `leave_out` or `any_json`.
SWITCH = "MASKWRIGHT_ON_TOOL_ERROR"

_WAYS = ("raise", "leave_out", "any_json")

#: What stands before a tool's name where a call begins.
_BEFORE_NAME = re.compile(r"""(?:"name": ?"|name="|tool="|function=|functions[.]|invoke name=")(?P<name>[^"<>|\s\\]+)""")

#: Fields that hold the schema of a tool's arguments.
_SCHEMAS = ("json_schema", "schema", "parameters", "arguments")

#: How many lists of tools are searched in one request.
_MAX_LISTS = 8


class Fault(NamedTuple):
    """A tool that is left out, or whose arguments are any JSON."""

    tool: str
    what: str
    error: Error


def way() -> str:
    """What the environment asks for.

    Raises ValueError if that is none of the ways.
    """
    asked = os.environ.get(SWITCH, "raise")
    if asked not in _WAYS:
        raise ValueError(f"{SWITCH} is {asked!r}, expected one of {', '.join(_WAYS)}")
    return asked


def compile_isolated(
    compile_text: Callable[[str], CompiledGrammar], text: str, on_error: str
) -> tuple[CompiledGrammar, list[Fault]]:
    """Compiles a structural tag or a JSON Schema, without the tools that fail alone.

    Raises maskwright.Error if it fails for another reason, or no tool would be left.
    """
    faults: list[Fault] = []
    for _ in range(_MAX_LISTS):
        try:
            return compile_text(text), faults
        except CancelledError:
            raise
        except Error as error:
            if on_error == "raise":
                raise
            made = _without_faults(compile_text, text, error, on_error, faults)
            if made is None:
                raise
            text = made
    return compile_text(text), faults


def _without_faults(
    compile_text: Callable[[str], CompiledGrammar], text: str, error: Error, on_error: str, faults: list[Fault]
) -> str | None:
    """The document without what fails alone in the list of tools where the error is; None if there is nothing to leave out."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    place = _list_of_tools(document, getattr(error, "pointer", None) or "")
    if place is None:
        return None
    kept, found = [], False
    for tool in _at(document, place):
        try:
            compile_text(_with_list(document, place, [tool]))
            kept.append(tool)
            continue
        except CancelledError:
            raise
        except Error as alone:
            fault = alone
        found = True
        loose = _with_any_json(tool) if on_error == "any_json" else None
        if loose is not None:
            try:
                compile_text(_with_list(document, place, [loose]))
                kept.append(loose)
                faults.append(Fault(str(_name(tool)), "takes any JSON", fault))
                continue
            except CancelledError:
                raise
            except Error:
                pass
        faults.append(Fault(str(_name(tool)), "is left out", fault))
    return _with_list(document, place, kept) if found and kept else None


def _list_of_tools(document: Any, pointer: str) -> list[str] | None:
    """The path of the innermost list of tools on the way to a place."""
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    found, value = None, document
    for n_steps, step in enumerate(steps):
        if isinstance(value, list):
            item = value[int(step)] if step.isdigit() and int(step) < len(value) else None
            if _name(item) is not None and len(value) > 1:
                found = steps[:n_steps]
            value = item
        else:
            value = value.get(step) if isinstance(value, dict) else None
    return found


def _name(item: Any) -> str | None:
    """The tool that a part of the document is for; None if it is for none."""
    if not isinstance(item, dict):
        return None
    begin = item.get("begin")
    if isinstance(begin, str) and begin:
        match = _BEFORE_NAME.search(begin)
        return match["name"] if match else begin.strip()
    properties = item.get("properties")
    name = properties.get("name") if isinstance(properties, dict) else None
    if isinstance(name, dict):
        only = name.get("const", name.get("enum"))
        only = only[0] if isinstance(only, list) and len(only) == 1 else only
        return only if isinstance(only, str) else None
    return None


def _with_any_json(tool: Any) -> Any:
    """A tool whose arguments are any JSON object."""
    if isinstance(tool, list):
        return [_with_any_json(each) for each in tool]
    if not isinstance(tool, dict):
        return tool
    made = {}
    for field, value in tool.items():
        is_schema = field in _SCHEMAS and isinstance(value, (dict, bool))
        made[field] = {"type": "object"} if is_schema else _with_any_json(value)
    return made


def _at(document: Any, path: list[str]) -> Any:
    for step in path:
        document = document[int(step)] if isinstance(document, list) else document[step]
    return document


def _with_list(document: Any, path: list[str], tools: list[Any]) -> str:
    made = copy.deepcopy(document)
    _at(made, path)[:] = tools
    return json.dumps(made)
