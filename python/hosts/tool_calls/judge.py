"""The tool parsers of vLLM and SGLang read random texts of the grammars of tool calls.

    python judge.py [FAMILY…] [--texts 1000] [--seed 0] [--server vllm|sglang]

The texts are those of `python/tests/test_tool_call_walks.py`. A server must find the calls that the independent parser finds, or one
of the reasons of `reasons.py` must hold for the text. Prints for each family and server how many texts were judged, how many were
read alike, how many differ for which reason, and those without a reason. Exits with 1 if there are any of these.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import maskwright
from reasons import Difference, explain
from servers import SERVERS
from test_tool_call_walks import texts
from tool_parsers import NotTheFormatError, split_reasoning
from tool_parsers.messages import parse_rest
from tool_parsers.reading import Reader

#: Differences without a reason that are shown per family and server, the shortest first.
SHOWN = 4


def same(left, right):
    """Whether two values are the same JSON; `1.0` is 1, but no boolean is a number."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return isinstance(left, bool) == isinstance(right, bool) and left == right


def same_calls(left, right):
    return len(left) == len(right) and all(a == b and same(x, y) for (a, x), (b, y) in zip(left, right, strict=True))


def ask(read, family, text, tools):
    """The calls that a server finds, and how it failed if it did."""
    try:
        return read(family, text, tools), None
    except Exception as error:  # Any failure of a foreign parser is a difference.
        return [], f"{type(error).__name__}: {error}"


def judge(server, family, request, text, counts, open_cases):
    _, read = SERVERS[server]
    counts["texts"] += 1
    try:
        rest = split_reasoning(family, text, request.reasoning)[1]
        reader = Reader(rest)
        calls = parse_rest(family, reader, request.schemas())[1]
    except NotTheFormatError:
        counts["not the format"] += 1
        return
    found, failure = ask(read, family, rest, request.document())
    if failure is None and same_calls(found, calls):
        counts["equal"] += 1
        return

    def agrees(changed):
        """Whether the server reads another text as the independent parser does."""
        try:
            wanted = parse_rest(family, Reader(changed), request.schemas())[1]
        except NotTheFormatError:
            return False
        found, failure = ask(read, family, changed, request.document())
        return failure is None and same_calls(found, wanted)

    reason = explain(Difference(server, family, rest, reader.spans, calls, found, failure, request, agrees))
    counts[reason or "unexplained"] += 1
    if reason is None:
        open_cases.append((len(rest), rest, calls, found, failure))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("families", nargs="*")
    arguments.add_argument("--texts", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--server", choices=sorted(SERVERS), action="append")
    given = arguments.parse_args()
    total = Counter()
    for family in given.families or maskwright.tool_formats():
        servers = [name for name, (parsers, _) in SERVERS.items() if family in parsers and name in (given.server or SERVERS)]
        made = list(texts(family, given.texts, given.seed)) if servers else []
        for server in servers:
            counts, open_cases = Counter(), []
            for request, text in made:
                judge(server, family, request, text, counts, open_cases)
            total += counts
            print(f"{family} [{server}]", *(f"{count} {name}" for name, count in counts.items()), sep="\n    ", flush=True)
            for _, rest, calls, found, failure in sorted(open_cases, key=lambda case: case[0])[:SHOWN]:
                print(f"    unexplained: {rest!r}\n        wanted {calls}\n        found  {failure or found}", flush=True)
    print("in all", *(f"{count} {name}" for name, count in total.items()), sep="\n    ")
    return total["unexplained"] > 0


if __name__ == "__main__":
    sys.exit(main())
