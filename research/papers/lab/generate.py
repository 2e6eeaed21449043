"""A generation loop with times for the model, the masks and the rest."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import perf_counter_ns
from typing import Any, Protocol

import numpy

import maskwright


class LanguageModel(Protocol):
    def logits(self, ids: list[int]) -> numpy.ndarray: ...


@dataclass
class Text:
    """A written text. Times are in microseconds, one for each token."""

    ids: list[int] = field(default_factory=list)
    #: Whether the model ended the text itself, with an end-of-sequence token.
    ended: bool = False
    model_us: list[float] = field(default_factory=list)
    mask_us: list[float] = field(default_factory=list)
    #: The probability that the model itself gave to what the mask allowed.
    mass: list[float] = field(default_factory=list)


@dataclass
class Sampler:
    """Draws from logits; a temperature of 0 takes the likeliest token."""

    temperature: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        self.random = numpy.random.default_rng(self.seed)

    def draw(self, logits: numpy.ndarray) -> int:
        if self.temperature == 0:
            return int(logits.argmax())
        scaled = logits / self.temperature
        # The Gumbel trick: the largest of logit + noise is a draw from the softmax.
        noise = -numpy.log(-numpy.log(self.random.random(len(logits)) + 1e-20) + 1e-20)
        return int((scaled + noise).argmax())


def probabilities(logits: numpy.ndarray) -> numpy.ndarray:
    shifted = numpy.exp((logits - logits.max()).astype(numpy.float64))
    return shifted / shifted.sum()


def write(
    model: LanguageModel,
    tokenizer: maskwright.Tokenizer,
    prompt: list[int],
    max_tokens: int,
    sampler: Sampler,
    matcher: Any = None,
) -> Text:
    """Writes a text of at most `max_tokens` tokens, end of text included; with a matcher, only what its masks allow.

    The matcher stands where the text begins, and has read the text afterwards.
    """
    text = Text()
    ends = set(tokenizer.eos_token_ids)
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size) if matcher is not None else None
    while len(text.ids) < max_tokens:
        start = perf_counter_ns()
        logits = model.logits(prompt + text.ids)
        modelled = perf_counter_ns()
        text.model_us.append((modelled - start) / 1000)
        if matcher is not None:
            modelled = perf_counter_ns()
            matcher.fill_next_token_bitmask(mask)
            text.mask_us.append((perf_counter_ns() - modelled) / 1000)
            free = probabilities(logits)
            row = logits[None, : tokenizer.vocab_size]
            maskwright.apply_token_bitmask_inplace(row, mask)
            logits = row[0]
            text.mass.append(float(free[: len(logits)][numpy.isfinite(logits)].sum()))
        token = sampler.draw(logits)
        if matcher is not None and not matcher.accept_token(token):
            raise AssertionError(f"token {token} is in the mask and refused")
        text.ids.append(token)
        if token in ends:
            text.ended = True
            break
    return text


def decode(tokenizer: maskwright.Tokenizer, ids: list[int]) -> str:
    """The text of tokens, without the end of text; bytes that are not UTF-8 are replaced."""
    ends = set(tokenizer.eos_token_ids)
    return b"".join(tokenizer.token_bytes(token) or b"" for token in ids if token not in ends).decode("utf-8", "replace")
