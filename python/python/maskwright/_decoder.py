"""Text from tokens, as they come."""

from __future__ import annotations

import codecs
from collections.abc import Iterable

from maskwright._maskwright import Tokenizer


class Decoder:
    """Turns tokens into text as they come. Made by `Tokenizer.decoder()`.

    A character whose bytes are in several tokens appears with the last of them. Bytes that are no UTF-8 become U+FFFD.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._bytes = codecs.getincrementaldecoder("utf-8")("replace")

    def feed(self, ids: int | Iterable[int]) -> str:
        """The text that is complete with these tokens and was not before. Special tokens have none.

        Raises TokenizerError for what cannot be a token, such as -1.
        """
        ids = [ids] if isinstance(ids, int) else list(ids)
        return self._bytes.decode(self._tokenizer.decode(ids))

    def finish(self) -> str:
        """What is left at the end: U+FFFD if that is within a character, else nothing. Then a new text can begin."""
        rest = self._bytes.decode(b"", final=True)
        self._bytes.reset()
        return rest
