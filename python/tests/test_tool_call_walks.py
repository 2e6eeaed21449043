"""Random texts of the grammars of tool calls, read by parsers that were written from the formats' descriptions.

Each text is a random walk: at each place a token that the mask allows. What it says must be what was asked for: calls of tools that
there are, with arguments that fit their schemas, and as many of them as the choice of tools allows.

`MASKWRIGHT_TOOL_WALKS` is the number of texts per format, 40 by default. `python test_tool_call_walks.py FORMAT…` prints faults
of some formats, without pytest.
"""

import json
import os
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import maskwright
import numpy as np
import pytest
from tool_parsers import FAMILIES, Message, NotTheFormatError, parse
from tool_parsers.checking import faults

#: Messages that chat templates write.
TRANSCRIPTS = Path(__file__).parents[2] / "testdata" / "tools"
N_TEXTS = int(os.environ.get("MASKWRIGHT_TOOL_WALKS", "40"))
#: Texts of one grammar.
N_PER_GRAMMAR = 5


def closed(properties, *required, **more):
    return {"type": "object", "properties": properties, "required": list(required), "additionalProperties": False, **more}


#: Tools of all kinds of parameters. Each request has some of them.
SCHEMAS = {
    "now": closed({}),
    "get_weather": closed(
        {
            "city": {"type": "string"},
            "days": {"type": "integer", "minimum": 1, "maximum": 14},
            "unit": {"enum": ["celsius", "fahrenheit"]},
        },
        "city",
    ),
    "set_value": closed(
        {
            "flag": {"type": "boolean"},
            "ratio": {"type": "number"},
            "count": {"type": "integer"},
            "nothing": {"type": ["string", "null"]},
            "none": {"type": "null"},
        }
    ),
    "search": closed(
        {
            "query": {"type": "string", "minLength": 1},
            "filters": closed(
                {
                    "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
                    "price": closed({"min": {"type": "number"}, "max": {"type": ["number", "null"]}}, "min"),
                    "exact": {"type": "boolean"},
                }
            ),
        },
        "query",
    ),
    "note": closed(
        {
            "code": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"},
            "title": {"type": "string", "minLength": 2, "maxLength": 8},
            "lines": {"type": "array", "items": {"type": "string"}},
        },
        "code",
    ),
    "store": {
        "type": "object",
        "properties": {"key": {"type": "string"}, "data": {"type": "object"}},
        "required": ["key"],
    },
    "pick": closed(
        {
            "level": {"enum": [1, 2, "high", None, True]},
            "kind": {"const": "fixed"},
            "size": {"anyOf": [{"type": "integer", "minimum": 10}, {"type": "string", "pattern": "^[a-z]+$"}]},
            "point": {"$ref": "#/$defs/point"},
            "either": {"anyOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer"}, "minItems": 1}]},
        },
        "level",
        "point",
        **{"$defs": {"point": closed({"x": {"type": "integer"}, "y": {"type": "integer"}}, "x", "y")}},
    ),
    "fs.read-file": closed(
        {"path": {"type": "string"}, "range": {"type": "array", "items": {"type": "integer"}, "maxItems": 2}},
        "path",
    ),
}

#: Pieces of JSON, of Python and of tags, as tokens have them.
PIECES = [
    *('{"', '": ', '", "', '"}', '"]', "true", "false", "null", "[]", "{}", ", ", "-0.5", "12"),
    *("\n", "\n\n", "None", "True", "é", "</", "<", ">", "'"),
]


class Request(NamedTuple):
    """What the grammar of a message is made for."""

    family: str
    tools: tuple[str, ...]
    tool_choice: str
    parallel: bool
    reasoning: bool | str
    text: bool

    def schemas(self):
        return {name: SCHEMAS[name] for name in self.tools}

    def document(self):
        functions = [{"name": name, "description": "a tool", "parameters": SCHEMAS[name]} for name in self.tools]
        return [{"type": "function", "function": function} for function in functions]

    def options(self):
        return {"tool_choice": self.tool_choice, "parallel": self.parallel, "reasoning": self.reasoning, "text": self.text}


def random_request(family, rng):
    names = [name for name in sorted(SCHEMAS) if "-" not in name or not FAMILIES[family].has_python_names]
    tools = tuple(rng.sample(names, rng.randint(1, 3)))
    choice = rng.choice(["auto", "auto", "required", "required", tools[0]])
    reasoning = rng.choice([False, True, "auto"]) if FAMILIES[family].reasoning else False
    return Request(family, tools, choice, rng.random() < 0.7, reasoning, rng.random() < 0.7)


