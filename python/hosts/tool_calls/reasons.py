"""Why a server may read a text otherwise than the independent parser: its known quirks, each with a check.

A quirk says how to change the text so that it does not matter (overwrite marks that are within strings, write the blank that the
server wants), or how to compare values so that it does not matter. It is the reason for a difference if the server then agrees.
Several may come together.
"""

import html
import itertools
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tool_parsers import FAMILIES, NotTheFormatError
from tool_parsers.messages import parse_rest
from tool_parsers.reading import Reader

#: Strings of a notation that has quotes.
STRINGS = {
    "json": re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL),
    "python": re.compile(r"""(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')""", re.DOTALL),
}


#: How Python writes constants.
NAMES = {"true": "True", "false": "False", "null": "None"}


class Reading(NamedTuple):
    """A text after the reasoning, and what the independent parser finds in it."""

    text: str
    spans: list[tuple[int, int, str]]
    calls: list[tuple[str, Any]]

    @classmethod
    def of(cls, family, text, schemas):
        """Raises NotTheFormatError."""
        reader = Reader(text)
        calls = parse_rest(family, reader, schemas)[1]
        return cls(text, reader.spans, calls)


class Case(NamedTuple):
    """A text that a server reads."""

    server: str
    family: str
    schemas: dict[str, Any]
    #: What the server finds in a text; raises whatever it raises.
    ask: Callable[[str], list[tuple[str, Any]]]


class Quirk(NamedTuple):
    reason: str
    servers: tuple[str, ...]
    families: tuple[str, ...] | None
    #: Another text of the format, from a case and a reading; None if nothing is to be changed.
    overwrite: Callable[[Case, Reading], str | None] | None = None
    #: The text as the server wants it, from a text.
    rewrite: Callable[[str], str] | None = None
    #: An argument in a form that leaves out what the server does to it: from its schema and value.
    tolerate: Callable[[Any, Any], Any] | None = None
    #: Whether it explains a difference alone: from a case, a reading, and what the server found or how it failed.
    holds: Callable[[Case, Reading, Any], bool] | None = None


def overwritten(reading, pattern, kinds):
    """The text with an `x` for each character of the pattern's matches, in spans of these kinds; None if there are none.

    A character that ends an escape stays: `\\functions.` becomes `\\fxxxxxxxxx`.
    """
    text = list(reading.text)
    for start, end, kind in reading.spans:
        if kind not in kinds:
            continue
        parts = [(start, end)]
        if kind in STRINGS:
            parts = [string.span(string.lastindex or 1) for string in STRINGS[kind].finditer(reading.text, start, end)]
        for low, high in parts:
            for found in re.compile(pattern).finditer(reading.text, low, high):
                first = found.start()
                if kind in STRINGS and ends_an_escape(reading.text, low, first):
                    first += 1
                text[first : found.end()] = "x" * (found.end() - first)
    changed = "".join(text)
    return changed if changed != reading.text else None


def ends_an_escape(text, low, place):
    """Whether the character at `place` follows an odd number of backslashes, of those from `low` on."""
    before = text[low:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


def pieces(reading, wanted):
    """The model's own pieces of a kind."""
    return [reading.text[start:end] for start, end, kind in reading.spans if kind == wanted]


def marks_in(*kinds):
    def overwrite(case, reading):
        marks = sorted({mark.strip() for mark in FAMILIES[case.family].marks} - {""}, key=len, reverse=True)
        return overwritten(reading, "|".join(map(re.escape, marks)), kinds)

    return overwrite


def replace(pattern, by):
    return lambda text: re.sub(pattern, by, text)


def on_one_line(case, reading):
    text = reading.text
    for start, end, kind in reading.spans:
        if kind == "json":
            text = text[:start] + re.sub(r"[\n\r\t]", " ", text[start:end]) + text[end:]
    return text if text != reading.text else None


def names_of_python(case, reading):
    """The text with Python's names of constants; what is in strings stays."""
    words = re.compile(f"{STRINGS['python'].pattern}|\\b(?:true|false|null)\\b", re.DOTALL)
    text = words.sub(lambda found: NAMES.get(found.group(), found.group()), reading.text)
    return text if text != reading.text else None


def has_no_type(schema):
    return not (isinstance(schema, dict) and "type" in schema)


def large_as_float(schema, value):
    if isinstance(value, dict):
        return {key: large_as_float(None, member) for key, member in value.items()}
    if isinstance(value, list):
        return [large_as_float(None, item) for item in value]
    return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) >= 2**63 else value


