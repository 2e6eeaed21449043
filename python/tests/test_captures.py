"""The texts of captured rules, beside a writer that knows where each rule's text begins and ends.

The writer makes a random text of a grammar and notes what it writes for each rule. The splits are the only ones that the grammars
have, so the captures must be these.
"""

import pickle
import random
import time

import maskwright
import numpy as np
import pytest
from conftest import allowed

#: Statements, with one grammar for a lexer and one without.
LARK = """
start: stmt+
stmt: "let" NAME "=" expr ";"
expr: term (OP term)*
term: NAME | NUMBER | "(" expr ")"
OP: "+" | "-" | "->"
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore /[ \\n]+/
"""
GBNF = """
root ::= stmt+
stmt ::= "let " name "=" expr ";"
expr ::= term (op term)*
term ::= name | number | "(" expr ")"
op ::= "+" | "->" | "-"
name ::= [a-z]+
number ::= [0-9]+
"""
INDENTED = """
start: stmt+
stmt: simple | block
simple: NAME _NEWLINE
block: "if" NAME ":" _NEWLINE _INDENT stmt+ _DEDENT
NAME: /[a-z]+/
_NEWLINE: /(\\n[\\t ]*)+/
%ignore " "
%declare _INDENT _DEDENT
"""
RULES = ["expr", "stmt", "term"]


#: How a statement begins, and the blanks between tokens: with a lexer, GBNF, no lexer.
WITH_LEXER, PLAIN, WITHOUT = ("let ", ("", " ", "\n  ")), ("let ", ("",)), ("let", ("",))


class Writer:
    """Writes a text, and what each rule has in it: name, beginning, end."""

    def __init__(self, rng, let, blanks):
        self.rng, self.let, self.blanks = rng, let, blanks
        self.text, self.notes = "", []

    def token(self, text):
        """Writes a token after some blanks. Returns where it begins."""
        self.text += self.rng.choice(self.blanks) + text
        return len(self.text) - len(text)

    def rule(self, body, *arguments):
        note = [body.__name__, None, None]
        self.notes.append(note)
        note[1] = body(*arguments)
        note[2] = len(self.text)
        return note[1]

    def stmt(self):
        start = self.token(self.let)
        self.token(self.rng.choice(["x", "letter"]))
        self.token("=")
        self.rule(self.expr, 2)
        self.token(";")
        return start

    def expr(self, depth):
        start = self.rule(self.term, depth)
        for _ in range(self.rng.randint(0, 2)):
            self.token(self.rng.choice(["+", "-", "->"]))
            self.rule(self.term, depth)
        return start

    def term(self, depth):
        if depth and self.rng.random() < 0.3:
            start = self.token("(")
            self.rule(self.expr, depth - 1)
            self.token(")")
            return start
        return self.token(self.rng.choice(["a", "lets", str(self.rng.randint(0, 99))]))


def written(rng, way):
    writer = Writer(rng, *way)
    for _ in range(rng.randint(1, 3)):
        writer.rule(writer.stmt)
    return writer.text, [tuple(note) for note in writer.notes]


def of(captures):
    return [(capture.name, capture.start, capture.end) for capture in captures]


GRAMMARS = {
    "contextual": (lambda c: c.compile_lark(LARK, capture=RULES), WITH_LEXER),
    "basic": (lambda c: c.compile_lark(LARK, lexer="basic", capture=RULES), WITH_LEXER),
    "dynamic_complete": (lambda c: c.compile_lark(LARK, lexer="dynamic_complete", capture=RULES), WITHOUT),
    "gbnf": (lambda c: c.compile_gbnf(GBNF, capture=RULES), PLAIN),
}


@pytest.mark.parametrize("kind", GRAMMARS)
def test_captures_are_what_was_written(compiler, real_compiler, kind):
    compiled, way = GRAMMARS[kind]
    grammar, other = compiled(compiler), compiled(real_compiler)
    rng = random.Random(kind)
    for _ in range(100):
        text, notes = written(rng, way)
        captures = grammar.parse(text).captures
        assert of(captures) == notes, text
        assert [capture.text for capture in captures] == [text[start:end] for _, start, end in notes]
        # In a model's tokens it is the same, and at the end of a text too.
        ids = other.tokenizer.encode(text)
        assert of(other.parse(ids).captures) == notes
        matcher = maskwright.Matcher(other)
        assert matcher.accept_tokens([*ids, other.tokenizer.eos_token_ids[0]]) == len(ids) + 1
        assert of(matcher.captures()) == notes


