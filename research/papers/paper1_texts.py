"""How many free and guided texts are valid, for trained models and for models without taste."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import maskwright

from lab import models
from lab.generate import LanguageModel, Sampler, decode, write
from lab.log import Log
from lab.paths import tokenizer_file
from lab.results import Result
from paper1_patterns import TASKS, Task

#: Logits without a trained model, over this vocabulary, and by how much one token's logit is raised.
TASTELESS = {"random": 0.0, "peaked": 30.0}
VOCABULARY = "llama3_1"


def run(result: Result, log: Log, n: int, n_tasteless: int) -> None:
    """Writes and judges `n` texts of each task, model and kind, at temperature 1; `n_tasteless` of random logits."""
    for name in models.NAMES:
        plan = [(task, kind, seed) for seed in range(n) for task in TASKS for kind in ("guided", "free")]
        _write(plan, name, log)
        for task in TASKS:
            _count_free(result, log, task, name, n)
            _count_guided(result, log, task, name, n)
        ended = [entry["ended"] for task in TASKS for entry in _entries(log, task, name, "free", n)]
        result.shares[f"{name} / free texts that end"] = [sum(ended), len(ended)]
    for name in TASTELESS:
        plan = [(task, "guided", seed) for seed in range(n_tasteless) for task in TASKS]
        _write(plan, name, log)
        for task in TASKS:
            _count_guided(result, log, task, name, n_tasteless)


#: Makes the model for the text of a seed.
Models = Callable[[int], LanguageModel]


def _trained(name: str) -> tuple[maskwright.Tokenizer, Models, models.Model | None]:
    model = models.Model(name)
    return model.tokenizer, lambda seed: model, model


def _tasteless(name: str) -> tuple[maskwright.Tokenizer, Models, models.Model | None]:
    tokenizer = maskwright.Tokenizer.from_file(tokenizer_file(VOCABULARY))
    return tokenizer, lambda seed: models.RandomLogits(tokenizer.vocab_size, seed, TASTELESS[name]), None


def _key(task: Task, name: str, kind: str, seed: int) -> str:
    return f"{task.name} / {name} / {kind} / {seed}"


def _write(plan: list[tuple[Task, str, int]], name: str, log: Log) -> None:
    """Writes the texts of the plan that the log lacks."""
    missing = [step for step in plan if _key(step[0], name, step[1], step[2]) not in log]
    if not missing:
        return
    tokenizer, model_of, trained = _tasteless(name) if name in TASTELESS else _trained(name)
    compiler = maskwright.Compiler(tokenizer)
    grammars = {task.name: task.compile(compiler) for task in TASKS}
    shown = time.monotonic()
    for done, (task, kind, seed) in enumerate(missing):
        matcher = maskwright.Matcher(grammars[task.name], max_tokens=task.max_tokens) if kind == "guided" else None
        prompt = trained.prompt(task.request) if trained else []
        text = write(model_of(seed), tokenizer, prompt, task.max_tokens, Sampler(1.0, seed), matcher)
        mass = sum(text.mass) / len(text.mass) if text.mass else None
        entry = {"text": decode(tokenizer, text.ids), "n_tokens": len(text.ids), "ended": text.ended, "mass": mass}
        log.append(_key(task, name, kind, seed), entry)
        if time.monotonic() - shown > 8:
            shown = time.monotonic()
            print(f"paper1 texts: {name} {done + 1} of {len(missing)}", flush=True)


def _entries(log: Log, task: Task, name: str, kind: str, n: int) -> Iterator[dict[str, Any]]:
    return (log.entries[_key(task, name, kind, seed)] for seed in range(n))


def _count_free(result: Result, log: Log, task: Task, name: str, n: int) -> None:
    texts = [entry["text"] for entry in _entries(log, task, name, "free", n)]
    result.shares[f"{task.name} / {name} / free"] = [sum(map(task.is_valid, texts)), n]
    result.shares[f"{task.name} / {name} / free, first line"] = [sum(map(task.begins_valid, texts)), n]


def _count_guided(result: Result, log: Log, task: Task, name: str, n: int) -> None:
    entries = list(_entries(log, task, name, "guided", n))
    invalid = [entry["text"] for entry in entries if not task.is_valid(entry["text"])]
    result.never[f"{task.name} / {name} / guided and invalid"] = [len(invalid), n]
    result.never[f"{task.name} / {name} / guided and cut off"] = [sum(not entry["ended"] for entry in entries), n]
    for text in invalid:
        print(f"INVALID {task.name} / {name}: {text!r}", flush=True)
    if name in models.NAMES:
        mass = sum(entry["mass"] for entry in entries) / n
        result.others[f"{task.name} / {name} / allowed mass"] = round(mass, 3)
        result.others[f"{task.name} / {name} / a guided text"] = entries[0]["text"]
