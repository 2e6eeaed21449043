"""Formats that write each argument as an element of its own: Qwen's coder models, GLM, MiniMax, DeepSeek from V3.2 on, Kimi K3.

Strings stand there as they are and end at the first closing mark. Other values are JSON.
"""

import re

from .messages import family
from .reading import NotTheFormatError, Object, whole_json
from .values import parameter, type_of, typed

SPACE = r"[ \t\n\r]*"


def schema_of(reader, schemas, name):
    if name not in schemas:
        reader.fail(f"a tool, not {name!r},")
    return schemas[name]


def read_elements(reader, schema, begin, after_name, end, is_trimmed=False):
    """Reads elements `begin` K `after_name` V `end` as long as they come, and the white space around them."""
    arguments = Object()
    reader.match(SPACE)
    while reader.takes(begin):
        name = reader.until(after_name)
        text = reader.until(end)
        if is_trimmed:
            text = text.removeprefix("\n").removesuffix("\n")
        arguments.add(name, typed(text, parameter(schema, name), schema))
        reader.match(SPACE)
    return arguments


def read_function(reader, schemas, is_trimmed):
    """Reads `<function=N>`, parameters and `</function>`."""
    reader.take("<function=")
    name = reader.until(">")
    schema = schema_of(reader, schemas, name)
    arguments = read_elements(reader, schema, "<parameter=", ">", "</parameter>", is_trimmed)
    reader.take("</function>")
    return name, arguments


@family(
    "qwen_3_coder",
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "</function>",
    "<parameter=",
    "</parameter>",
    reasoning=("<think>\n", "</think>", "\n\n"),
    begins_in_prompt=True,
)
def qwen_3_coder(reader, schemas):
    text, calls = reader.before("<tool_call>"), []
    while not reader.is_at_end():
        if calls:
            reader.take("\n")
        reader.take("<tool_call>\n")
        calls.append(read_function(reader, schemas, is_trimmed=True))
        reader.take("\n</tool_call>")
    return text, calls


def read_xml_calls(reader, schemas, separator):
    text, calls = reader.before("<tool_call>"), []
    while reader.takes("<tool_call>\n"):
        calls.append(read_function(reader, schemas, is_trimmed=True))
        reader.take("\n</tool_call>")
        reader.takes(separator)
    return text, calls


CODER_MARKS = ("<tool_call>", "</tool_call>", "<function=", "</function>", "<parameter=", "</parameter>")


@family("nemotron_3", *CODER_MARKS, reasoning=("<think>\n", "</think>", ""), begins_in_prompt=True)
def nemotron_3(reader, schemas):
    """Line feeds stand between the calls and after the last."""
    return read_xml_calls(reader, schemas, "\n")


@family("step_3_5", *CODER_MARKS, reasoning=("<think>\n", "</think>", "\n"), begins_in_prompt=True)
def step_3_5(reader, schemas):
    return read_xml_calls(reader, schemas, "")


@family(
    "mimo",
    "<tool_call>",
    "</tool_call>",
    "<function=",
    "</function>",
    "<parameter=",
    "</parameter>",
    reasoning=("<think>", "</think>", ""),
)
def mimo(reader, schemas):
    text, calls = reader.before("<tool_call>"), []
    while not reader.is_at_end():
        reader.take("<tool_call>")
        calls.append(read_function(reader, schemas, is_trimmed=False))
        reader.take("</tool_call>")
    return text, calls


@family(
    "seed_oss",
    "<seed:tool_call>",
    "</seed:tool_call>",
    "<function=",
    "</function>",
    "<parameter=",
    "</parameter>",
    reasoning=("<seed:think>", "</seed:think>", "\n"),
)
def seed_oss(reader, schemas):
    text, calls = reader.before("<seed:tool_call>"), []
    while not reader.is_at_end():
        if calls:
            reader.take("\n")
        reader.take("<seed:tool_call>\n")
        calls.append(read_function(reader, schemas, is_trimmed=True))
        reader.take("\n</seed:tool_call>")
    return text, calls


