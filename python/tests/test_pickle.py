"""Pickling, copying, and bytes for another process."""

import copy
import hashlib
import json
import multiprocessing
import os
import pickle
import random
from pathlib import Path

import pytest

import maskwright

SHARED = Path(os.environ.get("MASKWRIGHT_SHARED", Path(__file__).parents[3] / "shared"))
TOKENIZERS = sorted(SHARED.glob("tokenizers/*/tokenizer.json")) if SHARED.is_dir() else []
GPT2 = maskwright.Tokenizer.from_tiktoken("gpt2")
COMPILER = maskwright.Compiler(GPT2, {"compile_work": 10_000_000}, threads=2)
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name"]}
TEXTS = ["Hello, wörld!\n\tx = 1", "  two  spaces", "日本語 and 🦀", "", "<|endoftext|>", "a" * 200]


def mask(session):
    bits = maskwright.allocate_token_bitmask(1, session.grammar.tokenizer.vocab_size)
    session.fill_next_token_bitmask(bits)
    return bits.tobytes()


def grammars():
    yield COMPILER.compile_json_schema(SCHEMA)
    yield COMPILER.compile_json_schema(SCHEMA, property_order="any", whitespace="compact")
    yield COMPILER.compile_regex("[a-z]{2,5}")
    yield COMPILER.compile_gbnf('root ::= "a" root | "b"')
    yield COMPILER.compile_choice(["yes", "no"])
    yield COMPILER.compile_lark('start: "if" NAME\nNAME: /[a-z]+/\n%ignore " "')
    yield COMPILER.compile_lark("start: WORD+\nWORD: /[a-z]/\n%ignore \" \"", lexer="basic")
    yield COMPILER.compile_builtin("python")


@pytest.mark.parametrize("grammar", list(grammars()), ids=lambda grammar: hashlib.sha256(grammar.serialize()).hexdigest()[:6])
def test_a_grammar_comes_back(grammar):
    again = pickle.loads(pickle.dumps(grammar))
    assert again.report == grammar.report
    assert again.serialize() == grammar.serialize()
    first, second = maskwright.Matcher(grammar), maskwright.Matcher(again)
    draws = random.Random(7)
    for _ in range(8):
        assert mask(first) == mask(second)
        allowed = [token for token in range(GPT2.vocab_size) if first.validate_tokens([token]) and token != 50256][:200]
        if not allowed:
            break
        token = draws.choice(allowed)
        assert first.accept_token(token) and second.accept_token(token)


def test_what_is_pickled_together_shares_its_compiler():
    first, second, session = pickle.loads(
        pickle.dumps([*list(grammars())[:2], maskwright.Matcher(COMPILER.compile_choice(["a"]))])
    )
    assert first.compiler is second.compiler is session.grammar.compiler
    assert first.compiler.tokenizer is first.tokenizer
    assert pickle.loads(pickle.dumps(COMPILER)).__reduce__()[1][1:] == ({"compile_work": 10_000_000}, 2)


def test_a_session_goes_on_where_it_was():
    session = maskwright.Matcher(COMPILER.compile_json_schema(SCHEMA), max_tokens=30)
    assert session.accept_bytes('{"name"') and session.accept_tokens(GPT2.encode(': "A')) == 3
    again = pickle.loads(pickle.dumps(session))
    assert (again.text, again.steps, again.n_tokens, again.max_tokens) == (
        session.text,
        session.steps,
        session.n_tokens,
        30,
    )
    assert mask(again) == mask(session)
    for other in (copy.copy(session), copy.deepcopy(session)):
        assert other.grammar is session.grammar
        assert other.accept_bytes("nna")
    assert session.text == again.text
    again.accept_tokens(again.finish())
    assert again.is_terminated() and json.loads(again.text)["name"].startswith("A")
    assert pickle.loads(pickle.dumps(again)).is_terminated()


def test_copies_of_what_does_not_change_are_the_same():
    grammar = COMPILER.compile_choice(["a"])
    for value in (GPT2, COMPILER, grammar):
        assert copy.copy(value) is value
        assert copy.deepcopy([value])[0] is value


