"""A grammar backend of SGLang: `--grammar-backend maskwright`.

SGLang calls `register` in each of its processes, through the entry point `sglang.srt.plugins`. It adds a name to the registry
of backends, no more. `make_backend` is called in the scheduler of a server that asks for that name. What the registry
leaves out is added there, by SGLang's own hooks:

* `GrammarManager._apply_request_reasoning_config`, once for each request whose grammar is ready: the request's limit and its
  stop tokens. (A backend is given the text of a grammar, and nothing of the request.)
* `GrammarManager.process_req_with_grammar` and `BaseGrammarBackend.get_cached_or_future_value`: a first limit can take
  milliseconds to look up. That is done in the backend's threads, as compiling is.
* `BaseGrammarObject.fill_vocab_mask_batched`: the masks of a step are filled by one call, also under a reasoning parser.
* `spec_utils.traverse_tree`: the masks of a tree of drafted tokens are filled by one call for each request.

A registered backend isn't put under SGLang's `ReasonerGrammarBackend`, so `make_backend` does that.

Rejected: jump-forward. SGLang 0.5.23 calls none of its methods.
"""

from __future__ import annotations

import contextlib
import contextvars
import dataclasses
import json
import logging
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sglang.srt.constrained.base_grammar_backend import (
    GRAMMAR_BACKEND_REGISTRY,
    BaseGrammarBackend,
    BaseGrammarObject,
    GrammarStats,
    InvalidGrammarObject,
    register_grammar_backend,
)

from maskwright._apply import apply_token_bitmask_inplace
from maskwright._maskwright import CompiledGrammar, Compiler, Tokenizer, TokenizerError, __version__
from maskwright.integrations._serving import lanes, log, metrics, options
from maskwright.integrations._serving.log import LOG
from maskwright.integrations._serving.options import GrammarOptions, Options, Spelling
from maskwright.integrations._serving.specs import Grammars, Kind, Spec, compiler_of, one_line, why_refused
from maskwright.integrations._serving.text import Batch, LookedUp, Text, first_matcher
from maskwright.integrations._sglang_specs import as_format, as_structural_tag, whitespace_in

if TYPE_CHECKING:
    import torch

NAME = "maskwright"

#: The masks of the step that the scheduler's one thread prepares.
_BATCH = Batch()


class Limit(NamedTuple):
    """What a request says about the length of its text."""

    n_tokens: int | None
    stop_token_ids: frozenset[int]

    @classmethod
    def of(cls, params: Any, chosen: Options) -> Limit:
        """By SGLang's parameters of the request, and its options."""
        # A request for no token writes no text.
        has_limit = chosen.has_limit and params.max_new_tokens
        return cls(params.max_new_tokens if has_limit else None, frozenset(params.stop_token_ids or ()))

    def __str__(self) -> str:
        given = [] if self.n_tokens is None else [f"max_new_tokens={self.n_tokens}"]
        return " ".join(given + ([f"stop_token_ids={sorted(self.stop_token_ids)}"] if self.stop_token_ids else []))


