"""`uniqueItems` and distinct keys in the schemas of structural tags: what is enforced, and that nothing else is refused.

`ends_of` implements the definition: a format matches a part of a text if some reading of it does, and the items of an array with
`uniqueItems` all differ. A session may accept more only if the report says that something is not enforced, and never less.
"""

import json
import random

import maskwright
import pytest
from maskwright import Compiler, GrammarError, Matcher, Tokenizer

ALPHABET = "[]12,a;"
TOKENS = [character.encode() for character in ALPHABET] + [b"[1", b"1,", b",1", b"];", b"a[", b"1]", b"</s>"]


@pytest.fixture(scope="module")
def compiler() -> Compiler:
    return Compiler(Tokenizer.from_tokens(TOKENS, [len(TOKENS) - 1]))


def ends_of(format: dict, text: str, start: int, needles: tuple[str, ...] = ()) -> set[int]:
    """The possible ends of parts of a text from `start` on that the format matches."""
    kind = format["type"]
    if kind == "const_string":
        return {start + len(format["value"])} if text.startswith(format["value"], start) else set()
    if kind == "json_schema":
        return _arrays(text, start)
    if kind == "any_text":
        needles = (*needles, *format.get("excludes", ()))
        return {end for end in range(start, len(text) + 1) if not any(needle in text[start:end] for needle in needles)}
    if kind == "or":
        return set().union(*(ends_of(part, text, start, needles) for part in format["elements"]))
    if kind == "sequence":
        ends = {start}
        for part in format["elements"]:
            ends = set().union(*(ends_of(part, text, end, needles) for end in ends))
        return ends
    if kind in ("star", "optional"):
        found, new = {start}, {start}
        while new:
            new = set().union(*(ends_of(format["content"], text, end, needles) for end in new)) - found
            found |= new
            if kind == "optional":
                break
        return found
    if kind == "tag":
        return _tag(format, text, start, format["begin"])
    if kind == "tags_with_separator":
        one = lambda at: set().union(*(_tag(tag, text, at, tag["begin"]) for tag in format["tags"]))  # noqa: E731
        found = new = one(start)
        while new:
            new = {end for at in new if text.startswith(format["separator"], at) for end in one(at + len(format["separator"]))} - found
            found = found | new
        return found | {start}
    assert kind == "triggered_tags"
    return _triggered(format, text, start, needles)


def _arrays(text: str, start: int) -> set[int]:
    decoder = json.JSONDecoder()
    try:
        value, end = decoder.raw_decode(text, start)
    except (ValueError, IndexError):
        return set()
    is_array = isinstance(value, list) and all(isinstance(item, int) for item in value)
    return {end} if is_array and len(set(value)) == len(value) else set()


def _tag(tag: dict, text: str, start: int, begin: str) -> set[int]:
    if not text.startswith(begin, start):
        return set()
    contents = ends_of(tag["content"], text, start + len(begin), (tag["end"],) if tag["end"] else ())
    return {end + len(tag["end"]) for end in contents if text.startswith(tag["end"], end)}


def _triggered(format: dict, text: str, start: int, needles: tuple[str, ...]) -> set[int]:
    found, seen, new = set(), {start}, [start]
    while new:
        at = new.pop()
        for end in range(at, len(text) + 1):
            free = text[at:end]
            if any(needle in free for needle in needles):
                break
            met = [trigger for trigger in format["triggers"] if trigger in free]
            if not met:
                found.add(end)
                continue
            longest = max(met, key=len)
            for tag in format["tags"]:
                if tag["begin"].startswith(longest):
                    calls = _tag(tag, text, end - len(longest), tag["begin"])
                    new += calls - seen
                    seen |= calls
            break
    return found


def make(random: random.Random, depth: int = 0) -> dict:
    """A format."""
    leaves = ["const_string", "json_schema", "json_schema", "any_text"]
    inner = ["or", "sequence", "sequence", "star", "optional", "tag", "tag", "tags_with_separator", "triggered_tags", "marked"]
    kind = random.choice(leaves if depth > 2 else leaves + inner if depth else inner)
    literal = lambda: "".join(random.choice(ALPHABET) for _ in range(random.choice([1, 1, 2])))  # noqa: E731
    tag = lambda: {  # noqa: E731
        "type": "tag",
        "begin": literal(),
        "content": make(random, max(depth + 1, 2)),
        "end": literal() if random.random() < 0.9 else "",
    }
    if kind == "const_string":
        return {"type": kind, "value": literal()}
    if kind == "json_schema":
        return {"type": kind, "json_schema": {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}}
    if kind == "any_text":
        return {"type": kind, "excludes": [literal()]} if random.random() < 0.3 else {"type": kind}
    if kind == "marked":
        # Free text that excludes how what follows begins, or what stands in its place.
        mark = literal()
        marked = [tag() | {"begin": mark + random.choice(["", literal()])} for _ in range(random.choice([1, 2]))]
        free = {"type": "any_text", "excludes": [mark]}
        rest = {"type": "tags_with_separator", "tags": marked, "separator": literal()}
        rest = random.choice([rest, marked[0], {"type": "optional", "content": marked[0]}])
        return {"type": random.choice(["sequence", "or"]), "elements": [free, rest]}
    if kind in ("or", "sequence"):
        return {"type": kind, "elements": [make(random, depth + 1) for _ in range(random.choice([1, 2, 2, 3]))]}
    if kind in ("star", "optional"):
        return {"type": kind, "content": make(random, depth + 1)}
    if kind == "tag":
        return tag()
    tags = [tag() for _ in range(random.choice([1, 2]))]
    if kind == "tags_with_separator":
        return {"type": kind, "tags": tags, "separator": literal()}
    return {"type": kind, "triggers": sorted({tag["begin"][0] for tag in tags}), "tags": tags}


