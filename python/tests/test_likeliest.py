"""The likeliest text for scores of many positions."""

import itertools
import math
import threading

import maskwright
import numpy as np
import pytest
from maskwright import Canvas, Compiler, Matcher, Tokenizer

TOKENS = [b"a", b"b", b"ab", b",", b"1", b"", b"", b""]
MASK, PAD, EOS = 5, 6, 7


@pytest.fixture(scope="module")
def compiler():
    return Compiler(Tokenizer.from_tokens(TOKENS, eos_token_ids=[EOS]))


@pytest.fixture(scope="module")
def grammar(compiler):
    return compiler.compile_regex("[ab]{2,3}(,1)*")


def log_softmax(logits):
    return logits - np.log(np.exp(logits.astype(np.float64)).sum(-1, keepdims=True))


def best_by_enumeration(grammar, scores, padding=EOS):
    """The best texts with their end, padded."""
    best = (-math.inf, [])
    for ids in itertools.product(range(len(TOKENS)), repeat=len(scores)):
        text = list(ids[: ids.index(EOS) + 1]) if EOS in ids else list(ids)
        if any(id != padding for id in ids[len(text) :]):
            continue
        matcher = Matcher(grammar)
        if matcher.accept_tokens(text) == len(text) and matcher.is_terminated():
            score = sum(scores[i, id] for i, id in enumerate(ids))
            best = max(best, (score, list(ids)))
    return best


@pytest.mark.parametrize("seed", range(20))
def test_it_is_the_best_of_all(grammar, seed):
    logits = np.random.default_rng(seed).normal(size=(4, len(TOKENS))) * 3
    score, ids = best_by_enumeration(grammar, log_softmax(logits))
    found = Matcher(grammar).likeliest(logits)
    assert found.token_ids == ids and found.status == "exact" and found.is_complete
    assert found.log_probability == pytest.approx(score, abs=1e-4)
    assert found.n_tokens == ids.index(EOS) + 1
    padded = Matcher(grammar).likeliest(logits, padding=PAD)
    assert padded.token_ids == best_by_enumeration(grammar, log_softmax(logits), PAD)[1]
    # Candidates alone; all of them are all there is.
    scores = log_softmax(logits)
    order = np.argsort(-scores, axis=1)
    candidates = (order, np.take_along_axis(scores, order, 1))
    assert Matcher(grammar).likeliest(candidates=candidates).token_ids == ids


def test_a_text_may_go_on_after_the_positions(grammar):
    logits = np.zeros((2, len(TOKENS)), dtype=np.float32)
    logits[0, 0] = logits[1, 1] = 5
    with pytest.raises(ValueError, match="3 are enough"):
        Matcher(grammar).likeliest(logits[:1])
    whole = Matcher(grammar).likeliest(logits)
    assert whole.is_complete and whole.token_ids[-1] == EOS
    part = Matcher(grammar).likeliest(logits, max_tokens=3)
    assert part.token_ids == [0, 1] and not part.is_complete and part.n_tokens == 2
    matcher = Matcher(grammar)
    assert matcher.accept_tokens(part.token_ids) == 2
    rest = matcher.likeliest(logits)
    assert rest.is_complete and len(matcher.steps) == 2, "the state does not change"
    # The matcher's own limit counts too.
    limited = Matcher(grammar, 3)
    assert limited.accept_token(0)
    assert limited.likeliest(logits, max_tokens=5).is_complete
    matcher = Matcher(grammar)
    assert matcher.accept_token(0)
    assert not matcher.likeliest(logits, max_tokens=5).is_complete


def test_batches_are_as_single_calls(compiler, grammar):
    other = compiler.compile_regex("1*")
    matchers = [Matcher(grammar), Matcher(other), Matcher(grammar)] * 3
    logits = np.random.default_rng(0).normal(size=(9, 5, len(TOKENS))).astype(np.float32)
    limits = [None, 7, 5] * 3
    found = maskwright.likeliest_batch(matchers, logits, max_tokens=limits)
    for row, (matcher, text) in enumerate(zip(matchers, found, strict=True)):
        assert text.token_ids == matcher.likeliest(logits[row], max_tokens=limits[row]).token_ids
    with pytest.raises(maskwright.BatchError) as failed:
        maskwright.likeliest_batch([Matcher(grammar), Matcher(other)], logits[:2, :1])
    assert set(failed.value.errors) == {0}
    with pytest.raises(ValueError, match="2 limits for 9"):
        maskwright.likeliest_batch(matchers, logits, max_tokens=[1, 2])
    assert maskwright.likeliest_batch([], np.zeros((0, 3, 8), dtype=np.float32)) == []


def test_forbidden_tokens_are_a_last_resort(grammar):
    logits = np.full((3, len(TOKENS)), -np.inf)
    logits[:, PAD] = 0
    found = Matcher(grammar).likeliest(logits)
    assert found.log_probability == -math.inf and found.is_complete
    logits[:, [0, EOS]] = 0
    assert Matcher(grammar).likeliest(logits).token_ids == [0, 0, EOS]


