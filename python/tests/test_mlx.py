"""The processor for MLX: its own logic, inside of functions that look like mlx-lm's. `cargo xtask hosts mlx` runs mlx-lm."""

import random
import re

import maskwright
import numpy as np
import pytest
from test_integrations import EOS, WIDTH, module, replayed

mx = pytest.importorskip("mlx.core", reason="mlx is not installed")
from maskwright.integrations.mlx import LogitsProcessor  # noqa: E402

LOOPS = module(
    "mlx_lm.generate",
    """
def generate_step(logits_processors, max_tokens, decode):
    def _step(tokens, logits):
        for processor in logits_processors:
            logits = processor(tokens, logits)
        return logits
    return decode(_step)

class Batch:
    def __init__(self, contexts, processors, max_tokens):
        self._token_context, self.logits_processors, self.max_tokens = contexts, processors, max_tokens

    def step(self, tokens, logits):
        return _step(self, tokens, logits)

def _step(self, tokens, logits):
    rows = []
    for e in range(len(tokens)):
        for processor in self.logits_processors[e]:
            rows.append(processor(tokens[e], logits))
    return rows
""",
)


class Context:
    """What a batch keeps for a sequence."""


def allowed(logits):
    return np.flatnonzero(np.array(logits)[0] == 0).tolist()


def tokens_of(ids):
    return mx.array(ids, dtype=mx.uint32)


ZEROS = mx.zeros((1, WIDTH))


def write(step, prompt, grammar, limit, seed):
    """Writes a random text, compared with the naive twin at every step, and one step further, as mlx-lm does."""
    draw = random.Random(seed)
    written = []
    for _ in range(limit + 1):
        ids = allowed(step(tokens_of(prompt + written), ZEROS))
        assert ids == replayed(grammar, written, limit)
        written.append(draw.choice(ids))
        if written[-1] == EOS:
            assert allowed(step(tokens_of(prompt + written), ZEROS)) == [EOS]
            break
    assert written[-1] == EOS and len(written) <= limit
    return written


@pytest.fixture(scope="module")
def grammars(compiler):
    return [
        compiler.compile_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        compiler.compile_regex("(yes|no|ab){1,6}"),
        compiler.compile_choice(["true", "false", "null", "nobody"]),
    ]


@pytest.mark.parametrize("at", range(3))
def test_a_generation_is_complete_within_the_loops_limit(grammars, at):
    grammar = grammars[at]
    processor = LogitsProcessor(grammar)
    # One after the other, with the same prompt too: each begins anew.
    for seed, prompt in enumerate([[5, 6, 7], [5, 6, 7], [9]]):
        limit = 12 + 3 * seed
        LOOPS.generate_step([processor], limit, lambda step: write(step, prompt, grammar, limit, seed))  # noqa: B023
    assert LOOPS.generate_step([processor], -1, lambda step: allowed(step(tokens_of([1]), ZEROS))) == replayed(grammar, [])
    with pytest.raises(maskwright.MaxTokensTooSmall):
        LOOPS.generate_step([processor], 1, lambda step: step(tokens_of([1]), ZEROS))


def test_sequences_of_a_batch_with_one_processor_or_with_several(grammars):
    draw = random.Random(3)
    for shared in (True, False):
        processors = [LogitsProcessor(grammars[1]) for _ in range(1 if shared else 3)] * (3 if shared else 1)
        prompts, written = [[1, 2], [1, 2], [7]], [[], [], []]
        batch = LOOPS.Batch([Context() for _ in prompts], [[processor] for processor in processors], [9, 12, 15])
        for _ in range(8):
            given = [tokens_of(prompt + text) for prompt, text in zip(prompts, written, strict=True)]
            for row, logits in enumerate(batch.step(given, ZEROS)):
                assert allowed(logits) == replayed(grammars[1], written[row], [9, 12, 15][row])
                written[row].append(draw.choice(allowed(logits)))


def test_drafted_tokens_are_taken_back(grammars):
    def decode(step):
        prompt, text = [3], []
        draw = random.Random(1)
        for _ in range(6):
            drafts = []
            for _ in range(3):
                ids = allowed(step(tokens_of(prompt + text + drafts), ZEROS))
                assert ids == replayed(grammars[1], text + drafts, 20)
                drafts.append(draw.choice(ids))
            text += drafts[: draw.randrange(3)]

    LOOPS.generate_step([LogitsProcessor(grammars[1])], 20, decode)