class Grammar(BaseGrammarObject):  # type: ignore[misc]
    """One request's text. The ones in SGLang's cache belong to no request, and are copied for each."""

    def __init__(self, compiled: CompiledGrammar, spec: Spec, stats: Any) -> None:
        super().__init__()
        self._compiled = compiled
        self.spec = spec
        self.grammar_stats = stats
        #: Shared by the copies. Only the scheduler's thread writes it, when a grammar is ready: the schedulers of a model on several
        #: devices must agree on which requests wait.
        self.looked_up = LookedUp()
        self._text: Text | None = None
        self.is_canonical = False
        #: As long as what comes before the text: SGLang adds to it for each token of reasoning, and takes away.
        self._before: Sequence[object] = ()

    def look_up(self, limit: Limit) -> None:
        """Does what takes time in `bind`. Any thread may."""
        with contextlib.suppress(ValueError):  # which `bind` raises again
            own_ends = self._compiled.tokenizer.eos_token_ids
            first_matcher(self._compiled, limit.n_tokens, sorted(limit.stop_token_ids.difference(own_ends)) or None)

    def bind(self, limit: Limit, before: Sequence[object] = (), spelling: Spelling = "any") -> None:
        """Makes it the text of a request, to be complete within `limit`, less the tokens in `before`.

        Raises ValueError if there is no such text; MaxTokensTooSmall, if the limit is.
        """
        self.looked_up.add(*limit)
        self._text = Text(self._compiled, limit.stop_token_ids, limit.n_tokens, _BATCH, spelling=spelling)
        self._before = before
        self.is_canonical = spelling == "canonical"

    @property
    def text(self) -> Text:
        """The text, which begins after what was written so far unless it has begun."""
        if self._text is None:
            self.bind(Limit(None, frozenset()))
        assert self._text is not None
        self._text.begins_after(len(self._before))
        return self._text

    def accept_token(self, token: int) -> None:
        """Raises ValueError, with which SGLang ends the request, if the token is not allowed."""
        self.current_token = token
        why = self.text.refusal_of([token])
        if why is not None:
            raise ValueError(why)

    def rollback(self, k: int) -> None:
        """Undoes the last `k` tokens."""
        self.text.rollback(k)

    def is_terminated(self) -> bool:
        """Whether the text has ended."""
        return self._text is not None and self._text.is_terminated()

    def fill_vocab_mask(self, vocab_mask: torch.Tensor, idx: int) -> None:
        """Writes which tokens may come next into a row."""
        self.text.fill_bitmask(vocab_mask, idx)

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """Rows on the CPU that allow every token."""
        return _allocate(max(vocab_size, self._compiled.tokenizer.vocab_size), batch_size)

    @staticmethod
    def reset_vocab_mask(vocab_mask: torch.Tensor) -> None:
        """Lets the rows allow every token."""
        vocab_mask.fill_(-1)

    @staticmethod
    def move_vocab_mask(vocab_mask: torch.Tensor, device: Any) -> torch.Tensor:
        """The mask where the logits are."""
        return vocab_mask.to(device, non_blocking=True)

    @staticmethod
    def apply_vocab_mask(logits: torch.Tensor, vocab_mask: torch.Tensor) -> None:
        """Refuses tokens, by SGLang's own kernels where there are some."""
        if logits.device.type == "cpu":
            apply_token_bitmask_inplace(logits, vocab_mask)
            return
        from sglang.srt.constrained.xgrammar_backend import XGrammarGrammarBackend

        XGrammarGrammarBackend.apply_vocab_mask(logits, vocab_mask)

    def copy(self) -> Grammar:
        """The same grammar for another request."""
        stats = self.grammar_stats and dataclasses.replace(self.grammar_stats, is_cache_hit=True, tree_traversal_time=[])
        made = Grammar(self._compiled, self.spec, stats)
        made.looked_up = self.looked_up
        return made

    def __repr__(self) -> str:
        return f"maskwright {self.spec.kind} {self.spec.text[:200]!r}"