def test_wrong_use(compiler, grammar):
    matcher = Matcher(grammar)
    good = np.zeros((3, len(TOKENS)))
    bad = good.copy()
    bad[1, 4] = np.nan
    for logits, message in [
        (bad, "position 1: the score of token 4"),
        (good + np.array([np.inf] + [0] * 7), "position 0: the score of token 0"),
        (good[0], r"of shape \(8,\)"),
        (good[None, None], r"of shape \(1, 1, 3, 8\)"),
        (np.zeros((0, 8)), "no positions"),
    ]:
        with pytest.raises(ValueError, match=message):
            matcher.likeliest(logits)
    for logits in (np.zeros((3, 8), dtype=np.int64), "abc", object()):
        with pytest.raises(TypeError):
            matcher.likeliest(logits)
    ids = np.zeros((3, 2), dtype=np.int64)
    for candidates, message in [
        ((ids, np.zeros((3, 1))), "of shape"),
        ((ids - 1, np.zeros((3, 2))), "out of range"),
        ((ids[:2], np.zeros((2, 2))), "the logits are of shape"),
    ]:
        with pytest.raises(ValueError, match=message):
            matcher.likeliest(good, candidates=candidates)
    with pytest.raises(TypeError):
        matcher.likeliest(candidates=(np.zeros((3, 2)), np.zeros((3, 2))))
    with pytest.raises(ValueError, match="needed"):
        matcher.likeliest()
    with pytest.raises(ValueError, match="beam is 0"):
        matcher.likeliest(good, beam=0)
    with pytest.raises(ValueError, match="padding is -1"):
        matcher.likeliest(good, padding=-1)
    with pytest.raises(ValueError, match="position 1: the score of token 4"):
        matcher.likeliest(bad, candidates=(ids, np.zeros((3, 2))))
    for n_columns in (0, 7):
        with pytest.raises(ValueError, match="compiled for a tokenizer of 8 tokens"):
            matcher.likeliest(np.zeros((3, n_columns)))
    # Ids beyond the vocabulary are no tokens.
    assert matcher.likeliest(candidates=(ids + 1000, np.zeros((3, 2)))).is_complete
    assert matcher.likeliest(np.zeros((3, 8))).token_ids == [0, 0, EOS], "of equal texts, the one with the least ids"


def test_after_the_end_comes_padding(grammar):
    matcher = Matcher(grammar)
    matcher.accept_tokens([0, 0, EOS])
    found = matcher.likeliest(np.zeros((3, len(TOKENS))), padding=PAD)
    assert found.token_ids == [PAD] * 3 and found.n_tokens == 0 and found.is_complete


def test_a_canvas_keeps_what_is_known(grammar):
    rng = np.random.default_rng(3)
    for known in ([None, 1, None, None], [None] * 3, [2, None, None, EOS]):
        canvas = Canvas(grammar, known, mask_id=MASK)
        logits = rng.normal(size=(len(known), len(TOKENS)))
        found = canvas.likeliest(logits)
        assert all(at in (None, id) for at, id in zip(known, found.token_ids, strict=True))
        score = sum(log_softmax(logits)[i, id] for i, id in enumerate(found.token_ids) if known[i] is None)
        witness = sum(log_softmax(logits)[i, id] for i, id in enumerate(canvas.complete()) if known[i] is None)
        assert found.log_probability == pytest.approx(score, abs=1e-4) and score >= witness - 1e-6
        assert canvas.positions == known
        for i, id in enumerate(found.token_ids):
            assert canvas.set(i, id)
    with pytest.raises(ValueError, match="scores for 2 positions"):
        Canvas(grammar, [None] * 3, mask_id=MASK).likeliest(np.zeros((2, 8)))
    with pytest.raises(ValueError, match="the canvas cannot be completed: .*expected `a` or `b`"):
        Canvas(grammar, [3, None], mask_id=MASK).likeliest(np.zeros((2, 8)))


def test_tensors_of_any_type(grammar):
    torch = pytest.importorskip("torch")
    logits = torch.randn(4, len(TOKENS))
    wide = logits.bfloat16()
    assert Matcher(grammar).likeliest(logits).token_ids == Matcher(grammar).likeliest(logits.numpy()).token_ids
    assert Matcher(grammar).likeliest(wide).token_ids == Matcher(grammar).likeliest(wide.float().numpy()).token_ids


def test_threads_share_a_grammar(compiler):
    grammar = compiler.compile_gbnf('root ::= "a" root "b" | ","')
    logits = np.random.default_rng(1).normal(size=(16, len(TOKENS)))
    expected = Matcher(grammar).likeliest(logits).token_ids
    found = []
    threads = [threading.Thread(target=lambda: found.append(Matcher(grammar).likeliest(logits).token_ids)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4
