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
    yield from cases_of_lists(tokenizer, compiler)
    yield from cases_of_other_types(compiler)


def cases_of_lists(tokenizer, compiler):
    """A list of something else, or something else than a list."""
    grammar, mask = compiler.compile_regex("a+"), maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    matcher, canvas, template = maskwright.Matcher(grammar), maskwright.Canvas(grammar, [None]), maskwright.Template(grammar, [maskwright.Hole()])
    calls = (
        tokenizer.decode,
        matcher.accept_tokens,
        matcher.validate_tokens,
        lambda given: matcher.fill_draft_tree(given, [97], mask),
        lambda given: matcher.fill_draft_tree([-1], given, mask),
        lambda given: matcher.search(None, given),
        lambda given: maskwright.Matcher(grammar, stop_token_ids=given),
        lambda given: canvas.allows(0, given),
        lambda given: template.fix(0, given),
        lambda given: template.fill_next_token_bitmask(0, given, mask),
        lambda given: maskwright.fill_next_token_bitmask_batch([matcher], mask, given),
        lambda given: maskwright.Tokenizer.from_tokens([b"a"], given),
        lambda given: maskwright.Tokenizer.from_tokens([b"a"], [], given),
        lambda given: maskwright.Tokenizer.from_tiktoken("gpt2", eos_token_ids=given),
        lambda given: maskwright.Canvas(grammar, given),
    )
    for call in calls:
        yield lambda call=call: call("abc"), "a list of integers.*, not str"
        yield lambda call=call: call(3), "a list of integers.*, not int"
        yield lambda call=call: call({97}), "a list of integers.*, not set"
        yield lambda call=call: call(["a"]), "an integer, not str"
    yield lambda: maskwright.Tokenizer.from_tokens("ab", [0]), "a list of tokens, each as bytes, not str"
    yield lambda: maskwright.Tokenizer.from_tokens(3, [0]), "a list of tokens, each as bytes, not int"
    yield lambda: maskwright.Template(grammar, "ab"), "a list, not str"
    yield lambda: maskwright.Template(grammar, 3), "a list, not int"
    for batch in (maskwright.likeliest_batch, lambda given: maskwright.fill_next_token_bitmask_batch(given, mask)):
        yield lambda batch=batch: batch(matcher), "a list of matchers, not .*Matcher"
        yield lambda batch=batch: batch([grammar]), "each matcher as a Matcher, not .*CompiledGrammar"
    for call in (matcher.likeliest, canvas.likeliest, lambda **given: maskwright.likeliest_batch([matcher], **given)):
        yield lambda call=call: call(candidates=64), "a pair .*, not int"
        yield lambda call=call: call(candidates=[1, 2]), "a pair .*, not list"
    yield lambda: maskwright.likeliest_batch([matcher], max_tokens="3"), "an integer, or a list of integers and None, not str"
    yield lambda: compiler.compile_lark('start: "a"', import_paths="folder"), "a list of paths, not str"


def cases_of_other_types(compiler):
    grammar = compiler.compile_regex("a+")
    yield lambda: maskwright.Compiler(compiler.tokenizer, limits=3), "a dict from names of limits to numbers, not int"
    yield lambda: compiler.compile_json_schema({}, documents=[]), "a dict from URIs to schemas, not list"
    yield lambda: compiler.compile_json_schema({}, strict="no"), "True or False, not str"
    yield lambda: compiler.compile_gbnf('root ::= "a"', special_tokens_in_text=1), "True or False, not int"
    yield lambda: compiler.compile_regex("a", unicode=None), "True or False, not None"
    yield lambda: compiler.compile_regex("a", cancel=True), r"a CancelToken \(or None\), not bool"
    yield lambda: compiler.compile(int, cancel=3), r"a CancelToken \(or None\), not int"
    yield lambda: maskwright.CompiledGrammar.deserialize("a", compiler), r"the bytes that serialize\(\) gives, not str"
    yield lambda: maskwright.CompiledGrammar.deserialize(b"a", compiler.tokenizer), "a Compiler, not .*Tokenizer"
    yield lambda: maskwright.Tokenizer.deserialize("a"), r"the bytes that serialize\(\) gives, not str"
    yield lambda: maskwright.Tokenizer.from_tiktoken(3), r"the name of an encoding, or a tiktoken\.Encoding, not int"
    yield lambda: maskwright.Matcher(grammar).search(None, [97], temperature="1"), "a number, not str"
    yield lambda: maskwright.Canvas(grammar, [None]).fill_bitmask(0, None, exact=1), "True or False, not int"
    yield lambda: maskwright.Trace(title=3), "a str, not int"
    yield lambda: maskwright.Trace(model=3), "a str, not int"


def test_errors_name_the_right_call(tokenizer, compiler):
    n_cases = 0
    for call, message in cases(tokenizer, compiler):
        n_cases += 1
        with pytest.raises(TypeError) as error:
            call()
        assert re.search(message, str(error.value)), str(error.value)
        for words in ("is not an instance of", "cannot be interpreted", "Can't extract", "failed to extract", "must be"):
            assert words not in str(error.value), str(error.value)
    assert n_cases > 110


