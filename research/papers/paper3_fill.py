"""How the gaps of a program are filled, for `paper3_regions`: without a constraint, by the paper's loop, and by ours.

All write the gaps from left to right and end a gap by the same rule: the model draws a token that is not text (its end
token is one), or the gap runs into the fixed text after it, or it has `REGION_TOKENS` tokens.

The two constrained loops draw the same tokens until the paper's gives up. So one run gives the texts of both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns

import numpy

import maskwright
from lab.generate import LanguageModel, Sampler

#: The longest gap of the data takes about 50 tokens, the median one about 10.
REGION_TOKENS = 48
#: The paper's loop gives a text up after this many refused tokens.
REJECTIONS = 100
#: Our loop has the engine write the rest after this many refused tokens at one place.
REJECTIONS_OURS = 1000
#: A gap ends where it repeats the first characters of the fixed text after it, white space not counted.
ANCHOR = 8
#: After `REGION_TOKENS` tokens without an end, our loop lets the model write one of these numbers of tokens more.
ENDS = (1, 2, 4, 8)


@dataclass
class Filling:
    """A program with its gaps filled."""

    text: bytes = b""
    #: Why the paper's loop gives up, "rejections" or "limit" (no end within `REGION_TOKENS`); "" if it does not.
    aborted: str = ""
    #: The text of the paper's loop, which the engine completed if the loop gave up.
    completed: bytes = b""
    n_tokens: int = 0
    n_rejected: int = 0
    #: Questions that reached the engine's limit on work. They count as refusals.
    n_open: int = 0
    #: Gaps that our loop had to end.
    n_ended: int = 0
    #: Whether the engine wrote the rest of our text too.
    is_given: bool = False
    #: Microseconds for each token.
    model_us: list[float] = field(default_factory=list)
    constraint_us: list[float] = field(default_factory=list)
    #: Microseconds for each question.
    question_us: list[float] = field(default_factory=list)


class _NoToken(Exception):
    """No token is known to be possible."""


class Filler:
    """Fills the gaps between pieces of fixed text; without a grammar, with whatever the model draws.

    `prompt` makes what the model reads of the text before a gap.
    """

    def __init__(
        self,
        model: LanguageModel,
        tokenizer: maskwright.Tokenizer,
        sampler: Sampler,
        prompt: Callable[[bytes], list[int]],
        grammar: maskwright.CompiledGrammar | None,
    ) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.sampler = sampler
        self.prompt = prompt
        self.grammar = grammar
        self.filling = Filling()
        #: The text so far, and the fixed text and holes after the gap.
        self.written = b""
        self.rest: list[bytes | maskwright.Hole] = []
        self.anchor = b""

    def fill(self, pieces: Sequence[bytes]) -> Filling:
        """Fills all gaps, from left to right."""
        filling = self.filling
        self.written = pieces[0]
        for i, piece in enumerate(pieces[1:], 1):
            self.rest = [part for later in pieces[i:] for part in (maskwright.Hole(), later)][1:]
            self.anchor = _dense(piece)[:ANCHOR]
            try:
                self._fill_gap()
            except _NoToken:
                filling.is_given = True
                self.written = self._completed()
                break
            self.written += piece
        filling.text = self.written
        if not filling.aborted:
            filling.completed = filling.text
        return filling

    def _fill_gap(self) -> None:
        """Writes one gap to the end of the text so far."""
        start = len(self.written)
        before = self.prompt(self.written)
        ids: list[int] = []
        while len(ids) < REGION_TOKENS:
            token = self._token(before + ids, start, None)
            if token is None:
                return
            ids.append(token)
        if self._is_possible(None):
            return
        self._give_up("limit")
        self.filling.n_ended += 1
        n_left = self._tokens_to_end()
        while n_left:
            token = self._token(before + ids, start, n_left)
            if token is None:
                return
            ids.append(token)
            n_left -= 1

    def _tokens_to_end(self) -> int:
        """With how many more tokens the gap can end."""
        for n in ENDS:
            if self._is_possible(maskwright.Hole(max_tokens=n)):
                return n
        raise _NoToken

    def _token(self, read: list[int], start: int, n_left: int | None) -> int | None:
        """Writes the next token of the gap that begins at `start`, one of at most `n_left`. None if the gap ends."""
        begun = perf_counter_ns()
        logits = self.model.logits(read)[: self.tokenizer.vocab_size]
        modelled = perf_counter_ns()
        try:
            token = self._drawn(logits, start, n_left)
        finally:
            self.filling.model_us.append((modelled - begun) / 1000)
            self.filling.constraint_us.append((perf_counter_ns() - modelled) / 1000)
        self.filling.n_tokens += token is not None
        return token

    def _drawn(self, logits: numpy.ndarray, start: int, n_left: int | None) -> int | None:
        if n_left is None:
            hole = maskwright.Hole()
        else:
            hole = maskwright.Hole(max_tokens=n_left - 1) if n_left > 1 else None
        # The Gumbel trick: tokens in the order of logit + noise are draws without replacement. So each token is drawn
        # from those that are not refused.
        noise = -numpy.log(-numpy.log(self.sampler.random.random(len(logits)) + 1e-20) + 1e-20)
        logits = (logits / self.sampler.temperature + noise).astype(numpy.float32)
        for n_rejected in range(REJECTIONS_OURS):
            if n_rejected == 1:
                order = numpy.argsort(-logits)
            token = int(order[n_rejected] if n_rejected else logits.argmax())
            is_accepted, is_end = self._try(token, start, hole)
            if is_accepted:
                return None if is_end else token
            self.filling.n_rejected += 1
            if self.filling.n_rejected == REJECTIONS:
                self._give_up("rejections")
        raise _NoToken

    def _try(self, token: int, start: int, hole: maskwright.Hole | None) -> tuple[bool, bool]:
        """Whether a token is possible, and whether it ends the gap. A possible one is written."""
        text = self.tokenizer.token_bytes(token)
        if not text or token in self.tokenizer.eos_token_ids:
            return self._is_possible(None), True
        written = self.written
        end = _anchored(written[start:], text, self.anchor)
        if end is not None:
            self.written = written[: start + end]
            if self._is_possible(None):
                return True, True
        self.written = written + text
        if self._is_possible(hole):
            return True, False
        self.written = written
        return False, False

    def _is_possible(self, hole: maskwright.Hole | None) -> bool:
        """Whether the text so far can be part of a program: before a hole, or before the fixed text after the gap."""
        if self.grammar is None:
            return True
        begun = perf_counter_ns()
        status = self._template(hole).status
        self.filling.question_us.append((perf_counter_ns() - begun) / 1000)
        self.filling.n_open += status == "open"
        return status == "possible"

    def _template(self, hole: maskwright.Hole | None) -> maskwright.Template:
        if self.grammar is None:
            raise AssertionError("a template has a grammar")
        return maskwright.Template(self.grammar, [self.written, *([] if hole is None else [hole]), *self.rest])

    def _give_up(self, reason: str) -> None:
        """What the paper's loop does now; ours goes on."""
        if not self.filling.aborted and self.grammar is not None:
            self.filling.aborted = reason
            self.filling.completed = self._completed()

    def _completed(self) -> bytes:
        return self._template(maskwright.Hole()).complete()


def _anchored(gap: bytes, token: bytes, anchor: bytes) -> int | None:
    """Where in `gap + token` the anchor begins that `token` completes, white space not counted."""
    text = gap + token
    places = [i for i in range(len(text)) if text[i : i + 1].strip()]
    first = max(0, len(_dense(gap)) - len(anchor) + 1)
    found = _dense(text).find(anchor, first) if anchor else -1
    return None if found < 0 else places[found]


def _dense(text: bytes) -> bytes:
    return b"".join(text.split())
