"""Maskwright as an engine of canitoolcall: recorded messages, read by the grammars that would have forced them.

The runner of canitoolcall starts this module in a process of its own: `canitoolcall run --engine adapter:Maskwright`. The
environment variable `MASKWRIGHT_TOKENIZERS` is a folder with `llama3_1/tokenizer.json` and others.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import maskwright
from canitoolcall.adapters.base import Adapter, ReplayInput, Support, ToolSpec
from canitoolcall.fixtures import load_families
from canitoolcall.results import ParsedToolCall, ParseResult

#: Beginnings of models' names, and their formats.
FORMATS = {
    "deepseek-ai/DeepSeek-V3-": "deepseek_v3",
    "deepseek-ai/DeepSeek-V3.1": "deepseek_v3_1",
    "deepseek-ai/DeepSeek-V3.2": "deepseek_v3_2",
    "deepseek-ai/DeepSeek-V4-": "deepseek_v4",
    "deepseek-ai/DeepSeek-V4.1-": "deepseek_v4_1",
    "google/gemma-4-": "gemma_4",
    "zai-org/GLM-4.5": "glm_4_5",
    "zai-org/GLM-4.7": "glm_4_7",
    "zai-org/GLM-5": "glm_5",
    "openai/gpt-oss-": "gpt_oss",
    "moonshotai/Kimi-K2": "kimi_k2",
    "moonshotai/Kimi-K3": "kimi_k3",
    "meta-llama/Llama-3": "llama_3",
    "meta-llama/Llama-4": "llama_4_pythonic",
    "mistralai/Mistral-7B-Instruct-v0.3": "mistral_v3",
    "mistralai/Magistral-Small-2506": "mistral_v11",
    "mistralai/Mistral-Small-3.2": "mistral_v11",
    "mistralai/Devstral-Small-2507": "mistral_v13",
    "mistralai/M": "mistral_v13",
    "Qwen/Qwen3-Coder-": "qwen_3_coder",
    "Qwen/Qwen3-": "qwen_3",
    "Qwen/Qwen3.": "qwen_3_5",
}

#: The marks that open reasoning, at the end of a prompt.
OPENING = ("<think>", "<think>\n", "<|open|>think<|sep|>")

#: Vocabularies whose tokens are those that were recorded; whether the tokens that the model has besides never match as text; and
#: these, by id.
RECORDED = {
    "Qwen/Qwen3-": ("qwen2_5", False, {151665: "<tool_response>", 151666: "</tool_response>", 151667: "<think>", 151668: "</think>"}),
    "meta-llama/Llama-3": ("llama3_1", True, {128004: "<|finetune_right_pad_id|>", 128008: "<|eom_id|>", 128010: "<|python_tag|>"}),
    "openai/gpt-oss-": (
        "gpt4o",
        True,
        {
            200002: "<|return|>",
            200003: "<|constrain|>",
            200005: "<|channel|>",
            200006: "<|start|>",
            200007: "<|end|>",
            200008: "<|message|>",
            200012: "<|call|>",
        },
    ),
}


def format_of(model: str) -> str | None:
    """The format of a model's calls; None if there is none."""
    fitting = [beginning for beginning in FORMATS if model.startswith(beginning)]
    return FORMATS[max(fitting, key=len)] if fitting else None


