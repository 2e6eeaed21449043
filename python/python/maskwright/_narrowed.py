"""Pydantic's generator of schemas, narrower where the validator takes less than the schema says. Types are compiled with it:

* the tag of a discriminated union is there, even if it has a default;
* dates are from the year 1 on, without leap seconds, and without a time zone for `NaiveDatetime`;
* the numbers in a duration have at most six digits;
* a Decimal is finite and keeps its digits, places and bounds: as a number if it has bounds or places, else as a string if
  it has a number of digits. With digits and bounds but no places it is a whole number;
* a float that may not be infinite is at most 1e308, and none is so close to an exclusive bound that it is rounded to it;
* keys of a dict are integers if they are `int`, and match their pattern if they have one;
* UUIDs have the version of their type, and formats that any string satisfies are left out, so that no warning is about them;
* a URL with given schemes has one of them and a plain host name.

This module needs Pydantic, so it is imported only for a type that Pydantic knows.
"""

from __future__ import annotations

import math
import re
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

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
_FINITE = {"minimum": -1e308, "maximum": 1e308}


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
        if schema.get("tz_constraint") == "naive":
            return {"type": "string", "pattern": f"^{_DATE}T{_CLOCK}$"}
        return {**super().datetime_schema(schema), "pattern": "^(?!0000).{17}[0-5]"}

    def time_schema(self, schema: Any) -> Any:
        if schema.get("tz_constraint") == "naive":
            return {"type": "string", "pattern": f"^{_CLOCK}$"}
        return {**super().time_schema(schema), "pattern": "^.{6}[0-5]"}

    def timedelta_schema(self, schema: Any) -> Any:
        made = super().timedelta_schema(schema)
        return made if made["type"] != "string" else {**made, "pattern": "^(?!.*[0-9]{7})"}

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
        bounds = {key: float(schema[key]) for key in ("gt", "ge", "lt", "le", "multiple_of") if schema.get(key) is not None}
        number = self.float_schema({"type": "float", "allow_inf_nan": False, **bounds})
        if places is None and not has_bounds:
            return {"anyOf": [number, _DECIMAL]}
        if digits is not None:
            places = places or 0
            limit = 10 ** max(digits - places, 0) - 10.0**-places
            number = {**number, "minimum": max(number["minimum"], -limit), "maximum": min(number["maximum"], limit)}
        if places is not None:
            number.setdefault("multipleOf", 10.0**-places if places else 1)
        return number

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