def test_misspelt_options_have_a_hint(tokenizer, compiler):
    calls = [
        (lambda **options: compiler.compile_json_schema({}, **options), "white_space", "whitespace"),
        (lambda **options: compiler.compile({"type": "integer"}, **options), "Strict", "strict"),
        (lambda **options: compiler.compile_structural_tag({"format": {"type": "any_text"}}, **options), "special_token_in_text", "special_tokens_in_text"),
        (lambda **options: compiler.compile_tool_calls([], **options), "formats", "format"),
        (lambda **options: compiler.compile_regex("a", **options), "dialct", "dialect"),
        (lambda **options: compiler.compile_gbnf('root ::= "a"', **options), "cancels", "cancel"),
        (lambda **options: compiler.compile_choice(["a"], **options), "canel", "cancel"),
        (lambda **options: compiler.compile_lark('start: "a"', **options), "import_path", "import_paths"),
        (lambda **options: compiler.compile_builtin("json", **options), "cancels", "cancel"),
    ]
    for call, given, meant in calls:
        with pytest.raises(TypeError, match=rf'^compile_\w+\(\) got an unexpected keyword argument "{given}"; did you mean "{meant}"\?$'):
            call(**{given: None})
        with pytest.raises(TypeError, match='unexpected keyword argument "qqqqqq"; its options are .*cancel'):
            call(qqqqqq=None)
    with pytest.raises(TypeError, match=r'^no limit is named "infil_work"; did you mean "infill_work"\?$'):
        maskwright.Compiler(tokenizer, limits={"infil_work": 1})
    with pytest.raises(TypeError, match='no limit is named "seconds"; the limits are compile_work, '):
        maskwright.Compiler(tokenizer, limits={"seconds": 1})


def test_the_name_of_a_file_is_no_grammar(compiler):
    calls = (
        (compiler.compile_gbnf, "cfg.gbnf"),
        (compiler.compile_lark, "cfg.lark"),
        (compiler.compile_json_schema, "cfg.json"),
        (compiler.compile_structural_tag, "cfg.json"),
        (lambda given: compiler.compile_tool_calls(given, format="llama"), "tools.json"),
    )
    for compile, name in calls:
        with pytest.raises(maskwright.Error, match="this looks like the name of a file: pass its content, or a pathlib.Path"):
            compile(name)


def test_a_list_has_a_grammar_for_each_prompt(compiler):
    """`[one]` was used for two prompts without a word."""
    one, other = compiler.compile_regex("a+"), compiler.compile_regex("b+")
    scores = np.zeros((2, compiler.tokenizer.vocab_size), dtype=np.float32)
    different, alike = np.array([[1, 2], [1, 3]]), np.array([[1, 2], [1, 2]])
    for grammar, prompts in ((one, different), ([one, other], different), ([one], alike), ([one, other], alike)):
        transformers.LogitsProcessor(grammar)(prompts, scores)
    with pytest.raises(ValueError, match="a list of 1 grammar for 2 different prompts, expected one for each prompt"):
        transformers.LogitsProcessor([one])(different, scores)
    with pytest.raises(ValueError, match="a list of 2 grammars for 2 different prompts"):
        transformers.LogitsProcessor([one, other])(different[[0, 1, 1, 1]], scores[[0] * 4])
    with pytest.raises(ValueError, match="1 row for 2 grammars"):
        transformers.LogitsProcessor([one, other])(different[:1], scores[:1])


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
    names, advanced = (set(re.findall(r"`([a-z_]+)`", part)) for part in names.split("* `advanced`"))
    names -= {"limits"}
    assert len(names) == 5 and len(advanced) == 9
    limits = {**dict.fromkeys(names, 2**31), "advanced": dict.fromkeys(advanced, 2**31)}
    compiler = maskwright.Compiler(tokenizer, limits=limits)
    assert compiler.__reduce__()[1][1] == limits
    assert maskwright.Matcher(compiler.compile_regex("a+")).accept_token(ord("a"))
    for name in names:
        with pytest.raises(ValueError, match="at least 0"):
            maskwright.Compiler(tokenizer, limits={name: -1})
    with pytest.raises(ValueError, match="max_states is 4294967296"):
        maskwright.Compiler(tokenizer, limits={"advanced": {"max_states": 2**32}})
    with pytest.raises(TypeError, match="max_calls"):
        maskwright.Compiler(tokenizer, limits={"advanced": {"calls": 1}})
    tight = maskwright.Compiler(tokenizer, limits={"max_positions": 3})
    with pytest.raises(maskwright.LimitError, match="3"):
        maskwright.Canvas(tight.compile_regex("a+"), [None] * 4)


def test_the_status_of_a_template(compiler, tokenizer):
    grammar = compiler.compile_regex("(ab)+")
    template = maskwright.Template(grammar, ["a", maskwright.Hole(tokens=1)])
    assert template.decide() == "possible" and template.is_possible() and template.fix(0, [ord("b")]) and template.decide() == "possible"
    assert maskwright.Template(grammar, ["b", maskwright.Hole()]).decide() == "impossible"
    tight = maskwright.Compiler(tokenizer, limits={"infill_work": 1})
    opened = maskwright.Template(tight.compile_json_schema(SCHEMA), ['{"', maskwright.Hole(max_tokens=30), '": 1', maskwright.Hole(), "}"])
    if opened.decide() == "open":
        with pytest.raises(maskwright.LimitError):
            opened.is_possible()
    else:
        assert opened.decide() == "possible"
