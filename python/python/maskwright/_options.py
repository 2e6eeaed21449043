"""Options that several methods share, as a type."""

from typing import Any, Literal, TypedDict


class WrittenJson(TypedDict, total=False):
    """How JSON is written."""

    property_order: Literal["schema", "any"]
    whitespace: Literal["flexible", "compact", "any"]
    max_whitespace: int | None
    numbers: Literal["plain", "any"]


class SupportOptions(WrittenJson, total=False):
    """The options of `supported`."""

    documents: dict[str, Any] | None


class JsonOptions(WrittenJson, total=False):
    """How JSON is written, and what becomes of keywords that cannot be enforced: keyword arguments of `compile_json_schema`,
    `compile_structural_tag` and `compile_tool_calls`, of `compile` for a schema or type, and (but for `strict`) of `compile_lark`.

    >>> options: maskwright.JsonOptions = {"property_order": "any", "whitespace": "compact"}
    >>> tokenizer = maskwright.Tokenizer.from_tokens([b"[", b"]", b"</s>"], eos_token_ids=[2])
    >>> maskwright.Compiler(tokenizer).compile_json_schema({"maxItems": 0, "type": "array"}, **options).check("[]").is_valid
    True
    """

    strict: bool