class Backend(BaseGrammarBackend):  # type: ignore[misc]
    """Compiles what requests ask for, in threads of our own."""

    def __init__(self, compiler: Compiler, chosen: Options) -> None:
        super().__init__()
        self._grammars = Grammars(compiler, chosen)

    def dispatch_json(self, key_string: str) -> BaseGrammarObject:
        """A JSON Schema; `$$ANY$$` stands for any JSON."""
        return self._dispatch("json", key_string, lambda text: "true" if text == "$$ANY$$" else text)

    def dispatch_regex(self, key_string: str) -> BaseGrammarObject:
        """A pattern for the whole text."""
        return self._dispatch("regex", key_string, lambda text: text)

    def dispatch_ebnf(self, key_string: str) -> BaseGrammarObject:
        """GBNF, or a Lark grammar."""
        return self._dispatch("grammar", key_string, lambda text: text)

    def dispatch_structural_tag(self, key_string: str) -> BaseGrammarObject:
        """A structural tag as xgrammar takes it, or in SGLang's older form."""
        return self._dispatch("structural_tag", key_string, as_structural_tag)

    def _dispatch(self, kind: Kind, key_string: str, read: Callable[[str], str]) -> BaseGrammarObject:
        chosen = key_string.options if isinstance(key_string, _Keyed) else self._grammars.options.grammar
        try:
            return self._grammar(Spec(kind, read(str(key_string)), chosen))
        except ValueError as error:
            refused = InvalidGrammarObject(one_line(error))
            refused.maskwright_reason = why_refused(error)
            metrics.count("maskwright_requests_refused", reason=refused.maskwright_reason)
            return refused

    def _grammar(self, spec: Spec) -> Grammar:
        dispatch_type = "ebnf" if spec.kind == "grammar" else spec.kind
        return Grammar(self._grammars.get(spec, _REQUEST_ID.get()), spec, GrammarStats(dispatch_type=dispatch_type))

    def compile_framed_grammar(self, grammar: Grammar, frame: Callable[[dict[str, Any]], dict[str, Any]]) -> Grammar | None:
        """The text of `grammar` within the messages of a model that frames its answers.

        Raises maskwright.Error for a frame that cannot be compiled.
        """
        content = as_format(grammar.spec)
        tag = None if content is None else json.dumps(frame(content))
        return None if tag is None else self._grammar(Spec("structural_tag", tag, grammar.spec.options))

    # What strict reasoning needs to change masks.

    @property
    def is_support_token_filter(self) -> bool:
        """SGLang asks before it calls `set_token_filter`."""
        return True

    @staticmethod
    def set_token_filter(
        vocab_mask: torch.Tensor, token_ids: list[int], batch_idx: int, is_allowed: bool = True, reset_vocab_mask: bool = True
    ) -> None:
        """Allows or refuses tokens in a row."""
        from sglang.srt.constrained.torch_ops.token_filter_torch_ops import set_token_filter_torch

        set_token_filter_torch(vocab_mask, token_ids, batch_idx, is_allowed=is_allowed, reset_vocab_mask=reset_vocab_mask)

    def allocate_vocab_mask(self, vocab_size: int, batch_size: int, device: Any) -> torch.Tensor:
        """Rows on the CPU that allow every token."""
        return _allocate(max(vocab_size, self._grammars.compiler.tokenizer.vocab_size), batch_size)

    move_vocab_mask = staticmethod(Grammar.move_vocab_mask)
    apply_vocab_mask = staticmethod(Grammar.apply_vocab_mask)


def register() -> None:
    """Makes `--grammar-backend maskwright` known to this process. Nothing else of SGLang changes.

    Raises RuntimeError if this version of SGLang has no list of backends.
    """
    try:
        from sglang.srt.arg_groups.choices import add_grammar_backend_choices
    except ImportError as error:
        raise RuntimeError(f"this version of SGLang does not take grammar backends ({error}): {_MADE_FOR}") from error

    if NAME not in GRAMMAR_BACKEND_REGISTRY:
        register_grammar_backend(NAME, make_backend)
        add_grammar_backend_choices([NAME])


