"""What a session says of itself, and text as it comes."""

import pytest

import maskwright

TOKENS = [b"caf", b"\xc3", b"\xa9", b" no", b"ir", b"</s>", b"c", b"a", b"f"]
TOKENIZER = maskwright.Tokenizer.from_tokens(TOKENS, eos_token_ids=[5])
COMPILER = maskwright.Compiler(TOKENIZER)


def matcher(**options):
    return maskwright.Matcher(COMPILER.compile_choice(["café noir"]), **options)


def test_a_session_says_what_it_has_accepted():
    session = matcher(max_tokens=9)
    assert (session.text, session.steps, session.n_tokens, session.max_tokens) == (b"", [], 0, 9)
    assert session.accept_bytes("caf") and session.accept_tokens([1, 2]) == 2
    assert (session.text, session.steps, session.n_tokens) == ("café".encode(), [b"caf", 1, 2], 3)
    session.rollback(1)
    assert (session.text, session.n_tokens) == (b"caf\xc3", 2)
    assert session.accept_tokens([2, 3, 4, 5]) == 4
    assert (session.text, session.n_tokens, session.is_terminated()) == ("café noir".encode(), 6, True)
    session.reset()
    assert (session.text, session.steps, session.n_tokens, session.max_tokens) == (b"", [], 0, 9)
    assert matcher().max_tokens is None


def test_bytes_count_as_the_fewest_tokens_with_and_without_a_limit():
    for session in (matcher(), matcher(max_tokens=20)):
        assert session.accept_bytes("café")
        assert session.n_tokens == 3


def test_the_least_number_of_tokens_comes_with_its_status():
    session = matcher()
    assert session.tokens_to_finish_with_status() == (6, "upper")
    assert session.tokens_to_finish_with_status() == (session.tokens_to_finish(), session.tokens_to_finish_status())


def test_where_a_session_comes_from():
    session = matcher()
    assert session.grammar.compiler is COMPILER
    assert session.grammar.tokenizer is COMPILER.tokenizer is TOKENIZER


@pytest.mark.parametrize("given", [None, 7, ["caf"]])
def test_a_text_is_str_or_bytes(given):
    with pytest.raises(TypeError, match="expected a text as str or bytes, not"):
        matcher().accept_bytes(given)
    with pytest.raises(TypeError):
        TOKENIZER.encode(given)


def test_a_decoder_gives_whole_characters():
    decoder = TOKENIZER.decoder()
    assert isinstance(decoder, maskwright.Decoder)
    assert [decoder.feed(token) for token in [0, 1, 2, 3, 5]] == ["caf", "", "é", " no", ""]
    assert decoder.finish() == ""
    assert decoder.feed([0, 1]) == "caf"
    assert decoder.finish() == "\ufffd"
    assert decoder.feed((2, 6)) == "\ufffdc"
    with pytest.raises(maskwright.TokenizerError):
        decoder.feed(-1)


def test_pieces_of_a_template_are_str_or_bytes():
    grammar = COMPILER.compile_choice(["café noir"])
    template = maskwright.Template(grammar, ["caf", maskwright.Hole(), b" noir"])
    assert template.complete() == "café noir".encode()
    with pytest.raises(TypeError, match="bytes, str, a list of token ids or Hole, not int"):
        maskwright.Template(grammar, [7])


def test_the_ids_that_end_a_text_have_two_names():
    for options in ({"eos": [5]}, {"eos_token_ids": [5]}):
        assert maskwright.Tokenizer.from_tokens(TOKENS, **options).eos_token_ids == [5]
    for options in ({}, {"eos": [5], "eos_token_ids": [5]}):
        with pytest.raises(TypeError, match="eos_token_ids"):
            maskwright.Tokenizer.from_tokens(TOKENS, **options)


def test_special_tokens_have_names():
    special = maskwright.Tokenizer.from_tiktoken("gpt2").special_tokens
    assert special == {"<|endoftext|>": 50256}
    assert TOKENIZER.special_tokens == {}
