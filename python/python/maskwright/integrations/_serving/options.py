"""What an operator sets for a server by environment variables, and a client for its request. Knows no server.

The table of them is in docs/guides/operating.md. A variable with a wrong value stops the server while it starts, with a message that
names the variable: a server that goes on with another value than its operator meant is worse. A request with a wrong option is refused.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args

#: What a request can ask for.
Kind = Literal["json", "json_object", "regex", "choice", "grammar", "structural_tag"]
PropertyOrder = Literal["schema", "any"]
Whitespace = Literal["flexible", "compact", "any"]
Numbers = Literal["plain", "any"]
Unenforced = Literal["log", "refuse"]
OnToolError = Literal["raise", "leave_out", "any_json"]
Spelling = Literal["any", "canonical"]


class GrammarOptions(NamedTuple):
    """What changes the grammar of a request."""

    property_order: PropertyOrder = "schema"
    whitespace: Whitespace = "flexible"
    """Where the request's own way to ask for it does not say."""
    numbers: Numbers = "plain"
    unenforced: Unenforced = "log"
    """What becomes of a request with a keyword that cannot be enforced."""
    on_tool_error: OnToolError = "raise"
    """What becomes of a tool that cannot be compiled."""


class Options(NamedTuple):
    """See `read`."""

    mask_work: int | None = 400_000
    """The work units of one mask: some 8 ms. A step of a server waits for the masks of all its sequences. None for no limit."""
    compile_work: int = 16_000_000
    """The work units of one compilation: less than 2 s."""
    compile_bytes: int = 192 << 20
    """The bytes of one compilation."""
    n_long: int | None = None
    """How many compilations that take more than some 50 ms run at a time. None for one for each eight cores, and at least one."""
    n_kept: int = 512
    """How many grammars are kept, and errors of those that cannot be compiled. Their tables share the compiler's memory limit."""
    logs_schemas: bool = False
    """Whether lines of the log may have schemas."""
    threads: int | None = None
    """How many threads fill masks; None for the compiler's own choice."""
    n_drafting: int | None = None
    """At most how many requests there are while forced tokens are drafted. None for as many as were measured to be faster for it."""
    has_limit: bool = True
    """Whether texts are complete within the request's limit on tokens."""
    spelling: Spelling = "any"
    """Whether forced text may be spelled with any tokens, or only as the tokenizer does."""
    grammar: GrammarOptions = GrammarOptions()

    def for_request(self, given: Mapping[str, Any] | None) -> Options:
        """These options, changed by a request's own, whose names are those of the variables in lower case. Other names are the host's.

        Raises ValueError for a wrong value, for an option that a request cannot set, and for a name that no option has.
        """
        if given is not None and not isinstance(given, Mapping):
            raise ValueError(f"the options of a request are {given!r}, expected an object")
        own = {name: value for name, value in (given or {}).items() if name.startswith("maskwright_")}
        if unknown := own.keys() - _REQUEST_NAMES.keys():
            raise ValueError(f"{min(unknown)} is no option of a request; those are {', '.join(_REQUEST_NAMES)}")
        chosen = self._with({_REQUEST_NAMES[name]: (name, value) for name, value in own.items()})
        if self.grammar.unenforced == "refuse" != chosen.grammar.unenforced:
            raise ValueError(f"maskwright_unenforced is {chosen.grammar.unenforced!r}, but this server refuses keywords that it cannot enforce")
        return chosen

    def _with(self, given: Mapping[str, tuple[str, Any]]) -> Options:
        """The options with values, each given with the name that errors have."""
        changed: dict[str, Any] = {}
        for field, (name, value) in given.items():
            _, read_value, expected = _VARIABLES[field]
            try:
                changed[field] = read_value(str(value).strip())
            except ValueError:
                raise ValueError(f"{name} is {value!r}, expected {expected}") from None
        of_grammar = {field: changed.pop(field) for field in GrammarOptions._fields if field in changed}
        return self._replace(grammar=self.grammar._replace(**of_grammar), **changed)


