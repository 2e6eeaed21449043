"""Parsers of the formats in which models call tools, written from the formats' descriptions.

They share no code with the package that they test, and are strict: what is not exactly the format raises `NotTheFormatError`.

>>> parse("llama", '{"name": "now", "parameters": {}}', {"now": {}})
Message(reasoning=None, text=None, calls=[('now', {})])
"""

from . import element_calls, json_calls, marked_calls, nested_calls, python_calls  # noqa: F401: they fill FAMILIES
from .messages import FAMILIES, Family, Message, parse, split_reasoning
from .reading import NotTheFormatError

__all__ = ["FAMILIES", "Family", "Message", "NotTheFormatError", "parse", "split_reasoning"]