class Vocabulary:
    """Single bytes, pieces, a family's marks as text and as special tokens, and the end of the text."""

    def __init__(self, family):
        marks = [mark.encode() for mark in FAMILIES[family].marks]
        halves = {mark[: len(mark) // 2] for mark in marks} | {mark[len(mark) // 2 :] for mark in marks}
        names = sorted({mark.strip(b"\n") for mark in marks} - {b""})
        words = list(dict.fromkeys([*(piece.encode() for piece in PIECES), *sorted(halves), *marks]))
        words = [word for word in words if len(word) > 1]
        self.texts = [bytes([byte]) for byte in range(256)] + words + names + [b"<eos>"]
        self.eos = len(self.texts) - 1
        self.special = range(256 + len(words), self.eos)
        self.tokenizer = maskwright.Tokenizer.from_tokens(self.texts, [self.eos], list(self.special))
        #: How likely a token is among others.
        bytes_ = [0.3 if 32 <= byte < 127 else 0.02 for byte in range(256)]
        self.weights = np.array([*bytes_, *[3.0] * len(words), *[4.0] * len(names), 1.0])

    def spell(self, ids):
        return b"".join(self.texts[id] for id in ids if id != self.eos)


def walked(grammar, vocabulary, rng):
    """The tokens of a random text of a grammar."""
    matcher = maskwright.Matcher(grammar)
    if rng.random() < 0.5:
        matcher = maskwright.Matcher(grammar, max_tokens=matcher.tokens_to_finish() + rng.choice([10, 30, 90]))
        length = 500
    else:
        length = rng.choice([5, 20, 60, 120])
    mask, ids = maskwright.allocate_token_bitmask(1, len(vocabulary.texts)), []
    words = mask[0].view(np.uint8)
    while not matcher.is_terminated():
        if len(ids) >= length:
            rest = matcher.finish()
            assert matcher.accept_tokens(rest) == len(rest)
            ids += rest
            continue
        if rng.random() < 0.5 and (forced := matcher.forced_tokens()):
            assert matcher.accept_tokens(forced) == len(forced)
            ids += forced
            continue
        matcher.fill_next_token_bitmask(mask)
        weights = np.unpackbits(words, bitorder="little")[: len(vocabulary.texts)] * vocabulary.weights
        weights[vocabulary.eos] *= 1 + len(ids) / 10
        sums = np.cumsum(weights)
        id = int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))
        assert matcher.accept_token(id), "a token of the mask is refused"
        ids.append(id)
    return ids


def texts(family, n_texts, seed=0):
    """Random texts of a family, each with its request."""
    rng = random.Random(f"{family} {seed}")
    vocabulary = Vocabulary(family)
    compiler = maskwright.Compiler(vocabulary.tokenizer)
    while n_texts > 0:
        request = random_request(family, rng)
        grammar = compiler.compile_tool_calls(request.document(), format=family, **request.options())
        for _ in range(min(n_texts, N_PER_GRAMMAR)):
            yield request, vocabulary.spell(walked(grammar, vocabulary, rng)).decode()
        n_texts -= N_PER_GRAMMAR


def judge(request: Request, text: str) -> tuple[Message, list[str]]:
    """What a text says, and what is wrong with it. Raises NotTheFormatError."""
    message = parse(request.family, text, request.schemas(), request.reasoning)
    called = [name for name, _ in message.calls]
    wrong = []
    for name, arguments in message.calls:
        wrong += [f"{name}{fault.removeprefix('$')}" for fault in faults(arguments, SCHEMAS[name])]
    if request.tool_choice != "auto" and not called:
        wrong.append("no tool is called")
    if request.tool_choice in request.tools and set(called) != {request.tool_choice}:
        wrong.append(f"{called} are called, not {request.tool_choice}")
    if not request.parallel and len(called) > 1:
        wrong.append("several calls")
    if request.reasoning != "auto" and (message.reasoning is not None) is not request.reasoning:
        wrong.append(f"reasoning is {message.reasoning!r}")
    if message.reasoning is not None and FAMILIES[request.family].marks[0] in message.reasoning:
        wrong.append("a call begins in the reasoning")
    if called and not request.text and (message.text or "").strip():
        wrong.append("text beside calls")
    return message, wrong


def judge_family(family, n_texts, seed=0):
    """Judges random texts; returns counts, and a line for each fault."""
    counts, lines = Counter(), []
    for request, text in texts(family, n_texts, seed):
        counts["texts"] += 1
        try:
            message, wrong = judge(request, text)
        except NotTheFormatError as error:
            lines.append(f"{family}: {error}\n    {text!r}\n    {request.tools} {request.options()}")
            continue
        if wrong:
            lines.append(f"{family}: {wrong}\n    {text!r}\n    {request.tools} {request.options()}")
        counts["calls"] += len(message.calls)
        counts["arguments"] += sum(len(arguments) for _, arguments in message.calls)
        counts["several calls"] += len(message.calls) > 1
        counts["text and calls"] += bool(message.text and message.calls)
        counts["reasoning"] += message.reasoning is not None
    return counts, lines


def test_all_formats_have_a_parser():
    assert set(maskwright.tool_formats()) == set(FAMILIES)


def test_the_parsers_read_what_chat_templates_write():
    tools = json.loads((TRANSCRIPTS / "tools.json").read_text(encoding="utf-8"))
    schemas = {tool["function"]["name"]: tool["function"]["parameters"] for tool in tools}
    counts = Counter()
    for path in sorted(TRANSCRIPTS.glob("*.json")):
        transcripts = json.loads(path.read_text(encoding="utf-8"))
        for case in transcripts["cases"] if isinstance(transcripts, dict) else []:
            if "refused" not in case:
                reasoning = {"never": False, "always": True, "maybe": "auto"}[case["reasoning"]]
                counts["calls"] += len(parse(transcripts["format"], case["text"], schemas, reasoning).calls)
                counts["texts"] += 1
    assert counts["texts"] > 700 and counts["calls"] > 700, counts


@pytest.mark.parametrize("family", maskwright.tool_formats())
def test_random_texts(family):
    counts, lines = judge_family(family, N_TEXTS)
    assert not lines, "\n".join([f"{len(lines)} of {counts['texts']}", *lines[:5]])
    # What was judged: most walks call tools.
    assert counts["texts"] == N_TEXTS
    assert counts["calls"] >= N_TEXTS / 4 and counts["arguments"] >= N_TEXTS / 4, counts


def main():
    for family in sys.argv[1:] or maskwright.tool_formats():
        counts, lines = judge_family(family, N_TEXTS)
        print(family, dict(counts), f"{len(lines)} faults", *lines[:6], sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
