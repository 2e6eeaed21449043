"""The paper's small examples: figure 1, the walk of section 4, and the texts of section 3.1."""

from __future__ import annotations

from typing import Any

import maskwright

from lab import models
from lab.generate import Sampler, decode, write
from lab.log import Log
from paper1_patterns import IP

#: Section 4's grammar as the text describes it. `" "` stands between the words of the grammar.
GRAMMAR = r"""
start: DEF NAME "(" ")" ":" PASS
DEF: "def"
PASS: "pass"
NAME: /[^\W\d]\w*/
%ignore " "
"""

#: The requests of section 3.1 and their constraints.
REQUESTS = {
    "choice": ("Is 1+1=2? ", "Yes|No|Never|Always"),
    "year": ("In what year was Noam Chomsky born?", r"\s*19[0-9]{2}"),
    "IP address": ("What is the IP address of the Google DNS servers? ", IP),
}
MAX_TOKENS = 30

#: What GPT-2 medium wrote in the paper: free (shortened) and guided.
PAPERS_TEXTS = {
    "choice": ("This is probably the most perplexing question. As I said in one of my articles …", "Always"),
    "year": ("Professor Chomsky was born in about 1895 in Mille Medad, near Paris. …", "1952"),
    "IP address": ("Passive DNS servers are at DNS servers that are private. …", "2.2.6.1"),
}


def sets() -> dict[str, list[str]]:
    """The strings of the paper's vocabularies that are allowed after each text that the paper discusses."""
    figure = Vocabulary(["A", ".", "42", ".2", "1"])
    number = figure.compiler.compile_regex(r"([0-9]*)?\.?[0-9]*")
    walk = Vocabulary(["d", "ef", "f", "oo(", "):", " ", "pass"])
    program = walk.compiler.compile_lark(GRAMMAR, lexer="basic")
    found = {f"figure 1 / after {text!r}": figure.allowed(number, text) for text in ("", ".2", "1")}
    return found | {"section 4 / after 'def f'": walk.allowed(program, "def f")}


#: The same sets in the paper. After `def f` it lists "at least" these strings, and says that only "):" is refused.
PAPERS_SETS = {
    "figure 1 / after ''": [".", "42", ".2", "1"],
    "figure 1 / after '.2'": ["42", "1"],
    "figure 1 / after '1'": [".", "42", ".2", "1"],
    "section 4 / after 'def f'": ["d", "ef", "oo(", " ", "pass"],
}


class Vocabulary:
    """A vocabulary of a few strings and an end of text."""

    def __init__(self, strings: list[str]) -> None:
        self.strings = strings
        tokens = [string.encode() for string in strings] + [b"</s>"]
        self.compiler = maskwright.Compiler(maskwright.Tokenizer.from_tokens(tokens, eos_token_ids=[len(strings)]))

    def allowed(self, grammar: maskwright.CompiledGrammar, text: str) -> list[str]:
        """The strings that may come after `text`, without the end of text."""
        matcher = maskwright.Matcher(grammar)
        if text and not matcher.accept_bytes(text):
            raise AssertionError(f"{text!r} is refused")
        return [string for token, string in enumerate(self.strings) if matcher.validate_tokens([token])]


def texts(log: Log) -> dict[str, Any]:
    """Section 3.1's free and guided texts, greedy, of at most 30 tokens."""
    found: dict[str, Any] = {}
    for name in models.NAMES:
        wanted = [f"{task} / {name} / {kind}" for task in REQUESTS for kind in ("free", "guided")]
        if not all(key in log for key in wanted):
            _write(models.Model(name), log)
        found |= {key: log.entries[key]["text"] for key in wanted}
    return found


def _write(model: models.Model, log: Log) -> None:
    compiler = maskwright.Compiler(model.tokenizer)
    for task, (request, pattern) in REQUESTS.items():
        grammar = compiler.compile_regex(pattern, dialect="python")
        for kind, matcher in {"free": None, "guided": maskwright.Matcher(grammar, max_tokens=MAX_TOKENS)}.items():
            prompt = model.prompt(request)
            text = write(model, model.tokenizer, prompt, MAX_TOKENS, Sampler(temperature=0), matcher)
            log.append(f"{task} / {model.name} / {kind}", {"text": decode(model.tokenizer, text.ids)})
            print(f"paper1 examples: {task} / {model.name} / {kind}", flush=True)
