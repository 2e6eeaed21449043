"""Paper 3, "Constrained Decoding of Diffusion LLMs with Context-Free Grammars", table 1: gaps in C++ programs.

Programs of HumanEval-X lack one, two or three regions. Two small language models and a simulated writer fill them from
left to right: without a constraint ("Van." in the paper); by the paper's loop, which gives a text up after 100 refused
tokens ("Con.-") and then has the engine complete it ("Con."); and by ours, which does not give up. As in the paper,
"syntax" means the grammar; Lark judges it. tree-sitter, g++ and the tests of the data set judge the rest.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import maskwright

import paper3_judges
from lab import models
from lab import tables as cells
from lab.generate import Sampler
from lab.log import Log
from lab.paths import ROOT, data
from lab.results import Result
from lab.statistics import quantile, summary, wilson
from paper3_author import SLIPS, Author
from paper3_fill import ANCHOR, REGION_TOKENS, REJECTIONS, REJECTIONS_OURS, Filler

PACKAGES = ("maskwright", "llama-cpp-python", "numpy", "lark", "tree-sitter", "tree-sitter-cpp")

MODELS = {"author": "author with slips", "smollm2": "SmolLM2 135M", "gemma3": "Gemma 3 270M"}
METHODS = {"Van.": "none", "Con.-": "paper, aborted counted as wrong", "Con.": "paper, completed", "ours": "ours"}
MEASURES = {"syntax": "Syntax", "passes": "Functional"}
#: Programs that each model gets, of 80; each has up to three tasks. Gemma is too slow for a sample.
N_PROGRAMS = {"author": 40, "smollm2": 9, "gemma3": 3}
N_PROGRAMS_SAMPLE = {"author": 1, "smollm2": 1, "gemma3": 0}
TEMPERATURE = 0.8

#: Table 1 of the paper, in percent: Van., Con.-, Con. of DeepSeek Coder 1.3B, the smallest of its models.
PAPER = {
    ("syntax", 1): (86.5, 91.7, 98.7),
    ("syntax", 2): (51.5, 72.9, 93.1),
    ("syntax", 3): (22.7, 47.7, 83.0),
    ("passes", 1): (46.5, 46.4, 47.2),
    ("passes", 2): (16.1, 18.4, 19.2),
    ("passes", 3): (4.9, 5.4, 6.5),
}
#: The least and the greatest figure among its five models of 1.3B to 33B.
PAPER_RANGE = {
    ("syntax", 1): ((86.5, 93.9), (91.7, 98.3), (98.7, 100.0)),
    ("syntax", 2): ((51.5, 66.3), (72.9, 86.5), (93.1, 99.0)),
    ("syntax", 3): ((22.7, 36.4), (47.7, 67.8), (83.0, 96.0)),
    ("passes", 1): ((46.5, 69.8), (46.4, 71.2), (47.2, 71.4)),
    ("passes", 2): ((16.1, 29.8), (18.4, 34.0), (19.2, 34.3)),
    ("passes", 3): ((4.9, 12.6), (5.4, 14.3), (6.5, 15.4)),
}

#: The models read the task and the program up to the gap. They are too small to use the text after it, if it is shown.
REQUEST = "Write this function in C++."


@dataclass(frozen=True)
class Task:
    """A program with gaps between its pieces."""

    name: str
    n_regions: int
    #: What the function is to do, as a comment. The models read it; it is not part of the text.
    comment: str
    pieces: tuple[bytes, ...]
    gaps: tuple[bytes, ...]
    tests: str


def run(options: Any) -> Result:
    log_settings: dict[str, Any] = {
        "temperature": TEMPERATURE,
        "seed": "the number of the task's line in the data",
        "tokens of a region": REGION_TOKENS,
        "refused tokens that end the paper's loop": REJECTIONS,
        "refused tokens at one place that end ours": REJECTIONS_OURS,
        "characters of the text after a gap that end it": ANCHOR,
        "grammar": "cpp (built-in)",
        "request": REQUEST,
        "probability of a slip": SLIPS,
    }
    numbers = N_PROGRAMS_SAMPLE if options.sample else N_PROGRAMS
    tasks = {model: _tasks(n) for model, n in numbers.items()}
    logs: dict[str, tuple[Log, Log]] = {}
    for model in MODELS:
        log = options.log(f"paper3_regions-{model}", log_settings)
        logs[model] = log, options.log(f"paper3_regions-{model}-judges", {"g++": "c++17"})
        _write(*logs[model], model, tasks[model])
    n_tasks = {MODELS[model]: len(some) for model, some in tasks.items()}
    settings = {"data": "HumanEval-X C++", "tasks": n_tasks} | log_settings
    result = Result("paper3_regions", settings)
    for model in MODELS:
        for n_regions in (1, 2, 3):
            group = [task for _, task in tasks[model] if task.n_regions == n_regions]
            if not group:
                continue
            _add_shares(result, *logs[model], model, n_regions, group)
            _add_times(result, logs[model][0], model, n_regions, group)
    return result


def grammar_text() -> str:
    """The built-in grammar of C++, which Lark reads too."""
    return (ROOT / "crates" / "lark" / "grammars" / "cpp.lark").read_text(encoding="utf-8")


def _tasks(n_programs: int) -> list[tuple[int, Task]]:
    """The tasks of the first programs, every fourth program first, with the numbers of their lines."""
    lines = data("infill/cpp.jsonl").read_text(encoding="utf-8").splitlines()
    programs: dict[str, list[tuple[int, Task]]] = {}
    for i, line in enumerate(lines):
        entry = json.loads(line)
        comment = entry["prompt"].partition("*/")[0] + "*/\n"
        pieces = tuple(piece.encode() for piece in entry["splits"])
        gaps = tuple(gap.encode() for gap in entry["removed_spans"])
        task = Task(entry["instance_id"], entry["number_spans"], comment, pieces, gaps, entry["test"])
        programs.setdefault(entry["instance_id"].rpartition("/")[0], []).append((i, task))
    names = list(programs)
    ordered = [name for start in range(4) for name in names[start::4]]
    return [task for name in ordered[:n_programs] for task in programs[name]]


def _write(log: Log, verdicts: Log, name: str, tasks: list[tuple[int, Task]]) -> None:
    """Writes and judges what the log does not have yet."""
    model: models.Model | None = None
    tokenizer: Any = None
    grammar: Any = None
    for seed, task in tasks:
        for is_constrained in (False, True):
            key = _key(name, task, is_constrained)
            if key not in log:
                if tokenizer is None:
                    model = None if name == "author" else models.Model(name, context=4096)
                    file = str(models.file("smollm2"))
                    tokenizer = maskwright.Tokenizer.from_gguf(file) if model is None else model.tokenizer
                    grammar = maskwright.Compiler(tokenizer).compile_lark(grammar_text(), lexer="basic")
                log.append(key, _filled(model, tokenizer, grammar if is_constrained else None, task, seed))
                print(f"{key}: {log.entries[key]['aborted'] or 'whole'}", flush=True)
            for text in {log.entries[key]["text"], log.entries[key]["completed"]}:
                if _digest(task, text) not in verdicts:
                    verdict = paper3_judges.judged(text.encode(), task.tests, grammar_text())
                    n_comments = paper3_judges.n_pieces_in_comments(text.encode(), task.pieces)
                    verdicts.append(_digest(task, text), verdict | {"in comments": n_comments})


def _filled(
    model: models.Model | None,
    tokenizer: maskwright.Tokenizer,
    grammar: maskwright.CompiledGrammar | None,
    task: Task,
    seed: int,
) -> dict[str, Any]:
    """Fills the gaps of a task, by a model or else by the author."""

    def prompt(written: bytes) -> list[int]:
        start = written.decode("utf-8", "replace")
        assert model is not None
        if model.name == "gemma3":
            return model.prompt(f"// {REQUEST}\n{task.comment}", start)
        return model.prompt(f"{REQUEST}\n\n{task.comment}", f"```cpp\n{start}")

    sampler = Sampler(TEMPERATURE, seed)
    if model is None:
        author = Author(tokenizer, task.pieces, task.gaps, seed)
        filling = Filler(author, tokenizer, sampler, author.prompt, grammar).fill(task.pieces)
    else:
        filling = Filler(model, tokenizer, sampler, prompt, grammar).fill(task.pieces)
    entry = asdict(filling) | {
        "text": filling.text.decode("utf-8", "replace"),
        "completed": filling.completed.decode("utf-8", "replace"),
    }
    return entry | {name: [round(time) for time in entry[name]] for name in entry if name.endswith("_us")}


def _key(model: str, task: Task, is_constrained: bool) -> str:
    return f"{model} / {task.name} / {'constrained' if is_constrained else 'free'}"


def _digest(task: Task, text: str) -> str:
    return hashlib.sha256(f"{task.name}\n{text}".encode()).hexdigest()[:24]


def _add_shares(result: Result, log: Log, verdicts: Log, model: str, n_regions: int, tasks: list[Task]) -> None:
    counts: Counter[str] = Counter()
    for task in tasks:
        free, constrained = (log.entries[_key(model, task, is_constrained)] for is_constrained in (False, True))
        texts = {"Van.": free["text"], "Con.-": constrained["completed"], "Con.": constrained["completed"]}
        for method, text in (texts | {"ours": constrained["text"]}).items():
            verdict = verdicts.entries[_digest(task, text)]
            is_text = method != "Con.-" or not constrained["aborted"]
            is_wrong = verdict["lark"] is not None
            counts[f"{method} / syntax"] += is_text and not is_wrong
            counts[f"{method} / C++"] += is_text and not paper3_judges.is_no_cpp(verdict)
            counts[f"{method} / tree-sitter"] += is_text and not verdict["tree"]
            counts[f"{method} / compiles"] += is_text and not verdict["gpp"]
            counts[f"{method} / passes"] += is_text and verdict["passes"]
            counts[f"{method} / fixed text in a comment"] += is_text and verdict["in comments"] > 0
            if method in ("Con.", "ours"):
                counts[f"{method} / outside the grammar"] += is_wrong
                is_no_cpp = paper3_judges.is_no_cpp(verdict)
                counts[f"{method} / no C++ by tree-sitter and g++"] += is_no_cpp
                if is_no_cpp:
                    result.others[f"{model} / {task.name} / {method} / no C++"] = verdict["gpp syntax"][:1]
        counts["aborted after 100 refused tokens"] += constrained["aborted"] == "rejections"
        counts["aborted without an end"] += constrained["aborted"] == "limit"
        counts["ours, the end with few tokens more"] += constrained["n_ended"] > 0
        counts["ours, the end by the engine"] += constrained["is_given"]
    start = f"{n_regions} regions / {model}"
    for method in METHODS:
        for measure in ("syntax", "C++", "tree-sitter", "compiles", "passes", "fixed text in a comment"):
            result.shares[f"{start} / {method} / {measure}"] = [counts[f"{method} / {measure}"], len(tasks)]
    for method in ("Con.", "ours"):
        for words in (f"{method} / outside the grammar", f"{method} / no C++ by tree-sitter and g++"):
            result.never[f"{start} / {words}"] = [counts[words], len(tasks)]
    for name in list(counts):
        if name.startswith(("aborted", "ours, ")):
            result.shares[f"{start} / {name}"] = [counts[name], len(tasks)]


def _add_times(result: Result, log: Log, model: str, n_regions: int, tasks: list[Task]) -> None:
    entries = [log.entries[_key(model, task, True)] for task in tasks]
    start = f"{n_regions} regions / {model}"
    for name in ("model_us", "constraint_us", "question_us"):
        times = [time for entry in entries for time in entry[name]]
        if times:
            result.times[f"{start} / {name.removesuffix('_us')}"] = summary(times)
    # The simulated writer takes no time to speak of.
    timed = [] if model == "author" else entries
    overheads = [sum(entry["constraint_us"]) / sum(entry["model_us"]) for entry in timed if entry["model_us"]]
    if overheads:
        result.ratios[f"{start} / constraint by model"] = float(f"{quantile(overheads, 0.5):.3g}")
    for name in ("n_tokens", "n_rejected", "n_open"):
        result.others[f"{start} / {name}"] = sum(entry[name] for entry in entries)


def tables(result: Result) -> dict[str, str]:
    return {"table1": _table1(result), "compiles": _judges(result), "ends": _ends(result), "times": _times(result)}


def _models(result: Result) -> dict[str, str]:
    """The models with results."""
    return {model: title for model, title in MODELS.items() if f"1 regions / {model} / ours / syntax" in result.shares}


def _table1(result: Result) -> str:
    head = ["model", "measure", "regions", *METHODS, "paper, 1.3B: Van.", "Con.-", "Con."]
    head += ["paper, all: Van.", "Con.-", "Con."]
    rows = []
    for model, title in _models(result).items():
        for measure, words in MEASURES.items():
            for n in (1, 2, 3):
                counts = [result.shares.get(f"{n} regions / {model} / {method} / {measure}") for method in METHODS]
                smallest = [f"{figure:.1f}%" for figure in PAPER[measure, n]]
                others = [f"{low:.0f} to {high:.0f}%" for low, high in PAPER_RANGE[measure, n]]
                rows.append([title, words, str(n), *map(cells.share, counts), *smallest, *others])
    return cells.table(head, rows, 3)


def _judges(result: Result) -> str:
    measures = {
        "C++": "tree-sitter or g++ finds no syntax error",
        "tree-sitter": "no error by tree-sitter",
        "compiles": "g++ compiles",
        "fixed text in a comment": "comments out fixed text",
    }
    head = ["model", "regions", "", *METHODS]
    rows = []
    for model, title in _models(result).items():
        for n in (1, 2, 3):
            for measure, words in measures.items():
                counts = [result.shares.get(f"{n} regions / {model} / {method} / {measure}") for method in METHODS]
                rows.append([title, str(n), words, *map(cells.share, counts)])
    return cells.table(head, rows, 3)


def _ends(result: Result) -> str:
    names = {
        "aborted after 100 refused tokens": "paper: 100 refused tokens",
        "aborted without an end": "paper: no end in time",
        "ours, the end with few tokens more": "ours: a gap reached 48 tokens",
        "ours, the end by the engine": "ours: the engine wrote the rest",
    }
    rows = []
    for model, title in _models(result).items():
        for n in (1, 2, 3):
            start = f"{n} regions / {model}"
            counts = [result.shares.get(f"{start} / {name}") for name in names]
            totals = [result.others.get(f"{start} / {name}", "–") for name in ("n_tokens", "n_rejected", "n_open")]
            rows.append([title, str(n), *map(cells.count, counts), *map(str, totals)])
    return cells.table(["model", "regions", *names.values(), "tokens", "refused", "undecided"], rows, 2)


def _times(result: Result) -> str:
    head = ["model", "regions", "model, ms per token", "constraint: median", "mean", "overhead"]
    head += ["a question, ms: median", "p99"]
    names = (("model", "p50"), ("constraint", "p50"), ("constraint", "mean"), ("question", "p50"), ("question", "p99"))
    rows = []
    for model, title in _models(result).items():
        for n in (1, 2, 3):
            start = f"{n} regions / {model}"
            times = [result.times.get(f"{start} / {name}", {}).get(figure) for name, figure in names]
            shown = [cells.number(None if time is None else time / 1000) for time in times]
            ratio = result.ratios.get(f"{start} / constraint by model")
            rows.append([title, str(n), *shown[:3], "–" if ratio is None else f"{100 * ratio:.0f}%", *shown[3:]])
    return cells.table(head, rows, 2)


def plot(result: Result, folder: Path) -> None:
    from lab import plots

    colours = dict(zip(METHODS, ("no constraint", "outlines-core", "xgrammar", "maskwright")))
    shown = _models(result)
    figure, axes = plots.figure(columns=len(shown))
    for ax, (model, title) in zip(axes, shown.items()):
        for i, method in enumerate(METHODS):
            counts = [result.shares[f"{n} regions / {model} / {method} / syntax"] for n in (1, 2, 3)]
            tops = [100 * k / n for k, n in counts]
            intervals = [wilson(k, n) for k, n in counts]
            low = [max(0, top - 100 * interval[0]) for top, interval in zip(tops, intervals)]
            high = [max(0, 100 * interval[1] - top) for top, interval in zip(tops, intervals)]
            places = [n + 0.2 * (i - 1.5) for n in (1, 2, 3)]
            colour = plots.COLOURS[colours[method]]
            ax.bar(places, tops, 0.18, yerr=[low, high], label=method, color=colour, ecolor="#333333")
        ax.set_title(title)
        ax.set_xticks([1, 2, 3])
        ax.set_xlabel("regions")
        ax.set_ylim(0, 105)
    axes[0].set_ylabel("texts of right syntax, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    plots.save(figure, folder / "paper3_regions-syntax.svg")
