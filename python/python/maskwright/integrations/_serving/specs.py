"""The grammars that the requests of a server ask for, compiled once each. What the adapters of servers share; knows no
server.

A server names a kind of request and gives a text. `Spec` is that, and the options that change the grammar. `Grammars`
compiles specs for one tokenizer and keeps the ones used last. All of it may be called from any thread.
"""

from __future__ import annotations

import itertools
import json
import re
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from maskwright._maskwright import (
    WorkCancelled,
    CancelToken,
    CompiledGrammar,
    Compiler,
    Error,
    GrammarError,
    LimitError,
    SchemaError,
    Tokenizer,
)
from maskwright.integrations._serving import isolation, lanes, metrics
from maskwright.integrations._serving.log import LOG
from maskwright.integrations._serving.options import GrammarOptions, Kind, Options, Whitespace
from maskwright.integrations._serving.text import LookedUp

if TYPE_CHECKING:
    from maskwright._maskwright import _Limits

_UNTRUSTED_DEPTH = 256


class Spec(NamedTuple):
    """What a request asks for."""

    kind: Kind
    text: str
    """A JSON Schema, a pattern, a JSON list of choices, a grammar, or a structural tag as JSON."""
    options: GrammarOptions = GrammarOptions()
    is_closed: bool = False
    """Whether objects have no other properties than those that a schema names, unless it says otherwise."""


def compiler_of(tokenizer: Tokenizer, options: Options, *, bounds_work: bool = True) -> Compiler:
    """A compiler as the options say. Without `bounds_work`, masks and tokens are given all the work that they need."""
    limits: _Limits = {"compile_work": options.compile_work, "advanced": {"compile_bytes": options.compile_bytes}}
    if bounds_work and options.mask_work is not None:
        limits["mask_work"] = options.mask_work
    return Compiler(tokenizer, limits, threads=options.threads)


class _News(NamedTuple):
    """What operators are told about a grammar."""

    line: str
    counter: str
    labels: dict[str, str] = {}


class _Known:
    """A spec's grammar or error, once it is compiled."""

    def __init__(self) -> None:
        self.made: Future[CompiledGrammar] = Future()
        #: The call that compiles it.
        self.owner: object = None
        self.looked_up = LookedUp()
        #: What is to be logged and counted when a request with a known id asks for it: only one of a server's processes knows the ids.
        self.untold: list[_News] = []


