"""Formats whose calls are JSON objects that have the tool's name in them.

Hermes and Qwen, Llama, Mistral up to v7, Granite, Phi, Cohere's Command models, and others that differ in what stands around.
"""

import re

from .messages import family
from .reading import NotTheFormatError, an_object

ID = "[a-zA-Z0-9]{9}"


def read_object(reader, arguments="arguments", has_id=False):
    """Reads `{"name": "N", "arguments": A}`, written as Python's `json.dumps` does."""
    reader.take('{"name": ')
    name = a_name(reader.json())
    reader.take(f', "{arguments}": ', *[f', "{arguments}":'] * has_id)
    values = an_object(reader.json())
    if has_id and reader.takes(', "id": "'):
        reader.match(ID)
        reader.take('"')
    reader.take("}")
    return name, values


def a_name(name):
    if not isinstance(name, str):
        raise NotTheFormatError(f"a name is a string, not {name!r}")
    return name


def read_list(reader, **options):
    """Reads `[{…}, {…}]` on one line. With an id (Mistral), blanks may be missing."""
    reader.take("[")
    calls = [read_object(reader, **options)]
    while reader.take(", ", *[","] * bool(options.get("has_id")), "]") != "]":
        calls.append(read_object(reader, **options))
    return calls


def read_loose_list(reader, *keys):
    """Reads a list of objects with these keys in this order, and any white space. The last two are name and arguments."""
    entries = reader.json()
    if not isinstance(entries, list) or not entries:
        raise NotTheFormatError(f"no list of calls: {entries!r}")
    for entry in entries:
        if not isinstance(entry, dict) or list(entry) != list(keys):
            raise NotTheFormatError(f"a call has {keys}: {entry!r}")
    return [(a_name(entry[keys[-2]]), an_object(entry[keys[-1]])) for entry in entries]


def read_tagged(reader, begin, end, separator):
    """Text, then objects, each between `begin` and `end`."""
    text, calls = reader.before(begin.strip("\n")), []
    while not reader.is_at_end():
        if calls:
            reader.take(separator)
        reader.take(begin)
        calls.append(read_object(reader))
        reader.take(end)
    return text, calls


@family("qwen_3", "<tool_call>", "</tool_call>", reasoning=("<think>\n", "</think>", "\n\n"))
def qwen_3(reader, schemas):
    return read_tagged(reader, "<tool_call>\n", "\n</tool_call>", "\n")


@family("exaone", "<tool_call>", "</tool_call>", reasoning=("<think>\n", "</think>", "\n\n"), begins_in_prompt=True)
def exaone(reader, schemas):
    """No source says what stands between calls; readers take any white space."""
    return read_tagged(reader, "<tool_call>", "</tool_call>", "\n")


@family(
    "ernie",
    "<tool_call>",
    "</tool_call>",
    "<response>",
    "</response>",
    reasoning=("<think>\n", "</think>", "\n\n"),
    begins_in_prompt=True,
)
def ernie(reader, schemas):
    """Two line feeds stand before an answer, three before a call: the end of reasoning has two of them."""
    reader.takes("\n")
    if reader.takes("<response>\n"):
        text = reader.until("\n</response>")
        reader.takes("\n")
        return text, []
    calls = []
    while not reader.is_at_end():
        reader.take("<tool_call>\n")
        calls.append(read_object(reader))
        reader.take("\n</tool_call>")
        reader.takes("\n")
    return None, calls


@family("longcat", "<longcat_tool_call>", "</longcat_tool_call>")
def longcat(reader, schemas):
    """Readers take any white space between calls."""
    return read_tagged(reader, "<longcat_tool_call>", "</longcat_tool_call>", "\n")


@family("phi_4", "<|tool_call|>", "<|/tool_call|>")
def phi_4(reader, schemas):
    text, calls = reader.before("<|tool_call|>"), []
    while not reader.is_at_end():
        reader.take("<|tool_call|>")
        calls += read_list(reader) if reader.sees("[") else [read_object(reader)]
        reader.take("<|/tool_call|>")
    return text, calls


@family("internlm", "<|action_start|>", "<|action_end|>", "<|plugin|>", is_one=True)
def internlm(reader, schemas):
    text = reader.before("<|action_start|>")
    if reader.is_at_end():
        return text, []
    reader.take("<|action_start|><|plugin|>\n")
    call = read_object(reader)
    reader.take("<|action_end|>")
    return text, [call]


@family("llama", '{"name": ', '", "parameters": ', is_one=True, is_alone=True)
def llama(reader, schemas):
    return (None, [read_object(reader, "parameters")]) if reader.sees('{"name": ') else (reader.before(), [])


