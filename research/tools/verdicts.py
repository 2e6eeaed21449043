"""Verdicts about one tool: texts are made, judged, and our answers compared with the judges'.

Classes of a text, by what the judges say (together, or the only one that has a verdict) and what we say:

* `agree valid`, `agree invalid`.
* `spelling`: valid and refused, but another spelling of the same value is accepted; the guide says which ones (whole
  numbers as `5.0`, exponents).
* `told`: invalid and accepted, and the report says that a keyword of the tool is not enforced.
* `format`: both judges say the opposite, but not once the keyword `format` is gone, from their schema (accepted) or from
  ours (refused).
* `wrong accepted`, `wrong refused`: everything else.
* `split: CAUSE`: the judges differ. The cause is the keyword without which they agree.
"""

from __future__ import annotations

import collections
import dataclasses
import json
import random
from typing import Any

import numpy as np

from generate import Generator
from judges import Ajv, PythonJsonschema, Verdict
from mutate import Mutator
from ours import Tool
from walk import keywords, without

#: What the judges read differently, in the order in which it is tried.
_CAUSES = [
    {"format"}, {"nullable"}, {"pattern"}, {"patternProperties"}, {"propertyNames"}, {"multipleOf"}, {"format", "pattern"},
    {"uniqueItems"},
]  # fmt: skip
#: The drafts by which a schema is judged: its own, or the first by which it is a schema.
_DRAFTS = [None, "http://json-schema.org/draft-07/schema#", "http://json-schema.org/draft-04/schema#"]
#: How many answers are kept at least; refused mutations come on top.
ANSWERS = 6
_STYLES: list[dict[str, Any]] = [{}, {}, {"separators": (",", ":")}, {"indent": 2}]


@dataclasses.dataclass
class Outcome:
    """What came of one tool's texts: how many of each class, and the texts of the classes that need a look."""

    counts: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    sides: collections.Counter[str] = dataclasses.field(default_factory=collections.Counter)
    listed: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    errors: dict[str, str] = dataclasses.field(default_factory=dict)
    #: Some texts with our answers.
    answers: list[tuple[str, bool]] = dataclasses.field(default_factory=list)


class Court:
    """The two judges."""

    def __init__(self, ajv: Ajv) -> None:
        self.ajv, self.python = ajv, PythonJsonschema()

    def open(self, schema: Any) -> dict[str, str]:
        """Makes this the schema to judge by; returns which judge refuses it, and why.

        Lists of `items` and exclusive bounds that are true are of older drafts, whether or not the schema says so.
        """
        first: dict[str, str] = {}
        for draft in _DRAFTS:
            shown = {**schema, "$schema": draft} if draft is not None and isinstance(schema, dict) else schema
            said = {"ajv": self.ajv.use(shown), "jsonschema": self.python.use(shown)}
            errors = {name: error for name, error in said.items() if error}
            if len(errors) < 2:
                return errors
            first = first or errors
        return first

    def judge(self, texts: list[str]) -> list[tuple[Verdict, Verdict]]:
        """Ajv's and jsonschema's verdict on each text."""
        ajv = self.ajv.verdicts(texts) if texts else []
        return list(zip(ajv, self.python.verdicts(texts), strict=True))


def texts_of(tool: Tool, schema: Any, seed: int, sizes: tuple[int, int, int]) -> list[tuple[str, str]]:
    """Texts to judge, with where each is from: as many drawn, made and mutated ones as `sizes` says."""
    rng, numbers = random.Random(seed), np.random.default_rng(seed)
    drawn, made, mutated = sizes
    samples = [tool.sample(numbers, rng.choice([10, 40, 120])) for _ in range(drawn)]
    found = [("drawn", text) for text in samples if text is not None]
    generator, mutator = Generator(schema, rng), Mutator(schema, rng)
    values = [generator.value() for _ in range(made)]
    found += [("made", _text(value, rng)) for value in values]
    found += [("mutated", _text(mutator.changed(rng.choice(values)), rng)) for _ in range(mutated)]
    # The arguments of a call are an object, whether or not the schema says so.
    free = not (isinstance(schema, dict) and schema.get("type") == "object")
    return list(dict.fromkeys((kind, text) for kind, text in found if _is_unicode(text) and not (free and text[0] != "{")))


