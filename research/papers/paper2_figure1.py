"""Figure 1 of paper 2, seen from outside: what the masks say about sequences of terminals.

The paper's token spanner table has, for a state of the lexer and a token, the sequences of terminals that the token can
spell from there on. The masks show the same. A grammar that allows one sequence and nothing else allows the token
exactly if the sequence begins with one in the table's cell. So a cell has the shortest sequences whose grammars allow
the token.
"""

from __future__ import annotations

from itertools import product

import maskwright

#: Figure 1a.
TERMINALS = "B: /ab+/\nC: /ac+/\n"
#: Figure 1c.
VOCABULARY = ("a", "b", "c", "ab", "ac", "aba")
#: Figure 1d, as the paper prints it. A state is named by a text that leads to it.
TABLE = {
    ("q0", ""): ("B,C", "", "", "B", "C", "BB,BC"),
    ("q1", "a"): ("", "B", "C", "", "", ""),
    ("q2", "ab"): ("BB,BC", "B", "", "BB", "BC", "BBB,BBC"),
    ("q3", "ac"): ("CB,CC", "", "C", "CB", "CC", "CBB,CBC"),
}
#: The longest sequence in the table.
LONGEST = 3
#: Figure 1e: B and C in turn.
IN_TURN = f"start: B after_b\nafter_b: | C after_c\nafter_c: | B after_b\n{TERMINALS}"
#: Texts that lead to different states of figure 1f's automaton, and the state of the lexer there.
TEXTS = {"": ("q0", ""), "a": ("q1", "a"), "ab": ("q2", "ab"), "abac": ("q3", "ac")}

BRACKETS = 'start: L start R | B\nL: "("\nR: ")"\nB: "b"\n'
BRACKET_TOKENS = (")", "))))", ")))))", ")(", "b")
DEPTHS = range(1, 7)


def cells() -> dict[str, str]:
    """The 24 cells by our masks, keyed by state and token."""
    found = {}
    sequences = [sequence for n in range(1, LONGEST + 1) for sequence in product("BC", repeat=n)]
    grammars = {sequence: f"start: {' '.join(sequence)}\n{TERMINALS}" for sequence in sequences}
    for name, text in TABLE:
        allow = {sequence: allowed(VOCABULARY, grammar, text) for sequence, grammar in grammars.items()}
        for token in VOCABULARY:
            shortest = [s for s in sequences if token in allow[s] and token not in allow.get(s[:-1], set())]
            found[f"{name} / {token}"] = ",".join("".join(sequence) for sequence in shortest)
    return found


def printed_cells() -> dict[str, str]:
    """The 24 cells as the paper prints them."""
    rows = TABLE.items()
    return {f"{name} / {token}": cell for (name, _), row in rows for token, cell in zip(VOCABULARY, row)}


def masks_in_turn() -> dict[str, str]:
    """The tokens that our masks allow under figure 1e's grammar after each text."""
    return {text: ",".join(sorted(allowed(VOCABULARY, IN_TURN, text))) for text in TEXTS}


def printed_masks_in_turn() -> dict[str, str]:
    """The same by the paper's table and automaton: B and C alternate in a sequence of an allowed token's cell."""
    masks = {}
    for text, state in TEXTS.items():
        # A text begins with B. In the other states, the sequence begins with the terminal that the text has begun.
        first = "C" if text.endswith("c") else "B"
        alternating = {("BCB" if first == "B" else "CBC")[:n] for n in range(1, LONGEST + 1)}
        cells_of_state = zip(VOCABULARY, TABLE[state])
        masks[text] = ",".join(sorted(token for token, cell in cells_of_state if alternating & set(cell.split(","))))
    return masks


def brackets() -> dict[str, str]:
    """For tokens of brackets after `b`: whether they are allowed at every depth of brackets, at some, or at none."""
    masks = [allowed(BRACKET_TOKENS, BRACKETS, "(" * depth + "b") for depth in DEPTHS]
    words = {}
    for token in BRACKET_TOKENS:
        depths = [depth for depth, mask in zip(DEPTHS, masks) if token in mask]
        some = f"context-dependent (allowed from depth {depths[0]} on)" if depths else "always rejected"
        words[token] = "always accepted" if len(depths) == len(DEPTHS) else some
    return words


def allowed(vocabulary: tuple[str, ...], grammar: str, text: str) -> set[str]:
    """The tokens of the mask after a text; none if the grammar has no text that begins like this."""
    tokens = [token.encode() for token in vocabulary]
    tokenizer = maskwright.Tokenizer.from_tokens([*tokens, b"</s>"], eos_token_ids=[len(tokens)])
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_lark(grammar, lexer="basic"))
    if not matcher.accept_bytes(text):
        return set()
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    matcher.fill_next_token_bitmask(mask)
    return {token for i, token in enumerate(vocabulary) if mask[0, i >> 5] >> (i & 31) & 1}
