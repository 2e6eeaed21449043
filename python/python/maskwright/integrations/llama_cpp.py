"""`LogitsProcessor`: llama-cpp-python writes only what a grammar allows.

>>> from maskwright.integrations.llama_cpp import LogitsProcessor
>>> llama(prompt, max_tokens=200, logits_processor=LogitsProcessorList([LogitsProcessor(Person, llama=llama)]))
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright._apply import apply_token_bitmask_inplace
from maskwright._maskwright import CompiledGrammar, Compiler, Tokenizer
from maskwright._trace import Trace
from maskwright.integrations._session import Call, Session, compiler_of, grammars_of, running_call, traces_of

if TYPE_CHECKING:
    import numpy.typing as npt


class LogitsProcessor:
    """Allows only what a grammar does, in the calls of a `llama_cpp.Llama`.

    * `grammar`: a `CompiledGrammar`, or anything that `Compiler.compile` takes, such as a Pydantic model or a JSON Schema
      as a dict.
    * `llama`: the model, whose vocabulary is read from its GGUF file; or a `Tokenizer` or `Compiler` of this package. Only
      a grammar that isn't compiled needs it. The compiler made for a model is kept as long as that lives.
    * `max_tokens`: the most tokens of a text, the end-of-sequence token included. The `max_tokens` of a completion
      limits it by itself: texts are complete within them.
    * `trace`: a `Trace` that shows the last text. llama.cpp does not say which token was
      chosen last: the trace has it only if no other was allowed.

    A processor can be used for one call after the other, and with a draft model.

    llama.cpp calls processors through C code, which no exception can pass. So if something goes wrong (no text fits
    `max_tokens`, for example), the text ends at once, Python prints the exception, and it is in `error`.
    """

    error: Exception | None
    """What went wrong in the last call, if anything did."""

    def __init__(
        self, grammar: object, llama: Any = None, max_tokens: int | None = None, *, trace: Trace | None = None
    ) -> None:
        grammars = grammars_of(grammar, lambda: _compiler(llama))
        if len(grammars.each) != 1:
            raise ValueError(f"{len(grammars.each)} grammars, expected one: llama-cpp-python writes one text at a time")
        self._grammar: CompiledGrammar = grammars.each[0]
        traces = traces_of(trace)
        if len(traces) > 1:
            raise ValueError(f"{len(traces)} traces, expected one: llama-cpp-python writes one text at a time")
        self._session = Session(grammars, max_tokens, traces)
        self.error = None

    def reset(self) -> None:
        """The next call begins a new text. Completions do so by themselves."""
        self._session.reset()

    def __call__(self, input_ids: npt.NDArray[np.intc], scores: npt.NDArray[np.single]) -> npt.NDArray[np.single]:
        """The scores, with minus infinity for each token that the grammar does not allow.

        `input_ids`: the tokens of the prompt and of the text so far. `scores`: one for each token of the vocabulary.
        """
        self.error = None
        try:
            ids, call = self._call(np.asarray(input_ids))
            masked = np.array(scores)
            mask = self._session.masks(ids[None], masked[None], call)
            apply_token_bitmask_inplace(masked, mask[0])
        except Exception as error:
            self.error = error
            # The exception is printed and otherwise lost: let the text end, rather than go on without the grammar.
            ends = self._ends(len(scores))
            if ends:
                scores[:] = -np.inf
                scores[ends] = 0
            raise
        return masked

    def _ends(self, width: int) -> list[int]:
        """The tokens that end a text: the grammar's, or the model's own if those are not among the scores."""
        ends = [id for id in self._grammar.tokenizer.eos_token_ids if id < width]
        loop = None if ends else running_call("llama_cpp.llama", "generate", self._is_of)
        return [loop["self"].token_eos()] if loop is not None and "self" in loop else ends

    def _is_of(self, local: Mapping[str, Any]) -> bool:
        """Whether a running call of the host uses this processor."""
        return any(processor is self for processor in local.get("logits_processor") or ())

    def _call(self, ids: npt.NDArray[np.intc]) -> tuple[npt.NDArray[np.intc], Call]:
        """The tokens before the one to be chosen, and the data of the running completion."""
        module = "llama_cpp.llama"
        loop = running_call(module, "generate", self._is_of)
        if loop is None:
            return ids, Call()
        # With a draft model, the tokens after `sample_idx` are drafts.
        ids = ids[: loop["sample_idx"] + 1]
        completion = running_call(module, "_create_completion", self._is_of)
        max_length = None if completion is None else len(completion["prompt_tokens"]) + completion["max_tokens"]
        # The list that `generate` makes of its prompt and keeps.
        return ids, Call(key=loop["tokens"], max_length=max_length)


def _compiler(llama: Any) -> Compiler:
    return compiler_of(
        llama,
        "`llama`, the model",
        lambda: llama.model_path,
        lambda: Tokenizer.from_gguf(llama.model_path, vocab_size=llama.n_vocab()),
    )
