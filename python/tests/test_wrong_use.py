"""Arguments that newcomers are likely to get wrong: the error names the right call."""

import re
import warnings
from pathlib import Path
from types import SimpleNamespace

import maskwright
import numpy as np
import pytest
from maskwright.integrations import llama_cpp, outlines, transformers

SCHEMA = {"type": "object"}


class Slow:
    """Looks like a tokenizer of transformers that is written in Python."""

    def convert_tokens_to_ids(self, tokens):
        return tokens


def cases(tokenizer, compiler):
    grammar = compiler.compile_regex("a+")
    hf = SimpleNamespace(backend_tokenizer=None)
    encoding = SimpleNamespace(_mergeable_ranks={})
    yield lambda: maskwright.Compiler("tokenizer.json"), "Tokenizer.from_file"
    yield lambda: maskwright.Compiler(Path("tokenizer.json")), "Tokenizer.from_file"
    yield lambda: maskwright.Compiler("model.gguf"), "Tokenizer.from_gguf"
    yield lambda: maskwright.Compiler(hf), "Tokenizer.from_hf"
    yield lambda: maskwright.Compiler(encoding), "Tokenizer.from_tiktoken"
    yield lambda: maskwright.Compiler(None), "from_tokens"
    yield lambda: maskwright.Compiler(maskwright.Tokenizer), "the class Tokenizer"
    yield lambda: maskwright.Tokenizer.from_hf("org/name"), r'AutoTokenizer\.from_pretrained\("org/name"\).*Tokenizer\.from_file'
    yield lambda: maskwright.Tokenizer.from_hf(Path("folder")), "from_pretrained"
    yield lambda: maskwright.Tokenizer.from_hf(Slow()), "use_fast=True"
    yield lambda: maskwright.Tokenizer.from_hf(tokenizer), "a Tokenizer already"
    yield lambda: maskwright.Tokenizer.from_hf(encoding), "from_tiktoken"
    yield lambda: maskwright.Tokenizer.from_file(hf), "a file's path as str, bytes or os.PathLike, not .*SimpleNamespace"
    yield lambda: maskwright.Tokenizer.from_tokens(["a"], [0]), "each token as bytes, not str"
    yield lambda: maskwright.Tokenizer.from_tokens([b"a", 1], [0]), "each token as bytes, not int"
    for wrong in (lambda given: maskwright.Matcher(given), lambda given: maskwright.Canvas(given, [None]), lambda given: maskwright.Template(given, [])):
        yield lambda wrong=wrong: wrong(SCHEMA), r"a CompiledGrammar, not dict: Compiler\(tokenizer\)\.compile\(schema\)"
        yield lambda wrong=wrong: wrong('{"type": "object"}'), "compile_json_schema"
        yield lambda wrong=wrong: wrong(compiler), "compile methods"
        yield lambda wrong=wrong: wrong(tokenizer), r"Compiler\(tokenizer\)"
        yield lambda wrong=wrong: wrong(int), r"the class int: Compiler\(tokenizer\)\.compile"
        yield lambda wrong=wrong: wrong(None), "not None"
    yield lambda: maskwright.Matcher(grammar, "10"), "an integer, not str"
    yield lambda: maskwright.Matcher(grammar).accept_token("a"), "an integer, not str"
    yield lambda: maskwright.Matcher(grammar).accept_token(None), "an integer, not None"
    yield lambda: maskwright.Matcher(grammar).accept_bytes(1), "a text as str or bytes, not int"
    yield lambda: compiler.compile_gbnf(b"root"), "a str, not bytes"
    yield lambda: compiler.compile_lark("start: ", lexer=1), "a str, not int"
    yield lambda: transformers.LogitsProcessor(SCHEMA), "`tokenizer`, the tokenizer of the model"
    yield lambda: transformers.LogitsProcessor(SCHEMA, tokenizer="org/name"), "from_pretrained"
    yield lambda: llama_cpp.LogitsProcessor(SCHEMA), "`llama`, the model"
    yield lambda: outlines.processor(SCHEMA, None), "from_transformers"


def test_errors_name_the_right_call(tokenizer, compiler):
    n_cases = 0
    for call, message in cases(tokenizer, compiler):
        n_cases += 1
        with pytest.raises(TypeError) as error:
            call()
        assert re.search(message, str(error.value)), str(error.value)
        assert "is not an instance of" not in str(error.value) and "cannot be interpreted" not in str(error.value)
    assert n_cases > 40


