"""What the events of a text put together to: whole messages and streams in the forms of servers, and values so far."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from maskwright._maskwright import Event


def _new_id() -> str:
    return f"call_{uuid.uuid4().hex[:24]}"


def _checked(form: str) -> None:
    if form not in ("openai", "anthropic"):
        raise ValueError(f"unknown form {form!r}: expected 'openai' or 'anthropic'")


def collect(
    events: Iterable[Event], form: Literal["openai", "anthropic"] = "openai", *, new_id: Callable[[], str] = _new_id
) -> dict[str, Any]:
    """Builds the assistant's message from events, as a dict for the next request. The value of a JSON Schema is its text.

    `form`: "openai", `{"role", "content", "tool_calls"}` (and `"reasoning_content"`, which some servers have, if there is
    reasoning); or "anthropic", whose `"content"` is a list of blocks. `new_id` makes the ids of calls to which the model gave
    none.

    >>> import maskwright
    >>> tokenizer = maskwright.Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0])
    >>> tool = {"name": "now", "parameters": {"type": "object", "additionalProperties": False}}
    >>> grammar = maskwright.Compiler(tokenizer).compile_tool_calls([tool], format="mistral_v11")
    >>> matcher = maskwright.Matcher(grammar)
    >>> matcher.accept_bytes("[TOOL_CALLS]now[CALL_ID]abc123def[ARGS]{}")
    True
    >>> maskwright.collect(matcher.events())["tool_calls"]
    [{'id': 'abc123def', 'type': 'function', 'function': {'name': 'now', 'arguments': '{}'}}]
    """
    _checked(form)
    text, reasoning = "", ""
    calls: list[dict[str, Any]] = []
    for event in events:
        if event.kind == "text":
            text += event.delta or ""
        elif event.kind == "reasoning":
            reasoning += event.delta or ""
        elif event.kind == "tool":
            calls.append({"name": event.name, "id": event.id, "arguments": "", "input": "" if event.is_custom else None})
        elif event.kind == "argument" and event.index is None:
            text += event.raw or ""
        elif event.index is not None:
            call = calls[event.index]
            if event.kind == "argument":
                call["arguments"] += event.delta
            elif event.kind == "input":
                call["input"] = (call["input"] or "") + (event.delta or "")
            elif event.kind == "end":
                call["id"] = event.id or call["id"]
    for call in calls:
        call["id"] = call["id"] or new_id()
    if form == "openai":
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if reasoning:
            message["reasoning_content"] = reasoning
        if calls:
            message["tool_calls"] = [_openai_call(call) for call in calls]
        return message
    blocks: list[dict[str, Any]] = [{"type": "thinking", "thinking": reasoning}] if reasoning else []
    blocks += [{"type": "text", "text": text}] if text else []
    for call in calls:
        given = json.loads(call["arguments"] or "{}") if call["input"] is None else {"input": call["input"]}
        blocks.append({"type": "tool_use", "id": call["id"], "name": call["name"], "input": given})
    return {"role": "assistant", "content": blocks}


def _openai_call(call: dict[str, Any]) -> dict[str, Any]:
    if call["input"] is not None:
        return {"id": call["id"], "type": "custom", "custom": {"name": call["name"], "input": call["input"]}}
    return {"id": call["id"], "type": "function", "function": {"name": call["name"], "arguments": call["arguments"]}}


def stream_chunks(
    events: Iterable[Event], form: Literal["openai", "anthropic"] = "openai", *, new_id: Callable[[], str] = _new_id
) -> Iterator[dict[str, Any]]:
    """Turns events into the chunks of a server's stream, one dict for each event that adds something. Give it one iterator for the whole
    stream. A call whose id the model gives after the arguments gets one of `new_id` here.

    `form`: "openai", the `delta` of a chunk's choice; or "anthropic", the events `content_block_start`, `content_block_delta` and
    `content_block_stop`.

    >>> import maskwright
    >>> tokenizer = maskwright.Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0])
    >>> grammar = maskwright.Compiler(tokenizer).compile_tool_calls([{"name": "now"}], format="qwen_3")
    >>> matcher = maskwright.Matcher(grammar)
    >>> matcher.accept_bytes("Let me look.<tool")
    True
    >>> list(maskwright.stream_chunks(matcher.events()))
    [{'content': 'Let me look.'}]
    """
    _checked(form)
    yield from _openai_stream(events, new_id) if form == "openai" else _anthropic_stream(events, new_id)


def _openai_stream(events: Iterable[Event], new_id: Callable[[], str]) -> Iterator[dict[str, Any]]:
    for event in events:
        if event.kind == "text":
            yield {"content": event.delta}
        elif event.kind == "reasoning":
            yield {"reasoning_content": event.delta}
        elif event.kind == "tool":
            kind, given = ("custom", "input") if event.is_custom else ("function", "arguments")
            call = {"index": event.index, "id": event.id or new_id(), "type": kind, kind: {"name": event.name, given: ""}}
            yield {"tool_calls": [call]}
        elif event.kind == "argument" and event.index is None:
            yield {"content": event.raw}
        elif event.kind in ("argument", "input") and event.index is not None and event.delta:
            field = {"function": {"arguments": event.delta}} if event.kind == "argument" else {"custom": {"input": event.delta}}
            yield {"tool_calls": [{"index": event.index, **field}]}


def _anthropic_stream(events: Iterable[Event], new_id: Callable[[], str]) -> Iterator[dict[str, Any]]:
    index, kind = -1, ""
    for event in events:
        begins = {"text": "text", "reasoning": "thinking", "tool": "tool_use"}.get(event.kind)
        if begins is not None and (begins != kind or event.kind == "tool"):
            if kind:
                yield {"type": "content_block_stop", "index": index}
            index, kind = index + 1, begins
            block: dict[str, Any] = {"type": kind}
            if event.kind == "tool":
                block |= {"id": event.id or new_id(), "name": event.name, "input": {}}
            else:
                block |= {kind: ""}
            yield {"type": "content_block_start", "index": index, "content_block": block}
        fields = {
            "text": ("text_delta", "text"),
            "reasoning": ("thinking_delta", "thinking"),
            "argument": ("input_json_delta", "partial_json"),
            "input": ("input_text_delta", "text"),
        }.get(event.kind)
        if fields is not None and event.delta and kind:
            delta = {"type": fields[0], fields[1]: event.delta}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
    if kind:
        yield {"type": "content_block_stop", "index": index}


def partial(events: Iterable[Event], index: int | None = None, *, model: Any = None) -> Any:
    """The value so far of a JSON Schema, or of the arguments of the call `index`; None if there is nothing yet.

    Members and items are there once they are certain: a string as far as it is written, a number or a word once it cannot go on. With
    a Pydantic `model`, an instance of it that has the members so far, not validated.

    >>> import maskwright
    >>> tokenizer = maskwright.Tokenizer.from_tokens([b"</s>"], eos_token_ids=[0])
    >>> schema = {"properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "type": "object"}
    >>> matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_json_schema(schema))
    >>> matcher.accept_bytes('{"city": "Ro')
    True
    >>> maskwright.partial(matcher.events())
    {'city': 'Ro'}
    """
    events = list(events)
    parts = [event.delta or "" for event in events if event.kind == "argument" and event.index == index]
    is_whole = any(event.kind == "end" and event.index == index for event in events)
    value = _value_so_far("".join(parts), is_whole)
    return value if model is None or not isinstance(value, dict) else model.model_construct(**value)


#: The beginning of a string, as far as its escapes are whole.
_WHOLE = re.compile(r'"(?:[^"\\]|\\[^u]|\\u[0-9a-fA-F]{4})*', re.DOTALL)

#: A string with its escapes, a word or number, or a mark, of compact JSON.
_PIECE = re.compile(r'"(?:[^"\\]|\\.)*"?|[^"\[\]{},:]+|[\[\]{},:]', re.DOTALL)


def _value_so_far(text: str, is_whole: bool) -> Any:
    """The value of the beginning of a compact JSON text."""
    kept: list[str] = []
    #: The brackets that close what is open.
    closing: list[str] = []
    #: How many pieces are certain, and what closes them.
    good: tuple[int, str] | None = None
    is_key = False
    pieces = _PIECE.findall(text)
    for number, piece in enumerate(pieces):
        is_last = number == len(pieces) - 1 and not is_whole
        if piece[0] == '"' and (len(piece) == 1 or not re.fullmatch(r'"(?:[^"\\]|\\.)*"', piece, re.DOTALL)):
            if is_key:
                break
            # An escape that is not whole is left out.
            piece = _WHOLE.match(piece)[0] + '"'  # type: ignore[index]
        kept.append(piece)
        if piece in "{[":
            closing.append("}" if piece == "{" else "]")
            is_key = piece == "{"
        elif piece in "}]":
            closing.pop()
        elif piece == ",":
            is_key = bool(closing) and closing[-1] == "}"
            continue
        elif piece == ":":
            is_key = False
            continue
        elif is_key or (is_last and piece[0] != '"'):
            continue
        good = len(kept), "".join(reversed(closing))
    if good is None:
        return None
    n_kept, rest = good
    return json.loads("".join(kept[:n_kept]) + rest)
