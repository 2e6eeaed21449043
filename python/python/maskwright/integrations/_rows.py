"""The states of the rows of one generation, found by their tokens. What the adapters share; knows numpy only.

A host calls a processor with the tokens of each row and nothing else. Rows change places (beam search), repeat, and
become shorter (when drafted tokens are refused). So the state of a row is not the state at the same index:

Invariant, after `Rows.update(written)`: the matcher of row `i` has accepted `written[i, :n_accepted[i]]`. These are all
tokens of the row, unless the text has ended or the next token was refused.

The naive twin, which the tests compare with, is a fresh matcher that accepts `written[i]`. Here a row costs one token:
the matcher of the row with the longest common prefix goes back to that prefix and accepts what follows it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright._maskwright import CompiledGrammar, Matcher, allocate_token_bitmask, fill_next_token_bitmask_batch

if TYPE_CHECKING:
    import numpy.typing as npt


class Refusal(NamedTuple):
    """A token that a row has and its grammar does not allow."""

    row: int
    position: int
    """Of the token, in the text: 0 is the first after the prompt."""
    token: int
    why: str


def counted(n: int, one: str) -> str:
    """A number of things in words, `one` of which is named without an s."""
    return f"{n} {one}{'' if n == 1 else 's'}"


def check_prompts(n_grammars: int, prompts: npt.NDArray[np.int64]) -> None:
    """Checks that a list of grammars has one for each prompt. The rows are a multiple of the grammars.

    Raises ValueError if a grammar has rows with different prompts.
    """
    n_rows_each = len(prompts) // n_grammars
    firsts = prompts[::n_rows_each].repeat(n_rows_each, axis=0)
    if (prompts != firsts).any():
        n_prompts = len(np.unique(prompts, axis=0))
        raise ValueError(
            f"a list of {counted(n_grammars, 'grammar')} for {n_prompts} different prompts, expected one for each prompt; "
            "one for all prompts is given without a list"
        )


class Rows:
    """The states of the rows that continue `prompts`.

    Row `i` has `grammars[i // (n_rows / n_grammars)]`: a host repeats each prompt for its beams and for the sequences
    to return, one after the other. A text is complete within `max_tokens`, the end-of-sequence token included.

    `host_ends`: the ids at which the host stops, if they are known. They take the place of the tokenizer's: they are
    allowed where a text may end, and nowhere else.

    `is_list`: whether the grammars were given as a list. It has one for each prompt, so all rows of a grammar have the same prompt.

    Raises ValueError if the rows are no multiple of the grammars, a list lacks grammars, or no text is so short.
    """

    def __init__(
        self,
        grammars: Sequence[CompiledGrammar],
        prompts: npt.NDArray[np.int64],
        *,
        max_tokens: int | None = None,
        host_ends: Sequence[int] | None = None,
        is_list: bool = False,
    ) -> None:
        n_rows, self.prompt_len = prompts.shape
        if n_rows % len(grammars):
            rows, given = counted(n_rows, "row"), counted(len(grammars), "grammar")
            raise ValueError(f"{rows} for {given}; expected one grammar, or one for each prompt of the batch")
        if is_list:
            check_prompts(len(grammars), prompts)
        self.prompts = prompts.copy()
        kinds = {id(grammar): _Kind(grammar, max_tokens, host_ends) for grammar in grammars}
        n_rows_each = n_rows // len(grammars)
        self._kinds = [kinds[id(grammar)] for grammar in grammars for _ in range(n_rows_each)]
        self._n_vocab = max(kind.n_vocab for kind in kinds.values())
        self.matchers = [kind.start.fork() for kind in self._kinds]
        self._n_accepted = [0] * n_rows
        self._written = self.prompts[:, self.prompt_len :]
        # Beams stay within their prompt: rows with the same prompt and grammar, which are neighbours.
        is_first = [
            row == 0 or self._kinds[row] is not self._kinds[row - 1] or bool((prompts[row] != prompts[row - 1]).any())
            for row in range(n_rows)
        ]
        self._group = np.cumsum(is_first)

    def ends(self, row: int) -> list[int]:
        """The ids that end the text of a row."""
        return self._kinds[row].ends

    def text(self, row: int, written: npt.NDArray[np.int64]) -> list[int]:
        """The tokens of a row that its grammar has accepted or would accept: its text, without what the host fills it up with.

        `written` may have more tokens than those of the last `update`, or others.
        """
        n_accepted = self._n_accepted[row]
        n_common = min(n_accepted, len(written))
        differs = written[:n_common] != self._written[row, :n_common]
        n = int(differs.argmax()) if differs.any() else n_common
        matcher = self.matchers[row]
        if n < n_accepted:
            matcher = matcher.fork()
            matcher.rollback(n_accepted - n)
        rest = self._kinds[row].as_own_ends(written[n:].tolist())
        return written[: n + matcher.validate_tokens(rest)].tolist()

    @property
    def width(self) -> int:
        """The number of tokens of each row, those of the prompt included."""
        return int(self.prompt_len + self._written.shape[1])

    def continues(self, ids: npt.NDArray[np.int64]) -> bool:
        """Whether rows of prompts and texts are those of this generation."""
        n_rows, width = ids.shape
        has_shape = n_rows == len(self.matchers) and width >= self.prompt_len
        return has_shape and bool((ids[:, : self.prompt_len] == self.prompts).all())

    def update(self, written: npt.NDArray[np.int64]) -> list[Refusal]:
        """Brings the states to `written`, the rows' tokens after the prompts. Returns the first refusal of each row.

        If it raises, the states are of no further use.
        """
        if len(written) != len(self.matchers):
            raise ValueError(f"{counted(len(written), 'row')} in a generation that began with {len(self.matchers)}")
        before, matchers, n_accepted = self._written, self.matchers, self._n_accepted
        n_common = min(before.shape[1], written.shape[1])
        is_same = (written[:, :n_common] == before[:, :n_common]).all(axis=1)
        parents = [
            (row, n_common) if is_same[row] else self._nearest(row, written[row, :n_common]) for row in range(len(matchers))
        ]
        n_children = Counter(parent for parent, _ in parents)
        self.matchers, self._n_accepted, self._written = [], [], written.copy()
        refusals = []
        for row, (parent, n_shared) in enumerate(parents):
            # The last child takes its parent's matcher, the others fork it before.
            n_children[parent] -= 1
            matcher = matchers[parent].fork() if n_children[parent] else matchers[parent]
            n = min(n_accepted[parent], n_shared)
            if n < n_accepted[parent]:
                matcher.rollback(n_accepted[parent] - n)
            tokens = self._kinds[row].as_own_ends(written[row, n:].tolist())
            n += matcher.accept_token(tokens[0]) if len(tokens) == 1 else matcher.accept_tokens(tokens)
            if n < written.shape[1] and not matcher.is_terminated():
                token = int(written[row, n])
                refusals.append(Refusal(row, n, token, matcher.explain(token)))
            self.matchers.append(matcher)
            self._n_accepted.append(n)
        return refusals

    def masks(self, width: int, skip: Sequence[int] = ()) -> npt.NDArray[np.int32]:
        """The masks of all rows for logits of `width` tokens. Rows to `skip` allow every token.

        Raises BatchError if masks cannot be made.
        """
        mask = allocate_token_bitmask(len(self.matchers), max(width, self._n_vocab))
        mask[list(skip)] = -1
        rows = [row for row in range(len(self.matchers)) if row not in skip]
        fill_next_token_bitmask_batch([self.matchers[row] for row in rows], mask, rows)
        for row in rows:
            self._kinds[row].put_host_ends(mask[row])
        return mask

    def _nearest(self, row: int, tokens: npt.NDArray[np.int64]) -> tuple[int, int]:
        """The row whose tokens before began most like these, and how many they share."""
        first = int(np.searchsorted(self._group, self._group[row], "left"))
        last = int(np.searchsorted(self._group, self._group[row], "right"))
        differs = self._written[first:last, : len(tokens)] != tokens
        n_shared = np.where(differs.any(axis=1), differs.argmax(axis=1), len(tokens))
        nearest = int(n_shared.argmax())
        return first + nearest, int(n_shared[nearest])


class _Kind:
    """What rows of one grammar have in common: where they start, and how they end."""

    def __init__(self, grammar: CompiledGrammar, max_tokens: int | None, host_ends: Sequence[int] | None) -> None:
        tokenizer = grammar.tokenizer
        self.start = Matcher(grammar, max_tokens)
        self.n_vocab = tokenizer.vocab_size
        self.own_ends = tokenizer.eos_token_ids
        host_ends = sorted(set(self.own_ends if host_ends is None else host_ends))
        #: Empty if they are the tokenizer's own, or if a text has no such token at its end.
        self.host_ends = host_ends if self.own_ends not in ([], host_ends) else []
        self.ends = self.host_ends or self.own_ends

    def as_own_ends(self, tokens: list[int]) -> list[int]:
        """The tokens, with one that ends a text for the matcher in the place of one that does for the host."""
        return [self.own_ends[0] if token in self.host_ends else token for token in tokens] if self.host_ends else tokens

    def put_host_ends(self, words: npt.NDArray[np.int32]) -> None:
        """Allows the host's ends in a mask that allows the matcher's, in the place of those."""
        if not self.host_ends:
            return
        end = self.own_ends[0]
        may_end = bool(words[end // 32] >> end % 32 & 1)
        _set_bits(words, self.own_ends, False)
        _set_bits(words, self.host_ends, may_end)


def _set_bits(words: npt.NDArray[np.int32], ids: Sequence[int], value: bool) -> None:
    bits = words.view(np.uint32)
    for token in ids:
        if 0 <= token // 32 < len(bits):
            bit = np.uint32(1 << token % 32)
            bits[token // 32] = bits[token // 32] | bit if value else bits[token // 32] & ~bit