def make_backend(server_args: Any, tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> BaseGrammarBackend:
    """The backend of a scheduler.

    Raises TokenizerError for a tokenizer that cannot be read, GrammarError for a whitespace pattern that isn't supported,
    RuntimeError if this version of SGLang lacks what is to be hooked, ValueError for an option with a wrong value.
    """
    from sglang.srt.constrained.reasoner_grammar_backend import ReasonerGrammarBackend
    from sglang.srt.parser.reasoning_parser import ReasoningParser
    from sglang.srt.runtime_context import get_serving

    serving = get_serving()
    is_alone = getattr(server_args, "tp_size", 1) == 1 and getattr(server_args, "pp_size", 1) == 1
    global _server
    chosen = options.read()
    if (whitespace := whitespace_in(serving)) is not None:
        chosen = chosen._replace(grammar=chosen.grammar._replace(whitespace=whitespace))
    compiler = compiler_of(_read(tokenizer, vocab_size, eos_token_ids), chosen, bounds_work=is_alone)
    # Which tokens a bounded mask lacks depends on what the process did before. After a step all ranks take one of their tokens, which is in the
    # mask of its rank, and the others accept it whatever work that takes. Trees of drafts are verified by each rank for itself, so all ranks
    # need the same masks: those are not filled by the batch, and have no limit. Nor have masks that SGLang narrows (`_fill_batched`).
    _BATCH.work = None if is_alone else chosen.mask_work
    backend = Backend(compiler, chosen)
    _hook()
    _server = chosen
    metrics.started()
    log.follow(logging.getLogger("sglang"))
    LOG.info("grammars are those of Maskwright %s; %s", __version__, chosen)
    for warning in options.unknown():
        LOG.warning("%s", warning)
    if serving.reasoning_parser:
        parser = ReasoningParser(model_type=serving.reasoning_parser, stream_reasoning=False, tokenizer=tokenizer)
        # Without the end of reasoning in the vocabulary, SGLang says so and masks from the first token on.
        if parser.detector.get_think_end_token_ids(tokenizer):
            return ReasonerGrammarBackend(backend, parser, tokenizer, enable_strict_thinking=serving.enable_strict_thinking)
    return backend


def _read(tokenizer: Any, vocab_size: int, eos_token_ids: Any) -> Tokenizer:
    """The tokenizer, with the ids at which SGLang ends every text of the model."""
    ends = {eos_token_ids} if isinstance(eos_token_ids, int) else set(eos_token_ids or ())
    ends |= set(getattr(tokenizer, "additional_stop_token_ids", None) or ())
    if tokenizer.eos_token_id is not None:
        ends.add(tokenizer.eos_token_id)
    try:
        return Tokenizer.from_hf(tokenizer, eos_token_ids=sorted(ends), vocab_size=vocab_size)
    except TypeError as error:
        raise TokenizerError(f"a fast tokenizer of transformers is expected, not {type(tokenizer).__name__}") from error


_MADE_FOR = "it was made for SGLang 0.5.23; other grammar backends work without it"
_HOOKS = {
    "sglang.srt.constrained.grammar_manager.GrammarManager.process_req_with_grammar": "_take_in",
    "sglang.srt.constrained.base_grammar_backend.BaseGrammarBackend.get_cached_or_future_value": "_get_grammar",
    "sglang.srt.constrained.grammar_manager.GrammarManager._apply_request_reasoning_config": "_bind_request",
    "sglang.srt.constrained.base_grammar_backend.BaseGrammarObject.fill_vocab_mask_batched": "_fill_batched",
    "sglang.srt.speculative.spec_utils.traverse_tree": "_traverse_tree",
}


def _hook() -> None:
    """Puts this module's functions around SGLang's, once.

    Raises RuntimeError if one of those doesn't exist.
    """
    from sglang.srt.plugins.hook_registry import HookRegistry, HookSource, HookType

    source = HookSource(NAME, NAME)
    for target, name in _HOOKS.items():
        if target not in HookRegistry._patched:
            HookRegistry.register(target, globals()[name], HookType.AROUND, source=source)
    # Logs what it cannot do, and raises nothing.
    HookRegistry.apply_hooks()
    missing = _HOOKS.keys() - HookRegistry._patched
    if missing:
        raise RuntimeError(
            f"this version of SGLang has no {', '.join(sorted(missing))}, which Maskwright's adapter needs: {_MADE_FOR}"
        )


#: The options of the server.
_server = Options()


class _Keyed(str):
    """What a request asks for, with options of its own: another key of SGLang's cache than the same text without."""

    options: GrammarOptions

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self.options == other.options and str.__eq__(self, other)

    def __hash__(self) -> int:
        return hash((str.__hash__(self), self.options))


class _Taken(NamedTuple):
    """The request that the scheduler's one thread takes in."""

    limit: Limit
    request_id: str | None


_taken: _Taken | None = None
#: The request for which a thread of SGLang compiles.
_REQUEST_ID: contextvars.ContextVar[str | None] = contextvars.ContextVar("request_id", default=None)


def _take_in(method: Any, manager: Any, req: Any) -> bool:
    """Lets `_get_grammar` know the limit of the request that it is asked for, and puts the request's options into the key of its grammar."""
    global _taken
    params = req.sampling_params
    asked = {name: text for name in _ASKED if (text := getattr(params, name, None)) is not None}
    if not asked:
        return bool(method(manager, req))
    try:
        chosen = _server.for_request(params.custom_params)
    except ValueError as error:
        metrics.observe("maskwright_check_seconds", 0.0)
        _refuse(req, "options", f"custom_params: {error}")
        return False
    _taken = _Taken(Limit.of(params, chosen), getattr(req, "rid", None))
    try:
        if chosen.grammar != _server.grammar:
            for name, text in asked.items():
                keyed = _Keyed(text)
                keyed.options = chosen.grammar
                setattr(params, name, keyed)
        is_waiting: bool = method(manager, req)
        return is_waiting
    finally:
        _taken = None
        for name, text in asked.items():
            setattr(params, name, text)


_ASKED = ("json_schema", "regex", "ebnf", "structural_tag")


def _get_grammar(method: Any, backend: Any, key: tuple[str, str], require_reasoning: bool) -> tuple[Any, bool]:
    """A grammar and whether it is ready. It is not until the limit has been looked up."""
    taken = _taken
    known = backend.cache.pop(key, None)
    if isinstance(known, InvalidGrammarObject) and "timed out" in known.error_message:
        # It waited too long behind others, and may compile now.
        known = None
    if known is not None:
        # The one used last is at the end.
        backend.cache[key] = known
    while known is None and len(backend.cache) >= _server.n_kept:
        del backend.cache[next(iter(backend.cache))]
    text = _parts(known)[0]
    if taken is None or (known is not None and (text is None or text.looked_up.has(*taken.limit))):
        if known is not None:
            metrics.count("maskwright_grammar_cache_hits")
            metrics.observe("maskwright_check_seconds", 0.0)
        if isinstance(known, InvalidGrammarObject):
            metrics.count("maskwright_requests_refused", reason=getattr(known, "maskwright_reason", "grammar"))
        ready: tuple[Any, bool] = method(backend, key, require_reasoning)
        return ready

    def make() -> Any:
        if known is None:
            _REQUEST_ID.set(taken.request_id)
            made = backend._init_value_dispatch(key, require_reasoning)
        else:
            metrics.count("maskwright_grammar_cache_hits")
            made = known.copy()
            made.maybe_init_reasoning(require_reasoning)
        text = _parts(made)[0]
        if text is not None:
            text.look_up(taken.limit)
        return made

    submit = lanes.of_process().submit if known is None else lanes.of_process().submit_known
    future: Future[Any] = lanes.timed(submit(contextvars.Context().run, make))
    return future, False


def _bind_request(method: Any, manager: Any, req: Any) -> None:
    """Gives a text its request's limit and stop tokens. A request that cannot be is refused."""
    method(manager, req)
    text, before = _parts(req.grammar)
    if text is None:
        return
    chosen = _server.for_request(req.sampling_params.custom_params)
    limit = Limit.of(req.sampling_params, chosen)
    try:
        text.bind(limit, before, chosen.spelling)
    except ValueError as error:
        _refuse(req, "limit", f"{text.spec.kind} with {limit}: {one_line(error)}")


def _refuse(req: Any, reason: str, message: str) -> None:
    metrics.count("maskwright_requests_refused", reason=reason)
    req.set_finish_with_abort(message)


def _parts(grammar: Any) -> tuple[Grammar | None, Sequence[object]]:
    """The text in what SGLang holds for a request, if it is ours, and a list as long as the reasoning before it."""
    if isinstance(grammar, Grammar):
        return grammar, ()
    inner = getattr(grammar, "grammar", None)
    # A ReasonerGrammarObject notes the state of its search for the end with each token of reasoning.
    return (inner, grammar._thinking_match_history) if isinstance(inner, Grammar) else (None, ())


def _fill_batched(original: Any, entries: Sequence[Any], vocab_mask: torch.Tensor) -> None:
    """Rows of one step. A mask that SGLang changes right after it is filled isn't put off."""
    at_once = [entry for entry in entries if getattr(entry.grammar, "reasoning_in_grammar", False)]
    original(at_once, vocab_mask)
    _BATCH.is_open = True
    try:
        original([entry for entry in entries if not getattr(entry.grammar, "reasoning_in_grammar", False)], vocab_mask)
    finally:
        _BATCH.fill()


def _traverse_tree(
    original: Any,
    retrieve_next_token: torch.Tensor,
    retrieve_next_sibling: torch.Tensor,
    draft_tokens: torch.Tensor,
    grammar: Any,
    allocate_token_bitmask: torch.Tensor,
    vocab_size: int | None = None,
) -> None:
    """The masks after the tokens of a tree, whose root has been accepted. Rows of refused tokens stay as they are."""
    text = grammar if isinstance(grammar, Grammar) else None
    if text is None and getattr(grammar, "reasoning_in_grammar", True) is False and grammar._is_generation():
        text = _parts(grammar)[0]
    if text is None or text.is_canonical:
        # Reasoning may end within the draft, or the spelling of it change.
        try:
            original(retrieve_next_token, retrieve_next_sibling, draft_tokens, grammar, allocate_token_bitmask, vocab_size)
        except ValueError as error:
            # Of a text that failed: what is sampled is refused later, which ends this request alone.
            LOG.error("the masks of drafts cannot be made: %s", error)
            allocate_token_bitmask.fill_(-1)
        return
    if text.is_terminated():
        return
    text.fill_vocab_mask(allocate_token_bitmask, 0)
    nodes, parents = depth_first(retrieve_next_token.tolist(), retrieve_next_sibling.tolist())
    if not nodes:
        return
    tokens = draft_tokens.tolist()
    masks = np.empty((len(nodes), allocate_token_bitmask.shape[1]), dtype=np.int32)
    is_accepted = text.text.fill_draft_tree(parents, [tokens[node] for node in nodes], masks)
    rows = np.asarray(allocate_token_bitmask)
    for i, node in enumerate(nodes):
        if is_accepted[i] and tokens[node] not in text.text.ends:
            rows[node] = masks[i]


def depth_first(first_child: list[int], next_sibling: list[int]) -> tuple[list[int], list[int]]:
    """The nodes of a tree under its root 0, parents first, and for each the place of its parent in that list; -1 for the root."""
    nodes: list[int] = []
    parents: list[int] = []
    waiting = [(first_child[0], -1)]
    while waiting:
        node, parent = waiting.pop()
        if node < 0:
            continue
        waiting += [(next_sibling[node], parent), (first_child[node], len(nodes))]
        nodes.append(node)
        parents.append(parent)
    return nodes, parents


def _allocate(vocab_size: int, n_rows: int) -> torch.Tensor:
    import torch
    from sglang.srt.utils.common import is_pin_memory_available

    # Pinned memory is copied to the device without waiting.
    return torch.full((n_rows, (vocab_size + 31) // 32), -1, dtype=torch.int32, pin_memory=is_pin_memory_available())
