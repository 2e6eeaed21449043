"""What texts say while they are written, beside parsers that were written from the formats' descriptions.

Each text is a random walk of a grammar of tool calls, as in `test_tool_call_walks.py`. Its events must put together to what the
parser reads in the whole text, and only be added to while the text grows. `MASKWRIGHT_EVENT_WALKS` is the number of texts per format.
`python test_events.py FORMAT…` prints differences of some formats, without pytest.
"""

import json
import os
import random
import re
import sys

import maskwright
import pytest
from test_tool_call_walks import Vocabulary, random_request, walked
from tool_parsers import NotTheFormatError, parse
from tool_parsers.values import type_of

N_TEXTS = int(os.environ.get("MASKWRIGHT_EVENT_WALKS", "40"))
#: Texts of one grammar.
N_PER_GRAMMAR = 5


def same(left, right):
    """Whether two values are equal: `True` is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type_of(left) == type_of(right) and left == right


def events_by_token(grammar, ids):
    """The events after each token, of which those of one token must begin with those of the token before."""
    matcher = maskwright.Matcher(grammar)
    events = matcher.events()
    for id in ids:
        assert matcher.accept_token(id)
        before, events = events, matcher.events()
        assert events[: len(before)] == before, f"an event has changed after {matcher.text!r}"
        assert matcher.events(since=len(before)) == events[len(before) :]
    return matcher, events


def put_together(events):
    """Text, reasoning and calls of events; a call is a name and the JSON of its arguments."""
    text, reasoning, calls, raw = "", "", [], []
    for event in events:
        if event.kind == "text":
            text += event.delta
        elif event.kind == "reasoning":
            reasoning += event.delta
        elif event.kind == "tool":
            assert event.index == len(calls)
            calls.append([event.name, ""])
            raw.append("")
        elif event.kind == "argument":
            calls[event.index][1] += event.delta
            raw[event.index] += event.raw
    return text, reasoning, calls, raw


def differences(family, request, grammar, ids, text):
    """What the events of a text say otherwise than the parser."""
    matcher, events = events_by_token(grammar, ids)
    said, thought, calls, raw = put_together(events)
    wanted = parse(family, text, request.schemas(), request.reasoning)
    # White space beside a mark may be a part of it.
    if not calls and family == "llama_4":
        # Text stands between marks or not. The parser takes them for text where there is no call.
        said, told = (re.sub(r"<\|python_(start|end)\|>", "", text or "") for text in (said, wanted.text))
        wanted = wanted._replace(text=told)
    if (said.strip(), thought.strip()) != ((wanted.text or "").strip(), (wanted.reasoning or "").strip()):
        yield f"text {said!r} and reasoning {thought!r}, not {wanted.text!r} and {wanted.reasoning!r}"
    if [name for name, _ in calls] != [name for name, _ in wanted.calls]:
        yield f"calls {calls}, not {wanted.calls}"
        return
    for (name, arguments), written, (_, values) in zip(calls, raw, wanted.calls, strict=True):
        try:
            read = json.loads(arguments)
        except ValueError as error:
            yield f"{name}: {arguments!r} is no JSON: {error}"
            continue
        if not same(read, dict(values)):
            yield f"{name}: {read!r}, not {values!r}"
        if written not in text:
            yield f"{name}: {written!r} is not in the text"
    ended = [event.index for event in events if event.kind == "end"]
    if ended != [*range(len(calls)), None]:
        yield f"ends of {ended}"
    whole = grammar.parse(ids)
    if [(call.name, call.arguments) for call in whole.calls] != [(name, json.loads(json_)) for name, json_ in calls]:
        yield f"parse: {whole}"
    # Going back leaves what was said before.
    n_back = len(ids) // 2
    matcher.rollback(n_back)
    shorter = maskwright.Matcher(grammar)
    assert shorter.accept_tokens(ids[: len(ids) - n_back]) == len(ids) - n_back
    if matcher.events() != shorter.events():
        yield f"after going back by {n_back}: {matcher.events()}, not {shorter.events()}"


def judged(family, n_texts, seed=0):
    """How many texts and calls were judged, and a line for each difference."""
    rng = random.Random(f"{family} {seed}")
    vocabulary = Vocabulary(family)
    compiler = maskwright.Compiler(vocabulary.tokenizer)
    n_calls, lines = 0, []
    for _ in range(0, n_texts, N_PER_GRAMMAR):
        request = random_request(family, rng)
        grammar = compiler.compile_tool_calls(request.document(), format=family, **request.options())
        for _ in range(N_PER_GRAMMAR):
            ids = walked(grammar, vocabulary, rng)
            text = vocabulary.spell(ids).decode()
            try:
                found = list(differences(family, request, grammar, ids, text))
            except NotTheFormatError as error:
                found = [f"the parser fails: {error}"]
            lines += [f"{family}: {line}\n    {text!r}\n    {request.tools} {request.options()}" for line in found]
            n_calls += sum(event.kind == "tool" for event in events_by_token(grammar, ids)[1])
    return n_calls, lines


@pytest.mark.parametrize("family", maskwright.tool_formats())
def test_events_put_together_to_what_a_parser_reads(family):
    n_calls, lines = judged(family, N_TEXTS)
    assert not lines, "\n".join([f"{len(lines)} of {N_TEXTS}", *lines[:5]])
    assert n_calls >= N_TEXTS / 4


def main():
    for family in sys.argv[1:] or maskwright.tool_formats():
        n_calls, lines = judged(family, N_TEXTS)
        print(family, f"{n_calls} calls, {len(lines)} differences", *lines[:4], sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
