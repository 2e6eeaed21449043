"""Grammars in Lark's language, and the built-in ones."""

import maskwright
import pytest
from conftest import allowed, brute_force

LIST = """
start: "(" [item ("," item)*] ")"
item: "if" -> keyword | NAME | NUMBER | start
NAME: /[a-z]+/
NUMBER: /[0-9]+/
%ignore " "
"""

PROGRAM = """
start: (_NL | line)*
line: NAME ":" _NL _INDENT line+ _DEDENT | NAME ["(" NAME ")"] _NL
NAME: /[a-z]+/
LPAR: "("
RPAR: ")"
_NL: /(\\r?\\n[\\t ]*)+/
%declare _INDENT _DEDENT
"""

BUILTIN = {
    "arithmetic": ("2 * (3 + 4.5) - 1", "2 * (3 +"),
    "cpp": ("int add(int a, int b) { return a + b; }", "int add(int a, int b) { return a + ; }"),
    "json": ('{"a": [1, true, null, "b"]}', "{'a': 1}"),
    "python": ("def f(x):\n    return x + 1\n", "def f(x):\nreturn x\n"),
    "smiles": ("CC(=O)Oc1ccccc1C(=O)O", "C((C"),
    "sql": ("SELECT name FROM users WHERE age > 30", "SELECT FROM WHERE"),
}


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def test_masks_equal_brute_force_at_every_step(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_lark(LIST, lexer="basic"))
    for token in [*tokenizer.encode("(if, yes ,(12))"), tokenizer.eos_token_ids[0]]:
        tokens = allowed(matcher, tokenizer.vocab_size)
        assert tokens == brute_force(matcher, tokenizer.vocab_size)
        assert token in tokens and matcher.accept_token(token)
    assert matcher.is_terminated()


def test_keywords_and_names_are_told_apart_as_lark_does(compiler):
    grammar = compiler.compile_lark('start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "\n', lexer="basic")
    assert accepts(grammar, "if x") and accepts(grammar, "if iff")
    assert not accepts(grammar, "ifx") and not accepts(grammar, "if if")


def test_a_schema_is_a_part_of_a_grammar(tmp_path, tokenizer, compiler):
    source = 'start: "call(" %json {"properties": {"n": {"type": "integer"}}, "required": ["n"], "type": "object"} ")"\n'
    grammar = compiler.compile_lark(source, lexer="dynamic_complete", whitespace="compact")
    assert accepts(grammar, 'call({"n":1,"m":[{}]})')
    assert not accepts(grammar, 'call({"n": 1})') and not accepts(grammar, 'call({"m":1})')
    matcher = maskwright.Matcher(grammar)
    assert matcher.accept_bytes(b'call({"n"')
    assert allowed(matcher, tokenizer.vocab_size) == brute_force(matcher, tokenizer.vocab_size)
    (tmp_path / "call.json").write_text('{"enum": ["a"]}')
    imports = compiler.compile_lark('start: %json "call.json"', lexer="dynamic_complete", import_paths=[tmp_path])
    assert accepts(imports, '"a"') and not accepts(imports, '"b"')
    with pytest.raises(maskwright.GrammarError, match="dynamic_complete"):
        compiler.compile_lark(source)


def test_start_names_the_rule_of_whole_texts(compiler):
    assert accepts(compiler.compile_lark(LIST, start="item", lexer="basic"), "if")
    with pytest.raises(maskwright.GrammarError, match="did you mean `item`"):
        compiler.compile_lark(LIST, start="itm", lexer="basic")


def test_indentation(compiler):
    grammar = compiler.compile_lark(PROGRAM, lexer="basic", indentation="python")
    assert accepts(grammar, "a:\n  b\n  c:\n    d(e)\nf\n")
    assert not accepts(grammar, "a:\nb\n") and not accepts(grammar, "a:\n    b\n  c\n")
    with pytest.raises(maskwright.GrammarError, match="_INDENT"):
        compiler.compile_lark(LIST + "_NL: /\\n */\n", lexer="basic", indentation="python")


