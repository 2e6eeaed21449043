"""Modules with the names of vLLM's, and so much of its engine as the adapter meets. `cargo xtask hosts vllm` has the real one.

The steps are those of vLLM 0.32: grammars are compiled by futures, rows are filled one after the other along drafted
tokens, which are then rolled back, and tokens of reasoning never reach the grammar.
"""

import enum
import json
import sys
import types
from abc import ABC
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np


class Options(enum.Enum):
    JSON = enum.auto()
    JSON_OBJECT = enum.auto()
    REGEX = enum.auto()
    GRAMMAR = enum.auto()
    CHOICE = enum.auto()
    STRUCTURAL_TAG = enum.auto()


class VLLMValidationError(Exception):
    def __init__(self, message, *, parameter=None, value=None):
        super().__init__(message)
        self.parameter, self.value = parameter, value

    def __str__(self):
        return f"{self.args[0]} (parameter={self.parameter})"


class Asked(SimpleNamespace):
    """StructuredOutputsParams: one kind of grammar, and options."""

    def __init__(self, **given):
        options = {"disable_any_whitespace": False, "disable_additional_properties": False, "whitespace_pattern": None}
        super().__init__(**options | given)
        (self.kind,) = given.keys() - options.keys()


def get_structured_output_key(asked):
    text = getattr(asked, asked.kind)
    if asked.kind == "json_object":
        text = ""
    elif not isinstance(text, str):
        text = json.dumps(text)
    return Options[asked.kind.upper()], text


class Bounds(NamedTuple):
    grammar_start: int
    constraint_start: int


class Request:
    def __init__(self, name, params, *, n_prompt=5, reasoning=False, resumable=False):
        self.request_id, self.sampling_params, self.resumable = name, params, resumable
        self.max_tokens, self.num_prompt_tokens = params.max_tokens, n_prompt
        self.output = []
        self.structured_output_request = StructuredOutputRequest(params.structured_outputs, not reasoning)

    @property
    def num_output_tokens(self):
        return len(self.output)


class StructuredOutputRequest:
    def __init__(self, params, reasoning_ended):
        self.params, self.reasoning_ended, self.future = params, reasoning_ended, None

    @property
    def structured_output_key(self):
        return get_structured_output_key(self.params)

    @property
    def grammar(self):
        """The grammar, or the exception of compiling it."""
        return self.future.exception() or self.future.result()


