"""Values made from a schema: valid by construction as far as that goes. The judges decide whether they are.

`Generator.value` follows the keywords one by one. It does not look at `not`, and where keywords work against each
other it may miss.
"""

from __future__ import annotations

import random
from typing import Any

import texts

#: Beyond this depth only what is required is written.
_DEEP = 5
_SAME = ("allOf", "anyOf", "oneOf", "if", "then", "else", "$ref")
_ABOUT = {
    "object": ("properties", "required", "additionalProperties", "patternProperties", "propertyNames", "minProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains"),
    "string": ("pattern", "format", "minLength", "maxLength"),
    "number": ("minimum", "maximum", "multipleOf", "exclusiveMinimum", "exclusiveMaximum"),
}


class Generator:
    """Makes values of one schema."""

    def __init__(self, schema: Any, rng: random.Random) -> None:
        self._whole, self._rng = schema, rng

    def value(self) -> Any:
        """A value that should be valid."""
        return self._value(self._whole, 0)

    def _value(self, schema: Any, depth: int) -> Any:
        if not isinstance(schema, dict):
            return self._any(depth)
        schema = self._settled(schema, depth)
        if "const" in schema:
            return schema["const"]
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return self._rng.choice(self._fitting(schema))
        kind = self._kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind == "string":
            return texts.string(schema, self._rng)
        if kind in ("number", "integer"):
            return texts.number(schema, kind, self._rng)
        if kind == "boolean":
            return self._rng.random() < 0.5
        if kind == "null":
            return None
        return self._any(depth)

    def _settled(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        """The schema with its references followed and one branch of each choice taken, merged."""
        rng = self._rng
        for _ in range(50):
            key = next((key for key in _SAME if key in schema), None)
            if key is None:
                break
            rest = {name: value for name, value in schema.items() if name != key}
            part = schema[key]
            if key == "$ref":
                schema = _merged(rest, self._target(part))
            elif key == "allOf" and isinstance(part, list):
                for inner in part:
                    rest = _merged(rest, inner)
                schema = rest
            elif key in ("anyOf", "oneOf") and isinstance(part, list) and part:
                choice = min(part, key=_weight) if depth > _DEEP else rng.choice(part)
                schema = _merged(rest, choice)
            elif key == "if" and rng.random() < 0.6:
                schema = _merged(_merged({k: v for k, v in rest.items() if k != "else"}, part), rest.get("then", True))
                schema.pop("then", None)
            elif key == "if":
                schema = _merged({k: v for k, v in rest.items() if k not in ("then", "else")}, rest.get("else", True))
            else:
                schema = rest
        return schema

    def _target(self, reference: Any) -> Any:
        if not isinstance(reference, str) or not reference.startswith("#"):
            return True
        target = self._whole
        for part in reference[1:].split("/")[1:]:
            part = part.replace("~1", "/").replace("~0", "~").replace("%24", "$")
            try:
                target = target[int(part)] if isinstance(target, list) else target[part]
            except (KeyError, IndexError, ValueError, TypeError):
                return True
        return target

    def _fitting(self, schema: dict[str, Any]) -> list[Any]:
        """The values of `enum` that `type` allows too; all, if none."""
        kinds = schema.get("type")
        kinds = kinds if isinstance(kinds, list) else [kinds]
        return [value for value in schema["enum"] if kinds == [None] or kind_of(value) in kinds] or schema["enum"]

    def _kind(self, schema: dict[str, Any]) -> str | None:
        kind = schema.get("type")
        if isinstance(kind, list):
            return self._rng.choice(kind) if kind else None
        if isinstance(kind, str):
            return kind
        return next((kind for kind, words in _ABOUT.items() if any(word in schema for word in words)), None)

    def _any(self, depth: int) -> Any:
        rng = self._rng
        choices: list[Any] = [None, True, False, 0, -3, 2.5, 1e21, "", "text", texts.word(rng)]
        if depth <= _DEEP:
            choices += [[], {}, [1, "a"], {"a": None}, {texts.word(rng): [texts.word(rng)]}]
        return rng.choice(choices)

    def _array(self, schema: dict[str, Any], depth: int) -> list[Any]:
        rng = self._rng
        items = schema.get("items", True)
        first = schema.get("prefixItems", [])
        if isinstance(items, list):
            first, items = items, schema.get("additionalItems", True)
        least = max(int(schema.get("minItems", 0)), int(schema.get("minContains", 1)) if "contains" in schema else 0)
        most = int(schema.get("maxItems", least + (0 if depth > _DEEP else 3)))
        if items is False:
            most = min(most, len(first))
        length = rng.randint(least, max(least, min(most, least + 4)))
        if first and items is not True and rng.random() < 0.8:
            length = max(length, min(len(first), most))
        found: list[Any] = []
        for place in range(length):
            inner = first[place] if place < len(first) else items
            for _ in range(12 if schema.get("uniqueItems") is True else 1):
                value = self._value(inner, depth + 1)
                if value not in found:
                    break
            else:
                if len(found) >= least:
                    continue
            found.append(value)
        for place in range(int(schema.get("minContains", 1)) if "contains" in schema else 0):
            if place < len(found):
                found[place] = self._value(schema["contains"], depth + 1)
        return found

    def _object(self, schema: dict[str, Any], depth: int) -> dict[str, Any]:
        rng = self._rng
        properties = schema.get("properties", {})
        required = [name for name in schema.get("required", []) if isinstance(name, str)] if isinstance(schema.get("required"), list) else []
        share = rng.choice([0.0, 0.3, 0.7, 1.0]) if depth <= _DEEP else 0.0
        names = [name for name in properties if name in required or rng.random() < share]
        names += [name for name in required if name not in properties]
        for name, needs in {**schema.get("dependentRequired", {}), **schema.get("dependencies", {})}.items():
            if name in names and isinstance(needs, list):
                names += [need for need in needs if need not in names]
        most = int(schema.get("maxProperties", 1000))
        if len(names) > most:
            names = required + [name for name in names if name not in required][: max(0, most - len(required))]
        rng.shuffle(names)
        found = {name: self._value(properties.get(name, self._other(schema)), depth + 1) for name in names}
        least = int(schema.get("minProperties", 0))
        wanted = max(least, len(found) + (rng.randint(0, 2) if depth <= _DEEP and rng.random() < 0.5 else 0))
        for _ in range(10):
            if len(found) >= min(wanted, most):
                break
            patterns = schema.get("patternProperties", {})
            if patterns and rng.random() < 0.7:
                pattern = rng.choice(list(patterns))
                name, inner = texts.of_pattern(pattern, rng), patterns[pattern]
            elif self._other(schema) is not False:
                name, inner = self._name(schema), self._other(schema)
            elif len(found) < least and set(properties) - set(found):
                name = rng.choice(sorted(set(properties) - set(found)))
                inner = properties[name]
            else:
                break
            if name is not None and name not in found and name not in properties or len(found) < least:
                found[str(name)] = self._value(inner, depth + 1)
        return found

    def _other(self, schema: dict[str, Any]) -> Any:
        return schema.get("additionalProperties", schema.get("unevaluatedProperties", True))

    def _name(self, schema: dict[str, Any]) -> str:
        if "propertyNames" in schema:
            name = self._value({"type": "string", **schema["propertyNames"]} if isinstance(schema["propertyNames"], dict) else True, _DEEP)
            return name if isinstance(name, str) else "name"
        return texts.word(self._rng)


def kind_of(value: Any) -> str:
    """The name of a value's type, as `type` has it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return {str: "string", list: "array", dict: "object"}[type(value)]


def _merged(one: Any, other: Any) -> dict[str, Any]:
    """Roughly the schema of what both allow."""
    if not isinstance(other, dict):
        return dict(one) if isinstance(one, dict) else {}
    merged = dict(one)
    for key, value in other.items():
        if key not in merged:
            merged[key] = value
        elif key == "properties":
            both = {name: {"allOf": [merged[key][name], inner]} if name in merged[key] else inner for name, inner in value.items()}
            merged[key] = {**merged[key], **both}
        elif key == "required":
            merged[key] = list(dict.fromkeys([*merged[key], *value]))
        elif key in ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"):
            merged[key] = max(merged[key], value)
        elif key in ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"):
            merged[key] = min(merged[key], value)
        elif key == "allOf":
            merged[key] = [*merged[key], *value]
        elif key in ("anyOf", "oneOf", "$ref"):
            merged["allOf"] = [*merged.get("allOf", []), {key: value}]
        elif key == "type" and merged[key] != value:
            one_kinds = merged[key] if isinstance(merged[key], list) else [merged[key]]
            other_kinds = value if isinstance(value, list) else [value]
            both_kinds = [kind for kind in one_kinds if kind in other_kinds or kind == "integer" and "number" in other_kinds]
            both_kinds += [kind for kind in other_kinds if kind == "integer" and "number" in one_kinds and kind not in both_kinds]
            merged[key] = both_kinds or value
        elif key == "additionalProperties" and value is False:
            merged[key] = False
        elif key == "enum":
            merged[key] = [inner for inner in merged[key] if inner in value] or value
        elif key in ("const", "pattern", "format"):
            merged[key] = value
    return merged


def _weight(schema: Any) -> int:
    """How large the values of a branch get: leaves first."""
    text = str(schema)
    return len(text) + 1000 * text.count("$ref")
