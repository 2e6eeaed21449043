"""Structured outputs of vLLM: with `MASKWRIGHT_VLLM=1` in its environment, Maskwright does them all.

vLLM calls `register` in each of its processes, through the entry point `vllm.general_plugins`. It has no registry for
backends, so `register` puts functions around some methods:

* `SamplingParams._validate_structured_outputs`, in the API server: a request that cannot be served is refused there,
  with a message that says where it is wrong. (An error of the engine reaches the client as "Internal server error".)
  `AsyncLLM.add_request` does it in threads of our own first, unless it takes no time, so that grammars that take long hold up no others.
* `StructuredOutputManager.grammar_init`, in the engine: the backend is ours, whatever `--structured-outputs-config`
  names. `_create_grammar` compiles in threads of our own, and knows the request's limit.
* `AsyncLLM.__init__` and `StructuredOutputManager.__init__`: both processes read the tokenizer while the server starts, so
  that the first request doesn't wait for it.
* `StructuredOutputManager._get_constraint_bounds`: says how many tokens come before the text.
* `StructuredOutputManager.grammar_bitmask`: the masks of a step are filled in one call, but for texts with drafted tokens.
* `StructuredOutputManager.validate_tokens` appends forced tokens to the drafts; `accept_tokens` counts how many of them the model took.

Rejected: taking only the place of one of vLLM's backends, which is told neither the limit nor the tokenizer when a
request is checked. Drafting beside methods that draw their drafts from a distribution (EAGLE, draft models): what is sampled would no
longer follow the model's.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from maskwright._maskwright import Tokenizer, TokenizerError, __version__
from maskwright.integrations._serving import lanes, log, metrics, options
from maskwright.integrations._serving.log import LOG
from maskwright.integrations._serving.options import Options
from maskwright.integrations._serving.specs import Grammars, Kind, Spec, compiler_of, one_line, whitespace_of, why_refused
from maskwright.integrations._serving.text import Batch, Text, any_allowed, first_matcher

if TYPE_CHECKING:
    import torch

#: Turns the adapter on.
SWITCH = "MASKWRIGHT_VLLM"
#: Methods of speculative decoding whose drafts are checked without their probabilities, so that any token may be drafted.
_DRAFTING = ("custom_class", "ngram")
#: Up to so many requests, drafts save more than they cost. With the canonical spelling all of them are taken, else few. Measured with a small
#: model on a CPU.
_MOST, _MOST_CANONICAL = 4, 15


class Backend:
    """What vLLM calls a `StructuredOutputBackend`."""

    def __init__(self, vllm_config: Any, tokenizer: Any, vocab_size: int) -> None:
        self._config = vllm_config
        self._grammars = grammars_of(tokenizer, vllm_config.model_config)
        self._n_words = (max(vocab_size, self._grammars.compiler.tokenizer.vocab_size) + 31) // 32
        self.batch = Batch()
        #: How many requests the engine had in the last step, those that wait included.
        self.n_requests = 0

    def compile_grammar(
        self, request_type: Any, grammar_spec: str, stop_token_ids: set[int] | None = None
    ) -> Text:
        """A text without limit. Raises maskwright.Error, which says where the spec is wrong."""
        chosen = self._grammars.options
        spec = spec_of(request_type, grammar_spec, chosen, self._config.structured_outputs_config)
        return Text(self._grammars.get(spec), stop_token_ids or (), batch=self.batch, spelling=chosen.spelling)

    def compile_request(self, request: Any) -> Text:
        """The text of a request, complete within what it may write. Raises ValueError, which says what is wrong."""
        asked = request.structured_output_request
        chosen = self._grammars.options.for_request(request.sampling_params.extra_args)
        request_type, text = asked.structured_output_key
        spec = spec_of(request_type, text, chosen, self._config.structured_outputs_config, asked.params)
        grammar = self._grammars.get(spec, request.request_id)
        limit = _limit_of(request, self._config.model_config.max_model_len, chosen)
        stops = request.sampling_params.all_stop_token_ids
        return Text(grammar, stops, limit, self.batch, spelling=chosen.spelling)

    def most_drafts(self, text: Text) -> int:
        """How many tokens may be drafted for a text in the next step, as far as forced tokens are drafted at all."""
        speculation = getattr(self._config, "speculative_config", None)
        most = self._grammars.options.n_drafting
        most = (_MOST_CANONICAL if text.is_canonical else _MOST) if most is None else most
        if speculation is None or speculation.method not in _DRAFTING or self.n_requests > most:
            return 0
        # That one takes the drafts of n-grams from the device, and only their number from the scheduler.
        is_on_device = getattr(self._config, "use_v2_model_runner", False)
        return 0 if is_on_device else int(speculation.num_speculative_tokens)

    def allocate_token_bitmask(self, max_num_seqs: int) -> torch.Tensor:
        """Rows that allow every token."""
        import torch

        return torch.full((max_num_seqs, self._n_words), -1, dtype=torch.int32)

    def destroy(self) -> None:
        """Nothing is held but memory."""


class Drafts:
    """What `--speculative-config '{"method": "custom_class", "model": "maskwright.integrations.vllm.Drafts", …}'` names. It drafts
    nothing: vLLM then asks the grammar which drafts are valid, and there the forced tokens are filled in.
    """

    def __init__(self, vllm_config: Any) -> None:
        if not options.is_on(SWITCH):
            raise ValueError(f"forced tokens are drafted by Maskwright's backend: set {SWITCH}=1 in the server's environment")

    def load_model(self, *_: Any, **__: Any) -> None:
        """There is none."""

    def propose(self, sampled_token_ids: list[list[int]], *_: Any, **__: Any) -> list[list[int]]:
        """No drafts for any request."""
        return [[] for _ in sampled_token_ids]


def register() -> None:
    """Makes Maskwright the backend of this process's structured outputs, if `MASKWRIGHT_VLLM` is set.

    Raises RuntimeError if this version of vLLM lacks what is to be replaced, ValueError for an option with a wrong value.
    """
    if not options.is_on(SWITCH):
        return
    from vllm.sampling_params import SamplingParams
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.structured_output import StructuredOutputManager as Manager
    from vllm.v1.structured_output.backend_types import StructuredOutputBackend, StructuredOutputGrammar

    if getattr(Manager.grammar_init, "is_maskwright", False):
        return
    # A wrong value is to stop the server.
    options.read()
    owners = {"SamplingParams": SamplingParams, "AsyncLLM": AsyncLLM, "StructuredOutputManager": Manager}
    check({name: owners[name.split(".")[0]] for name in _WRAPPED})
    StructuredOutputBackend.register(Backend)
    StructuredOutputGrammar.register(Text)
    _take_slot()
    _leave_tags_to_the_check()
    for name, (function, _) in _WRAPPED.items():
        owner, method = name.split(".")
        _wrap(owners[owner], method, function)
    # Before the processes that count start.
    metrics.publish()


def check(owners: Mapping[str, Any]) -> None:
    """Whether classes of vLLM, given by the names of what is wrapped, have these methods, and take the same as here.

    Raises RuntimeError for the first that does not.
    """
    for name, (_, parameters) in _WRAPPED.items():
        method = getattr(owners[name], name.split(".")[1], None)
        if method is None:
            raise RuntimeError(f"this version of vLLM has no {name}, which {_NEEDS}")
        if parameters is None:
            continue
        found = list(inspect.signature(method).parameters)[1:]
        if (found[: len(parameters) - 1] != list(parameters[:-1])) if parameters[-1] == "..." else (found != list(parameters)):
            taken, expected = ", ".join(found), ", ".join(parameters)
            raise RuntimeError(f"in this version of vLLM {name} takes {taken}, and not {expected}, as {_NEEDS}")


_NEEDS = (
    f"Maskwright's adapter needs: it was made for vLLM 0.32 and 0.33. Without {SWITCH}, vLLM's own backends are used; "
    "a newer Maskwright may know this version"
)


def _take_slot() -> None:
    """Offline beam search finds its backend by name, and so does the check of requests, in versions that have this backend."""
    try:
        import vllm.v1.structured_output.backend_outlines as slot
    except ImportError:
        return
    slot.OutlinesBackend = Backend
    slot.validate_structured_output_request_outlines = lambda params: None


def _leave_tags_to_the_check() -> None:
    """Structural tags are checked by xgrammar when a request is read, on the thread of all requests, and an error does not say what is
    wrong. Only their nesting stays checked there.
    """
    try:
        import vllm.entrypoints.generate.base.protocol as protocol
        from vllm.sampling_params import check_json_nesting

        protocol.validate_structural_tag_payload  # noqa: B018
    except (ImportError, AttributeError):
        return

    def validate(payload: Any, *, parameter: str) -> None:
        check_json_nesting(payload, structural_tag=True)

    protocol.validate_structural_tag_payload = validate


def _wrap(owner: Any, name: str, function: Any) -> None:
    """Puts a function, which is given the method in its place first, in the place of a method."""
    method = getattr(owner, name)

    @functools.wraps(method)
    def wrapped(*args: Any, **keywords: Any) -> Any:
        return function(method, *args, **keywords)

    wrapped.is_maskwright = True  # type: ignore[attr-defined]
    setattr(owner, name, wrapped)


def _validate(method: Any, params: Any, model_config: Any, structured_outputs_config: Any, tokenizer: Any) -> None:
    """Refuses a request that cannot be served, in the API server. The method checks what all backends have in common."""
    config = structured_outputs_config
    method(params, model_config, None if config is None else _Checked(config), tokenizer)
    asked = params.structured_outputs
    if config is None or asked is None:
        return
    from vllm.v1.structured_output.request import get_structured_output_key

    Refusal = _refusal()
    request_type, text = get_structured_output_key(asked)
    parameter = f"structured_outputs.{request_type.name.lower()}"
    try:
        grammars = grammars_of(tokenizer, model_config)
    except ValueError as error:
        raise Refusal("tokenizer", parameter, parameter, error) from error
    try:
        chosen = grammars.options.for_request(params.extra_args)
    except ValueError as error:
        raise Refusal("options", "vllm_xargs", "vllm_xargs", error) from error
    try:
        spec = spec_of(request_type, text, chosen, config, asked)
        grammar = grammars.get(spec)
    except ValueError as error:
        raise Refusal(why_refused(error), parameter, parameter, error) from error
    stops = params.stop_token_ids or None
    limit = params.max_tokens if _has_limit(params, chosen) else None
    try:
        matcher = first_matcher(grammar, limit, stops)
        if (looked_up := grammars.looked_up(spec)) is not None:
            looked_up.add(limit, stops)
    except ValueError as error:
        given = ("" if limit is None else f" max_tokens={limit}") + (f" stop_token_ids={stops}" if stops else "")
        raise Refusal("limit", parameter if limit is None else "max_tokens", f"structured_outputs with{given}", error) from error
    allowed = params.allowed_token_ids
    if allowed and not any_allowed(matcher, allowed):
        raise Refusal("tokens", "allowed_token_ids", "allowed_token_ids", ValueError("none of them begins a text of the grammar"))


@functools.cache
def _refusal() -> Any:
    """The class of vLLM's errors for requests that are refused."""
    from vllm.exceptions import VLLMValidationError

    class Refusal(VLLMValidationError):  # type: ignore[misc]
        """Its text does not repeat the parameter's name."""

        def __init__(self, reason: str, parameter: str, said: str, error: Exception) -> None:
            self.reason = reason
            self.said = f"{said}: {one_line(error)}"
            super().__init__(self.said, parameter=parameter)

        def __str__(self) -> str:
            return self.said

    return Refusal


