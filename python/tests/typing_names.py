"""Every public name of the package, used as a typed program uses it: `mypy --strict` reads it, and a test runs it."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Optional, assert_type

import maskwright
import numpy as np
import numpy.typing as npt
from maskwright import Check, CompiledGrammar, Compiler, Keyword, Matcher, Next, Report, ReportEntry, State, Support, Tokenizer, Trace
from maskwright.integrations import diffusion, llama_cpp, outlines, transformers

if TYPE_CHECKING:
    import tokenizers
    import torch

VERSION: str = maskwright.__version__


def tokenizers_of_every_kind(folder: Path, hf: tokenizers.Tokenizer) -> list[Tokenizer]:
    file = folder / "tokenizer.json"
    return [
        Tokenizer.from_file(str(file)),
        Tokenizer.from_file(file, eos_token_ids=[0], vocab_size=200_000),
        Tokenizer.from_hf(hf, model=None, eos_token_ids=[0], vocab_size=None),
        Tokenizer.from_tiktoken("gpt2", eos_token_ids=None, vocab_size=50_304),
        Tokenizer.from_tokens([b"a", b"</s>"], eos_token_ids=[1]),
        Tokenizer.from_tokens([b"a", b"</s>"], eos=[1]),
    ]


def tokenizer_of_a_model(path: Path) -> Tokenizer:
    return Tokenizer.from_gguf(path, eos_token_ids=[2], vocab_size=None)


def tokenizer_members(tokenizer: Tokenizer) -> None:
    assert_type(tokenizer.vocab_size, int)
    assert_type(tokenizer.eos_token_ids, list[int])
    assert_type(tokenizer.token_bytes(0), bytes | None)
    ids = tokenizer.encode("a") + tokenizer.encode(b"a")
    assert_type(ids, list[int])
    assert_type(tokenizer.decode(ids), bytes)
    assert_type(tokenizer.special_tokens, dict[str, int])
    assert_type(tokenizer.chat_template, str | None)
    decoder: maskwright.Decoder = tokenizer.decoder()
    assert_type(decoder.feed(ids) + decoder.feed(ids[0]) + decoder.finish(), str)
    assert_type(pickle.loads(pickle.dumps(tokenizer)).vocab_size, Any)
    assert_type(Tokenizer.deserialize(tokenizer.serialize()), Tokenizer)
    assert_type(copy.deepcopy(tokenizer), Tokenizer)


def grammars(compiler: Compiler, folder: Path) -> list[CompiledGrammar]:
    cancel = maskwright.CancelToken()
    schema: Mapping[str, object] = {"type": "integer"}
    (folder / "schema.json").write_text('{"$ref": "urn:b"}')
    return [
        compiler.compile_json_schema(
            schema,
            property_order="any",
            whitespace="compact",
            strict=False,
            documents={"a": True, "b": "{}"},
            cancel=cancel,
        ),
        compiler.compile_json_schema(folder / "schema.json", documents={"urn:b": {"const": 1}}),
        compiler.compile_json_schema("true", whitespace="any", max_whitespace=2),
        compiler.compile_json_schema("true", whitespace="any", numbers="any"),
        compiler.compile_json_schema(True, property_order="schema", whitespace="flexible"),
        compiler.compile_regex("a+", cancel=cancel),
        compiler.compile_gbnf('root ::= "a"', cancel=cancel),
        compiler.compile_choice(["a", "aa"], cancel=cancel),
        compiler.compile_lark('start: "a"'),
        compiler.compile_lark(
            'start: "a" EOL _INDENT _DEDENT\nEOL: /\\n */\n%declare _INDENT _DEDENT',
            indentation={"newline": "EOL", "open": ["LPAR"], "tab_len": 4},
        ),
        compiler.compile_structural_tag(
            {"format": {"type": "any_text"}},
            property_order="any",
            whitespace="any",
            max_whitespace=0,
            strict=False,
            cancel=cancel,
        ),
        compiler.compile_structural_tag('{"format": {"type": "const_string", "value": "a"}}'),
        compiler.compile_tool_calls([{"name": "a"}], format=maskwright.tool_formats()[0], tool_choice="required"),
        compiler.compile_lark(
            'all: "a"',
            start="all",
            lexer="dynamic_complete",
            indentation=None,
            import_paths=["x", folder],
            property_order="any",
            whitespace="any",
            max_whitespace=None,
            cancel=cancel,
        ),
        compiler.compile_builtin("json", cancel=None),
    ]


class Color(Enum):
    RED = "red"


@dataclass
class Point:
    x: float
    color: Color | None = None


def types(compiler: Compiler, folder: Path) -> list[CompiledGrammar]:
    (folder / "grammar.gbnf").write_text('root ::= "a"')
    (folder / "grammar.lark").write_text('start: "a"')
    schemas: list[dict[str, Any]] = [
        maskwright.schema_from(Point),
        maskwright.schema_from({"type": "integer"}),
        maskwright.schema_from("true"),
        maskwright.schema_from(None),
    ]
    assert len(schemas) == 4
    return [
        compiler.compile(Point, whitespace="compact", cancel=maskwright.CancelToken()),
        compiler.compile(Color),
        compiler.compile(list[Point]),
        compiler.compile(int | None),
        compiler.compile(Optional[int]),
        compiler.compile(Literal["a", "b"]),
        compiler.compile(dict[str, int], property_order="any", max_whitespace=1, strict=False, documents=None),
        compiler.compile(types_of_function),
        compiler.compile({"const": 1}),
        compiler.compile(re.compile("a+", re.IGNORECASE)),
        compiler.compile(folder / "grammar.gbnf"),
        compiler.compile(folder / "grammar.lark", lexer="basic", start="start", indentation=None, import_paths=[folder]),
        compiler.compile_json_schema(Point),
        compiler.compile_gbnf(folder / "grammar.gbnf"),
        compiler.compile_lark(folder / "grammar.lark"),
        compiler.compile_choice({"a", "b"}),
        compiler.compile_choice(Color),
        compiler.compile_choice(Literal["a", "b"]),
        compiler.compile_regex("(?=a).", dialect="ecma"),
        compiler.compile_regex(r"\w", unicode=True),
    ]


def types_of_function(name: str, n: int = 3) -> None:
    """A function whose parameters are a schema."""


def refused(compiler: Compiler) -> None:
    """The type checker finds these; a comment that finds nothing to ignore is an error of its own."""
    try:
        compiler.compile_lark('start: "a"', lexer="earley")  # type: ignore[arg-type]
    except ValueError:
        compiler.compile_json_schema(True, whitespace="none")  # type: ignore[arg-type]
        compiler.compile([1], whitespace="none")  # type: ignore[arg-type]
        compiler.compile_choice(1)  # type: ignore[arg-type]


def compilers(tokenizer: Tokenizer, folder: Path) -> Compiler:
    compiler = Compiler(tokenizer, limits={"compile_work": 10_000_000, "infill_work": 10_000_000, "advanced": {"max_threads": 64}}, threads=2)
    compiler = Compiler(tokenizer, {"advanced": {"row_cache_bytes": 1 << 24, "machine_bytes": 1 << 24}, "memory_bytes": 1 << 28}, None)
    compiler.save_rows(folder / "rows")
    assert_type(compiler.load_rows(str(folder / "rows")), int)
    compiler.clear_caches()
    assert_type(compiler.memory_usage(), int)
    return Compiler(tokenizer, rows=folder / "rows")


def support() -> str:
    support: Support = maskwright.supported({"type": "integer"}, property_order="any", documents=None)
    assert_type((bool(support), support.report, support.error), tuple[bool, Report, maskwright.Error | None])
    assert_type(support.unenforced, list[ReportEntry])
    assert_type(maskwright.supported_schema(), dict[str, Any])
    return str(support)


def report(grammar: CompiledGrammar) -> list[str]:
    assert_type(grammar.memory_usage(), int)
    assert_type(grammar.compiler.compile_choice(["a"]).to_llguidance(), str)
    assert_type(CompiledGrammar.deserialize(grammar.serialize(), grammar.compiler, cancel=None), CompiledGrammar)
    assert grammar.tokenizer is grammar.compiler.tokenizer
    assert_type((grammar.describe(), grammar.describe(example=True)), tuple[str, str])
    report: Report = grammar.report
    entries: list[ReportEntry] = report
    for entry in entries:
        status: Literal["enforced", "enforced by the session", "annotation", "not enforced"] = entry.status
        assert status != "enforced" or entry.reason is None
    told = {entry: entry.suggestion or entry.reason or entry.tool or "" for entry in entries}
    return [f"{entry.pointer} {entry.keyword} {text}" for entry, text in told.items()]


def masks(grammar: CompiledGrammar, tokenizer: Tokenizer) -> None:
    matcher = Matcher(grammar)
    mask: npt.NDArray[np.int32] = maskwright.allocate_token_bitmask(2, tokenizer.vocab_size)
    assert_type(matcher.fill_next_token_bitmask(mask), bool)
    assert_type(matcher.fill_next_token_bitmask(mask, row=1), bool)
    status: Literal["exact", "bound"] = matcher.mask_status
    assert status == "exact"
    logits = np.zeros((2, tokenizer.vocab_size), dtype=np.float32)
    maskwright.apply_token_bitmask_inplace(logits, mask)
    assert_type(matcher.fill_draft_tree([-1, 0], [0, 0], mask), list[bool])
    maskwright.fill_next_token_bitmask_batch([matcher, matcher.fork()], mask, rows=[1, 0])
    maskwright.fill_next_token_bitmask_batch([matcher], mask.ctypes.data, None, stride=mask.strides[0])


def torch_masks(matcher: Matcher, logits: torch.Tensor, mask: torch.Tensor) -> None:
    """Only for the type checker; the tests of masks use torch if it is installed."""
    matcher.fill_next_token_bitmask(mask)
    maskwright.fill_next_token_bitmask_batch([matcher], mask)
    maskwright.apply_token_bitmask_inplace(logits, mask)


def matcher_members(grammar: CompiledGrammar, token: int, folder: Path) -> None:
    matcher = Matcher(grammar, max_tokens=8, stop_token_ids=[0])
    assert_type(matcher.stop_token_ids, list[int])
    assert_type(matcher.validate_tokens([token]), int)
    assert_type(matcher.accept_token(token), bool)
    assert_type(matcher.accept_tokens([token]), int)
    matcher.rollback(1)
    assert_type(matcher.accept_bytes(b"a") and matcher.accept_bytes("a"), bool)
    assert_type(matcher.text, bytes)
    assert_type(matcher.steps, list[int | bytes])
    assert_type(matcher.n_tokens, int)
    assert_type(matcher.max_tokens, int | None)
    assert_type(matcher.grammar, CompiledGrammar)
    assert_type(matcher.tokens_to_finish_with_status(), tuple[int, Literal["exact", "upper"]])
    assert_type(matcher.is_accepting() or matcher.is_terminated(), bool)
    assert_type(matcher.tokens_to_finish(), int)
    status: Literal["exact", "upper"] = matcher.tokens_to_finish_status()
    assert status == "exact"
    assert_type(matcher.finish(), list[int])
    assert_type(matcher.forced_bytes(), bytes)
    assert_type(matcher.forced_tokens(), list[int])
    assert_type(matcher.explain(token), str)
    assert_type(matcher.expected(), str)
    trace = Trace(matcher, title="a text", model="a model", prompt="a prompt")
    trace.step(np.zeros(grammar.tokenizer.vocab_size, dtype=np.float32), None, token)
    assert_type((trace.html(), trace.text(), trace.ansi()), tuple[str, str, str])
    assert_type((len(trace), trace.cost_nats), tuple[int, float | None])
    trace.save(folder / "trace.html")
    state: State = matcher.state()
    assert_type(state.within, str | None)
    assert_type((state.path, state.rules, state.is_complete), tuple[str | None, list[str], bool])
    following: list[Next] = state.next
    assert_type([(one.words, one.examples) for one in following], list[tuple[str, list[str]]])
    keywords: list[Keyword] = state.keywords
    assert_type([(one.name, one.value, one.pointer) for one in keywords], list[tuple[str, str, str]])
    assert_type(state._repr_html_(), str)
    check: Check = matcher.grammar.check(matcher.text, special_tokens=False)
    assert_type((check.is_valid, check.is_prefix, bool(check)), tuple[bool, bool, bool])
    assert_type((check.offset, check.line, check.column), tuple[int, int, int])
    assert_type((check.reason, check.path, check.token), tuple[str | None, str | None, str | None])
    assert_type(check.expected, list[str])
    assert_type(check._repr_html_(), str)
    assert_type(matcher.__copy__(), Matcher)
    matcher.reset()


def searched(grammar: CompiledGrammar, tokenizer: Tokenizer) -> list[int]:
    def logits(sequences: list[list[int]]) -> npt.NDArray[np.float32]:
        return np.zeros((len(sequences), tokenizer.vocab_size), dtype=np.float32)

    texts: list[maskwright.Hypothesis] = Matcher(grammar, max_tokens=4).search(
        logits, tokenizer.encode("a"), strategy="mcts", tries=3, temperature=0.5, seed=1
    )
    assert_type(texts[0].log_probability, float)
    assert_type(texts[0].is_complete, bool)
    return texts[0].token_ids


def options(compiler: Compiler) -> CompiledGrammar:
    given: maskwright.JsonOptions = {"property_order": "any", "whitespace": "compact", "strict": True}
    return compiler.compile({"type": "object"}, **given)


def likeliest(grammar: CompiledGrammar, tokenizer: Tokenizer) -> list[int]:
    logits = np.zeros((4, tokenizer.vocab_size), dtype=np.float32)
    found: maskwright.Likeliest = Matcher(grammar).likeliest(logits, beam=8, max_tokens=4, padding=None)
    [again] = maskwright.likeliest_batch([Matcher(grammar)], logits[None], max_tokens=[None])
    canvas = maskwright.Canvas(grammar, [None] * 4).likeliest(logits)
    status: Literal["exact", "bound"] = again.status
    assert status == "exact"
    assert_type(found.log_probability, float)
    assert_type(found.n_tokens, int)
    assert_type(canvas.is_complete, bool)
    return found.token_ids


def template(grammar: CompiledGrammar, tokenizer: Tokenizer) -> bytes:
    holes = {maskwright.Hole(), maskwright.Hole(max_tokens=8), maskwright.Hole(tokens=1)}
    assert len(holes) == 3
    template = maskwright.Template(grammar, [b"a", maskwright.Hole(tokens=1)])
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    assert_type(template.is_possible(), bool)
    assert_type(template.why_impossible(), str | None)
    status: Literal["exact", "bound"] = template.fill_next_token_bitmask(1 - 1, [], mask, row=0)
    assert status == "exact"
    assert_type(template.fix(0, tokenizer.encode("a")), bool)
    return template.complete()


def canvas(grammar: CompiledGrammar, tokenizer: Tokenizer) -> list[int]:
    canvas = maskwright.Canvas(grammar, [None, None, None], padding_id=tokenizer.eos_token_ids[0])
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    assert_type(canvas.is_possible(), bool)
    assert_type(canvas.why_impossible(), str | None)
    status: Literal["possible", "impossible", "open"] = canvas.decide()
    answers: list[Literal["yes", "no", "open"]] = canvas.allows(0, tokenizer.encode("a"))
    assert (status, answers) == ("possible", ["yes"])
    proven: Literal["exact", "bound"] = canvas.fill_bitmask(0, mask, row=0)
    assert proven == canvas.fill_bitmask(0, mask, row=0, exact=True)
    assert_type(canvas.grammar, CompiledGrammar)
    assert_type(canvas.set(0, tokenizer.encode("a")[0]), bool)
    assert_type(canvas.undo(), bool)
    canvas.unset(0)
    assert_type(canvas.positions, list[int | None])
    assert len(canvas) == 3
    return canvas.complete()


def diffused(grammar: CompiledGrammar, tokenizer: Tokenizer) -> list[int]:
    def logits(ids: npt.NDArray[np.int64]) -> npt.NDArray[np.float32]:
        return np.zeros((len(ids), tokenizer.vocab_size), dtype=np.float32)

    def on_step(step: diffusion.Step) -> None:
        assert_type(step.tokens, dict[int, int])
        assert_type(step.remasked, list[int])
        assert_type(step.open_probability, float)
        steps.append(step.n_questions + step.n_open + step.n_masks + step.n_given + step.number)

    steps: list[int] = []
    canvas = maskwright.Canvas(grammar, [None, None], mask_id=None)
    ids = diffusion.fill(
        logits, canvas, prompt_ids=[0], mask_id=0, temperature=0.5, n_remasked=1, block_length=1, seed=1, on_step=on_step
    )
    assert steps
    return ids


def errors(compiler: Compiler) -> dict[str, str | int | None]:
    cancel = maskwright.CancelToken()
    cancel.cancel()
    try:
        assert cancel.is_cancelled
        compiler.compile_regex("a", cancel=cancel)
    except (maskwright.WorkCancelled, maskwright.InternalError):
        pass
    try:
        compiler.compile_regex("(")
    except maskwright.GrammarError as error:
        found: maskwright.Error = error
    kinds: tuple[type[maskwright.Error], ...] = (
        maskwright.GrammarError,
        maskwright.SchemaError,
        maskwright.TokenizerError,
        maskwright.LimitError,
        maskwright.BatchError,
    )
    assert isinstance(found, kinds) and issubclass(maskwright.SchemaWarning, UserWarning)
    assert issubclass(maskwright.GrammarWarning, UserWarning)
    line: int | None = found.line
    pointer: str | None = found.pointer
    return {
        "pointer": pointer,
        "keyword": found.keyword,
        "line": line,
        "column": found.column,
        "path": found.path,
        "hint": found.hint,
    }


def with_a_limit(grammar: CompiledGrammar, max_tokens: int) -> maskwright.Matcher:
    try:
        return maskwright.Matcher(grammar, max_tokens)
    except maskwright.MaxTokensTooSmall as error:
        return maskwright.Matcher(grammar, error.needed)


def batch_errors(error: maskwright.BatchError) -> list[tuple[int, Exception]]:
    return sorted(error.errors.items(), key=lambda item: item[0])


def processors(grammar: CompiledGrammar, ids: npt.NDArray[np.int64], scores: npt.NDArray[np.float32]) -> None:
    one = transformers.LogitsProcessor(grammar, tokenizer=None, max_tokens=8)
    many = transformers.LogitsProcessor([grammar, grammar])
    assert_type(one(ids[:1], scores[:1]), npt.NDArray[np.float32])
    many(ids, scores)
    one.reset()
    assert one.supports_continuous_batching is False
    of_llama = llama_cpp.LogitsProcessor(grammar, llama=None, max_tokens=8)
    assert_type(of_llama(ids[0].astype(np.intc), scores[0]), npt.NDArray[np.float32])
    assert_type(of_llama.error, Exception | None)
    of_llama.reset()


def torch_processors(grammar: CompiledGrammar, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Only for the type checker."""
    return transformers.LogitsProcessor(grammar)(ids, scores)


