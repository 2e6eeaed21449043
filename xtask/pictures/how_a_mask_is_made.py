"""Draws how a mask is made: docs/pictures/how-a-mask-is-made-light.svg and -dark.svg.

usage: how_a_mask_is_made.py

The example is a JSON Schema with an integer of at most 120, compact white space, and a vocabulary of eight tokens; the
logits are invented. `maskwright check` says the same of each token after the text.
"""

from pathlib import Path

from drawing import Drawing

FOLDER = Path(__file__).resolve().parents[2] / "docs/pictures"
TEXT = '{"age":12'
#: The token trie in preorder: the token, how deep it is, what it adds to the token above it, whether it is allowed, its logit.
TOKENS = [
    (",", 0, ",", False, 1.2),
    ("0", 0, "0", True, 2.9),
    ("00", 1, "0", False, 0.4),
    ("0}", 1, "}", True, 1.7),
    ("5", 0, "5", False, 5.1),
    ("cat", 0, "cat", False, -3.0),
    ("}", 0, "}", True, 3.8),
    ("},", 1, ",", False, 2.2),
]
DESCRIPTION = (
    "Once: the vocabulary becomes a trie of tokens, and a grammar (JSON Schema, regular expression, Lark, GBNF or structural "
    "tag) becomes rules for a parser and an automaton for each terminal, whose states are made on demand. At each step: the "
    "text so far has a state, which stands for all ways in which it can be read. From there the automata walk the trie, and "
    "a byte that cannot come next cuts off its branch. The result is a bit for each token, and is kept for the state. Where "
    "the bit is 0, the model's logit becomes minus infinity. The token that is chosen among the others is appended to the text."
)


def inputs(drawing):
    """What comes in, and what is made of it."""
    rows = [
        (38, 52, "Vocabulary", ["tokens and their bytes"], "Trie of tokens", ["shared beginnings once"]),
        (102, 74, "Grammar", ["JSON Schema, regex, Lark,", "GBNF, structural tag", "(here: age at most 120)"],
         "Rules, automata", ["a parser, an automaton", "for each terminal;", "states made on demand"]),
        (212, 62, "Text so far", [], "State", ["all ways in which", "the text can be read"]),
    ]  # fmt: skip
    for y, height, left, left_lines, right, right_lines in rows:
        for x, width, title, lines in [(14, 206, left, left_lines), (244, 182, right, right_lines)]:
            drawing.box(x, y, width, height, "card")
            drawing.text(x + 12, y + 20, title, 15, weight=600)
            for i, line in enumerate(lines):
                drawing.text(x + 12, y + 37 + 16 * i, line, 13, "quiet")
        drawing.path([(220, y + height / 2), (244, y + height / 2)], arrow=True)
    drawing.mono(26, 258, TEXT, 17, weight=600)
    drawing.path([(335, 176), (335, 212)], arrow=True)
    drawing.path([(426, 64), (452, 64)], arrow=True)
    drawing.path([(426, 243), (452, 243)], arrow=True)


def walk(drawing, x, y):
    """The trie and, beside each token, its bit and its logit."""
    for left, heading in [(x, "Walk of the trie"), (x + 176, "Mask"), (x + 272, "Logits")]:
        drawing.text(left, y, heading, 15, weight=600)
    starts = {-1: y + 6}
    best = max(logit for *_, is_allowed, logit in TOKENS if is_allowed)
    for row, (token, depth, added, is_allowed, logit) in enumerate(TOKENS):
        y_row = y + 27 + 21 * row
        colour = "good" if is_allowed else "bad"
        left = x + 22 + 34 * depth
        starts[depth] = y_row + 3
        drawing.path([(left - 15.5, starts[depth - 1]), (left - 15.5, y_row - 5.5), (left - 4, y_row - 5.5)], "quiet", 1)
        drawing.mono(left, y_row, added, 16, colour, 600)
        if logit == best:
            drawing.box(x + 166, y_row - 16, 202, 21, "good-back", line=None, radius=4)
        drawing.mono(x + 126, y_row, f"{token:>3}", 16, colour)
        drawing.mono(x + 186, y_row, str(int(is_allowed)), 16, colour, 600)
        drawing.mono(x + 266, y_row, f"{logit:4.1f}".replace("-", "−"), 16, "text" if is_allowed else "quiet")
        if not is_allowed:
            drawing.mono(x + 308, y_row, " → −∞", 16, "bad", 600)


def draw(scheme):
    drawing = Drawing(scheme, 326, "How a mask is made", DESCRIPTION)
    drawing.text(16, 29, "Once", 14, "quiet", weight=600)
    drawing.text(16, 202, "At each step", 14, "quiet", weight=600)
    inputs(drawing)
    drawing.box(452, 14, 394, 268, "card")
    walk(drawing, 466, 38)
    drawing.text(466, 250, "A byte that cannot come next cuts off its branch.", 13, "quiet")
    drawing.text(466, 269, "Masks are kept by state, walks for all grammars.", 13, "quiet")
    drawing.path([(752, 282), (752, 308), (117, 308), (117, 274)], arrow=True)
    drawing.text(244, 300, "the chosen token is appended", 13, "quiet")
    drawing.save(FOLDER / f"how-a-mask-is-made-{scheme}.svg")


if __name__ == "__main__":
    for scheme in ["light", "dark"]:
        draw(scheme)
