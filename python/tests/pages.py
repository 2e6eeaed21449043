"""The fenced blocks of README, the site, the examples and the other pages, and what becomes of each.

The language of a block decides: Python, shell and Rust are run, grammars compiled, data parsed. A comment on the line before the fence
says what else becomes of it:

* `<!-- run by: COMMAND -->`: that command runs it, in another program or with a model. `faults` checks that it does.
* `<!-- shown: REASON -->`: nothing runs it. What can be checked is: its syntax, and the options of our own commands.
* `<!-- output -->`: it is what the block before it prints. `...` and `…` stand for any text.

A `text` block without a comment is a drawing, or output that differs from time to time.
"""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

#: Where pages are. Those of the last line have few blocks, and the same rules.
PAGES = ["*.md", "docs/**/*.md", "examples/**/*.md", "python/*.md", "js/*.md", "js/package/*.md"]
PAGES += [".github/**/*.md", "crates/**/*.md", "fuzz/*.md", "research/**/*.md", "testdata/**/*.md"]

RUN = {"python", "sh", "rust", "lark", "gbnf"}
PARSED = {"json", "toml", "yaml"}

FENCE = re.compile(r"^( *)(`{3,}|~{3,})\s*([\w+-]*)")
MARK = re.compile(r"^<!-- (?:(output)|(run by|shown): (.+)) -->$")

#: Programs that a test does not start: they install, serve, fetch, or take minutes.
ELSEWHERE = "apt|brew|cargo|cmake|conda|curl|docker|git|go|helm|hf|huggingface-cli|kubectl|make|node|npm|npx|ollama|pip|pip3|rustup|uv|vllm|wget"
STARTS_ELSEWHERE = re.compile(rf"(?:^|[;&|(]|\s&&)\s*(?:[A-Z_]+=\S+ )*(?:\S*/)?({ELSEWHERE})\s", re.MULTILINE)
#: A pull of the command line's model, and the command line from a clone: these a test can do.
CLONE = re.compile(r"cargo run (?:--release |-q |--quiet )*--bin maskwright --(?= )")


@dataclass(frozen=True)
class Block:
    """A fenced block."""

    #: The page, from the root of the repository, with slashes.
    page: str
    #: The line of its fence, from 1.
    line: int
    language: str
    #: What is between the fences, without their indentation.
    text: str
    #: `output`, `run by`, `shown`, or empty; and what the comment says of it.
    mark: str = ""
    said: str = ""

    @property
    def place(self):
        return f"{self.page}:{self.line}"

    @property
    def state(self):
        """`run`, `parsed`, `run by`, `shown`, `output` or `text`."""
        if self.mark or self.language == "text":
            return self.mark or "text"
        return "run" if self.language in RUN else "parsed"


def pages():
    """The paths of all pages, from the root of the repository."""
    found = {path for pattern in PAGES for path in ROOT.glob(pattern)}
    return sorted(path.relative_to(ROOT).as_posix() for path in found if "node_modules" not in path.parts)


def blocks(page):
    """The fenced blocks of a page, in order."""
    found, before, lines = [], "", iter(enumerate((ROOT / page).read_text(encoding="utf-8").splitlines(), 1))
    for number, line in lines:
        fence = FENCE.match(line)
        if fence is None:
            before = line.strip() or before
            continue
        indentation, mark = len(fence[1]), MARK.match(before)
        text = []
        for _, inner in lines:
            if inner.strip().startswith(fence[2]) and not inner.strip().strip(fence[2][0]):
                break
            blank = len(inner) - len(inner.lstrip(" "))
            text.append(inner[min(indentation, blank) :] + "\n")
        kind, said = ((mark[1] or mark[2]), mark[3] or "") if mark else ("", "")
        found.append(Block(page, number, fence[3], "".join(text), kind, said))
        before = ""
    return found


def run_by(command):
    """The pages with blocks that a command runs, for that command's tests."""
    return [page for page in pages() if any(is_run_by(block, command) for block in blocks(page))]


def is_run_by(block, command):
    return block.mark == "run by" and block.said == command


def faults(page):
    """What is wrong with the blocks of a page before anything is run."""
    found, before = [], None
    for block in blocks(page):
        found += [f"{block.place}: {said}" for said in _faults(block, before)]
        before = before if block.mark == "output" else block
    return found


