"""Random walks under hostile grammars with masks in a bounded amount of work, and a line for each grammar.

usage: hostile.py TOKENIZER [N_RANDOM [SEED [WORK]]]

Each grammar is walked with and without a limit on tokens: random tokens of the masks, until the text ends. Times are of the processor, of
this thread. Fails if a mask takes more than MAX_MS, is empty, or has a token that is then refused, or if a walk under a limit does not end
in time with a text of the grammar. Grammars that are refused are listed and not walked.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections.abc import Callable
from typing import Any

import maskwright
import numpy as np

MAX_MS = 50.0
N_STEPS = 60

Compile = Callable[[Any], Any]


def schema(value: Any, **options: Any) -> Compile:
    return lambda compiler: compiler.compile_json_schema(value, **options)


def regex(pattern: str) -> Compile:
    return lambda compiler: compiler.compile_regex(pattern)


def gbnf(source: str) -> Compile:
    return lambda compiler: compiler.compile_gbnf(source)


def lark(source: str, **options: Any) -> Compile:
    return lambda compiler: compiler.compile_lark(source, **options)


def builtin(name: str, **options: Any) -> Compile:
    return lambda compiler: compiler.compile_builtin(name, **options)


def strings(*patterns: str, **more: Any) -> dict[str, Any]:
    return {"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns], **more}


def known() -> dict[str, tuple[Compile, list[int]]]:
    """What strangers found, each with limits on tokens beside none."""
    letters = "abcdefghijkl"
    by_pattern = {f"^{letter}": {"type": "number", "multipleOf": 0.37 + n} for n, letter in enumerate(letters)}
    keys = {f"key_{n}": {"type": "string"} for n in range(24)}
    cases: dict[str, tuple[Compile, list[int]]] = {
        f"counts after a choice, {n}": (regex(f"(a|b)*a(a|b){{{n}}}(c.*d){{30}}x"), [120, 500]) for n in (22, 23, 24)
    }
    cases |= {
        "three patterns": (schema(strings("a.{30}b", "c.{25}d", "[a-z]x.{20}y")), [60, 200]),
        "three patterns and a length": (schema(strings("a.*b.*c", "d.{9}e", "f.*g", minLength=200)), [120, 300]),
        "minLength 1500": (schema({"type": "string", "minLength": 1500}), [64, 500]),
        "pattern properties": (schema({"type": "object", "patternProperties": by_pattern, "minProperties": 3}), [100]),
        "minProperties": (schema({"minProperties": 5}), [60, 100]),
        "minProperties after a key": (
            schema({"properties": {"d": {"type": "object"}, "f": {"minProperties": 1}}, "required": ["d", "f"]}),
            [40, 60],
        ),
        "unique items": (schema({"type": "array", "minItems": 12, "uniqueItems": True}), [40, 80]),
        "search that counts": (regex("(?s).*a.{40}b.*"), [60]),
        "sixteen characters": (regex(".{16}"), [5, 20]),
        "searches one after the other": (regex("X.{0,200} Safari.{0,200} Y.{0,100}Z"), [20, 60]),
        "a long repetition": (gbnf('root ::= "a"{1,100000} "b"'), [40]),
        "a choice of many": (regex("|".join(f"{n:05}{'x' * 40}{n % 7}" for n in range(5_000))), [60]),
        "an enum of many": (schema({"enum": [f"value {n * 7919}" for n in range(20_000)]}), [30]),
        "many properties": (schema({"properties": {f"p{n}": {} for n in range(2_000)}, "minProperties": 3}), [60]),
        "many properties, few tokens": (
            schema({"type": "object", "properties": {f"p{n}": {} for n in range(2_000)}, "minProperties": 2}),
            [20, 60],
        ),
        "many optional parts": (
            lark("start: " + " ".join(f'("p{n}=" NUMBER ",")?' for n in range(1_000)) + ' NUMBER ";"\nNUMBER: /[0-9]+/'),
            [10, 40],
        ),
        "any order": (schema({"properties": keys, "required": list(keys)}, property_order="any"), [300, 400]),
        "ambiguous": (gbnf('root ::= s\ns ::= "a" | s s | s s s'), [30]),
        "words that swallow words": (lark('start: A A B\nA: "x"\nB: "xx"'), [20]),
        "no recursion": (
            schema({"not": {"properties": {"z": {"$ref": "#"}}, "required": ["z"]}, "minProperties": 2}),
            [60],
        ),
        "Python": (builtin("python"), [60, 150]),
        "C++": (builtin("cpp"), [60]),
    }
    return cases


def random_pattern(choice: random.Random, depth: int = 3) -> str:
    kind = choice.randrange(9)
    if depth == 0 or kind == 0:
        return choice.choice(["a", "b", ".", "[a-f]", "\\d", "\\w", "x", "ab", "[^q]", "é"])
    part = random_pattern(choice, depth - 1)
    match kind:
        case 1 | 2:
            return part + random_pattern(choice, depth - 1)
        case 3:
            return f"({part}|{random_pattern(choice, depth - 1)})"
        case 4:
            return f"({part})*"
        case 5 | 6:
            least = choice.choice([0, 1, 5, 20, 100])
            return f"({part}){{{least},{least + choice.choice([0, 3, 30, 300])}}}"
        case 7:
            return f".*{part}"
        case _:
            return f"({part})*{part}({random_pattern(choice, depth - 1)}){{{choice.randrange(2, 25)}}}"


def random_schema(choice: random.Random, depth: int = 2) -> dict[str, Any]:
    def inner() -> dict[str, Any]:
        return random_schema(choice, depth - 1) if depth else {}

    match choice.randrange(9):
        case 0:
            return strings(*(random_pattern(choice, 2) for _ in range(choice.randrange(1, 4))))
        case 1:
            return {"type": "string", "minLength": choice.choice([3, 50, 900]), "pattern": random_pattern(choice, 2)}
        case 2:
            return {"type": "array", "items": inner(), "minItems": choice.choice([0, 3, 20]), "uniqueItems": True}
        case 3:
            patterns = {random_pattern(choice, 1): inner() for _ in range(choice.randrange(1, 5))}
            return {"type": "object", "patternProperties": patterns, "minProperties": choice.choice([0, 1, 4])}
        case 4:
            names = {f"{choice.choice('abc')}{n}": inner() for n in range(choice.choice([2, 9, 30]))}
            required = [name for name in names if choice.random() < 0.5]
            return {"type": "object", "properties": names, "required": required}
        case 5:
            return {"anyOf": [inner() for _ in range(3)]}
        case 6:
            return {"type": "number", "multipleOf": choice.choice([7, 0.37, 1001]), "minimum": choice.randrange(9999)}
        case 7:
            return {"not": {"type": "object", "properties": {"a": inner()}}, "minProperties": choice.randrange(5)}
        case _:
            return {"type": "object", "propertyNames": strings(random_pattern(choice, 2)), "minProperties": 2}


def drawn(n: int, seed: int) -> dict[str, tuple[Compile, list[int]]]:
    cases = {}
    for at in range(n):
        choice = random.Random(seed * 1_000_003 + at)
        if at % 2:
            pattern = random_pattern(choice)
            cases[f"random {at}: {pattern}"] = (regex(pattern), [80])
        else:
            value = random_schema(choice)
            order = choice.choice(["schema", "any"])
            cases[f"random {at}: {json.dumps(value)}"] = (schema(value, property_order=order), [80])
    return cases


class Walk:
    """One walk, and the longest that a call took, in milliseconds."""

    def __init__(self, matcher: Any, n_vocab: int, seed: int) -> None:
        self.matcher, self.choice = matcher, random.Random(seed)
        self.mask = maskwright.allocate_token_bitmask(1, n_vocab)
        self.n_vocab, self.longest, self.n_masks, self.n_bound = n_vocab, 0.0, 0, 0
        self.longest_accept = 0.0

    def tokens(self) -> Any:
        before = time.thread_time()
        self.matcher.fill_next_token_bitmask(self.mask)
        self.longest = max(self.longest, (time.thread_time() - before) * 1e3)
        self.n_masks += 1
        self.n_bound += self.matcher.mask_status == "bound"
        bits = np.unpackbits(np.asarray(self.mask)[0].view(np.uint8), bitorder="little")
        return np.flatnonzero(bits[: self.n_vocab])

    def run(self, limit: int | None) -> str:
        """What went wrong, if anything did."""
        for _ in range(limit or N_STEPS):
            if self.matcher.is_terminated():
                return ""
            tokens = self.tokens()
            if not len(tokens):
                return "an empty mask"
            token = int(tokens[self.choice.randrange(len(tokens))])
            before = time.thread_time()
            is_accepted = self.matcher.accept_token(token)
            self.longest_accept = max(self.longest_accept, (time.thread_time() - before) * 1e3)
            if not is_accepted:
                return f"token {token} of a mask is refused"
        return "" if limit is None or self.matcher.is_terminated() else "the text is not complete in time"


def main() -> None:
    tokenizer = maskwright.Tokenizer.from_file(sys.argv[1])
    n_random, seed, work = (int(given) for given in [*sys.argv[2:], *["200", "1", "400000"][len(sys.argv) - 2 :]])
    n_wrong = 0
    for name, (compile_one, limits) in (known() | drawn(n_random, seed)).items():
        compiler = maskwright.Compiler(tokenizer, {"mask_work": work} if work else {})
        try:
            grammar = compile_one(compiler)
        except ValueError as error:
            print(f"{'refused':9} {'':48} {name[:60]}: {str(error)[:80]}")
            continue
        for limit in [None, *limits]:
            before = time.thread_time()
            try:
                matcher = maskwright.Matcher(grammar, max_tokens=limit)
            except (ValueError, maskwright.LimitError) as error:
                print(f"{'no text':9} {str(error)[:48]:48} {name[:60]}, {limit}")
                continue
            made = (time.thread_time() - before) * 1e3
            walk = Walk(matcher, tokenizer.vocab_size, seed)
            try:
                wrong = walk.run(limit)
            except maskwright.LimitError as error:
                wrong = f"LimitError: {error}"
            if walk.longest > MAX_MS and not wrong:
                wrong = "a mask took too long"
            n_wrong += bool(wrong)
            print(
                f"{'WRONG' if wrong else 'right':9} masks {walk.longest:8.1f} ms, accept {walk.longest_accept:7.1f} ms, "
                f"start {made:7.1f} ms, {walk.n_bound}/{walk.n_masks} bound  {name[:70]}, {limit} {wrong}",
                flush=True,
            )
    print(f"{n_wrong} wrong")
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
