"""Replays MaskBench through one engine in one thread, and writes a line of JSON for each schema.

usage: maskbench.py ENGINE TOKENIZER DATA OUT [EVERY]

A schema is compiled afresh, all schemas by one compiler. Then each instance is read token by token, and each valid one
once more, for masks that are warm. Times are of the engine's calls only, in microseconds. The last line has the memory,
in MiB beyond what the process had with the engine loaded.
"""

import glob
import json
import os
import resource
import signal
import sys

import tokenizers

from engines import ENGINES, replay, timed

SECONDS_PER_SCHEMA = 60


class OutOfTime(Exception):
    pass


def on_alarm(*_):
    raise OutOfTime


def run_schema(engine, encode, record):
    line = compile_schema(engine, record["schema"])
    line["tests"] = [
        read_instance(engine, encode(json.dumps(test["data"], ensure_ascii=False)), test["valid"])
        for test in record["tests"]
    ]
    return line


def compile_schema(engine, schema):
    """The time to compile, and the time until the first mask is there."""

    def first_mask():
        engine.start()
        engine.fill()

    compiled = timed(engine.compile, schema)
    return {"compile": compiled, "first": compiled + timed(first_mask)}


def read_instance(engine, tokens, is_valid):
    """Whether an instance is accepted; the times of a valid one."""
    accepted, cold, commits = replay(engine, tokens)
    outcome = {"valid": is_valid, "accepted": accepted}
    if is_valid:
        _, warm, _ = replay(engine, tokens)
        outcome |= {"cold": cold, "warm": warm, "commits": commits}
    return outcome


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


if __name__ == "__main__":
    main()
