"""Strings and numbers for `generate`: of a format, a pattern, a length, within bounds."""

from __future__ import annotations

import math
import random
import re
import warnings
from typing import Any

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCXYZ0123456789"
_ODD = ['"', "\\", "\n", "\t", "é", "ß", "日", "😀", "/", " ", "'", "<", "\u007f", "\u2028", "\x01", "{", "}", ","]
_FORMATS: dict[str, list[str]] = {
    "date-time": ["2024-02-29T23:59:59Z", "1999-12-31T00:00:00.123+02:00", "2024-01-15t10:00:00z"],
    "date": ["2024-02-29", "1970-01-01", "9999-12-31"],
    "time": ["10:20:30Z", "23:59:59.5+01:00", "00:00:00-12:00"],
    "duration": ["P1D", "PT1H30M", "P3Y6M4DT12H30M5S", "P2W", "PT0S"],
    "email": ["ada@example.org", "a.b+c@sub.example.co.uk", "x@y.z"],
    "idn-email": ["ada@example.org", "用户@例え.jp"],
    "hostname": ["example.org", "a-b.c", "localhost", "x" * 63],
    "idn-hostname": ["example.org", "例え.jp"],
    "ipv4": ["127.0.0.1", "255.255.255.255", "0.0.0.0"],
    "ipv6": ["::1", "2001:db8::ff00:42:8329", "::ffff:192.0.2.1", "1:2:3:4:5:6:7:8"],
    "uri": ["https://example.org/a?b=c#d", "mailto:ada@example.org", "urn:isbn:0451450523", "http://[::1]:8080/"],
    "uri-reference": ["/a/b", "?q", "#x", "https://example.org", "", "../x"],
    "iri": ["https://例え.jp/ü"],
    "iri-reference": ["/ü", "https://example.org"],
    "uuid": ["123e4567-e89b-12d3-a456-426614174000", "00000000-0000-0000-0000-000000000000", "6BA7B810-9DAD-41D1-80B4-00C04FD430C8"],
    "json-pointer": ["", "/a", "/a~1b/~0/0"],
    "relative-json-pointer": ["0", "1/a", "2#"],
    "regex": ["a+", "^[a-z]{2,3}$", "(?:x|y)*"],
    "uri-template": ["/a/{b}", "https://example.org/{?q,r}"],
    "byte": ["AAAA", "Zm8="],
    "binary": ["x"],
    "password": ["secret"],
}
#: What is almost of a format.
NEARLY: dict[str, list[str]] = {
    "date-time": ["2024-02-30T10:00:00Z", "2024-01-15 10:00:00", "2024-01-15T10:00:00", "2024-01-15T25:00:00Z", "2024-01-15T10:00:00+25:00"],
    "date": ["2023-02-29", "2024-13-01", "24-01-01", "2024-1-1", "2024-01-01T00:00:00Z"],
    "time": ["10:20:30", "24:00:00Z", "10:20Z", "10:20:30+1"],
    "duration": ["P", "PT", "1D", "P1S", "P-1D", "P1.5D"],
    "email": ["ada", "@example.org", "ada@", "a b@example.org", "a@b@c", "ada@example..org"],
    "hostname": ["-a.b", "a..b", "x" * 64, "a_b", "exa mple"],
    "ipv4": ["256.0.0.1", "1.2.3", "1.2.3.4.5", "01.2.3.4"],
    "ipv6": [":::", "1:2:3:4:5:6:7", "g::1", "::1%eth0"],
    "uri": ["/a/b", "example", "http://a b", "://x", "http://ex|ample"],
    "uri-reference": ["a b", "\\x", "http://[::1"],
    "uuid": ["123e4567-e89b-12d3-a456-42661417400", "123e4567e89b12d3a456426614174000", "g23e4567-e89b-12d3-a456-426614174000"],
    "json-pointer": ["a", "/~2", "/a~"],
    "regex": ["(", "[a", "*a", "a{2,1}"],
}


def word(rng: random.Random) -> str:
    """A short text; now and then an odd one."""
    length = rng.choice([0, 1, 2, 3, 5, 8, 12])
    return "".join(rng.choice(_ODD) if rng.random() < 0.08 else rng.choice(_LETTERS) for _ in range(length))


def string(schema: dict[str, Any], rng: random.Random) -> str:
    """A string of this schema's format, pattern and length."""
    least, most = int(schema.get("minLength", 0)), int(schema.get("maxLength", 10_000))
    if isinstance(schema.get("pattern"), str):
        for _ in range(20):
            found = of_pattern(schema["pattern"], rng)
            if found is not None and least <= len(found) <= most:
                return found
    if schema.get("format") in _FORMATS:
        return rng.choice(_FORMATS[schema["format"]])
    found = word(rng)
    while len(found) < least:
        found += rng.choice(_LETTERS)
    if rng.random() < 0.1 and most < 1000:
        found += "x" * (most - len(found))
    return found[:most]


