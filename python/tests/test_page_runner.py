"""The runner of pages finds what is wrong with a block."""

import pages
import pytest
from page_runner import PROGRAM, BlockError, run_page

#: Blocks, and what is said of them before anything is run.
FAULTY = {
    "```\na\n```": "the block has no language",
    "```text\n$ ls\nfile\n```": "it is code, with its output",
    "```java\na\n```": "nothing runs java",
    "```sh\npip install maskwright\n```": "`pip` is not started in a test",
    "```sh\ncd js && FORCE=1 npm test\n```": "`npm` is not started in a test",
    "<!-- shown: slow -->\n```sh\nls\n```": "the reason is too short",
    "<!-- shown: it takes too long -->\n```python\ndef\n```": "line 1: invalid syntax",
    "<!-- shown: it takes too long -->\n```sh\ncargo xtask fly\n```": "there is no `cargo xtask fly`",
    '<!-- shown: it takes too long -->\n```sh\npip install "./python[tgi]"\n```': "python has no extra tgi",
    "<!-- run by: cargo xtask hosts tgi -->\n```python\n1\n```": "xtask/src/hosts.rs has no host tgi",
    "<!-- run by: cargo xtask hosts newest -->\n```python\n1\n```": "no test in python/hosts runs the pages",
    "<!-- run by: somebody -->\n```python\n1\n```": "`somebody` is no command that runs pages",
    "<!-- run by: cargo test -p maskwright-capi -->\n```c\n1;\n```": "no test of crates/capi reads this page",
    "<!-- output -->\n```text\n1\n```": "it is the output of nothing that is run",
    "```rust\nfn main() {}\n```": "does not include this page",
}

#: Blocks that fail, and what is said of them.
FAILING = {
    "```python\nassert 1 == 2\n```": "page.md:1: AssertionError",
    "```python\n>>> 1\n2\n```": "Expected:\n    2\nGot:\n    1",
    "```python\na = 1\n```\n\n```python\nprint(a, b)\n```": "name 'b' is not defined",
    "```python\nprint(1)\n```\n\n<!-- output -->\n```text\n2\n```": "expected\n2\nbut it is\n1",
    "```json\n{1: 2}\n```": "page.md:1: Expecting property name",
    "```lark\nstart: nothing\n```": "`nothing` is used but not defined",
    "```gbnf\nroot ::= [\n```": "page.md:1: ",
}
IN_A_SHELL = {
    "```sh\ntrue\nfalse\n```": "page.md:3: exit code 1, not 0",
    "```sh\ntrue  # exit code 3\n```": "page.md:2: exit code 0, not 3",
    "<!-- shown: it takes too long -->\n```sh\nmaskwright check --no-such-option\n```": "unexpected argument '--no-such-option'",
    "```sh\necho a \\\n    b\n```\n\n<!-- output -->\n```text\na…c\n```": "expected\na…c\nbut it is\na b",
}

GOOD = """
```python
a = {"b": 1}
print(a)
```

<!-- output -->
```json
{'b'...}
```

1. In a list:

   ```python
   >>> a["b"]
   1
   ```
"""
GOOD_IN_A_SHELL = """
```sh
cat > grammar.gbnf <<'EOF'
root ::= "it's"
EOF
maskwright check --gbnf grammar.gbnf --text "it's"
export WORD="two
lines"
cargo run --release -q --bin maskwright -- check --gbnf grammar.gbnf --text "$WORD"  # exit code 1
```

<!-- output -->
```text
the text is in the language
not in the language: ...
```

```python
import pathlib
assert pathlib.Path("grammar.gbnf").exists()
```
"""


def run(text, folder):
    page = folder / "page.md"
    page.write_text(text, encoding="utf-8")
    (folder / "run").mkdir()
    return run_page(str(page), folder / "run")


@pytest.mark.parametrize("text", FAULTY)
def test_faults(text, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(text, encoding="utf-8")
    (fault,) = pages.faults(str(page))
    assert FAULTY[text] in fault


@pytest.mark.parametrize("text", FAILING)
def test_failures(text, tmp_path):
    with pytest.raises(BlockError) as raised:
        run(text, tmp_path)
    assert FAILING[text] in str(raised.value)


@pytest.mark.skipif(not PROGRAM.exists(), reason="the command line is not built")
@pytest.mark.parametrize("text", IN_A_SHELL)
def test_failures_in_a_shell(text, tmp_path):
    with pytest.raises(BlockError) as raised:
        run(text, tmp_path)
    assert IN_A_SHELL[text] in str(raised.value)


def test_a_good_page(tmp_path):
    assert run(GOOD, tmp_path) == []


@pytest.mark.skipif(not PROGRAM.exists(), reason="the command line is not built")
def test_a_good_page_with_a_shell(tmp_path):
    assert run(GOOD_IN_A_SHELL, tmp_path) == []
