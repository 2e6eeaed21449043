"""The docstrings of the stub `_maskwright.pyi`: those of the compiled module, so that editors show them.

`python python/tests/stub_docs.py` writes them into the stub, after a change to the doc comments in `python/src`.
"""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from maskwright import _maskwright

STUB = Path(_maskwright.__file__).with_name("_maskwright.pyi")
#: Special methods whose docstrings say something; those of the others are Python's own.
TOLD = {"__copy__", "__deepcopy__"}


def with_docs(text: str) -> str:
    """A stub with the docstring of the module in every class, method and function that the module has."""
    lines = text.splitlines(keepends=True)
    # From the end, so that the lines before an item keep their numbers.
    for item, doc in reversed(list(_documented(ast.parse(text)))):
        first = item.body[0]
        is_doc = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        indent = " " * (item.col_offset + 4)
        quoted = indent + _quoted(doc, indent) + "\n"
        if not is_doc:  # A class whose first member is declared at once.
            decorators = getattr(first, "decorator_list", [])
            lines.insert(min([first, *decorators], key=lambda node: node.lineno).lineno - 1, quoted)
        elif isinstance(first.value.value, str):
            lines[first.lineno - 1 : first.end_lineno] = [quoted]
        else:  # `...`, which is on the last line of the signature.
            head = lines[first.lineno - 1][: first.col_offset].rstrip() + "\n"
            lines[first.lineno - 1 : first.end_lineno] = [head, quoted]
    return "".join(lines)


def _documented(tree: ast.Module):
    """The classes and functions of the stub, in their order, each with its docstring in the module."""
    for item in tree.body:
        if not isinstance(item, ast.ClassDef | ast.FunctionDef) or not hasattr(_maskwright, item.name):
            continue
        owner = getattr(_maskwright, item.name)
        yield item, inspect.getdoc(owner)
        for member in item.body if isinstance(item, ast.ClassDef) else ():
            if isinstance(member, ast.FunctionDef) and (not member.name.startswith("__") or member.name in TOLD):
                yield member, inspect.getdoc(getattr(owner, member.name))


def _quoted(doc: str, indent: str) -> str:
    prefix = "r" if "\\" in doc else ""
    lines = doc.splitlines()
    inner = "\n".join(indent + line if line and number else line for number, line in enumerate(lines))
    return f'{prefix}"""{inner}"""' if len(lines) == 1 else f'{prefix}"""{inner}\n{indent}"""'


if __name__ == "__main__":
    STUB.write_text(with_docs(STUB.read_text(encoding="utf-8")), encoding="utf-8")
