"""What other engines fall over: each case prints its times and fails if an answer is wrong.

usage: pains.py TOKENIZER

Answers are checked against plain Python: which tokens may follow a prefix (over all tokens of printable ASCII), which
texts are accepted, and which are not. Times are in microseconds, of calls from Python.
"""

import json
import re
import statistics
import sys
from time import perf_counter_ns

import maskwright

N_WARM = 200


class Bench:
    def __init__(self, tokenizer_file):
        self.tokenizer = maskwright.Tokenizer.from_file(tokenizer_file)
        self.compiler = maskwright.Compiler(self.tokenizer)
        self.mask = maskwright.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        tokens = ((token, self.tokenizer.token_bytes(token)) for token in range(self.tokenizer.vocab_size))
        self.plain = [
            (token, text.decode()) for token, text in tokens if text and all(32 <= byte < 127 for byte in text)
        ]

    def timed(self, call):
        start = perf_counter_ns()
        result = call()
        return result, (perf_counter_ns() - start) / 1000

    def fill(self, matcher):
        return self.timed(lambda: matcher.fill_next_token_bitmask(self.mask))[1]

    def warm(self, matcher):
        """The median of masks at one place, after a first one."""
        self.fill(matcher)
        return statistics.median(self.fill(matcher) for _ in range(N_WARM))

    def check_mask(self, what, is_allowed, but=None):
        """Compares the last mask with what a function says about tokens of printable ASCII; those that have the
        character `but` are left out."""
        bits = self.mask[0]
        for token, text in self.plain:
            if but is not None and but in text:
                continue
            is_set = bool(bits[token >> 5] >> (token & 31) & 1)
            assert is_set == is_allowed(text), f"{what}: token {text!r} is {'' if is_set else 'not '}allowed"

    def read(self, grammar, text):
        """Whether `text` is accepted, and the times of all masks on the way."""
        matcher = maskwright.Matcher(grammar)
        times = []
        for token in self.tokenizer.encode(text):
            times.append(self.fill(matcher))
            if not self.mask[0, token >> 5] >> (token & 31) & 1:
                return False, times
            assert matcher.accept_token(token)
        return matcher.is_accepting(), times


def show(what, **figures):
    cells = "  ".join(f"{name} {value:,.1f}" for name, value in figures.items())
    print(f"{what:34} {cells}")


def spread(times):
    times = sorted(times)
    return {"mask p50": statistics.median(times), "p99": times[int(0.99 * (len(times) - 1))], "max": times[-1]}


def long_strings(bench):
    for length in (10, 2_000, 1_000_000):
        grammar, compile_time = bench.timed(
            lambda: bench.compiler.compile_json_schema({"type": "string", "maxLength": length})
        )
        matcher = maskwright.Matcher(grammar)
        matcher.accept_bytes(b'"abc')
        first, warm = bench.fill(matcher), bench.warm(matcher)
        left = length - 3

        def is_allowed(text):
            body, _, rest = text.partition('"')
            return len(body) <= left and not rest

        bench.check_mask("maxLength", is_allowed, but="\\")
        show(f"string, maxLength {length:,}", compile=compile_time, first=first, warm=warm)


