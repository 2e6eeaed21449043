"""Compares the lexer with Lark's own basic lexer, token by token (needs `pip install lark`).

    cargo build --release -p maskwright-lexing --example lark_tokens
    python compare_with_lark.py target/release/examples/lark_tokens GRAMMAR.lark TEXT...

Besides the texts, each is cut at random places and changed at random characters.
"""

import random
import subprocess
import sys

import lark
from lark.common import LexerConf
from lark.lexer import BasicLexer, LexerState
from lark.utils import TextSlice


def lark_tokens(scanner, ignored_callbacks, text):
    """(terminal, start, end) by characters, ignored ones too, and the place where nothing matches."""
    at, tokens = 0, []
    while at < len(text):
        match = scanner.match(TextSlice(text, 0, len(text)), at)
        if match is None:
            return tokens, at
        value, name = match
        callback = ignored_callbacks.get(name)
        if callback is not None:
            name = callback(lark.Token(name, value)).type
        tokens.append((name, at, at + len(value)))
        at += len(value)
    return tokens, None


def variants(text, generator):
    yield text
    for _ in range(10):
        begin = generator.randrange(len(text) + 1)
        cut = text[begin : begin + generator.randrange(200)]
        yield cut
        changed = list(cut)
        for _ in range(3):
            if changed:
                place = generator.randrange(len(changed))
                changed[place] = generator.choice("\"'\\/*\n\r\t #0x9.eE_aé²λ\u0663\u00a0{[(`")
        yield "".join(changed)


def main():
    program, grammar_path, *text_paths = sys.argv[1:]
    with open(grammar_path, encoding="utf-8") as file:
        grammar = lark.Lark(file.read(), parser="earley", lexer="basic", keep_all_tokens=True)
    conf = LexerConf(grammar.terminals, __import__("re"), ignore=grammar.ignore_tokens)
    lexer = BasicLexer(conf)
    scanner = lexer.scanner
    generator = random.Random(5)
    texts = []
    for path in text_paths:
        with open(path, encoding="utf-8", newline="") as file:
            texts.extend(variants(file.read(), generator))
    alphabet = "\"'\\/*\n\r\t #0x9.eE_aif=<>+-é²{}[](),;:&|!`" + "".join(
        t.pattern.value for t in grammar.terminals if t.pattern.type == "str"
    )
    for _ in range(3000):
        texts.append("".join(generator.choice(alphabet) for _ in range(generator.randrange(1, 40))))
    hexed = lambda text: text.encode("utf-8").hex()
    lines = []
    for t in grammar.terminals:
        value = t.pattern.value if t.pattern.type == "str" else t.pattern.to_regexp()
        flags = "".join(sorted(t.pattern.flags))
        fields = ["T", t.name, t.pattern.type, hexed(value), str(len(t.pattern.value)), flags, str(t.priority)]
        lines.append("\t".join(fields))
    lines += ["X\t" + hexed(text) for text in texts]
    run = subprocess.run([program], input="\n".join(lines), capture_output=True, text=True, check=False)
    print(run.stderr, end="")
    if run.returncode:
        return run.returncode
    names = [t.name for t in grammar.terminals]
    n_tokens = n_different = 0
    for text, answer in zip(texts, run.stdout.split("\n"), strict=False):
        expected, stuck = lark_tokens(scanner, lexer.callback, text)
        to_bytes = [0]
        for character in text:
            to_bytes.append(to_bytes[-1] + len(character.encode("utf-8")))
        expected = [f"{name}:{to_bytes[start]}:{to_bytes[end]}" for name, start, end in expected]
        if stuck is not None:
            expected.append(f"!{to_bytes[stuck]}")
        found = [
            f"{names[int(part.split(':')[0])]}:{part.split(':', 1)[1]}" if ":" in part else part
            for part in answer.split()
        ]
        n_tokens += len(expected)
        if expected != found:
            n_different += 1
            if n_different <= 3:
                place = next((i for i, pair in enumerate(zip(expected, found)) if pair[0] != pair[1]), -1)
                print("different:", repr(text[:200]), expected[place:][:3], found[place:][:3])
    print(f"{grammar_path}: {len(texts)} texts, {n_tokens} tokens, {n_different} texts differ")
    return int(n_different > 0)


if __name__ == "__main__":
    sys.exit(main())
