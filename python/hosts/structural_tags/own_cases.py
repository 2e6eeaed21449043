"""Compares structural tags with xgrammar on xgrammar's own test cases.

    python own_cases.py

Run by `cargo xtask hosts xgrammar`. The tests of xgrammar's source distribution say of many structural tags which texts
they accept. This script downloads them, once for each version, runs them with `record_own_cases.py`, and asks this package
the same questions. It fails if a tag does not compile, or if an answer differs and `xgrammar-own-cases.json` does not say
why, or if that file names a case that no longer differs.
"""

import hashlib
import json
import os
import subprocess
import sys
import tarfile
import tempfile
import warnings
from collections import Counter
from importlib.metadata import version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

import maskwright
from structural_tag_cases import FOLDER, make_tokenizer

#: What differs: reasons, and for each case the key of its reason.
KNOWN = FOLDER / "xgrammar-own-cases.json"
#: Tests of structural tags. The others that make them need tokenizers of the model hub, or measure times.
FILES = [
    "builtin_structural_tag",
    "function_calling_converter",
    "grammar_matcher_structural_tag",
    "json_schema_excludes",
    "structural_tag_converter",
]
#: Fewer cases mean that the recording went wrong.
AT_LEAST = 2500


def tests():
    """The folder of the installed version's tests. Its source distribution is downloaded if it is absent."""
    folder = Path(sys.prefix) / "xgrammar-sources" / version("xgrammar")
    if not folder.exists():
        folder.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            wanted = ["--no-deps", "--no-binary", "xgrammar", f"xgrammar=={version('xgrammar')}"]
            subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", *wanted, "--dest", temporary], check=True)
            (archive,) = Path(temporary).glob("*.tar.gz")
            with tarfile.open(archive) as tar:
                tar.extractall(temporary, filter="data")
            (sources,) = (path for path in Path(temporary).iterdir() if path.is_dir())
            # Tells pytest to look no further for its settings.
            (sources / "tests" / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
            sources.rename(folder)
    return folder / "tests"


def record():
    """Tag, text and xgrammar's answer of each case, with the name of a test that has it."""
    folder, cases = tests(), {}
    with tempfile.TemporaryDirectory() as temporary:
        answers = Path(temporary) / "answers.jsonl"
        answers.touch()
        command = [sys.executable, "-m", "pytest", "-q", "-p", "record_own_cases", "-p", "no:cacheprovider", "-W", "ignore"]
        command += ["--tb=line", "-m", "not hf_token_required", "--record-to", answers]
        command += [f"python/test_{name}.py" for name in FILES]
        modules = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(modules), "HF_HUB_OFFLINE": "1"}
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        ran = subprocess.run(command, cwd=folder, env=environment, **output)
        for line in answers.read_text(encoding="utf-8").splitlines():
            test, tag, text, accepted = json.loads(line)
            cases.setdefault((tag, text), (accepted, test))
    summary = (ran.stdout.strip().splitlines() or ["nothing"])[-1]
    print(f"xgrammar's own tests: {summary}")
    if len(cases) < AT_LEAST:
        sys.exit(f"{ran.stdout[-3000:]}\nonly {len(cases)} cases")
    return cases


def accepts(grammar, text):
    """Whether the text is complete, read byte by byte as xgrammar's check does."""
    matcher = maskwright.Matcher(grammar)
    for byte in text.encode():
        if matcher.is_terminated() or not matcher.accept_token(byte):
            return False
    return matcher.is_accepting()


def identify(tag, text):
    """A short name of a case, which does not depend on the order of keys or on white space; without text, of the tag."""
    return hashlib.sha256(json.dumps([json.loads(tag), text], sort_keys=True).encode()).hexdigest()[:12]


class Comparison:
    """This package's answers to the cases, judged by what is known to differ."""

    def __init__(self, compiler, known):
        self.compiler = compiler
        self.reasons, self.cases = known["reasons"], known["cases"]
        self.failures = []
        #: How many texts differ for each reason, and the names of the cases that do.
        self.different = Counter()
        self.named = set()
        self.grammars = {}

    def judge(self, tag, text, accepted, test):
        if tag not in self.grammars:
            self.grammars[tag] = self.compile(tag, test)
        if self.grammars[tag] is None:
            self.different["not compiled"] += 1
            return
        try:
            ours = accepts(self.grammars[tag], text)
        except maskwright.Error as error:
            self.different["not read"] += 1
            self.failures.append(f"{test}: {text!r}: {error}\n    {tag}")
            return
        if ours != accepted:
            name = identify(tag, text)
            self.named.add(name)
            why = self.cases.get(name, "no reason")
            self.different[why] += 1
            if why not in self.reasons:
                self.failures.append(f"{name}: {test}: xgrammar {'accepts' if accepted else 'refuses'} {text!r}\n    {tag}")

    def compile(self, tag, test):
        """The grammar; `None` if the tag does not compile, which can have a reason too."""
        try:
            return self.compiler.compile_structural_tag(tag, whitespace="any", numbers="any")
        except maskwright.Error as error:
            name = identify(tag, None)
            self.named.add(name)
            if self.cases.get(name) not in self.reasons:
                self.failures.append(f"{name}: {test}: does not compile: {error}\n    {tag}")

    def finish(self):
        """Reasons and cases that are out of date are failures too."""
        self.failures += [f"{name} ({why}) does not differ" for name, why in self.cases.items() if name not in self.named]
        self.failures += [f"no case differs because of {why}" for why in self.reasons if why not in self.cases.values()]


def main():
    warnings.simplefilter("ignore", maskwright.SchemaWarning)
    cases = record()
    with tempfile.TemporaryDirectory() as folder:
        compiler = maskwright.Compiler(make_tokenizer(folder))
    comparison = Comparison(compiler, json.loads(KNOWN.read_text(encoding="utf-8")))
    for (tag, text), (accepted, test) in cases.items():
        comparison.judge(tag, text, accepted, test)
    comparison.finish()
    for failure in comparison.failures:
        print(failure)
    n_tags, n_different = len(comparison.grammars), sum(comparison.different.values())
    print(f"{n_tags} structural tags with {len(cases)} texts of xgrammar {version('xgrammar')}'s own tests")
    print(f"{n_different} differ: {dict(comparison.different)}; {len(comparison.failures)} failures")
    return 1 if comparison.failures else 0


if __name__ == "__main__":
    sys.exit(main())
