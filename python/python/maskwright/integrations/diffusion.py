"""`fill`: a masked diffusion model, such as Dream or LLaDA, fills a canvas with what a grammar allows.

>>> from maskwright.integrations.diffusion import fill
>>> canvas = Canvas(grammar, [None] * 64, mask_id=tokenizer.mask_token_id)
>>> ids = fill(logits_fn, canvas, prompt_ids=prompt_ids, mask_id=tokenizer.mask_token_id)

Each step asks the model once and fills the positions it is surest of. A token is drawn for a position, and the canvas is asked
about this token alone. If it refuses, it is asked about the most likely others, one by one; then one is drawn from the proven
mask; and at last the position gets its token of `Canvas.complete`. So a canvas that is possible ends as a text of the grammar.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from maskwright._apply import _is_tensor, apply_token_bitmask_inplace
from maskwright._maskwright import Canvas, allocate_token_bitmask

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch


@dataclass
class Step:
    """What one step of `fill` did."""

    number: int
    """1 for the first."""
    tokens: dict[int, int] = field(default_factory=dict)
    """The tokens that were put, by position of the canvas, in order."""
    remasked: list[int] = field(default_factory=list)
    """The positions that were masked again afterwards."""
    n_questions: int = 0
    """How often the canvas was asked about a token."""
    n_open: int = 0
    """How many of the answers were "open"."""
    open_probability: float = 0.0
    """The sum of the model's probabilities of the drawn tokens whose answer was "open": what the limit on work cost."""
    n_masks: int = 0
    """How many masks were computed, because no likely token was allowed."""
    n_given: int = 0
    """How many of `tokens` came from `Canvas.complete`, because the model believed in none that is proven."""