def outlines_processors(grammar: CompiledGrammar, model: object) -> None:
    """Only for the type checker."""
    outlines.processor(grammar, model=model, max_tokens=8).reset()


def events(compiler: Compiler) -> list[str]:
    """A call of a tool while it is written, and when it is whole."""
    tool = {"name": "f", "inputSchema": {"type": "object", "properties": {"a": {"type": "integer"}}}}
    grammar = compiler.compile_tool_calls([tool], format="llama_3")
    text = '{"name": "f", "parameters": {"a": 1}}'
    matcher = Matcher(grammar)
    assert matcher.accept_bytes(text)
    told = matcher.events()
    assert_type(told, list[maskwright.Event])
    assert_type(matcher.events(since=1), list[maskwright.Event])
    deltas: list[str | None] = [each.delta for each in told] + [each.raw for each in told] + [each.tag for each in told]
    calls: list[int | str | None] = [each.index for each in told] + [each.name for each in told] + [each.id for each in told]
    assert len(deltas) == len(calls)
    assert_type(told[0].is_custom, bool | None)
    assert_type(told[0].path, list[str | int] | None)
    assert_type(maskwright.collect(told, "anthropic", new_id=lambda: "1"), dict[str, Any])
    assert_type(list(maskwright.stream_chunks(told, form="openai")), list[dict[str, Any]])
    assert maskwright.partial(told, 0, model=None) == {"a": 1}
    message: maskwright.Message = grammar.parse(text)
    assert_type(message.text + message.reasoning, str)
    assert message.value is None
    call: maskwright.ToolCall = message.calls[0]
    assert_type(call.id, str | None)
    assert_type(call.arguments, dict[str, Any] | None)
    assert_type(call.input, str | None)
    rules = compiler.compile_lark('start: word\nword: "a"', capture=["word"])
    assert_type(rules.parse("a").captures, list[maskwright.Capture])
    capture: maskwright.Capture = Matcher(compiler.compile_gbnf('root ::= "a"', capture=["root"])).captures()[0]
    assert (capture.name, capture.text, capture.start, capture.end) == ("root", "", 0, None)
    return [call.name, call.arguments_json or "", *(each.kind for each in told)]