def as_python(value):
    try:
        return str(json.loads(value))
    except ValueError:
        return value


def without_quotes(value):
    return value[1:-1] if len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'" else value


def null_for(*words):
    return lambda value: None if value.lower() in words else value


def on_strings(change):
    return lambda schema, value: change(value) if isinstance(value, str) else value


QUIRKS = [
    Quirk("a mark of the format within text", ("vllm", "sglang"), None, overwrite=marks_in("text")),
    Quirk("a mark of the format within a string", ("vllm", "sglang"), None, overwrite=marks_in("raw", "json", "python")),
    Quirk(
        "a piece of a mark within a string",
        ("sglang",),
        ("harmony",),
        overwrite=lambda case, reading: overwritten(reading, r"<\||\|>", ("raw", "json")),
    ),
    Quirk(
        "wants a blank after [TOOL_CALLS]",
        ("sglang",),
        ("mistral_v3", "mistral_v7"),
        rewrite=replace(r"\[TOOL_CALLS\]\[", "[TOOL_CALLS] ["),
    ),
    Quirk(
        "does not know [CALL_ID]",
        ("vllm", "sglang"),
        ("mistral_v11",),
        rewrite=replace(r"\[CALL_ID\][a-zA-Z0-9]{9}", ""),
    ),
    Quirk(
        "wants the name right before <|constrain|>json",
        ("sglang",),
        ("harmony",),
        rewrite=replace(
            r"(?:<\|channel\|>commentary)? to=functions\.([\w.-]+)"
            r"(?:<\|channel\|>commentary)? ?(?:<\|constrain\|>)?json<\|message\|>",
            r"<|channel|>commentary to=functions.\1 <|constrain|>json<|message|>",
        ),
    ),
    Quirk(
        "takes a name to begin after its last dot",
        ("sglang",),
        ("harmony",),
        holds=lambda case, reading, found: found == [] and any("." in name for name, _ in reading.calls),
    ),
    Quirk(
        "wants a blank between the marks, and the key `parameters`",
        ("sglang",),
        ("internlm",),
        rewrite=replace(
            r'<\|action_start\|><\|plugin\|>(\n\{"name": "[^"]*", )"arguments"',
            r'<|action_start|> <|plugin|>\1"parameters"',
        ),
    ),
    Quirk("loses calls that follow directly", ("vllm",), ("llama_4",), rewrite=replace(r'\}\{"name": "', '} {"name": "')),
    Quirk(
        "takes any `{` before for a call",
        ("vllm",),
        ("llama_4",),
        overwrite=lambda case, reading: overwritten(reading, "[{]", ("raw", "text")),
    ),
    Quirk("wants the arguments on one line", ("vllm",), ("deepseek_r1", "deepseek_v3_1"), overwrite=on_one_line),
    Quirk(
        "a `]` in the arguments ends the list",
        ("vllm",),
        ("functools",),
        holds=lambda case, reading, found: found == [] and "]" in "".join(pieces(reading, "json")),
    ),
    Quirk("reads integers beyond 64 bits as floats", ("vllm", "sglang"), ("command_a", "granite_3", "mistral_v11"), tolerate=large_as_float),
    Quirk(
        "guesses the type of a parameter whose schema has no `type`",
        ("vllm", "sglang"),
        ("gemma_4", "glm_4_5", "glm_4_7", "mimo", "minimax", "minimax_m3", "qwen_3_coder", "nemotron_3", "step_3_5", "seed_oss"),
        tolerate=lambda schema, value: "?" if has_no_type(schema) else value,
    ),
    Quirk(
        "reads strings as JSON, and writes the value as Python does",
        ("sglang",),
        ("glm_4_5", "glm_4_7"),
        tolerate=on_strings(as_python),
    ),
    Quirk(
        "takes the quotes off strings",
        ("sglang",),
        ("glm_4_5", "glm_4_7"),
        tolerate=on_strings(without_quotes),
    ),
    Quirk(
        "strips strings",
        ("sglang",),
        ("deepseek_v3_2", "deepseek_v4", "deepseek_v4_1", "minimax_m3"),
        tolerate=on_strings(str.strip),
    ),
    Quirk(
        "strips line feeds around strings",
        ("sglang",),
        ("minimax",),
        tolerate=on_strings(lambda value: value.strip("\n")),
    ),
    Quirk(
        "knows True, False and None only",
        ("sglang",),
        ("llama_4_pythonic", "pythonic", "lfm_2"),
        overwrite=names_of_python,
    ),
    Quirk(
        "loses calls with a negative number",
        ("sglang",),
        ("llama_4_pythonic", "pythonic", "lfm_2"),
        holds=lambda case, reading, found: found == [] and re.search(r"[\[=,:] ?-[0-9]", reading.text) is not None,
    ),
    Quirk("reads null as a string", ("sglang",), ("gemma_4",), tolerate=lambda schema, value: "null" if value is None else value),
    Quirk(
        "reads any value as null where null is allowed",
        ("sglang",),
        ("minimax",),
        tolerate=lambda schema, value: None if not has_no_type(schema) and "null" in schema["type"] else value,
    ),
    Quirk(
        "fails at text that begins with `{`",
        ("sglang",),
        ("llama",),
        holds=lambda case, reading, found: isinstance(found, str) and reading.text.startswith("{") and not reading.calls,
    ),
    Quirk("reads entities in strings", ("sglang",), ("mimo",), tolerate=on_strings(html.unescape)),
    Quirk(
        "reads the string null as null",
        ("sglang",),
        ("qwen_3_coder", "nemotron_3", "step_3_5", "mimo"),
        tolerate=on_strings(null_for("null")),
    ),
    Quirk(
        "reads the strings null, none and nil as null",
        ("sglang",),
        ("minimax",),
        tolerate=on_strings(null_for("null", "none", "nil")),
    ),
    Quirk(
        "fails at a list of types",
        ("sglang",),
        ("mimo",),
        holds=lambda case, reading, found: "'list' object has no attribute 'startswith'" in str(found),
    ),
]


