"""Paper 4, TruncProof: texts within a limit on tokens, by the paper's estimate and by ours.

The texts come from the campaigns `budget` and `c-function` in `research/campaigns`. Each record of json-mode-eval is asked for
with a limit of `e` times the tokens of its gold value, e = 1.0, 1.1, 1.2, 1.5, or 400 tokens. JSON is judged by serde_json,
schemas by the crate `jsonschema`, functions by tree-sitter and by the grammar without a limit.
"""

from __future__ import annotations

import html
from collections import defaultdict
from pathlib import Path
from typing import Any

import paper3_judges
from lab import campaigns, plots
from lab.paths import LOGS
from lab.results import Result
from lab.statistics import quantile, wilson
from lab.tables import number, share, table

PACKAGES = ("maskwright", "tree-sitter", "tree-sitter-cpp")
LIMITS = ("1.0", "1.1", "1.2", "1.5", "400")
METHODS = {"free": "no constraint", "unlimited": "grammar, no limit", "estimate": "the paper's estimate", "exact": "ours"}
STRATEGIES = {"greedy": "greedy", "beam": "10 beams", "tree": "tree search", "random": "random logits"}
MODELS = {"smollm2": "SmolLM2", "gemma3": "Gemma 3"}
MEASURES = {"is_json": "syntax", "is_valid": "schema", "is_gold": "gold"}

#: Parts of the campaign: model, and the arguments that choose its texts. A full run takes about two hours.
FULL = [
    ("smollm2", ["--records", "100", "--strategies", "random", "--limits", "least,1.0,1.1,1.2,1.5"]),
    ("smollm2", ["--records", "20", "--strategies", "greedy", "--limits", "1.0,1.1,1.2,1.5"]),
    ("smollm2", ["--records", "6", "--strategies", "greedy", "--limits", "400"]),
    ("smollm2", ["--records", "20", "--strategies", "beam", "--limits", "1.1", "--at-most", "45"]),
    ("gemma3", ["--records", "8", "--strategies", "greedy", "--limits", "1.0,1.1,1.2,1.5", "--at-most", "100"]),
    ("smollm2", ["--records", "8", "--strategies", "tree", "--limits", "1.1", "--tree-records", "8", "--at-most", "40"]),
]
SAMPLE = [
    ("smollm2", ["--records", "10", "--strategies", "random", "--limits", "least,1.0,1.1,1.2,1.5"]),
    ("smollm2", ["--records", "2", "--strategies", "greedy", "--limits", "1.1"]),
]


def run(options: Any) -> Result:
    folder = LOGS / ("sample" if options.sample else "full")
    fresh = options.fresh or options.sample
    result = Result("paper4", {"limits": LIMITS, "records": "json-mode-eval, the first of them", "parts": SAMPLE if options.sample else FULL})
    seen: set[str] = set()
    for model, arguments in SAMPLE if options.sample else FULL:
        log = folder / f"paper4-{model}.jsonl"
        campaigns.run("budget", log, "--model", model, "--prompts", "plain", *arguments, fresh=fresh and model not in seen)
        seen.add(model)
    for model in sorted(seen):
        _count_texts(result, model, campaigns.entries(folder / f"paper4-{model}.jsonl"))
    n_random = "20" if options.sample else "500"
    chosen = ["--strategies", "greedy"] if options.sample else []
    functions = campaigns.run("c-function", folder / "paper4-c.jsonl", "--random", n_random, *chosen, fresh=fresh)
    _count_functions(result, functions)
    return result


def _count_texts(result: Result, model: str, entries: list[dict[str, Any]]) -> None:
    """Shares by model, grammar, limit, method and strategy. A text that the method refuses to begin counts as wrong."""
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in entries:
        if entry["strategy"] == "random":
            # Random logits know no model; the limit and the vocabulary are what matters.
            groups[f"random / {entry['grammar']} / {entry['limit']} / {entry['method']} / random"].append(entry)
        else:
            parts = (model, *(str(entry[name]) for name in ("grammar", "limit", "method", "strategy")))
            groups[" / ".join(parts)].append(entry)
    n_wrong = n_exact = 0
    for key, texts in groups.items():
        written = [text for text in texts if text["outcome"] != "refused"]
        for field, measure in MEASURES.items():
            result.shares[f"{key} / {measure}"] = [sum(text[field] for text in texts), len(texts)]
        result.shares[f"{key} / begun"] = [len(written), len(texts)]
        if written:
            per_token = [1e3 * text["seconds"] / max(1, text["n_tokens"]) for text in written]
            result.others[f"{key} / ms a token"] = float(f"{quantile(per_token, 0.5):.4g}")
            result.others[f"{key} / perplexity"] = float(f"{quantile([text['perplexity'] for text in written], 0.5):.4g}")
        if " / exact / " in key:
            field = "is_valid" if " / schema / " in key else "is_json"
            n_exact += len(written)
            n_wrong += sum(not text[field] or text["n_tokens"] > text["max_tokens"] for text in written)
    kind = "texts within an exact limit that are not complete and valid"
    result.never[f"{kind} ({model})"] = [n_wrong, n_exact]


def _count_functions(result: Result, entries: list[dict[str, Any]]) -> None:
    groups: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for entry in entries:
        entry["is_function"] &= not paper3_judges.has_tree_error(entry["text"].encode())
        hand = entry["hand"]
        if "random" in hand:
            groups[f"c / {entry['method']} / random"].append(entry)
        else:
            key = f"c / {entry['method']} / {hand['model']}"
            text = {name: entry[name] for name in ("text", "is_function", "n_tokens")}
            result.others[key] = text | {"perplexity": float(f"{entry['perplexity']:.4g}")}
    for key, texts in groups.items():
        result.shares[key] = [sum(text["is_function"] for text in texts), len(texts)]
    exact = [entry for entry in entries if entry["method"] == "exact"]
    result.never["functions within an exact limit that are not complete"] = [
        sum(not entry["is_function"] for entry in exact),
        len(exact),
    ]


