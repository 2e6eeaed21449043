"""outlines-core, the successor of the paper's own implementation, with the calls that the experiments need."""

from __future__ import annotations

import ctypes
from typing import Any

import maskwright
import numpy
import outlines_core


def vocabulary(tokenizer: maskwright.Tokenizer) -> Any:
    """A tokenizer's tokens, as bytes, as outlines-core takes them."""
    ids: dict[str | bytes, list[int]] = {}
    for token in range(tokenizer.vocab_size):
        text = tokenizer.token_bytes(token)
        if text and token not in tokenizer.eos_token_ids:
            ids.setdefault(text, []).append(token)
    return outlines_core.Vocabulary(tokenizer.eos_token_ids[0], ids)


class Follower:
    """A text under an index, with the calls of a `maskwright.Matcher` that a generation loop makes."""

    def __init__(self, index: Any) -> None:
        self.guide = outlines_core.Guide(index)

    def accept_token(self, token: int) -> bool:
        try:
            self.guide.advance(token, return_tokens=False)
        except ValueError:
            return False
        return True

    def fill_next_token_bitmask(self, mask: numpy.ndarray) -> None:
        self.guide.write_mask_into(mask.ctypes.data, mask.size, mask.itemsize)


def accepts(index: Any, tokens: list[int]) -> bool:
    """Whether the index takes the tokens one after the other and the text may end there."""
    state = index.get_initial_state()
    for token in tokens:
        state = index.get_next_state(state, token)
        if state is None:
            return False
    return bool(index.is_final_state(state))


def release_memory() -> None:
    """Gives freed memory back to the system, so that the resident size means something."""
    ctypes.CDLL("libc.so.6").malloc_trim(0)
