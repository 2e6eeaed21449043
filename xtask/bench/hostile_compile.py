"""Compilations of hostile schemas: seconds of the processor, memory, and verdicts beside jsonschema's. A line for each that is slow or large.

usage: hostile_compile.py [N_RANDOM [SEED]]

Fails if a compilation takes more than MAX_SECONDS or MAX_MB, or if a value is in the grammar of a schema and not valid, or valid and not in
it. The schemas meet their own negations below themselves, or multiply out, or are large.
"""

from __future__ import annotations

import itertools
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import maskwright

MAX_SECONDS = 2.0
MAX_MB = 200
N_VALUES = 30
N_ORDERS = 200
NAMES = "abz"
ITSELF: dict[str, Any] = {"$ref": "#"}


def known() -> dict[str, Any]:
    """What strangers found, and its neighbours."""
    z, both = {"properties": {"z": ITSELF}}, {"properties": {"a": ITSELF, "b": ITSELF}}
    made = {
        "not z": {"not": z, **z},
        "not z, required": {"not": {**z, "required": ["z"]}, **z, "required": ["z"]},
        "not z, an object": {"type": "object", "not": z, **z},
        "allOf": {"allOf": [{"not": z}, z]},
        "positions": {"not": {"prefixItems": [ITSELF]}, "prefixItems": [ITSELF]},
        "if and else": {"if": z, "then": False, "else": z},
        "oneOf": {"oneOf": [z, z]},
        "anyOf": {"anyOf": [{"not": z}, {"properties": {"z": {"not": ITSELF}}}]},
        "two names": {"not": both, **both},
        "one of three": {"oneOf": [{"properties": {name: ITSELF for name in pair}} for pair in itertools.combinations("abc", 2)]},
        "dependent": {"dependentSchemas": {"z": {"not": z}}, **z},
        "seven contained": {"type": "array", "allOf": [{"contains": {"const": n}} for n in range(7)]},
        "unevaluated": {"anyOf": [{"properties": {f"p{n}": {"type": "string"}}} for n in range(30)], "unevaluatedProperties": False},
        "conditions": {"allOf": [{"if": {"required": [f"k{n}"]}, "then": {"required": [f"p{n}"]}} for n in range(200)]},
        "branches that overlap": {"oneOf": [{"properties": {f"p{n}": {"type": "string"}}} for n in range(300)]},
        "the same keys": {"allOf": [{"properties": {f"p{k}": {"minLength": n} for k in range(50)}} for n in range(1_000)]},
        "objects listed": {"enum": [{"a": n, "b": {"c": [f"x{n}"]}} for n in range(30_000)]},
        "counts of members": {"maxProperties": 500, "minProperties": 250, "properties": {f"p{n}": {} for n in range(500)}},
        "a large document": {"properties": {f"p{n}": {"properties": {"a": {"minLength": n % 7}}, "required": ["a"]} for n in range(90_000)}},
        "many numbers": {"examples": list(range(1_000_000))},
    }
    references = ['{"allOf": [{"$ref": "#"}]}', '{"anyOf": [{"$ref": "#"}]}', '{"$ref": "#", "type": "object"}', '{"$ref": "#", "minProperties": 1}']
    for name, schema in list(made.items())[:11]:
        for n, reference in enumerate(references):
            made[f"{name}, {n}"] = json.loads(json.dumps(schema).replace('{"$ref": "#"}', reference))
    return made


class Random:
    """Recursive schemas with negations, choices and conditions over few names."""

    def __init__(self, seed: int) -> None:
        self.choice = random.Random(seed)
        self.n_definitions = self.choice.choice([0, 0, 2, 3])

    def schema(self) -> dict[str, Any]:
        made = self.whole(2)
        if self.n_definitions:
            made["$defs"] = {f"d{n}": self.whole(2) for n in range(self.n_definitions)}
        return made

    def reference(self) -> Any:
        at = self.choice.randrange(-1, self.n_definitions)
        return {"$ref": "#" if at < 0 else f"#/$defs/d{at}"}

    def below(self, depth: int) -> Any:
        drawn = self.choice.random()
        if depth == 0 or drawn < 0.4:
            return self.reference()
        if drawn < 0.5:
            return self.choice.choice([True, {"type": "string"}, {"type": "object"}, {"const": 1}, {"minProperties": 1}])
        return self.whole(depth - 1)

    def part(self, depth: int) -> dict[str, Any]:
        made: dict[str, Any] = {"properties": {self.choice.choice(NAMES): self.below(depth) for _ in range(self.choice.choice([1, 1, 2]))}}
        if self.choice.random() < 0.3:
            made["required"] = [self.choice.choice(NAMES)]
        if self.choice.random() < 0.2:
            made["prefixItems"] = [self.below(depth)]
        if self.choice.random() < 0.15:
            made[self.choice.choice(["items", "additionalProperties"])] = self.below(depth)
        return made

    def whole(self, depth: int) -> dict[str, Any]:
        made, less = self.part(depth), max(depth - 1, 0)
        for keyword in self.choice.sample(["not", "oneOf", "anyOf", "allOf", "if", "dependentSchemas"], self.choice.choice([1, 1, 2])):
            if keyword == "not":
                made["not"] = self.part(less)
            elif keyword == "if":
                made |= {"if": self.part(less), self.choice.choice(["then", "else"]): self.part(less)}
            elif keyword == "dependentSchemas":
                made[keyword] = {self.choice.choice(NAMES): self.part(less)}
            else:
                made[keyword] = [self.part(less) for _ in range(2)]
        return made