#: Table 1 of the paper: syntax, schema and exact match in percent at e = 1.1, on Gemma2-2B and on Llama2-7B.
PAPER = {
    ("free", "greedy"): ("1 / 1 / 0", "2 / 2 / 0"),
    ("unlimited", "greedy"): ("4 / 3 / 0", "11 / 10 / 4"),
    ("unlimited", "beam"): ("1 / 1 / 0", "6 / 6 / 4"),
    ("unlimited", "tree"): ("4 / 3 / 0", "8 / 8 / 4"),
    ("estimate", "greedy"): ("100 / 62 / 21", "100 / 51 / 2"),
    ("estimate", "beam"): ("100 / 85 / 37", "100 / 67 / 29"),
    ("estimate", "tree"): ("100 / 86 / 58", "100 / 70 / 41"),
}


def tables(result: Result) -> dict[str, str]:
    return {
        "table1": _table1(result),
        "ratios": _ratios(result),
        "random": _random(result),
        "functions": _functions(result),
    }


def _table1(result: Result) -> str:
    rows = []
    for method, method_title in METHODS.items():
        for strategy in ("greedy", "beam", "tree"):
            for grammar in ("json", "schema"):
                key = f"smollm2 / {grammar} / 1.1 / {method} / {strategy}"
                if f"{key} / syntax" not in result.shares:
                    continue
                cells = [share(result.shares[f"{key} / {measure}"]) for measure in MEASURES.values()]
                time = number(result.others.get(f"{key} / ms a token"))
                paper = PAPER.get((method, strategy), ("–", "–")) if grammar == "json" else ("–", "–")
                n = str(result.shares[f"{key} / syntax"][1])
                held = {"free": "–"}.get(method, {"json": "JSON", "schema": "the schema"}[grammar])
                rows.append([method_title, STRATEGIES[strategy], held, n, *cells, time, *paper])
    head = ["method", "strategy", "grammar", "texts", "syntax", "schema", "gold", "ms a token"]
    return table([*head, "paper, Gemma2-2B", "paper, Llama2-7B"], rows, 3)


def _ratios(result: Result) -> str:
    rows = []
    for model, title in MODELS.items():
        for method, method_title in METHODS.items():
            for grammar in ("json", "schema"):
                keys = [f"{model} / {grammar} / {limit} / {method} / greedy / syntax" for limit in LIMITS]
                if not any(key in result.shares for key in keys):
                    continue
                held = "–" if method == "free" else {"json": "JSON", "schema": "the schema"}[grammar]
                rows.append([title, method_title, held, *(share(result.shares.get(key)) for key in keys)])
    return table(["model", "method", "grammar", *(f"e = {limit}" if "." in limit else f"{limit} tokens" for limit in LIMITS)], rows, 3)


def _random(result: Result) -> str:
    rows = []
    for method in ("estimate", "exact"):
        for grammar, measure in (("json", "syntax"), ("schema", "schema")):
            keys = [f"random / {grammar} / {limit} / {method} / random" for limit in ("least", *LIMITS[:-1])]
            if any(f"{key} / syntax" in result.shares for key in keys):
                cells = [share(result.shares.get(f"{key} / {measure}")) for key in keys]
                of_c = share(result.shares.get(f"c / {method} / random")) if grammar == "json" else "–"
                rows.append([METHODS[method], {"json": "JSON", "schema": "the schema"}[grammar], *cells, of_c])
    head = ["method", "grammar", "the least number", *(f"e = {limit}" for limit in LIMITS[:-1]), "C, 40 tokens"]
    return table(head, rows, 2)


def _functions(result: Result) -> str:
    rows = []
    for method, method_title in METHODS.items():
        for strategy in ("greedy", "beam", "tree"):
            found = result.others.get(f"c / {method} / {strategy}")
            if found:
                lines = [line for line in found["text"].split("\n") if line.strip()]
                text = "<br>".join(html.escape(line, quote=False).replace("|", "&#124;") for line in lines)
                verdict = "yes" if found["is_function"] else "no"
                rows.append([method_title, STRATEGIES[strategy], verdict, f"<code>{text}</code>", str(found["n_tokens"]), number(found["perplexity"])])
    return table(["method", "strategy", "complete", "text", "tokens", "perplexity"], rows, 4)


def plot(result: Result, folder: Path) -> None:
    """Figure 7: the share of complete JSON by limit, greedily."""
    figure, axes = plots.figure()
    colours = {"free": plots.COLOURS["no constraint"], "unlimited": plots.COLOURS["xgrammar"], "estimate": plots.COLOURS["outlines-core"]}
    colours["exact"] = plots.COLOURS["maskwright"]
    for index, (method, title) in enumerate(METHODS.items()):
        points = []
        for place, limit in enumerate(LIMITS):
            counts = result.shares.get(f"smollm2 / json / {limit} / {method} / greedy / syntax")
            if counts:
                points.append((place + (index - 1.5) * 0.12, counts[0] / counts[1], *wilson(*counts)))
        places, shares, lows, highs = zip(*points)
        errors = ([s - low for s, low in zip(shares, lows)], [high - s for s, high in zip(shares, highs)])
        axes.errorbar(places, shares, yerr=errors, fmt="o", markersize=4, color=colours[method], label=title)
    axes.set_xticks(range(len(LIMITS)), [f"e = {limit}" if "." in limit else f"{limit} tokens" for limit in LIMITS])
    axes.set_ylabel("complete JSON")
    axes.set_ylim(-0.03, 1.03)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    plots.save(figure, folder / "paper4-limits.svg")
