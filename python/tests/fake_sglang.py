"""Modules with the names of SGLang's, and so much of its scheduler as the adapter meets. `cargo xtask hosts sglang` has the
real one.

As in SGLang 0.5.23, grammars are compiled by futures and kept in a cache, which is copied from; a refused token is a ValueError;
trees of drafted tokens are walked with `accept_token` and `rollback`; and reasoning is in a wrapper that SGLang makes.
"""

import importlib
import sys
import types
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

EOS, THINK_END = 270, 0
N_VOCAB = 300


@dataclass
class GrammarStats:
    dispatch_type: str = None
    is_cache_hit: bool = False
    tree_traversal_time: list = field(default_factory=list)


class GrammarRow(NamedTuple):
    row: int
    grammar: object


class HookType(Enum):
    AROUND = 0


class HookSource(NamedTuple):
    plugin_name: str
    dist_name: str


_FIELDS = {"json": "json_schema"}


class Req(SimpleNamespace):
    def __init__(self, kind, text, max_new_tokens=60, stop_token_ids=None, reasoning=False, custom_params=None, rid="r"):
        asked = dict.fromkeys(("json_schema", "regex", "ebnf", "structural_tag")) | {_FIELDS.get(kind, kind): text}
        given = {"max_new_tokens": max_new_tokens, "stop_token_ids": stop_token_ids, "custom_params": custom_params}
        params = SimpleNamespace(**asked, **given)
        super().__init__(kind=kind, rid=rid, sampling_params=params, reasoning=reasoning, grammar=None, error=None, output=[])

    @property
    def key(self):
        """The kind of grammar and its text."""
        return self.kind, getattr(self.sampling_params, _FIELDS.get(self.kind, self.kind))

    def set_finish_with_abort(self, message):
        self.grammar, self.error = None, message

    def finish(self):
        """Whether it has ended."""
        stops = {EOS, *(self.sampling_params.stop_token_ids or ())}
        n_left = self.sampling_params.max_new_tokens - len(self.output)
        return self.error is not None or bool(self.output and self.output[-1] in stops) or n_left <= 0


def install(monkeypatch, without=None, **serving):
    """Puts the modules in place, until the test ends. Returns the adapter and those modules by their last names."""

    def module(name, **names):
        made = types.ModuleType(name)
        made.__dict__.update(names)
        made.__path__ = []
        monkeypatch.setitem(sys.modules, name, made)
        parent, _, child = name.rpartition(".")
        modules[child] = made
        if parent:
            setattr(sys.modules[parent], child, made)

    modules = {}
    module("sglang")
    module("sglang.srt")
    for package in ("constrained", "constrained.torch_ops", "parser", "plugins", "speculative", "arg_groups", "utils"):
        module(f"sglang.srt.{package}")
    base = _base()
    module("sglang.srt.constrained.base_grammar_backend", **base)
    module("sglang.srt.constrained.reasoner_grammar_backend", **_reasoner(base))
    module("sglang.srt.constrained.grammar_manager", GrammarManager=_manager(base, modules))
    module("sglang.srt.constrained.torch_ops.token_filter_torch_ops", set_token_filter_torch=_set_token_filter)
    choices = ["xgrammar", "none"]
    module("sglang.srt.arg_groups.choices", CHOICES=choices, add_grammar_backend_choices=choices.extend)
    given = {"reasoning_parser": None, "enable_strict_thinking": False, "constrained_json_disable_any_whitespace": False}
    given |= {"constrained_json_whitespace_pattern": None, "constrained_json_max_whitespace_cnt": None}
    module("sglang.srt.runtime_context", get_serving=lambda: SimpleNamespace(**given | serving))
    detector = SimpleNamespace(get_think_end_token_ids=lambda tokenizer: tokenizer.think_end_ids)
    module("sglang.srt.parser.reasoning_parser", ReasoningParser=lambda **_: SimpleNamespace(detector=detector))
    module("sglang.srt.speculative.spec_utils", traverse_tree=_traverse_tree)
    registry = type("HookRegistry", (), {"_patched": set(), "_hooks": {}, "register": _register, "apply_hooks": _apply})()
    module("sglang.srt.plugins.hook_registry", HookRegistry=registry, HookType=HookType, HookSource=HookSource)
    module("sglang.srt.utils.common", is_pin_memory_available=lambda: False)
    # The adapter makes its rows by torch, which need not be there.
    monkeypatch.setitem(sys.modules, "torch", types.ModuleType("torch"))
    sys.modules["torch"].__dict__.update(int32=np.int32, full=lambda shape, value, dtype, pin_memory: np.full(shape, value, dtype))
    if without is not None:
        delattr(modules[without[0]], without[1])
    monkeypatch.delitem(sys.modules, "maskwright.integrations.sglang", raising=False)
    adapter = importlib.import_module("maskwright.integrations.sglang")
    # Whoever imports it later is to get the one with the real SGLang.
    monkeypatch.setitem(sys.modules, "maskwright.integrations.sglang", adapter)
    return adapter, SimpleNamespace(**modules)


