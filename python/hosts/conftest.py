"""A small model in each host, and grammars with judges of their own. Run by `cargo xtask hosts`."""

import contextlib
import json
import os
import re
import tempfile
from pathlib import Path

import jsonschema
import maskwright
import pytest

GGUF = Path(os.environ["MASKWRIGHT_HOSTS_GGUF"])
FOLDER = Path(os.environ["MASKWRIGHT_HOSTS_MODEL"])
GUIDES = Path(__file__).parents[2] / "docs" / "guides"

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


def run_guide(name):
    """Runs a guide's examples in order. Skips interpreter sessions and asynchronous ones. Returns the names that they define."""
    text = (GUIDES / name).read_text(encoding="utf-8")
    text = text.replace("SmolLM2-135M-Instruct.Q8_0.gguf", str(GGUF))
    text = text.replace("HuggingFaceTB/SmolLM2-135M-Instruct", str(FOLDER))
    names = {}
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        if block.startswith(">>>") or "await " in block:
            continue
        # Some write a file beside them.
        with tempfile.TemporaryDirectory() as here, contextlib.chdir(here):
            exec(compile(block, name, "exec"), names)
    return names


@pytest.fixture(scope="session")
def folder():
    return FOLDER


@pytest.fixture(scope="session")
def gguf():
    return GGUF


@pytest.fixture(scope="session")
def gguf_grammars():
    return compile_all(maskwright.Compiler(maskwright.Tokenizer.from_gguf(GGUF)))
