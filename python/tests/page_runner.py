"""Runs the blocks of a page in order, in a folder of their own.

The folder has a `tokenizer.json` of single bytes and a few special tokens, a copy of `examples`, and what stands beside the page. Blocks of
Python share one namespace. Where the command line would take SmolLM2, it finds a network with a thousandth of the weights.
"""

import contextlib
import doctest
import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path

import maskwright
from pages import CLONE, ROOT, blocks
from tokenizer_file import write_tokenizer

#: The special tokens of the folder's tokenizer.
DEEPSEEK = [f"<｜tool▁{name}｜>" for name in ["calls▁begin", "call▁begin", "sep", "call▁end", "calls▁end"]]
SPECIAL = ["<think>", "</think>", *DEEPSEEK, "<|mask|>", "<|pad|>", "</s>"]

#: The command line, as `cargo test` builds it.
PROGRAM = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target", "debug", "maskwright")
#: The names under which `maskwright pull` keeps models.
MODELS = ["SmolLM2-135M-Instruct.Q8_0.gguf", "gemma-3-270m.Q8_0.gguf"]
SECONDS = 120

#: How many blocks of each language had which outcome, in this process.
OUTCOMES = Counter()


class BlockError(AssertionError):
    """A block did not do what its page says."""


class Lacking(Exception):
    """What a block needs is not on this machine."""


def summary():
    """One line about the blocks so far."""
    by_outcome = {}
    for (outcome, language), number in sorted(OUTCOMES.items()):
        by_outcome.setdefault(outcome, []).append(f"{number} {language}")
    return "blocks of pages: " + "; ".join(f"{outcome}: {', '.join(each)}" for outcome, each in by_outcome.items())


