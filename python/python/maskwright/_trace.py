"""What happened in a generation, as a page to look at."""

from __future__ import annotations

import html
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from maskwright._apply import _is_tensor
from maskwright._maskwright import CompiledGrammar, Matcher, Tokenizer, _TraceSteps, _trace_ask


class Trace:
    """Keeps what a model wanted to write at each step, and what a grammar let it write.

    * `of`: the `Matcher` that makes the masks, so that a trace knows the path in a schema's value and why a token was refused; or a
      `CompiledGrammar` or `Tokenizer`, for the tokens' texts alone. Without it tokens are shown by their ids.
    * `title`, `model`, `prompt`: what the page says of itself.

    Other programs fill it in by themselves: `LogitsProcessor(grammar, trace=trace)` in transformers and llama-cpp-python, and
    `Matcher.search(trace=trace)`, whose page shows the tree of the search.

    >>> trace = Trace(matcher, model="smollm2")                 # doctest: +SKIP
    >>> while not matcher.is_terminated():                      # doctest: +SKIP
    ...     matcher.fill_next_token_bitmask(mask)
    ...     token = choose(logits, mask)
    ...     trace.step(logits, mask, token)                     # before the matcher takes the token
    ...     matcher.accept_token(token)
    >>> trace.save("trace.html")                                # doctest: +SKIP
    """

    def __init__(
        self,
        of: Matcher | CompiledGrammar | Tokenizer | None = None,
        *,
        title: str = "generated text",
        model: str | None = None,
        prompt: str | None = None,
    ) -> None:
        if not (of is None or isinstance(of, (Matcher, CompiledGrammar, Tokenizer))):
            raise TypeError(f"a trace is of a Matcher, CompiledGrammar or Tokenizer, not of {type(of).__name__}")
        self._matcher = of if isinstance(of, Matcher) else None
        grammar = of.grammar if isinstance(of, Matcher) else of
        self._tokenizer = grammar.tokenizer if isinstance(grammar, CompiledGrammar) else grammar
        self._steps = _TraceSteps(title, model, prompt)

    def step(self, logits: Any, mask: Any, token: int, *, mask_us: float | None = None) -> None:
        """Notes a token before the matcher takes it.

        `logits`: those of the model, before any mask, of shape (vocabulary,). `mask`: the packed mask, of shape (words,) or (1, words), or
        None if every token was allowed. Both may be numpy arrays or tensors of torch, on any device. `mask_us`: what the mask took, in
        microseconds, to be shown.

        Raises TypeError or ValueError for what is no row of numbers, ValueError for an id that is out of range.
        """
        scores = _scores(logits)
        if not 0 <= token < len(scores):
            raise ValueError(f"token {token} is out of range: there are {len(scores)} logits")
        _trace_ask(self._steps, scores, _words(mask), self._matcher, self._tokenizer, mask_us)
        self._steps.answer(token)

    def _begin(self) -> None:
        """Forgets what was noted, for another generation."""
        self._steps.clear()

    def _ask(self, logits: Any, mask: Any, matcher: Matcher, mask_us: float) -> None:
        """Notes what the next token is chosen from, for hosts that tell the token later: by `_follow`."""
        _trace_ask(self._steps, _scores(logits), _words(mask), matcher, matcher.grammar.tokenizer, mask_us)

    def _follow(self, tokens: Sequence[int], ends: Sequence[int]) -> None:
        """Brings the trace to the tokens of a text, whose last ones may have changed, up to one that ends it."""
        self._steps.follow(list(tokens), list(ends))

    def __len__(self) -> int:
        """How many tokens were noted."""
        return len(self._steps)

    @property
    def token_ids(self) -> list[int]:
        """The tokens that were noted."""
        return self._steps.token_ids()

    @property
    def cost_nats(self) -> float | None:
        """What the grammar cut off of the model's probability, in nats: the sum of -ln of the probability of all that was allowed. None
        before the first step.
        """
        return self._steps.cost_nats()

    def html(self) -> str:
        """One page for a browser, in a single file that loads nothing."""
        return self._steps.html()

    def text(self) -> str:
        """One line for each token."""
        return self._steps.text()

    def ansi(self) -> str:
        """The text in colours for a terminal."""
        return self._steps.ansi()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the page to a file."""
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.html())

    def __repr__(self) -> str:
        return f"Trace({len(self)} token{'' if len(self) == 1 else 's'})"

    def _repr_html_(self) -> str:
        """The page, for notebooks."""
        page = html.escape(self.html(), quote=True)
        style = "width:100%;height:640px;border:0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{page}"></iframe>'


def _scores(logits: Any) -> np.ndarray:
    scores = _row("logits", logits)
    if not np.issubdtype(scores.dtype, np.floating):
        raise TypeError(f"the logits are of type {scores.dtype}, expected a floating point type")
    return np.ascontiguousarray(scores, dtype=np.float32)


def _words(mask: Any) -> np.ndarray | None:
    if mask is None:
        return None
    words = _row("mask", mask)
    if words.dtype != np.int32:
        raise TypeError(f"the mask is of type {words.dtype}, expected int32")
    return np.ascontiguousarray(words).view(np.uint32)


def _row(name: str, values: Any) -> np.ndarray:
    if _is_tensor(values):
        values = values.detach()
        values = (values.float() if values.is_floating_point() else values).cpu().numpy()
    array = np.asarray(values)
    if array.ndim == 2 and array.shape[0] == 1:
        array = array[0]
    if array.ndim != 1:
        raise ValueError(f"the {name} are of shape {array.shape}, expected one row")
    return array
