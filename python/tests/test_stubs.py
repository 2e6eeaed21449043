"""The stubs say what the module does."""

import ast
import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path

import maskwright
import pytest
from maskwright import _maskwright

STUB = Path(_maskwright.__file__).with_name("_maskwright.pyi")
TREE = ast.parse(STUB.read_text(encoding="utf-8"))
#: What is in the stub for its own sake.
HELPERS = {"_Tensor", "_HfTokenizer", "_HfFastTokenizer", "_TiktokenEncoding", "_Limits", "_Schema"}
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


#: Three errors came from the first call.
SNIPPET = """
import maskwright
c = maskwright.Compiler(maskwright.Tokenizer.from_tokens([b"a", b"</s>"], eos=[1]))
c.compile_lark('start: "a"', lexer="dynamic_complete", property_order="any", whitespace="compact", import_paths=["x"])
grammar = c.compile_json_schema({"$ref": "a"}, documents={"a": True, "b": '{}'}, strict=False)
if grammar.report[0].status == "enforced by the session":
    print(grammar.report[0].suggestion)
try:
    c.compile_regex("(")
except maskwright.GrammarError as error:
    line: int | None = error.line
    hint: str | None = error.hint
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed")
def test_types_of_calls_pass_mypy(tmp_path):
    (tmp_path / "snippet.py").write_text(SNIPPET)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "snippet.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    wrong = SNIPPET + 'c.compile_lark("", lexer="earley")\n'
    (tmp_path / "snippet.py").write_text(wrong)
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "earley" in run.stdout
