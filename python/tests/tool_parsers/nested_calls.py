"""Formats with a notation of their own for nested values: Gemma 4 and MiniMax M3."""

from .messages import family
from .reading import NotTheFormatError, Object
from .values import parameter, resolve, typed, types_of

#: Stands around strings and keys of Gemma 4.
QUOTE = '<|"|>'
#: Stands before each tag of MiniMax M3.
NAMESPACE = "]<]minimax[>["
WHITE = r"[ \t\n\r]*"


@family(
    "gemma_4",
    "<|tool_call>",
    "<tool_call|>",
    QUOTE,
    "call:",
    "<channel|>",
    reasoning=("<|channel>thought\n", "<channel|>", ""),
)
def gemma_4(reader, schemas):
    """Text stands before the calls or after them."""
    texts, calls = [reader.before("<|tool_call>")], []
    while reader.takes("<|tool_call>"):
        reader.take("call:")
        name = reader.until("{")
        calls.append((name, read_members(reader)))
        reader.take("<tool_call|>")
    texts.append(reader.before("<|tool_call>"))
    return "".join(texts), calls


def read_members(reader):
    """The rest of an object, after `{`."""
    members = Object()
    while not reader.takes("}"):
        if members:
            reader.take(",")
        if reader.sees(QUOTE):
            key = read_gemma_value(reader)
            reader.take(":")
        else:
            key = reader.until(":")
        members.add(key, read_gemma_value(reader))
    return members


def read_gemma_value(reader):
    if reader.takes(QUOTE):
        return reader.until(QUOTE)
    if reader.takes("{"):
        return read_members(reader)
    if reader.takes("["):
        items = []
        while not reader.takes("]"):
            if items:
                reader.take(",")
            items.append(read_gemma_value(reader))
        return items
    value = reader.json()
    if isinstance(value, str):
        raise NotTheFormatError(f"a string stands between {QUOTE}: {value!r}")
    return value


@family(
    "minimax_m3",
    f"{NAMESPACE}<tool_call>",
    NAMESPACE,
    f"{NAMESPACE}</tool_call>",
    f"{NAMESPACE}<invoke",
    f"{NAMESPACE}</invoke>",
    f"{NAMESPACE}<item>",
    f"{NAMESPACE}</item>",
    reasoning=("<mm:think>", "</mm:think>", ""),
)
def minimax_m3(reader, schemas):
    """A model that does not reason may say so by a closing mark alone."""
    if not reader.has_reasoned:
        reader.takes("</mm:think>")
    begin = f"{NAMESPACE}<tool_call>"
    text, calls = reader.before(begin), []
    if reader.is_at_end():
        return text, calls
    reader.take(begin + "\n")
    while not calls or not reader.takes(f"{NAMESPACE}</tool_call>"):
        reader.take(f'{NAMESPACE}<invoke name="')
        name = reader.until('">')
        if name not in schemas:
            reader.fail(f"a tool, not {name!r},")
        calls.append((name, read_children(reader, schemas[name], schemas[name])))
        reader.take(f"{NAMESPACE}</invoke>\n")
    return text, calls


def read_children(reader, schema, root):
    """Reads elements as the members of an object."""
    members = Object()
    reader.match(WHITE)
    while reader.sees(f"{NAMESPACE}<") and not reader.sees(f"{NAMESPACE}</"):
        reader.take(f"{NAMESPACE}<")
        name = reader.until(">")
        members.add(name, read_m3_value(reader, parameter(resolve(schema, root), name), root))
        reader.take(f"{NAMESPACE}</{name}>")
        reader.match(WHITE)
    return members


def read_m3_value(reader, schema, root):
    """Reads what stands in an element: elements, or text."""
    types, schema = types_of(schema, root), resolve(schema, root)
    at = reader.at
    reader.match(WHITE)
    has_children = reader.sees(f"{NAMESPACE}<") and not reader.sees(f"{NAMESPACE}</") and types & {"array", "object"}
    if not has_children:
        # White space that elements do not follow is text.
        reader.at = at
    if has_children and reader.sees(f"{NAMESPACE}<item>") and "array" in types:
        items = []
        while reader.takes(f"{NAMESPACE}<item>"):
            items.append(read_m3_value(reader, schema.get("items", True), root))
            reader.take(f"{NAMESPACE}</item>")
            reader.match(WHITE)
        return items
    if has_children and "object" in types:
        return read_children(reader, schema, root)
    text = reader.before(NAMESPACE)
    if not text and "string" not in types:
        for kind, empty in (("array", []), ("object", Object())):
            if kind in types:
                return empty
    return typed(text, schema, root)
