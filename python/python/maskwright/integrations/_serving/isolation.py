"""One tool that cannot be compiled costs that tool, not the request.

A server turns a request's tools into one structural tag, or into one JSON Schema with a branch for each. Where that does not
compile, each tool in it is compiled alone. Tools that fail are left out, or take any JSON object as arguments.

Only lists that servers write for tools are looked at, so nothing else of a request changes. Costs a compilation for each tool,
once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from maskwright._maskwright import WorkCancelled, CompiledGrammar, Error
from maskwright.integrations._serving.options import OnToolError

#: What stands before a tool's name where a call begins.
_BEFORE_NAME = re.compile(r"""(?:"name": ?"|name="|tool="|function=|functions[.]|invoke name=")(?P<name>[^"<>|\s\\]+)""")

#: The lists of tags in structural tags, by the type of the format that has them.
_LISTS = {"triggered_tags": "tags", "tags_with_separator": "tags", "or": "elements"}

#: Fields that hold the schema of a tool's arguments, in a tag and in a branch.
_SCHEMAS = ("json_schema", "schema", "parameters", "arguments")

#: Stands for the list of tools in a document. No JSON text has it.
_HERE = "\x00tools\x00"


def shown(tool: str) -> str:
    """The name of a tool for messages: in one line, and not long. It comes from a client."""
    return " ".join(tool.split())[:100]


class Fault(NamedTuple):
    """A tool that is left out, or whose arguments are any JSON."""

    tool: str
    what: str
    error: Error


class _Lossy(ValueError):
    """A number would not survive being read and written."""


def compile_isolated(
    compile_text: Callable[[str], CompiledGrammar], text: str, on_error: OnToolError
) -> tuple[CompiledGrammar, list[Fault]]:
    """Compiles a structural tag or a JSON Schema, without the tools that fail alone.

    Raises maskwright.Error if it fails for another reason, or no tool would be left.
    """
    try:
        return compile_text(text), []
    except WorkCancelled:
        raise
    except Error as error:
        made = None if on_error == "raise" else _without_faults(compile_text, text, error, on_error == "any_json")
        if made is None:
            if (tool := _tool_at(text, getattr(error, "pointer", None) or "")) is not None:
                error.add_note(f"the tool {shown(tool)}")
            raise
    return compile_text(made[0]), made[1]


def _tool_at(text: str, pointer: str) -> str | None:
    """The tool whose part of a document has a place; None if it is no tool's."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = _list_of_tools(document, pointer)
    return None if found is None or found.at is None else _name(found.holder[found.key][found.at])


def _without_faults(
    compile_text: Callable[[str], CompiledGrammar], text: str, error: Error, is_loose: bool
) -> tuple[str, list[Fault]] | None:
    """The document without what fails alone in the list of tools where the error is; None if there is nothing to leave out."""
    try:
        document = json.loads(text, parse_float=_number, parse_constant=_number)
    except (ValueError, RecursionError):
        return None
    found = _list_of_tools(document, getattr(error, "pointer", None) or "")
    if found is None:
        return None
    holder, key, _ = found
    tools, holder[key] = holder[key], _HERE
    before, after = json.dumps(document).split(json.dumps(_HERE))

    def fault_of(tool: str) -> Error | None:
        try:
            compile_text(f"{before}[{tool}]{after}")
        except WorkCancelled:
            raise
        except Error as fault:
            return fault
        return None

    kept, faults = [], []
    for tool in tools:
        written = json.dumps(tool)
        fault = fault_of(written)
        if fault is None:
            kept.append(written)
            continue
        loose = json.dumps(_with_any_json(tool))
        is_kept = is_loose and fault_of(loose) is None
        if is_kept:
            kept.append(loose)
        faults.append(Fault(str(_name(tool)), "takes any JSON" if is_kept else "is left out", fault))
    return (f"{before}[{', '.join(kept)}]{after}", faults) if faults and kept else None


def _number(text: str) -> float:
    """A number that is written again as it was given, as a value."""
    number = float(text)
    if Decimal(repr(number)) != Decimal(text) or number in (float("inf"), float("-inf")):
        raise _Lossy(text)
    return number


class _Tools(NamedTuple):
    """A list of tools on the way to a place: the object that has it, the key, and the number of the tool that has the place."""

    holder: dict[str, Any]
    key: str
    at: int | None


def _list_of_tools(document: Any, pointer: str) -> _Tools | None:
    """The outermost list of tools on the way to a place."""
    value = document
    steps = [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
    for n, step in enumerate(steps):
        if isinstance(value, list):
            value = value[int(step)] if step.isdecimal() and int(step) < len(value) else None
        elif isinstance(value, dict):
            if _is_list_of_tools(value, step):
                after = steps[n + 1] if n + 1 < len(steps) else ""
                return _Tools(value, step, int(after) if after.isdecimal() and int(after) < len(value[step]) else None)
            if step in ("json_schema", "schema", "properties"):
                # What is below is a tool's own.
                return None
            value = value.get(step)
        else:
            return None
    return None


def _is_list_of_tools(holder: dict[str, Any], key: str) -> bool:
    tools, kind = holder.get(key), holder.get("type")
    is_known = key in ("structures", "anyOf") or (isinstance(kind, str) and _LISTS.get(kind) == key)
    return is_known and isinstance(tools, list) and all(_name(tool) is not None for tool in tools)


def _name(item: Any) -> str | None:
    """The tool that a tag or a branch is for; None if it is for none."""
    if not isinstance(item, dict):
        return None
    begin = item.get("begin")
    if isinstance(begin, str) and begin:
        match = _BEFORE_NAME.search(begin)
        return match["name"] if match else begin.strip()
    properties = item.get("properties")
    if not isinstance(properties, dict) or not ("parameters" in properties or "arguments" in properties):
        return None
    name = properties.get("name")
    if not isinstance(name, dict):
        return None
    only = name.get("const", name.get("enum"))
    only = only[0] if isinstance(only, list) and len(only) == 1 else only
    return only if isinstance(only, str) else None


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
