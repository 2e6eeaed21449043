"""`Text`: one request's text in a server: its limit, its end, and what becomes of it if a call fails. Knows no server.

It has the methods of what vLLM calls a `StructuredOutputGrammar`; the adapter for SGLang wraps it. Servers call it from the
thread that runs all requests. A call that raised there would end them all, so no method raises: a text that fails says why
in the log and refuses its next token, with which the server ends that request.

Limit: a request may write `limit` tokens, of which `n_before` come before the text (reasoning). The text is complete
within `limit - n_before`. What comes before is known only when the text begins, so the matcher is made then. Drafted
tokens may begin a text and be rolled back; the limit is then settled again.

Forced tokens: where the grammar leaves one text, `forced_after` gives the tokens with which the tokenizer spells it, for the server to
draft. With the spelling "canonical" the masks allow no other tokens there. What was found is kept, so that a spelling once begun is
continued. Invariant of `_plans`: they begin one after the other and not after the text so far, and the text has the tokens of each at
its place, as far as it goes.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from maskwright._maskwright import BatchError, CompiledGrammar, Matcher, fill_next_token_bitmask_batch
from maskwright.integrations._serving import metrics
from maskwright.integrations._serving.log import LOG
from maskwright.integrations._serving.options import Spelling

import numpy as np

if TYPE_CHECKING:
    import torch


#: More tokens than a server drafts at once.
_MAX_REACH = 64


class _Plan(NamedTuple):
    """Tokens that are forced."""

    begin: int
    """How many tokens of the text come before them."""
    tokens: list[int]


class Text:
    """The text of one request under `grammar`.

    * `stop_token_ids`: the tokens that end it beside the tokenizer's own.
    * `limit`: the most tokens of the request's output; None for no limit.
    * `batch`: where masks are collected and then filled together, if at all.
    * `spelling`: whether forced text may be spelled with any tokens.

    Raises ValueError if there is no such text: see `first_matcher`.
    """

    def __init__(
        self,
        grammar: CompiledGrammar,
        stop_token_ids: Iterable[int] = (),
        limit: int | None = None,
        batch: Batch | None = None,
        *,
        spelling: Spelling = "any",
    ) -> None:
        self._grammar = grammar
        self.is_canonical = spelling == "canonical"
        own_ends = set(grammar.tokenizer.eos_token_ids)
        self._stops = sorted(set(stop_token_ids) - own_ends) or None
        #: The tokens that end it.
        self.ends = own_ends.union(self._stops or ())
        self._limit = limit
        self._batch = batch
        self._n_before = 0
        self._error: Exception | None = None
        self._plans: list[_Plan] = []
        #: The tokens that are drafted in this step, and how many of them others drafted.
        self._draft: tuple[list[int], int] = [], 0
        #: How many forced tokens are drafted at most: one more than were taken last, twice as many after all were.
        self._reach = _MAX_REACH
        self._matcher: Matcher | None = first_matcher(grammar, limit, self._stops)

    def begins_after(self, n: int) -> None:
        """The text begins after the first `n` tokens of the request's output. Without effect once it has begun."""
        if n == self._n_before or self._error is not None or (self._matcher is not None and self._matcher.n_tokens > 0):
            return
        self._n_before = n
        self._plans, self._draft = [], ([], 0)
        if self._limit is not None:
            self._matcher = None

    def accept_tokens(self, request_id: str, tokens: list[int]) -> bool:
        """Accepts tokens, and returns whether all are allowed. Tokens after the end of the text count as allowed."""
        why = self.refusal_of(tokens)
        if why is not None:
            LOG.error("request %s fails: %s", request_id, why)
        return why is None

    def refusal_of(self, tokens: list[int]) -> str | None:
        """Accepts tokens, and returns why one of them is not allowed, if one isn't. See `accept_tokens`."""
        try:
            matcher = self._begun()
            if self._error is None and not matcher.is_terminated():
                self._leave_plan(matcher.n_tokens, tokens)
                n = matcher.accept_tokens(tokens)
                if n < len(tokens) and not matcher.is_terminated():
                    metrics.count("maskwright_texts_failed")
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
            if matcher.is_terminated():
                return []
            valid = tokens[: matcher.validate_tokens(tokens)]
            return self._canonical(matcher, valid) if self.is_canonical else valid
        except Exception as error:
            self._fail(error)
            return []

    def forced_after(self, drafted: list[int], n: int) -> list[int]:
        """At most `n` tokens that the grammar forces after `drafted`, which are valid, as the tokenizer spells them. The token that ends the
        text is none of them: a model that has checked the others samples it in the same pass. The state does not change.
        """
        try:
            matcher = self._begun()
            n = min(n, self._reach)
            if self._error is not None or n <= 0 or matcher.is_terminated():
                return []
            if drafted:
                # Plans made after these drafts may not hold after others.
                matcher, plans = matcher.fork(), []
                if matcher.accept_tokens(drafted) < len(drafted) or matcher.is_terminated():
                    return []
            else:
                plans = self._plans
            forced = list(itertools.takewhile(lambda token: token not in self.ends, _forced(matcher, plans)))[:n]
        except Exception as error:
            # The text can go on without drafts.
            LOG.debug("no tokens are drafted: %s", error)
            return []
        metrics.count("maskwright_forced_tokens_drafted", len(forced))
        self._draft = [*drafted, *forced], len(drafted)
        return forced

    def count_accepted(self, tokens: list[int]) -> None:
        """Counts the drafted ones among the tokens of a step: all but the last, which the model sampled after those that it accepted."""
        (draft, n_others), self._draft = self._draft, ([], 0)
        n_accepted, n_forced = max(len(tokens) - 1, 0), len(draft) - n_others
        n_taken = min(max(n_accepted - n_others, 0), n_forced)
        metrics.count("maskwright_forced_tokens_accepted", n_taken)
        if n_forced > 0 and n_accepted >= n_others:
            self._reach = n_taken + 1 if n_taken < n_forced else min(2 * self._reach, _MAX_REACH)

    def rollback(self, num_tokens: int) -> None:
        """Undoes the last accepted tokens."""
        if num_tokens > 0 and self._error is None:
            try:
                matcher = self._begun()
                matcher.rollback(num_tokens)
                while self._plans and self._plans[-1].begin > matcher.n_tokens:
                    self._plans.pop()
            except Exception as error:
                self._fail(error)

    def fill_bitmask(self, bitmask: torch.Tensor, batch_index: int) -> None:
        """Writes which tokens may come next into a row, now or with the other rows of the step."""
        if self._error is not None:
            # Some token has to be sampled, and is then refused.
            bitmask[batch_index] = -1
            return
        try:
            matcher = self._begun()
            only = self._canonical_next(matcher) if self.is_canonical else None
            if only is not None:
                bitmask[batch_index] = 0
                bitmask[batch_index, only // 32] = _bit(only)
                return
            if self._batch is not None and self._batch.takes(self):
                self._batch.rows.append((self, matcher, bitmask, batch_index))
                return
            start = time.perf_counter()
            matcher.fill_next_token_bitmask(bitmask, batch_index)
            _count_masks([(self._grammar, matcher)], time.perf_counter() - start)
        except Exception as error:
            self._fail(error)
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
        self._error, self._plans = None, []
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
                metrics.count("maskwright_texts_cut_off")
                self._matcher = Matcher(self._grammar, None, self._stops)
        return self._matcher

    def _canonical_next(self, matcher: Matcher) -> int | None:
        """The only token that the canonical spelling allows next. None if it allows others, or that cannot be found out."""
        try:
            forced = _forced(matcher, self._plans)
        except Exception as error:
            LOG.debug("the spelling is not known: %s", error)
            return None
        # Any token that ends the text may end it.
        return forced[0] if forced and forced[0] not in self.ends else None

    def _leave_plan(self, begin: int, tokens: list[int]) -> None:
        """Drops the plan if `tokens`, which come next, are not those of it."""
        if self._plans:
            planned = self._plans[-1].tokens[begin - self._plans[-1].begin :]
            if tokens[: len(planned)] != planned[: len(tokens)]:
                self._plans.pop()

    def _canonical(self, matcher: Matcher, tokens: list[int]) -> list[int]:
        """The first of some valid tokens, as far as forced text is spelled as the tokenizer does."""
        n_accepted = 0
        for token in tokens:
            only = None if matcher.is_terminated() else self._canonical_next(matcher)
            if only not in (None, token):
                break
            self._leave_plan(matcher.n_tokens, [token])
            if not matcher.accept_token(token):
                break
            n_accepted += 1
        self.rollback(n_accepted)
        return tokens[:n_accepted]

    def _fail(self, error: Exception) -> None:
        LOG.error("a request fails: %s", error)
        if self._error is None:
            metrics.count("maskwright_texts_failed")
        self._error = error


def _forced(matcher: Matcher, plans: list[_Plan]) -> list[int]:
    """The tokens that the grammar forces here, as the tokenizer spells them. Fewer if there is no room for more within the limit."""
    begin = matcher.n_tokens
    if plans and begin < plans[-1].begin + len(plans[-1].tokens):
        return plans[-1].tokens[begin - plans[-1].begin :]
    tokens = matcher.forced_tokens()
    tokens = tokens[: matcher.validate_tokens(tokens)]
    if tokens:
        plans.append(_Plan(begin, tokens))
    return tokens


def first_matcher(grammar: CompiledGrammar, limit: int | None, stop_token_ids: Sequence[int] | None) -> Matcher:
    """A matcher for a text of at most `limit` tokens that ends with one of `stop_token_ids`, or as any does.

    Raises ValueError if there is none. If the limit is too small, the message says how many tokens are enough; if the stop tokens leave
    no text, it names them.
    """
    return Matcher(grammar, limit, stop_token_ids)


def any_allowed(matcher: Matcher, tokens: Iterable[int]) -> bool:
    """Whether one of some tokens may come next, or that is not known."""
    n_words = (matcher.grammar.tokenizer.vocab_size + 31) // 32
    mask = np.zeros((1, n_words), dtype=np.int32)
    matcher.fill_next_token_bitmask(mask)
    return matcher.mask_status != "exact" or any(mask[0, token // 32] >> token % 32 & 1 for token in tokens if token < n_words * 32)


class LookedUp:
    """The smallest limits that matchers of a grammar were given, by stop tokens. Greater ones take no time.

    Grammars keep versions for the stop tokens used last, so only a few of those count as known.
    """

    _N_STOPS = 3

    def __init__(self) -> None:
        self._smallest: OrderedDict[frozenset[int], float] = OrderedDict()

    def has(self, limit: int | None, stop_token_ids: Iterable[int] | None = None) -> bool:
        """Whether a matcher with this limit takes no time."""
        smallest = self._smallest.get(frozenset(stop_token_ids or ()))
        return smallest is not None and (limit is None or limit >= smallest)

    def add(self, limit: int | None, stop_token_ids: Iterable[int] | None = None) -> None:
        """Notes a limit that was looked up."""
        stops = frozenset(stop_token_ids or ())
        known = self._smallest.pop(stops, math.inf)
        self._smallest[stops] = known if limit is None else min(known, limit)
        if len(self._smallest) > self._N_STOPS:
            self._smallest.popitem(last=False)


class Batch:
    """The masks of one step, filled by one call in parallel. Open while the step collects them."""

    def __init__(self) -> None:
        #: The work units of one mask; None for the compiler's limit.
        self.work: int | None = None
        self.is_open = False
        #: Texts that move on while the step collects masks.
        self.moving: set[Text] = set()
        #: Each with its own row. vLLM's threads append to it.
        self.rows: list[tuple[Text, Matcher, Any, int]] = []

    def takes(self, text: Text) -> bool:
        """Whether the mask of a text may be filled at the end of the step."""
        return self.is_open and text not in self.moving

    def fill(self) -> None:
        """Fills the rows that were collected, all of one mask, and closes the batch."""
        rows, self.rows, self.is_open, self.moving = self.rows, [], False, set()
        if not rows:
            return
        mask = rows[0][2]
        start, errors = time.perf_counter(), {}
        try:
            matchers = [matcher for _, matcher, _, _ in rows]
            fill_next_token_bitmask_batch(matchers, mask, [row for _, _, _, row in rows], work=self.work)
        except Exception as error:
            errors = error.errors if isinstance(error, BatchError) else dict.fromkeys((row for _, _, _, row in rows), error)
            for text, _, _, row in rows:
                if row in errors:
                    text._fail(errors[row])
                    mask[row] = -1
        try:
            filled = [(text._grammar, matcher) for text, matcher, _, row in rows if row not in errors]
            _count_masks(filled, time.perf_counter() - start)
        except Exception as error:
            LOG.warning("the masks of a step are not counted: %s", error)


#: So many masks of a grammar are its first ones, in which most of its tables are made.
_N_FIRST = 200
#: How many masks each grammar had, as far as that.
_N_MASKS: WeakKeyDictionary[CompiledGrammar, int] = WeakKeyDictionary()


def _count_masks(filled: Sequence[tuple[CompiledGrammar, Matcher]], seconds: float) -> None:
    counts: Counter[tuple[str, str]] = Counter()
    for grammar, matcher in filled:
        n_masks = _N_MASKS.get(grammar, 0)
        if n_masks < _N_FIRST:
            _N_MASKS[grammar] = n_masks + 1
        counts["bound" if matcher.mask_status == "bound" else "exact", "new" if n_masks < _N_FIRST else "known"] += 1
    for (status, age), n_masks in counts.items():
        metrics.count("maskwright_masks", n_masks, status=status, grammar=age)
    metrics.observe("maskwright_mask_seconds", seconds)


def _bit(token: int) -> int:
    """The word of a mask with the bit of a token, as a signed number of 32 bits."""
    bit = 1 << token % 32
    return bit - (1 << 32) if token % 32 == 31 else bit
