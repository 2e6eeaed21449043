"""Compares structural tags with xgrammar: every case of `testdata/structural-tags`, in both packages.

    python compare.py [--write]

Run by `cargo xtask hosts xgrammar`. Fails if this package does not answer as a case says, if xgrammar answers otherwise
and the case does not say why, or if it says why and they agree. `--write` writes the page of the differences,
`docs/structural-tags-compared.md`; without it, the page must be as it would be written.
"""

import argparse
import json
import sys
import tempfile
from collections import Counter
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import maskwright
from ask_xgrammar import Xgrammar
from structural_tag_cases import FOLDER, IDS, SPECIAL, make_tokenizer, n_judged, read_cases
from test_structural_tags import check

PAGE = FOLDER.parents[1] / "docs" / "structural-tags-compared.md"
#: The longest structural tag or text that the page shows in full.
SHOWN = 200


class Comparison:
    """Both packages' answers to all cases."""

    def __init__(self):
        self.why = json.loads((FOLDER / "differences.json").read_text(encoding="utf-8"))
        self.failures = []
        #: For each reason the rows of its table: structural tag, text, xgrammar's answer, this package's.
        self.rows = {why: [] for why in self.why}
        self.agreed = Counter()
        self.n_masks = self.n_equal_masks = 0

    def judge(self, case, compiler, answer):
        """Judges this package, then xgrammar's answer."""
        try:
            masks = check(compiler, case)
        except Exception as failure:  # Any of them, an assertion too, is one case that fails.
            self.failures.append(f"{case.name}: {failure}")
            return
        if case.error is not None or "error" in answer:
            self.compare_compiling(case, answer)
            return
        if case.refused_there:
            self.failures.append(f"{case.name}: xgrammar compiles it")
        for text, ours, theirs in zip(case.texts, masks, answer["texts"], strict=True):
            if (theirs["accepted"] != text.accepted) != (text.why is not None):
                self.failures.append(f"{case.name}: {text}: xgrammar answers {theirs['accepted']}, and the reason is {text.why}")
            elif text.why is not None:
                self.rows[text.why].append((case, str(text), ANSWERS[theirs["accepted"]], ANSWERS[text.accepted]))
            else:
                self.agreed["texts"] += 1
            if "disagree" in theirs:
                self.failures.append(f"{case.name}: {text}: xgrammar's mask and session disagree about {theirs['disagree']}")
            if text.accepted and theirs["accepted"]:
                self.compare_masks(ours, theirs["masks"])

    def compare_compiling(self, case, answer):
        """One of the two packages does not compile the case, or neither does."""
        there = "error" in answer
        differ = there != (case.error is not None)
        if there != case.refused_there or differ != (case.why is not None):
            self.failures.append(f"{case.name}: xgrammar: {answer.get('error', 'compiles it')}, and the reason is {case.why}")
        elif differ:
            self.rows[case.why].append((case, "", "error" if there else "compiles", "compiles" if there else "error"))
        else:
            self.agreed["errors"] += 1

    def compare_masks(self, ours, theirs):
        """Counts the masks that are equal. What differs is among the reasons: it is counted, not judged."""
        ignored = sum(1 << IDS[name.encode()] for name in SPECIAL)
        for one, other in zip(ours, theirs, strict=True):
            self.n_masks += 1
            self.n_equal_masks += (one | ignored) == (other | ignored)

    def page(self, n_tags, n_cases):
        """The page of the differences."""
        different = sum(len(rows) for rows in self.rows.values())
        lines = [
            "# Structural tags beside xgrammar",
            "",
            "Written by `cargo xtask hosts xgrammar -- --write` from the cases in `testdata/structural-tags`; don't edit it.",
            "",
            f"{n_tags} structural tags with {n_cases} texts and errors, compiled and read by Maskwright and by xgrammar "
            f"{version('xgrammar')}. Both answer alike to {sum(self.agreed.values())} of them: {self.agreed['texts']} texts that "
            f"both accept or both refuse, and {self.agreed['errors']} tags in which both find an error. They differ in {different}.",
            "",
            "White space in JSON is xgrammar's: any amount, which is `whitespace=\"any\"` here and not the default. So are numbers: in "
            "any spelling, which is `numbers=\"any\"`. In a text, ⟨…⟩ is one token, of that spelling or with that id.",
        ]
        for why, rows in self.rows.items():
            title, text = self.why[why]
            lines += ["", f"## {title}", "", text, "", "| structural tag | text | xgrammar | Maskwright |", "|---|---|---|---|"]
            lines += [f"| {code(tag(case))} | {code(shown) if shown else ''} | {there} | {here} |" for case, shown, there, here in rows]
        return "\n".join(lines) + "\n"


ANSWERS = {True: "accepts", False: "refuses"}


def tag(case):
    """A case's structural tag, without the envelope that all have."""
    whole = case.document
    return json.dumps(whole["format"] if set(whole) == {"type", "format"} else whole, ensure_ascii=False)


def code(text):
    """Code in a cell of a table."""
    text = text if len(text) <= SHOWN else text[:SHOWN] + " …"
    text = text.replace("\n", "↵").replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the page of the differences")
    arguments = parser.parse_args()
    cases = read_cases()
    with tempfile.TemporaryDirectory() as folder:
        compiler = maskwright.Compiler(make_tokenizer(folder))
    comparison, xgrammar = Comparison(), Xgrammar()
    for number, case in enumerate(cases):
        comparison.judge(case, compiler, xgrammar(number))
    xgrammar.close()
    comparison.failures += [f"no case differs because of {why}" for why, rows in comparison.rows.items() if not rows]
    n_cases = sum(map(n_judged, cases))
    page = comparison.page(len(cases), n_cases)
    if arguments.write:
        PAGE.write_text(page, encoding="utf-8")
    elif not comparison.failures and (not PAGE.exists() or PAGE.read_text(encoding="utf-8") != page):
        comparison.failures.append(f"{PAGE.name} is out of date: run it with --write")
    for failure in comparison.failures:
        print(failure)
    print(f"{len(cases)} structural tags, {n_cases} cases: {dict(comparison.agreed)} alike, {len(comparison.failures)} failures")
    print(f"{comparison.n_equal_masks} of {comparison.n_masks} masks are equal, apart from special tokens")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    sys.exit(main())