class PageRunner:
    """`PageRunner(page, folder, model).run(block)`, block by block; `model` is a GGUF file for the command line, or None."""

    def __init__(self, page, folder, model=None):
        self.folder, self.model, self.names, self.printed = folder, model, {"__name__": "__main__"}, None
        write_tokenizer(folder / "tokenizer.json", [bytes([byte]) for byte in range(256)], SPECIAL)
        shutil.copytree(ROOT / "examples", folder / "examples")
        beside = (ROOT / page).parent
        if beside != ROOT / "examples" and beside.is_relative_to(ROOT / "examples"):
            shutil.copytree(beside, folder, dirs_exist_ok=True)

    def run(self, block):
        """Runs a block, whatever its mark says, or compares it with what the one before has printed."""
        if block.mark == "output":
            return self._compare(block)
        self.printed = None
        return getattr(self, f"_{block.language}", self._parse)(block)

    def _python(self, block):
        interpreted = re.search(r"^>>> ", block.text, re.MULTILINE)
        printed = io.StringIO()
        with contextlib.chdir(self.folder), contextlib.redirect_stdout(printed):
            try:
                (self._doctest if interpreted else self._exec)(block)
            except BlockError:
                raise
            except (Exception, SystemExit) as error:
                raise BlockError(f"{block.place}: {type(error).__name__}: {error}\n{printed.getvalue()}") from error
        self.printed = printed.getvalue()

    def _exec(self, block):
        # With the lines of the page, for messages.
        exec(compile("\n" * block.line + block.text, block.page, "exec"), self.names)

    def _doctest(self, block):
        example = doctest.DocTestParser().get_doctest(block.text, {}, block.page, block.page, block.line)
        example.globs, said = self.names, []
        failed = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example, out=said.append, clear_globs=False).failed
        if failed:
            raise BlockError(f"{block.place}:\n{''.join(said)}")

    def _sh(self, block):
        if sys.platform == "win32" or not PROGRAM.exists():
            raise Lacking(f"no bash, or no {PROGRAM}")
        text = CLONE.sub("maskwright", block.text)
        if self.model is None and re.search(r"maskwright generate|smollm2|gemma3", text):
            raise Lacking("no small model in MASKWRIGHT_SHARED")
        script = []
        for line, command in commands(text):
            expected = re.search(r"# exit code (\d+)$", command)
            expected = expected[1] if expected else "0"
            where = f"{block.page}:{block.line + line}"
            script.append(f'{command}\ncode=$?; [ $code = {expected} ] || {{ echo "{where}: exit code $code, not {expected}"; exit 99; }}')
        given = {"cwd": self.folder, "env": self._environment(), "stdin": subprocess.DEVNULL, "timeout": SECONDS}
        done = subprocess.run(
            ["bash", "-c", "\n".join(script)], **given, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        self.printed = done.stdout.decode(errors="replace")
        if done.returncode != 0:
            raise BlockError(f"{block.place}: {self.printed}")

    def _environment(self):
        """That of a user who has everything installed and no network."""
        home = self.folder / ".home"
        if not home.exists():
            (home / "bin").mkdir(parents=True)
            (home / "bin" / "maskwright").symlink_to(PROGRAM)
            for name in ("python", "python3"):
                (home / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
                (home / "bin" / name).chmod(0o755)
            for folder in ("crates", "docs", "python", "testdata"):
                (self.folder / folder).symlink_to(ROOT / folder)
            (home / "cache" / "models").mkdir(parents=True)
            for name in MODELS if self.model else ():
                (home / "cache" / "models" / name).symlink_to(self.model)
        own = {"HOME": str(home), "MASKWRIGHT_CACHE": str(home / "cache"), "LANG": "C.UTF-8", "PIP_NO_INDEX": "1"}
        return os.environ | own | {"HF_HUB_OFFLINE": "1", "PATH": f"{home / 'bin'}:{os.environ['PATH']}"}

    def _lark(self, block):
        # JSON in a grammar needs this lexer.
        lexer = "dynamic_complete" if "%json" in block.text else "contextual"
        self._compile(block, lambda compiler: compiler.compile_lark(block.text, lexer=lexer))

    def _gbnf(self, block):
        self._compile(block, lambda compiler: compiler.compile_gbnf(block.text))

    def _compile(self, block, compile_by):
        compiler = maskwright.Compiler(maskwright.Tokenizer.from_file(self.folder / "tokenizer.json"))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", maskwright.GrammarWarning)
                compile_by(compiler)
        except (maskwright.Error, maskwright.GrammarWarning) as error:
            raise BlockError(f"{block.place}: {error}") from error

    def _parse(self, block):
        try:
            if block.language == "json":
                _json(block.text)
            elif block.language == "toml":
                tomllib.loads(block.text)
            elif block.language == "yaml":
                _yaml(block.text)
        except ValueError as error:
            raise BlockError(f"{block.place}: {error}") from error

    def _compare(self, block):
        wanted, printed = (
            "\n".join(line.rstrip() for line in text.strip().splitlines()) for text in (block.text, self.printed or "")
        )
        pattern = ".*".join(re.escape(part) for part in re.split(r"\.\.\.|…", wanted))
        if not re.fullmatch(pattern, printed, re.DOTALL):
            raise BlockError(f"{block.place}: expected\n{wanted}\nbut it is\n{printed}")


def _json(text):
    """One value, or one in each line."""
    try:
        json.loads(text)
    except ValueError:
        lines = text.splitlines()
        if len(lines) < 2 or not all(line.startswith(("{", "[")) for line in lines):
            raise
        for line in lines:
            json.loads(line)


def _yaml(text):
    try:
        import yaml
    except ImportError as error:
        raise Lacking("no PyYAML") from error
    try:
        list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise ValueError(error) from error


def commands(text):
    """The commands of a shell's text, each with the number of its first line, from 1."""
    begun, first, end = [], 1, None
    for number, line in enumerate(text.splitlines(), 1):
        first = first if begun else number
        begun.append(line)
        if end is not None:
            end = None if line.strip() == end else end
        elif here := re.search(r"<<-?\s*['\"]?(\w+)['\"]?", line):
            end = here[1]
        if end is None and _is_whole("\n".join(begun)):
            yield first, "\n".join(begun)
            begun = []
    if begun:
        yield first, "\n".join(begun)


def _is_whole(command):
    """Whether nothing of a command is on the next line: no quotation is open, and no line continues."""
    if command.endswith("\\"):
        return False
    try:
        shlex.split(re.sub(r"<<.*", "", command, flags=re.DOTALL), comments=True)
    except ValueError:
        return False
    return True


def run_page(page, folder, model=None):
    """Runs what the tests run of the blocks of a page. Returns what was lacking for some of them."""
    runner, lacking, before = PageRunner(page, folder, model), [], "text"
    for block in blocks(page):
        outcome = block.state
        try:
            if outcome == "output" and before != "run":
                outcome = before
            elif outcome in ("run", "parsed", "output") and block.language != "rust":
                runner.run(block)
            elif outcome in ("run by", "shown"):
                _check(runner, block)
        except Lacking as error:
            outcome = "skipped"
            lacking.append(f"{block.place}: {error}")
        OUTCOMES[outcome, block.language] += 1
        before = before if block.mark == "output" else outcome
    return lacking


def _check(runner, block):
    """What can be checked of a block that is not run: the options of our command line, the syntax of JavaScript."""
    checks = []
    if block.language == "sh":
        for _, command in commands(CLONE.sub("maskwright", block.text)):
            if command.startswith("maskwright ") and not re.search(r"[|;<>&$`]", command):
                checks.append(f"{command.partition(' #')[0]} --help > /dev/null")
    elif block.language == "js" and shutil.which("node"):
        (runner.folder / "block.mjs").write_text(block.text, encoding="utf-8")
        checks.append("node --check block.mjs")
    for check in checks:
        with contextlib.suppress(Lacking):
            runner.run(replace(block, language="sh", text=check, mark=""))