def test_a_loop_of_ones_own_and_the_hooks_of_mlx_vlm(grammars):
    grammar = grammars[2]
    processor = LogitsProcessor(grammar, max_tokens=9)
    assert allowed(processor(tokens_of([1, 2]), ZEROS)) == replayed(grammar, [], 9)
    token = ord("n")
    after = replayed(grammar, [token], 9)
    assert allowed(processor(tokens_of([1, 2, token]), ZEROS)) == after
    # A row of tokens, logits without rows, half precision.
    assert allowed(processor(tokens_of([[1, 2, token]]), ZEROS.astype(mx.float16))) == after
    assert np.flatnonzero(np.array(processor(tokens_of([1, 2, token]), ZEROS[0])) == 0).tolist() == after
    # mlx-vlm begins with all tokens and goes on with the last one.
    clone = processor.clone()
    assert allowed(clone(tokens_of([4]), ZEROS)) == replayed(grammar, [], 9)
    assert allowed(clone.process_last_token(token, ZEROS)) == after
    mask = clone.prepare_next_token_mask(ord("o"))
    assert mask.dtype == mx.int32 and mask.shape == (1, (EOS + 32) // 32)
    bits = np.unpackbits(np.array(mask).view(np.uint8), bitorder="little")
    assert np.flatnonzero(bits).tolist() == replayed(grammar, [token, ord("o")], 9)
    clone.reset()
    assert allowed(clone.process_last_token(4, ZEROS)) == replayed(grammar, [], 9)
    assert allowed(processor(tokens_of([1, 2, token]), ZEROS)) == after, "a clone has changed the original"
    processor.reset()
    assert allowed(processor(tokens_of([1, 2, token]), ZEROS)) == replayed(grammar, [], 9)


class Wrapper:
    """What `mlx_lm.load` returns: a tokenizer of transformers, and more tokens that end a text."""

    def __init__(self, tokenizer, ends):
        self._tokenizer, self._eos_token_ids = tokenizer, set(ends)

    @property
    def eos_token_ids(self):
        return self._eos_token_ids

    def __getattr__(self, name):
        return getattr(self.__dict__["_tokenizer"], name)


class Fast:
    """A fast tokenizer of transformers, which has an attribute of the same name."""

    def __init__(self, backend):
        self.backend_tokenizer = self._tokenizer = backend
        self.eos_token_id = 0

    def __len__(self):
        return self.backend_tokenizer.get_vocab_size()


def test_tokenizers_of_transformers_and_of_mlx_lm():
    tokenizers = pytest.importorskip("tokenizers")
    backend = tokenizers.Tokenizer(tokenizers.models.BPE(vocab={"a": 0, "b": 1}, merges=[]))
    backend.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = tokenizers.decoders.ByteLevel()
    backend.add_special_tokens(["<end>", "<turn>"])
    end, turn = backend.token_to_id("<end>"), backend.token_to_id("<turn>")
    fast = Fast(backend)
    fast.eos_token_id = end
    zeros = mx.zeros((1, 4))
    processor = LogitsProcessor(re.compile("ab?"), fast)
    assert allowed(processor(tokens_of([1]), zeros)) == [backend.token_to_id("a")]
    for ends in ({end}, {end, turn}):
        processor = LogitsProcessor(re.compile("a"), Wrapper(fast, ends))
        processor(tokens_of([1]), zeros)
        assert set(allowed(processor(tokens_of([1, backend.token_to_id("a")]), zeros))) == ends


def test_misuse(grammars, tokenizer):
    with pytest.raises(ValueError, match="2 grammars, expected one"):
        LogitsProcessor(grammars[:2])
    with pytest.raises(TypeError, match="a grammar that is not compiled needs `tokenizer`"):
        LogitsProcessor({"type": "integer"})
    with pytest.raises(ValueError, match=r"logits of shape \(2, 300\), expected \(1, vocabulary\)"):
        LogitsProcessor(grammars[0])(tokens_of([1]), mx.zeros((2, WIDTH)))
    with pytest.raises(ValueError, match="compiled for a tokenizer of 271 tokens, but the model gives scores to 64"):
        LogitsProcessor(grammars[0])(tokens_of([1]), mx.zeros((1, 64)))
    processor = LogitsProcessor({"type": "integer"}, tokenizer)
    processor(tokens_of([1]), ZEROS)
    with pytest.raises(ValueError, match="that this processor did not allow"):
        processor(tokens_of([1, ord("x")]), ZEROS)
    trace = maskwright.Trace()
    processor = LogitsProcessor({"enum": [1]}, tokenizer, trace=trace)
    for ids in ([1], [1, ord("1")], [1, ord("1"), EOS]):
        processor(tokens_of(ids), ZEROS)
    assert trace.token_ids == [ord("1"), EOS]
    with pytest.raises(ValueError, match="2 traces, expected one"):
        LogitsProcessor({"enum": [1]}, tokenizer, trace=[maskwright.Trace(), maskwright.Trace()])