class _Checked:
    """A configuration of structured outputs in which the backend is one that vLLM's own check knows."""

    backend = "outlines"

    def __init__(self, config: Any) -> None:
        self._config = config

    def __getattr__(self, name: str) -> Any:
        return getattr(self._config, name)


def _start_server(method: Any, engine: Any, *rest: Any, **keywords: Any) -> None:
    method(engine, *rest, **keywords)
    _prepare(engine.input_processor.tokenizer, engine.vllm_config.model_config)


def _start_engine(method: Any, manager: Any, *rest: Any, **keywords: Any) -> None:
    method(manager, *rest, **keywords)
    _prepare(getattr(manager, "tokenizer", None), manager.vllm_config.model_config)


@functools.cache
def _say_hello() -> None:
    """Once in each process that uses this. When the adapter is registered, vLLM has not set up its log."""
    log.follow(logging.getLogger("vllm"))
    log.leave_out(logging.getLogger("vllm"), _refusal())
    metrics.started()
    LOG.info("structured outputs are those of Maskwright %s; %s", __version__, options.read())
    for warning in options.unknown():
        LOG.warning("%s", warning)


def _prepare(tokenizer: Any, model_config: Any) -> None:
    """Reads the tokenizer of a server, if it has one."""
    _say_hello()
    if tokenizer is None:
        return
    try:
        grammars_of(tokenizer, model_config)
    except ValueError as error:
        LOG.warning("requests with structured outputs will be refused: %s", error)


