"""Compiles every built-in structural tag of the installed xgrammar.

    python builtin_tags.py

Run by `cargo xtask hosts xgrammar`. xgrammar writes a structural tag for a family of models, a list of tools and some
options. This script asks it for each registered family, with all options and with tools of many kinds, and compiles what
it gets. It fails if a tag does not compile here and does in xgrammar, and if xgrammar has an option that `OPTIONS` does
not know.
"""

import inspect
import itertools
import json
import sys
import tempfile
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import maskwright
import xgrammar
from structural_tag_cases import make_tokenizer
from xgrammar import builtin_structural_tag

#: The values of each option. An option that the installed version does not have is left out.
OPTIONS = {
    "reasoning": [True, False, "auto"],
    "force_reasoning": [False, True],
    "any_order": [False, True],
    "exclude_special_tokens": [True, False],
    "max_whitespace_cnt": [None, 2],
    "parallel_tool_calls": [True, False],
}
#: Parameters that are no options: `requests` varies the last two.
OTHERS = {"model", "tools", "tool_choice"}


def function(name, parameters=None, **more):
    """A function as a tool."""
    given = {} if parameters is None else {"parameters": parameters}
    return {"type": "function", "function": {"name": name, **given, **more}}


def closed(properties, **more):
    """A schema of objects that OpenAI's strict mode takes."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False, **more}


WEATHER = {
    "type": "object",
    "properties": {
        "city": {"type": "string", "description": "a town"},
        "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
        "days": {"type": "integer", "minimum": 1, "maximum": 14},
        "hourly": {"type": "boolean"},
    },
    "required": ["city"],
}
TAGS = {"type": "array", "items": {"type": "string"}}
PLACE = closed({"lat": {"type": "number"}, "tags": TAGS, "near": {"$ref": "#/$defs/near"}})
NEAR = {"$defs": {"near": {"anyOf": [closed({"name": {"type": "string"}}), {"type": "null"}]}}}
TREE = closed({"value": {"type": "string"}, "children": {"type": "array", "items": {"$ref": "#"}}})
OPEN = {
    "type": "object",
    "properties": {"id": {"type": "string", "pattern": "^[a-z]{2}-[0-9]+$"}, "when": {"type": "string", "format": "date"}},
    "additionalProperties": {"type": ["string", "integer"]},
}
LENGTHS = closed({"title": {"type": "string", "maxLength": 20}, "const": {"const": "a b"}, "any": {}})

PLAIN = function("get_weather", WEATHER, description="the weather")
NESTED = function("find_place", closed({"place": PLACE, "count": {"type": ["integer", "null"]}}, **NEAR), strict=True)
RECURSIVE = function("store-tree", TREE, strict=True)
LOOSE = function("run", WEATHER, strict=False)
BARE = function("ping")
EMPTY = function("now", {"type": "object", "properties": {}})
SEARCH = {"type": "web_search_preview", "name": "browser.search", "parameters": closed({"query": {"type": "string"}})}
PYTHON = {"type": "python"}

TOOLS = {
    "none": [],
    "one": [PLAIN],
    "nested": [NESTED, PLAIN],
    "recursive": [RECURSIVE, EMPTY],
    "loose": [LOOSE, PLAIN],
    "no parameters": [BARE, NESTED],
    "open": [function("note", OPEN), function("draft", LENGTHS)],
    "built in": [SEARCH],
    "built in without parameters": [PYTHON, PLAIN],
    "many": [PLAIN, NESTED, RECURSIVE, LOOSE, BARE, EMPTY, SEARCH, PYTHON],
}


def choices(tools):
    """Each way to say which of the tools may be called, or must be."""
    yield from ["auto", None, "none"]
    if not tools:
        return
    yield "required"
    references = []
    for tool in tools:
        name = {"function": {"name": tool["function"]["name"]}} if "function" in tool else {}
        references.append({"type": tool["type"], **name})
    yield from [references[0], references[-1]]
    for mode in ["auto", "required"]:
        yield {"type": "allowed_tools", "allowed_tools": {"mode": mode, "tools": references[:2]}}


def requests(options):
    """The arguments of all calls, but for the family."""
    for tools in TOOLS.values():
        for choice in choices(tools):
            for values in itertools.product(*options.values()):
                yield {"tools": tools, "tool_choice": choice, **dict(zip(options, values, strict=True))}


def compiles_there(tag):
    """Whether xgrammar compiles a tag that it wrote."""
    try:
        xgrammar.Grammar.from_structural_tag(tag)
    except Exception:  # Its bindings raise several kinds, some of the C++ library's own.
        return False
    return True


class Family:
    """The tags of one family of models, each compiled once."""

    def __init__(self, model):
        self.model = model
        self.counts = Counter()
        self.seen = set()
        #: For each error how many tags have it, and the arguments of the first.
        self.errors = {}
        #: The values of options with which a tag was written.
        self.used = set()

    def compile_all(self, options, compiler):
        for request in requests(options):
            try:
                tag = builtin_structural_tag.get_model_structural_tag(self.model, **request).model_dump_json()
            except (ValueError, AssertionError):  # Such as a built-in tool for a family that has none.
                self.counts["not written"] += 1
                continue
            self.used |= {(name, request[name]) for name in options}
            if tag not in self.seen:
                self.seen.add(tag)
                self.compile(tag, request, compiler)

    def compile(self, tag, request, compiler):
        try:
            compiler.compile_structural_tag(tag, whitespace="any", numbers="any")
            self.counts["compiled"] += 1
        except maskwright.Error as error:
            if compiles_there(tag):
                self.counts["refused"] += 1
                count, first = self.errors.get(str(error), (0, request))
                self.errors[str(error)] = (count + 1, first)
            else:
                self.counts["refused there too"] += 1

    def failures(self, options):
        """What is wrong with the family, in words."""
        for error, (count, request) in self.errors.items():
            yield f"{self.model}: {count} tags: {error}\n    the first: {json.dumps(request)}"
        if not self.counts["compiled"]:
            yield f"{self.model}: no tag compiles"
        for name, values in options.items():
            for value in values:
                if (name, value) not in self.used:
                    yield f"{self.model}: xgrammar writes no tag with {name}={value!r}"


def main():
    known = set(inspect.signature(builtin_structural_tag.get_model_structural_tag).parameters)
    failures = [f"{name} is an option that OPTIONS does not know" for name in sorted(known - set(OPTIONS) - OTHERS)]
    options = {name: values for name, values in OPTIONS.items() if name in known}
    print(f"built-in structural tags of xgrammar {version('xgrammar')}, with {', '.join(options)}")
    warnings.simplefilter("ignore", DeprecationWarning)
    warnings.simplefilter("ignore", maskwright.SchemaWarning)
    with tempfile.TemporaryDirectory() as folder:
        compiler = maskwright.Compiler(make_tokenizer(folder))
    n_compiled = 0
    for model in builtin_structural_tag._structural_tag_registry:
        family = Family(model)
        family.compile_all(options, compiler)
        failures += family.failures(options)
        n_compiled += family.counts["compiled"]
        print(f"  {model:15}", ", ".join(f"{count} {what}" for what, count in sorted(family.counts.items())))
    for failure in failures:
        print(failure)
    print(f"{n_compiled} built-in tags compiled, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
