"""Pydantic's generator of schemas, narrower where the validator takes less than the schema says. Types are compiled with it:

* the tag of a discriminated union is there, even if it has a default;
* dates are from the year 1 on, without leap seconds, and without a time zone for `NaiveDatetime`;
* the numbers in a duration have at most six digits;
* a Decimal is finite and keeps its digits, places and bounds: as a number if it has bounds or places, else as a string if
  it has a number of digits. With digits and bounds but no places it is a whole number. It is not zero if all its digits are
  places;
* a float that may not be infinite is within the range of floats, and never so close to an exclusive bound that it is rounded
  to the bound;
* an Enum lacks the members that Pydantic does not find by a JSON value, such as tuples;
* keys of a dict are integers if they are `int`, and match their pattern if they have one;
* UUIDs have the version of their type, and formats that any string satisfies are left out, so that no warning is about them;
* a URL with given schemes has one of them and a plain host name.

Where Pydantic's schema is narrower than its validator, it is widened to what Pydantic itself writes: times and datetimes without
a time zone, and durations with a sign or a fraction of a second.

This module needs Pydantic, so it is imported only for a type that Pydantic knows.
"""

from __future__ import annotations

import decimal
import math
import re
import sys
from typing import Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import SchemaValidator, ValidationError, to_json

#: A date with its days by month, and a time of day: for values without a time zone, which RFC 3339 cannot write.
_DATE = (
    r"(?!0000)(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
)
_CLOCK = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
#: A label of a host name, without what only some resolvers take.
_LABEL = r"[A-Za-z](?:[A-Za-z0-9]|-[A-Za-z0-9])*"
#: Within the range of a float, so that it is not infinite.
_FINITE = {"minimum": -sys.float_info.max, "maximum": sys.float_info.max}
#: A timedelta as Pydantic writes it, which RFC 3339 cannot if it is negative or has a fraction of a second.
_COUNT = "[0-9]{1,6}"
_TIMEDELTA = (
    rf"^-?P(?=[0-9]|T[0-9])(?:{_COUNT}Y)?(?:{_COUNT}D)?"
    rf"(?:T(?=[0-9])(?:{_COUNT}H)?(?:{_COUNT}M)?(?:{_COUNT}(?:\.[0-9]{{1,6}})?S)?)?$"
)

#: A Decimal as a string.
_DECIMAL = {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}


