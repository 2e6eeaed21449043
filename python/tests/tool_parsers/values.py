"""What a raw text stands for as the value of a parameter: itself, or JSON.

XML formats write strings as they are and other values as JSON, without saying which. So a reader needs the schema: where it has
strings only, the text is the value; where it has none, the text is JSON; where it has both, JSON of a type that the schema names
wins. The parsers of servers read in this order too.
"""

from .reading import NotTheFormatError, whole_json

TYPES = {"string", "integer", "number", "boolean", "null", "array", "object"}


def type_of(value):
    """The JSON type of a value."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int) or (isinstance(value, float) and value.is_integer()):
        return "integer"
    names = {float: "number", str: "string", list: "array", dict: "object", type(None): "null"}
    return next(name for kind, name in names.items() if isinstance(value, kind))


def resolve(schema, root):
    """The schema that a `$ref` within `root` stands for."""
    while isinstance(schema, dict) and "$ref" in schema:
        target = root
        for step in schema["$ref"].removeprefix("#").split("/")[1:]:
            target = target[step]
        schema = target
    return schema


def types_of(schema, root):
    """The types that a value of the schema may have."""
    schema = resolve(schema, root)
    if schema is True or schema is None:
        return set(TYPES)
    if schema is False:
        return set()
    types = set(TYPES)
    if "type" in schema:
        named = schema["type"]
        types &= {named} if isinstance(named, str) else set(named)
    if "enum" in schema:
        types &= widen({type_of(value) for value in schema["enum"]})
    if "const" in schema:
        types &= widen({type_of(schema["const"])})
    for keyword in ("anyOf", "oneOf"):
        if keyword in schema:
            types &= set().union(*(types_of(part, root) for part in schema[keyword]))
    for part in schema.get("allOf", []):
        types &= types_of(part, root)
    return widen(types)


def widen(types):
    """An integer is a number too."""
    return types | {"integer"} if "number" in types else types


def parameter(schema, name):
    """The schema of a parameter of a tool."""
    schema = resolve(schema, schema)
    properties = schema.get("properties", {}) if isinstance(schema, dict) else {}
    if name in properties:
        return properties[name]
    return schema.get("additionalProperties", True) if isinstance(schema, dict) else True


def typed(text, schema, root):
    """The value that `text` stands for."""
    types = types_of(schema, root)
    if types == {"string"}:
        return text
    try:
        value = whole_json(text)
    except NotTheFormatError:
        if "string" in types:
            return text
        raise
    is_taken = type_of(value) in types and not isinstance(value, str)
    if is_taken:
        return value
    if "string" in types:
        return text
    raise NotTheFormatError(f"{text!r} is no value of {schema}")