class Vocabulary:
    """A vocabulary of the folder, with more tokens, by id."""

    def __init__(self, name: str, are_special: bool, added: Mapping[int, str]) -> None:
        document = json.loads((Path(os.environ["MASKWRIGHT_TOKENIZERS"]) / name / "tokenizer.json").read_text())
        fixed = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": are_special}
        tokens = [token for token in document["added_tokens"] if token["id"] not in added]
        tokens += [{"id": id, "content": text, **fixed} for id, text in added.items()]
        document["added_tokens"] = sorted(tokens, key=lambda token: token["id"])
        self.added = {token["id"]: token["content"] for token in document["added_tokens"]}
        with tempfile.TemporaryDirectory() as temporary:
            path = Path(temporary) / "tokenizer.json"
            path.write_text(json.dumps(document))
            self.tokenizer = maskwright.Tokenizer.from_file(path, eos_token_ids=[min(self.added)])
            self.compiler = maskwright.Compiler(self.tokenizer)

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, names of added tokens read as these."""
        ids = {name: id for id, name in self.added.items()}
        names = "|".join(re.escape(name) for name in sorted(ids, key=len, reverse=True))
        parts = re.split(f"({names})", text)
        return [id for part in parts if part for id in ([ids[part]] if part in ids else self.tokenizer.encode(part))]

    def spells(self, ids: Sequence[int], text: str) -> bool:
        """Whether tokens are of this vocabulary and spell the text."""
        if max(ids, default=0) >= self.tokenizer.vocab_size:
            return False
        pieces = (self.added[id].encode() if id in self.added else self.tokenizer.decode([id]) for id in ids)
        return b"".join(pieces) == text.encode()


@lru_cache
def recorded(beginning: str) -> Vocabulary:
    return Vocabulary(*RECORDED[beginning])


@lru_cache
def llama_with(family: str) -> Vocabulary:
    """The vocabulary of Llama 3 with the marks of a family as tokens, which match as text too."""
    plain = Vocabulary("llama3_1", False, {})
    marks = [mark for mark in load_families()[family].markers if mark not in plain.added.values()]
    return Vocabulary("llama3_1", False, dict(enumerate(marks, plain.tokenizer.vocab_size)))


def read_by(raw: ReplayInput) -> tuple[Vocabulary, list[int]]:
    """The vocabulary in which a message is read, and its tokens: the recorded ones if the vocabulary is at hand."""
    for beginning in RECORDED:
        if raw.model.startswith(beginning) and raw.token_ids and recorded(beginning).spells(raw.token_ids, raw.text):
            return recorded(beginning), list(raw.token_ids)
    vocabulary = llama_with(raw.family)
    return vocabulary, vocabulary.encode(raw.text)


def reasoning(raw: ReplayInput) -> bool | str:
    """What a program knows of a request before the model writes: whether it reasons, and whether the prompt opens that."""
    if (raw.generation_prompt or "").endswith(OPENING):
        return "open"
    return "auto" if raw.thinking or (raw.thinking is None and raw.family in ("gpt-oss", "glm")) else False


class Maskwright(Adapter):
    """Reads messages with `Matcher.events`."""

    name = "maskwright"
    pinned_version = "0.1.0"

    def version(self) -> str:
        return maskwright.__version__

    def supports(self, family: str, model: str) -> Support:
        found = format_of(model)
        return Support(found is not None, None if found else f"no format for {model}")

    def parser_config(self, raw: ReplayInput) -> dict[str, Any]:
        return {"format": format_of(raw.model), "reasoning": reasoning(raw)}

    def units(self, raw: ReplayInput) -> list[int]:
        return read_by(raw)[1]

    def special_token_ids(self, raw: ReplayInput) -> Collection[int]:
        return read_by(raw)[0].added

    def parse(self, raw: ReplayInput, tools: Sequence[ToolSpec]) -> ParseResult:
        return self.parse_stream(raw, [self.units(raw)], tools)

    def parse_stream(self, raw: ReplayInput, chunks: Sequence[Sequence[int]], tools: Sequence[ToolSpec]) -> ParseResult:
        compiler = read_by(raw)[0].compiler
        try:
            grammar = compiler.compile_tool_calls(
                list(tools), format=format_of(raw.model), reasoning=reasoning(raw), property_order="any"
            )
            return self._follow(raw, maskwright.Matcher(grammar), chunks)
        except maskwright.Error as error:
            return ParseResult(exception=f"{type(error).__name__}: {error}")

    def _follow(self, raw: ReplayInput, matcher: maskwright.Matcher, chunks: Sequence[Sequence[int]]) -> ParseResult:
        events: list[maskwright.Event] = []
        problem = None
        for chunk in chunks:
            n_accepted = matcher.accept_tokens(chunk)
            events += matcher.events(since=len(events))
            if n_accepted < len(chunk):
                problem = f"Refused: after {matcher.text[-60:]!r}"
                break
        if problem is None and not raw.truncated and not matcher.is_accepting():
            # Messages are recorded without the token that ended them, which is a mark in some formats.
            if not any(matcher.accept_bytes(stop) and matcher.is_accepting() for stop in raw.stop_tokens):
                problem = f"Incomplete: {matcher.text[-60:]!r}"
        events += matcher.events(since=len(events))
        return _result(events, problem)


def _result(events: Sequence[maskwright.Event], problem: str | None) -> ParseResult:
    """The message of events, without calls that have not ended: these must not be carried out."""
    message = maskwright.collect(events)
    n_ended = sum(event.kind == "end" and event.index is not None for event in events)
    calls = [call["function"] for call in message.get("tool_calls", [])[:n_ended]]
    return ParseResult(
        content=message["content"],
        reasoning_content=message.get("reasoning_content"),
        tool_calls=tuple(ParsedToolCall(call["name"], call["arguments"]) for call in calls),
        exception=problem,
    )
