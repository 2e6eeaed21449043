"""Paper 2: texts that models write under the grammars of Python and SQL, and without a grammar.

The paper measures times only. This shows what its guarantee is worth: functions in Python and queries in SQL, from the
prompts in `examples/prompts`, at temperature 1, with the built-in grammars and without. Python's own parser and sqlite
judge. Random logits, which go where no model goes, write under the grammars too. Peaked ones prefer one random token at
each step to all others.
"""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from pathlib import Path
from typing import Any

import maskwright
import paper2_judges
from lab import models
from lab import tables as cells
from lab.bench import engines
from lab.generate import Sampler, Text, decode, write
from lab.paths import ROOT
from lab.results import Result
from lab.statistics import summary

PACKAGES = ("maskwright", "llama-cpp-python", "numpy")

LANGUAGES = {"python": "Python", "sql": "SQL"}
WRITERS = {"smollm2": "SmolLM2", "gemma3": "Gemma 3"}
RANDOM = {"random": 0.0, "peaked": 20.0}
WAYS = ("no constraint", "grammar")
PROMPTS = {"python": "python-functions.txt", "sql": "sql-queries.txt"}
#: Tokens of a text, after the words that it begins with, end of text included.
MAX_TOKENS = 200
#: The first of the 50 prompts for each language. With more, a run continues.
N_PROMPTS, N_PROMPTS_SAMPLE = 13, 1
#: Random texts of each kind and language, by vocabulary. Gemma's 262,144 tokens take longest.
N_RANDOM = {"smollm2": 20, "gemma3": 5}
N_RANDOM_SAMPLE = {"smollm2": 2, "gemma3": 0}

#: The pretrained model gets an example and the beginning of the next one, as comments in the language.
EXAMPLES = {
    "python": "# Write a Python function `larger` that returns the larger of two numbers.\n"
    "def larger(a, b):\n    return a if a > b else b\n\n\n# ",
    "sql": "-- Given the table books(id, title, year), write an SQL query for the titles of all books after 2000.\n"
    "SELECT title FROM books WHERE year > 2000;\n\n-- ",
}
ANSWER = {
    "python": " Answer with the code of the function and nothing else.",
    "sql": " Answer with the code of the query and nothing else.",
}


def run(options: Any) -> Result:
    n_prompts = N_PROMPTS_SAMPLE if options.sample else N_PROMPTS
    n_random = N_RANDOM_SAMPLE if options.sample else N_RANDOM
    settings = {"max tokens": MAX_TOKENS, "temperature": 1.0, "seed": "the number of the prompt, from 0"}
    log = options.log("paper2_texts", settings)
    settings = settings | {"prompts of each language": n_prompts, "random texts of each kind": n_random}
    result = Result("paper2_texts", settings)
    _write_random(log, n_random)
    _write_answers(log, n_prompts)
    _judge(result, [entry for entry in log.entries.values() if "text" in entry])
    _replay(result, log, n_prompts)
    return result


def _write_answers(log: Any, n_prompts: int) -> None:
    keys = [
        (f"{writer} / {language} / {way} / {i}", writer, language, way, i)
        for i in range(n_prompts)
        for writer in WRITERS
        for language in LANGUAGES
        for way in WAYS
    ]
    for key, name, language, way, i in keys:
        if key in log:
            continue
        model, grammars = _model(name)
        front, prompt = _prompt(model, language, i)
        matcher = None if way == "no constraint" else _matcher(grammars[language], front)
        text = write(model, model.tokenizer, prompt, MAX_TOKENS, Sampler(1.0, seed=i), matcher)
        log.append(key, _entry(name, language, way, model.tokenizer, front, text))
        print(f"{key}: {len(text.ids)} tokens", flush=True)


def _replay(result: Result, log: Any, n_prompts: int) -> None:
    """Reads the models' texts again without a limit on tokens, for the times of the masks alone."""
    for name in WRITERS:
        for language in LANGUAGES:
            group = f"{name} / {language} / grammar"
            key = f"{group} / {n_prompts} read again"
            if key not in log:
                tokenizer = maskwright.Tokenizer.from_gguf(str(models.file(name)))
                grammar = _grammars(tokenizer)[language]
                texts = [log.entries[f"{group} / {i}"]["text"] for i in range(n_prompts)]
                log.append(key, {"mask": summary([time for text in texts for time in _mask_times(grammar, text)])})
            result.times[f"{group} / mask, no limit"] = log.entries[key]["mask"]


def _mask_times(grammar: Any, text: str) -> list[float]:
    matcher = maskwright.Matcher(grammar)
    mask = maskwright.allocate_token_bitmask(1, grammar.tokenizer.vocab_size)
    times = []
    for token in grammar.tokenizer.encode(text):
        times.append(engines.timed(matcher.fill_next_token_bitmask, mask))
        if not matcher.accept_token(token):
            raise AssertionError(f"token {token} of {text!r} is refused when it is read again")
    return times


