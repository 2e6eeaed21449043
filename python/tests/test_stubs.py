"""The stubs say what the module does."""

import ast
import importlib.util
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import maskwright
import pytest
import stub_docs
import tokenizers
import typing_names
from maskwright import _maskwright
from stub_docs import STUB

TREE = ast.parse(STUB.read_text(encoding="utf-8"))
#: What is in the stub for its own sake.
HELPERS = {"_Tensor", "_HfTokenizer", "_HfFastTokenizer", "_TiktokenEncoding", "_TypeAdapter", "_Model", "_AdvancedLimits", "_Limits", "_Options", "_IndentationNames", "_Indenter"}
#: Of functions with overloads the stub has several signatures, none of which is the module's.
OVERLOADED = {"fill_next_token_bitmask_batch"}


def stub_parameters(function):
    """The parameters of a stub's function: name, kind and default."""
    given = function.args
    plain = [*given.posonlyargs, *given.args]
    plain_defaults = [None] * (len(plain) - len(given.defaults)) + given.defaults
    found = [
        (arg.arg, "positional only" if arg in given.posonlyargs else "any", default)
        for arg, default in zip(plain, plain_defaults, strict=True)
    ]
    found += [(arg.arg, "keyword", default) for arg, default in zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    found += [(given.kwarg.arg, "options", None)] if given.kwarg else []
    return [
        (name, kind, "none" if default is None else repr(ast.literal_eval(default)))
        for name, kind, default in found
        if name not in ("self", "cls", "value")
    ]


def module_parameters(function):
    kinds = {
        inspect.Parameter.POSITIONAL_ONLY: "positional only",
        inspect.Parameter.POSITIONAL_OR_KEYWORD: "any",
        inspect.Parameter.KEYWORD_ONLY: "keyword",
        inspect.Parameter.VAR_KEYWORD: "options",
    }
    return [
        (name, kinds[each.kind], "none" if each.default is inspect.Parameter.empty else repr(each.default))
        for name, each in inspect.signature(function).parameters.items()
        if name not in ("self", "cls", "value")
    ]


def functions():
    """Every function and method of the stub with the module's."""
    for item in TREE.body:
        if isinstance(item, ast.FunctionDef) and item.name not in OVERLOADED:
            yield pytest.param(item, getattr(_maskwright, item.name), id=item.name)
        if not isinstance(item, ast.ClassDef) or item.name in HELPERS:
            continue
        owner = getattr(_maskwright, item.name)
        for member in item.body:
            is_property = isinstance(member, ast.FunctionDef) and member.decorator_list and member.decorator_list[0].id == "property"
            if not isinstance(member, ast.FunctionDef) or is_property or member.name in ("__eq__", "__hash__"):
                continue
            function = owner if member.name == "__new__" else getattr(owner, member.name)
            yield pytest.param(member, function, id=f"{item.name}.{member.name}")


@pytest.mark.parametrize(("stub", "function"), list(functions()))
def test_signatures_are_those_of_the_module(stub, function):
    """`compile_lark` lacked three parameters in the stub, and showed `import_paths=Ellipsis` in the module."""
    assert module_parameters(function) == stub_parameters(stub)


def test_options_of_compile_are_those_of_what_it_calls():
    [options] = [item for item in TREE.body if isinstance(item, ast.ClassDef) and item.name == "_Options"]
    named = {item.target.id for item in options.body if isinstance(item, ast.AnnAssign)}
    named |= set(maskwright.JsonOptions.__annotations__)
    called = [maskwright.Compiler.compile_json_schema, maskwright.Compiler.compile_lark]
    taken = {name for function in called for name, kind, _ in module_parameters(function) if kind == "keyword"}
    assert named == taken - {"cancel"}


def test_every_public_name_has_a_stub():
    classes = {item.name: item for item in TREE.body if isinstance(item, ast.ClassDef)}
    named = {item.name for item in TREE.body if isinstance(item, ast.ClassDef | ast.FunctionDef)} - HELPERS
    assert named == {name for name in vars(_maskwright) if not name.startswith("__")}
    for name, item in classes.items():
        if name in HELPERS or issubclass(getattr(_maskwright, name), BaseException | Warning):
            continue
        stubs = {member.name for member in item.body if isinstance(member, ast.FunctionDef)}
        members = {member for member in vars(getattr(_maskwright, name)) if not member.startswith("__")}
        assert members == {stub for stub in stubs if not stub.startswith("__")}, name


def test_the_statuses_of_a_report_are_those_of_the_module():
    """The stub lacked "enforced by the session"."""
    text = STUB.read_text(encoding="utf-8")
    statuses = ["enforced", "enforced by the session", "annotation", "not enforced"]
    assert f"def status(self) -> Literal{statuses!r}".replace("'", '"') in text
    assert all(f'"{status}"' in maskwright.ReportEntry.status.__doc__ for status in statuses)


def test_docstrings_are_those_of_the_module():
    text = STUB.read_text(encoding="utf-8")
    assert stub_docs.with_docs(text) == text, "run `python python/tests/stub_docs.py`"


def is_old(function):
    return any(isinstance(each, ast.Call) and each.func.id == "deprecated" for each in function.decorator_list)


def test_the_typed_program_uses_every_name():
    program = Path(typing_names.__file__).read_text(encoding="utf-8")
    named = set(maskwright.__all__)
    for item in TREE.body:
        if isinstance(item, ast.ClassDef) and item.name in named:
            functions = {member.name for member in item.body if isinstance(member, ast.FunctionDef) and not is_old(member)}
            attributes = {member.target.id for member in item.body if isinstance(member, ast.AnnAssign)}
            named |= {name for name in functions | attributes if not name.startswith("_")}
    # Imported by its name, or an attribute of something.
    assert {name for name in named if not re.search(rf"(\.|import .*){name}\b", program)} == set()


def test_the_typed_program_runs(tmp_path, tokenizer, tokenizer_file):
    hf = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    shutil.copyfile(tokenizer_file, tmp_path / "tokenizer.json")
    for each in typing_names.tokenizers_of_every_kind(tmp_path, hf):
        typing_names.tokenizer_members(each)
    with pytest.raises(maskwright.TokenizerError):
        typing_names.tokenizer_of_a_model(tmp_path / "absent.gguf")
    compiler = typing_names.compilers(tokenizer, tmp_path)
    grammars = typing_names.grammars(compiler, tmp_path)
    reports = [typing_names.report(grammar) for grammar in grammars]
    assert typing_names.support() == "enforced in full"
    assert "/ type" not in reports[0] and reports[-1] == []
    assert len(typing_names.types(compiler, tmp_path)) == 20
    grammar = compiler.compile_regex("aaa*")
    typing_names.masks(grammar, tokenizer)
    assert typing_names.options(compiler).check("{}").is_valid
    scores = typing_names.np.zeros((2, tokenizer.vocab_size), dtype=typing_names.np.float32)
    typing_names.processors(grammar, typing_names.np.zeros((2, 1), dtype=typing_names.np.int64), scores)
    typing_names.matcher_members(grammar, tokenizer.encode("a")[0], tmp_path)
    assert typing_names.template(grammar, tokenizer) == b"aa"
    assert typing_names.canvas(grammar, tokenizer)[:2] == tokenizer.encode("aa")
    assert typing_names.diffused(grammar, tokenizer) == tokenizer.encode("aa")
    assert typing_names.events(compiler)[:3] == ["f", '{"a":1}', "tool"]
    assert typing_names.errors(compiler)["line"] == 1
    with pytest.raises(ValueError, match="whitespace"):
        typing_names.refused(compiler)
    error = maskwright.BatchError()
    error.errors = {1: ValueError(), 0: TypeError()}
    assert [row for row, _ in typing_names.batch_errors(error)] == [0, 1]


SETTINGS = Path(__file__).parents[1] / "pyproject.toml"
ALLOWED = Path(__file__).with_name("stubtest.txt")
STUBTEST = ["mypy.stubtest", "--mypy-config-file", SETTINGS, "--allowlist", ALLOWED, "--ignore-unused-allowlist"]


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
@pytest.mark.parametrize(
    "command",
    [
        pytest.param(["mypy", "--strict", "--config-file", SETTINGS, typing_names.__file__], id="mypy"),
        pytest.param([*STUBTEST, "maskwright"], id="stubtest"),
    ],
)
def test_types_pass(command, tmp_path):
    # In an empty folder, so that the installed package is checked.
    run = subprocess.run([sys.executable, "-m", *command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