class Grammars:
    """The grammars of one compiler, compiled as `options` say, and the errors of those that cannot be compiled."""

    def __init__(self, compiler: Compiler, options: Options = Options()) -> None:
        self.compiler = compiler
        self.options = options
        self._lock = threading.Lock()
        #: The one used last is at the end. Those who ask for one that is being compiled wait for it.
        self._kept: OrderedDict[Spec, _Known] = OrderedDict()

    def get(self, spec: Spec, request_id: str | None = None) -> CompiledGrammar:
        """The grammar of a spec. If another call is compiling it, waits for that one. The first request with an id that asks for it is named in the log's lines on what is not enforced.

        Raises maskwright.Error, which says where the spec is wrong, also if it was asked for before: a hostile one is compiled once.
        """
        with self._lock:
            known = self._kept.setdefault(spec, _Known())
            self._kept.move_to_end(spec)
            n_more = max(len(self._kept) - self.options.n_kept, 0)
            # None that is being compiled: others may wait for it.
            done = (each for each, old in self._kept.items() if old.made.done())
            for each in list(itertools.islice(done, n_more)):
                del self._kept[each]
            call = lanes.call_here()
            known.owner = known.owner or call
        if known.owner is call and not known.made.done():
            try:
                known.made.set_result(self._compile(spec, known.untold))
            except lanes.Later:
                raise
            except BaseException as error:
                # Anything else says nothing about the spec.
                if not isinstance(error, Error):
                    with self._lock:
                        if self._kept.get(spec) is known:
                            del self._kept[spec]
                known.made.set_exception(error)
        else:
            lanes.wait_for(known.made)
            metrics.count("maskwright_grammar_cache_hits")
        failure = known.made.exception()
        if failure is not None:
            # Otherwise an error that is raised again and again keeps all frames that it went through.
            raise failure.with_traceback(None)
        if request_id is not None:
            with self._lock:
                untold, known.untold = known.untold, []
            for news in untold:
                LOG.warning("request %s: %s", request_id, news.line)
                metrics.count(news.counter, 1, **news.labels)
        return known.made.result()

    def looked_up(self, spec: Spec) -> LookedUp | None:
        """The limits that were looked up for a spec that is compiled; None if it is not."""
        with self._lock:
            known = self._kept.get(spec)
        return None if known is None or not known.made.done() else known.looked_up

    def _compile(self, spec: Spec, untold: list[_News]) -> CompiledGrammar:
        work = lanes.work_here()
        # A list of tools may take several compilations.
        cancel = CancelToken(work=self.options.compile_work if work is None else work)
        start, outcome = time.perf_counter(), "refused"
        try:
            grammar = self._compile_isolated(spec, cancel, untold)
            outcome = "compiled"
        except WorkCancelled:
            if work is not None and work < self.options.compile_work:
                outcome = "put off"
                raise lanes.Later from None
            raise LimitError(
                f"compiling it takes more work than the limit of {self.options.compile_work} units allows: a smaller or less ambiguous one is needed"
            ) from None
        finally:
            metrics.observe("maskwright_compile_seconds", time.perf_counter() - start)
            if outcome != "put off":
                metrics.count("maskwright_compilations", kind=spec.kind, outcome=outcome)
                metrics.set_bytes("maskwright_grammar_bytes", self.compiler.memory_usage())
        return grammar

    def _compile_isolated(self, spec: Spec, cancel: CancelToken, untold: list[_News]) -> CompiledGrammar:
        def compile_text(text: str) -> CompiledGrammar:
            grammar = compile_spec(self.compiler, spec._replace(text=text), cancel)
            if spec.options.unenforced == "refuse" and (missing := _not_enforced(grammar)):
                raise SchemaError(f"not enforced: {missing}")
            return grammar

        if spec.kind in ("json", "structural_tag"):
            grammar, faults = isolation.compile_isolated(compile_text, spec.text, spec.options.on_tool_error)
        else:
            grammar, faults = compile_text(spec.text), []
        # Servers list a tool once for each way to begin its call.
        for tool, fault in {fault.tool: fault for fault in faults}.items():
            untold.append(_News(f"the tool {isolation.shown(tool)} {fault.what}: {one_line(fault.error)}", "maskwright_tools_not_compiled"))
        if missing := _not_enforced(grammar):
            text = spec.text if len(spec.text) <= 200 else spec.text[:200] + "…"
            what = f"{spec.kind} {text}" if self.options.logs_schemas else spec.kind
            said = f"not enforced in the {what}: {missing}"
            untold.append(_News(said, "maskwright_grammars_not_enforced", {"kind": spec.kind}))
        return grammar


def _not_enforced(grammar: CompiledGrammar) -> str:
    missing = [entry for entry in grammar.report if entry.status == "not enforced"]
    tools = ["" if entry.tool is None else f"tool {entry.tool}: " for entry in missing]
    return "; ".join(
        f"{tool}{entry.keyword} at {entry.pointer or 'the root'}: {entry.reason}" for tool, entry in zip(tools, missing, strict=True)
    )


def compile_spec(compiler: Compiler, spec: Spec, cancel: CancelToken | None = None) -> CompiledGrammar:
    """Compiles a spec. Keywords that cannot be enforced are only reported. Strings of grammars and structural tags match the special
    tokens that they name, because servers write them so.

    Raises maskwright.Error, which says where the spec is wrong.
    """
    order, whitespace, numbers = spec.options.property_order, spec.options.whitespace, spec.options.numbers
    if spec.kind == "json":
        schema = _closed(_parse(spec.text)) if spec.is_closed else spec.text
        return compiler.compile_json_schema(
            schema, property_order=order, whitespace=whitespace, numbers=numbers, strict=False, cancel=cancel
        )
    if spec.kind == "json_object":
        return compiler.compile_json_schema({"type": "object"}, whitespace=whitespace, numbers=numbers, cancel=cancel)
    if spec.kind == "regex":
        return _compile_regex(compiler, spec.text, cancel)
    if spec.kind == "choice":
        choices = _parse(spec.text)
        if not isinstance(choices, list) or not all(isinstance(choice, str) for choice in choices):
            raise GrammarError(f"the choices are {spec.text[:200]}, expected a JSON list of strings")
        return compiler.compile_choice(choices, cancel=cancel)
    if spec.kind == "structural_tag":
        return compiler.compile_structural_tag(
            spec.text,
            property_order=order,
            whitespace=whitespace,
            numbers=numbers,
            strict=False,
            special_tokens_in_text=True,
            cancel=cancel,
        )
    if is_gbnf(spec.text):
        return compiler.compile_gbnf(spec.text, special_tokens_in_text=True, cancel=cancel)
    # What clients of llguidance write, whose dialect a client has no other way to name.
    dialect: Literal["lark", "llguidance"] = "llguidance" if re.search(r"^\s*%llguidance\b|%json\b", spec.text) else "lark"
    return compiler.compile_lark(
        spec.text,
        dialect=dialect,
        property_order=order,
        whitespace=whitespace,
        numbers=numbers,
        special_tokens_in_text=True,
        cancel=cancel,
    )