def enums(bench):
    for n in (100, 10_000, 100_000):
        words = [f"item-{index * 7919 % 1_000_003:x}-{index}" for index in range(n)]
        schema = json.dumps({"enum": words})
        grammar, compile_time = bench.timed(lambda: bench.compiler.compile_json_schema(schema))
        matcher = maskwright.Matcher(grammar)
        matcher.accept_bytes(b'"item-')
        first, warm = bench.fill(matcher), bench.warm(matcher)
        rests = {word[5:] + '"' for word in words}
        starts = {rest[:end] for rest in rests for end in range(1, len(rest) + 1)}
        bench.check_mask("enum", lambda text: text in starts)
        assert bench.read(grammar, json.dumps(words[n // 2]))[0]
        assert not bench.read(grammar, json.dumps(words[n // 2] + "x"))[0]
        show(f"enum of {n:,} strings", compile=compile_time, first=first, warm=warm)


def tools(bench):
    def tool(index):
        arguments = {f"arg_{index}_{i}": {"type": ["string", "integer", "boolean"][i % 3]} for i in range(5)}
        return {
            "type": "object",
            "properties": {
                "name": {"const": f"tool_{index}"},
                "arguments": {
                    "type": "object",
                    "properties": arguments,
                    "required": list(arguments),
                    "additionalProperties": False,
                },
            },
            "required": ["name", "arguments"],
            "additionalProperties": False,
        }

    def call(name, index):
        values = ["text", 12, True]
        arguments = {f"arg_{index}_{i}": values[i % 3] for i in range(5)}
        return json.dumps({"name": f"tool_{name}", "arguments": arguments})

    schema = json.dumps({"anyOf": [tool(index) for index in range(500)]})
    grammar, compile_time = bench.timed(lambda: bench.compiler.compile_json_schema(schema))
    is_accepted, times = bench.read(grammar, call(250, 250))
    assert is_accepted and not bench.read(grammar, call(250, 251))[0]
    show("500 tools in an anyOf", compile=compile_time, **spread(times))


def wide_object(bench):
    names = [f"property_{index}" for index in range(10_000)]
    for is_required in (False, True):
        schema = {
            "type": "object",
            "properties": {name: {"type": "integer"} for name in names},
            "required": names if is_required else [],
            "additionalProperties": False,
        }
        schema = json.dumps(schema)
        grammar, compile_time = bench.timed(lambda: bench.compiler.compile_json_schema(schema))
        chosen = names if is_required else [*names[:50], *names[5_000:5_050], names[-1]]
        is_accepted, times = bench.read(grammar, json.dumps({name: 1 for name in chosen}))
        assert is_accepted and not bench.read(grammar, json.dumps({**dict.fromkeys(chosen, 1), "other": 1}))[0]
        what = "required" if is_required else "optional"
        show(f"object of 10,000 {what}", compile=compile_time, **spread(times))


def long_array(bench):
    schema = {"type": "array", "items": {"type": "object", "properties": {"id": {"type": "integer"}}}}
    grammar = bench.compiler.compile_json_schema(schema)
    matcher = maskwright.Matcher(grammar)
    assert matcher.accept_bytes(b'[{"id": 1}')
    item = bench.tokenizer.encode(', {"id": 1}')
    times, memory = [], []
    for index in range(100_000):
        if index % 1_000 == 0:
            times.append(bench.warm(matcher))
            memory.append(grammar.memory_usage())
        assert matcher.accept_tokens(item) == len(item)
    assert matcher.accept_bytes(b"]") and matcher.is_accepting()
    figures = {"warm at 1,000": times[1], "at 99,000": times[-1], "KiB at 1,000": memory[1] / 1024}
    assert memory[-1] == memory[1], "the grammar's tables grow with the array"
    show("array of 100,000 items", **figures, **{"KiB at 99,000": memory[-1] / 1024})


def nesting(bench):
    schema = {"$ref": "#/$defs/list", "$defs": {"list": {"type": "array", "items": {"$ref": "#/$defs/list"}}}}
    grammar, compile_time = bench.timed(lambda: bench.compiler.compile_json_schema(schema))
    depth = 5_000
    is_accepted, times = bench.read(grammar, "[" * depth + "]" * depth)
    assert is_accepted and not bench.read(grammar, "[" * depth + "]" * (depth - 1))[0]
    assert not bench.read(grammar, "[" * depth + "]" * (depth + 1))[0]
    show("nesting 5,000 deep", compile=compile_time, **spread(times))


def regexes(bench):
    identifier, email = r"[^\W\d]\w*", r"[a-zA-Z0-9._%+-]+@[a-zA-Z0-9.-]+\.[a-zA-Z]{2,}"
    cases = [
        ("identifier", identifier, b"abc", re.compile(r"\w*", re.ASCII)),
        ("e-mail, name", email, b"jane", re.compile(r"[a-zA-Z0-9._%+-]*(@[a-zA-Z0-9.-]*)?", re.ASCII)),
        ("e-mail, host", email, b"jane@host", re.compile(r"[a-zA-Z0-9.-]*", re.ASCII)),
    ]
    for what, pattern, prefix, rest in cases:
        grammar, compile_time = bench.timed(lambda: bench.compiler.compile_regex(pattern))
        matcher = maskwright.Matcher(grammar)
        assert matcher.accept_bytes(prefix)
        first, warm = bench.fill(matcher), bench.warm(matcher)
        bench.check_mask(what, lambda text: rest.fullmatch(text) is not None)
        show(f"regex, {what}", compile=compile_time, first=first, warm=warm)


def main():
    bench = Bench(sys.argv[1])
    for case in (long_strings, enums, tools, regexes, nesting, long_array, wide_object):
        case(bench)


main()
