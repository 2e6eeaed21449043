"""What MkDocs does not do by itself for this site: `mkdocs.yml` names this file.

* Some pages beside `docs/` are pages of the site too.
* Links that leave the site lead to the repository, if there is such a file.
* `<picture>` elements follow the reader's choice of light or dark.
* `<!-- python: NAMES -->` becomes the reference of these names, read from the package's stub and sources, which are not imported.
* Lists are written as Python-Markdown wants them, and anchors are GitHub's: the pages are the same in both places.
* The playground is there if `cargo xtask js` has built it.
"""

import ast
import inspect
import logging
import posixpath
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://github.com/maskwright/maskwright"
PACKAGE = ROOT / "python" / "python" / "maskwright"
#: Pages at the root of the repository that are read on the site too.
AT_ROOT = ["SECURITY.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "GOVERNANCE.md"]
#: Long pages that have every word, and that nobody looks words up for.
SELDOM_MEANT = ["papers.md", "structural-tags-compared.md", "api-changes.md", "performance.md", "versioning.md"]
SELDOM_MEANT += ["CONTRIBUTING.md", "ARCHITECTURE.md"]
log = logging.getLogger("mkdocs.hooks.maskwright")


def on_config(config: Any) -> Any:
    config.mdx_configs.setdefault("toc", {})["slugify"] = lambda text, separator: slug(text)
    return config


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    for file in [file for file in files if file.src_uri.startswith("playground/")]:
        files.remove(file)
    built = ROOT / "target" / "playground"
    found = [path for path in built.rglob("*") if path.is_file()] if (built / "index.html").exists() else []
    for path in found:
        name = f"playground/{path.relative_to(built).as_posix()}"
        files.append(File.generated(config, name, abs_src_path=str(path)))
    if not found:
        log.info("the playground is not part of this site: `cargo xtask js` builds it")
        said = "<!doctype html><title>Playground</title><p>This copy of the site was built without the playground. <a href=../index.html>Back</a>"
        files.append(File.generated(config, "playground/index.html", content=said))
    for name in AT_ROOT:
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    inside = {file.src_uri for file in files}
    text = outside_of_code(lambda line: to_repository(line, page.file.src_uri, inside), with_reference(markdown))
    name = page.file.src_uri
    # Who searches for a keyword or an option looks it up.
    is_table = name.startswith("reference/") and name != "reference/python.md"
    page.meta["search"] = {"boost": 0.3 if name in SELDOM_MEANT else 2 if is_table else 1}
    # Prompts are not selected with an example.
    return as_python_markdown(with_pictures(text)).replace("```python\n>>>", "```pycon\n>>>")


def slug(heading: str) -> str:
    """The anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def lines_of(text: str) -> Iterator[tuple[str, bool]]:
    """The lines, and whether they are in a fenced block."""
    fence = None
    for line in text.split("\n"):
        mark = re.match(r" *(```+|~~~+)", line)
        yield line, bool(fence or mark)
        if mark and (fence is None or mark[1].startswith(fence)):
            fence = None if fence else mark[1]


def outside_of_code(change: Callable[[str], str], text: str) -> str:
    """The text with each line changed that is not in a fenced block."""
    return "\n".join(line if is_code else change(line) for line, is_code in lines_of(text))


def to_repository(line: str, page: str, inside: set[str]) -> str:
    """The line with links to where their pages are on the site, or else in the repository."""
    folder = "" if page in AT_ROOT else posixpath.join("docs", posixpath.dirname(page))

    def moved(link: re.Match[str]) -> str:
        target, anchor = link[1], link[2] or ""
        if ":" in target:
            return link[0]
        path = posixpath.normpath(posixpath.join(folder, target))
        name = path.removeprefix("docs/")
        if name in inside and (name != path or name in AT_ROOT):
            return f"]({posixpath.relpath(name, posixpath.dirname(page) or '.')}{anchor})"
        if not (ROOT / path).exists():
            log.warning("%s links to %s, which does not exist", page, target)
        kind = "tree" if (ROOT / path).is_dir() else "blob"
        return f"]({REPOSITORY}/{kind}/main/{path}{anchor})"

    return re.sub(r"\]\(([^)\s#]+)(#[^)\s]*)?\)", moved, line)


def with_pictures(text: str) -> str:
    """Pictures in two versions as two images, of which the theme shows one."""
    picture = r"<picture>\s*<source [^>]*dark[^>]*srcset=\"([^\"]*)\"[^>]*>\s*(<img src=\")([^\"]*)(\"[^>]*>)\s*</picture>"
    return re.sub(picture, r"\2\3#only-light\4\2\1#only-dark\4", text)


def as_python_markdown(text: str) -> str:
    """Lists as Python-Markdown reads them: with a line before them, and what belongs to an item indented by four columns."""
    lines, before, width, has_parts = [], "", 0, False
    for line, is_code in lines_of(text):
        item = None if is_code else re.match(r"( *)([*-]|\d+\.) ", line)
        if item and not item[1]:
            is_first = before.strip() and not before.startswith(" ") and not re.match(r"([*-]|\d+\.) ", before)
            lines += [""] * bool(is_first or has_parts)
            width, has_parts = len(item[0]), False
        elif line and not line.startswith(" ") and not before.strip():
            width = 0
        is_part = width and line.startswith(" " * width)
        has_parts = has_parts or bool(is_part and not before.strip())
        lines.append(" " * (4 - width) + line if is_part else line)
        before = line
    return "\n".join(lines)


def with_reference(text: str) -> str:
    """The text with each `<!-- python: NAMES -->` followed by the reference of these names."""
    return re.sub(r"<!-- python: (.*?) -->", lambda mark: "\n".join(map(reference, mark[1].split())), text, flags=re.DOTALL)


def reference(name: str) -> str:
    """What the package says about a name: `Matcher`, or `integrations.mlx.LogitsProcessor`."""
    folder, _, short = name.rpartition(".")
    module = folder.replace(".", "/") + ".py"
    for file in [PACKAGE / module] if folder else [PACKAGE / "_maskwright.pyi", *sorted(PACKAGE.glob("_*.py"))]:
        source = file.read_text(encoding="utf-8")
        nodes = [node for node in ast.parse(source).body if name_of(node) == short]
        if nodes:
            return "\n".join(["", f"### {name}", *described(nodes, source)])
    raise LookupError(f"the package has no {name}")


def name_of(node: ast.stmt) -> str | None:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    return getattr(node, "name", None)


def described(nodes: list[ast.stmt], source: str) -> Iterator[str]:
    """The signatures of a name (several if it is overloaded), what its docstring says, and its members."""
    signatures, said = [], ""
    for node in nodes:
        decorators = getattr(node, "decorator_list", [])
        body = getattr(node, "body", None)
        first = min([node.lineno, *(item.lineno for item in decorators)]) - 1
        # What stands before the body; a body of `...` is on the last line of the signature.
        is_stub = body and isinstance(body[0], ast.Expr) and getattr(body[0].value, "value", None) is ...
        last = (body[0].lineno if is_stub else max(body[0].lineno - 1, node.lineno)) if body else node.lineno
        lines = [line for line in source.split("\n")[first:last] if line.strip() not in ("@final", "@overload", "@type_check_only")]
        signatures += [inspect.cleandoc("\n" + "\n".join(lines)).removesuffix(" ...").removesuffix(":")]
        said = said or (body and ast.get_docstring(node)) or ""
    yield "\n```python\n" + "\n".join(signatures) + "\n```\n\n" + with_examples(said) + "\n"
    if isinstance(nodes[0], ast.ClassDef):
        yield from members(nodes[0], source)


def members(of: ast.ClassDef, source: str) -> Iterator[str]:
    """The public methods, properties and attributes of a class."""
    named: dict[str, list[ast.stmt]] = {}
    for node in of.body:
        name = name_of(node)
        is_call = name in ("__new__", "__init__", "__call__") and len(node.args.args) + len(node.args.kwonlyargs) > 1
        if name and (is_call or not name.startswith("_")):
            named.setdefault(name, []).append(node)
    said = {id(a): b.value.value for a, b in zip(of.body, of.body[1:]) if isinstance(b, ast.Expr) and isinstance(b.value, ast.Constant)}
    for name, nodes in named.items():
        if isinstance(nodes[0], ast.AnnAssign):
            text = said.get(id(nodes[0]), "")
            yield f"* `{ast.unparse(nodes[0])}`" + (f": {text}" if text else "")
        else:
            yield f"\n#### {of.name}.{name}" if not name.startswith("__") else ""
            yield from described(nodes, source)


def with_examples(docstring: str) -> str:
    """A docstring as Markdown, its examples in fenced blocks."""
    return re.sub(r"^>>> .*?(?=^\s*$|\Z)", lambda example: f"```pycon\n{example[0].rstrip()}\n```\n", docstring, flags=re.DOTALL | re.MULTILINE)
