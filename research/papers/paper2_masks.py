"""Paper 2, "Flexible and Efficient Grammar-Constrained Decoding" (GreatGramma): table 1, and figure 1 by our masks.

Real programs (HumanEval-X) are read token by token under the grammars of Go, Java and Python that SynCode published,
which the paper used too, for three vocabularies. Each engine computes the mask of every token. The offline time is
that of compiling, with a new compiler. The online time is the mean of the masks of five programs, as in the paper, all
of them new to the engine. Then the other programs follow. The verdicts on all are compared with those of Lark itself.
"""

from __future__ import annotations

import re
from itertools import chain
from pathlib import Path
from typing import Any

import maskwright

import paper2_figure1
from lab import tables as cells
from lab.bench import programs
from lab.paths import data, tokenizer_file
from lab.results import Result
from lab.statistics import summary

PACKAGES = ("maskwright", "llguidance", "numpy")

VOCABULARIES = {"llama2": "Llama 2", "llama3_1": "Llama 3.1", "qwen2_5": "Qwen 2.5"}
LANGUAGES = {"go": "Go", "java": "Java", "python": "Python"}
ENGINES = ("maskwright", "llguidance")
N_FIVE = 5

#: Table 1 of the paper: seconds before the first token, then milliseconds for a mask, each of Outlines, SynCode and
#: GreatGramma. None: SynCode masked true tokens.
PAPER = {
    ("llama2", "go"): ((2.51, 556.10, 24.76), (3213.05, None, 5.08)),
    ("llama2", "java"): ((2.49, 579.48, 33.79), (3450.67, 46.71, 6.29)),
    ("llama2", "python"): ((4.89, 768.33, 35.40), (3245.10, 62.40, 7.11)),
    ("llama3_1", "go"): ((2.43, 2212.95, 106.07), (12974.43, None, 21.11)),
    ("llama3_1", "java"): ((2.46, 2294.26, 166.87), (13725.58, 49.03, 24.69)),
    ("llama3_1", "python"): ((4.86, 2789.31, 170.71), (13167.83, 71.49, 30.17)),
    ("qwen2_5", "go"): ((2.38, 2635.00, 132.27), (14756.47, None, 21.32)),
    ("qwen2_5", "java"): ((2.39, 2734.27, 260.80), (15235.25, 50.32, 25.12)),
    ("qwen2_5", "python"): ((4.81, 3268.09, 155.32), (15146.38, 70.87, 32.30)),
}


def run(options: Any) -> Result:
    settings: dict[str, Any] = {
        "programs that each engine reads": {
            "maskwright": 20 if options.sample else 164,
            "llguidance": _n_for_peers(options),
        },
        "vocabularies of llguidance": ["llama2"] if options.sample else list(VOCABULARIES),
        "lexer": "basic",
        "compilations": 1 if options.sample else 3,
        "threads": 1,
        "clock": "the lesser of processor time and time on the clock",
    }
    result = Result("paper2_masks", settings)
    _figure1(result)
    log = options.log("paper2_masks", settings)
    for vocabulary in VOCABULARIES:
        tokenizer = maskwright.Tokenizer.from_file(str(tokenizer_file(vocabulary)))
        for language in LANGUAGES:
            names, texts, are_right = zip(*_ordered(language))
            for engine in ENGINES:
                key = f"{language} / {vocabulary} / {engine}"
                if engine != "maskwright" and vocabulary not in settings["vocabularies of llguidance"]:
                    continue
                if key not in log:
                    n = settings["programs that each engine reads"][engine]
                    ids = [tokenizer.encode(text) for text in texts[:n]]
                    log.append(key, _measured(engine, vocabulary, language, ids, settings["compilations"]))
                    print(f"{key}: done", flush=True)
                _add(result, key, log.entries[key], names, are_right)
            _add_ratio(result, log.entries, f"{language} / {vocabulary}")
    return result


def _n_for_peers(options: Any) -> int:
    return N_FIVE if options.sample else 12