@family(
    "minimax",
    "<minimax:tool_call>",
    "</minimax:tool_call>",
    "<invoke",
    "</invoke>",
    "<parameter",
    "</parameter>",
    reasoning=("<think>\n", "</think>", "\n\n"),
    begins_in_prompt=True,
)
def minimax(reader, schemas):
    text, calls = reader.before("<minimax:tool_call>"), []
    if reader.is_at_end():
        return text, calls
    reader.take("<minimax:tool_call>\n")
    while not calls or not reader.takes("</minimax:tool_call>"):
        reader.take('<invoke name="')
        name = reader.until('">')
        schema = schema_of(reader, schemas, name)
        calls.append((name, read_elements(reader, schema, '<parameter name="', '">', "</parameter>")))
        reader.take("</invoke>\n")
    return text, calls


def read_glm_arguments(reader, schema):
    arguments = Object()
    reader.match(SPACE)
    while reader.takes("<arg_key>"):
        name = reader.until("</arg_key>")
        reader.match(SPACE)
        reader.take("<arg_value>")
        arguments.add(name, typed(reader.until("</arg_value>"), parameter(schema, name), schema))
        reader.match(SPACE)
    return arguments


GLM_MARKS = ("<tool_call>", "</tool_call>", "<arg_key>", "</arg_key>", "<arg_value>", "</arg_value>")


@family("glm_4_5", *GLM_MARKS, reasoning=("\n<think>", "</think>", "\n"))
def glm_4_5(reader, schemas):
    text, calls = reader.before("<tool_call>"), []
    while not reader.is_at_end():
        if calls:
            reader.take("\n")
        reader.take("<tool_call>")
        name = reader.until("\n")
        calls.append((name, read_glm_arguments(reader, schema_of(reader, schemas, name))))
        reader.take("</tool_call>")
    return text, calls


@family("glm_4_7", *GLM_MARKS, reasoning=("<think>", "</think>", ""), begins_in_prompt=True)
def glm_4_7(reader, schemas):
    text, calls = reader.before("<tool_call>"), []
    while not reader.is_at_end():
        if calls:
            reader.takes("\n")
        reader.take("<tool_call>")
        name = reader.before("<arg_key>", "</tool_call>").rstrip()
        calls.append((name, read_glm_arguments(reader, schema_of(reader, schemas, name))))
        reader.take("</tool_call>")
    return text, calls


def read_dsml(reader, schemas, list_name, prefix="", after_invoke="\n"):
    """Reads DeepSeek's markup, where an attribute says whether a value is a string. `prefix` stands before the name of each tag."""
    begin, end = f"<｜DSML｜{prefix}{list_name}>", f"</｜DSML｜{prefix}{list_name}>"
    text, calls = reader.before(begin), []
    if reader.is_at_end():
        return text, calls
    if not text.endswith("\n\n"):
        reader.fail("an empty line before the calls")
    reader.take(begin + "\n")
    while not calls or not reader.takes(end):
        reader.take(f'<｜DSML｜{prefix}invoke name="')
        name = reader.until('">\n')
        schema_of(reader, schemas, name)
        arguments = Object()
        reader.match(SPACE)
        while reader.takes(f'<｜DSML｜{prefix}parameter name="'):
            key = reader.until('" string="')
            is_string = reader.take("true", "false") == "true"
            reader.take('">')
            value = reader.until(f"</｜DSML｜{prefix}parameter>")
            arguments.add(key, value if is_string else whole_json(value))
            if not is_string and isinstance(arguments[key], str):
                raise NotTheFormatError('a string is written with string="true"')
            reader.match(SPACE)
        calls.append((name, arguments))
        reader.take(f"</｜DSML｜{prefix}invoke>" + after_invoke)
    return text, calls


def dsml_marks(list_name, prefix=""):
    names = [prefix + name for name in (list_name, "invoke", "parameter")]
    begins, ends = [f"<｜DSML｜{name}" for name in names], [f"</｜DSML｜{name}>" for name in names]
    return (f"{begins[0]}>", "｜DSML｜", *begins, *ends)


@family("deepseek_v3_2", *dsml_marks("function_calls"), reasoning=("<think>", "</think>", ""), begins_in_prompt=True)
def deepseek_v3_2(reader, schemas):
    return read_dsml(reader, schemas, "function_calls")


@family("deepseek_v4", *dsml_marks("tool_calls"), reasoning=("<think>", "</think>", ""), begins_in_prompt=True)
def deepseek_v4(reader, schemas):
    return read_dsml(reader, schemas, "tool_calls")


