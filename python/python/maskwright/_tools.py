"""Tools and the choice among them, as `Compiler.compile_tool_calls` takes them."""

from __future__ import annotations

import collections.abc
import json
import os
import re
from typing import TYPE_CHECKING, Any

from maskwright._maskwright import GrammarError, formats_of_template, template_opens_reasoning, tool_formats
from maskwright._types import compiled_schema, name_of

if TYPE_CHECKING:
    from maskwright._maskwright import Tokenizer


def request(tools: object, choice: object) -> tuple[object, str]:
    """The tools as JSON text or a path, and the choice as a word, a name or JSON."""
    return _tools(tools), _choice(choice)


def _tools(tools: object) -> object:
    if isinstance(tools, (str, os.PathLike)):
        return tools
    if isinstance(tools, collections.abc.Mapping):
        return _dumped(dict(tools))
    if not isinstance(tools, collections.abc.Iterable):
        raise TypeError(f"expected a list of tools, their JSON text or a path, not {type(tools).__name__}")
    return _dumped([_tool(tool) for tool in tools])


def _tool(tool: Any) -> object:
    """A dict as it is, and a type or a function as a tool of its name."""
    if isinstance(tool, collections.abc.Mapping):
        return dict(tool)
    dump = getattr(tool, "model_dump", None)
    if dump is not None and not isinstance(tool, type):
        # A tool of MCP or of a server, as an object.
        return dump(mode="json", by_alias=True, exclude_none=True)
    if isinstance(tool, type) or callable(tool):
        schema, _ = compiled_schema(tool)
        return {"name": getattr(tool, "__name__", None) or name_of(tool), "parameters": schema}
    raise TypeError(f"expected a tool as a dict, a Pydantic model or a function, not {type(tool).__name__}")


def _choice(choice: object) -> str:
    if choice is None:
        return "auto"
    if isinstance(choice, str):
        return choice
    if isinstance(choice, collections.abc.Mapping):
        return _dumped(dict(choice))
    dump = getattr(choice, "model_dump", None)
    if dump is not None and not isinstance(choice, type):
        return _dumped(dump(mode="json", by_alias=True, exclude_none=True))
    name = getattr(choice, "__name__", None)
    if name is not None:
        return str(name)
    raise TypeError(f"expected tool_choice as a str or a dict, not {type(choice).__name__}")


def _dumped(value: Any) -> str:
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise GrammarError(f"the tools are no JSON: {error}") from None


def reasoning(given: object, format: str, tokenizer: Tokenizer) -> str:
    """When the model reasons: "never", "always", "auto" or "open"."""
    if given is None or given is False:
        return "never"
    if given is True:
        template = tokenizer.chat_template
        return "open" if template is not None and template_opens_reasoning(format, template) else "always"
    if given in ("auto", "open"):
        return str(given)
    raise ValueError(f'reasoning is {given!r}, expected False, True, "auto" or "open"')


def template(given: object) -> str | None:
    """The chat template of a tokenizer of `transformers`; that for tools, if there are several."""
    if isinstance(given, str):
        return given
    if isinstance(given, collections.abc.Mapping):
        for name in ("tool_use", "default"):
            if isinstance(given.get(name), str):
                return str(given[name])
    return None


def format_of(tokenizer: Tokenizer) -> str:
    """The format of a tokenizer's chat template."""
    template = tokenizer.chat_template
    known = ", ".join(tool_formats())
    if template is None:
        raise GrammarError(f"the tokenizer has no chat template to find the format by: pass format=, one of {known}")
    fitting = formats_of_template(template)
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        why = "is of no known format" if re.search(r"\btools\b", template) else "has no tools, so it tells no format"
        raise GrammarError(f"the tokenizer's chat template {why}: pass format=, one of {known}")
    raise GrammarError(f"the tokenizer's chat template fits several formats: pass format=, one of {', '.join(fitting)}")
