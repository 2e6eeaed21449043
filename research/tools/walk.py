"""Walks over the schemas within a schema: where a word is a keyword, and where it is a name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

#: Keywords whose value is a schema, a list of schemas, or a dict from names to schemas.
_ONE = {
    "additionalItems", "additionalProperties", "contains", "contentSchema", "else", "if", "items", "not",
    "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties",
}  # fmt: skip
_MANY = {"allOf", "anyOf", "items", "oneOf", "prefixItems"}
_NAMED = {"$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"}


def schemas(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema, if it is an object, and all within it."""
    if not isinstance(schema, dict):
        return
    yield schema
    for inner in _inner(schema):
        yield from schemas(inner)


def without(schema: Any, keywords: set[str]) -> Any:
    """The schema without these keywords, wherever they are."""
    if not isinstance(schema, dict):
        return schema
    kept = {}
    for key, value in schema.items():
        if key in keywords:
            continue
        if key in _NAMED and isinstance(value, dict):
            kept[key] = {name: without(inner, keywords) for name, inner in value.items()}
        elif key in _MANY and isinstance(value, list):
            kept[key] = [without(inner, keywords) for inner in value]
        elif key in _ONE:
            kept[key] = without(value, keywords)
        else:
            kept[key] = value
    return kept


def keywords(schema: Any) -> set[str]:
    """The keywords that occur in it."""
    return {key for inner in schemas(schema) for key in inner}


def _inner(schema: dict[str, Any]) -> Iterator[Any]:
    for key, value in schema.items():
        if key in _NAMED and isinstance(value, dict):
            yield from value.values()
        elif key in _MANY and isinstance(value, list):
            yield from value
        elif key in _ONE:
            yield value