def _what_is_known(params: Any, model_config: Any, config: Any, tokenizer: Any) -> tuple[bool, bool]:
    """Whether a request's grammar is known, and whether the request can be checked at once, because its limit is not near either."""
    from vllm.v1.structured_output.request import get_structured_output_key

    asked = params.structured_outputs
    try:
        grammars = grammars_of(tokenizer, model_config)
        chosen = grammars.options.for_request(params.extra_args)
        request_type, text = get_structured_output_key(asked)
        looked_up = grammars.looked_up(spec_of(request_type, text, chosen, config, asked))
    except ValueError:
        # The check says what is wrong, before it compiles anything.
        return True, True
    limit = params.max_tokens if _has_limit(params, chosen) else None
    return looked_up is not None, looked_up is not None and looked_up.has(limit, params.stop_token_ids)


async def _add_request(method: Any, engine: Any, request_id: Any, prompt: Any, params: Any, *rest: Any, **keywords: Any) -> Any:
    if getattr(params, "structured_outputs", None) is not None:
        config = engine.vllm_config
        given = config.model_config, config.structured_outputs_config, engine.input_processor.tokenizer
        try:
            is_known, is_quick = _what_is_known(params, *given)
            if is_quick:
                metrics.observe("maskwright_check_seconds", 0.0)
                params._validate_structured_outputs(*given)
            else:
                submit = lanes.of_process().submit_known if is_known else lanes.of_process().submit
                await asyncio.wrap_future(lanes.timed(submit(params._validate_structured_outputs, *given)))
        except _refusal() as refusal:
            metrics.count("maskwright_requests_refused", reason=refusal.reason)
            LOG.info("request %s is refused: %s", request_id, refusal.said)
            raise
    return await method(engine, request_id, prompt, params, *rest, **keywords)


