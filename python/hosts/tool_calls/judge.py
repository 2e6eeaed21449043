"""The tool parsers of vLLM and SGLang read random texts of the grammars of tool calls.

    python judge.py [FAMILY…] [--texts 1000] [--seed 0] [--server vllm|sglang]

The texts are those of `python/tests/test_tool_call_walks.py`. A server must find the calls that the independent parser finds, or
known quirks of it (`reasons.py`) must explain the difference. Prints for each family and server how many texts were judged, how many were
read alike, how many differ for which reason, and those without a reason. Exits with 1 if there are any of these.
"""

import argparse
import sys
from collections import Counter
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import maskwright
from reasons import Case, Reading, answer, explain, same_calls
from servers import SERVERS
from test_tool_call_walks import texts
from tool_parsers import NotTheFormatError, split_reasoning

#: Differences without a reason that are shown per family and server, the shortest first.
SHOWN = 4


def judge(server, request, text, counts, unexplained):
    """Judges a text, and counts what became of it."""
    counts["texts"] += 1
    family, schemas, read = request.family, request.schemas(), SERVERS[server][1]
    try:
        reading = Reading.of(family, split_reasoning(family, text, request.reasoning)[1], schemas)
    except NotTheFormatError:
        counts["not the format"] += 1
        return
    case = Case(server, family, schemas, partial(read, family, tools=request.document()))
    found = answer(case, reading.text)
    if same_calls(case, found, reading.calls):
        counts["equal"] += 1
        return
    reason = explain(case, reading, found)
    counts[f"differ: {reason}" if reason else "unexplained"] += 1
    if reason is None:
        unexplained.append((reading, found))


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("families", nargs="*")
    arguments.add_argument("--texts", type=int, default=1000)
    arguments.add_argument("--seed", type=int, default=0)
    arguments.add_argument("--server", choices=sorted(SERVERS), action="append")
    given = arguments.parse_args()
    total = Counter()
    for family in given.families or maskwright.tool_formats():
        servers = [name for name in given.server or SERVERS if family in SERVERS[name][0]]
        made = list(texts(family, given.texts, given.seed)) if servers else []
        for server in servers:
            counts, unexplained = Counter(), []
            for request, text in made:
                judge(server, request, text, counts, unexplained)
            total += counts
            print(f"{family} [{server}]", *(f"{count} {name}" for name, count in counts.items()), sep="\n    ", flush=True)
            for reading, found in sorted(unexplained, key=lambda pair: len(pair[0].text))[:SHOWN]:
                print(f"    unexplained: {reading.text!r}\n        wanted {reading.calls}\n        found  {found}", flush=True)
    print("in all", *(f"{count} {name}" for name, count in total.items()), sep="\n    ")
    return total["unexplained"] > 0


if __name__ == "__main__":
    sys.exit(main())
