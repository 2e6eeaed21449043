"""Structured outputs of vLLM: with `MASKWRIGHT_VLLM=1` in its environment, Maskwright does them all.

vLLM calls `register` in each of its processes, through the entry point `vllm.general_plugins`. It has no registry for
backends, so `register` puts functions around some methods:

* `SamplingParams._validate_structured_outputs`, in the API server: a request that cannot be served is refused there,
  with a message that says where it is wrong. (An error of the engine reaches the client as "Internal server error".)
  `AsyncLLM.add_request` does it on another thread first, so that a grammar that takes long holds up no other request.
* `StructuredOutputManager.grammar_init`, in the engine: the backend is ours, whatever `--structured-outputs-config`
  names. `_create_grammar` compiles in vLLM's threads, and knows the request's limit.
* `AsyncLLM.__init__` and `StructuredOutputManager.__init__`: both processes read the tokenizer while the server starts, so
  that the first request doesn't wait for it.
* `StructuredOutputManager._get_constraint_bounds`: says how many tokens come before the text.
* `StructuredOutputManager.grammar_bitmask`: the masks of a step without drafted tokens are filled in one call.

Rejected: taking only the place of one of vLLM's backends, which is told neither the limit nor the tokenizer when a
request is checked.
"""

from __future__ import annotations

import asyncio
import functools
import logging
import threading
from collections.abc import Mapping
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from maskwright._maskwright import Tokenizer, TokenizerError, __version__
from maskwright.integrations import _options
from maskwright.integrations._specs import Grammars, Kind, Spec, compiler_of, whitespace_of
from maskwright.integrations._text import Batch, Text, first_matcher, is_on

if TYPE_CHECKING:
    import torch

#: A child of vLLM's own logger, so that lines look like vLLM's.
LOG = logging.getLogger("vllm.maskwright")

#: Turns the adapter on.
SWITCH = "MASKWRIGHT_VLLM"
#: `0` leaves texts that are cut off at `max_tokens`, as other backends do.
LIMIT_SWITCH = "MASKWRIGHT_VLLM_LIMIT"