@family("gemma_3_json", '{"name": ', '", "parameters": ', "```json", "```", is_one=True, is_alone=True)
def gemma_3_json(reader, schemas):
    return llama(reader, schemas)


@family("llama_4", "<|python_start|>", "<|python_end|>", '{"name": ')
def llama_4(reader, schemas):
    """Text stands between marks, unless the message has no call."""
    text, calls = None, []
    if '{"name": ' not in reader.text:
        return reader.before(), calls
    if reader.takes("<|python_start|>"):
        text = reader.until("<|python_end|>")
    while not reader.is_at_end():
        calls.append(read_object(reader, "parameters"))
    return text, calls


def read_in_list(reader, begin, end, **options):
    """Text, then a list between two marks."""
    text = reader.before(begin)
    if reader.is_at_end():
        return text, []
    reader.take(begin)
    calls = read_list(reader, **options)
    reader.take(end)
    return text, calls


@family("hunyuan", "<tool_calls>", "</tool_calls>", "<answer>", "</answer>", reasoning=("<think>\n", "</think>", "\n"))
def hunyuan(reader, schemas):
    return read_in_list(reader, "<tool_calls>", "</tool_calls>")


@family("nemotron", "<TOOLCALL>", "</TOOLCALL>", reasoning=("<think>\n", "</think>", "\n\n"), begins_in_prompt=True)
def nemotron(reader, schemas):
    return read_in_list(reader, "<TOOLCALL>", "</TOOLCALL>")


@family("functools", "functools[")
def functools(reader, schemas):
    text = reader.before("functools[")
    if reader.is_at_end():
        return text, []
    reader.take("functools")
    return text, read_list(reader)


@family("xlam", "[{", '[{"name": ', is_alone=True)
def xlam(reader, schemas):
    return (None, read_list(reader)) if reader.sees('[{"name": ') else (reader.before(), [])


@family("jamba", "<tool_calls>", "</tool_calls>")
def jamba(reader, schemas):
    text = reader.before("<tool_calls>")
    if reader.is_at_end():
        return text, []
    reader.take("<tool_calls>")
    calls = read_loose_list(reader, "name", "arguments")
    reader.take("</tool_calls>")
    return text, calls


@family("granite_3", "<|tool_call|>", "<tool_call>")
def granite_3(reader, schemas):
    """The models from 3.0 on write `<|tool_call|>`, those from 3.1 on `<tool_call>`, of which one occurs."""
    mark = "<|tool_call|>" if "<|tool_call|>" in reader.text else "<tool_call>["
    text = reader.before(mark)
    if reader.is_at_end():
        return text, []
    reader.take(mark.removesuffix("["))
    return text, read_loose_list(reader, "name", "arguments")


def mistral_list(reader, schemas):
    text = reader.before("[TOOL_CALLS]")
    if reader.is_at_end():
        return text, []
    reader.take("[TOOL_CALLS]")
    reader.takes(" ")
    return text, read_list(reader, has_id=True)


family("mistral_v3", "[TOOL_CALLS]", is_alone=True)(mistral_list)
family("mistral_v7", "[TOOL_CALLS]")(mistral_list)


@family("command_r", "Action:", "```json", "```")
def command_r(reader, schemas):
    text = reader.before("Action:")
    if reader.is_at_end():
        return text, []
    reader.take("Action:")
    reader.take(" ", "\n")
    reader.take("```json\n")
    calls = read_loose_list(reader, "tool_name", "parameters")
    reader.match("\n?")
    reader.take("```")
    return text, calls


@family(
    "command_a",
    "<|START_ACTION|>",
    "<|END_ACTION|>",
    "<|START_RESPONSE|>",
    "<|END_RESPONSE|>",
    reasoning=("<|START_THINKING|>", "<|END_THINKING|>", ""),
    is_alone=True,
)
def command_a(reader, schemas):
    if reader.takes("<|START_RESPONSE|>"):
        return reader.until("<|END_RESPONSE|>"), []
    reader.take("<|START_ACTION|>")
    start = reader.at
    entries = reader.json()
    reader.at = start
    if not all(isinstance(entry, dict) and re.fullmatch("[0-9]+", str(entry.get("tool_call_id"))) for entry in entries):
        raise NotTheFormatError("a call has a number as `tool_call_id`")
    calls = read_loose_list(reader, "tool_call_id", "tool_name", "parameters")
    reader.take("<|END_ACTION|>")
    return None, calls