def _base():
    """The classes that backends derive from, new each time."""

    class BaseGrammarObject:
        def __init__(self):
            self.finished, self.grammar_stats, self.current_token = False, None, None

        def maybe_init_reasoning(self, reasoning):
            pass

        @staticmethod
        def fill_vocab_mask_batched(entries, vocab_mask):
            for entry in entries:
                entry.grammar.fill_vocab_mask(vocab_mask, entry.row)

    class InvalidGrammarObject(BaseGrammarObject):
        def __init__(self, error_message):
            super().__init__()
            self.error_message = error_message

        def copy(self):
            return self

    class BaseGrammarBackend:
        def __init__(self):
            self.executor, self.cache = ThreadPoolExecutor(max_workers=2), {}

        def _init_value_dispatch(self, key, reasoning):
            kind, text = key
            return getattr(self, f"dispatch_{kind}")(text)

        def get_cached_or_future_value(self, key, reasoning):
            if key in self.cache:
                copy = self.cache[key].copy()
                copy.maybe_init_reasoning(reasoning)
                return copy, True
            return self.executor.submit(self._init_value_dispatch, key, reasoning), False

        def set_cache(self, key, value):
            self.cache[key] = value

    registry = {}
    return {
        "GRAMMAR_BACKEND_REGISTRY": registry,
        "register_grammar_backend": registry.__setitem__,
        "GrammarStats": GrammarStats,
        "BaseGrammarObject": BaseGrammarObject,
        "InvalidGrammarObject": InvalidGrammarObject,
        "BaseGrammarBackend": BaseGrammarBackend,
    }


def _reasoner(base):
    class ReasonerGrammarObject(base["BaseGrammarObject"]):
        """Reasoning ends with one token."""

        def __init__(self, grammar, reasoning):
            super().__init__()
            self.grammar, self.reasoning_in_grammar = grammar, False
            self._thinking_match_history = []
            self.maybe_init_reasoning(reasoning)

        def maybe_init_reasoning(self, reasoning):
            self.n_after = -1 if reasoning else 0
            self._thinking_match_history.clear()

        def _is_generation(self):
            return self.n_after >= 0

        def accept_token(self, token):
            if self._is_generation():
                self.grammar.accept_token(token)
                self.n_after += 1
            else:
                self._thinking_match_history.append(0)
                self.n_after = 0 if token == THINK_END else -1

        def rollback(self, k):
            n = min(k, max(self.n_after, 0))
            self.grammar.rollback(n)
            self.n_after -= n
            for _ in range(k - n):
                self._thinking_match_history.pop()
                self.n_after = -1

        def is_terminated(self):
            return self._is_generation() and self.grammar.is_terminated()

        def fill_vocab_mask(self, vocab_mask, row):
            if self.reasoning_in_grammar:
                self.grammar.fill_vocab_mask(vocab_mask, row)
                # The budget of reasoning narrows it.
                vocab_mask[row, 3:] = 0
            elif self._is_generation():
                self.grammar.fill_vocab_mask(vocab_mask, row)

        def allocate_vocab_mask(self, *given):
            return self.grammar.allocate_vocab_mask(*given)

        def copy(self):
            return ReasonerGrammarObject(self.grammar.copy(), False)

    class ReasonerGrammarBackend(base["BaseGrammarBackend"]):
        def __init__(self, backend, parser, tokenizer, enable_strict_thinking):
            super().__init__()
            self.backend, self.is_strict = backend, enable_strict_thinking

        def _init_value_dispatch(self, key, reasoning):
            made = self.backend._init_value_dispatch(key, reasoning)
            return made if isinstance(made, base["InvalidGrammarObject"]) else ReasonerGrammarObject(made, reasoning)

    return {"ReasonerGrammarObject": ReasonerGrammarObject, "ReasonerGrammarBackend": ReasonerGrammarBackend}


