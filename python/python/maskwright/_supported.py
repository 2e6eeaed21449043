"""What of a schema would be enforced, without a model's tokenizer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

from maskwright._maskwright import Compiler, Error, Tokenizer, _supported_schema
from maskwright._report import Report

if TYPE_CHECKING:
    from maskwright._maskwright import ReportEntry
    from maskwright._options import SupportOptions


@dataclass(frozen=True)
class Support:
    """Whether a schema would be enforced in full, and what would not be, and why: what `supported` finds. It is true if all
    of it would be. `print` lists the reasons.

    * `report`: what becomes of each keyword, as `CompiledGrammar.report` has it. Empty if there is an error.
    * `error`: what `compile_json_schema` raises even with `strict=False`: the schema is wrong, allows no value, or takes too
      much work. None if nothing.
    """

    report: Report
    error: Error | None = None

    @property
    def unenforced(self) -> list[ReportEntry]:
        """The entries of the report that are not enforced: `compile_json_schema` refuses the schema if there is one."""
        return [entry for entry in self.report if entry.status == "not enforced"]

    def __bool__(self) -> bool:
        return self.error is None and not self.unenforced

    def __str__(self) -> str:
        if self.error is not None:
            return f"cannot be compiled: {self.error}"
        reasons = [f"`{entry.keyword}` at {entry.pointer or 'the root'}: {entry.reason}" for entry in self.unenforced]
        return "\n".join(["not enforced:", *reasons]) if reasons else "enforced in full"


def supported(schema: Any, **options: Unpack[SupportOptions]) -> Support:
    """Says what of a JSON Schema would be enforced, and why the rest would not be. It needs no tokenizer: the answer is the
    same for all that have every byte.

    * `schema`, `options`: as for `compile_json_schema`.

    >>> support = maskwright.supported({"type": "string", "pattern": r"^(a+)-\\1$"})
    >>> bool(support), support.unenforced[0].keyword
    (False, 'pattern')
    >>> print(maskwright.supported({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}))
    enforced in full

    Raises TypeError and OSError as `compile_json_schema` does. What is wrong with a schema is told, not raised. Warns
    (SchemaWarning) about keywords that are probably misspelt.
    """
    try:
        grammar = _compiler().compile_json_schema(schema, strict=False, **options)
    except Error as error:
        return Support(Report(), error)
    return Support(grammar.report)


def supported_schema() -> dict[str, Any]:
    """A JSON Schema of schemas that are enforced in full, for validators, forms and models. It accepts fewer than `supported`
    does. Three things it cannot say: that each `$ref` leads to a schema, that some value is allowed, and that limits suffice.

    >>> maskwright.supported_schema()["title"]
    'JSON Schemas that Maskwright enforces in full'
    """
    schema: dict[str, Any] = json.loads(_supported_schema())
    return schema


#: A compiler for single bytes, made when it is first needed.
_COMPILERS: list[Compiler] = []


def _compiler() -> Compiler:
    if not _COMPILERS:
        tokens = [bytes([byte]) for byte in range(256)] + [b""]
        _COMPILERS.append(Compiler(Tokenizer.from_tokens(tokens, eos_token_ids=[256])))
    return _COMPILERS[0]