def compare(tool: Tool, schema: Any, texts: list[tuple[str, str]], court: Court) -> Outcome:
    """Judges the texts, and classifies our answers."""
    outcome = Outcome(errors=court.open(schema))
    if len(outcome.errors) == 2:
        outcome.counts["no judge"] = len(texts)
        return outcome
    verdicts = court.judge([text for _, text in texts])
    split, against = [], []
    for (kind, text), (ajv, python) in zip(texts, verdicts, strict=True):
        ours = tool.accepts(text)
        outcome.answers += [(text, ours)] if len(outcome.answers) < ANSWERS or kind == "mutated" and not ours else []
        case = {"kind": kind, "text": text, "ours": ours, "ajv": ajv, "jsonschema": python}
        if kind == "drawn" and not ours:
            outcome.counts["drawn and refused"] += 1
            outcome.listed.append({**case, "class": "drawn and refused"})
        elif ajv is None and python is None:
            outcome.counts["no judge"] += 1
        elif ajv is not None and python is not None and ajv != python:
            split.append(case)
        elif ours == (python if ajv is None else ajv):
            outcome.counts["agree valid" if ours else "agree invalid"] += 1
            outcome.counts["one judge only"] += ajv is None or python is None
            if kind == "drawn" and _has_duplicates(text):
                outcome.counts["drawn with a key twice"] += 1
        elif not ours and _is_spelling(tool, text):
            outcome.counts["spelling"] += 1
            outcome.listed.append({**case, "class": "spelling"})
        elif ours and tool.left_out:
            outcome.counts["told"] += 1
        else:
            against.append(case)
    _explain_split(split, schema, court, outcome)
    _explain_against(tool, against, schema, court, outcome)
    return outcome


def _explain_split(cases: list[dict[str, Any]], schema: Any, court: Court, outcome: Outcome) -> None:
    """Finds for each text on which the judges differ a keyword without which they agree."""
    present = keywords(schema)
    for cause in _CAUSES:
        if not cases or not cause <= present:
            continue
        court.open(without(schema, cause))
        judged = court.judge([case["text"] for case in cases])
        rest = []
        for case, (ajv, python) in zip(cases, judged, strict=True):
            if ajv is not None and ajv == python:
                _split(case, " and ".join(sorted(cause)), outcome)
            else:
                rest.append(case)
        cases = rest
    for case in cases:
        _split(case, "numbers" if _has_large_number(case["text"]) else "other", outcome)


def _split(case: dict[str, Any], cause: str, outcome: Outcome) -> None:
    outcome.counts[f"split: {cause}"] += 1
    side = "ajv" if case["ours"] == case["ajv"] else "jsonschema"
    outcome.sides[f"{cause}: with {side}, {'accepted' if case['ours'] else 'refused'}"] += 1
    outcome.listed.append({**case, "class": f"split: {cause}"})


def _explain_against(tool: Tool, cases: list[dict[str, Any]], schema: Any, court: Court, outcome: Outcome) -> None:
    """Tells differences about `format` from wrong verdicts."""
    bare = without(schema, {"format"}) if "format" in keywords(schema) else None
    ours = None
    for case in cases:
        about_format = False
        if bare is not None and case["ours"]:
            about_format = len(court.open(bare)) < 2 and True in court.judge([case["text"]])[0]
        elif bare is not None:
            ours = ours or Tool(tool.compiler, {"name": tool.name, "inputSchema": bare}, tool.name)
            about_format = ours.accepts(case["text"])
        kind = "format" if about_format else "wrong accepted" if case["ours"] else "wrong refused"
        outcome.counts[kind] += 1
        outcome.sides[f"{kind}: {'accepted' if case['ours'] else 'refused'}"] += 1
        outcome.listed.append({**case, "class": kind})


def _is_spelling(tool: Tool, text: str) -> bool:
    """Whether a refused text is accepted in some other spelling of the same value."""
    if tool.accepts(text, numbers="any", whitespace="any"):
        return True
    value = json.loads(text, parse_float=_plain)
    return tool.accepts(json.dumps(value, ensure_ascii=False))


def _plain(text: str) -> Any:
    """A number as an integer, if it is one."""
    value = float(text)
    return int(value) if value.is_integer() else value


def _text(value: Any, rng: random.Random) -> str:
    return json.dumps(value, ensure_ascii=False, **rng.choice(_STYLES))


def _is_unicode(text: str) -> bool:
    return not any(0xD800 <= ord(char) < 0xE000 for char in text)


def _has_duplicates(text: str) -> bool:
    twice = []
    json.loads(text, object_pairs_hook=lambda pairs: twice.append(len(pairs) != len(dict(pairs))))
    return any(twice)


def _has_large_number(text: str) -> bool:
    large = []

    def look(number: str) -> None:
        large.append(len(number) > 15 or abs(float(number)) > 2**53)

    json.loads(text, parse_int=look, parse_float=look)
    return any(large)