@pytest.mark.parametrize("kind", GRAMMARS)
def test_captures_only_grow_with_the_text(compiler, kind):
    compiled, way = GRAMMARS[kind]
    grammar = compiled(compiler)
    rng = random.Random(kind)
    for _ in range(10):
        text, notes = written(rng, way)
        matcher, known = maskwright.Matcher(grammar), [[]]
        for at, byte in enumerate(text.encode(), 1):
            assert matcher.accept_bytes(bytes([byte]))
            known.append(captures := of(matcher.captures()))
            for before, after in zip(known[-2], captures, strict=False):
                # An end that was open may have come.
                assert before == after or before[2] is None and before[:2] == after[:2]
            assert len(captures) >= len(known[-2])
            # What is told is what it will be.
            for capture, note in zip(captures, notes, strict=False):
                assert capture == note or capture[2] is None and capture[:2] == note[:2] and (note[2] >= at - 3 or note[2] > at)
        n_back = rng.randrange(len(text))
        matcher.rollback(n_back)
        assert of(matcher.captures()) == known[len(text) - n_back]
        assert of(matcher.fork().captures()) == known[len(text) - n_back]


def test_blocks_end_with_their_last_line(compiler):
    text = "a\nif b:\n    c\n    if d:\n\te\nf\n"
    for lexer in ("contextual", "basic"):
        grammar = compiler.compile_lark(INDENTED, lexer=lexer, indentation="python", capture=["block", "simple"])
        captures = grammar.parse(text).captures
        told = [(capture.name, capture.text.split("\n")[0].strip()) for capture in captures]
        assert told == [("simple", "a"), ("block", "if b:"), ("simple", "c"), ("block", "if d:"), ("simple", "e"), ("simple", "f")]
        assert [text.encode()[capture.start : capture.end].decode() for capture in captures] == [each.text for each in captures]
        # A block that the end of the text closes.
        inner = grammar.parse("if a:\n  if b:\n    c\n").captures
        assert [capture.name for capture in inner] == ["block", "block", "simple"]
        assert all(capture.end is not None for capture in inner)


def test_ambiguous_texts_have_one_answer(compiler):
    grammar = compiler.compile_gbnf('root ::= first* second*\nfirst ::= "a"+\nsecond ::= "a"', capture=["first", "second"])
    # The rule that was named first, and a text that ends rather than one that goes on.
    assert of(grammar.parse("aaa").captures) == [("first", 0, 1), ("first", 1, 2), ("first", 2, 3)]
    grammar = compiler.compile_gbnf('root ::= first* second*\nfirst ::= "a"+\nsecond ::= "a"', capture=["second", "first"])
    assert of(grammar.parse("aaa").captures)[0][0] == "second"


def test_special_tokens_are_read_by_name():
    tokens = [b"<call>", b"a", b"b", b" ", b"</s>"]
    compiler = maskwright.Compiler(maskwright.Tokenizer.from_tokens(tokens, [4], [0]))
    for grammar in (
        compiler.compile_lark('start: call+\ncall: <call> NAME\nNAME: /[ab]+/\n%ignore " "', capture=["call"]),
        compiler.compile_gbnf('root ::= (call " "*)+\ncall ::= <call> [ab]+', capture=["call"]),
    ):
        matcher = maskwright.Matcher(grammar)
        assert matcher.accept_tokens([0, 1, 2, 3, 0, 2, 4]) == 7
        assert [(capture.text, capture.start) for capture in matcher.captures()] == [("<call>ab", 0), ("<call>b", 9)]


def test_wrong_use(compiler):
    with pytest.raises(maskwright.GrammarError, match="no rule is called `word`.*there are `item`, `root`"):
        compiler.compile_gbnf('root ::= item\nitem ::= "a"', capture=["word"])
    for rules in ('start: item\nitem: item "b" | "a"', 'start: item\nitem: other* "a"\nother: item "b"'):
        for lexer in ("contextual", "dynamic_complete"):
            with pytest.raises(maskwright.GrammarError, match="`item` can begin with itself"):
                compiler.compile_lark(rules, lexer=lexer, capture=["item"])
    with pytest.raises(TypeError, match="a list of str"):
        compiler.compile_gbnf('root ::= "a"', capture="root")
    with pytest.raises(maskwright.Error, match="without `capture`"):
        maskwright.Matcher(compiler.compile_gbnf('root ::= "a"')).captures()
    # Twice the same is once.
    grammar = compiler.compile_gbnf('root ::= "a"', capture=["root", "root"])
    assert of(grammar.parse("a").captures) == [("root", 0, 1)]
    assert of(pickle.loads(pickle.dumps(grammar)).parse("a").captures) == [("root", 0, 1)]
    with pytest.raises(maskwright.Error):
        grammar.parse("b")


