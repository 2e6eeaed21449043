"""Paper 1: Efficient Guided Generation for Large Language Models (Willard and Louf, 2023).

The paper's examples, the validity of guided texts, the time of a mask against the length of the text, and what an index
costs; beside outlines-core, the successor of the paper's own implementation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import paper1_build
import paper1_examples
import paper1_indexes
import paper1_lengths
import paper1_texts
from lab import models
from lab.results import Result
from lab.tables import count, number, share, table
from paper1_examples import PAPERS_SETS, PAPERS_TEXTS, REQUESTS
from paper1_patterns import TASKS

PACKAGES = ("maskwright", "outlines-core", "llama-cpp-python", "numpy", "jsonschema")

TITLES = {"smollm2": "SmolLM2", "gemma3": "Gemma 3 270M", "random": "random logits", "peaked": "peaked logits"}
#: The figure in section 5 of the paper.
PAPERS_PYTHON_MB = 50


def run(options: Any) -> Result:
    n, n_tasteless, n_rounds = (2, 4, 1) if options.sample else (12, 20, 3)
    vocabularies = ("gpt2",) if options.sample else tuple(paper1_lengths.VOCABULARIES)
    settings: dict[str, Any] = {"texts": n, "texts of random logits": n_tasteless, "builds": n_rounds}
    settings["temperature"] = 1.0
    settings |= {"vocabulary of random logits": paper1_texts.VOCABULARY, "vocabularies": list(vocabularies)}
    lengths = {name: paper1_lengths.expression(name) for name in paper1_lengths.PATTERNS}
    settings |= {"patterns": {task.name: task.constraint for task in TASKS} | lengths}
    result = Result("paper1", settings)
    result.facts |= paper1_examples.sets()
    paper1_indexes.trials(result)
    paper1_indexes.programs(result)
    lengths = {key: settings[key] for key in ("vocabularies", "patterns")}
    paper1_lengths.run(result, options.log("paper1-lengths", lengths), vocabularies)
    paper1_indexes.builds(result, options.log("paper1-indexes", {"builds": n_rounds}), n_rounds)
    texts = {key: settings[key] for key in ("patterns", "temperature")}
    texts["requests"] = {task.name: task.request for task in TASKS}
    paper1_texts.run(result, options.log("paper1-texts", texts), n, n_tasteless)
    requests = {"requests": REQUESTS, "max_tokens": paper1_examples.MAX_TOKENS}
    result.others["section 3.1"] = paper1_examples.texts(options.log("paper1-examples", requests))
    return result


def plot(result: Result, folder: Path) -> None:
    paper1_lengths.plot(result, folder)


def tables(result: Result) -> dict[str, str]:
    return {
        "sets": _sets(result),
        "examples": _examples(result),
        "valid": _valid(result),
        "tasteless": _tasteless(result),
        "lengths": _lengths(result),
        "builds": _builds(result),
        "trials": _trials(result),
        "python": _python(result),
    }


def _code(text: str) -> str:
    """A text in a cell of a table."""
    shown = text.replace("\n", "⏎").replace("|", "\\|")
    return f"`{shown}`" if shown.strip() else "(blank)"


def _sets(result: Result) -> str:
    def strings(values: list[str]) -> str:
        return " ".join(f"`{value}`" if value.strip() else "`' '`" for value in values)

    rows = [[place, strings(paper), strings(result.facts[place])] for place, paper in PAPERS_SETS.items()]
    return table(["place", "allowed in the paper", "allowed here"], rows, n_labels=3)


def _examples(result: Result) -> str:
    rows = []
    written = result.others.get("section 3.1", {})
    for task, (request, _) in REQUESTS.items():
        free, guided = PAPERS_TEXTS[task]
        rows.append([request.strip(), "GPT-2 medium (the paper)", _code(free), _code(guided)])
        for name in models.NAMES:
            texts = [written.get(f"{task} / {name} / {kind}") for kind in ("free", "guided")]
            rows.append(["", TITLES[name], *("–" if text is None else _code(text) for text in texts)])
    return table(["request", "model", "free, 30 tokens", "guided"], rows, n_labels=4)


def _valid(result: Result) -> str:
    head = ["pattern"]
    for name in models.NAMES:
        head += [f"{TITLES[name]}: free", "free, first line", "guided", "allowed mass"]
    rows = []
    for task in TASKS:
        row = [task.name]
        for name in models.NAMES:
            cell = f"{task.name} / {name}"
            row += [share(result.shares.get(f"{cell} / {kind}")) for kind in ("free", "free, first line")]
            row += [_guided(result, cell), number(result.others.get(f"{cell} / allowed mass"))]
        rows.append(row)
    counts = {name: result.shares.get(f"{name} / free texts that end") for name in models.NAMES}
    ended = [f"{TITLES[name]} {share(pair)}" for name, pair in counts.items()]
    return f"{table(head, rows)}\n\nFree texts that the model ended itself: {', '.join(ended)}."


def _guided(result: Result, cell: str) -> str:
    counts = result.never.get(f"{cell} / guided and invalid")
    return count(counts and [counts[1] - counts[0], counts[1]])


def _tasteless(result: Result) -> str:
    names = paper1_texts.TASTELESS
    rows = [[task.name, *(_guided(result, f"{task.name} / {name}") for name in names)] for task in TASKS]
    return table(["pattern, guided and valid", *(TITLES[name] for name in names)], rows)


def _lengths(result: Result) -> str:
    rows = []
    for vocabulary, title in paper1_lengths.VOCABULARIES.items():
        for pattern in paper1_lengths.PATTERNS:
            for engine in ("maskwright", "outlines-core", "from the start"):
                keys = [f"{pattern} / {vocabulary} / {engine} / {length}" for length in paper1_lengths.LENGTHS]
                if keys[0] in result.times:
                    method = "matching from the start" if engine == "from the start" else engine
                    times = [_duration(result.times[key]["p50"]) for key in keys]
                    rows.append([title, pattern, method, *times])
    head = ["vocabulary", "pattern", "method", *(f"{length:,} tokens" for length in paper1_lengths.LENGTHS)]
    return table(head, rows, n_labels=3)


def _duration(microseconds: float) -> str:
    for unit, size in (("s", 1e6), ("ms", 1e3)):
        if microseconds >= size:
            return f"{number(microseconds / size)} {unit}"
    return f"{number(microseconds)} µs"


def _builds(result: Result) -> str:
    rows = []
    for pattern in paper1_build.NAMES:
        if f"{pattern} / maskwright / build" not in result.others:
            continue
        ours, theirs = (result.others[f"{pattern} / {engine} / build"] for engine in paper1_indexes.ENGINES)
        sizes = [ours["reported"], ours["later"], theirs["resident"]]
        missing = result.facts[f"{pattern} / maskwright / tokens in the first mask"]
        missing -= result.facts[f"{pattern} / outlines-core / tokens in the first mask"]
        times = [number(ours["ms"]), number(theirs["ms"])]
        rows.append([pattern, *times, *(number(size / 2**20) for size in sizes), str(missing)])
    head = ["pattern", "maskwright: ms", "outlines-core: ms", "maskwright: MiB", "after 50 texts: MiB"]
    return table([*head, "outlines-core: MiB", "tokens that only maskwright's first mask has"], rows)


def _trials(result: Result) -> str:
    rows = []
    for pattern in paper1_indexes.TRIALS:
        refused = result.facts[f"{pattern} / outlines-core / refuses"]
        row = [_code(pattern), "–" if refused is None else f"`{refused}`"]
        row.append(str(result.facts[f"{pattern} / texts that match"]))
        row.append(count(result.never[f"{pattern} / maskwright / wrong verdicts"]))
        row.append(count(result.facts[f"{pattern} / outlines-core / wrong verdicts"]))
        rows.append(row)
    head = ["pattern", "outlines-core refuses", "texts that match"]
    return table([*head, "maskwright: wrong verdicts", "outlines-core: wrong verdicts"], rows, n_labels=2)


def _python(result: Result) -> str:
    memory = result.others["Python programs / memory"]
    refused, n = result.never["Python programs / refused"]
    rows = [
        ["Python programs read", f"{n - refused} of {n}", "–"],
        ["masks", f"{memory['masks']:,}", "–"],
        ["memory of the grammar's tables, MB", number(memory["index"] / 1e6), f"about {PAPERS_PYTHON_MB}"],
        ["memory of the vocabulary, shared by all grammars, MB", number(memory["vocabulary"] / 1e6), "–"],
    ]
    return table(["Python grammar, GPT-2's vocabulary", "here", "the paper"], rows)