def written(random: random.Random, format: dict) -> str:
    """A text that the format may match; items need not differ."""
    kind = format["type"]
    if kind == "const_string":
        return format["value"]
    if kind == "json_schema":
        return "[" + ",".join(random.choice("12") for _ in range(random.choice([0, 1, 2, 2]))) + "]"
    if kind == "any_text":
        return "".join(random.choice(ALPHABET) for _ in range(random.choice([0, 1, 3])))
    if kind == "or":
        return written(random, random.choice(format["elements"]))
    if kind == "sequence":
        return "".join(written(random, part) for part in format["elements"])
    if kind in ("star", "optional"):
        return "".join(written(random, format["content"]) for _ in range(random.choice([0, 1, 2])))
    if kind == "tag":
        return format["begin"] + written(random, format["content"]) + format["end"]
    tags = [written(random, random.choice(format["tags"])) for _ in range(random.choice([0, 1, 2]))]
    return format["separator"].join(tags) if kind == "tags_with_separator" else random.choice(["", "2"]).join(["", *tags])


def test_sessions_refuse_nothing_else_and_enforce_what_they_say(compiler: Compiler) -> None:
    chance = random.Random(43)
    n_enforced = n_reported = n_repeats = n_tags = 0
    while n_tags < 400:
        format = make(chance)
        try:
            grammar = compiler.compile_structural_tag({"format": format}, strict=False, whitespace="compact")
        except GrammarError:
            continue
        n_tags += 1
        is_enforced = all(entry.status != "not enforced" for entry in grammar.report)
        has_schema = any(entry.keyword == "uniqueItems" for entry in grammar.report)
        n_enforced += is_enforced and has_schema
        n_reported += not is_enforced
        for _ in range(12):
            text = written(chance, format)
            if chance.random() < 0.2 and text:
                at = chance.randrange(len(text))
                text = text[:at] + chance.choice(ALPHABET) + text[at + 1 :]
            expected = len(text) in ends_of(format, text, 0)
            matcher = Matcher(grammar)
            is_read = matcher.accept_bytes(text) and matcher.is_accepting()
            assert is_read or not expected, (format, text)
            assert not is_read or expected or not is_enforced, (format, text)
            n_repeats += is_enforced and not is_read
    assert n_enforced >= 60 and n_reported >= 60 and n_repeats >= 60, (n_enforced, n_reported, n_repeats)


CALL = {"type": "array", "items": {"type": "integer"}, "uniqueItems": True}


def allowed(matcher: Matcher) -> list[int]:
    mask = maskwright.allocate_token_bitmask(1, len(TOKENS))
    matcher.fill_next_token_bitmask(mask)
    bits = int.from_bytes(mask.tobytes(), "little")
    ids = [id for id in range(len(TOKENS)) if bits >> id & 1]
    assert ids == [id for id in range(len(TOKENS)) if matcher.validate_tokens([id]) == 1]
    return ids


@pytest.mark.parametrize("limit", [None, 12, 20, 40])
def test_masks_of_calls_agree_with_sessions(compiler: Compiler, limit: int | None) -> None:
    """Walks through calls with and without a limit on tokens; every text is completed by `finish`."""
    tag = {"type": "tag", "begin": "a", "content": {"type": "json_schema", "json_schema": CALL}, "end": ";"}
    format = {"type": "triggered_tags", "triggers": ["a"], "tags": [tag]}
    grammar = compiler.compile_structural_tag({"format": format}, whitespace="compact")
    chance, n_arrays = random.Random(7), 0
    for _ in range(12):
        matcher = Matcher(grammar, max_tokens=limit)
        for _ in range(14):
            ids = [id for id in allowed(matcher) if id < len(TOKENS) - 1]
            if not ids:
                break
            matcher.accept_token(chance.choice(ids))
        rest = matcher.finish()
        assert matcher.accept_tokens(rest) == len(rest) and matcher.is_terminated()
        text = matcher.text.decode()
        assert len(text) in ends_of(format, text, 0), text
        n_arrays += text.count("a")
    assert n_arrays >= 6, n_arrays


def test_strict_tags_with_differing_items_compile(compiler: Compiler) -> None:
    tag = {"type": "tag", "begin": "a", "content": {"type": "json_schema", "json_schema": CALL}, "end": ";"}
    grammar = compiler.compile_structural_tag({"format": {"type": "tags_with_separator", "tags": [tag], "separator": ","}})
    [entry] = [entry for entry in grammar.report if entry.keyword == "uniqueItems"]
    assert entry.status == "enforced by the session"
    assert Matcher(grammar).accept_bytes("a[1,2];,a[1") and not Matcher(grammar).accept_bytes("a[1,1]")
    with pytest.raises(GrammarError, match="no other text"):
        either = {"type": "or", "elements": [{"type": "any_text"}, {"type": "json_schema", "json_schema": CALL}]}
        compiler.compile_structural_tag({"format": either})
