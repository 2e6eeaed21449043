"""`Text`: one request's text in vLLM, what vLLM calls a `StructuredOutputGrammar`. Knows nothing of vLLM's modules.

vLLM calls it from its engine's thread. A call that raised there would end the engine and all its requests, so no
method raises: a text that fails says why in the log and refuses its next token, with which vLLM ends that request.

Limit: a request may write `limit` tokens, of which `n_before` come before the text (reasoning). The text is complete
within `limit - n_before`. What comes before is known only when the text begins, so the matcher is made then. Drafted
tokens may begin a text and be rolled back; the limit is then settled again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from maskwright._maskwright import BatchError, CompiledGrammar, Matcher, fill_next_token_bitmask_batch

if TYPE_CHECKING:
    import torch

#: A child of vLLM's own logger, so that lines look like vLLM's.
LOG = logging.getLogger("vllm.maskwright")


class Text:
    """The text of one request under `grammar`.

    * `stop_token_ids`: the tokens that end it beside the tokenizer's own.
    * `limit`: the most tokens of the request's output; None for no limit.
    * `batch`: where masks are collected and then filled together, if at all.

    Raises ValueError, with the least number, if every text is longer than `limit`.
    """

    def __init__(
        self,
        grammar: CompiledGrammar,
        stop_token_ids: Iterable[int] = (),
        limit: int | None = None,
        batch: Batch | None = None,
    ) -> None:
        self._grammar = grammar
        own_ends = set(grammar.tokenizer.eos_token_ids)
        self._stops = sorted(set(stop_token_ids) - own_ends) or None
        self._limit = limit
        self._batch = batch
        self._n_before = 0
        self._error: Exception | None = None
        self._matcher: Matcher | None = Matcher(grammar, limit, self._stops)

    def begins_after(self, n: int) -> None:
        """The text begins after the first `n` tokens of the request's output. Without effect once it has begun."""
        if n == self._n_before or (self._matcher is not None and self._matcher.n_tokens > 0):
            return
        self._n_before = n
        if self._limit is not None:
            self._matcher = None

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Accepts tokens, and returns whether all are allowed. Tokens after the end of the text count as allowed."""
        if self._error is not None:
            return False
        try:
            matcher = self._begun()
            if matcher.is_terminated():
                return True
            n = matcher.accept_tokens(tokens)
            if n == len(tokens) or matcher.is_terminated():
                return True
            LOG.error("request %s has a token that was not allowed: %s", request_id, matcher.explain(tokens[n]))
        except Exception as error:
            self._fail(error)
        return False

    def validate_tokens(self, tokens: list[int]) -> list[int]:
        """The first tokens that would be accepted. The state does not change."""
        if self._error is not None:
            return []
        try:
            matcher = self._begun()
            return [] if matcher.is_terminated() else tokens[: matcher.validate_tokens(tokens)]
        except Exception as error:
            self._fail(error)
            return []

    def rollback(self, num_tokens: int) -> None:
        """Undoes the last accepted tokens."""
        if num_tokens > 0 and self._error is None:
            try:
                self._begun().rollback(num_tokens)
            except Exception as error:
                self._fail(error)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Writes which tokens may come next into a row, now or with the other rows of the step."""
        matcher = None
        try:
            matcher = self._begun()
            if self._batch is not None and self._batch.is_open:
                self._batch.rows.append((self, matcher, bitmask, batch_index))
                return
            matcher.fill_next_token_bitmask(bitmask, batch_index)
        except Exception as error:
            self._fail(error)
        if self._error is not None:
            # Some token has to be sampled, and is then refused.
            bitmask[batch_index] = -1

    def is_terminated(self) -> bool:
        """Whether the text has ended."""
        return self._error is None and self._matcher is not None and self._matcher.is_terminated()

    def reset(self) -> None:
        """Goes back to the beginning of the text."""
        self._error = None
        if self._matcher is not None:
            self._matcher.reset()

    def _begun(self) -> Matcher:
        """The matcher, whose limit is what the tokens before the text have left."""
        if self._matcher is None:
            limit = None if self._limit is None else max(self._limit - self._n_before, 0)
            try:
                self._matcher = Matcher(self._grammar, limit, self._stops)
            except ValueError as error:
                LOG.warning("%d tokens were written before the text, which will be cut off: %s", self._n_before, error)
                self._matcher = Matcher(self._grammar, None, self._stops)
        return self._matcher

    def _fail(self, error: Exception) -> None:
        LOG.error("a request fails: %s", error)
        self._error = error


class Batch:
    """The masks of one step, filled by one call in parallel. Open while the step collects them."""

    def __init__(self) -> None:
        self.is_open = False
        #: Each with its own row. vLLM's threads append to it.
        self.rows: list[tuple[Text, Matcher, Any, int]] = []

    def fill(self) -> None:
        """Fills the rows that were collected, all of one mask, and closes the batch."""
        rows, self.rows, self.is_open = self.rows, [], False
        if not rows:
            return
        mask = rows[0][2]
        try:
            fill_next_token_bitmask_batch([matcher for _, matcher, _, _ in rows], mask, [row for _, _, _, row in rows])
        except Exception as error:
            errors = error.errors if isinstance(error, BatchError) else dict.fromkeys((row for _, _, _, row in rows), error)
            for text, _, _, row in rows:
                if row in errors:
                    text._fail(errors[row])
                    mask[row] = -1
