"""Formats whose calls look like calls in Python: `[get_weather(city='Rome', days=3)]`.

Llama 4, Gemma 3 and others by prompt, LFM2 between marks, OLMo 3 with one call a line. Values are literals, read by the `ast`
module as the servers do; `true`, `false` and `null` are taken beside Python's names.
"""

import ast
import re

from .messages import family
from .reading import NotTheFormatError, Object

CONSTANTS = {"true": True, "false": False, "null": None}
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class Source:
    """The text of an expression, and its tree."""

    def __init__(self, text):
        self.text = text
        try:
            self.body = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
            raise NotTheFormatError(f"no Python: {error}: {text!r}") from error

    def fail(self, node):
        raise NotTheFormatError(f"no value: {ast.get_source_segment(self.text, node)!r}")

    def name(self, node):
        """A name, maybe with dots."""
        if isinstance(node, ast.Attribute):
            return f"{self.name(node.value)}.{node.attr}"
        return node.id if isinstance(node, ast.Name) else self.fail(node)

    def call(self, node):
        """The name and arguments of a call, which all have names."""
        if not isinstance(node, ast.Call) or node.args:
            self.fail(node)
        pairs = [(keyword.arg, self.value(keyword.value)) for keyword in node.keywords]
        return self.name(node.func), Object(pairs)

    def value(self, node):
        """What a literal stands for."""
        segment = ast.get_source_segment(self.text, node)
        if isinstance(node, ast.Name) and node.id in CONSTANTS:
            return CONSTANTS[node.id]
        if isinstance(node, ast.Constant):
            is_plain = node.value is None or isinstance(node.value, bool) or segment[0] in "'\""
            if (is_plain and not isinstance(node.value, bytes)) or NUMBER.fullmatch(segment):
                if isinstance(node.value, str) and re.search("[\ud800-\udfff]", node.value):
                    self.fail(node)
                return node.value
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and NUMBER.fullmatch(segment):
            return -node.operand.value
        if isinstance(node, ast.List):
            return [self.value(item) for item in node.elts]
        if isinstance(node, ast.Dict):
            keys = [self.value(key) if key else self.fail(node) for key in node.keys]
            if not all(isinstance(key, str) for key in keys):
                self.fail(node)
            return Object(zip(keys, map(self.value, node.values), strict=True))
        return self.fail(node)


def read_calls(text):
    """Reads `[N(k=v), N2()]`."""
    source = Source(text)
    if not isinstance(source.body, ast.List) or not source.body.elts:
        source.fail(source.body)
    return [source.call(item) for item in source.body.elts]


@family("pythonic", "[", "(", ")]", "='", "=\"", is_alone=True, has_python_names=True)
def pythonic(reader, schemas):
    """A message that begins as a call of a tool in a list is nothing else."""
    is_call = any(reader.sees(f"[{name}(") for name in schemas)
    return (None, read_calls(reader.rest())) if is_call else (reader.before(), [])


@family("llama_4_pythonic", "<|python_start|>", "<|python_end|>", "[", ")]", "='", is_alone=True, has_python_names=True)
def llama_4_pythonic(reader, schemas):
    """As `pythonic`; two marks may stand around the list."""
    if reader.takes("<|python_start|>"):
        rest = reader.rest()
        if not rest.endswith("<|python_end|>"):
            reader.fail("<|python_end|>")
        return None, read_calls(rest.removesuffix("<|python_end|>"))
    return pythonic(reader, schemas)


@family("lfm_2", "<|tool_call_start|>", "<|tool_call_end|>", "='", ")]", has_python_names=True)
def lfm_2(reader, schemas):
    text = reader.before("<|tool_call_start|>")
    if reader.is_at_end():
        return text, []
    reader.take("<|tool_call_start|>")
    rest = reader.rest()
    if not rest.endswith("<|tool_call_end|>"):
        reader.fail("the end of the calls")
    return text, read_calls(rest.removesuffix("<|tool_call_end|>"))


@family(
    "olmo_3",
    "<function_calls>",
    "</function_calls>",
    '="',
    reasoning=("<think>", "</think>", ""),
    begins_in_prompt=True,
    has_python_names=True,
)
def olmo_3(reader, schemas):
    text = reader.before("<function_calls>")
    if reader.is_at_end():
        return text, []
    reader.take("<function_calls>")
    rest = reader.rest()
    if not rest.endswith("</function_calls>"):
        reader.fail("the end of the calls")
    sources = [Source(line) for line in rest.removesuffix("</function_calls>").split("\n")]
    return text, [source.call(source.body) for source in sources]