def _grammar_init(method: Any, manager: Any, request: Any) -> None:
    if request.structured_output_request is not None and manager.backend is None:
        config = manager.vllm_config
        manager.backend = Backend(config, manager.tokenizer, config.model_config.get_vocab_size())
        if manager._use_async_grammar_compilation:
            manager.executor.shutdown(wait=False)
            manager.executor = lanes.of_process()
    method(manager, request)


def _create_grammar(method: Any, manager: Any, request: Any) -> Text:
    try:
        return cast("Backend", manager.backend).compile_request(request)
    except Exception as error:
        LOG.warning("request %s is refused: %s", request.request_id, one_line(error))
        metrics.count("maskwright_requests_refused", reason="engine")
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
    backend = manager.backend
    if not isinstance(backend, Backend):
        return method(manager, requests, structured_output_request_ids, scheduled_spec_decode_tokens)
    backend.n_requests = len(requests)
    drafted = [requests[name] for name, tokens in scheduled_spec_decode_tokens.items() if tokens and name in requests]
    backend.batch.moving = {text for request in drafted if (text := _text_of(request)) is not None}
    backend.batch.is_open = True
    try:
        # An array over the memory of the rows.
        return method(manager, requests, structured_output_request_ids, scheduled_spec_decode_tokens)
    finally:
        backend.batch.fill()


