"""Searches with a model that is a Python function."""

import itertools
import json
import math

import maskwright
import numpy as np
import pytest

TOKENS = [b"a", b"b", b"ab", b"ba", b"</s>", b"c"]
TOKENIZER = maskwright.Tokenizer.from_tokens(TOKENS, eos_token_ids=[4])
COMPILER = maskwright.Compiler(TOKENIZER)
STRATEGIES = ["best-of", "beam", "mcts", "likeliest", "smc"]


def probabilities(sequence):
    """A distribution that depends on the whole sequence, and on nothing else."""
    values = np.random.default_rng([7, *sequence]).random(len(TOKENS)) * 3
    return np.exp(values) / np.exp(values).sum()


def logits(sequences):
    assert all(sequence[:2] == [5, 0] for sequence in sequences)
    return np.log([probabilities(sequence) for sequence in sequences])


def every_text(grammar, max_tokens):
    """All texts of at most so many tokens, with the logarithms of their probabilities."""
    for n_tokens in range(1, max_tokens):
        for ids in itertools.product([0, 1, 2, 3, 5], repeat=n_tokens):
            if maskwright.Matcher(grammar).accept_tokens([*ids, 4]) == n_tokens + 1:
                sequence, sum_of_logs = [5, 0], 0.0
                for token in (*ids, 4):
                    sum_of_logs += math.log(probabilities(sequence)[token])
                    sequence.append(token)
                yield [*ids, 4], sum_of_logs


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_texts_are_whole_and_their_likelihoods_true(strategy):
    grammar = COMPILER.compile_regex("(a|b){2,6}")
    texts = dict((tuple(ids), value) for ids, value in every_text(grammar, 6))
    session = maskwright.Matcher(grammar, max_tokens=6)
    found = session.search(logits, [5, 0], strategy=strategy, tries=20, seed=3)
    assert found and session.n_tokens == 0
    for text in found:
        assert text.is_complete
        assert text.log_probability == pytest.approx(texts[tuple(text.token_ids)], abs=1e-4)
    if strategy == "likeliest":
        found = session.search(logits, [5, 0], strategy=strategy, tries=10_000)
        assert found[0].log_probability == pytest.approx(max(texts.values()), abs=1e-4)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_goes_on_from_where_the_session_stands(strategy):
    tokenizer = maskwright.Tokenizer.from_tiktoken("gpt2")
    schema = {"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}}, "required": ["name", "age"]}
    session = maskwright.Matcher(maskwright.Compiler(tokenizer).compile_json_schema(schema), max_tokens=24)
    assert session.accept_bytes('{"name": "A')

    def model(sequences):
        return np.array([np.random.default_rng(sequence[-3:]).random(tokenizer.vocab_size + 47) for sequence in sequences])

    for text in session.search(model, tokenizer.encode("A"), strategy=strategy, tries=3, seed=1):
        ended = session.fork()
        assert text.is_complete and ended.accept_tokens(text.token_ids) == len(text.token_ids)
        assert ended.is_terminated() and ended.n_tokens <= 24
        assert json.loads(ended.text)["name"].startswith("A")


def test_a_seed_gives_the_same_texts():
    session = maskwright.Matcher(COMPILER.compile_regex("(a|b){2,6}"), max_tokens=6)

    def texts(seed):
        return [text.token_ids for text in session.search(logits, [5, 0], strategy="smc", seed=seed)]

    assert texts(1) == texts(1)
    assert any(texts(1) != texts(seed) for seed in range(2, 6))


def test_without_a_limit_texts_are_cut_off_and_say_so():
    session = maskwright.Matcher(COMPILER.compile_regex("a*c"))
    never = np.log([[0.9, 0.01, 0.01, 0.01, 0.01, 1e-9]])
    found = session.search(lambda sequences: np.repeat(never, len(sequences), axis=0), [5, 0], tries=1)
    assert [(text.is_complete, len(text.token_ids)) for text in found] == [(False, 256)]


def test_what_is_wrong_is_said():
    session = maskwright.Matcher(COMPILER.compile_regex("ab"), max_tokens=6)
    with pytest.raises(ZeroDivisionError):
        session.search(lambda sequences: 1 / 0, [5, 0])
    with pytest.raises(KeyboardInterrupt):
        session.search(lambda sequences: (_ for _ in ()).throw(KeyboardInterrupt()), [5, 0])
    with pytest.raises(ValueError, match=r"shape \(1, 3\) for 1 sequences, expected \(1, 6\)"):
        session.search(lambda sequences: np.zeros((len(sequences), 3)), [5, 0])
    with pytest.raises(ValueError, match="strategy is \"best\", expected one of .*\"best-of\""):
        session.search(logits, [5, 0], strategy="best")
    with pytest.raises(ValueError, match="tries is 0"):
        session.search(logits, [5, 0], tries=0)
    with pytest.raises(ValueError, match="the prompt is empty"):
        session.search(logits, [])
    with pytest.raises(ValueError, match="no finite logit"):
        session.search(lambda sequences: np.full((len(sequences), 6), np.nan), [5, 0])
    assert session.search(logits, [5, 0])[0].is_complete
