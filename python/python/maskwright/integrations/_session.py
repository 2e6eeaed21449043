"""Which generation a call of a processor belongs to, and which grammar a row has. What the adapters share.

A host calls its processors with tokens and scores. It doesn't say when a new generation begins, nor how many tokens a
text may have, and without those a processor reused for a second prompt is wrong and a text is cut off. Both stand in
the local variables of the host's function that runs the generation, so they are read there (`running_call`): once per
step, only reading, and only in functions that an adapter names. Where no such call runs, as in a loop of one's own, a
generation is known by its tokens, and its limit is what the user says.

Rejected: a second argument that repeats `max_new_tokens` (whoever forgets it gets texts that are cut off); replacing
methods of the model.
"""

from __future__ import annotations

import functools
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from maskwright._maskwright import CompiledGrammar, Compiler, Tokenizer
from maskwright._trace import Trace
from maskwright.integrations._rows import Refusal, Rows, counted

if TYPE_CHECKING:
    import numpy.typing as npt


#: A warning is due if a tokenizer has tokens for a smaller share of the model's scores; padding is only a few hundred.
_LEAST_SHARE = 0.9


class Call(NamedTuple):
    """What is known of the host's call that runs a generation."""

    key: object = None
    """The same object in every step of one call, and in no other call; None if no call is known."""
    max_length: int | None = None
    """The most tokens of a row, those of the prompt included."""
    ends: Callable[[], Sequence[int] | None] = lambda: None
    """The ids at which the host stops."""
    pads: Callable[[], Sequence[int] | None] = lambda: None
    """The ids that the host writes after the end of a row."""
    has_beams: bool = False
    """Whether rows take each other's places."""
    drafts: bool = False
    """Whether rows may have tokens that no mask allowed: drafted ones, or beams without any hope."""


class Grammars(NamedTuple):
    """The grammars of a processor."""

    each: list[CompiledGrammar]
    is_list: bool
    """Whether they are a list with one for each prompt, and not one for all prompts."""


class Session:
    """The generations of one processor, one after the other."""

    def __init__(
        self, grammars: Grammars, max_tokens: int | None, traces: Sequence[Trace] = ()
    ) -> None:
        if not grammars.each:
            raise ValueError("no grammar: expected one, or a list of one for each prompt of the batch")
        if max_tokens is not None and max_tokens < 1:
            raise ValueError(f"max_tokens is {max_tokens}, expected 1 or more (or None)")
        self._grammars, self._is_list = grammars
        self._max_tokens = max_tokens
        self.traces = traces
        self._rows: Rows | None = None
        self._key: object = None
        self._is_warned = False

    def reset(self) -> None:
        """The next step begins a new generation."""
        self._rows = self._key = None

    def masks(self, ids: Any, scores: Any, call: Call) -> npt.NDArray[np.int32]:
        """The masks of the rows `ids`, for their `scores`. Both are 2-D arrays or tensors.

        Raises ValueError for a token that the grammar refuses, unless the host pads or drafts.
        """
        # If this call raises, the next one begins anew.
        rows, self._rows = self._rows, None
        width = scores.shape[1]
        if rows is None or not self._goes_on(rows, ids, call):
            self._check_width(width)
            prompts = as_array(ids)
            limits = [] if self._max_tokens is None else [self._max_tokens]
            if call.max_length is not None:
                limits.append(max(call.max_length - prompts.shape[1], 0))
            rows = Rows(
                self._grammars, prompts, max_tokens=min(limits, default=None), host_ends=call.ends(), is_list=self._is_list
            )
            self._begin_traces(len(prompts), call)
        refusals = rows.update(as_array(ids[:, rows.prompt_len :]))
        pads = call.pads() if refusals else None
        for refusal in refusals:
            if not call.drafts and refusal.token not in (pads or ()):
                raise refused(refusal)
        begin = time.perf_counter()
        mask = rows.masks(width, skip=[refusal.row for refusal in refusals])
        self._rows, self._key = rows, call.key
        if self.traces:
            mask_us = (time.perf_counter() - begin) * 1e6 / len(mask)
            self.follow(ids)
            refused_rows = {refusal.row for refusal in refusals}
            for row, trace in enumerate(self.traces):
                if row not in refused_rows and not rows.matchers[row].is_terminated():
                    trace._ask(scores[row], mask[row], rows.matchers[row], mask_us)
        return mask

    def follow(self, ids: Any) -> None:
        """Tells the traces which tokens the rows have."""
        if self._rows is not None:
            written = as_array(ids[:, self._rows.prompt_len :])
            for row, trace in enumerate(self.traces):
                trace._follow(self._rows.text(row, written[row]), self._rows.ends(row))

    def _begin_traces(self, n_rows: int, call: Call) -> None:
        if not self.traces:
            return
        if call.has_beams:
            raise ValueError("a trace is of one text, not of beams: Matcher.search(..., trace=trace) searches and shows the tree")
        if len(self.traces) != n_rows:
            given, rows = counted(len(self.traces), "trace"), counted(n_rows, "row")
            raise ValueError(f"{given} for {rows}, expected a list with one for each row")
        for trace in self.traces:
            trace._begin()

    def _check_width(self, width: int) -> None:
        """Checks that the grammars fit a model with scores for `width` tokens. A model may have a few more than its tokenizer.

        Raises ValueError if a grammar has more tokens. Warns once if one has far fewer.
        """
        sizes = [grammar.tokenizer.vocab_size for grammar in self._grammars]
        if max(sizes) > width:
            raise ValueError(
                f"the grammar was compiled for a tokenizer of {max(sizes)} tokens, but the model gives scores to {width}: "
                "compile the grammar for this model's tokenizer"
            )
        if min(sizes) < _LEAST_SHARE * width and not self._is_warned:
            self._is_warned = True
            warnings.warn(
                f"the grammar was compiled for a tokenizer of {min(sizes)} tokens, but the model gives scores to {width}: is it the "
                "tokenizer of another model? The others are never allowed; compile the grammar for this model's tokenizer, and "
                "give Tokenizer its vocab_size if the model has so many more scores",
                stacklevel=_levels_to_host(),
            )

    def _goes_on(self, rows: Rows, ids: Any, call: Call) -> bool:
        """Whether a step is one of the generation of `rows`."""
        if call.key is not None or self._key is not None:
            return call.key is self._key
        # The host may start another prompt at any time, also one that begins with the text so far.
        return int(ids.shape[1]) <= rows.width + 1 and rows.continues(as_array(ids))