def _faults(block, before):
    if not block.language:
        yield "the block has no language: `text` is for output and drawings"
    elif not block.mark and block.language not in RUN | PARSED | {"text"}:
        yield f"nothing runs {block.language}: say `<!-- run by: COMMAND -->` or `<!-- shown: REASON -->` before it"
    if block.state == "text" and block.text.startswith(("$ ", ">>> ")):
        yield "it is code, with its output: use `sh` or `python`, and `<!-- output -->` before what it prints"
    if block.mark == "output" and (before is None or before.state not in ("run", "run by")):
        yield "it is the output of nothing that is run"
    if block.mark == "run by":
        yield from _runs(block)
    if block.mark == "shown" and len(block.said.split()) < 3:
        yield "the reason is too short"
    if block.state == "run" and block.language == "sh" and (started := STARTS_ELSEWHERE.search(CLONE.sub("maskwright", block.text))):
        yield f"`{started[1]}` is not started in a test: say `<!-- run by: COMMAND -->` or `<!-- shown: REASON -->` before it"
    if block.state == "run" and block.language == "rust" and not _is_doctest(block.page):
        yield "crates/maskwright/src/pages.rs does not include this page"
    if block.mark and block.language == "python":
        try:
            ast.parse(block.text)
        except SyntaxError as error:
            yield f"line {error.lineno}: {error.msg}"
    if block.mark and block.language == "sh":
        yield from _unknown_tasks(block.text)


def _runs(block):
    """Whether the tests behind a command read this page. `cargo test` and `node` are run with the tests, the rest by hand."""
    if host := re.fullmatch(r"cargo xtask hosts ([a-z-]+)", block.said):
        if host[1] not in _hosts():
            yield f"xtask/src/hosts.rs has no host {host[1]}"
        elif f'run_by("{block.said}")' not in _texts("python/hosts/*.py"):
            yield f'no test in python/hosts runs the pages of `run_by("{block.said}")`'
    elif block.said == "cargo xtask js":
        if "cargo xtask js" not in _texts("js/test/pages.test.mjs"):
            yield "js/test/pages.test.mjs runs no pages"
    elif crate := re.fullmatch(r"cargo test -p maskwright-([a-z-]+)", block.said):
        if block.page not in _texts(f"crates/{crate[1]}/tests/*.rs"):
            yield f"no test of crates/{crate[1]} reads this page"
    elif test := re.fullmatch(r"(?:pytest )?(python/tests/test_\w+\.py)", block.said):
        if block.page.rpartition("/")[2] not in _texts(test[1]):
            yield f"{test[1]} does not read this page"
    else:
        yield f"`{block.said}` is no command that runs pages"


def _is_doctest(page):
    """Whether some crate includes a page in its documentation, so that its tests run it."""
    crate = page.removesuffix("/README.md")
    if page.startswith("crates/") and 'include_str!("../README.md")' in _texts(f"{crate}/src/*.rs"):
        return True
    return bool(re.search(rf'include_str!\("[./]*/{re.escape(page)}"\)', _texts("crates/maskwright/src/pages.rs")))


def _texts(pattern):
    return "\n".join(path.read_text(encoding="utf-8") for path in ROOT.glob(pattern))


def _hosts():
    """The names that `cargo xtask hosts` takes."""
    (variants,) = re.findall(r"enum Host \{(.*?)\n\}", _texts("xtask/src/hosts.rs"), re.DOTALL)
    return {_kebab(name) for name in re.findall(r"^    (\w+),$", variants, re.MULTILINE)}


def _tasks():
    """The names that `cargo xtask` takes."""
    (variants,) = re.findall(r"enum Task \{(.*?)\n\}", _texts("xtask/src/main.rs"), re.DOTALL)
    return {_kebab(name) for name in re.findall(r"^    (\w+)", variants, re.MULTILINE)}


def _kebab(name):
    return re.sub(r"(?<=.)(?=[A-Z])", "-", name).lower()


def _unknown_tasks(text):
    for task, argument in re.findall(r"cargo xtask ([\w-]+)(?: ([\w-]+))?", text):
        if task not in _tasks():
            yield f"there is no `cargo xtask {task}`"
        elif task == "hosts" and argument and argument not in _hosts():
            yield f"there is no `cargo xtask hosts {argument}`"
    for path in re.findall(r"(?:pip install|cargo install --path) \"?(?:\./)?([\w/]+)(?:\[(\w+)\])?", text):
        folder, extra = path
        if "/" in folder or (ROOT / folder).exists():
            if not (ROOT / folder).is_dir():
                yield f"there is no folder {folder}"
            if extra and not re.search(rf"^{extra} = \[", _texts(f"{folder}/pyproject.toml"), re.MULTILINE):
                yield f"{folder} has no extra {extra}"
