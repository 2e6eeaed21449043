"""Formats that write the tool's name between marks, and its arguments as one JSON object after it.

DeepSeek up to V3.1, Kimi K2, Mistral from v11 on, Harmony and Functionary.
"""

from .json_calls import ID
from .messages import family
from .reading import an_object

#: Names of tools in formats that write them as they are.
NAME = "[a-zA-Z0-9_.:/-]+"


def read_arguments(reader):
    return an_object(reader.json())


@family(
    "deepseek_r1",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    "```json",
    "\n```",
    reasoning=("<think>\n", "</think>", "\n\n"),
    begins_in_prompt=True,
)
def deepseek_r1(reader, schemas):
    text, calls = reader.before("<｜tool▁calls▁begin｜>"), []
    if reader.is_at_end():
        return text, calls
    reader.take("<｜tool▁calls▁begin｜>")
    while not calls or not reader.takes("<｜tool▁calls▁end｜>"):
        if calls:
            reader.takes("\n")
        reader.take("<｜tool▁call▁begin｜>function<｜tool▁sep｜>")
        name = reader.until("\n")
        reader.take("```json\n")
        calls.append((name, read_arguments(reader)))
        reader.take("\n```<｜tool▁call▁end｜>")
    return text, calls


@family(
    "deepseek_v3_1",
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁call▁begin｜>",
    "<｜tool▁sep｜>",
    "<｜tool▁call▁end｜>",
    "<｜tool▁calls▁end｜>",
    reasoning=("<think>", "</think>", ""),
    begins_in_prompt=True,
)
def deepseek_v3_1(reader, schemas):
    text, calls = reader.before("<｜tool▁calls▁begin｜>"), []
    if reader.is_at_end():
        return text, calls
    reader.take("<｜tool▁calls▁begin｜>")
    while reader.take("<｜tool▁call▁begin｜>", *["<｜tool▁calls▁end｜>"] * bool(calls)) == "<｜tool▁call▁begin｜>":
        name = reader.until("<｜tool▁sep｜>")
        calls.append((name, read_arguments(reader)))
        reader.take("<｜tool▁call▁end｜>")
    return text, calls


@family(
    "kimi",
    "<|tool_calls_section_begin|>",
    "<|tool_call_begin|>",
    "<|tool_call_argument_begin|>",
    "<|tool_call_end|>",
    "<|tool_calls_section_end|>",
    "functions.",
    reasoning=("<think>", "</think>", ""),
)
def kimi(reader, schemas):
    text, calls = reader.before("<|tool_calls_section_begin|>"), []
    if reader.is_at_end():
        return text, calls
    reader.take("<|tool_calls_section_begin|>")
    while reader.take("<|tool_call_begin|>", *["<|tool_calls_section_end|>"] * bool(calls)) == "<|tool_call_begin|>":
        reader.take("functions.")
        name, _, index = reader.until("<|tool_call_argument_begin|>").rpartition(":")
        if not (index.isascii() and index.isdigit()):
            reader.fail("the number of the call")
        calls.append((name, read_arguments(reader)))
        reader.take("<|tool_call_end|>")
    return text, calls


def read_mistral(reader, has_id):
    text, calls = reader.before("[TOOL_CALLS]"), []
    while not reader.is_at_end():
        reader.take("[TOOL_CALLS]")
        name = reader.match(NAME)
        if has_id and reader.takes("[CALL_ID]"):
            reader.match(ID)
        reader.take("[ARGS]")
        calls.append((name, read_arguments(reader)))
    return text, calls


@family("mistral_v11", "[TOOL_CALLS]", "[CALL_ID]", "[ARGS]", reasoning=("<think>\n", "</think>", ""))
def mistral_v11(reader, schemas):
    return read_mistral(reader, has_id=True)


@family("mistral_v13", "[TOOL_CALLS]", "[ARGS]", reasoning=("[THINK]", "[/THINK]", ""))
def mistral_v13(reader, schemas):
    return read_mistral(reader, has_id=False)


@family(
    "harmony",
    "<|channel|>commentary to=functions.",
    "<|channel|>",
    "<|message|>",
    "<|constrain|>",
    "<|call|>",
    "<|end|>",
    "<|return|>",
    "<|start|>",
    reasoning=("<|channel|>analysis<|message|>", "<|end|>", "<|start|>assistant"),
    is_one=True,
)
def harmony(reader, schemas):
    """Messages of the channels `commentary`, with text or a call, and `final`."""
    texts = []
    while True:
        if reader.takes("<|channel|>final<|message|>"):
            texts.append(reader.until("<|return|>"))
            return "".join(texts), []
        if reader.takes("<|channel|>commentary<|message|>"):
            texts.append(reader.until("<|end|><|start|>assistant"))
            continue
        if reader.takes(" to=functions."):
            name = reader.match(NAME)
            reader.take("<|channel|>commentary")
        else:
            reader.take("<|channel|>commentary to=functions.")
            name = reader.match(NAME)
        if not reader.takes("<|message|>"):
            reader.take(" json", " <|constrain|>json", "<|constrain|>json")
            reader.take("<|message|>")
        values = read_arguments(reader)
        reader.take("<|call|>")
        return "".join(texts), [(name, values)]


@family("functionary_v3_1", "<function=", "</function>")
def functionary_v3_1(reader, schemas):
    text, calls = reader.before("<function="), []
    while not reader.is_at_end():
        reader.take("<function=")
        name = reader.until(">")
        calls.append((name, read_arguments(reader)))
        reader.take("</function>")
    return text, calls


@family("functionary_v3_2", ">>>", "all\n")
def functionary_v3_2(reader, schemas):
    """The prompt ends with the first `>>>`."""
    texts, calls = [], []
    while True:
        name = reader.until("\n")
        if name == "all":
            texts.append(reader.before(">>>"))
        else:
            calls.append((name, read_arguments(reader)))
        if reader.is_at_end():
            return "".join(texts), calls
        reader.take(">>>")