def _write_random(log: Any, numbers: dict[str, int]) -> None:
    for name, n in numbers.items():
        tokenizer: Any = None
        grammars: dict[str, Any] = {}
        for i in range(n):
            for language in LANGUAGES:
                for kind, peak in RANDOM.items():
                    key = f"{kind}, {name}'s vocabulary / {language} / grammar / {i}"
                    if key in log:
                        continue
                    if tokenizer is None:
                        tokenizer = maskwright.Tokenizer.from_gguf(str(models.file(name)))
                        grammars = _grammars(tokenizer)
                    model = models.RandomLogits(tokenizer.vocab_size, seed=i, peak=peak)
                    matcher = maskwright.Matcher(grammars[language], max_tokens=MAX_TOKENS)
                    text = write(model, tokenizer, [], MAX_TOKENS, Sampler(1.0, seed=i), matcher)
                    log.append(key, _entry(f"{kind}, {name}'s vocabulary", language, "grammar", tokenizer, "", text))
            print(f"random logits, {name}'s vocabulary: {i + 1} of {n}", flush=True)


_MODELS: dict[str, tuple[models.Model, dict[str, Any]]] = {}


def _model(name: str) -> tuple[models.Model, dict[str, Any]]:
    """The model and its grammars, loaded when a text is first to be written."""
    if name not in _MODELS:
        model = models.Model(name)
        _MODELS[name] = model, _grammars(model.tokenizer)
    return _MODELS[name]


def _grammars(tokenizer: Any) -> dict[str, Any]:
    compiler: Any = maskwright.Compiler(tokenizer)
    return {language: compiler.compile_builtin(language) for language in LANGUAGES}


def _matcher(grammar: Any, front: str) -> Any:
    """A matcher after `front`, which leaves the model `MAX_TOKENS` tokens."""
    if not front:
        return maskwright.Matcher(grammar, max_tokens=MAX_TOKENS)
    probe = maskwright.Matcher(grammar)
    probe.accept_bytes(front)
    matcher = maskwright.Matcher(grammar, max_tokens=MAX_TOKENS + probe.n_tokens)
    if not matcher.accept_bytes(front):
        raise AssertionError(f"the grammar has no text that begins {front!r}")
    return matcher


def _prompt(model: models.Model, language: str, i: int) -> tuple[str, list[int]]:
    """The words that the text begins with, given to both ways, and the tokens of the prompt with them."""
    path = ROOT / "examples" / "prompts" / PROMPTS[language]
    request = path.read_text(encoding="utf-8").splitlines()[i]
    front = f"def {request.split('`')[1]}(" if language == "python" else ""
    whole = EXAMPLES[language] + request if model.name == "gemma3" else request + ANSWER[language]
    return front, model.prompt(whole, front)


def _entry(writer: str, language: str, way: str, tokenizer: Any, front: str, text: Text) -> dict[str, Any]:
    return {
        "writer": writer,
        "language": language,
        "way": way,
        "front": front,
        "text": front + decode(tokenizer, text.ids),
        "n_tokens": len(text.ids),
        "ended": text.ended,
        "model_us": [round(time) for time in text.model_us],
        "mask_us": [round(time, 1) for time in text.mask_us],
        "mass": [round(mass, 4) for mass in text.mass],
    }


def _judge(result: Result, entries: list[dict[str, Any]]) -> None:
    texts, owners = [], []
    for entry in entries:
        language, text = entry["language"], entry["text"]
        written = text if entry["way"] == "grammar" else paper2_judges.without_fence(entry["front"], text)
        readings = {"valid": written}
        if entry["way"] != "grammar":
            readings["valid, cut off at its end"] = paper2_judges.cut(language, entry["front"], written)
        for reading, shown in readings.items():
            texts.append((language, shown))
            owners.append((entry, reading))
    versions, verdicts = paper2_judges.judge(texts)
    result.others["judges"] = versions
    judged: dict[str, list[tuple[dict[str, Any], dict[str, Any]]]] = defaultdict(list)
    for (entry, reading), verdict in zip(owners, verdicts):
        judged[f"{entry['writer']} / {entry['language']} / {entry['way']} / {reading}"].append((entry, verdict))
    for key, pairs in judged.items():
        n_valid = sum(verdict.get("objection") is None for _, verdict in pairs)
        result.shares[key] = [n_valid, len(pairs)]
        group, _, reading = key.rpartition(" / ")
        if reading == "valid":
            result.shares[f"{group} / ended"] = [sum(entry["ended"] for entry, _ in pairs), len(pairs)]
            _add_group(result, group, pairs)