NAMES = {"newline": "_NL", "indent": "_INDENT", "dedent": "_DEDENT"}


class Indenter:
    """The attributes of Lark's `Indenter`."""

    NL_type = "EOL"
    OPEN_PAREN_types = ("LPAR",)
    CLOSE_PAREN_types = ("RPAR",)
    INDENT_type = "IN"
    DEDENT_type = "OUT"
    tab_len = 4


@pytest.mark.parametrize(
    ("names", "indentation"),
    [
        (NAMES, "python"),
        (NAMES | {"newline": "_NEWLINE"}, "python"),
        (NAMES, {}),
        (NAMES | {"newline": "EOL"}, {"newline": "EOL"}),
        ({"newline": "EOL", "indent": "IN", "dedent": "OUT"}, {"newline": "EOL", "indent": "IN", "dedent": "OUT", "tab_len": 4}),
        ({"newline": "EOL", "indent": "IN", "dedent": "OUT"}, Indenter()),
        ({"newline": "EOL", "indent": "IN", "dedent": "OUT"}, Indenter),
    ],
)
@pytest.mark.parametrize("lexer", ["basic", "contextual"])
def test_indentation_takes_other_names(compiler, names, indentation, lexer):
    source = PROGRAM
    for key, name in NAMES.items():
        source = source.replace(name, names[key])
    grammar = compiler.compile_lark(source, lexer=lexer, indentation=indentation)
    assert accepts(grammar, "a:\n  b\n  c:\n    d(e)\nf\n") and accepts(grammar, "a:\n  d(\ne)\nf\n")
    assert not accepts(grammar, "a:\nb\n") and not accepts(grammar, "a:\n    b\n  c\n")


def test_python_indentation_takes_the_newline_that_rules_use(compiler):
    source = PROGRAM + "_NEWLINE: /;\\n *%/\n"
    assert accepts(compiler.compile_lark(source, lexer="basic", indentation="python"), "a:\n  b\nf\n")


@pytest.mark.parametrize(
    ("indentation", "error", "parts"),
    [
        ("go", ValueError, ["'go'", "'newline'", "python"]),
        ({"new_line": "_NL"}, ValueError, ["new_line", "did you mean 'newline'", "tab_len"]),
        ({"newline": 1}, TypeError, ["newline", "1"]),
        ({"newline": "\ud800"}, ValueError, ["newline", "surrogate"]),
        ({"open": "LPAR"}, TypeError, ["open", "list"]),
        ({"open": [None]}, TypeError, ["open", "None"]),
        ({"tab_len": 0}, ValueError, ["tab_len", "1 to 1000"]),
        ({"tab_len": True}, TypeError, ["tab_len"]),
        (3, TypeError, ["3", "Indenter"]),
        (type("Half", (), {"NL_type": "A"})(), TypeError, ["lacks", "tab_len"]),
        ({"newline": "EOL"}, maskwright.GrammarError, ["`EOL`", "`_NL`"]),
        ({"indent": "IN"}, maskwright.GrammarError, ["`IN`", "the grammar declares `_INDENT`, `_DEDENT`"]),
    ],
)
def test_wrong_names_of_indentation_are_said(compiler, indentation, error, parts):
    with pytest.raises(error) as raised:
        compiler.compile_lark(PROGRAM, lexer="basic", indentation=indentation)
    assert all(part in str(raised.value) for part in parts), str(raised.value)


def test_comments_run_to_the_end_of_their_line(compiler, tokenizer):
    grammar = compiler.compile_lark('start: "a" "b"\n%ignore /;[^\\n]*/\n%ignore /\\s+/', lexer="dynamic_complete")
    for text in ("a;\nb", ";x\nab;b", "a ;b\n\n;;\n b ;"):
        assert accepts(grammar, text), text
    for text in ("a;b", ";ab", "a;xb", "ab;\nb"):
        assert not accepts(grammar, text), text
    matcher = maskwright.Matcher(grammar)
    for text in ("", "a", ";", "b", "\n", "b", ";"):
        assert matcher.accept_bytes(text)
        assert allowed(matcher, tokenizer.vocab_size) == brute_force(matcher, tokenizer.vocab_size)
    assert matcher.is_accepting()


