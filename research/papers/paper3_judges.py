"""Judges of C++ programs for `paper3_regions`: Lark, tree-sitter, g++, the tests of HumanEval-X; and a search for fixed
text in comments.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence
from functools import cache
from typing import Any

from lab import judges

#: Beginnings of g++'s messages about syntax. Names that g++ takes for no types lead to such messages too.
SYNTAX = ("expected", "stray", "missing terminating", "unterminated", "extraneous", "invalid suffix", "empty character")
_MESSAGE = re.compile(r"^<stdin>:\d+:\d+: (?:fatal )?error: (.*)$", re.MULTILINE)
#: Comments, then strings and characters, in which nothing begins a comment.
_COMMENT = re.compile(
    rb"(//(?:\\\r?\n|[^\n])*|/\*.*?(?:\*/|\Z))|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)


def judged(text: bytes, tests: str, grammar: str) -> dict[str, Any]:
    """What Lark says of a program under `grammar`, whether tree-sitter finds an error, g++'s first messages, and
    whether the program passes the tests.
    """
    messages = gpp(text)
    program = text.decode("utf-8", "replace") + "\n" + tests
    return {
        "lark": lark(text, grammar),
        "tree": has_tree_error(text),
        "gpp": messages[:3],
        "gpp syntax": [message for message in messages if message.startswith(SYNTAX)][:3],
        "passes": not messages and judges.cpp_tests(program) is None,
    }


def has_tree_error(text: bytes) -> bool:
    """Whether tree-sitter finds an error."""
    return bool(_parser().parse(text).root_node.has_error)


def is_no_cpp(verdict: dict[str, Any]) -> bool:
    """Whether both tree-sitter and g++ find an error of syntax.

    Each alone is wrong at times: tree-sitter does not know all of the preprocessor, and g++ reports an unknown type as
    `expected ';'`.
    """
    return bool(verdict["tree"] and verdict["gpp syntax"])


def lark(text: bytes, grammar: str) -> str | None:
    """By Lark's Earley parser with its basic lexer: whether a text is in the language of the grammar."""
    import lark as package

    try:
        _lark(grammar).parse(text.decode("utf-8", "replace"))
    except package.exceptions.LarkError as error:
        return str(error)[:100]
    return None


@cache
def _lark(grammar: str) -> Any:
    import lark as package

    return package.Lark(grammar, parser="earley", lexer="basic")


def gpp(text: bytes) -> list[str]:
    """g++'s errors, without running anything."""
    command = ["g++", "-std=c++17", "-w", "-x", "c++", "-fsyntax-only", "-fmax-errors=40", "-"]
    environment = os.environ | {"LC_ALL": "C"}
    try:
        done = subprocess.run(command, input=text, capture_output=True, timeout=120, check=False, env=environment)
    except subprocess.TimeoutExpired:
        return ["took too long"]
    messages = _MESSAGE.findall(done.stderr.decode("utf-8", "replace"))
    return messages or ([] if done.returncode == 0 else [done.stderr.decode("utf-8", "replace")[:200]])


def n_pieces_in_comments(text: bytes, pieces: Sequence[bytes]) -> int:
    """How many of the fixed pieces, in their order, have text in a comment that a gap began.

    A piece stands where it is first found after the one before; the last one stands at the end. So an error is possible
    where a gap repeats a piece, and a comment then is seen in the wrong one.
    """
    places, end = [], len(pieces[0])
    for piece in pieces[1:-1]:
        places.append(text.index(piece, end))
        end = places[-1] + len(piece)
    places.append(len(text) - len(pieces[-1]))
    inside = [match.span() for match in _COMMENT.finditer(text) if match[1] is not None]
    found = 0
    for piece, place in zip(pieces[1:], places):
        last = place + len(piece)
        found += any(begin < place < end and text[place : min(end, last)].strip() for begin, end in inside)
    return found


@cache
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_cpp

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