def why_refused(error: Exception) -> str:
    """Why a spec that cannot be compiled is refused, as metrics have it."""
    return "work" if isinstance(error, LimitError) else "grammar"


def one_line(error: Exception) -> str:
    """What an error says, with its place in words: a drawing of it cannot be read in the JSON of an answer. A limit that only the operator
    can raise has the operator's name, and a tool its own.
    """
    said, drawing, _ = str(error).partition("\n   ,-[")
    if drawing and isinstance(error, Error):
        said += f" (line {error.line}, column {error.column})" + (f"\nHelp: {error.hint}" if error.hint else "")
    said = re.sub(r"(, or|:|\nHelp:) raise it with Compiler\(.*\)$", "", said)
    for words, variable in _LIMITS.items():
        said += f"; the server's limit is {variable}" if words in said else ""
    return "; ".join(line for part in (*getattr(error, "__notes__", ()), said) for line in part.splitlines())


#: What errors say of limits, and the operator's variables for those.
_LIMITS = {
    "compiling it takes more work than": "MASKWRIGHT_COMPILE_WORK",
    "compiling it takes more memory than": "MASKWRIGHT_COMPILE_BYTES",
}


def is_gbnf(grammar: str) -> bool:
    """Whether a grammar is in GBNF (`root ::= …`), and not in Lark's language (`start: …`): the first rule says it."""
    for line in grammar.splitlines():
        if re.match(r"\s*[\w-]+\s*::=", line):
            return True
        if re.match(r"\s*[?!]*\w+(\{\w+(\s*,\s*\w+)*\})?(\.-?\d+)?\s*:", line):
            return False
    return "::=" in grammar


def whitespace_of(pattern: str) -> Whitespace:
    """The white space between JSON's tokens that a pattern, such as Outlines takes, stands for.

    Raises GrammarError for a pattern that isn't one of them.
    """
    if pattern == "":
        return "compact"
    blanks = re.fullmatch(r"\\s\*|\[((?:[ \t\n\r]|\\[tnrs])+)\]\*", pattern)
    if blanks is not None and (r"\s" in pattern or re.search(r"\n|\\n", pattern) and " " in pattern):
        return "any"
    raise GrammarError(
        f"whitespace_pattern {pattern!r} is not supported: expected '' for none, r'[ \\t\\n\\r]*' for any, or no pattern "
        "for one space or line feeds with indentation"
    )


def _compile_regex(compiler: Compiler, pattern: str, cancel: CancelToken | None) -> CompiledGrammar:
    """A pattern in Python's dialect, which most clients write, or else in JavaScript's (`(?<name>…)`, `\\p{L}`). Classes
    such as `\\d` are those of ASCII in both: who writes `\\d+` for an amount doesn't want the digits of other scripts.
    """
    try:
        return compiler.compile_regex("(?a)" + pattern, dialect="python", cancel=cancel)
    except GrammarError:
        pass
    try:
        return compiler.compile_regex(pattern, dialect="ecma", cancel=cancel)
    except GrammarError:
        # Says where in the client's own text the fault is.
        return compiler.compile_regex(pattern, dialect="python", cancel=cancel)


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SchemaError(f"not JSON: {error}") from None


#: Keywords whose value is a schema, and keywords whose value is an object or an array of schemas.
_SUBSCHEMAS = frozenset(
    ("additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not", "propertyNames")
    + ("then", "unevaluatedItems", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "prefixItems")
)
_MAPS = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")


def _closed(schema: Any, depth: int = 0) -> Any:
    """The schema with `additionalProperties: false` wherever properties are named and nothing is said about others."""
    if depth > _UNTRUSTED_DEPTH:
        raise SchemaError(f"the schema is nested more than {_UNTRUSTED_DEPTH} levels deep")
    if isinstance(schema, list):
        return [_closed(each, depth + 1) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = dict(schema)
    for keyword, value in schema.items():
        if keyword in _SUBSCHEMAS:
            made[keyword] = _closed(value, depth + 1)
        elif keyword in _MAPS and isinstance(value, dict):
            made[keyword] = {name: _closed(each, depth + 1) for name, each in value.items()}
    if "properties" in schema or "patternProperties" in schema:
        made.setdefault("additionalProperties", False)
    return made