def _add_group(result: Result, group: str, pairs: list[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    entries = [entry for entry, _ in pairs]
    if group.endswith("/ grammar"):
        objections = [(entry, verdict["objection"]) for entry, verdict in pairs if verdict.get("objection") is not None]
        result.never[f"{group} / invalid"] = [len(objections), len(pairs)]
        result.never[f"{group} / not finished"] = [sum(not entry["ended"] for entry in entries), len(pairs)]
        if entries[0]["language"] == "sql":
            n_beyond = sum("beyond" in verdict for _, verdict in pairs)
            result.shares[f"{group} / in words that sqlite lacks"] = [n_beyond, len(pairs)]
        for entry, objection in objections:
            print(f"INVALID {group}: {objection}: {entry['text']!r}", flush=True)
        masks = list(chain.from_iterable(entry["mask_us"] for entry in entries))
        mass = list(chain.from_iterable(entry["mass"] for entry in entries))
        result.times[f"{group} / mask"] = summary(masks)
        result.others[f"{group} / mean allowed mass"] = round(sum(mass) / len(mass), 4)
    if entries[0]["writer"] in WRITERS:
        times = list(chain.from_iterable(entry["model_us"] for entry in entries))
        result.times[f"{group} / model"] = summary(times)
        if group.endswith("/ grammar"):
            ratio = result.times[f"{group} / mask"]["mean"] / result.times[f"{group} / model"]["mean"]
            result.ratios[f"{group} / mask by model"] = float(f"{ratio:.3g}")
    result.others[f"{group} / mean tokens"] = round(sum(entry["n_tokens"] for entry in entries) / len(entries), 1)


def tables(result: Result) -> dict[str, str]:
    return {"validity": _validity(result), "random": _random(result), "cost": _cost(result)}


def _validity(result: Result) -> str:
    head = [
        *("model", "language", "no constraint: valid", "cut off where the answer ends: valid", "ended by the model"),
        *("with the grammar: valid", "finished within 200 tokens"),
    ]
    rows = []
    for writer, title in WRITERS.items():
        for language in LANGUAGES:
            free, ours = (f"{writer} / {language} / {way}" for way in WAYS)
            keys = (f"{free} / valid", f"{free} / valid, cut off at its end", f"{free} / ended")
            row = [title, LANGUAGES[language], *(cells.share(result.shares.get(key)) for key in keys)]
            rows.append(
                [*row, *(cells.count(result.shares.get(f"{ours} / {measure}")) for measure in ("valid", "ended"))]
            )
    return cells.table(head, rows, 2)


def _random(result: Result) -> str:
    head = ("logits", "vocabulary", "language", "valid", "finished", "tokens: mean", "mask, us: mean", "p99")
    rows = []
    for kind in RANDOM:
        for name, title in WRITERS.items():
            for language in LANGUAGES:
                group = f"{kind}, {name}'s vocabulary / {language} / grammar"
                row = [kind, title, LANGUAGES[language]]
                row += [cells.count(result.shares.get(f"{group} / {measure}")) for measure in ("valid", "ended")]
                row.append(cells.number(result.others.get(f"{group} / mean tokens")))
                times = result.times.get(f"{group} / mask", {})
                rows.append([*row, cells.number(times.get("mean")), cells.number(times.get("p99"))])
    return cells.table(head, rows, 3)


def _cost(result: Result) -> str:
    head = ["model", "language", "model, ms a token", "mask, us: p50", "mean", "p99", "mask by model"]
    head += ["with the limit, us: p50", "mean", "p99", "max", "mask by model", "allowed mass"]
    rows = []
    for writer, title in WRITERS.items():
        for language in LANGUAGES:
            group = f"{writer} / {language} / grammar"
            model = result.times.get(f"{group} / model")
            if model is None:
                continue
            row = [title, LANGUAGES[language], cells.number(model["mean"] / 1000)]
            for mask in ("mask, no limit", "mask"):
                times = result.times[f"{group} / {mask}"]
                fields = ("p50", "mean", "p99", "max") if mask == "mask" else ("p50", "mean", "p99")
                row += [cells.number(times[field]) for field in fields]
                row.append(f"{100 * times['mean'] / model['mean']:.2g}%")
            rows.append([*row, f"{100 * result.others[f'{group} / mean allowed mass']:.1f}%"])
    return cells.table(head, rows, 2)


def plot(result: Result, folder: Path) -> None:
    """The shares of valid texts with and without the grammar."""
    from lab import plots

    figure, axes = plots.figure(5.6, 2.6)
    groups = [(writer, language) for writer in WRITERS for language in LANGUAGES]
    bars = {
        "no constraint": ("no constraint / valid", "#bbbbbb"),
        "no constraint, cut off": ("no constraint / valid, cut off at its end", plots.COLOURS["no constraint"]),
        "with the grammar": ("grammar / valid", plots.COLOURS["maskwright"]),
    }
    for place, (label, (key, colour)) in enumerate(bars.items()):
        counts = [result.shares.get(f"{writer} / {language} / {key}", [0, 1]) for writer, language in groups]
        axes.bar(
            [i + 0.27 * (place - 1) for i in range(len(groups))],
            [100 * k / n for k, n in counts],
            0.25,
            color=colour,
            label=label,
        )
    axes.set_xticks(range(len(groups)), [f"{WRITERS[writer]}\n{LANGUAGES[language]}" for writer, language in groups])
    axes.set_ylabel("valid, %")
    figure.legend(loc="outside upper center", ncols=3)
    plots.save(figure, folder / "paper2_texts-valid.svg")