def _levels_to_host() -> int:
    """The `stacklevel` with which a warning in the caller points at the first line outside of this package."""
    frame: FrameType | None = sys._getframe(1)
    levels = 1
    while frame is not None and str(frame.f_globals.get("__name__", "")).startswith("maskwright."):
        frame = frame.f_back
        levels += 1
    return levels


def refused(refusal: Refusal) -> ValueError:
    """The error for a token in a row that its processor did not allow."""
    return ValueError(
        f"row {refusal.row} has a token, number {refusal.position} of its text, that this processor did not allow: "
        f"{refusal.why}. Is the processor used for two generations at once, or does something after it change the "
        "scores? In a loop of your own, call reset() before another prompt"
    )


def as_array(ids: Any) -> npt.NDArray[np.int64]:
    """Token ids of any array or tensor, in this process's memory."""
    return np.asarray(ids if isinstance(ids, np.ndarray) else ids.detach().cpu().numpy(), dtype=np.int64)


def running_call(module: str, function: str, is_it: Callable[[Mapping[str, Any]], bool]) -> Mapping[str, Any] | None:
    """The local variables of the outermost running call of a host's function for which `is_it` holds."""
    found = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == function and frame.f_globals.get("__name__") == module:
            local = frame.f_locals
            found = local if is_it(local) else found
        frame = frame.f_back
    return found


def grammars_of(given: Any, make_compiler: Callable[[], Compiler]) -> Grammars:
    """The grammars of what a user gives: one, or a list of them, each compiled or something that
    `Compiler.compile` takes. `make_compiler` is called once, if something has to be compiled."""
    is_list = isinstance(given, list | tuple)
    each = list(given) if is_list else [given]
    compiler = functools.cache(make_compiler)
    compiled = {id(one): one if isinstance(one, CompiledGrammar) else compiler().compile(one) for one in each}
    return Grammars([compiled[id(one)] for one in each], is_list)


def traces_of(given: Any) -> list[Trace]:
    """The traces that a user gives: none, one, or a list of them."""
    traces = [] if given is None else list(given) if isinstance(given, list | tuple) else [given]
    for trace in traces:
        if not isinstance(trace, Trace):
            raise TypeError(f"trace is a {type(trace).__name__}, expected a Trace, or a list of one for each row")
    if len({id(trace) for trace in traces}) != len(traces):
        raise ValueError("a trace is of one text: the same one is given twice")
    return traces


_COMPILERS: WeakKeyDictionary[Any, tuple[object, Compiler]] = WeakKeyDictionary()


def compiler_of(
    owner: object, what: str, identify: Callable[[], object], make_tokenizer: Callable[[], Tokenizer]
) -> Compiler:
    """The compiler for a host's tokenizer or model, kept as long as that lives and `identify()` is the same. A `Compiler`
    or `Tokenizer` of this package may stand in its place.

    Raises TypeError, which says that `what` is needed, for None.
    """
    if isinstance(owner, Compiler):
        return owner
    if isinstance(owner, Tokenizer):
        return Compiler(owner)
    if owner is None:
        raise TypeError(f"a grammar that is not compiled needs {what}")
    version = identify()
    try:
        known = _COMPILERS.get(owner)
        if known is None or known[0] != version:
            _COMPILERS[owner] = known = (version, Compiler(make_tokenizer()))
    except TypeError:  # cannot be referred to weakly
        return Compiler(make_tokenizer())
    return known[1]


def compiler_of_hf(tokenizer: Any) -> Compiler:
    """The compiler for a tokenizer of transformers, or for what may stand in its place."""
    return compiler_of(
        tokenizer,
        "`tokenizer`, the tokenizer of the model",
        lambda: (len(tokenizer), getattr(tokenizer, "eos_token_id", None)),
        lambda: Tokenizer.from_hf(tokenizer),
    )
