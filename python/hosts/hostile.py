"""Requests that have stalled servers or might, each with a judge of its text that shares no code with this package.

The first group is what a stranger sent to vLLM; the second is ours.
"""

import json
import re
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import jsonschema

LETTERS = "abcdefghijkl"


class Hostile(NamedTuple):
    name: str
    kind: str
    """json, regex, choice, gbnf, lark or structural_tag"""
    source: object
    max_tokens: int
    judge: object
    options: dict = {}
    """Maskwright's, of the request."""


def schema(name, value, max_tokens, **options):
    def judge(text):
        jsonschema.Draft202012Validator(value).validate(json.loads(text))

    return Hostile(name, "json", value, max_tokens, judge, {f"maskwright_{key}": each for key, each in options.items()})


def pattern(name, source, max_tokens, judge=None):
    """`judge` where Python's own search would take for ever."""

    def is_match(text):
        assert (judge or re.compile(source, re.ASCII).fullmatch)(text), text[:200]

    return Hostile(name, "regex", source, max_tokens, is_match)


def counts_after_a_choice(n):
    """Of the words of `(a|b)*a(a|b){n}(c.*d){30}x`. Python's own search for `(c.*d){30}` would take minutes."""

    def judge(text):
        head = re.match("[ab]*", text).group()
        rest = text[len(head) :]
        is_rest = rest.startswith("c") and rest.endswith("dx") and rest.count("dc") >= 29 and "\n" not in rest
        return len(head) > n and head[-n - 1] == "a" and is_rest

    return judge


def strings(*patterns, **more):
    return {"type": "string", "allOf": [{"pattern": each} for each in patterns], **more}


def doubled(depth):
    made = {"type": "integer"}
    for _ in range(depth):
        made = {"oneOf": [made, {"type": "object", "properties": {"a": made}}]}
    return made


def nested(depth):
    made = {"type": "integer"}
    for _ in range(depth):
        made = {"type": "array", "items": made}
    return made


def is_a(text):
    assert re.fullmatch("a+", text), text[:200]


def is_word(words):
    def judge(text):
        assert text in words, text[:200]

    return judge


def is_sum(text):
    assert re.fullmatch(r"\w+(\+\w+)*", text, re.ASCII), text[:200]


def is_called(text):
    calls = re.findall(r"<call name=tool_(\d+)>(.*?)</call>", text, re.DOTALL)
    assert calls and all(isinstance(json.loads(arguments)["x"], int) for _, arguments in calls), text[:200]


def are_small_steps(text):
    """Floats, which jsonschema would divide, cannot tell."""
    numbers = json.loads(text, parse_float=Decimal, parse_int=Decimal)
    assert len(numbers) >= 8 and all(each % Decimal("1e-9") == 0 and abs(each) <= 10**9 for each in numbers), text[:200]


SMALL_STEP = {"type": "number", "multipleOf": 1e-9, "minimum": -1e9, "maximum": 1e9}
CHOICES = [f"{n:05}" + "abcde" * 9 for n in range(20_000)]
BY_PATTERN = {f"^{letter}": {"type": "number", "multipleOf": 0.37 + n} for n, letter in enumerate(LETTERS)}
KEYS = {f"key_{n}": {"type": "boolean"} for n in range(25)}
NOT_TO_MATCH = {"not": {"anyOf": [{"pattern": f"{each}.{{9}}{each}"} for each in LETTERS]}}
KEYS_NOT_TO_MATCH = {"type": "object", "propertyNames": NOT_TO_MATCH, "minProperties": 2}
TOOLS = [
    {
        "type": "tag",
        "begin": f"<call name=tool_{n}>",
        "content": {
            "type": "json_schema",
            "json_schema": {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]},
        },
        "end": "</call>",
    }
    for n in range(300)
]
TAG = {"type": "triggered_tags", "triggers": ["<call name=tool_"], "tags": TOOLS, "at_least_one": True, "stop_after_first": True}
ANY_PERMUTATION = "".join(f"(?=.*{letter})" for letter in LETTERS[:8])

OF_A_STRANGER = [
    *(pattern(f"counts after a choice, {n}", f"(a|b)*a(a|b){{{n}}}(c.*d){{30}}x", 200, counts_after_a_choice(n)) for n in (24, 23, 22)),
    schema("three patterns", strings("a.{30}b", "c.{25}d", "[a-z]x.{20}y"), 120),
    schema("minLength 1500, few tokens", {"type": "string", "minLength": 1500}, 64),
    schema("twelve patterns of keys", {"type": "object", "patternProperties": BY_PATTERN, "minProperties": 3}, 100),
    Hostile("a choice of 20,000", "choice", CHOICES, 80, is_word(set(CHOICES))),
    Hostile("a long repetition", "gbnf", 'root ::= "a"{1,100000}', 40, is_a),
    schema("an enum of 30,000", {"enum": [f"value {n * 7919}" for n in range(30_000)]}, 40),
    schema("2,000 properties", {"type": "object", "properties": {f"p{n}": {} for n in range(2_000)}, "minProperties": 2}, 60),
    schema("400 levels", nested(400), 60),
    Hostile("ambiguous", "gbnf", 'root ::= s\ns ::= "a" | s s | s s s', 40, is_a),
]
OURS = [
    schema("doubled twelve times", doubled(12), 60),
    # Its patterns take too much work together, so none of it is enforced, and the log says so.
    Hostile("twelve keys that must not match", "json", KEYS_NOT_TO_MATCH, 80, json.loads),
    schema("forty different items", {"type": "array", "items": {"enum": list(range(60))}, "minItems": 40, "uniqueItems": True}, 300),
    pattern("eight lookaheads", ANY_PERMUTATION + r"\w{20,40}", 60),
    pattern("words of words", r"((\w{1,40} ){1,30}\w+[.] ?){1,20}", 90),
    pattern("searches that count", "(.*a.{30}b.*){3}x", 150, lambda text: text.endswith("x") and text.count("a") > 2),
    schema("25 keys in any order", {"type": "object", "properties": KEYS, "required": list(KEYS), "additionalProperties": False}, 400, property_order="any"),
    schema("many lengths", {"type": "array", "items": {"type": "string", "minLength": 200, "maxLength": 4000}, "minItems": 3}, 200),
    Hostile("an ambiguous lexer", "lark", 'start: e\ne: e "+" e | /\\w+/ | /\\w+/ e?', 40, lambda text: None),
    Hostile("300 tools", "structural_tag", {"type": "structural_tag", "format": TAG}, 60, is_called),
    Hostile("small steps", "json", {"type": "array", "items": SMALL_STEP, "minItems": 8}, 200, are_small_steps),
    schema("5,000 items in 64 tokens", {"type": "array", "items": {"type": "boolean"}, "minItems": 5000}, 64),
]
REQUESTS = OF_A_STRANGER + OURS


def hard_to_compile(n):
    """A schema whose compilation reaches the limit on work, one of the kind that once made gigabytes, or a large one."""
    if n % 3 == 0:
        branches = [{"if": {"required": [f"k{n}_{i}"]}, "then": {"required": [f"p{n}_{i}"]}} for i in range(200)]
        return {"allOf": branches}
    if n % 3 == 1:
        own = {"properties": {f"z{n}": {"$ref": "#"}}}
        return {"not": own, **own}
    text = (Path(__file__).parent / "recursive.json").read_text(encoding="utf-8")
    return json.loads(text.replace('"a"', f'"a{n}"'))