def classes():
    """New classes each time, for tests that replace their methods."""

    class SamplingParams:
        def __init__(self, max_tokens=None, stop_token_ids=(), extra_args=None, allowed_token_ids=None, **asked):
            self.max_tokens, self.stop_token_ids, self.extra_args = max_tokens, list(stop_token_ids), extra_args
            self.allowed_token_ids = allowed_token_ids
            self.structured_outputs = Asked(**asked) if asked else None
            self.all_stop_token_ids = {*stop_token_ids, EOS}

        def _validate_structured_outputs(self, model_config, structured_outputs_config, tokenizer):
            config = structured_outputs_config
            if config is None or self.structured_outputs is None:
                return
            assert config.backend == "outlines"
            from vllm.v1.structured_output.backend_outlines import validate_structured_output_request_outlines

            validate_structured_output_request_outlines(self)

    class Manager:
        def __init__(self, config, tokenizer):
            self.vllm_config, self.tokenizer, self.backend, self.mask = config, tokenizer, None, None
            self.executor, self._use_async_grammar_compilation = ThreadPoolExecutor(max_workers=2), True

        def grammar_init(self, request):
            if request.structured_output_request is None:
                return
            if self.backend is None:
                raise ValueError("Unsupported structured output backend")
            request.structured_output_request.future = self.executor.submit(self._create_grammar, request)

        def _create_grammar(self, request):
            raise AssertionError("the adapter's takes its place")

        def _get_constraint_bounds(self, request, spec_tokens, spec_tokens_committed=False):
            if request.structured_output_request.reasoning_ended:
                return Bounds(0, 0)
            n = spec_tokens.index(THINK_END) + 1 if THINK_END in spec_tokens else len(spec_tokens) + 1
            return Bounds(n, n)

        def _fill_bitmasks(self, rows):
            for grammar, index, applies in rows:
                if applies and not grammar.is_terminated():
                    grammar.fill_bitmask(self.mask, index)
                else:
                    self.mask[index] = -1

        def grammar_bitmask(self, requests, structured_output_request_ids, scheduled_spec_decode_tokens):
            ids, drafts = structured_output_request_ids, scheduled_spec_decode_tokens
            if self.mask is None:
                self.mask = self.backend.allocate_token_bitmask(64)
            row = 0
            for name in ids:
                grammar = requests[name].structured_output_request.grammar
                tokens = drafts.get(name, [])
                start, constrained = self._get_constraint_bounds(requests[name], tokens)
                n_advanced, failed = 0, None
                for i, token in enumerate([*tokens, None]):
                    if failed is not None:
                        self.mask[row] = self.mask[failed]
                    else:
                        self._fill_bitmasks([(grammar, row, i >= constrained)])
                        if token is not None and i >= start:
                            if not grammar.is_terminated() and grammar.accept_tokens(name, [token]):
                                n_advanced += 1
                            else:
                                failed = row
                    row += 1
                if n_advanced:
                    grammar.rollback(n_advanced)
            return self.mask[:row]

        def validate_tokens(self, request, spec_tokens):
            tokens = spec_tokens
            start, _ = self._get_constraint_bounds(request, tokens)
            if start >= len(tokens):
                return tokens
            return tokens[:start] + request.structured_output_request.grammar.validate_tokens(tokens[start:])

        def accept_tokens(self, request, new_token_ids):
            """They are already in the request's output."""
            tokens = new_token_ids
            start, _ = self._get_constraint_bounds(request, tokens, spec_tokens_committed=True)
            if start > len(tokens):
                return True
            request.structured_output_request.reasoning_ended = True
            return request.structured_output_request.grammar.accept_tokens(request.request_id, tokens[start:])

    class AsyncLLM:
        def __init__(self, config, tokenizer):
            self.vllm_config, self.input_processor, self.added = config, SimpleNamespace(tokenizer=tokenizer), []

        async def add_request(self, request_id, prompt, params, priority=0):
            """Checks on the thread of the event loop."""
            given = self.vllm_config.model_config, self.vllm_config.structured_outputs_config, self.input_processor.tokenizer
            params._validate_structured_outputs(*given)
            self.added.append((request_id, priority))

    return SamplingParams, Manager, AsyncLLM


EOS, THINK_END = 270, 0


def config(max_model_len=1000, **options):
    """A VllmConfig, for a model whose logits are wider than the tokenizer."""
    asked = {"disable_any_whitespace": False, "disable_additional_properties": False}
    model = SimpleNamespace(
        max_model_len=max_model_len, get_vocab_size=lambda: 300, try_get_generation_config=lambda: {"eos_token_id": EOS}
    )
    return SimpleNamespace(model_config=model, structured_outputs_config=SimpleNamespace(**asked | options))


def install(monkeypatch):
    """Puts the modules in place, until the test ends. Returns the classes."""
    params, manager, engine = classes()

    def module(name, **names):
        made = types.ModuleType(name)
        made.__dict__.update(names)
        made.__path__ = []
        monkeypatch.setitem(sys.modules, name, made)

    module("vllm")
    module("vllm.exceptions", VLLMValidationError=VLLMValidationError)
    module("vllm.sampling_params", SamplingParams=params)
    module("vllm.v1")
    module("vllm.v1.engine")
    module("vllm.v1.engine.async_llm", AsyncLLM=engine)
    module("vllm.v1.structured_output", StructuredOutputManager=manager)
    module("vllm.v1.structured_output.request", get_structured_output_key=get_structured_output_key)
    module(
        "vllm.v1.structured_output.backend_types",
        StructuredOutputBackend=type("StructuredOutputBackend", (ABC,), {}),
        StructuredOutputGrammar=type("StructuredOutputGrammar", (ABC,), {}),
    )
    outlines = {"OutlinesBackend": None, "validate_structured_output_request_outlines": None}
    module("vllm.v1.structured_output.backend_outlines", **outlines)
    # The adapter makes its rows by torch, which need not be there.
    torch = {"int32": np.int32, "full": lambda shape, value, dtype: np.full(shape, value, dtype=dtype)}
    module("torch", **torch)
    return params, manager, engine