def _manager(base, modules):
    class GrammarManager:
        """Requests whose grammars are compiled one after the other, and the steps of the scheduler."""

        def __init__(self, make_backend, tokenizer, tp_size=1):
            self.grammar_backend = make_backend(SimpleNamespace(tp_size=tp_size), tokenizer, N_VOCAB, {EOS})

        def _apply_request_reasoning_config(self, req):
            pass

        def process_req_with_grammar(self, req):
            """Whether its grammar is not ready."""
            req.grammar_key = req.key
            req.grammar, is_cached = self.grammar_backend.get_cached_or_future_value(req.grammar_key, req.reasoning)
            if is_cached:
                self._ready(req)
            return not is_cached

        def add(self, req):
            if self.process_req_with_grammar(req):
                assert isinstance(req.grammar, Future)
                req.grammar = req.grammar.result()
                self.grammar_backend.set_cache(req.grammar_key, req.grammar.copy())
                self._ready(req)

        def _ready(self, req):
            if isinstance(req.grammar, base["InvalidGrammarObject"]):
                req.set_finish_with_abort(req.grammar.error_message)
            self._apply_request_reasoning_config(req)

        def masks(self, reqs):
            grammars = [req.grammar for req in reqs]
            mask = grammars[0].allocate_vocab_mask(N_VOCAB, len(reqs), "cpu")
            rows = [GrammarRow(row, grammar) for row, grammar in enumerate(grammars) if not grammar.is_terminated()]
            grammars[0].fill_vocab_mask_batched(rows, mask)
            return mask

        def tree_masks(self, req, child, sibling, tokens):
            mask = req.grammar.allocate_vocab_mask(N_VOCAB, len(tokens), "cpu")
            modules["spec_utils"].traverse_tree(np.array(child), np.array(sibling), np.array(tokens), req.grammar, mask, N_VOCAB)
            return mask

        def accept(self, req, tokens):
            """The tokens until the end of the text, or the first that is refused."""
            for token in tokens:
                try:
                    req.grammar.accept_token(token)
                except ValueError as error:
                    req.error = str(error)
                    return
                req.output.append(token)
                if req.grammar.is_terminated():
                    return

    return GrammarManager


def _traverse_tree(child, sibling, tokens, grammar, masks, vocab_size=None):
    def visit(node, parent):
        if node == -1:
            return
        token = int(tokens[node])
        if node == 0 or (token < vocab_size and masks[parent][token // 32] >> token % 32 & 1):
            if node:
                grammar.accept_token(token)
            if not grammar.is_terminated():
                grammar.fill_vocab_mask(masks, node)
                visit(child[node], node)
            if node:
                grammar.rollback(1)
        visit(sibling[node], parent)

    visit(0, -1)


def _register(registry, target, hook, kind, *, source):
    assert kind is HookType.AROUND and source.plugin_name == "maskwright"
    registry._hooks[target] = hook


def _apply(registry):
    for target, hook in registry._hooks.items():
        name, attribute = target.rsplit(".", 1)
        module, _, rest = name.rpartition(".")
        owner = sys.modules[name] if name in sys.modules else getattr(sys.modules[module], rest)
        original = getattr(owner, attribute, None)
        if target in registry._patched or original is None:
            continue

        def wrapped(*given, _hook=hook, _original=original, **named):
            return _hook(_original, *given, **named)

        is_static = isinstance(vars(owner).get(attribute), staticmethod)
        setattr(owner, attribute, staticmethod(wrapped) if is_static else wrapped)
        registry._patched.add(target)


def _set_token_filter(mask, ids, row, is_allowed, reset_vocab_mask):
    if reset_vocab_mask:
        mask[row] = 0 if is_allowed else -1
    bits = mask[row].view(np.uint32)
    for token in ids:
        bit = np.uint32(1 << token % 32)
        bits[token // 32] = bits[token // 32] | bit if is_allowed else bits[token // 32] & ~bit
