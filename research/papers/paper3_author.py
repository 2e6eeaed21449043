"""A simulated writer for `paper3_regions`: it knows the text of a gap and makes slips.

Models that fit this machine write few correct programs. The writer stands for a strong model: each token is the true
one, or with a small probability another one of the program. If a slip is refused, the true token is the likeliest.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy

import maskwright

#: The probability of a slip, for each token.
SLIPS = 0.03


class Author:
    """A language model in the sense of `lab.generate`, for one task."""

    def __init__(
        self, tokenizer: maskwright.Tokenizer, pieces: Sequence[bytes], gaps: Sequence[bytes], seed: int
    ) -> None:
        self.random = numpy.random.default_rng(seed)
        self.n_vocab = tokenizer.vocab_size
        self.end = tokenizer.eos_token_ids[0]
        self.gaps = [[*tokenizer.encode(gap), self.end] for gap in gaps]
        self.program = sorted({token for text in (*pieces, *gaps) for token in tokenizer.encode(text)})
        self.gap = -1

    def prompt(self, written: bytes) -> list[int]:
        """Begins the next gap. Nothing needs to be read."""
        self.gap += 1
        return []

    def logits(self, ids: list[int]) -> numpy.ndarray:
        gap = self.gaps[self.gap]
        logits = self.random.normal(size=self.n_vocab).astype(numpy.float32)
        logits[self.program] += 8
        logits[gap[len(ids)] if len(ids) < len(gap) else self.end] += 16
        if self.random.random() < SLIPS:
            logits[self.program[self.random.integers(len(self.program))]] += 32
        return logits
