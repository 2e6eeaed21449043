"""What xgrammar answers to the cases, in a process of its own, so that a crash there costs one case.

The process reads the number of a case from each line of its input, and writes the answer as a line of JSON.
"""

import json
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from structural_tag_cases import EOS_ID, VOCABULARY, read_cases


class Xgrammar:
    """Asks the process, and starts another one after a crash."""

    def __init__(self):
        self.process = None

    def __call__(self, number):
        """The answer to a case: `error`, or for each text whether it is accepted, and the masks before its tokens."""
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        return json.loads(line) if line else {"error": f"the process ended with {self.process.wait()}"}

    def close(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def compile_case(compiler, case):
    """The case's document, as xgrammar's Python package takes it."""
    import xgrammar

    if case.legacy:
        items = [xgrammar.StructuralTagItem(**item) for item in case.document["structures"]]
        return compiler.compile_structural_tag(items, case.document["triggers"])
    # As text: what pydantic's classes refuse and the compiler takes counts as taken.
    text = case.document if isinstance(case.document, str) else json.dumps(case.document)
    return compiler.compile_structural_tag(text)


def read_text(grammar, ids):
    """Whether the tokens are a complete text, and the masks before each of them and at the end."""
    import xgrammar

    matcher, masks = xgrammar.GrammarMatcher(grammar), []
    for id in ids:
        # A stop token that was accepted ends the text there: what follows it is not accepted.
        if matcher.is_terminated():
            return {"accepted": False, "masks": masks}
        masks.append(fill(matcher))
        allowed = bool(masks[-1] >> id & 1)
        if allowed != matcher.accept_token(id):
            return {"accepted": False, "masks": masks, "disagree": id}
        if not allowed:
            return {"accepted": False, "masks": masks}
    # As for this package: a text that the model has ended counts as accepted.
    if matcher.is_terminated():
        return {"accepted": True, "masks": masks}
    masks.append(fill(matcher))
    return {"accepted": bool(masks[-1] >> EOS_ID & 1), "masks": masks}


def fill(matcher):
    """The mask as a number: bit `i` is token `i`."""
    import xgrammar

    mask = xgrammar.allocate_token_bitmask(1, len(VOCABULARY))
    matcher.fill_next_token_bitmask(mask)
    return int.from_bytes(mask.numpy().tobytes(), "little") & ((1 << len(VOCABULARY)) - 1)


def answer_all():
    """The loop of the process."""
    import xgrammar

    tokenizer = xgrammar.TokenizerInfo(VOCABULARY, vocab_type=xgrammar.VocabType.RAW, stop_token_ids=[EOS_ID])
    compiler = xgrammar.GrammarCompiler(tokenizer, cache_enabled=False)
    cases = read_cases()
    for line in sys.stdin:
        case = cases[int(line)]
        try:
            grammar = compile_case(compiler, case)
        except Exception as error:  # Its bindings raise several kinds, some of the C++ library's own.
            answer = {"error": f"{type(error).__name__}: {error}".strip()}
        else:
            answer = {"texts": [read_text(grammar, text.ids()) for text in case.texts]}
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    answer_all()
