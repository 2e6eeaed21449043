"""Draws the figures of the pages in docs/how: docs/pictures/how-NAME-light.svg and -dark.svg, six names.

usage: how_it_works.py

Each figure shows the example of its page; the numbers are those that the blocks of the page print, which the tests run. States of
stacks and lexers are named as `maskwright debug cfg` names them.
"""

from pathlib import Path

from drawing import ADVANCE, Drawing

FOLDER = Path(__file__).resolve().parents[2] / "docs/pictures"


def chip(drawing, x, y, text, fill="page", colour="text", size=14, line="line"):
    """A token in a box; the result is where the box ends. `y` is the baseline."""
    width = len(text) * ADVANCE * size + 12
    drawing.box(x, y - size - 2, width, size + 9, fill, line=line, radius=5)
    drawing.mono(x + 6, y, text, size, colour)
    return x + width


def state(drawing, x, y, number, is_end=False, fill="card"):
    """A state of a network, around a centre; one where the rule may end has two rims."""
    drawing.box(x - 15, y - 15, 30, 30, fill, radius=15)
    if is_end:
        drawing.box(x - 12, y - 12, 24, 24, fill, radius=12)
    drawing.text(x, y + 5, str(number), 13, anchor="middle", weight=600)


def move(drawing, x1, x2, y, label, dy=-7):
    """A move between two states of one line."""
    drawing.path([(x1 + 15, y), (x2 - 15, y)], arrow=True)
    drawing.text((x1 + x2) / 2 - 3, y + dy, label, 13, anchor="middle")


