"""What the reference says of other engines: `re`, Node and Lark read the same lines as the tables of docs/reference are made of.

A line of testdata/reference/regex.jsonl has under `but` what a dialect does otherwise, and whether the `engine` of that name takes the
pattern, if that is not what we do. A line of lark.jsonl says with `original` where Lark is `refused` or does `otherwise`.
"""

import json
import re
import subprocess
import sys
import warnings

import pytest
from conftest import count_skipped
from pages import ROOT

DATA = ROOT / "testdata" / "reference"


def lines(name):
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


PATTERNS = lines("regex.jsonl")


def said(case, dialect):
    """The texts that match and do not in a dialect, and whether its engine takes the pattern."""
    own = case.get("but", {}).get(dialect, {})
    yes, no = own.get("yes", case["yes"]), own.get("no", case["no"])
    is_refused = "error" in own
    return ([], []) if is_refused else (yes, no), own.get("engine", not is_refused)


def faults(dialect, verdicts):
    """Where an engine does otherwise. `verdicts`: by pattern, whether each text matches; None if it is refused."""
    for case, verdict in zip(PATTERNS, verdicts, strict=True):
        (yes, no), is_taken = said(case, dialect)
        if (verdict is not None) != is_taken:
            yield f"{case['pattern']}: {'taken' if verdict is not None else 'refused'}"
        elif verdict is not None and verdict != [True] * len(yes) + [False] * len(no):
            yield f"{case['pattern']}: {verdict}"


@pytest.mark.skipif(not (3, 11) <= sys.version_info < (3, 14), reason="the page is about Python 3.11 to 3.13")
def test_python():
    def verdict(case):
        (yes, no), _ = said(case, "python")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                pattern = re.compile(case["pattern"])
            except re.error:
                return None
        return [pattern.fullmatch(text) is not None for text in yes + no]

    assert list(faults("python", map(verdict, PATTERNS))) == []


NODE = """
const cases = JSON.parse(require("fs").readFileSync(0));
const verdict = ({ pattern, texts }) => {
  try {
    new RegExp(pattern, "u");
    const whole = new RegExp(`^(?:${pattern})$`, "u");
    return texts.map((text) => whole.test(text));
  } catch {
    return null;
  }
};
console.log(JSON.stringify(cases.map(verdict)));
"""


def test_javascript():
    cases = []
    for case in PATTERNS:
        (yes, no), _ = said(case, "ecma")
        cases.append({"pattern": case["pattern"], "texts": yes + no})
    try:
        run = subprocess.run(["node", "-e", NODE], input=json.dumps(cases), capture_output=True, text=True, check=True, timeout=60)
    except FileNotFoundError:
        count_skipped("what the reference says of JavaScript", "node")
        pytest.skip("node is not installed")
    assert list(faults("ecma", json.loads(run.stdout))) == []


def parser_of(lark, case, folder):
    """Lark's parser with the lexer of a case. Where Lark's LALR parser cannot read the rules, its Earley parser does."""
    options = {"start": case.get("start", "start"), "import_paths": [str(folder)]}
    # Files are found in the import paths, and a grammar from a string has no file beside it.
    grammar = case["grammar"].replace("%import .", "%import ")
    if lexer := case.get("lexer"):
        return lark.Lark(grammar, parser="earley", lexer=lexer, **options)
    try:
        return lark.Lark(grammar, parser="lalr", lexer="contextual", **options)
    except lark.exceptions.GrammarError as error:
        if not re.search("conflict|collision", str(error), re.IGNORECASE):
            raise
        return lark.Lark(grammar, parser="earley", lexer="basic", **options)


def test_lark(tmp_path):
    lark = pytest.importorskip("lark", reason="the package lark is not installed")
    found = []
    for number, case in enumerate(lines("lark.jsonl")):
        if case.get("original") == "untried":
            continue
        folder = tmp_path / str(number)
        folder.mkdir()
        for name, text in case.get("files", {}).items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        try:
            parser = parser_of(lark, case, folder)
        except Exception:
            does = "refused"
        else:
            wrong = [text for text in case.get("yes", []) if not reads(lark, parser, text)]
            wrong += [text for text in case.get("no", []) if reads(lark, parser, text)]
            does = "otherwise" if wrong or "error" in case else None
        if does != case.get("original"):
            found.append(f"{case['name']}: {does}")
    assert found == []


def reads(lark, parser, text):
    try:
        parser.parse(text)
    except lark.exceptions.LarkError:
        return False
    return True
