"""Constrained decoding: a language model that can only write what a grammar allows.

A `Tokenizer` (a model's vocabulary), a `Compiler` for it, the `CompiledGrammar` it makes from a type, a JSON Schema,
a regular expression, a GBNF or Lark grammar or a list of choices, and a `Matcher` for each sequence, which says at
each step exactly which tokens may come next:

>>> import maskwright
>>> tokenizer = maskwright.Tokenizer.from_tokens([b"yes", b"no", b"n", b"o", b"</s>"], eos_token_ids=[4])
>>> grammar = maskwright.Compiler(tokenizer).compile_choice(["no"])
>>> matcher = maskwright.Matcher(grammar)
>>> mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
>>> matcher.fill_next_token_bitmask(mask)
True
>>> [token for token in range(tokenizer.vocab_size) if mask[0, token // 32] >> token % 32 & 1]
[1, 2]

A `Matcher` with `max_tokens` is complete within them. A `Template` (fixed pieces and holes) and a `Canvas` (known and
masked tokens) fill in texts of which some parts are known.

Bad input raises `GrammarError`, `SchemaError`, `TokenizerError`, `LimitError`, `MaxTokensTooSmall` or `BatchError`: `Error`s,
which are `ValueError`s. The message has the place, and so do the attributes `pointer`, `keyword`, `line`, `column`, `path` and `hint`:

>>> try:
...     maskwright.Compiler(tokenizer).compile_json_schema({"properties": {"a": {"type": "text"}}})
... except maskwright.SchemaError as error:
...     print(error.pointer, error.keyword)
/properties/a type

A cancelled compilation raises `WorkCancelled`, and a bug of this package
`InternalError`, which are `RuntimeError`s.

Compile and fill masks on as many threads as you like; a process that forks meanwhile leaves its child able to go on.
"""

import os
import warnings

from maskwright import _allocator, _maskwright  # noqa: F401
from maskwright._apply import apply_token_bitmask_inplace
from maskwright._decoder import Decoder
from maskwright._events import collect, partial, stream_chunks
from maskwright._maskwright import (
    BatchError,
    CancelToken,
    Canvas,
    Capture,
    Check,
    CompiledGrammar,
    Compiler,
    Error,
    Event,
    GrammarError,
    GrammarWarning,
    Hole,
    Hypothesis,
    InternalError,
    Keyword,
    Likeliest,
    LimitError,
    MaxTokensTooSmall,
    Matcher,
    Message,
    Next,
    ReportEntry,
    SchemaError,
    SchemaWarning,
    State,
    Template,
    Tokenizer,
    TokenizerError,
    ToolCall,
    WorkCancelled,
    __version__,
    allocate_token_bitmask,
    fill_next_token_bitmask_batch,
    likeliest_batch,
    tool_formats,
)
from maskwright._options import JsonOptions
from maskwright._report import Report
from maskwright._supported import Support, supported, supported_schema
from maskwright._trace import Trace
from maskwright._types import schema_from

__all__ = [
    "BatchError",
    "CancelToken",
    "Canvas",
    "Capture",
    "Check",
    "CompiledGrammar",
    "Compiler",
    "Decoder",
    "Error",
    "Event",
    "GrammarError",
    "GrammarWarning",
    "Hole",
    "Hypothesis",
    "InternalError",
    "JsonOptions",
    "Keyword",
    "Likeliest",
    "LimitError",
    "MaxTokensTooSmall",
    "Matcher",
    "Message",
    "Next",
    "Report",
    "ReportEntry",
    "SchemaError",
    "SchemaWarning",
    "State",
    "Support",
    "Template",
    "Tokenizer",
    "TokenizerError",
    "ToolCall",
    "Trace",
    "WorkCancelled",
    "__version__",
    "allocate_token_bitmask",
    "apply_token_bitmask_inplace",
    "collect",
    "fill_next_token_bitmask_batch",
    "likeliest_batch",
    "partial",
    "schema_from",
    "stream_chunks",
    "supported",
    "supported_schema",
    "tool_formats",
]



def __getattr__(name: str) -> object:
    if name == "CancelledError":
        warnings.warn("CancelledError is called WorkCancelled now", DeprecationWarning, stacklevel=2)
        return WorkCancelled
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# A thread that holds a lock of ours when the process forks would be missing in the child.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_maskwright._before_fork,
        after_in_parent=_maskwright._after_fork_in_parent,
        after_in_child=_maskwright._after_fork_in_child,
    )
