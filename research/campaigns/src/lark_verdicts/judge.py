"""Judges texts as Lark does, for the campaign `lark-verdicts`: a line of JSON for each line of JSON.

    python judge.py GRAMMAR.lark none|python

Given {"text": ...} it answers {"lalr": ..., "earley": ...}, each null if that parser accepts the text, else the name of
what it raises; both with the basic lexer. The Earley parser, which is slow, is asked only where it may say another thing:
where the LALR parser meets a token that it does not expect, since it resolves conflicts in silence; otherwise "earley" is
absent. "lalr" is absent if that parser cannot be made of the grammar.
"""

import json
import sys

import lark
from lark.indenter import DedentError, PythonIndenter


class Indenter(PythonIndenter):
    # In some versions it is called _NEWLINE.
    NL_type = "_NL"


# Beside Lark's own: a bracket that closes none, and a line end without one, as the indenter sees them.
OBJECTIONS = (lark.exceptions.UnexpectedInput, DedentError, AssertionError, IndexError)


def objection(parser, text):
    try:
        parser.parse(text)
    except OBJECTIONS as error:
        return type(error).__name__
    return None


def main():
    path, indentation = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        source = file.read()

    def parser(kind):
        postlex = Indenter() if indentation == "python" else None
        return lark.Lark(source, parser=kind, lexer="basic", postlex=postlex)

    try:
        lalr = parser("lalr")
    except lark.exceptions.GrammarError:
        lalr = None
    earley = parser("earley")
    print(json.dumps({"version": lark.__version__}), flush=True)
    for line in sys.stdin:
        text = json.loads(line)["text"]
        answer = {}
        if lalr is not None:
            answer["lalr"] = objection(lalr, text)
        if answer.get("lalr", "UnexpectedToken") == "UnexpectedToken":
            answer["earley"] = objection(earley, text)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