def processors(grammar):
    """Each with a function that calls it for scores of a width."""
    processor = transformers.LogitsProcessor(grammar)
    yield lambda width: processor(np.zeros((1, 1), dtype=np.int64), np.zeros((1, width), dtype=np.float32))
    llama = llama_cpp.LogitsProcessor(grammar)
    yield lambda width: llama(np.zeros(1, dtype=np.intc), np.zeros(width, dtype=np.single))
    model = type("Transformers", (), {"hf_tokenizer": None})()
    of_outlines = outlines.processor(grammar, model)
    yield lambda width: of_outlines(np.zeros((1, 1), dtype=np.int64), np.zeros((1, width), dtype=np.float32))


def test_a_grammar_for_another_tokenizer_is_noticed(tokenizer, compiler):
    grammar = compiler.compile_choice(["yes", "no"])
    n = tokenizer.vocab_size
    for width in (1, n - 1, n // 2):
        for call in processors(grammar):
            with pytest.raises(ValueError, match=rf"a tokenizer of {n} tokens.*scores to {width}: compile the grammar for this model's"):
                call(width)
    for width in (n, n + 1, n * 10 // 9):
        for call in processors(grammar):
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call(width)
    for width in (n * 10 // 9 + 1, 2 * n, 50_000):
        for call in processors(grammar):
            with pytest.warns(UserWarning, match=rf"a tokenizer of {n} tokens, but the model gives scores to {width}") as caught:
                call(width)
            assert [warning.filename for warning in caught] == [__file__]
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call(width)


def test_llama_cpp_ends_the_text_of_a_grammar_for_another_tokenizer(compiler):
    """None of the grammar's end tokens is among the scores, and nothing is written beyond them."""
    processor = llama_cpp.LogitsProcessor(compiler.compile_choice(["yes"]))
    scores = np.zeros(100, dtype=np.single)
    with pytest.raises(ValueError, match="compile the grammar"):
        processor(np.zeros(1, dtype=np.intc), scores)
    assert isinstance(processor.error, ValueError) and np.isfinite(scores).all()


def test_what_a_grammar_was_compiled_from(compiler):
    size = compiler.tokenizer.vocab_size
    grammars = {
        "json_schema": compiler.compile_json_schema(SCHEMA),
        "regex": compiler.compile_regex("a"),
        "gbnf": compiler.compile_gbnf('root ::= "a"'),
        "choice": compiler.compile_choice(["a"]),
        "lark": compiler.compile_lark('start: "a"'),
        "arithmetic": compiler.compile_builtin("arithmetic"),
        "structural_tag": compiler.compile_structural_tag({"format": {"type": "any_text"}}),
    }
    for kind, grammar in grammars.items():
        assert repr(grammar) == f'CompiledGrammar(kind="{kind}", vocab_size={size})'


def test_every_limit_can_be_given(tokenizer):
    names = maskwright.Compiler.__doc__.split("* `threads`")[0]
    names = set(re.findall(r"`([a-z_]+)`", names)) - {"limits"}
    assert len(names) == 14
    compiler = maskwright.Compiler(tokenizer, limits=dict.fromkeys(names, 2**31))
    assert maskwright.Matcher(compiler.compile_regex("a+")).accept_token(ord("a"))
    for name in names:
        with pytest.raises(ValueError, match="at least 0"):
            maskwright.Compiler(tokenizer, limits={name: -1})
    with pytest.raises(ValueError, match="max_states is 4294967296"):
        maskwright.Compiler(tokenizer, limits={"max_states": 2**32})
    with pytest.raises(TypeError, match="max_calls"):
        maskwright.Compiler(tokenizer, limits={"calls": 1})
    tight = maskwright.Compiler(tokenizer, limits={"max_positions": 3})
    with pytest.raises(maskwright.LimitError, match="3"):
        maskwright.Canvas(tight.compile_regex("a+"), [None] * 4)


def test_the_status_of_a_template(compiler, tokenizer):
    grammar = compiler.compile_regex("(ab)+")
    template = maskwright.Template(grammar, ["a", maskwright.Hole(tokens=1)])
    assert template.status == "possible" and template.is_possible() and template.fix(0, [ord("b")]) and template.status == "possible"
    assert maskwright.Template(grammar, ["b", maskwright.Hole()]).status == "impossible"
    tight = maskwright.Compiler(tokenizer, limits={"infill_work": 1})
    opened = maskwright.Template(tight.compile_json_schema(SCHEMA), ['{"', maskwright.Hole(max_tokens=30), '": 1', maskwright.Hole(), "}"])
    if opened.status == "open":
        with pytest.raises(maskwright.LimitError):
            opened.is_possible()
    else:
        assert opened.status == "possible"
