"""Replays MaskBench through one engine in one thread, and writes a line of JSON for each schema.

usage: maskbench.py ENGINE TOKENIZER DATA OUT [EVERY]

A schema is compiled afresh, all schemas by one compiler. Then each instance is read token by token, and each valid one
once more, for masks that are warm. Clocks stand around the engine's calls only; times are in microseconds. The last
line has the memory, in MiB beyond what the process had with the engine loaded.
"""

import glob
import json
import os
import resource
import signal
import sys
from time import perf_counter_ns

import tokenizers

from engines import ENGINES, replay

SECONDS_PER_SCHEMA = 60


class OutOfTime(Exception):
    pass


def on_alarm(*_):
    raise OutOfTime


def run_schema(engine, encode, record):
    start = perf_counter_ns()
    engine.compile(record["schema"])
    compiled = perf_counter_ns()
    engine.start()
    engine.fill()
    first = perf_counter_ns()
    line = {"compile": (compiled - start) / 1000, "first": (first - start) / 1000, "tests": []}
    for test in record["tests"]:
        tokens = encode(json.dumps(test["data"], ensure_ascii=False))
        accepted, cold, commits = replay(engine, tokens)
        outcome = {"valid": test["valid"], "accepted": accepted}
        if test["valid"]:
            _, warm, _ = replay(engine, tokens)
            outcome |= {"cold": cold, "warm": warm, "commits": commits}
        line["tests"].append(outcome)
    return line


def main():
    name, tokenizer_file, data, out = sys.argv[1:5]
    every = int(sys.argv[5]) if len(sys.argv) > 5 else 1
    tokenizer = tokenizers.Tokenizer.from_file(tokenizer_file)
    engine = ENGINES[name](tokenizer_file)
    files = sorted(glob.glob(os.path.join(data, "*.jsonl"))) if os.path.isdir(data) else [data]
    records = []
    for file in files:
        with open(file, encoding="utf-8") as lines:
            records += map(json.loads, lines)
    records.sort(key=lambda record: record["id"])
    signal.signal(signal.SIGALRM, on_alarm)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with open(out, "w", encoding="utf-8") as lines:
        for record in records[::every]:
            signal.alarm(SECONDS_PER_SCHEMA)
            try:
                line = run_schema(
                    engine, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, record
                )
            except OutOfTime:
                line = {"error": f"not done in {SECONDS_PER_SCHEMA} s"}
            except Exception as error:  # Whatever a peer raises is its refusal of the schema.
                line = {"error": repr(error)[:300]}
            signal.alarm(0)
            lines.write(json.dumps({"id": record["id"]} | line) + "\n")
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        lines.write(json.dumps({"memory": memory}) + "\n")


main()