@family("deepseek_v4_1", *dsml_marks("calls", " "), reasoning=("<think>", "</think>", ""), begins_in_prompt=True)
def deepseek_v4_1(reader, schemas):
    return read_dsml(reader, schemas, "calls", " ")


def unescape(text):
    """A value of one of Kimi's attributes."""
    if re.search(r'"|&(?!amp;|quot;)', text):
        raise NotTheFormatError(f"{text!r} lacks escapes")
    return text.replace("&quot;", '"').replace("&amp;", "&")


KIMI_TYPES = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean", "null": "null", "array": "array"}


@family(
    "kimi_k3",
    "<|open|>tools<|sep|>",
    "<|open|>",
    "<|close|>",
    "<|sep|>",
    '<|open|>argument key="',
    "<|close|>argument<|sep|>",
    reasoning=("<|open|>think<|sep|>", "<|close|>think<|sep|>", "<|open|>response<|sep|>"),
    begins_in_prompt=True,
)
def kimi_k3(reader, schemas):
    """Text is always there and its opening mark too: the prompt or the end of the reasoning has it."""
    text, calls = reader.until("<|close|>response<|sep|>"), []
    if reader.takes("<|open|>tools<|sep|>"):
        while not calls or not reader.takes("<|close|>tools<|sep|>"):
            reader.take('<|open|>call tool="')
            name = unescape(reader.until('" index="'))
            reader.match("[0-9]+")
            reader.take('"<|sep|>')
            calls.append((name, read_kimi_arguments(reader)))
            reader.take("<|close|>call<|sep|>")
    reader.take("<|close|>message<|sep|>")
    return text, calls


def read_kimi_arguments(reader):
    arguments = Object()
    reader.match(SPACE)
    while reader.takes('<|open|>argument key="'):
        key = unescape(reader.until('" type="'))
        kind = reader.until('"<|sep|>')
        text = reader.until("<|close|>argument<|sep|>")
        value = text if kind == "string" else whole_json(text)
        if KIMI_TYPES.get(type_of(value), "object") != kind:
            raise NotTheFormatError(f"{text!r} is no {kind}")
        arguments.add(key, value)
        reader.match(SPACE)
    return arguments


@family(
    "cohere",
    "<cofl:tool_calls>",
    "</cofl:tool_calls>",
    "<cofl:tool_call",
    "</cofl:tool_call>",
    "<cofl:value",
    "</cofl:value>",
    reasoning=("<|START_THINKING|>", "<|END_THINKING|>", ""),
    begins_in_prompt=True,
)
def cohere(reader, schemas):
    text, calls = reader.before("<cofl:tool_calls>"), []
    if reader.is_at_end():
        return text, calls
    reader.take("<cofl:tool_calls>")
    while not calls or not reader.takes("</cofl:tool_calls>"):
        reader.take('<cofl:tool_call id="')
        reader.match("[0-9]+")
        reader.take('" name="')
        name = reader.until('">')
        calls.append((name, read_cofl_members(reader)))
        reader.take("</cofl:tool_call>")
    return text, calls


def read_cofl_members(reader):
    """Values with names, up to something else."""
    members = Object()
    reader.match(SPACE)
    while reader.takes('<cofl:value name="'):
        name = reader.until('" type="')
        if re.search("[<>]", name):
            raise NotTheFormatError(f"{name!r} lacks escapes")
        name = unescape(name.replace("&lt;", "<").replace("&gt;", ">"))
        members.add(name, read_cofl_value(reader))
        reader.match(SPACE)
    return members


def read_cofl_value(reader):
    """The rest of a value from its type on, and its closing mark."""
    kind = reader.until('">')
    if kind in ("raw", "json"):
        text = reader.until("</cofl:value>")
        return text if kind == "raw" else whole_json(text)
    if kind == "dict":
        value = read_cofl_members(reader)
    elif kind == "list":
        value = []
        reader.match(SPACE)
        while reader.takes('<cofl:value type="'):
            value.append(read_cofl_value(reader))
            reader.match(SPACE)
    else:
        reader.fail("the type of a value")
    reader.take("</cofl:value>")
    return value
