"""What texts say while they are written, beside parsers that were written from the formats' descriptions.

Each text is a random walk of a grammar of tool calls, as in `test_tool_call_walks.py`. Its events must put together to what the
parser reads in the whole text, and only be added to while the text grows. Cut into the tokens of two models it must say the same; those
vocabularies are in `MASKWRIGHT_SHARED`. `MASKWRIGHT_EVENT_WALKS` is the number of texts per format. `python test_events.py
FORMAT…` prints differences of some formats, without pytest.
"""

import functools
import json
import os
import random
import re
import sys

import maskwright
import pytest
from conftest import SHARED
from test_tool_call_walks import Vocabulary, random_request, walked
from tool_parsers import FAMILIES, NotTheFormatError, parse
from tool_parsers.values import type_of

N_TEXTS = int(os.environ.get("MASKWRIGHT_EVENT_WALKS", "500"))
#: Texts of one grammar.
N_PER_GRAMMAR = 5
#: Vocabularies of models, which cut the texts as well.
MODELS = ("llama3_1", "gpt4o")


def same(left, right):
    """Whether two values are equal: `True` is not 1."""
    if isinstance(left, dict) and isinstance(right, dict):
        return list(left) == list(right) and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type_of(left) == type_of(right) and left == right


def events_by_token(grammar, ids):
    """The events of a text, asked for after each token: those of the tokens before must stay."""
    matcher = maskwright.Matcher(grammar)
    events = matcher.events()
    for id in ids:
        assert matcher.accept_token(id)
        events += matcher.events(since=len(events))
    assert matcher.events() == events, f"an event has changed in {matcher.text!r}"
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


def without_marks(family, text):
    """A text without calls. In Llama 4's it stands between marks or not, which may be text themselves."""
    if family != "llama_4":
        return text
    # Without one mark, what stands around it may be another.
    while (shorter := re.sub(r"<\|python_(start|end)\|>", "", text or "")) != text:
        text = shorter
    return text


def differences(family, request, grammar, ids, text, matcher, events):
    """What the events of a text say otherwise than the parser. `matcher` is after the text."""
    said, thought, calls, raw = put_together(events)
    wanted = parse(family, text, request.schemas(), request.reasoning)
    # White space beside a mark may be a part of it.
    if not calls:
        said, wanted = without_marks(family, said), wanted._replace(text=without_marks(family, wanted.text))
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


@functools.cache
def tokens_of(name):
    """The texts of a model's tokens; None without the file."""
    path = SHARED / "tokenizers" / name / "tokenizer.json"
    if not path.exists():
        return None
    tokenizer = maskwright.Tokenizer.from_file(path)
    return [tokenizer.decode([id]) for id in range(tokenizer.vocab_size)]


def compilers_of_models(family):
    """Compilers for models' vocabularies with the marks of a family as tokens, which match as text too, and the end of the text."""
    marks = [mark.encode() for mark in FAMILIES[family].marks]
    vocabularies = [[*tokens, *marks, b"<eos>"] for tokens in map(tokens_of, MODELS) if tokens]
    tokenizers = [maskwright.Tokenizer.from_tokens(tokens, [len(tokens) - 1]) for tokens in vocabularies]
    return [(tokenizer, maskwright.Compiler(tokenizer)) for tokenizer in tokenizers]


def judged(family, n_texts, seed=0):
    """How many calls were judged, and a line for each difference."""
    rng = random.Random(f"{family} {seed}")
    vocabulary = Vocabulary(family)
    compiler = maskwright.Compiler(vocabulary.tokenizer)
    models = compilers_of_models(family)
    n_calls, lines = 0, []
    for _ in range(0, n_texts, N_PER_GRAMMAR):
        request = random_request(family, rng)
        document, options = request.document(), request.options()
        grammar = compiler.compile_tool_calls(document, format=family, **options)
        others = [(tokenizer, other.compile_tool_calls(document, format=family, **options)) for tokenizer, other in models]
        for _ in range(N_PER_GRAMMAR):
            ids = walked(grammar, vocabulary, rng)
            text = vocabulary.spell(ids).decode()
            matcher, events = events_by_token(grammar, ids)
            said = put_together(events)
            try:
                found = list(differences(family, request, grammar, ids, text, matcher, events))
            except NotTheFormatError as error:
                found = [f"the parser fails: {error}"]
            for tokenizer, other in others:
                told = put_together(events_by_token(other, [*tokenizer.encode(text), *tokenizer.eos_token_ids])[1])
                if (without_marks(family, told[0]), *told[1:]) != (without_marks(family, said[0]), *said[1:]):
                    found.append(f"{said}, and in other tokens {told}")
            lines += [f"{family}: {line}\n    {text!r}\n    {request.tools} {request.options()}" for line in found]
            n_calls += len(said[2])
    return n_calls, lines


@pytest.mark.parametrize("family", maskwright.tool_formats())
def test_events_put_together_to_what_a_parser_reads(family):
    n_calls, lines = judged(family, N_TEXTS)
    assert not lines, "\n".join([f"{len(lines)} of {N_TEXTS}", *lines[:5]])
    assert n_calls >= N_TEXTS / 4


def test_a_token_that_ends_the_text_ends_the_call():
    """As in gpt-oss, whose marks `<|call|>` and `<|return|>` are tokens that end texts."""
    marks = [b"<|call|>", b"<|return|>", b"<|channel|>", b"<|message|>", b"<|end|>", b"<|start|>"]
    tokens = [bytes([byte]) for byte in range(256)] + marks
    call, answer, channel, message = range(256, 260)
    compiler = maskwright.Compiler(maskwright.Tokenizer.from_tokens(tokens, [call, answer], list(range(256, 262))))
    grammar = compiler.compile_tool_calls([{"name": "now", "parameters": {"type": "object"}}], format="gpt_oss")
    ids = [channel, *b"commentary to=functions.now", message, *b'{"a": 1}', call]
    assert [event.kind for event in events_by_token(grammar, ids)[1]][-2:] == ["end", "end"]
    assert grammar.parse(ids).calls[0].arguments == {"a": 1}
    assert grammar.parse([channel, *b"final", message, *b"Hello", answer]).text == "Hello"


def main():
    for family in sys.argv[1:] or maskwright.tool_formats():
        n_calls, lines = judged(family, N_TEXTS)
        print(family, f"{n_calls} calls, {len(lines)} differences", *lines[:4], sep="\n  ", flush=True)


if __name__ == "__main__":
    main()
