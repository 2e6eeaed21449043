"""The examples in the docstrings and the guides."""

import doctest
import os
import re
from pathlib import Path

import maskwright
import pytest
from tokenizer_file import write_tokenizer

DOCUMENTED = [maskwright, *(getattr(maskwright, name) for name in maskwright.__all__ if not name.startswith("_"))]


def test_examples():
    runner = doctest.DocTestRunner()
    names = vars(maskwright) | {"maskwright": maskwright}
    for item in DOCUMENTED:
        example = doctest.DocTestParser().get_doctest(item.__doc__, dict(names), item.__name__, None, None)
        runner.run(example)
    assert runner.summarize().failed == 0 and runner.summarize().attempted > 8


CLASSES = [name for name in maskwright.__all__ if isinstance(getattr(maskwright, name), type)]


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_have_docstrings(name):
    members = vars(getattr(maskwright, name)).items()
    # What is data has no docstring of its own: the class says what it is.
    said = getattr(maskwright, name).__doc__
    undocumented = [
        member
        for member, value in members
        if not member.startswith("_") and not (f"`{member}`" in said if value is None else value.__doc__)
    ]
    assert undocumented == []


GUIDES = Path(__file__).parents[2] / "docs" / "guides"


#: The special tokens of the tokenizer that guides find beside them.
DEEPSEEK = [f"<｜tool▁{name}｜>" for name in ["calls▁begin", "call▁begin", "sep", "call▁end", "calls▁end"]]
SPECIAL = ["<think>", "</think>", *DEEPSEEK, "<|mask|>", "<|pad|>", "</s>"]


#: The guides whose Python examples are written as in an interpreter.
RUN = ["built-in-grammars", "diffusion", "json-schema", "own-loop", "pydantic", "reasoning-models", "regex", "structural-tags", "tool-calls"]


@pytest.mark.parametrize("name", [f"{name}.md" for name in RUN])
def test_guides_run(name, tmp_path):
    """The examples of a guide, one after the other, in a folder of their own with a `tokenizer.json`."""
    write_tokenizer(tmp_path / "tokenizer.json", [bytes([byte]) for byte in range(256)], SPECIAL)
    text = (GUIDES / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    example = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, name, None, None)
    assert len(example.examples) > 8
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example).failed
    finally:
        os.chdir(before)
    assert failed == 0


def test_python_of_the_readme_runs():
    """Runs the Python blocks of README in order, except the one that needs a model."""
    text = (GUIDES.parents[1] / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    own = [block for block in blocks if "model.generate" not in block]
    assert len(own) == len(blocks) - 1 >= 4
    names = {}
    for block in own:
        exec(block, names)
    written = tokenizer_text(names["tokenizer"], names["grammar"])
    assert re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", written)
    assert names["template"].complete().startswith(b'{"a') and names["canvas"].decide() == "possible"


def tokenizer_text(tokenizer, grammar):
    """A text of the grammar; the output of README's first block is random."""
    return tokenizer.decode(maskwright.Matcher(grammar).finish()).decode()