def _ordered(language: str) -> list[tuple[str, bytes, bool]]:
    """The programs: first five complete ones that Lark accepts, then every 7th of the others, and so on.

    So the first few of them are a sample of all.
    """
    rest = programs.programs(data(""), language)
    good = [program for program in rest if program[2] and program[0].startswith("full/")]
    five = [good[i * len(good) // N_FIVE] for i in range(N_FIVE)]
    rest = [program for program in rest if program not in five]
    return five + [program for start in range(7) for program in rest[start::7]]


def _measured(engine: str, vocabulary: str, language: str, ids: list[list[int]], n_compilations: int) -> dict[str, Any]:
    """One cell, as the log keeps it. Times are in microseconds, those of compiling in milliseconds."""
    grammar = {
        "text": _grammar(engine, language),
        "lexer": "basic",
        "indentation": "python" if language == "python" else None,
    }
    file = str(tokenizer_file(vocabulary))
    figures = programs.in_own_process(engine, file, grammar, ids)
    if "refusal" in figures:
        return {"refusal": figures["refusal"]}
    others = [programs.in_own_process(engine, file, grammar, ids[:1]) for _ in range(n_compilations - 1)]
    # The mask after compiling is the last of the first program's times. It is a new mask too.
    five, cold, warm = figures["cold"][:N_FIVE], figures["cold"], figures["warm"]
    return {
        "verdicts": [int(verdict) for verdict in figures["verdicts"]],
        "compile": [each["compile"] for each in (figures, *others)],
        "first": [each["first"] for each in (figures, *others)],
        "five": summary(list(chain.from_iterable(five))),
        "each of five": [[sum(times), len(times)] for times in five],
        "new": summary(list(chain.from_iterable(cold))),
        "again": summary(list(chain.from_iterable(warm))),
        "memory": figures["memory"],
    }


def _grammar(engine: str, language: str) -> str:
    text = programs.grammar_text(data(""), language)
    if engine == "llguidance" and language == "go":
        # It has no priorities. Without a lexer that chooses one terminal, they do not change the language.
        text = re.sub(r"^(\w+)\.\d+( *:)", r"\1\2", text, flags=re.MULTILINE)
    return text


def _figure1(result: Result) -> None:
    found, printed = paper2_figure1.cells(), paper2_figure1.printed_cells()
    result.facts |= {f"figure 1d / {cell}": sequences for cell, sequences in found.items()}
    result.never["figure 1d / cells that differ"] = [_n_different(found, printed), len(printed)]
    masks, by_hand = paper2_figure1.masks_in_turn(), paper2_figure1.printed_masks_in_turn()
    result.facts |= {f"figure 1f / after {text!r}": mask for text, mask in masks.items()}
    result.never["figure 1f / masks that differ"] = [_n_different(masks, by_hand), len(by_hand)]
    result.facts |= {f"brackets / {token}": words for token, words in paper2_figure1.brackets().items()}


def _n_different(found: dict[str, str], expected: dict[str, str]) -> int:
    return sum(found[key] != value for key, value in expected.items())


def _add(result: Result, key: str, entry: dict[str, Any], names: Any, are_right: Any) -> None:
    if "refusal" in entry:
        result.others[f"{key} / refused"] = entry["refusal"]
        return
    verdicts = list(zip(names, entry["verdicts"], are_right))
    true = [verdict for _, verdict, is_right in verdicts if is_right]
    # Programs that LALR refuses because it resolves a conflict in silence; Lark's Earley parser accepts them.
    false = [verdict for name, verdict, is_right in verdicts if not is_right and name not in programs.LALR_ERRS]
    refused, accepted = [true.count(0), len(true)], [false.count(1), len(false)]
    counts = result.never if key.endswith("maskwright") else result.shares
    claims = {f"{key} / refused, and Lark accepts": refused, f"{key} / accepted, and Lark refuses": accepted}
    counts |= {claim: count for claim, count in claims.items() if count[1]}
    result.others[f"{key} / conflicts of LALR"] = [
        name for name, verdict, is_right in verdicts if verdict and not is_right and name in programs.LALR_ERRS
    ]
    for name in ("compile", "first"):
        result.times[f"{key} / {name}"] = summary([1000 * time for time in entry[name]])
    for name in ("five", "new", "again"):
        result.times[f"{key} / {name}"] = entry[name]
    result.others[f"{key} / memory, MiB"] = round(entry["memory"])


def _add_ratio(result: Result, entries: dict[str, Any], cell: str) -> None:
    ours, theirs = entries[f"{cell} / maskwright"], entries.get(f"{cell} / llguidance")
    if theirs is None or "refusal" in theirs:
        return
    n = N_FIVE
    alike = [i for i in range(n) if ours["verdicts"][i] == theirs["verdicts"][i]]
    if alike:
        means = []
        for entry in (ours, theirs):
            total, count = (sum(entry["each of five"][i][part] for i in alike) for part in (0, 1))
            means.append(total / count)
        result.ratios[f"{cell} / mask, llguidance by maskwright"] = float(f"{means[1] / means[0]:.4g}")


def tables(result: Result) -> dict[str, str]:
    return {
        "offline": _offline(result),
        "online": _online(result),
        "verdicts": _verdicts(result),
        "figure1d": _table_1d(result),
        "figure1f": _table_1f(result),
        "brackets": _brackets(result),
    }


def _offline(result: Result) -> str:
    """The left half of table 1, in seconds as in the paper."""
    head = ["vocabulary", "grammar", "Maskwright", "its first mask", "llguidance"]
    head += ["GreatGramma (paper)", "SynCode (paper)", "Outlines (paper)"]
    rows = []
    for (vocabulary, language), (offline, _) in PAPER.items():
        cell = f"{language} / {vocabulary}"
        row = [VOCABULARIES[vocabulary], LANGUAGES[language]]
        row += [_time(result, f"{cell} / maskwright / {name}", "p50", 1e6) for name in ("compile", "first")]
        is_refused = f"{cell} / llguidance / refused" in result.others
        row.append("refused" if is_refused else _time(result, f"{cell} / llguidance / compile", "p50", 1e6))
        rows.append([*row, *(cells.number(seconds) for seconds in reversed(offline))])
    return cells.table(head, rows, 2)


def _online(result: Result) -> str:
    """The right half of table 1, in milliseconds as in the paper."""
    head = ["vocabulary", "grammar", "Maskwright", "p50", "p99", "llguidance", "llguidance by Maskwright"]
    head += ["GreatGramma (paper)", "SynCode (paper)", "Outlines (paper)"]
    rows = []
    for (vocabulary, language), (_, online) in PAPER.items():
        cell = f"{language} / {vocabulary}"
        row = [VOCABULARIES[vocabulary], LANGUAGES[language]]
        row += [_time(result, f"{cell} / maskwright / five", field, 1e3) for field in ("mean", "p50", "p99")]
        row.append(_time(result, f"{cell} / llguidance / five", "mean", 1e3))
        row.append(cells.number(result.ratios.get(f"{cell} / mask, llguidance by maskwright")))
        paper = ["masks true tokens" if time is None else cells.number(time) for time in reversed(online)]
        rows.append([*row, *paper])
    return cells.table(head, rows, 2)


def _time(result: Result, key: str, field: str, unit: float) -> str:
    times = result.times.get(key)
    return cells.number(None if times is None else times[field] / unit)


def _verdicts(result: Result) -> str:
    head = ["engine", "vocabulary", "grammar", "refused, and Lark accepts", "accepted, and Lark refuses"]
    head += ["new mask, us: mean", "p99", "made before, us: mean", "memory, MiB"]
    rows = []
    for engine in ENGINES:
        for vocabulary, language in PAPER:
            key = f"{language} / {vocabulary} / {engine}"
            row = [engine, VOCABULARIES[vocabulary], LANGUAGES[language]]
            if f"{key} / refused" in result.others:
                rows.append([*row, "the grammar is refused", *["–"] * 5])
                continue
            counts = result.never if engine == "maskwright" else result.shares
            for claim in ("refused, and Lark accepts", "accepted, and Lark refuses"):
                row.append(cells.count(counts.get(f"{key} / {claim}")))
            for name, field in (("new", "mean"), ("new", "p99"), ("again", "mean")):
                row.append(_time(result, f"{key} / {name}", field, 1))
            row.append(cells.number(result.others.get(f"{key} / memory, MiB")))
            rows.append(row)
    return cells.table(head, rows, 3)


def _table_1d(result: Result) -> str:
    rows = []
    for (name, text), printed in paper2_figure1.TABLE.items():
        row = [f"{name} (after `{text}`)" if text else f"{name} (at the start)"]
        for token, paper in zip(paper2_figure1.VOCABULARY, printed):
            found = result.facts[f"figure 1d / {name} / {token}"]
            words = found.replace(",", ", ") or "∅"
            row.append(words if found == paper else f"{words} (paper: {paper or '∅'})")
        rows.append(row)
    return cells.table(("state of the lexer", *(f"`{token}`" for token in paper2_figure1.VOCABULARY)), rows)


def _table_1f(result: Result) -> str:
    by_hand = paper2_figure1.printed_masks_in_turn()
    rows = []
    for text, expected in by_hand.items():
        found = result.facts[f"figure 1f / after {text!r}"]
        rows.append([f"`{text}`" if text else "nothing", *(words.replace(",", ", ") for words in (found, expected))])
    return cells.table(("after", "our mask", "by the paper's table and automaton"), rows, 3)


def _brackets(result: Result) -> str:
    head = ["token", "after `b` inside of 1 to 6 brackets"]
    rows = [[f"`{token}`", result.facts[f"brackets / {token}"]] for token in paper2_figure1.BRACKET_TOKENS]
    return cells.table(head, rows, 2)


def plot(result: Result, folder: Path) -> None:
    """Table 1 on logarithmic scales: a place for each vocabulary and grammar."""
    from lab import plots

    figure, both = plots.figure(7.6, 3.4, columns=2)
    places = range(len(PAPER))
    names = [f"{LANGUAGES[language]}\n{VOCABULARIES[vocabulary]}" for vocabulary, language in PAPER]
    for axes, field, part, title in zip(
        both, ("compile", "five"), (0, 1), ("before the first token, ms", "a mask, ms")
    ):
        for engine in ENGINES:
            keys = [f"{language} / {vocabulary} / {engine} / {field}" for vocabulary, language in PAPER]
            points = [(i, result.times[key]["mean"] / 1000) for i, key in enumerate(keys) if key in result.times]
            axes.plot(*zip(*points), "o", color=plots.COLOURS[engine], label=engine)
        for i, peer, colour in ((2, "GreatGramma (paper)", "#333333"), (1, "SynCode (paper)", "#999999")):
            values: list[float | None] = [row[part][i] for row in PAPER.values()]
            scale = 1000 if part == 0 else 1
            points = [(place, scale * value) for place, value in zip(places, values, strict=True) if value is not None]
            axes.plot(*zip(*points), "x", color=colour, label=peer)
        axes.set_yscale("log")
        axes.set_title(title, fontsize=9)
        axes.set_xticks(list(places), names, rotation=90, fontsize=7)
    handles, labels = both[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4)
    plots.save(figure, folder / "paper2_masks-table1.svg")
