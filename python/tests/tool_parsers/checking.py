"""Whether a value is valid by a JSON Schema, for the keywords that the walks' tools have.

Keys that the schema does not name may come twice, as in the package: it says so in the report.
"""

import re

from .values import resolve, type_of


def is_type(value, name):
    found = type_of(value)
    return found == name or (found == "integer" and name == "number")


def equal(left, right):
    """Whether two JSON values are equal: `True` is not 1, and `1.0` is."""
    return type_of(left) == type_of(right) and left == right


def n_characters(value, low, high):
    return low <= len(value) <= high


def faults(value, schema, root=None, at="$"):
    """What is wrong with a value, as a list of strings."""
    root = schema if root is None else root
    schema = resolve(schema, root)
    if schema is True:
        return []
    if schema is False:
        return [f"{at}: nothing can be here"]
    found = []

    def wrong(condition, what):
        if condition:
            found.append(f"{at}: {value!r} {what}")

    if "type" in schema:
        names = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
        wrong(not any(is_type(value, name) for name in names), f"is not {names}")
    if "enum" in schema:
        wrong(not any(equal(value, one) for one in schema["enum"]), f"is none of {schema['enum']}")
    if "const" in schema:
        wrong(not equal(value, schema["const"]), f"is not {schema['const']}")
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            n_valid = sum(not faults(value, part, root, at) for part in schema[keyword])
            wrong(n_valid == 0 or (keyword == "oneOf" and n_valid > 1), f"fits {n_valid} of {keyword}")
    for part in schema.get("allOf", []):
        found += faults(value, part, root, at)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        wrong(value < schema.get("minimum", value), "is too small")
        wrong(value > schema.get("maximum", value), "is too large")
    if isinstance(value, str):
        wrong(not n_characters(value, schema.get("minLength", 0), schema.get("maxLength", len(value))), "has the wrong length")
        pattern = schema.get("pattern", "").replace("$", r"\Z")
        wrong(not re.search(pattern, value), f"does not match {pattern}")
    if isinstance(value, list):
        wrong(len(value) < schema.get("minItems", 0), "has too few items")
        wrong(len(value) > schema.get("maxItems", len(value)), "has too many items")
        for index, item in enumerate(value):
            found += faults(item, schema.get("items", True), root, f"{at}[{index}]")
    if isinstance(value, dict):
        wrong(not set(schema.get("required", [])) <= set(value), "lacks a required key")
        properties = schema.get("properties", {})
        wrong(not value.repeated.isdisjoint(properties), f"has {value.repeated} twice")
        for name, member in value.items():
            found += faults(member, properties.get(name, schema.get("additionalProperties", True)), root, f"{at}.{name}")
    return found
