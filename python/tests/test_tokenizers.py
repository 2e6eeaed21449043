"""Tokenizers from every source."""

import json

import maskwright
import pytest
from conftest import SHARED

TEXT = 'The {"caf\u00e9": [1, 2.5e3, "\u4e2d\u6587"]}  \n\tok'


def test_from_tokens():
    tokenizer = maskwright.Tokenizer.from_tokens([b"a", b"ab", b"b", b"", b"</s>", b"<end>"], eos=[5, 4])
    assert tokenizer.vocab_size == 6 and tokenizer.eos_token_ids == [4, 5]
    assert [tokenizer.token_bytes(id) for id in range(6)] == [b"a", b"ab", b"b", None, None, None]
    assert tokenizer.encode("abba") == tokenizer.encode(b"abba") == [1, 2, 0]
    assert tokenizer.decode([1, 2, 0, 4]) == b"abba"
    for no_id in (6, -1, 2**40):
        with pytest.raises(IndexError, match=str(no_id)):
            tokenizer.token_bytes(no_id)
    with pytest.raises(maskwright.TokenizerError):
        tokenizer.encode("abc")
    with pytest.raises(TypeError):
        tokenizer.encode(1)
    with pytest.raises(maskwright.TokenizerError, match="7"):
        maskwright.Tokenizer.from_tokens([b"a"], eos=[7])


def test_from_file(tokenizer_file, real_tokenizer):
    ids = real_tokenizer.encode(TEXT)
    assert b"".join(real_tokenizer.token_bytes(id) for id in ids) == TEXT.encode()
    assert real_tokenizer.decode(ids) == TEXT.encode()
    wider = maskwright.Tokenizer.from_file(
        str(tokenizer_file), eos_token_ids=[1, 0], vocab_size=real_tokenizer.vocab_size + 100
    )
    assert wider.vocab_size == real_tokenizer.vocab_size + 100 and wider.eos_token_ids == [0, 1]
    assert wider.token_bytes(wider.vocab_size - 1) is None


def test_from_hf_agrees_with_the_file(tokenizer_file, real_tokenizer):
    tokenizers = pytest.importorskip("tokenizers", reason="the package tokenizers is not installed")
    backend = tokenizers.Tokenizer.from_file(str(tokenizer_file))

    class Fast:
        """What a fast tokenizer of transformers has of this."""

        backend_tokenizer = backend
        eos_token_id = real_tokenizer.eos_token_ids[0]

    fast = maskwright.Tokenizer.from_hf(Fast())
    assert fast.eos_token_ids == [Fast.eos_token_id]
    plain = maskwright.Tokenizer.from_hf(backend, eos_token_ids=real_tokenizer.eos_token_ids)
    for tokenizer in (fast, plain):
        assert tokenizer.vocab_size == real_tokenizer.vocab_size
        assert tokenizer.encode(TEXT) == backend.encode(TEXT, add_special_tokens=False).ids
    with pytest.raises(TypeError, match="dict"):
        maskwright.Tokenizer.from_hf({})


def test_from_tiktoken_by_name():
    tokenizer = maskwright.Tokenizer.from_tiktoken("o200k_base")
    assert tokenizer.decode(tokenizer.encode(TEXT)) == TEXT.encode()
    assert tokenizer.vocab_size >= 200_000 and tokenizer.eos_token_ids
    with pytest.raises(maskwright.TokenizerError, match="no_such_encoding"):
        maskwright.Tokenizer.from_tiktoken("no_such_encoding")


def test_from_a_tiktoken_encoding():
    class Encoding:
        """What a tiktoken.Encoding has of this; making a real one would download it."""

        name = "made_here"
        n_vocab = 260
        _mergeable_ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256}
        _special_tokens = {"<|endoftext|>": 259}

    tokenizer = maskwright.Tokenizer.from_tiktoken(Encoding())
    assert tokenizer.vocab_size == 260 and tokenizer.eos_token_ids == [259]
    assert tokenizer.encode("cab") == [ord("c"), 256] and tokenizer.token_bytes(257) is None
    assert maskwright.Tokenizer.from_tiktoken(Encoding(), eos_token_ids=[258]).eos_token_ids == [258]

    class NoEnd(Encoding):
        _special_tokens = {}

    with pytest.raises(maskwright.TokenizerError, match="eos_token_ids"):
        maskwright.Tokenizer.from_tiktoken(NoEnd())

    class TooLong(Encoding):
        n_vocab = 256

    with pytest.raises(maskwright.TokenizerError, match="256"):
        maskwright.Tokenizer.from_tiktoken(TooLong())
    with pytest.raises(maskwright.LimitError):
        maskwright.Tokenizer.from_tiktoken(Encoding(), vocab_size=10**12)

    class BuiltIn(Encoding):
        name = "gpt2"

    assert maskwright.Tokenizer.from_tiktoken(BuiltIn()).vocab_size == 50257


def test_broken_files(tmp_path):
    path = tmp_path / "tokenizer.json"
    with pytest.raises(maskwright.TokenizerError, match=r"tokenizer\.json"):
        maskwright.Tokenizer.from_file(path)
    for broken in (b"", b"{", b"[]", b'{"model": {}}', b"\xff\xfe", json.dumps({"model": {"type": "BPE"}}).encode()):
        path.write_bytes(broken)
        with pytest.raises(maskwright.TokenizerError, match=r"tokenizer\.json"):
            maskwright.Tokenizer.from_file(path)
        with pytest.raises(maskwright.TokenizerError, match=r"tokenizer\.json"):
            maskwright.Tokenizer.from_gguf(path)


def real_tokenizers():
    return sorted(path.parent.name for path in (SHARED / "tokenizers").glob("*/tokenizer.json"))


@pytest.mark.parametrize("name", real_tokenizers() or ["absent"])
def test_every_real_tokenizer_spells_the_text(name, tokenizer_file):
    path = tokenizer_file if name == "absent" else SHARED / "tokenizers" / name / "tokenizer.json"
    tokenizer = maskwright.Tokenizer.from_file(path)
    assert b"".join(tokenizer.token_bytes(id) for id in tokenizer.encode(TEXT)) == TEXT.encode()
    matcher = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_regex("(?s).*"))
    ids = tokenizer.encode(TEXT)
    assert matcher.accept_tokens(ids) == len(ids) and matcher.accept_token(tokenizer.eos_token_ids[0])
