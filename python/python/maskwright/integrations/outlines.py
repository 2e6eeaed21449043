"""`processor`: a generator of Outlines writes only what a grammar allows.

>>> from maskwright.integrations.outlines import processor
>>> generator = outlines.Generator(model, processor=processor(Person, model=model))
"""

from __future__ import annotations

from typing import Any

from maskwright.integrations import llama_cpp, transformers


def processor(
    grammar: object, model: Any, max_tokens: int | None = None
) -> transformers.LogitsProcessor | llama_cpp.LogitsProcessor:
    """The processor of a grammar for `outlines.Generator(model, processor=…)`.

    * `grammar`: a `CompiledGrammar`, or anything that `Compiler.compile` takes, such as a Pydantic model or a JSON Schema
      as a dict. For the batches of `outlines.from_transformers`, also a list with one for each prompt.
    * `model`: the model of Outlines, made by `outlines.from_transformers` or `outlines.from_llamacpp`.
    * `max_tokens`: the most tokens of a text. What a call of the generator gives the host (`max_new_tokens`,
      `max_tokens`) limits it by itself.

    Raises TypeError for a model of another kind.
    """
    kind = type(model).__name__
    # By name, so that nothing is imported; multimodal models are a class of their own.
    if any(base.__name__ == "Transformers" for base in type(model).__mro__):
        return transformers.LogitsProcessor(grammar, tokenizer=model.hf_tokenizer, max_tokens=max_tokens)
    if kind == "LlamaCpp":
        return llama_cpp.LogitsProcessor(grammar, llama=model.model, max_tokens=max_tokens)
    raise TypeError(
        f"a model of outlines.from_transformers or outlines.from_llamacpp is expected, not {kind}: others don't take "
        "processors, or their arrays are not supported"
    )