def test_imports_come_from_the_import_paths_and_from_common(compiler, tmp_path):
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "words.lark").write_text("WORD: LETTER+\nLETTER: /[a-z]/\n%import .more.DIGIT\n")
    (tmp_path / "lib" / "more.lark").write_text("DIGIT: /[0-9]/\n")
    source = "start: WORD INT+\n%import lib.words.WORD\n%import common.INT\n%import common.WS\n%ignore WS\n"
    paths = [tmp_path / "nothing", str(tmp_path)]
    assert accepts(compiler.compile_lark(source, lexer="basic", import_paths=paths), "abc 12 3")
    relative = "start: WORD\n%import .lib.words.WORD\n"
    assert accepts(compiler.compile_lark(relative, lexer="basic", import_paths=paths), "abc")
    for grammar in (source, relative):
        with pytest.raises(maskwright.GrammarError, match="words"):
            compiler.compile_lark(grammar, lexer="basic")


@pytest.mark.parametrize(
    ("grammar", "parts"),
    [
        ("start: itm\nitem: /a/\n", ["1:8", "start: itm", "item"]),
        ('start: "a" start\n', ["no text"]),
        ("start: A\nA: /(/\n", ["2:"]),
        ("", ["start"]),
    ],
)
def test_errors_have_their_place(compiler, grammar, parts):
    with pytest.raises(maskwright.GrammarError) as error:
        compiler.compile_lark(grammar, lexer="basic")
    assert all(part in str(error.value) for part in parts), str(error.value)


def test_arguments_are_checked(compiler):
    with pytest.raises(ValueError, match="basic"):
        compiler.compile_lark(LIST, lexer="earley")
    with pytest.raises(maskwright.GrammarError, match="arithmetic, cpp, json, python, smiles, sql"):
        compiler.compile_builtin("cobol")
    with pytest.raises(TypeError):
        compiler.compile_lark(None)
    cancel = maskwright.CancelToken()
    cancel.cancel()
    with pytest.raises(maskwright.WorkCancelled):
        compiler.compile_lark(LIST, lexer="basic", cancel=cancel)
    with pytest.raises(maskwright.WorkCancelled):
        compiler.compile_builtin("json", cancel=cancel)


def test_only_what_can_be_read_competes_unless_told_otherwise(compiler):
    source = 'start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "\n'
    assert accepts(compiler.compile_lark(source), "if if")
    assert not accepts(compiler.compile_lark(source, lexer="basic"), "if if")
    with pytest.raises(maskwright.GrammarError):
        compiler.compile_lark("start: A A\nA: /a+/\n")
    for parts in ([b"if", maskwright.Hole(), b"f"], [maskwright.Hole(max_tokens=2), b" if"], ["if i", maskwright.Hole(tokens=1)]):
        template = maskwright.Template(compiler.compile_lark(source), parts)
        assert template.is_possible() and accepts(compiler.compile_lark(source), template.complete().decode())


@pytest.mark.parametrize("name", BUILTIN)
def test_built_in_grammars(compiler, name):
    grammar = compiler.compile_builtin(name)
    good, bad = BUILTIN[name]
    assert accepts(grammar, good) and not accepts(grammar, bad)
    assert grammar.report == []


def test_built_in_grammars_on_a_real_vocabulary(real_tokenizer, real_compiler):
    matcher = maskwright.Matcher(real_compiler.compile_builtin("sql"))
    n = real_tokenizer.vocab_size
    for token in real_tokenizer.encode("SELECT a.b, COUNT(*) FROM t"):
        assert token in allowed(matcher, n) and matcher.accept_token(token)
    assert set(real_tokenizer.eos_token_ids) <= set(allowed(matcher, n))