def of_pattern(pattern: str, rng: random.Random) -> str | None:
    """A text in which the pattern is found, by what Python makes of it; None if it cannot read the pattern."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = re._parser.parse(re.sub(r"\(\?<(?=[A-Za-z])", "(?P<", pattern))
        found = _of_nodes(parsed, rng, {})
    except (re.error, OverflowError, KeyError, RecursionError):
        return None
    if not pattern.startswith("^") and rng.random() < 0.3:
        found = rng.choice(_LETTERS) + found
    if not pattern.endswith("$") and rng.random() < 0.3:
        found += rng.choice(_LETTERS)
    return found


def _of_nodes(nodes: Any, rng: random.Random, groups: dict[int, str]) -> str:
    return "".join(_of_node(str(name), value, rng, groups) for name, value in nodes)


def _of_node(name: str, value: Any, rng: random.Random, groups: dict[int, str]) -> str:
    if name == "LITERAL":
        return chr(value)
    if name == "NOT_LITERAL":
        return rng.choice([char for char in _LETTERS if ord(char) != value])
    if name == "ANY":
        return rng.choice(_LETTERS)
    if name == "IN":
        return _of_set(value, rng)
    if name == "BRANCH":
        return _of_nodes(rng.choice(value[1]), rng, groups)
    if name == "SUBPATTERN":
        found = _of_nodes(value[3], rng, groups)
        if value[0] is not None:
            groups[value[0]] = found
        return found
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        least, most, inner = value
        times = rng.randint(least, min(int(most), least + 4))
        return "".join(_of_nodes(inner, rng, groups) for _ in range(times))
    if name == "GROUPREF":
        return groups[value]
    if name == "CATEGORY":
        return _of_set([("CATEGORY", value)], rng)
    if name == "ATOMIC_GROUP":
        return _of_nodes(value, rng, groups)
    return ""


def _of_set(items: Any, rng: random.Random) -> str:
    if str(items[0][0]) == "NEGATE":
        for _ in range(50):
            char = rng.choice(_LETTERS + "-_./ @")
            if not any(_in_item(ord(char), str(name), value) for name, value in items[1:]):
                return char
        return "~"
    name, value = rng.choice(items)
    if str(name) == "LITERAL":
        return chr(value)
    if str(name) == "RANGE":
        return chr(rng.randint(value[0], min(value[1], value[0] + 200)))
    return {"CATEGORY_DIGIT": rng.choice("0123456789"), "CATEGORY_SPACE": " ", "CATEGORY_WORD": rng.choice(_LETTERS + "_")}.get(
        str(value), rng.choice("-.,!")
    )


def _in_item(code: int, name: str, value: Any) -> bool:
    if name == "LITERAL":
        return bool(code == value)
    if name == "RANGE":
        return bool(value[0] <= code <= value[1])
    char = chr(code)
    return {"CATEGORY_DIGIT": char.isdigit(), "CATEGORY_SPACE": char.isspace(), "CATEGORY_WORD": char.isalnum() or char == "_"}.get(str(value), True)


def number(schema: dict[str, Any], kind: str, rng: random.Random) -> int | float:
    """A number within this schema's bounds."""
    least, most = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if above is True:
        least, above = None, least
    if below is True:
        most, below = None, most
    low = max([bound for bound in (least, above) if _is_number(bound)], default=None)
    high = min([bound for bound in (most, below) if _is_number(bound)], default=None)
    if low is None and high is None:
        low, high = rng.choice([(-5, 100), (-(10**6), 10**6), (-(2**53), 2**53), (0, 9)])
    elif low is None:
        low = high - rng.choice([0, 1, 100])
    elif high is None:
        high = low + rng.choice([0, 1, 100, 10**5])
    step = schema.get("multipleOf")
    if _is_number(step) and step > 0:
        times = rng.randint(math.ceil(low / step), max(math.ceil(low / step), min(math.floor(high / step), math.ceil(low / step) + 1000)))
        return times * step if isinstance(step, int) else float(f"{times * step:.10g}")
    whole_low, whole_high = math.ceil(low), math.floor(high)
    if above is not None and whole_low == above:
        whole_low += 1
    if below is not None and whole_high == below:
        whole_high -= 1
    if whole_low <= whole_high and (kind == "integer" or rng.random() < 0.5):
        return rng.choice([whole_low, whole_high, rng.randint(whole_low, whole_high)])
    part = rng.choice([0.0, 0.5, 1.0, rng.random()]) if above is None and below is None else rng.uniform(0.01, 0.99)
    return rng.choice([round(low + (high - low) * part, 3), low + (high - low) * part])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
