"""What SGLang's requests and its command line ask for, as the compiler takes it. Knows nothing of SGLang's modules."""

from __future__ import annotations

import json
from typing import Any

from maskwright._maskwright import GrammarError
from maskwright.integrations._serving.options import Whitespace
from maskwright.integrations._serving.specs import Spec, is_gbnf, whitespace_of


def whitespace_in(serving: Any) -> Whitespace | None:
    """What the command line says about white space in JSON, if it says something.

    Raises GrammarError for a pattern that is not supported.
    """
    if serving.constrained_json_disable_any_whitespace or serving.constrained_json_max_whitespace_cnt == 0:
        return "compact"
    pattern = serving.constrained_json_whitespace_pattern
    return None if pattern is None else whitespace_of(pattern)


def as_structural_tag(text: str) -> str:
    """A structural tag as xgrammar takes it. SGLang's tool parsers leave out schemas, and its older form has `at_least_one`.

    Raises GrammarError if it isn't JSON.
    """
    try:
        tag = json.loads(text)
        if not isinstance(tag, dict):
            return text
        if "structures" not in tag:
            return json.dumps(_with_schemas(tag))
    except (ValueError, RecursionError) as error:
        raise GrammarError(f"the structural tag is not JSON, or nested too deeply: {error}") from None
    at_least_one = tag.pop("at_least_one", False)
    old = tag["structures"]
    if isinstance(old, list):
        old = tag["structures"] = [_with_schema(each, "schema") for each in old]
    is_whole = isinstance(old, list) and "triggers" in tag
    is_whole = is_whole and all(isinstance(each, dict) and each.keys() == {"begin", "schema", "end"} for each in old)
    if not at_least_one or not is_whole:
        # What is wrong with it is said when it is compiled.
        return json.dumps(tag)
    tags = [
        {"type": "tag", "begin": each["begin"], "content": {"type": "json_schema", "json_schema": each["schema"]}, "end": each["end"]}
        for each in old
    ]
    made = {"type": "triggered_tags", "triggers": tag["triggers"], "tags": tags, "at_least_one": at_least_one}
    return json.dumps({"type": "structural_tag", "format": made})


def _with_schema(value: Any, field: str) -> Any:
    return value | {field: {}} if isinstance(value, dict) and value.get(field) is None else value


def _with_schemas(value: Any) -> Any:
    """A format in which each content that lacks its JSON Schema has `{}`. What is within a schema stays as it is."""
    if isinstance(value, list):
        return [_with_schemas(each) for each in value]
    if not isinstance(value, dict):
        return value
    if value.get("type") in ("json_schema", "qwen_xml_parameter"):
        return _with_schema(value, "json_schema")
    return {key: _with_schemas(each) for key, each in value.items()}


def as_format(spec: Spec) -> dict[str, Any] | None:
    """A spec as a part of a structural tag; None if it can't be one."""
    if spec.kind == "json":
        return {"type": "json_schema", "json_schema": json.loads(spec.text)}
    if spec.kind == "regex":
        return {"type": "regex", "pattern": spec.text}
    if spec.kind == "structural_tag":
        made: dict[str, Any] | None = json.loads(spec.text).get("format")
        return made
    return {"type": "grammar", "grammar": spec.text} if is_gbnf(spec.text) else None
