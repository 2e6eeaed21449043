"""A small model in each host, and grammars with judges of their own. Run by `cargo xtask hosts`."""

import dataclasses
import json
import os
import re
import sys
from pathlib import Path

import jsonschema
import maskwright
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from page_runner import PageRunner
from pages import blocks, is_run_by

GGUF = Path(os.environ["MASKWRIGHT_HOSTS_GGUF"])
FOLDER = Path(os.environ["MASKWRIGHT_HOSTS_MODEL"])
#: What stands for the model in pages.
SMOLLM2 = {"HuggingFaceTB/SmolLM2-135M-Instruct": FOLDER, "SmolLM2-135M-Instruct.Q8_0.gguf": GGUF}

#: How many tokens a text may have. Many of the schemas' texts would be longer if nothing ended them.
MAX_NEW_TOKENS = 28

SCHEMAS = {
    "person": {
        "type": "object",
        "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0, "maximum": 150}},
        "required": ["name", "age"],
        "additionalProperties": False,
    },
    "colours": {"type": "array", "items": {"enum": ["red", "green", "blue", "gold"]}, "minItems": 2, "uniqueItems": True},
    "point": {
        "type": "object",
        "properties": {"x": {"type": "number"}, "y": {"type": "number"}, "label": {"type": "string", "minLength": 3}},
        "required": ["x", "y"],
        "additionalProperties": False,
    },
    "anything": {"anyOf": [{"type": "string", "minLength": 10}, {"type": "array", "items": {"type": "string"}}]},
}
PATTERNS = {"date": r"(19|20)\d\d-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])", "address": r"[a-z]{2,12}(\.[a-z]{2,8})?@[a-z]{3,12}\.(com|org)"}
CHOICES = ["definitely", "definitely not", "maybe", "no", "yes"]
GBNF = 'root ::= term ("+" term)*\nterm ::= [1-9] [0-9]? | "(" root ")"\n'
NAMES = [*SCHEMAS, *PATTERNS, "choice", "gbnf"]

PROMPTS = [
    "Describe Ada Lovelace.",
    "Which colours do you like? I like many of them, and I would like to know yours.",
    "Where is the treasure?",
    "Say something kind to a friend who has had a long and tiring day.",
    "When did the war end?",
    "What is your address?",
    "Will it rain tomorrow?",
    "How much is it?",
]


def compile_all(compiler):
    """A grammar for each name."""
    made = {name: compiler.compile_json_schema(schema) for name, schema in SCHEMAS.items()}
    made |= {name: compiler.compile_regex(pattern) for name, pattern in PATTERNS.items()}
    return made | {"choice": compiler.compile_choice(CHOICES), "gbnf": compiler.compile_gbnf(GBNF)}


def check(name, text):
    """Whether a text is one of the named grammar; judged without this package."""
    if name in SCHEMAS:
        jsonschema.Draft202012Validator(SCHEMAS[name]).validate(json.loads(text))
    elif name in PATTERNS:
        assert re.fullmatch(PATTERNS[name], text), text
    elif name == "choice":
        assert text in CHOICES
    else:
        assert re.fullmatch(r"[0-9+()]+", text) and isinstance(eval(text), int), text


def run_page(page, command, folder, replaced):
    """Runs the blocks of a page that say that a command runs them, in order. `replaced` is what stands for what in them.

    Returns the runner, which has the names that they define and what the last one has printed.
    """
    runner, n_run = PageRunner(page, folder), 0
    for block in blocks(page):
        if is_run_by(block, command):
            text = block.text
            for old, new in replaced.items():
                text = text.replace(old, str(new))
            runner.run(dataclasses.replace(block, text=text))
            n_run += 1
    assert n_run
    return runner


@pytest.fixture(scope="session")
def folder():
    return FOLDER


@pytest.fixture(scope="session")
def gguf():
    return GGUF


@pytest.fixture(scope="session")
def gguf_grammars():
    return compile_all(maskwright.Compiler(maskwright.Tokenizer.from_gguf(GGUF)))