def fill(
    logits_fn: Callable[[npt.NDArray[np.int64]], npt.NDArray[Any] | torch.Tensor],
    canvas: Canvas,
    *,
    prompt_ids: Sequence[int] = (),
    mask_id: int,
    tokens_per_step: int = 1,
    temperature: float = 0.0,
    n_alternatives: int = 8,
    n_remasked: int = 0,
    block_length: int | None = None,
    commit: Literal["surest", "likeliest"] = "surest",
    seed: int | None = None,
    on_step: Callable[[Step], object] | None = None,
) -> list[int]:
    """Fills the masked positions of a canvas with tokens that a model likes, and returns the tokens of all positions.

    * `logits_fn`: takes the token ids of the prompt and the canvas, with `mask_id` where that is masked. Returns the logits of
      each of these: a numpy array or torch tensor of shape (ids, vocabulary) or (1, ids, vocabulary).
    * `mask_id`: the token that the model reads at a masked position. Give it to the `Canvas` too.
    * `tokens_per_step`: how many positions are filled each time the model is asked. More is faster; the text may be worse.
    * `temperature`: 0 takes the likeliest token. Above, tokens are drawn, with `seed` if it is given.
    * `n_alternatives`: how many more tokens the canvas is asked about before it makes a mask.
    * `n_remasked`: once the canvas is full, so many of the new tokens, those of which the model was least sure, are masked and
      filled again, with all others in view.
    * `block_length`: fills blocks of so many positions, one after the other; 1 fills the canvas from left to right.
    * `commit`: how a step chooses its tokens. "surest" asks the canvas about the model's own tokens, one by one. "likeliest" finds the likeliest
      text of the whole canvas (`Canvas.likeliest`) and puts those of its tokens of which the model is surest: they fit each other, so few
      questions are asked, and a step sees the whole text.
    * `on_step`: called with a `Step` after each step.

    The canvas is filled along the way. After an exception, such as KeyboardInterrupt, it keeps the tokens so far and can still
    be filled: another call goes on from there.

    Raises ValueError if the canvas is impossible or an argument is wrong, LimitError if the canvas is open (`Canvas.status`).

    >>> import numpy as np
    >>> from maskwright import Canvas, Compiler, Tokenizer
    >>> tokenizer = Tokenizer.from_tokens([b"yes", b"no", b"!", b"", b"</s>"], eos_token_ids=[4])
    >>> canvas = Canvas(Compiler(tokenizer).compile_regex("no!*"), [None, None, None], mask_id=3)
    >>> logits = np.array([5.0, 1.0, 2.0, 0.0, 1.0])  # of a model that would rather write "yes"
    >>> fill(lambda ids: np.tile(logits, (len(ids), 1)), canvas, mask_id=3)
    [1, 2, 2]
    """
    given = {"mask_id": mask_id, "n_alternatives": n_alternatives, "n_remasked": n_remasked, "temperature": temperature}
    given |= {"tokens_per_step": tokens_per_step, "block_length": 1 if block_length is None else block_length}
    if commit not in ("surest", "likeliest"):
        raise ValueError(f"commit is {commit!r}, expected 'surest' or 'likeliest'")
    for name, value in given.items():
        least = int(name in ("tokens_per_step", "block_length"))
        if not least <= value < math.inf:
            raise ValueError(f"{name} is {value}, expected a finite number, at least {least}")
    canvas.complete()  # Raises unless the canvas is possible.
    random = np.random.default_rng(seed)
    confidences: dict[int, float] = {}
    number = 0
    while None in (positions := canvas.positions):
        number += 1
        step = Step(number)
        ids = np.array([*prompt_ids, *(mask_id if id is None else id for id in positions)], dtype=np.int64)
        rows = _rows(logits_fn(ids), len(ids), canvas.grammar.tokenizer.vocab_size)[-len(positions) :]
        masked = [i for i, id in enumerate(positions) if id is None]
        if block_length is not None:
            masked = [i for i in masked if i // block_length == masked[0] // block_length]
        look = _Look(canvas, mask_id, temperature, n_alternatives, random, rows, step)
        put = look.fill if commit == "surest" else look.fill_likeliest
        confidences |= put(masked, tokens_per_step)
        if n_remasked and None not in canvas.positions:
            step.remasked = sorted(confidences, key=lambda i: (confidences[i], i))[:n_remasked]
            for i in step.remasked:
                canvas.unset(i)
            n_remasked = 0
        if on_step is not None:
            on_step(step)
    return [id for id in positions if id is not None]


class _Pick(NamedTuple):
    """What a position would be filled with."""

    confidence: float
    """The model's probability of the token, among all tokens. Before one is drawn, that of the likeliest: no other has more."""
    token: int | None = None
    is_allowed: bool = False
    """Whether the canvas, as it is now, allows the token."""
    is_given: bool = False
    """Whether it is the token of a text that fills the canvas."""


@dataclass
class _Look:
    """One look of the model at a canvas, with its logits of all positions in `rows`."""

    canvas: Canvas
    mask_id: int
    temperature: float
    n_alternatives: int
    random: np.random.Generator
    rows: Any
    step: Step

    def fill(self, masked: list[int], n: int) -> dict[int, float]:
        """Fills up to `n` of the masked positions, the surest first; returns these with their confidences."""
        picks = {i: _Pick(confidence) for i, confidence in zip(masked, _greatest(self.rows, masked), strict=True)}
        filled: dict[int, float] = {}
        while picks and len(filled) < n:
            i, pick = max(picks.items(), key=lambda item: (item[1].confidence, -item[0]))
            if pick.token is None:
                picks[i] = self._drawn(i)
            elif not pick.is_allowed:
                # Its confidence may now be less than another's.
                picks[i] = self._allowed(i, pick, pick.token)
            else:
                if not self.canvas.set(i, pick.token):
                    raise RuntimeError(f"the canvas refuses token {pick.token} at position {i}, which it has allowed")
                self.step.tokens[i] = pick.token
                self.step.n_given += pick.is_given
                filled[i] = pick.confidence
                # What is allowed has changed.
                picks = {j: other._replace(is_allowed=False) for j, other in picks.items() if j != i}
        return filled

    def fill_likeliest(self, masked: list[int], n: int) -> dict[int, float]:
        """Fills up to `n` of the masked positions with the tokens of the likeliest text, the surest first; returns these with their confidences."""
        logits = np.zeros((len(self.canvas.positions), self.rows.shape[1]), dtype=np.float32)
        confidences = {}
        for i, known in enumerate(self.canvas.positions):
            if known is None:
                logits[i] = self._drawn_from(self._row(i))
        text = self.canvas.likeliest(logits).token_ids
        for i in masked:
            confidences[i] = _probability(self._row(i), text[i])
        filled: dict[int, float] = {}
        for i in sorted(masked, key=lambda i: (-confidences[i], i))[:n]:
            self.step.n_questions += 1
            if not self.canvas.set(i, text[i]):
                # The canvas didn't find the text again within its limit on work.
                self.step.n_open += 1
                return filled or self.fill(masked, n)
            self.step.tokens[i] = text[i]
            filled[i] = confidences[i]
        return filled

    def _drawn_from(self, row: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Logits whose largest is a draw: with Gumbel noise, it is one from their softmax. Without a temperature, the same logits."""
        row[self.mask_id :][:1] = -math.inf
        if self.temperature > 0 and (largest := row.max()) > -math.inf:
            row = (row - largest) / self.temperature + self.random.gumbel(size=len(row))
        return row

    def _drawn(self, i: int) -> _Pick:
        """What the model likes at a position, whatever is allowed."""
        token = self._draw(row := self._row(i))
        if token is None:
            raise ValueError(f"logits_fn returned no finite logit for position {i} of the canvas, but for mask_id")
        return _Pick(_probability(row, token), token)

    def _allowed(self, i: int, pick: _Pick, token: int) -> _Pick:
        """A token for a position that the canvas allows: the pick's, or else what the model likes best of the others."""
        n_open = self.step.n_open
        if self._asks(i, token):
            return pick._replace(is_allowed=True)
        if self.step.n_open > n_open:
            self.step.open_probability += pick.confidence
        row = self._row(i)
        others = row.copy()
        others[token] = others[self.mask_id :][:1] = -math.inf
        n = min(self.n_alternatives, int(np.isfinite(others).sum()))
        likely = np.argpartition(-others, n - 1)[:n] if n else np.array([], dtype=np.int64)
        for other in likely[np.argsort(-others[likely], kind="stable")].tolist():
            if self._asks(i, other):
                return _Pick(_probability(row, other), other, True)
            if self.step.n_open >= n_open + 2:
                # Hard questions about one position are mostly hard for all its tokens.
                break
        mask = allocate_token_bitmask(1, len(row))
        self.canvas.fill_bitmask(i, mask)
        self.step.n_masks += 1
        masked = row.copy()
        apply_token_bitmask_inplace(masked, mask[0])
        drawn = self._draw(masked)
        if drawn is None or not self._asks(i, drawn):
            # Proven without the model.
            given = self.canvas.complete()[i]
            return _Pick(_probability(row, given), given, True, True)
        return _Pick(_probability(row, drawn), drawn, True)

    def _asks(self, i: int, token: int) -> bool:
        """Whether it is proven that a token can stand at a position. One token a call, so that Ctrl-C needn't wait."""
        self.step.n_questions += 1
        [answer] = self.canvas.allows(i, [token])
        self.step.n_open += answer == "open"
        return answer == "yes"

    def _draw(self, row: npt.NDArray[np.float64]) -> int | None:
        """A token with a finite logit, but not the mask token; None if there is none."""
        row = self._drawn_from(row.copy())
        return None if row.max() == -math.inf else int(row.argmax())

    def _row(self, i: int) -> npt.NDArray[np.float64]:
        """The logits of a position. NaN is minus infinity, infinity the largest number."""
        row = self.rows[i]
        row = row.detach().float().cpu().numpy() if _is_tensor(row) else row
        return np.nan_to_num(row.astype(np.float64), nan=-math.inf, posinf=float(np.finfo(np.float32).max), neginf=-math.inf)


def _rows(logits: Any, n_ids: int, n_vocab: int) -> Any:
    """Logits as they were returned, cut to (ids, vocabulary); a model's vocabulary may be padded."""
    logits = logits if _is_tensor(logits) else np.asarray(logits)
    shape = tuple(logits.shape)
    rows = logits[0] if len(shape) == 3 and shape[0] == 1 else logits
    if len(rows.shape) != 2 or rows.shape[0] != n_ids or rows.shape[1] < n_vocab:
        raise ValueError(
            f"logits_fn returned logits of shape {shape} for {n_ids} ids, expected ({n_ids}, {n_vocab}): "
            "a row for each id, a column for each token of the tokenizer"
        )
    return rows[:, :n_vocab]


def _greatest(rows: Any, wanted: list[int]) -> list[float]:
    """The greatest probability in each of the wanted rows, which stay on their device; 1 where it is not a number."""
    if _is_tensor(rows):
        greatest = rows[wanted].detach().float().softmax(-1).amax(-1).cpu().numpy()
    else:
        with np.errstate(invalid="ignore", over="ignore"):
            wide = (rows[i].astype(np.float32) for i in wanted)
            greatest = np.array([1 / np.exp(row - row.max()).sum() for row in wide])
    return [float(value) for value in np.nan_to_num(greatest, nan=1.0)]


def _probability(row: npt.NDArray[np.float64], token: int) -> float:
    """The probability of a token among all tokens; 0 if it has no finite logit."""
    largest = row.max()
    return 0.0 if largest == -math.inf else float(np.exp(row[token] - largest) / np.exp(row - largest).sum())
