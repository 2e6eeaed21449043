"""Reads a text from left to right, piece by piece, and refuses what is not there.

`Reader` is what the parsers of tool calls are written with. It reads literal text, patterns and JSON values, and JSON more strictly
than the `json` module: no `NaN`, no half of a surrogate pair. An `Object` remembers keys that came twice.
"""

import json
import re


class NotTheFormatError(ValueError):
    """A text is not of the format."""


class Object(dict):
    """The members of an object. The last of a key counts, as all readers of JSON have it."""

    def __init__(self, pairs=()):
        super().__init__()
        #: Keys that came twice.
        self.repeated = set()
        for key, value in pairs:
            self.add(key, value)

    def add(self, key, value):
        if key in self:
            self.repeated.add(key)
        self[key] = value


def no_constant(word):
    raise NotTheFormatError(f"{word} is no JSON")


DECODER = json.JSONDecoder(object_pairs_hook=Object, parse_constant=no_constant)


class Reader:
    """A text and a place in it."""

    def __init__(self, text, has_reasoned=False):
        self.text, self.at = text, 0
        #: Whether reasoning stood before the text.
        self.has_reasoned = has_reasoned
        #: Where the model's own text and values are: from, to, and the kind, "text" (free), "raw" (a value), "json" or "python".
        self.spans = []

    def fail(self, wanted):
        raise NotTheFormatError(f"{wanted} is missing at {self.at}: {self.text[self.at : self.at + 40]!r}")

    def sees(self, literal):
        """Whether `literal` comes next."""
        return self.text.startswith(literal, self.at)

    def takes(self, literal):
        """Reads `literal` if it comes next."""
        is_there = self.sees(literal)
        self.at += len(literal) * is_there
        return is_there

    def take(self, *literals):
        """Reads one of `literals` and returns it."""
        for literal in literals:
            if self.takes(literal):
                return literal
        return self.fail(" or ".join(map(repr, literals)))

    def rest(self):
        """Reads all that is left, which is source code in Python."""
        start, self.at = self.at, len(self.text)
        self.spans.append((start, self.at, "python"))
        return self.text[start:]

    def until(self, mark):
        """Reads all before the next `mark`, and the mark."""
        end = self.text.find(mark, self.at)
        if end < 0:
            self.fail(f"{mark!r}, later,")
        start, self.at = self.at, end + len(mark)
        self.spans.append((start, end, "raw"))
        return self.text[start:end]

    def before(self, *marks):
        """Reads all before the first of `marks`, or the whole rest if none comes."""
        places = [place for mark in marks if (place := self.text.find(mark, self.at)) >= 0]
        start, self.at = self.at, min(places, default=len(self.text))
        self.spans.append((start, self.at, "text"))
        return self.text[start : self.at]

    def match(self, pattern):
        """Reads the longest match of a pattern."""
        found = re.compile(pattern, re.DOTALL).match(self.text, self.at)
        if found is None:
            self.fail(f"the pattern {pattern!r}")
        self.at = found.end()
        return found.group()

    def json(self):
        """Reads a JSON value."""
        start = self.at
        try:
            value, self.at = DECODER.raw_decode(self.text, self.at)
            json.dumps(value, ensure_ascii=False).encode()
        except NotTheFormatError:
            raise
        except ValueError as error:
            self.fail(f"JSON ({error})")
        self.spans.append((start, self.at, "json"))
        return value

    def is_at_end(self):
        return self.at == len(self.text)

    def finish(self):
        if not self.is_at_end():
            self.fail("the end of the text")


def whole_json(text):
    """The value of a JSON text with white space around it."""
    reader = Reader(text.strip(" \t\n\r"))
    value = reader.json()
    reader.finish()
    return value


def an_object(value):
    """The arguments of a call, which are an object."""
    if not isinstance(value, dict):
        raise NotTheFormatError(f"arguments are an object, not {value!r}")
    return value