def test_masks_are_the_same_with_captures(real_compiler):
    for compiled, way in GRAMMARS.values():
        text, _ = written(random.Random(1), way)
        plain = compiled(Plain(real_compiler))
        one, other = maskwright.Matcher(compiled(real_compiler)), maskwright.Matcher(plain)
        for id in real_compiler.tokenizer.encode(text):
            size = real_compiler.tokenizer.vocab_size
            assert np.array_equal(allowed(one, size), allowed(other, size))
            assert one.accept_token(id) and other.accept_token(id)
            one.captures()


class Plain:
    """A compiler that captures nothing."""

    def __init__(self, compiler):
        self.compiler = compiler

    def compile_lark(self, text, *, capture, **options):
        return self.compiler.compile_lark(text, **options)

    def compile_gbnf(self, text, *, capture, **options):
        return self.compiler.compile_gbnf(text, **options)


def test_labelled_rules_are_counted(compiler):
    rules = "root ::= (" + " | ".join(f"r{n}" for n in range(500)) + ")+\n"
    rules += "\n".join(f'r{n} ::= "a{n}" (root "b{n}")?' for n in range(500))
    plain = compiler.compile_gbnf(rules)
    before = compiler.memory_usage()
    grammar = compiler.compile_gbnf(rules, capture=["r1", "r2"])
    n_more = compiler.memory_usage() - before
    assert n_more > plain.memory_usage() * 1.3
    del grammar
    assert compiler.memory_usage() < before + n_more * 0.2


def test_the_start_rule_is_the_users(compiler):
    rules = 'start: NAME\nNAME: /[a-z]+/\n%ignore " "'
    for lexer in ("contextual", "basic", "dynamic_complete"):
        grammar = compiler.compile_lark(rules, lexer=lexer, capture=["start"])
        assert of(grammar.parse(" ab ").captures) == [("start", 1, 4 if lexer == "dynamic_complete" else 3)]
        with pytest.raises(maskwright.GrammarError, match="no rule is called `start`"):
            compiler.compile_lark(rules.replace("start", "main"), start="main", lexer=lexer, capture=["start"])
    looking = 'start: A B\nA: /a(?=b)/\nB: /b/\n%ignore " "'
    grammar = compiler.compile_lark(looking, lexer="dynamic_complete", capture=["start"])
    assert of(grammar.parse("ab").captures) == [("start", 0, 2)]


def test_a_token_that_ends_the_text_is_in_its_rule():
    compiler = maskwright.Compiler(maskwright.Tokenizer.from_tokens([b"</s>", b"a", b"b"], [0], [0]))
    for grammar in (
        compiler.compile_gbnf('root ::= "a" last\nlast ::= "b</s>"', special_tokens_in_text=True, capture=["root", "last"]),
        compiler.compile_lark(
            'start: "a" last\nlast: "b" "</s>"', lexer="dynamic_complete", special_tokens_in_text=True, capture=["start", "last"]
        ),
        compiler.compile_lark('start: "a" last\nlast: "b" "</s>"', special_tokens_in_text=True, capture=["start", "last"]),
    ):
        matcher = maskwright.Matcher(grammar)
        assert matcher.accept_tokens([1, 2, 0]) == 3 and matcher.is_terminated()
        assert [place for _, *place in of(matcher.captures())] == [[0, 2], [1, 2]]


def test_what_is_ignored_after_an_indent_is_not_in_the_rule(compiler):
    rules = INDENTED + "%ignore /\\/\\*[^*]*\\*\\//\n"
    text = "if a:\n    /*c*/ b\n/*d*/ c\n"
    for lexer in ("contextual", "basic"):
        grammar = compiler.compile_lark(rules, lexer=lexer, indentation="python", capture=["simple"])
        assert [capture.text for capture in grammar.parse(text).captures] == ["b\n", "c\n"]


def test_many_ways_to_split_a_text_take_no_more_than_their_limit(compiler):
    for rules, text in (
        ('start: (">" | ">>")*', ">" * 30_000),
        ('start: (a | b)*\na: ">"\nb: ">>"', ">" * 3_000),
        ('start: list\nlist: "x" ("," list)?', "x," * 20_000),
    ):
        grammar = compiler.compile_lark(rules, capture=["start" if "list" not in rules else "list"])
        matcher = maskwright.Matcher(grammar)
        assert matcher.accept_bytes(text)
        start = time.monotonic()
        try:
            assert matcher.captures()
        except maskwright.LimitError:
            pass
        assert time.monotonic() - start < 10