def test_a_grammar_is_for_any_tokenizer():
    tokenizer = maskwright.Tokenizer.from_tokens([b"yes", b"n", b"o", b"</s>"], eos_token_ids=[3])
    saved = COMPILER.compile_choice(["yes", "no"]).serialize()
    grammar = maskwright.CompiledGrammar.deserialize(saved, maskwright.Compiler(tokenizer))
    assert maskwright.Matcher(grammar).validate_tokens([1, 2, 3]) == 3


def test_files_are_saved_with_the_grammar(tmp_path):
    (tmp_path / "name.json").write_text('{"type": "string", "maxLength": 3}')
    (tmp_path / "person.json").write_text('{"$ref": "name.json"}')
    (tmp_path / "names.lark").write_text("NAME: /[a-z]+/")
    schema = COMPILER.compile_json_schema(tmp_path / "person.json")
    lark = COMPILER.compile_lark("%import names.NAME\nstart: NAME", import_paths=[tmp_path])
    saved = [schema.serialize(), lark.serialize()]
    for file in tmp_path.iterdir():
        file.unlink()
    schema, lark = (maskwright.CompiledGrammar.deserialize(bytes, COMPILER) for bytes in saved)
    assert maskwright.Matcher(schema).accept_bytes('"abc"') and not maskwright.Matcher(schema).accept_bytes('"abcd"')
    assert maskwright.Matcher(lark).accept_bytes("abc") and not maskwright.Matcher(lark).accept_bytes("1")
    assert schema.serialize() == saved[0] and lark.serialize() == saved[1]


def sealed(name, content):
    """What `content` would be, were it written by this package."""
    return name + hashlib.sha256(content).digest() + content


@pytest.mark.parametrize("name", [b"mwgramm\x04", b"mwtoken\x02"])
def test_bytes_that_are_something_else_are_refused(name):
    def read(saved):
        if name == b"mwtoken\x02":
            return maskwright.Tokenizer.deserialize(saved)
        return maskwright.CompiledGrammar.deserialize(saved, COMPILER)

    good = GPT2.serialize() if name == b"mwtoken\x02" else COMPILER.compile_json_schema(SCHEMA).serialize()
    assert good.startswith(name)
    read(good)
    for wrong in (b"", b"x", good[:-1], good + b"x", good[:8], name[:-1] + b"\xff" + good[8:], good[1:]):
        with pytest.raises(maskwright.Error, match="saved"):
            read(wrong)
    draws = random.Random(3)
    n_refused = 0
    for _ in range(3_000):
        content = bytearray(good[40:])
        for _ in range(draws.randrange(1, 4)):
            content[draws.randrange(len(content))] = draws.choice([0, 1, 2, 127, 128, 255, draws.randrange(256)])
        try:
            read(sealed(name, bytes(content[: draws.randrange(len(content) // 2, len(content) + 1)])))
        except maskwright.Error:
            n_refused += 1
    assert n_refused > 1_000


def test_a_saved_grammar_leads_to_no_file(tmp_path):
    (tmp_path / "secret.json").write_text('{"const": "secret"}')
    (tmp_path / "a.json").write_text('{"$ref": "other.json"}')
    (tmp_path / "other.json").write_text("true")
    saved = COMPILER.compile_json_schema(tmp_path / "a.json").serialize()
    forged = sealed(saved[:8], saved[40:].replace(b'"other.json"', b'"secret.json"'[:12] + b'"', 1))
    with pytest.raises(maskwright.Error):
        maskwright.CompiledGrammar.deserialize(forged, COMPILER)


@pytest.mark.skipif(not TOKENIZERS, reason="the tokenizers are absent (MASKWRIGHT_SHARED)")
def test_tokenizers_come_back():
    for file in TOKENIZERS:
        tokenizer = maskwright.Tokenizer.from_file(file)
        again = pickle.loads(pickle.dumps(tokenizer))
        assert again.vocab_size == tokenizer.vocab_size and again.eos_token_ids == tokenizer.eos_token_ids
        assert again.special_tokens == tokenizer.special_tokens
        assert all(again.token_bytes(id) == tokenizer.token_bytes(id) for id in range(tokenizer.vocab_size))
        assert all(again.encode(text) == tokenizer.encode(text) for text in TEXTS)
        assert again.serialize() == tokenizer.serialize()


def first_mask(grammar):
    return mask(maskwright.Matcher(grammar))


def test_another_process_gets_the_same_masks():
    grammars_here = list(grammars())[:4]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(first_mask, grammars_here) == [first_mask(grammar) for grammar in grammars_here]