class Narrowed(GenerateJsonSchema):
    """See the module."""

    def generate(self, schema: Any, mode: Any = "validation") -> Any:
        return _with_known_formats(super().generate(schema, mode))

    def tagged_union_schema(self, schema: Any) -> Any:
        made = super().tagged_union_schema(schema)
        tag = made.get("discriminator", {}).get("propertyName")
        return made if tag is None else {**made, "required": [tag]}

    def date_schema(self, schema: Any) -> Any:
        return {**super().date_schema(schema), "pattern": "^(?!0000)"}

    def datetime_schema(self, schema: Any) -> Any:
        with_zone = {**super().datetime_schema(schema), "pattern": "^(?!0000).{17}[0-5]"}
        return _zoned(schema, {"type": "string", "pattern": f"^{_DATE}T{_CLOCK}$"}, with_zone)

    def time_schema(self, schema: Any) -> Any:
        with_zone = {**super().time_schema(schema), "pattern": "^.{6}[0-5]"}
        return _zoned(schema, {"type": "string", "pattern": f"^{_CLOCK}$"}, with_zone)

    def timedelta_schema(self, schema: Any) -> Any:
        made = super().timedelta_schema(schema)
        if made["type"] != "string":
            return made
        return {"anyOf": [{**made, "pattern": "^(?!.*[0-9]{7})"}, {"type": "string", "pattern": _TIMEDELTA}]}

    def enum_schema(self, schema: Any) -> Any:
        made = super().enum_schema(schema)
        validator = SchemaValidator(schema)
        values = made["enum"] if "enum" in made else [made["const"]]
        found = [value for value in values if _is_taken(validator, value)]
        if not found:
            raise PydanticInvalidForJsonSchema(f"no value of {schema['cls'].__name__} can be read from JSON")
        made.pop("const", None)
        return {**made, "enum": found}

    def float_schema(self, schema: Any) -> Any:
        made = super().float_schema(schema)
        # A number close to a bound may be rounded to it: 1e-400 to 0, for example.
        above, below = made.get("exclusiveMinimum"), made.get("exclusiveMaximum")
        if above is not None:
            made["minimum"] = 1e-300 if above == 0 else math.nextafter(above, math.inf)
        if below is not None:
            made["maximum"] = -1e-300 if below == 0 else math.nextafter(below, -math.inf)
        return _FINITE | made if schema.get("allow_inf_nan") is False else made

    def decimal_schema(self, schema: Any) -> Any:
        places, digits = schema.get("decimal_places"), schema.get("max_digits")
        has_bounds = any(schema.get(key) is not None for key in ("gt", "ge", "lt", "le", "multiple_of"))
        if digits is not None and places is None and not has_bounds:
            whole = f"[0-9]{{1,{digits}}}"
            return {"type": "string", "pattern": rf"^-?(?:{whole}|(?=[0-9.]{{3,{digits + 1}}}$)[0-9]+\.[0-9]+)$"}
        bounds = {key: _inside(schema[key], key) for key in ("gt", "ge", "lt", "le") if schema.get(key) is not None}
        if schema.get("multiple_of") is not None:
            bounds["multiple_of"] = float(schema["multiple_of"])
        number = self.float_schema({"type": "float", "allow_inf_nan": False, **bounds})
        if places is None and not has_bounds:
            return {"anyOf": [number, _DECIMAL]}
        # Each part is a schema of its own, because a keyword may occur in several of them.
        parts: list[Any] = []
        if digits is not None:
            places = min(places or 0, digits)
            limit = 10 ** (digits - places)
            parts.append({"exclusiveMinimum": -limit, "exclusiveMaximum": limit})
            if digits == places:
                # Zero has a digit before the point, which is one too many.
                parts.append({"not": {"const": 0}})
        if places is not None:
            parts.append({"multipleOf": float(f"1e-{places}") if places else 1})
        return {**number, "allOf": parts} if parts else number

    def dict_schema(self, schema: Any) -> Any:
        made = super().dict_schema(schema)
        if "patternProperties" in made:
            made.setdefault("additionalProperties", False)
        if schema.get("keys_schema", {}).get("type") == "int":
            made["propertyNames"] = {"pattern": "^(?:0|-?[1-9][0-9]*)$"}
        return made

    def url_schema(self, schema: Any) -> Any:
        made, schemes = super().url_schema(schema), schema.get("allowed_schemes")
        if not schemes:
            return made
        return {**made, "pattern": rf"^(?:{'|'.join(schemes)})://{_LABEL}(?:\.{_LABEL})*(?::[0-9]{{1,4}})?(?:[/?#]|$)"}


def _zoned(schema: Any, without: dict[str, Any], with_zone: dict[str, Any]) -> dict[str, Any]:
    """The schema of the texts without or with a time zone, or of both, as the core schema allows."""
    constraint = schema.get("tz_constraint")
    if constraint is None:
        return {"anyOf": [with_zone, without]}
    return without if constraint == "naive" else with_zone


def _is_taken(validator: SchemaValidator, value: Any) -> bool:
    try:
        validator.validate_json(to_json(value))
    except ValidationError:
        return False
    return True


def _inside(bound: Any, key: str) -> float:
    """The float closest to a bound of a Decimal, on the side that it allows."""
    near = float(bound)
    exact = decimal.Decimal(repr(near))
    if key in ("gt", "ge"):
        return math.nextafter(near, math.inf) if exact < bound else near
    return math.nextafter(near, -math.inf) if exact > bound else near


def _with_known_formats(schema: Any) -> Any:
    """A schema in which Pydantic's own formats are said with the keywords of JSON Schema, as far as that is possible."""
    if isinstance(schema, list):
        return [_with_known_formats(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: _with_known_formats(item) for key, item in schema.items()}
    if made.get("type") != "string":
        return made
    version = re.fullmatch("uuid([1-8])", str(made.get("format")))
    if version:
        made |= {"format": "uuid", "pattern": f"^.{{14}}{version[1]}.{{4}}[89ab]"}
    if made.get("format") in ("binary", "password", "path"):
        del made["format"]
    return made
