"""What the formats of tool calls have in common: a message is reasoning, text and calls.

A `Family` says how the models of a family reason, and has a function that reads the rest of a message. `FAMILIES` holds them by
name. The files beside this one add to it.
"""

from typing import Any, NamedTuple

from .reading import NotTheFormatError, Reader


class Message(NamedTuple):
    """What a text says."""

    reasoning: str | None
    text: str | None
    calls: list[tuple[str, dict[str, Any]]]


class Family(NamedTuple):
    """A format of tool calls."""

    name: str
    #: Reads text and calls: from a `Reader` and the tools' schemas by name.
    read: Any
    #: What begins and ends reasoning, and what stands after that.
    reasoning: tuple[str, str, str] | None
    #: Whether the prompt ends with the first of them.
    begins_in_prompt: bool
    #: Strings that mean something in the format. The first is how calls begin.
    marks: tuple[str, ...]
    #: Whether a message has one call at most.
    is_one: bool
    #: Whether calls never have text beside them.
    is_alone: bool
    #: Whether the names of tools are those of functions in Python.
    has_python_names: bool


FAMILIES: dict[str, Family] = {}


def family(name, *marks, reasoning=None, begins_in_prompt=False, is_one=False, is_alone=False, has_python_names=False):
    """Adds the family that the decorated function reads."""

    def add(read):
        all_marks = tuple(dict.fromkeys(filter(None, [*marks, *(reasoning or ())])))
        FAMILIES[name] = Family(name, read, reasoning, begins_in_prompt, all_marks, is_one, is_alone, has_python_names)
        return read

    return add


def split_reasoning(name, text, reasoning):
    """The reasoning of a message, or None, and the rest.

    It ends at the first mark that ends reasoning, whatever follows: servers split messages there.
    """
    family, reader = FAMILIES[name], Reader(text)
    if reasoning is False:
        return None, text
    if family.reasoning is None:
        raise NotTheFormatError(f"models of {name} do not reason")
    begin, end, after = family.reasoning
    if reasoning == "auto" and not reader.takes(begin):
        return None, text
    if reasoning is True and not family.begins_in_prompt:
        reader.take(begin)
    thoughts = reader.until(end)
    if not reader.takes(after):
        reader.fail(f"{after!r} after the first mark that ends the reasoning")
    return thoughts, text[reader.at :]


def parse(name, text, schemas, reasoning=False):
    """Reads the text of a whole message.

    `schemas` are the tools' schemas by their names. `reasoning` is as `compile_tool_calls` takes it: False, True, or "auto" if the
    model chooses. Raises NotTheFormatError.
    """
    thoughts, rest = split_reasoning(name, text, reasoning)
    answer, calls = parse_rest(name, Reader(rest, thoughts is not None), schemas)
    return Message(thoughts, answer or None, calls)


def parse_rest(name, reader, schemas):
    """Reads what stands after the reasoning: text and calls."""
    family = FAMILIES[name]
    answer, calls = family.read(reader, schemas)
    reader.finish()
    for called, _ in calls:
        if called not in schemas:
            raise NotTheFormatError(f"there is no tool {called!r}")
    if family.is_one and len(calls) > 1:
        raise NotTheFormatError("a message of this format has one call at most")
    if family.is_alone and calls and answer:
        raise NotTheFormatError("calls stand alone in this format")
    return answer, calls