class Backend:
    """What vLLM calls a `StructuredOutputBackend`."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        self._config = vllm_config
        self._grammars = grammars_of(tokenizer, vllm_config.model_config)
        self._n_words = (max(vocab_size, self._grammars.compiler.tokenizer.vocab_size) + 31) // 32
        self.batch = Batch()

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> Text:
        """A text without limit. Raises maskwright.Error, which says where the spec is wrong."""
        spec = spec_of(request_type, grammar_spec, self._config.structured_outputs_config)
        return Text(self._grammars.get(spec), stop_token_ids or (), batch=self.batch, log=LOG)

    def compile_request(self, request: Any) -> Text:
        """The text of a request, complete within what it may write. Raises ValueError, which says what is wrong."""
        asked = request.structured_output_request
        request_type, text = asked.structured_output_key
        spec = spec_of(request_type, text, self._config.structured_outputs_config, asked.params)
        stops = request.sampling_params.all_stop_token_ids
        limit = _limit_of(request, self._config.model_config.max_model_len)
        return Text(self._grammars.get(spec), stops, limit, self.batch, log=LOG)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Rows that allow every token."""
        import torch

        return torch.full((max_num_seqs, self._n_words), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Nothing is held but memory."""


def register() -> None:
    """Makes Maskwright the backend of this process's structured outputs, if `MASKWRIGHT_VLLM` is set.

    Raises RuntimeError if this version of vLLM lacks what is to be replaced, ValueError for an option with a wrong value.
    """
    if not is_on(SWITCH, default=False):
        return
    import vllm.v1.structured_output.backend_outlines as slot
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.structured_output import StructuredOutputManager as Manager
    from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar

    if getattr(Manager.grammar_init, "is_maskwright", False):
        return
    StructuredOutputBackend.register(Backend)
    StructuredOutputGrammar.register(Text)
    # Offline beam search finds its backend by name, and so does the check of requests.
    slot.OutlinesBackend = Backend
    slot.validate_structured_output_request_outlines = lambda params: None
    _wrap(SamplingParams, "_validate_structured_outputs", _validate)
    _wrap(AsyncLLM, "__init__", _start_server)
    _wrap(AsyncLLM, "add_request", _add_request)
    _wrap(Manager, "__init__", _start_engine)
    _wrap(Manager, "grammar_init", _grammar_init)
    _wrap(Manager, "_create_grammar", _create_grammar)
    _wrap(Manager, "_get_constraint_bounds", _get_constraint_bounds)
    _wrap(Manager, "grammar_bitmask", _grammar_bitmask)
    LOG.info("structured outputs are Maskwright's %s; %s", __version__, _options.read())


def _wrap(owner: Any, name: str, function: Any) -> None:
    """Puts a function, which is given the method in its place first, in the place of a method."""
    method = getattr(owner, name, None)
    if method is None:
        raise RuntimeError(
            f"this version of vLLM has no {owner.__name__}.{name}, which Maskwright's adapter needs: it was made for vLLM "
            f"0.32; without {SWITCH}, vLLM's own backends are used"
        )

    @functools.wraps(method)
    def wrapped(*args: Any, **keywords: Any) -> Any:
        return function(method, *args, **keywords)

    wrapped.is_maskwright = True  # type: ignore[attr-defined]
    setattr(owner, name, wrapped)


def _validate(method: Any, params: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> None:
    """Refuses a request that cannot be served, in the API server. The method checks what all backends have in common."""
    config = structured_outputs_config
    method(params, model_config, None if config is None else SimpleNamespace(backend="outlines"), tokenizer)
    asked = params.structured_outputs
    if config is None or asked is None:
        return
    from vllm.exceptions import VLLMValidationError
    from vllm.v1.structured_output.request import get_structured_output_key

    request_type, text = get_structured_output_key(asked)
    try:
        grammar = grammars_of(tokenizer, model_config).get(spec_of(request_type, text, config, asked))
    except ValueError as error:
        raise VLLMValidationError(f"structured_outputs.{request_type.name.lower()}: {error}") from error
    stops = params.stop_token_ids or None
    limit = params.max_tokens if _has_limit(params) else None
    try:
        first_matcher(grammar, limit, stops)
    except ValueError as error:
        given = ("" if limit is None else f" max_tokens={limit}") + (f" stop_token_ids={stops}" if stops else "")
        raise VLLMValidationError(f"structured_outputs with{given}: {error}") from error


def _start_server(method: Any, engine: Any, *rest: Any, **keywords: Any) -> None:
    method(engine, *rest, **keywords)
    _prepare(engine.input_processor.tokenizer, engine.vllm_config.model_config)


def _start_engine(method: Any, manager: Any, *rest: Any, **keywords: Any) -> None:
    method(manager, *rest, **keywords)
    _prepare(getattr(manager, "tokenizer", None), manager.vllm_config.model_config)


def _prepare(tokenizer: Any, model_config: Any) -> None:
    """Reads the tokenizer of a server, if it has one."""
    if tokenizer is None:
        return
    try:
        grammars_of(tokenizer, model_config)
    except ValueError as error:
        LOG.warning("requests with structured outputs will be refused: %s", error)


async def _add_request(method: Any, engine: Any, request_id: Any, prompt: Any, params: Any, *rest: Any, **keywords: Any) -> Any:
    if getattr(params, "structured_outputs", None) is not None:
        config = engine.vllm_config
        given = config.model_config, config.structured_outputs_config, engine.input_processor.tokenizer
        await asyncio.to_thread(params._validate_structured_outputs, *given)
    return await method(engine, request_id, prompt, params, *rest, **keywords)


def _grammar_init(method: Any, manager: Any, request: Any) -> None:
    if request.structured_output_request is not None and manager.backend is None:
        config = manager.vllm_config
        manager.backend = Backend(config, manager.tokenizer, config.model_config.get_vocab_size())
    method(manager, request)


def _create_grammar(method: Any, manager: Any, request: Any) -> Text:
    try:
        return cast("Backend", manager.backend).compile_request(request)
    except Exception as error:
        LOG.warning("request %s is refused: %s", request.request_id, error)
        raise


def _get_constraint_bounds(
    method: Any, manager: Any, request: Any, spec_tokens: Any, spec_tokens_committed: bool = False
) -> Any:
    bounds = method(manager, request, spec_tokens, spec_tokens_committed)
    text = request.structured_output_request.grammar
    if isinstance(text, Text):
        n_written = request.num_output_tokens - (len(spec_tokens) if spec_tokens_committed else 0)
        text.begins_after(n_written + bounds.grammar_start)
    return bounds


def _grammar_bitmask(
    method: Any,
    manager: Any,
    requests: Any,
    structured_output_request_ids: Any,
    scheduled_spec_decode_tokens: Mapping[str, list[int]],
) -> Any:
    drafts = scheduled_spec_decode_tokens
    backend = manager.backend
    if not isinstance(backend, Backend) or any(drafts.values()):
        return method(manager, requests, structured_output_request_ids, drafts)
    backend.batch.is_open = True
    try:
        # An array over the memory of the rows.
        return method(manager, requests, structured_output_request_ids, drafts)
    finally:
        backend.batch.fill()


def spec_of(request_type: Any, text: str, config: Any, params: Any = None) -> Spec:
    """What a request asks for, by vLLM's enum, the configuration and the request's own options.

    Raises GrammarError for a pattern of white space that is not supported.
    """
    given = [config] if params is None else [config, params]
    is_compact = any(each.disable_any_whitespace for each in given)
    is_closed = any(each.disable_additional_properties for each in given)
    pattern = None if params is None else params.whitespace_pattern
    whitespace = "compact" if is_compact else None if pattern is None else whitespace_of(pattern)
    return Spec(cast("Kind", request_type.name.lower()), text, whitespace, is_closed)


def _limit_of(request: Any, max_model_len: int) -> int | None:
    """The most tokens that vLLM lets a request write; None if it may not be held to them."""
    # Streamed input changes the limit of its request while it arrives.
    if request.resumable or not _has_limit(request.sampling_params):
        return None
    limit: int = min(request.max_tokens, max_model_len - request.num_prompt_tokens)
    return max(limit, 0)


def _has_limit(params: Any) -> bool:
    """Whether the text is to be complete within the request's limit."""
    transfer = (params.extra_args or {}).get("kv_transfer_params") or {}
    # Where another engine writes the text, this one is asked for one token.
    return is_on(LIMIT_SWITCH, default=True) and not transfer.get("do_remote_decode")


#: For each tokenizer, with the width of the logits.
_GRAMMARS: WeakKeyDictionary[Any, tuple[int, Grammars]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def grammars_of(tokenizer: Any, model_config: Any) -> Grammars:
    """The grammars for one of vLLM's tokenizers, kept as long as it lives.

    Raises TokenizerError for a tokenizer that cannot be read.
    """
    vocab_size = model_config.get_vocab_size()
    with _LOCK:
        known = _GRAMMARS.get(tokenizer)
        if known is None or known[0] != vocab_size:
            options = _options.read()
            made = Grammars(compiler_of(_read(tokenizer, model_config, vocab_size), options), LOG, options)
            known = _GRAMMARS[tokenizer] = (vocab_size, made)
    return known[1]


def _read(tokenizer: Any, model_config: Any, vocab_size: int) -> Tokenizer:
    """The tokenizer, with the ids at which vLLM ends every text of the model."""
    ends = model_config.try_get_generation_config().get("eos_token_id")
    ends = {ends} if isinstance(ends, int) else set(ends or ())
    if tokenizer.eos_token_id is not None:
        ends.add(tokenizer.eos_token_id)
    try:
        return Tokenizer.from_hf(tokenizer, eos_token_ids=sorted(ends), vocab_size=vocab_size)
    except TypeError as error:
        raise TokenizerError(
            f"a fast tokenizer of transformers is expected (--tokenizer-mode hf), not {type(tokenizer).__name__}"
        ) from error
