"""Maskwright's side: what becomes of a tool, what its grammar accepts, and texts drawn under its masks."""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import maskwright
import numpy as np

#: A format whose message is one call in JSON: `{"name": …, "parameters": …}`.
FORMAT = "llama"
#: Bytes as a text has them: mostly letters and what ends something.
_WEIGHTS = np.full(257, 0.02)
for _byte in b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 _-./:@":
    _WEIGHTS[_byte] = 1.0
for _byte, _weight in {'"': 25.0, "}": 12.0, "]": 12.0, ",": 3.0, "\\": 0.2, "{": 2.0, "[": 2.0}.items():
    _WEIGHTS[ord(_byte)] = _weight
_WEIGHTS[0x80:0x100] = 0.01
_WEIGHTS[256] = 30.0
#: Seconds for one text drawn under the masks.
SAMPLE_SECONDS = 2.0


def compiler() -> maskwright.Compiler:
    """A compiler for single bytes: verdicts about texts do not depend on the vocabulary."""
    tokens = [bytes([byte]) for byte in range(256)] + [b"</s>"]
    return maskwright.Compiler(maskwright.Tokenizer.from_tokens(tokens, eos_token_ids=[256]))


class Tool:
    """One tool, compiled alone.

    `state` is "wholly" (enforced), "partly" (only with `strict=False`) or "refused". `message` is the error of the
    default settings, `left_out` are the keywords that are not enforced, with places and reasons, and `annotations` those
    without effect. `milliseconds` is the time to compile, `slowest` that of the slowest mask under a limit of tokens, and
    `limits` are the errors of masks that reached a limit of ours.
    """

    def __init__(self, compiler: maskwright.Compiler, tool: Any, name: str) -> None:
        self.name, self._tool, self.compiler = name, tool, compiler
        self.message = self.hint = self.pointer = None
        self.warnings: list[str] = []
        self.left_out: list[tuple[str, str, str | None]] = []
        self.annotations: list[tuple[str, str, str | None]] = []
        self._matchers: dict[str, maskwright.Matcher] = {}
        self._orders: dict[str, maskwright.CompiledGrammar] = {}
        self._too_slow: list[str] = []
        self.limits: list[str] = []
        self.slowest = 0.0
        start = time.perf_counter()
        try:
            self._grammar, self.state = self._compile(), "wholly"
        except maskwright.Error as error:
            self.message, self.hint, self.pointer = str(error), error.hint, error.pointer
            try:
                self._grammar, self.state = self._compile(strict=False), "partly"
            except maskwright.Error:
                self._grammar, self.state = None, "refused"
        self.milliseconds = 1000 * (time.perf_counter() - start)
        if self._grammar is not None:
            for entry in self._grammar.report:
                kept = (entry.pointer, entry.keyword, entry.reason)
                if entry.status == "not enforced":
                    self.left_out.append(kept)
                elif entry.status == "annotation":
                    self.annotations.append((entry.pointer, entry.keyword, entry.suggestion))

    def _compile(self, **options: Any) -> maskwright.CompiledGrammar:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            grammar = self.compiler.compile_tool_calls(
                [self._tool],
                format=FORMAT,
                tool_choice=self.name,
                text=False,
                parallel=False,
                **{"property_order": "any", **options},
            )
        self.warnings = [str(warning.message) for warning in told]
        return grammar

    def accepts(self, arguments: str, numbers: str = "plain", whitespace: str = "flexible") -> bool:
        """Whether a call with these arguments is a text of the grammar."""
        key = f"{numbers} {whitespace}"
        if key not in self._matchers:
            default = key == "plain flexible"
            strict = self.state == "wholly"
            grammar = self._grammar if default else self._compile(numbers=numbers, whitespace=whitespace, strict=strict)
            self._matchers[key] = begun(grammar, self.name)
        return ends(self._matchers[key], arguments)

    def sample(self, rng: np.random.Generator, room: int) -> str | None:
        """Arguments drawn under the masks, of `room` bytes more than the least at most.

        Properties come in any order, or in the schema's once that took too long or reached a limit. None, if that does as
        well.
        """
        for order in ("any", "schema"):
            if order in self._too_slow:
                continue
            if order not in self._orders:
                self._orders[order] = self._compile(property_order=order, strict=self.state == "wholly")
            try:
                return self._sample(self._orders[order], rng, room)
            except TimeoutError:
                self._too_slow.append(order)
            except maskwright.LimitError as error:
                self._too_slow.append(order)
                self.limits.append(f"{order}: {error}")
        return None

    def _sample(self, grammar: maskwright.CompiledGrammar, rng: np.random.Generator, room: int) -> str:
        deadline = time.perf_counter() + SAMPLE_SECONDS
        matcher = begun(grammar, self.name)
        before = len(matcher.text)
        least = self._timed(matcher.tokens_to_finish)
        limited = maskwright.Matcher(grammar, max_tokens=before + (least or 200) + room)
        assert limited.accept_bytes(matcher.text)
        mask = maskwright.allocate_token_bitmask(1, 257)
        while not limited.is_terminated():
            if time.perf_counter() > deadline:
                raise TimeoutError
            forced = limited.forced_bytes()
            if forced and limited.accept_bytes(forced):
                continue
            self._timed(limited.fill_next_token_bitmask, mask)
            allowed = np.flatnonzero(np.unpackbits(mask[0].view(np.uint8), bitorder="little")[:257])
            sums = np.cumsum(_WEIGHTS[allowed])
            token = int(allowed[min(np.searchsorted(sums, rng.random() * sums[-1]), len(allowed) - 1)])
            if not limited.accept_token(token):
                raise AssertionError(f"{self.name}: a token of the mask was refused: {token} after {limited.text!r}")
        text = limited.text[before:].decode()
        return text.rstrip()[:-1].rstrip()

    def _timed(self, work: Any, *arguments: Any) -> Any:
        start = time.perf_counter()
        result = work(*arguments)
        self.slowest = max(self.slowest, 1000 * (time.perf_counter() - start))
        return result


def begun(grammar: maskwright.CompiledGrammar, name: str) -> maskwright.Matcher:
    """A matcher after everything that comes before a call's arguments."""
    matcher = maskwright.Matcher(grammar)
    start = f'{{"name": {json.dumps(name, ensure_ascii=False)}, "parameters": '
    if not matcher.accept_bytes(start):
        raise AssertionError(f"{name}: a call cannot begin")
    return matcher


def ends(matcher: maskwright.Matcher, arguments: str) -> bool:
    """Whether a call with these arguments is whole; the matcher is left as it was."""
    if not matcher.accept_bytes(arguments + "}"):
        return False
    whole = matcher.is_accepting()
    matcher.rollback(1)
    return whole


def left_out(compiler: maskwright.Compiler, tools: list[Any]) -> tuple[set[str], maskwright.CompiledGrammar, float]:
    """The tools that `on_error="leave_out"` leaves out of a whole list, the grammar of the others, and its time in ms."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        grammar = compiler.compile_tool_calls(
            tools,
            format=FORMAT,
            tool_choice="required",
            text=False,
            parallel=False,
            property_order="any",
            on_error="leave_out",
        )
    took = 1000 * (time.perf_counter() - start)
    # A tool that is left out has an entry for its schema as a whole.
    gone = {entry.tool for entry in grammar.report if entry.status == "not enforced" and entry.tool is not None}
    return gone, grammar, took
