"""`LogitsProcessor`: mlx-lm and mlx-vlm write only what a grammar allows.

>>> from maskwright.integrations.mlx import LogitsProcessor
>>> generate(model, tokenizer, prompt, logits_processors=[LogitsProcessor(Person, tokenizer)])
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import mlx.core as mx
import numpy as np

from maskwright._maskwright import Compiler, Tokenizer
from maskwright._trace import Trace
from maskwright.integrations._session import Call, Session, compiler_of, compiler_of_hf, grammars_of, running_call, traces_of

#: The functions that run one generation, which have the loop's `max_tokens` and a `_step` of their own.
_LOOPS = [
    ("mlx_lm.generate", "generate_step"),
    ("mlx_lm.generate", "speculative_generate_step"),
    ("mlx_vlm.generate.ar", "generate_step"),
]


class LogitsProcessor:
    """Allows only what a grammar does, in mlx-lm, in mlx-vlm and in a loop of your own.

    * `grammar`: a `CompiledGrammar`, or anything that `Compiler.compile` takes, such as a Pydantic model or a JSON Schema
      as a dict.
    * `tokenizer`: the model's tokenizer, as `mlx_lm.load` or transformers loads it, or a `Tokenizer` or `Compiler` of this
      package. Only a grammar that isn't compiled needs it.
    * `max_tokens`: the most tokens of a text, the end-of-sequence token included. The `max_tokens` of mlx-lm limits it by
      itself: texts are complete within them.
    * `trace`: a `Trace` that shows the text. Not for batches.

    Sampling, speculative decoding and `BatchGenerator` work as they are. One processor can be used for several sequences of
    mlx-lm's `BatchGenerator`, and for one generation after the other. mlx-vlm makes a `clone()` for each sequence.

    In a loop of your own, a text goes on as long as each call has the tokens of the last one and up to one more; anything
    else begins anew, and so does the call after `reset()`. The first call of a text begins it, whatever its tokens are.

    Raises ValueError for a token that was not allowed, and MaxTokensTooSmall if no text is so short.
    """

    #: mlx-vlm does not hold such a token back for the prompts of others.
    requires_immediate_decode_yield = True

    def __init__(
        self, grammar: object, tokenizer: Any = None, max_tokens: int | None = None, *, trace: Trace | None = None
    ) -> None:
        self._grammars = grammars_of(grammar, lambda: _compiler(tokenizer))
        if len(self._grammars.each) != 1:
            raise ValueError(f"{len(self._grammars.each)} grammars, expected one: each sequence has a processor")
        self._max_tokens = max_tokens
        self._traces = traces_of(trace)
        if len(self._traces) > 1:
            raise ValueError(f"{len(self._traces)} traces, expected one: each sequence has a processor")
        self.reset()

    def reset(self) -> None:
        """The next call begins a new text. mlx-lm's own generations do so by themselves."""
        #: By what a host keeps as long as it writes a sequence.
        self._sessions: WeakKeyDictionary[Any, Session] = WeakKeyDictionary()
        self._own = self._session()
        #: The tokens so far, for calls that pass only the last one.
        self._ids: list[int] = []

    def clone(self) -> LogitsProcessor:
        """A processor for another sequence of the same grammar, at its beginning."""
        # Without the trace, which is of one text.
        return LogitsProcessor(self._grammars.each[0], None, self._max_tokens)

    def __call__(self, tokens: mx.array, logits: mx.array) -> mx.array:
        """The logits, with minus infinity for each token that the grammar does not allow.

        `tokens`: those of the sequence so far, (tokens,) or (1, tokens). `logits`: (1, vocabulary), or (vocabulary,).
        """
        # Waits for the token that was chosen last.
        ids = np.array(tokens, dtype=np.int64).reshape(-1)
        self._ids = ids.tolist()
        owner, call = self._running(len(ids))
        session = self._own if owner is None else self._sessions.get(owner)
        if session is None:
            session = self._sessions[owner] = self._session()
        return self._masked(session, ids, logits, call)

    def process_last_token(self, last_token: int, logits: mx.array) -> mx.array:
        """The same, given only the token that was chosen last; at the beginning of a text, the last of the prompt."""
        self._ids.append(last_token)
        return self._masked(self._own, np.array(self._ids, dtype=np.int64), logits, Call())

    def prepare_next_token_mask(self, last_token: int) -> mx.array:
        """The mask itself, int32 (1, words), after the token that was chosen last."""
        self._ids.append(last_token)
        n_vocab = self._grammars.each[0].tokenizer.vocab_size
        ids = np.array([self._ids], dtype=np.int64)
        return mx.array(self._own.masks(ids, np.empty((1, n_vocab), dtype=np.bool_), Call()))

    def _session(self) -> Session:
        return Session(self._grammars, self._max_tokens, self._traces)

    def _masked(self, session: Session, ids: np.ndarray[Any, np.dtype[np.int64]], logits: mx.array, call: Call) -> mx.array:
        if logits.ndim == 1:
            return self._masked(session, ids, logits[None], call)[0]
        if logits.shape[0] != 1:
            raise ValueError(f"logits of shape {tuple(logits.shape)}, expected (1, vocabulary): each sequence has a processor")
        scores = np.array(logits.astype(mx.float32)) if self._traces else logits
        words = mx.array(session.masks(ids[None], scores, call).view(np.uint32))
        bits = (words[:, :, None] >> mx.arange(32, dtype=mx.uint32)) & 1
        allowed = bits.reshape(1, -1)[:, : logits.shape[1]].astype(mx.bool_)
        return mx.where(allowed, logits, mx.array(-mx.inf, dtype=logits.dtype))

    def _running(self, n_tokens: int) -> tuple[Any, Call]:
        """What a host keeps for the sequence of this call, and what it says of it."""

        def uses_this(local: Mapping[str, Any]) -> bool:
            return any(processor is self for processor in local.get("logits_processors") or ())

        for module, function in _LOOPS:
            local = running_call(module, function, uses_this)
            if local is not None and "_step" in local:
                return local["_step"], self._limited(n_tokens, local.get("max_tokens"), drafts="draft_model" in local)
        local = running_call("mlx_lm.generate", "_step", lambda local: local.get("processor") is self and "e" in local)
        batch = {} if local is None else vars(local["self"])
        if local is None or "_token_context" not in batch:
            return None, Call()
        row = local["e"]
        return batch["_token_context"][row], self._limited(n_tokens, batch["max_tokens"][row])

    @staticmethod
    def _limited(n_tokens: int, max_tokens: int | None, drafts: bool = False) -> Call:
        max_length = None if max_tokens is None or max_tokens < 0 else n_tokens + max_tokens
        # One session for each sequence: a call of it goes on.
        return Call(key=True, max_length=max_length, drafts=drafts)


def _compiler(tokenizer: Any) -> Compiler:
    """The compiler for a tokenizer of transformers, or for mlx-lm's, which has one of those and more tokens that end a text."""
    wrapped = vars(tokenizer).get("_tokenizer") if hasattr(tokenizer, "_eos_token_ids") else None
    if wrapped is None:
        return compiler_of_hf(tokenizer)
    ends = sorted(tokenizer.eos_token_ids)
    return compiler_of(
        wrapped,
        "`tokenizer`, the tokenizer of the model",
        lambda: (len(wrapped), *ends),
        lambda: Tokenizer.from_hf(wrapped, eos_token_ids=ends),
    )
