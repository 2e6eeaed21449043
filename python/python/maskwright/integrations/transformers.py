"""`LogitsProcessor`: `model.generate` of `transformers` writes only what a grammar allows.

>>> from maskwright.integrations.transformers import LogitsProcessor
>>> model.generate(**inputs, max_new_tokens=200, logits_processor=[LogitsProcessor(Person, tokenizer=tokenizer)])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from maskwright._apply import apply_token_bitmask_inplace
from maskwright._trace import Trace
from maskwright.integrations._session import Call, Session, compiler_of_hf, grammars_of, running_call, traces_of

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch

Scores = TypeVar("Scores", bound="npt.NDArray[Any] | torch.Tensor")

#: How `generate` names the ways in which every token of a row is one that a processor allowed.
_WITHOUT_DRAFTS = ("greedy_search", "sample")


class LogitsProcessor:
    """Allows only what a grammar does, in `generate` and in a loop of your own.

    * `grammar`: one for all rows, or a list with one for each prompt of the batch: a `CompiledGrammar`, or anything that
      `Compiler.compile` takes, such as a Pydantic model or a JSON Schema as a dict.
    * `tokenizer`: the model's tokenizer, as `transformers` loads it, or a `Tokenizer` or `Compiler` of this package. Only
      a grammar that isn't compiled needs it. The compiler made for a tokenizer of `transformers` is kept as long as that
      lives.
    * `max_tokens`: the most tokens of a text, the end-of-sequence token included. In `generate`, `max_new_tokens` or
      `max_length` limits it by itself: texts are complete within them, and a limit that is too low for any text is a
      ValueError.
    * `trace`: a `Trace` that shows the last generation, or a list with one for each row. Not for beams.

    Sampling, beam search, assisted decoding, `num_return_sequences`, left padding and scores wider than the tokenizer
    work as they are. Texts end with the ids at which `generate` stops. The scores are not changed in place. A processor
    can be used again, but not for two calls at once.

    In a loop of your own, a text goes on as long as each call has the rows of the last one and up to one more token;
    anything else begins anew, and so does the call after `reset()`.

    Raises ValueError if a row has a token that was not allowed, or if a grammar was compiled for a tokenizer of more tokens
    than there are scores; warns if it has far fewer.
    """

    #: `generate_batch` gives a processor the tokens of many requests in one row, without saying whose they are.
    supports_continuous_batching = False

    def __init__(
        self,
        grammar: object,
        tokenizer: Any = None,
        max_tokens: int | None = None,
        *,
        trace: Trace | Sequence[Trace] | None = None,
    ) -> None:
        grammars = grammars_of(grammar, lambda: compiler_of_hf(tokenizer))
        self._session = Session(grammars, max_tokens, traces_of(trace))

    def reset(self) -> None:
        """The next call begins a new generation. Calls of `generate` do so by themselves."""
        self._session.reset()

    def __call__(self, input_ids: Any, scores: Scores) -> Scores:
        """The scores, with minus infinity for each token that the grammar does not allow.

        `input_ids`: (rows, tokens), the prompts and the texts so far. `scores`: (rows, vocabulary).
        """
        if len(input_ids.shape) != 2 or len(scores.shape) != 2 or input_ids.shape[0] != scores.shape[0]:
            raise ValueError(
                f"input_ids of shape {tuple(input_ids.shape)} with scores of shape {tuple(scores.shape)}, "
                "expected (rows, tokens) with (rows, vocabulary)"
            )
        mask = self._session.masks(input_ids, scores, self._call())
        masked = scores.copy() if isinstance(scores, np.ndarray) else scores.clone()
        apply_token_bitmask_inplace(masked, mask)
        return cast("Scores", masked)

    def _call(self) -> Call:
        """What the running `generate` says."""

        def has_this(local: Mapping[str, Any]) -> bool:
            return any(processor is self for processor in local.get("prepared_logits_processor", ()))

        # The outermost: an assistant model's `generate` runs inside of the one that the user called.
        local = running_call("transformers.generation.utils", "generate", has_this)
        if local is None:
            return Call()
        config = local["generation_config"]
        self._follow_last_token(local)
        return Call(
            key=config,
            max_length=config.max_length,
            ends=lambda: _ids(config, "_eos_token_tensor"),
            pads=lambda: _ids(config, "_pad_token_tensor"),
            has_beams="beam" in local["generation_mode"],
            drafts=local["generation_mode"] not in _WITHOUT_DRAFTS,
        )

    def _follow_last_token(self, local: Mapping[str, Any]) -> None:
        """Adds a criterion to those of the running `generate` if there are traces: a processor does not see the last token."""
        criteria = local.get("prepared_stopping_criteria")
        if not self._session.traces or not isinstance(criteria, list):
            return
        if not any(isinstance(one, _Follower) and one.session is self._session for one in criteria):
            criteria.append(_Follower(self._session))


class _Follower:
    """A stopping criterion that stops nothing, and tells the traces what was written."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def __call__(self, input_ids: Any, scores: Any, **kwargs: Any) -> bool:
        self.session.follow(input_ids)
        return False


def _ids(config: Any, name: str) -> Sequence[int] | None:
    """Token ids that `generate` has put into a tensor, or None."""
    tensor = getattr(config, name, None)
    return None if tensor is None else tensor.flatten().tolist()
