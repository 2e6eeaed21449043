"""Masks onto logits, in numpy and torch."""

import maskwright
import numpy as np
import pytest

try:
    import torch
except ImportError:
    torch = None

needs_torch = pytest.mark.skipif(torch is None, reason="torch is not installed")


def example(batch, vocab_size, n_words=None, seed=0):
    random = np.random.default_rng(seed)
    shape = (batch, n_words if n_words is not None else (vocab_size + 31) // 32)
    mask = random.integers(-(2**31), 2**31, size=shape, dtype=np.int32)
    mask[:, ::3], mask[:, 1::3] = 0, -1
    logits = random.normal(size=(batch, vocab_size))
    expected = logits.copy()
    for row in range(batch):
        for token in range(vocab_size):
            if token // 32 >= shape[1] or not mask[row, token // 32] >> (token % 32) & 1:
                expected[row, token] = -np.inf
    return logits, mask, expected


SHAPES = [(1, 32, None), (3, 100, None), (2, 257, 9), (2, 200, 3), (0, 10, None), (2, 70, 0)]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", ">f4"])
@pytest.mark.parametrize("shape", SHAPES)
def test_numpy(dtype, shape):
    logits, mask, expected = example(*shape)
    logits = logits.astype(dtype)
    maskwright.apply_token_bitmask_inplace(logits, mask)
    np.testing.assert_array_equal(logits, expected.astype(dtype))


def test_numpy_views():
    logits, mask, expected = example(4, 100)
    every_other = logits.copy()[::2]
    maskwright.apply_token_bitmask_inplace(every_other, mask[::2])
    np.testing.assert_array_equal(every_other, expected[::2])
    transposed = np.asfortranarray(logits)
    maskwright.apply_token_bitmask_inplace(transposed, mask)
    np.testing.assert_array_equal(transposed, expected)
    row = logits[1].copy()
    maskwright.apply_token_bitmask_inplace(row, mask[1])
    np.testing.assert_array_equal(row, expected[1])


def test_a_matchers_mask(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_choice(["yes"]))
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    matcher.fill_next_token_bitmask(mask)
    logits = np.zeros((1, tokenizer.vocab_size), dtype=np.float32)
    maskwright.apply_token_bitmask_inplace(logits, mask)
    assert np.flatnonzero(logits[0] == 0).tolist() == [ord("y"), 256]


def test_arguments_are_checked():
    logits, mask, _ = example(2, 100)
    apply = maskwright.apply_token_bitmask_inplace
    for wrong in ((logits.tolist(), mask), (logits, mask.tolist()), (logits, mask.astype(np.int64)), (logits.astype(int), mask)):
        with pytest.raises(TypeError):
            apply(*wrong)
    for wrong in ((logits, mask[:1]), (logits[0], mask), (logits, mask[0]), (logits[None], mask[None])):
        with pytest.raises(ValueError, match="shape"):
            apply(*wrong)
    logits.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        apply(logits, mask)


def devices():
    return ["cpu", "cuda"] if torch is not None and torch.cuda.is_available() else ["cpu"]


@needs_torch
@pytest.mark.parametrize("device", devices())
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("shape", SHAPES)
def test_torch(device, dtype, shape):
    logits, mask, expected = example(*shape)
    dtype = getattr(torch, dtype)
    for given in (mask, torch.from_numpy(mask), torch.from_numpy(mask).to(device)):
        tensor = torch.from_numpy(logits).to(dtype).to(device)
        if len(tensor):
            maskwright.apply_token_bitmask_inplace(tensor[0], given[0])
        maskwright.apply_token_bitmask_inplace(tensor, given)
        assert torch.equal(tensor.cpu(), torch.from_numpy(expected).to(dtype))


@needs_torch
def test_torch_masks(tokenizer, compiler):
    matcher = maskwright.Matcher(compiler.compile_choice(["yes", "no"]))
    expected = maskwright.allocate_token_bitmask(2, tokenizer.vocab_size)
    matcher.fill_next_token_bitmask(expected, 1)
    tensor = torch.zeros(expected.shape, dtype=torch.int32)
    matcher.fill_next_token_bitmask(tensor, 1)
    assert (tensor.numpy() == expected).all()
    tensor.zero_()
    assert maskwright.fill_next_token_bitmask_batch([matcher], tensor) == [None]
    assert (tensor.numpy()[0] == expected[1]).all()
    with pytest.raises(TypeError, match="int64"):
        matcher.fill_next_token_bitmask(torch.zeros(expected.shape, dtype=torch.int64))
    with pytest.raises(ValueError, match="dimensions"):
        matcher.fill_next_token_bitmask(tensor[0])


def test_logits_of_another_model_are_refused() -> None:
    mask = maskwright.allocate_token_bitmask(1, 50_257)
    for logits in (np.zeros((1, 100)), np.zeros((1, 100), np.float16), np.zeros((1, 50_000), np.float32)):
        with pytest.raises(ValueError, match="another model's tokenizer"):
            maskwright.apply_token_bitmask_inplace(logits, mask)
    maskwright.apply_token_bitmask_inplace(np.zeros((1, 50_257)), mask)
    maskwright.apply_token_bitmask_inplace(np.zeros((1, 50_304)), mask)
