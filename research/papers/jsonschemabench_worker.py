"""The process that an engine runs in: it reads schemas with instances, and writes what the engine did.

    python jsonschemabench_worker.py ENGINE TOKENIZER

The first line it writes says that the engine is loaded. Then each line of standard input is
`{"schema", "tests": [{"valid", "data"}]}`, and its answer has `compile`, `first` and `tests` as in
`xtask/bench/maskbench.py`, or the reason as `refused` or `crashed`. Times are in microseconds. `memory` is in MiB,
beyond what the process had with the engine loaded.
"""

from __future__ import annotations

import ctypes
import gc
import json
import os
import re
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lab.paths import ROOT

sys.path.insert(0, str(ROOT / "xtask" / "bench"))

from engines import ENGINES
from maskbench import compile_schema, read_instance


def answer(engine: Any, encode: Callable[[str], list[int]], record: dict[str, Any]) -> dict[str, Any]:
    """Compiles a schema and reads its instances."""
    try:
        line: dict[str, Any] = compile_schema(engine, record["schema"])
    except Exception as error:  # Whatever a peer raises is its refusal of the schema.
        return {"refused": str(error)}
    line["tests"] = []
    for test in record["tests"]:
        # An instance in the form that Python's json module gives it, with the keys in the order of the data.
        tokens = encode(json.dumps(test["data"], ensure_ascii=False))
        try:
            line["tests"].append(read_instance(engine, tokens, test["valid"]))
        except Exception as error:
            return line | {"crashed": str(error)}
    for times in ("cold", "warm", "commits"):
        for test in line["tests"]:
            test[times] = [round(time, 1) for time in test.get(times, [])]
    return line


def main() -> None:
    name, tokenizer_file = sys.argv[1:]
    # Engines may print: only answers go to the parent.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")

    import tokenizers

    tokenizer = tokenizers.Tokenizer.from_file(tokenizer_file)
    engine = ENGINES[name](tokenizer_file)
    loaded = _forget_peak()
    print(json.dumps({"memory": 0.0, "loaded": loaded}), file=answers, flush=True)
    for line in sys.stdin:
        record = json.loads(line)
        try:
            done = answer(engine, lambda text: tokenizer.encode(text, add_special_tokens=False).ids, record)
        except BaseException as error:  # A panic in an engine's Rust code.
            done = {"crashed": str(error)}
        done["memory"] = round(_memory("VmHWM") - loaded, 1)
        print(json.dumps(done), file=answers, flush=True)
        if "crashed" in done:
            break  # The engine may be in any state: the parent starts another process.


def _forget_peak() -> float:
    """Gives memory back that loading has freed, and starts the peak anew; returns the memory that is left, in MiB."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    return _memory("VmRSS")


def _memory(field: str) -> float:
    """A field of /proc/self/status, in MiB: VmRSS is what is resident, VmHWM its peak."""
    found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


if __name__ == "__main__":
    main()