def _validate_tokens(method: Any, manager: Any, request: Any, spec_tokens: list[int]) -> list[int]:
    """Valid drafts, and after them the tokens that are forced."""
    drafted: list[int] = method(manager, request, spec_tokens)
    text = _text_of(request)
    n_more = 0 if text is None else manager.backend.most_drafts(text) - len(drafted)
    # While the model reasons, no token is forced.
    if text is None or n_more <= 0 or manager._get_constraint_bounds(request, drafted).grammar_start > 0:
        return drafted
    return drafted + text.forced_after(drafted, n_more)


def _accept_tokens(method: Any, manager: Any, request: Any, new_token_ids: list[int]) -> bool:
    is_accepted: bool = method(manager, request, new_token_ids)
    text = _text_of(request)
    if text is not None:
        text.count_accepted(new_token_ids)
    return is_accepted


def _text_of(request: Any) -> Text | None:
    asked = request.structured_output_request
    text = None if asked is None else asked.grammar
    return text if isinstance(text, Text) else None


def spec_of(request_type: Any, text: str, chosen: Options, config: Any, params: Any = None) -> Spec:
    """What a request asks for, by vLLM's enum, the options, the configuration and the request's own parameters.

    Raises GrammarError for a pattern of white space that is not supported.
    """
    given = [config] if params is None else [config, params]
    is_compact = any(each.disable_any_whitespace for each in given)
    is_closed = any(each.disable_additional_properties for each in given)
    pattern = None if params is None else params.whitespace_pattern
    whitespace = "compact" if is_compact else chosen.grammar.whitespace if pattern is None else whitespace_of(pattern)
    return Spec(cast("Kind", request_type.name.lower()), text, chosen.grammar._replace(whitespace=whitespace), is_closed)


def _limit_of(request: Any, max_model_len: int, chosen: Options) -> int | None:
    """The most tokens that vLLM lets a request write; None if it may not be held to them."""
    # Streamed input changes the limit of its request while it arrives.
    if request.resumable or not _has_limit(request.sampling_params, chosen):
        return None
    limit: int = min(request.max_tokens, max_model_len - request.num_prompt_tokens)
    return max(limit, 0)


def _has_limit(params: Any, chosen: Options) -> bool:
    """Whether the text is to be complete within the request's limit."""
    transfer = (params.extra_args or {}).get("kv_transfer_params")
    # Where another engine writes the text, this one is asked for one token.
    is_remote = isinstance(transfer, Mapping) and bool(transfer.get("do_remote_decode"))
    return chosen.has_limit and not is_remote


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
            chosen = options.read()
            made = Grammars(compiler_of(_read(tokenizer, model_config, vocab_size), chosen), chosen)
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


#: What stands around vLLM's methods, and what those take, "..." for anything else; None for whatever it is.
_WRAPPED: dict[str, tuple[Any, tuple[str, ...] | None]] = {
    "SamplingParams._validate_structured_outputs": (_validate, ("model_config", "structured_outputs_config", "tokenizer")),
    "AsyncLLM.__init__": (_start_server, None),
    "AsyncLLM.add_request": (_add_request, ("request_id", "prompt", "params", "...")),
    "StructuredOutputManager.__init__": (_start_engine, None),
    "StructuredOutputManager.grammar_init": (_grammar_init, ("request",)),
    "StructuredOutputManager._create_grammar": (_create_grammar, ("request",)),
    "StructuredOutputManager._get_constraint_bounds": (
        _get_constraint_bounds,
        ("request", "spec_tokens", "spec_tokens_committed"),
    ),
    "StructuredOutputManager.grammar_bitmask": (
        _grammar_bitmask,
        ("requests", "structured_output_request_ids", "scheduled_spec_decode_tokens"),
    ),
    "StructuredOutputManager.validate_tokens": (_validate_tokens, ("request", "spec_tokens")),
    "StructuredOutputManager.accept_tokens": (_accept_tokens, ("request", "new_token_ids")),
}