def same(left, right):
    """Whether two values are the same JSON; `1.0` is 1, but no boolean is a number."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def same_calls(case, left, right, quirks=()):
    """Whether two lists of calls are the same, but for what the quirks do to values."""
    if isinstance(left, str) or isinstance(right, str) or len(left) != len(right):
        return False
    for (name, values), (other_name, other_values) in zip(left, right, strict=True):
        if name != other_name:
            return False
        pair = [values, other_values]
        properties = case.schemas[name].get("properties", {})
        for quirk in quirks:
            if quirk.tolerate and all(isinstance(one, dict) for one in pair):
                pair = [{key: quirk.tolerate(properties.get(key), value) for key, value in one.items()} for one in pair]
        if not same(*pair):
            return False
    return True


def answer(case, text):
    """What the server finds, or a string that says how it failed."""
    try:
        return case.ask(text)
    except Exception as error:  # A foreign parser may fail in any way.
        return f"{type(error).__name__}: {error}"


def agrees(case, reading, quirks):
    """Whether the server agrees once the quirks do not matter."""
    for quirk in quirks:
        if quirk.overwrite:
            changed = quirk.overwrite(case, reading)
            if changed is None:
                return False
            try:
                reading = Reading.of(case.family, changed, case.schemas)
            except NotTheFormatError:
                return False
    text = reading.text
    for quirk in quirks:
        if quirk.rewrite:
            changed = quirk.rewrite(text)
            if changed == text:
                return False
            text = changed
    return same_calls(case, answer(case, text), reading.calls, quirks)


def explain(case, reading, found):
    """The reasons for a difference, as few as possible, or None."""
    quirks = [quirk for quirk in QUIRKS if case.server in quirk.servers and case.family in (quirk.families or [case.family])]
    alone = [quirk for quirk in quirks if quirk.holds]
    together = [quirk for quirk in quirks if not quirk.holds]
    for quirk in alone:
        if quirk.holds(case, reading, found):
            return quirk.reason
    for n in range(1, 5):
        for chosen in itertools.combinations(together, n):
            if agrees(case, reading, chosen):
                return " + ".join(quirk.reason for quirk in chosen)
    reading = without_marks(case, reading)
    found = answer(case, reading.text)
    return next((f"marks of the format + {quirk.reason}" for quirk in alone if quirk.holds(case, reading, found)), None)


def without_marks(case, reading):
    """The reading with all marks overwritten that are within text and strings, if it is still of the format."""
    changed = marks_in("text", "raw", "json", "python")(case, reading)
    try:
        return Reading.of(case.family, changed, case.schemas) if changed else reading
    except NotTheFormatError:
        return reading
