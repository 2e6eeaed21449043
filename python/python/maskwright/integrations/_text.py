"""`Text`: one request's text in a server: its limit, its end, and what becomes of it if a call fails. Knows no server.

It has the methods of what vLLM calls a `StructuredOutputGrammar`; the adapter for SGLang wraps it. Servers call it from the
thread that runs all requests. A call that raised there would end them all, so no method raises: a text that fails says why
in the log and refuses its next token, with which the server ends that request.

Limit: a request may write `limit` tokens, of which `n_before` come before the text (reasoning). The text is complete
within `limit - n_before`. What comes before is known only when the text begins, so the matcher is made then. Drafted
tokens may begin a text and be rolled back; the limit is then settled again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from maskwright._maskwright import BatchError, CompiledGrammar, Matcher, fill_next_token_bitmask_batch

if TYPE_CHECKING:
    import numpy as np
    import torch


class Text:
    """The text of one request under `grammar`.

    * `stop_token_ids`: the tokens that end it beside the tokenizer's own.
    * `limit`: the most tokens of the request's output; None for no limit.
    * `batch`: where masks are collected and then filled together, if at all.
    * `log`: the server's.

    Raises ValueError if there is no such text: see `first_matcher`.
    """

    def __init__(
        self,
        grammar: CompiledGrammar,
        stop_token_ids: Iterable[int] = (),
        limit: int | None = None,
        batch: Batch | None = None,
        *,
        log: logging.Logger,
    ) -> None:
        self._grammar = grammar
        self._log = log
        own_ends = set(grammar.tokenizer.eos_token_ids)
        self._stops = sorted(set(stop_token_ids) - own_ends) or None
        #: The tokens that end it.
        self.ends = own_ends.union(self._stops or ())
        self._limit = limit
        self._batch = batch
        self._n_before = 0
        self._error: Exception | None = None
        self._matcher: Matcher | None = first_matcher(grammar, limit, self._stops)

    def begins_after(self, n: int) -> None:
        """The text begins after the first `n` tokens of the request's output. Without effect once it has begun."""
        if n == self._n_before or (self._matcher is not None and self._matcher.n_tokens > 0):
            return
        self._n_before = n
        if self._limit is not None:
            self._matcher = None

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Accepts tokens, and returns whether all are allowed. Tokens after the end of the text count as allowed."""
        why = self.refusal_of(tokens)
        if why is not None:
            self._log.error("request %s fails: %s", request_id, why)
        return why is None

    def refusal_of(self, tokens: list[int]) -> str | None:
        """Accepts tokens, and returns why one of them is not allowed, if one isn't. See `accept_tokens`."""
        try:
            matcher = self._begun()
            if self._error is None and not matcher.is_terminated():
                n = matcher.accept_tokens(tokens)
                if n < len(tokens) and not matcher.is_terminated():
                    return f"token {tokens[n]} was not allowed: {matcher.explain(tokens[n])}"
        except Exception as error:
            self._fail(error)
        return None if self._error is None else str(self._error)

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

    def fill_draft_tree(self, parents: Sequence[int], ids: Sequence[int], mask: np.ndarray) -> list[bool]:
        """The masks after drafted tokens: see `Matcher.fill_draft_tree`. If they cannot be made, all tokens are refused."""
        try:
            if self._error is None:
                return self._begun().fill_draft_tree(parents, ids, mask)
        except Exception as error:
            self._fail(error)
        return [False] * len(ids)

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
                self._log.warning("%d tokens were written before the text, which will be cut off: %s", self._n_before, error)
                self._matcher = Matcher(self._grammar, None, self._stops)
        return self._matcher

    def _fail(self, error: Exception) -> None:
        self._log.error("a request fails: %s", error)
        self._error = error


def first_matcher(grammar: CompiledGrammar, limit: int | None, stop_token_ids: Sequence[int] | None) -> Matcher:
    """A matcher for a text of at most `limit` tokens that ends with one of `stop_token_ids`, or as any does.

    Raises ValueError if there is none. If every text is longer, the message has the least number of tokens; if the stop tokens leave
    no text, it names them.
    """
    return Matcher(grammar, limit, stop_token_ids)


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


def is_on(variable: str, *, default: bool) -> bool:
    """Whether an environment variable is `1` or the like."""
    return os.environ.get(variable, str(int(default))).lower() not in ("", "0", "false", "no", "off")