def value(choice: random.Random, depth: int = 3) -> Any:
    if depth == 0 or choice.random() < 0.25:
        return choice.choice([1, "x", None, True, {}, []])
    if choice.random() < 0.85:
        return {name: value(choice, depth - 1) for name in choice.sample("abzcy", choice.choice([0, 1, 1, 2]))}
    return [value(choice, depth - 1) for _ in range(choice.choice([0, 1, 2]))]


def orders(of: Any) -> Iterator[Any]:
    """A value with the keys of its objects in all orders."""
    if isinstance(of, dict):
        for names in itertools.permutations(of):
            for values in itertools.product(*(list(orders(of[name])) for name in names)):
                yield dict(zip(names, values, strict=True))
    elif isinstance(of, list):
        yield from map(list, itertools.product(*(list(orders(item)) for item in of)))
    else:
        yield of


def is_read(grammar: Any, text: str) -> bool:
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def differences(grammar: Any, schema: Any, choice: random.Random) -> list[str]:
    """Values about which the grammar, None for no value, and jsonschema do not agree."""
    validator, found = jsonschema.Draft202012Validator(schema), []
    for _ in range(N_VALUES):
        drawn = value(choice)
        texts = (json.dumps(each) for each in itertools.islice(orders(drawn), N_ORDERS))
        is_in = grammar is not None and any(is_read(grammar, text) for text in texts)
        if is_in != validator.is_valid(drawn):
            found.append(json.dumps(drawn))
    return found


def peak() -> int:
    """The most memory of this process since `forget`, in MB."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1000


def forget() -> int:
    Path("/proc/self/clear_refs").write_text("5")
    return peak()


def main() -> None:
    n_random, seed = (int(given) for given in [*sys.argv[1:], *["200", "1"][len(sys.argv) - 1 :]])
    cases = known() | {f"random {n}": Random(seed * 1_000_003 + n).schema() for n in range(n_random)}
    tokenizer = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])
    n_wrong, n_refused, longest, largest = 0, 0, 0.0, 0
    for n, (name, schema) in enumerate(cases.items()):
        compiler, text = maskwright.Compiler(tokenizer), json.dumps(schema)
        before, start, verdict = forget(), time.thread_time(), ""
        try:
            grammar = compiler.compile_json_schema(text)
        except maskwright.SchemaError as error:
            grammar, verdict = None, str(error)
        except maskwright.LimitError as error:
            grammar, verdict = None, f"limit: {error}"
        seconds, megabytes = time.thread_time() - start, peak() - before
        longest, largest = max(longest, seconds), max(largest, megabytes)
        is_decided = grammar is not None or "no value" in verdict
        n_refused += not is_decided
        wrong = [] if not is_decided or len(text) > 100_000 else differences(grammar, schema, random.Random(n))
        is_wrong = bool(wrong) or seconds > MAX_SECONDS or megabytes > MAX_MB
        n_wrong += is_wrong
        if is_wrong or seconds > MAX_SECONDS / 4 or megabytes > MAX_MB / 4:
            print(f"{'WRONG' if is_wrong else 'right'} {seconds:6.2f} s {megabytes:4} MB  {name}: {wrong or verdict[:80] or 'compiled'}", flush=True)
    print(f"{len(cases)} schemas, {n_refused} refused, at most {longest:.2f} s and {largest} MB; {n_wrong} wrong")
    sys.exit(n_wrong > 0)


if __name__ == "__main__":
    main()
