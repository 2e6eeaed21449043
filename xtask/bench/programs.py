"""Replays programs under Lark grammars through each engine, and prints a table in Markdown.

usage: programs.py DATA TOKENIZERS LANGUAGES PEERS LEXER EVERY (lists are separated by commas)

Each engine has a process of its own, one thread, for each tokenizer and language: a fresh compiler, and all programs
read twice, cold and warm. All engines get the same tokens, those of our tokenizer. Clocks stand around the engine's
calls only. The first mask is timed with the start of its session, and counts among the cold ones. Means are divided
by ours over the programs that both engines judge alike, so that reading on or giving up wrongly wins nothing. Memory
is what is resident in the end beyond what was with the engine loaded. Verdicts are compared with those of Lark's basic
lexer; where one of ours differs it is named, and if it is not known to differ, the program fails.
"""

import ctypes
import json
import math
import multiprocessing
import operator
import os
import sys
from array import array
from concurrent.futures import ProcessPoolExecutor
from itertools import chain, compress
from pathlib import Path

import maskwright

from engines import ENGINES, replay, timed

ROOT = Path(__file__).resolve().parents[2]

# Programs that Lark's LALR parser refuses because it has resolved a conflict in silence; its Earley parser accepts.
LALR_ERRS = {"full/Go_104.go", "full/Java_22.java", "solution/Java_22.java"}

COLUMNS = [
    *("language", "tokenizer", "engine", "accepted", "refused", "as Lark", "compile, ms", "first mask, ms", "masks"),
    *(f"{which}: {figure}" for which in ("cold", "warm") for figure in ("mean, us", "p50", "p99", "max", "/ ours")),
    *("commit: mean, us", "memory, MiB"),
]


def main():
    data, tokenizers, languages, peers, lexer, every = sys.argv[1:]
    data = Path(data)
    known = LALR_ERRS | (only_contextual() if lexer == "contextual" else set())
    rows, differing, failures = [], [], []
    for tokenizer_file in tokenizers.split(","):
        tokenizer = maskwright.Tokenizer.from_file(tokenizer_file)
        for language in languages.split(","):
            names, texts, expected = zip(*programs(data, language)[:: int(every)])
            texts = [tokenizer.encode(text) for text in texts]
            indentation = "python" if language == "python" else None
            grammar = {"text": grammar_text(data, language), "lexer": lexer, "indentation": indentation}
            place = [language, Path(tokenizer_file).parent.name]
            ours = in_own_process("maskwright", tokenizer_file, grammar, texts)
            rows.append([*place, "maskwright", *cells(ours, ours, expected)])
            if "refusal" in ours:
                failures.append(f"the grammar of {language} is refused ({place[1]})")
            for name, verdict, right in zip(names, ours.get("verdicts", ()), expected):
                if verdict != right:
                    differing.append(f"{name} is {'accepted' if verdict else 'refused'} ({place[1]})")
                    failures += [differing[-1]] * (name not in known)
            for peer in filter(None, peers.split(",")):
                figures = in_own_process(peer, tokenizer_file, grammar, texts)
                rows.append([*place, peer, *cells(figures, ours, expected)])
    for row in [COLUMNS, ["---"] * 3 + ["---:"] * (len(COLUMNS) - 3), *rows]:
        print("|", " | ".join(row), "|")
    print("\nOther verdicts than Lark's basic lexer:", "; ".join(differing) or "none")
    if failures:
        sys.exit("What should not be: " + "; ".join(failures))


def programs(data, language):
    """The name of each program, its text, and whether it is in the language."""
    if language == "sql":
        lines = (data / "sql.jsonl").read_text(encoding="utf-8").splitlines()
        return [(f"line {n}", json.loads(line)["query"], True) for n, line in enumerate(lines, 1)]
    folder, end = data / "programs", b"\n" if language == "python" else b""
    rows = (line.split("\t") for line in (folder / "syncode_lark_verdicts.tsv").read_text().splitlines())
    return [
        (f"{kind}/{file}", (folder / language / kind / file).read_bytes() + end, verdict == "accept")
        for which, kind, file, verdict in rows
        if which == language
    ]


def grammar_text(data, language):
    # The queries have no verdicts: all are in the language of our own grammar.
    folder = ROOT / "crates/lark/grammars" if language == "sql" else data / "grammars"
    return (folder / f"{language}.lark").read_text(encoding="utf-8")


def only_contextual():
    """The names of the programs that only the contextual lexer accepts."""
    lines = (ROOT / "testdata/lark/contextual.tsv").read_text(encoding="utf-8").splitlines()
    return {line.split("\t")[1] for line in lines if not line.startswith("#")}


def in_own_process(*arguments):
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(measure, *arguments).result()


def measure(engine_name, tokenizer_file, grammar, texts):
    """The figures of one engine for one grammar and texts in tokens, or its refusal of the grammar."""
    engine = ENGINES[engine_name](tokenizer_file)
    before = resident()
    try:
        compile_us = timed(lambda: engine.compile_lark(**grammar))
    except Exception as error:  # Whatever an engine raises is its refusal.
        return {"refusal": str(error).splitlines()[0]}
    first_us = timed(lambda: (engine.start(), engine.fill()))
    cold, warm = ([packed(*replay(engine, text)) for text in texts] for _ in range(2))
    memory = resident() - before
    verdicts, cold, commits = zip(*cold)
    again, warm, _ = zip(*warm)
    assert verdicts == again, "read again, programs are judged otherwise"
    cold[0].append(first_us)
    times = {"compile": compile_us / 1e3, "first": first_us / 1e3, "commits": commits}
    return {"verdicts": verdicts, "cold": cold, "warm": warm, "memory": memory, **times}


def packed(is_accepted, masks, commits):
    """A reading that takes little memory."""
    return is_accepted, array("d", masks), array("d", commits)


def resident():
    """The memory of this process in MiB, once what is free has been given back."""
    ctypes.CDLL(None).malloc_trim(0)
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def cells(figures, ours, expected):
    """The columns behind the engine's name."""
    if "refusal" in figures:
        return ["refused: " + figures["refusal"].replace("|", "\\|"), *[""] * (len(COLUMNS) - 4)]
    verdicts = figures["verdicts"]
    row = [str(n) for n in (verdicts.count(True), verdicts.count(False), sum(map(operator.eq, verdicts, expected)))]
    row += [f"{figures['compile']:.1f}", f"{figures['first']:.2f}", f"{sum(map(len, figures['warm'])):,}"]
    for which in ("cold", "warm"):
        times = sorted(chain.from_iterable(figures[which]))
        quantiles = (times[int(q * (len(times) - 1))] for q in (0.5, 0.99, 1))
        row += [f"{time:,.1f}" for time in (mean(figures[which]), *quantiles)]
        row.append("" if figures is ours or "refusal" in ours else f"{ratio(figures, ours, which):.1f}")
    return [*row, f"{mean(figures['commits']):.1f}", f"{figures['memory']:.0f}"]


def ratio(figures, ours, which):
    """The mean of the masks of a pass by that of ours, over the programs that both judge alike."""
    alike = list(map(operator.eq, figures["verdicts"], ours["verdicts"]))
    return mean(compress(figures[which], alike)) / mean(compress(ours[which], alike))


def mean(readings):
    times = list(chain.from_iterable(readings))
    return sum(times) / len(times) if times else math.nan


if __name__ == "__main__":
    main()
