"""Paper 3, table 2: a diffusion model writes JSON records and molecules under no constraint, the paper's loop, and exact masks.

The model is the one that comes with maskwright: a million weights, trained on molecules and on JSON records of six kinds. The
texts come from the campaign `infill` in `research/campaigns`. Molecules are judged by RDKit, records by `jsonschema`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from lab import campaigns, judges, plots
from lab.paths import LOGS, ROOT, data
from lab.results import Result
from lab.statistics import quantile, wilson
from lab.tables import number, share, table

PACKAGES = ("maskwright", "jsonschema", "rdkit")
METHODS = {"none": "no constraint", "propose": "the paper's loop", "masks": "ours"}
GROUPS = {"records": "JSON, trained kinds", "unseen": "JSON, json-mode-eval", "molecules": "SMILES"}
#: Texts of each kind and method: four seeds as in the paper.
FULL = {"texts": 10, "seeds": 4, "molecules": 4, "schemas": 100, "unseen_seeds": 1}
SAMPLE = {"texts": 2, "seeds": 1, "molecules": 10, "schemas": 5, "unseen_seeds": 1}


def run(options: Any) -> Result:
    sizes = SAMPLE if options.sample else FULL
    log = LOGS / ("sample" if options.sample else "full") / "paper3_diffusion.jsonl"
    arguments = [f"--{name.replace('_', '-')}={value}" for name, value in sizes.items()]
    entries = campaigns.run("infill", log, *arguments, fresh=options.fresh or options.sample)
    result = Result("paper3_diffusion", {"temperature": 1.0, **sizes})
    schemas = _schemas()
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in entries:
        entry["objection"] = _objection(entry, schemas)
        groups[f"{_group(entry['kind'])} / {entry['method']}"].append(entry)
    for key, texts in groups.items():
        right = [text["objection"] is None for text in texts]
        unaided = [fine and not text["is_patched"] for fine, text in zip(right, texts)]
        result.shares[f"{key} / syntax"] = [sum(right), len(texts)]
        result.shares[f"{key} / syntax without completion"] = [sum(unaided), len(texts)]
        if key.startswith("molecules"):
            molecules = [judges.smiles(text["text"], chemistry=True) is None for text in texts]
            result.shares[f"{key} / chemistry"] = [sum(molecules), len(texts)]
            result.others[f"{key} / different"] = len({text["text"] for text in texts})
        result.times[f"{key} / forward, a step"] = _times(texts, "forward_ms")
        result.times[f"{key} / constraint, a step"] = _times(texts, "constraint_ms")
        result.others[f"{key} / refused proposals"] = quantile([text["n_refused"] for text in texts], 0.5)
    for group in GROUPS:
        masked = groups.get(f"{group} / masks", [])
        wrong = [text for text in masked if text["objection"] is not None]
        result.never[f"{group}, texts under masks that a judge refuses"] = [len(wrong), len(masked)]
        for text in wrong:
            print(f"{text['kind']}, seed {text['seed']}: {text['objection']}: {text['text']}")
    return result


def _schemas() -> dict[str, Any]:
    """The schema of each kind of record."""
    folder = ROOT / "crates/models/assets/diffusion/schemas"
    schemas = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("*.json")}
    with data("json-mode-eval.jsonl").open(encoding="utf-8") as lines:
        records = map(json.loads, lines)
        return schemas | {f"schema {record['id']}": record["schema"] for record in records}


def _group(kind: str) -> str:
    if kind == "smiles":
        return "molecules"
    return "unseen" if kind.startswith("schema ") else "records"


def _objection(entry: dict[str, Any], schemas: dict[str, Any]) -> str | None:
    if entry["kind"] == "smiles":
        return judges.smiles(entry["text"])
    return judges.json_schema(entry["text"], schemas[entry["kind"]])


def _times(texts: list[dict[str, Any]], field: str) -> dict[str, float]:
    """Microseconds for each step of a text, over the texts."""
    values = [1e3 * text[field] / max(1, text["n_steps"]) for text in texts]
    figures = {"mean": sum(values) / len(values), "p50": quantile(values, 0.5), "p99": quantile(values, 0.99)}
    return {"n": len(values)} | {name: float(f"{value:.4g}") for name, value in figures.items()}


#: Table 2 of the paper: syntax of its four 7B and 8B models, lowest to highest: Van., Con.-, Con.
PAPER = {
    "records": ("22.4 to 77.5", "44.9 to 89.0", "100"),
    "molecules": ("58.2 to 73.1", "91.3 to 94.9", "99.2 to 100"),
}


def tables(result: Result) -> dict[str, str]:
    rows = []
    for group, title in GROUPS.items():
        for method, method_title in METHODS.items():
            key = f"{group} / {method}"
            if f"{key} / syntax" not in result.shares:
                continue
            paper = PAPER.get(group, ("–", "–", "–"))
            cited = {"none": paper[0], "propose": f"{paper[1]}; {paper[2]}", "masks": "–"}[method]
            forward, constraint = (result.times[f"{key} / {what}, a step"]["p50"] for what in ("forward", "constraint"))
            rows.append(
                [
                    title,
                    method_title,
                    str(result.shares[f"{key} / syntax"][1]),
                    share(result.shares[f"{key} / syntax without completion"]),
                    share(result.shares[f"{key} / syntax"]),
                    share(result.shares.get(f"{key} / chemistry")),
                    f"{number(forward / 1e3)} + {number(constraint / 1e3)}" if method != "none" else number(forward / 1e3),
                    cited,
                ]
            )
    head = ["task", "method", "texts", "syntax, not completed", "syntax", "RDKit's chemistry", "ms a step", "paper"]
    return {"table2": table(head, rows, 2)}


def plot(result: Result, folder: Path) -> None:
    figure, axes = plots.figure()
    colours = [plots.COLOURS["no constraint"], plots.COLOURS["outlines-core"], plots.COLOURS["maskwright"]]
    for index, (method, title) in enumerate(METHODS.items()):
        for place, group in enumerate(GROUPS):
            counts = result.shares[f"{group} / {method} / syntax without completion"]
            low, high = wilson(*counts)
            middle = counts[0] / counts[1]
            axes.bar(place + 0.27 * (index - 1), middle, 0.25, color=colours[index], label=title if place == 0 else None)
            axes.errorbar(place + 0.27 * (index - 1), middle, yerr=[[middle - low], [high - middle]], color="black", capsize=2)
    axes.set_xticks(range(len(GROUPS)), list(GROUPS.values()))
    axes.set_ylabel("valid, none completed afterwards")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    plots.save(figure, folder / "paper3_diffusion-syntax.svg")