def rows(scheme):
    drawing = Drawing(
        scheme,
        314,
        "One row, two masks",
        "Two texts of different grammars end within a word: an object's value and a list's item. Both are at the same place of the same "
        'terminal, whose rest is [a-z]*". So they share one row: of GPT-2\'s 50,257 tokens, 10,382 stay inside, and 44 leave the word and '
        "go on with something else. In the object only the exit quote, brace can be read: 10,383 tokens. In the list three exits can be "
        "read: 10,385 tokens.",
    )
    for y, title, text, after in [
        (44, "In an object", '{"name":"jo', "after the word: }"),
        (180, "In a list", '["jo', "after the word: , or ]"),
    ]:
        drawing.box(14, y, 214, 90, "card")
        drawing.text(26, y + 24, title, 15, weight=600)
        drawing.mono(26, y + 50, text, 16)
        drawing.text(26, y + 76, after, 13, "quiet")
        drawing.path([(228, y + 45), (262, y + 45)], arrow=True)
    drawing.box(262, 44, 306, 226, "card")
    drawing.text(276, 68, "One row, made once:", 15, weight=600)
    drawing.mono(556 - 7 * ADVANCE * 15, 68, '[a-z]*"', 15, weight=600)
    drawing.text(276, 98, "inside: 10,382 tokens, allowed", 14, "good", weight=600)
    x = 276
    for token in ["n", "ab", "the", "ing", '"']:
        x = chip(drawing, x, 124, token, colour="good") + 6
    drawing.text(276, 160, "exits: 44 tokens, by what follows", 14, weight=600)
    for i, (token, rest) in enumerate([('"}', "}"), ('",', ","), ('","', ',"'), ('"]', "]"), ('":', ":"), ('"><', "><")]):
        x, y = 276 + 100 * (i % 3), 188 + 30 * (i // 3)
        end = chip(drawing, x, y, token)
        drawing.text(end + 6, y, "→", 13, "quiet")
        drawing.mono(end + 24, y, rest, 14, "quiet")
    drawing.text(276, 252, "… and 38 more", 13, "quiet")
    for y, tokens, total in [(44, ['"}'], "10,383"), (180, ['",', '","', '"]'], "10,385")]:
        drawing.path([(568, y + 45), (602, y + 45)], arrow=True)
        drawing.box(602, y, 244, 90, "card")
        drawing.text(614, y + 24, "Mask", 15, weight=600)
        drawing.text(614, y + 50, f"10,382 inside + {len(tokens)} of the exits", 14)
        x = 614
        for token in tokens:
            x = chip(drawing, x, y + 77, token, "good-back", "good", line=None) + 6
        drawing.text(834, y + 77, f"= {total}", 15, anchor="end", weight=600)
    drawing.text(16, 28, "Text so far", 14, "quiet", weight=600)
    drawing.text(262, 28, "What the terminal says of tokens", 14, "quiet", weight=600)
    drawing.text(602, 28, "What the rules let through", 14, "quiet", weight=600)
    drawing.text(16, 298, "The row knows the terminal and the vocabulary, and no grammar: all grammars of a compiler share it.", 13, "quiet")
    return drawing


def configurations(scheme):
    drawing = Drawing(
        scheme,
        452,
        "A configuration",
        "Top: the grammar as three networks of states. root: 6, bracket, 5, list, 4, bracket, 1. list: 11, item, 10, comma, back to 11. "
        "item: 18, name, 1; or 18, name, 16, parenthesis, 15, list, 14, parenthesis, 1. Bottom: after the text [f(g there are five "
        "threads: a name that is an item, a name that is called, and each of (, comma and ) which can come next. They share the nodes of one "
        "stack: A returns to 10 in list, B to 14 in item, C to 10 in list, D to 4 in root.",
    )
    drawing.text(16, 28, "The grammar, as debug cfg prints it", 14, "quiet", weight=600)
    drawing.box(14, 40, 832, 158, "card")
    drawing.mono(26, 75, "root", 15, weight=600)
    for x, number in [(100, 6), (172, 5), (244, 4), (316, 1)]:
        state(drawing, x, 70, number, number == 1, "page")
    for x, label in [(100, "["), (172, "list"), (244, "]")]:
        move(drawing, x, x + 72, 70, label)
    drawing.mono(430, 75, "list", 15, weight=600)
    state(drawing, 504, 70, 11, fill="page")
    state(drawing, 604, 70, 10, True, "page")
    move(drawing, 504, 604, 70, "item")
    drawing.path([(604, 85), (604, 100), (504, 100), (504, 85)], arrow=True)
    drawing.text(554, 96, ",", 15, anchor="middle")
    drawing.mono(26, 155, "item", 15, weight=600)
    for x, number in [(100, 18), (220, 16), (310, 15), (400, 14)]:
        state(drawing, x, 150, number, fill="page")
    state(drawing, 490, 150, 1, True, "page")
    for x1, x2, label in [(100, 220, "name"), (220, 310, "("), (310, 400, "list"), (400, 490, ")")]:
        move(drawing, x1, x2, 150, label)
    drawing.path([(100, 165), (100, 184), (490, 184), (490, 165)], arrow=True)
    drawing.text(295, 179, "name", 13, anchor="middle")
    drawing.text(530, 145, "Two rims: the rule may end here.", 13, "quiet")
    drawing.text(530, 163, "name is a terminal, [a-z]+.", 13, "quiet")

    drawing.text(16, 226, "Five threads after", 14, "quiet", weight=600)
    drawing.mono(168, 226, "[f(g", 15, weight=600)
    drawing.text(470, 226, "The stack that they share", 14, "quiet", weight=600)
    drawing.box(14, 238, 424, 200, "card")
    for x, heading in [(26, "terminal"), (126, "what is left of it"), (282, "then state"), (384, "stack")]:
        drawing.text(x, 262, heading, 13, "quiet", weight=600)
    threads = [
        ("name", "[a-z]*", "1", "A"),
        ("name", "[a-z]*", "16", "A"),
        ("(", "(", "15", "A"),
        (",", ",", "11", "B"),
        (")", ")", "1", "C"),
    ]
    for i, (terminal, rest, then, node) in enumerate(threads):
        y = 290 + 30 * i
        drawing.mono(26, y, terminal, 15)
        drawing.mono(126, y, rest, 15)
        drawing.mono(300, y, f"{then:>2}", 15)
        drawing.mono(396, y, node, 15, weight=600)
    nodes = [("A", "10", "item of the inner list"), ("B", "14", "list in the parentheses"), ("C", "10", "f(…), item of the outer list"), ("D", "4", "list in the brackets")]
    for i, (node, returns, what) in enumerate(nodes):
        y = 238 + 51 * i
        drawing.box(470, y, 376, 38, "card")
        drawing.mono(484, y + 25, node, 16, weight=600)
        drawing.text(512, y + 25, "return to", 13, "quiet")
        drawing.mono(574, y + 25, f"{returns:>2}", 15, weight=600)
        drawing.text(608, y + 25, f"after the {what}" if i % 2 else f"after the {what}".replace("the f(", "f("), 13)
        if i < 3:
            drawing.path([(490, y + 38), (490, y + 51)], arrow=True)
    return drawing


def lexing(scheme):
    drawing = Drawing(
        scheme,
        352,
        "Readings of a text, byte by byte",
        "After the text if there are two readings: the name goes on, which needs a letter; or IF has ended, and a guard forbids a letter. "
        "With the byte f the guard refutes the second; the name goes on. With a blank the first dies; the guard has nothing more to "
        "forbid and is forgotten, and a name is expected.",
    )
    drawing.text(16, 28, "Text", 14, "quiet", weight=600)
    drawing.text(140, 28, "Readings", 14, "quiet", weight=600)
    rows = [
        (44, "i", ["in the middle of a name, or of if"], ["NAME i has ended", "guard: no letter may follow"], None),
        (138, "if", ["in the middle of a longer name"], ["IF has ended", "guard: no letter may follow"], None),
    ]
    for y, text, first, second, _ in rows:
        drawing.mono(26, y + 36, text, 18, weight=600)
        drawing.box(140, y, 330, 60, "card")
        drawing.box(490, y, 356, 60, "card")
        for x, lines in [(152, first), (502, second)]:
            drawing.text(x, y + 25, lines[0], 15, weight=600)
            if len(lines) > 1:
                drawing.text(x, y + 46, lines[1], 13, "quiet")
    drawing.text(152, 184, "a letter must follow", 13, "quiet")
    drawing.text(152, 90, "the token goes on", 13, "quiet")
    drawing.path([(305, 104), (305, 138)], arrow=True)
    drawing.path([(470, 74), (480, 74), (480, 121), (668, 121), (668, 138)], arrow=True)
    drawing.text(834, 90, "✗ refuted by f", 13, "bad", anchor="end", weight=600)
    for y, text, alive, dead in [
        (232, "iff", ("NAME goes on: rules allow it", 152, 140, 330), ("IF refuted: a letter followed", 502, 490, 356)),
        (296, "if␣", ("NAME cannot have a blank", 152, 140, 330), ("IF, then a blank; NAME comes next", 502, 490, 356)),
    ]:
        drawing.mono(26, y + 26, text, 18, weight=600)
        first_lives = text == "iff"
        for (label, x, left, width), lives in [(alive, first_lives), (dead, not first_lives)]:
            drawing.box(left, y, width, 40, "good-back" if lives else "bad-back", line=None)
            drawing.text(x, y + 26, ("✓  " if lives else "✗  ") + label, 15, "good" if lives else "bad", weight=600)
    drawing.path([(305, 198), (305, 232)], arrow=True)
    drawing.path([(668, 198), (668, 232)], arrow=True)
    return drawing


def limits(scheme):
    drawing = Drawing(
        scheme,
        300,
        "Tokens by what completes the text after them",
        "After the text [1. The tokens ] and 1] are followed by the end: one more token. The tokens 1, 2 and 12 are followed by ] and the "
        "end, the comma by 1] and the end: two more tokens. With 2 tokens left only the first two fit, with 3 tokens left all.",
    )
    drawing.text(16, 30, "Text so far", 14, "quiet", weight=600)
    drawing.mono(26, 66, "[1", 18, weight=600)
    drawing.text(150, 30, "next token", 14, "quiet", weight=600)
    drawing.text(290, 30, "the completion that is chosen", 14, "quiet", weight=600)
    drawing.text(560, 30, "u", 14, "quiet", weight=600)
    drawing.text(640, 30, "2 left", 14, "quiet", weight=600)
    drawing.text(740, 30, "3 left", 14, "quiet", weight=600)
    drawing.box(140, 42, 706, 214, "card")
    entries = [("]", ["EOS"]), ("1]", ["EOS"]), ("1", ["]", "EOS"]), ("2", ["]", "EOS"]), ("12", ["]", "EOS"]), (",", ["1]", "EOS"])]
    for i, (token, rest) in enumerate(entries):
        y = 68 + 34 * i
        chip(drawing, 156, y, token, size=15)
        x = 290
        for word in rest:
            x = chip(drawing, x, y, word, colour="quiet", size=15) + 8
        drawing.mono(560, y, str(len(rest)), 16, weight=600)
        for left, x in [(2, 652), (3, 752)]:
            fits = len(rest) <= left - 1
            drawing.text(x, y, "✓" if fits else "✗", 16, "good" if fits else "bad", weight=600)
    drawing.text(16, 284, "u: the fewest tokens that spell the chosen completion. A token fits if u is below the number of tokens left.", 13, "quiet")
    return drawing


def cells(drawing, x, y, tokens, opened=(), changed=None, size=46):
    """A canvas: one box for each position."""
    for i, token in enumerate(tokens):
        fill = "good-back" if i == changed else "page"
        drawing.box(x + i * (size + 4), y, size, 38, fill, line=None if i == changed else "line", radius=6)
        if i in opened:
            drawing.path([(x + i * (size + 4) + 8, y + 33), (x + i * (size + 4) + size - 8, y + 33)], "quiet", 2, dashes="4 3")
        left = x + i * (size + 4) + (size - len(token) * ADVANCE * 16) / 2
        drawing.mono(left, y + 24, token, 16, "quiet" if token == "?" else "text", 600)


def infilling(scheme):
    drawing = Drawing(
        scheme,
        310,
        "A question near a witness",
        "A canvas of four masked positions has the witness ( ( x )). May (( stand at position 0? Exchange: the witness with (( in it is "
        "(( ( x )), which the judge refuses, because a bracket is left open. Near the witness: positions 1 and 2 are opened, and position 3 "
        "stays )). The search proposes (( ( x) )). The judge accepts it, so the answer is yes.",
    )
    drawing.text(16, 28, "May", 14, "quiet", weight=600)
    drawing.mono(58, 28, "((", 15, weight=600)
    drawing.text(84, 28, "stand at position 0 of", 14, "quiet", weight=600)
    drawing.mono(268, 28, "? ? ? ?", 15, weight=600)
    drawing.text(336, 28, "?", 14, "quiet", weight=600)
    steps = [
        (14, 44, "1  The witness so far", ["(", "(", "x", "))"], (), None, "proves that the canvas is possible", "quiet"),
        (440, 44, "2  Exchange", ["((", "(", "x", "))"], (), 0, "✗  the judge: a bracket stays open", "bad"),
        (14, 178, "3  Open two positions on each side", ["((", "?", "?", "))"], (1, 2), 0, "the rest stays as in the witness", "quiet"),
        (440, 178, "4  Search, then judge", ["((", "(", "x)", "))"], (), 0, "✓  yes, and here is a new witness", "good"),
    ]
    for x, y, title, tokens, opened, changed, note, colour in steps:
        drawing.box(x, y, 406, 118, "card")
        drawing.text(x + 14, y + 25, title, 15, weight=600)
        cells(drawing, x + 14, y + 38, tokens, opened, changed)
        drawing.text(x + 14, y + 103, note, 14, colour, weight=400 if colour == "quiet" else 600)
    drawing.path([(420, 103), (440, 103)], arrow=True)
    drawing.path([(643, 162), (643, 170), (217, 170), (217, 178)], arrow=True)
    drawing.path([(420, 237), (440, 237)], arrow=True)
    return drawing


def likeliest(scheme):
    drawing = Drawing(
        scheme,
        356,
        "The likeliest path through the states of a+b",
        "Columns are the places before, between and after four positions; rows are the states start, a, b and end. The best product of "
        "probabilities into each state: a 0.1 after one token; a 0.01, b 0.08 after two; a 0.002, b 0.003, end 0.04 after three; end 0.024 after "
        "four. The best path is a, b, end, end. The path a a is worth at most 0.01 times 0.3, which is 0.003, less than 0.024: it need not be followed.",
    )
    columns = [120, 280, 440, 600, 760]
    lines = {"start": 70, "a": 130, "b": 200, "end": 270}
    drawing.text(16, 28, "state", 14, "quiet", weight=600)
    for position in range(4):
        drawing.text((columns[position] + columns[position + 1]) / 2, 28, f"position {position}", 14, "quiet", anchor="middle", weight=600)
    for name, y in lines.items():
        drawing.mono(16, y + 5, name, 15, weight=600)
    nodes = {
        (0, "start"): "1", (1, "a"): "0.1", (2, "a"): "0.01", (2, "b"): "0.08", (3, "a"): "0.002", (3, "b"): "0.003",
        (3, "end"): "0.04", (4, "end"): "0.024",
    }  # fmt: skip
    edges = [
        (0, "start", "a", "a 0.1"), (1, "a", "a", "a 0.1"), (1, "a", "b", "b 0.8"), (2, "a", "a", "a 0.2"), (2, "a", "b", "b 0.3"),
        (2, "b", "end", "end 0.5"), (3, "b", "end", "end 0.6"), (3, "end", "end", "end 0.6"),
    ]  # fmt: skip
    best = {(0, "start"), (1, "a"), (2, "b"), (3, "end"), (4, "end")}
    for layer, before, after, label in edges:
        x1, y1, x2, y2 = columns[layer] + 34, lines[before], columns[layer + 1] - 34, lines[after]
        is_best = (layer, before) in best and (layer + 1, after) in best
        drawing.path([(x1, y1), (x2, y2)], "good" if is_best else "quiet", 3 if is_best else 1.2, dashes="" if is_best else "4 3")
        shift = 0 if y1 == y2 else 10
        drawing.text((x1 + x2) / 2 + shift, (y1 + y2) / 2 - 6, label, 13, "good" if is_best else "quiet", anchor="middle" if not shift else "start")
    for (layer, name), value in nodes.items():
        x, y = columns[layer], lines[name]
        drawing.box(x - 34, y - 15, 68, 30, "good-back" if (layer, name) in best else "card", radius=15)
        drawing.text(x, y + 5, value, 14, "good" if (layer, name) in best else "text", anchor="middle", weight=600)
    drawing.text(16, 316, "In each bubble: the best product of probabilities so far. Of all paths into a state only the best is kept.", 13, "quiet")
    drawing.text(16, 338, "The path a a is worth at most 0.01 × 0.5 × 0.6 = 0.003, and a known text has 0.024: it can be dropped.", 13, "quiet")
    return drawing


FIGURES = [rows, configurations, lexing, limits, infilling, likeliest]

if __name__ == "__main__":
    for figure in FIGURES:
        for scheme in ["light", "dark"]:
            figure(scheme).save(FOLDER / f"how-{figure.__name__}-{scheme}.svg")