def read(environment: Mapping[str, str] = os.environ) -> Options:
    """The options that the environment sets; a variable without text sets nothing.

    Raises ValueError for a value that is none, which names the variable.
    """
    for variable, instead in _GONE.items():
        if environment.get(variable, "").strip():
            raise ValueError(f"{variable} is no more: {instead}")
    given = {field: (variable, environment.get(variable, "").strip()) for field, (variable, _, _) in _VARIABLES.items()}
    return Options()._with({field: each for field, each in given.items() if each[1]})


def unknown(environment: Mapping[str, str] = os.environ) -> Iterator[str]:
    """Says of variables with our prefix that none is read by this name."""
    prefix = "MASKWRIGHT_"
    names = {variable.removeprefix(prefix) for variable in (*_OTHERS, *(variable for variable, _, _ in _VARIABLES.values()))}
    for variable in sorted(environment):
        name = variable.removeprefix(prefix)
        if name != variable and name not in names and not _OF_SERVICES.fullmatch(variable):
            near = difflib.get_close_matches(name, sorted(names), n=1)
            yield f"{variable} is no option" + (f"; did you mean {prefix}{near[0]}?" if near else "")


def is_on(variable: str, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether a switch is set to `1` or the like.

    Raises ValueError for a value that is none.
    """
    given = environment.get(variable, "").strip()
    try:
        return given != "" and _switch(given)
    except ValueError:
        raise ValueError(f"{variable} is {given!r}, expected 1 or 0") from None


_ON, _OFF = ("1", "true", "yes", "on"), ("0", "false", "no", "off")


def _switch(given: str) -> bool:
    if given.lower() not in _ON + _OFF:
        raise ValueError
    return given.lower() in _ON


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
    "compile_work": ("MASKWRIGHT_COMPILE_WORK", _at_least(int, 1), "a whole number of at least 1"),
    "compile_bytes": ("MASKWRIGHT_COMPILE_BYTES", _at_least(int, 1), "a whole number of at least 1"),
    "n_long": ("MASKWRIGHT_LONG_COMPILATIONS", _at_least(int, 1), "a whole number of at least 1"),
    "n_kept": ("MASKWRIGHT_GRAMMARS", _at_least(int, 1), "a whole number of at least 1"),
    "logs_schemas": ("MASKWRIGHT_LOG_SCHEMAS", _switch, "1 or 0"),
    "threads": ("MASKWRIGHT_THREADS", _at_least(int, 1), "a whole number of at least 1"),
    "n_drafting": ("MASKWRIGHT_DRAFTING_REQUESTS", _at_least(int, 0), "a whole number of at least 0"),
    "has_limit": ("MASKWRIGHT_LIMIT", _switch, "1 or 0"),
    "spelling": ("MASKWRIGHT_SPELLING", *_one_of(Spelling)),
    "property_order": ("MASKWRIGHT_PROPERTY_ORDER", *_one_of(PropertyOrder)),
    "whitespace": ("MASKWRIGHT_WHITESPACE", *_one_of(Whitespace)),
    "numbers": ("MASKWRIGHT_NUMBERS", *_one_of(Numbers)),
    "unenforced": ("MASKWRIGHT_UNENFORCED", *_one_of(Unenforced)),
    "on_tool_error": ("MASKWRIGHT_ON_TOOL_ERROR", *_one_of(OnToolError)),
}
#: Variables that are set elsewhere: by who turns Maskwright on, and by it for the processes that it starts.
_OTHERS = ("MASKWRIGHT_VLLM", "MASKWRIGHT_METRICS_FOLDER", "MASKWRIGHT_CACHE")
#: Kubernetes sets such variables for a service named `maskwright`.
_OF_SERVICES = re.compile(r"MASKWRIGHT_(.*_)?(PORT|SERVICE)(_.*)?")
#: Variables of earlier versions, with what to do instead.
_GONE = {
    "MASKWRIGHT_COMPILE_SECONDS": "compilations are limited by work and memory, which are the same at every load, "
    "with MASKWRIGHT_COMPILE_WORK (units of some 0.1 us) and MASKWRIGHT_COMPILE_BYTES",
}
#: What a request may set. A client must not raise the server's limits on work.
_REQUEST_NAMES = {
    _VARIABLES[field][0].lower(): field for field in ("has_limit", "spelling", *GrammarOptions._fields)
}
