"""The processors' own logic, in numpy: beams, batches, limits, new generations. `cargo xtask hosts` runs the real hosts."""

import gc
import random
import types
import weakref
from types import SimpleNamespace

import maskwright
import numpy as np
import pytest
from conftest import brute_force
from maskwright.integrations import _session, llama_cpp, outlines, transformers
from maskwright.integrations._rows import Rows

EOS, PAD = 270, 271
#: Wider than the tokenizer's vocabulary of 271.
WIDTH = 300


def module(name, source):
    """Functions that seem to be a host's."""
    made = types.ModuleType(name)
    exec(source, made.__dict__)
    return made


GENERATE = module(
    "transformers.generation.utils",
    """
def generate(prepared_logits_processor, prepared_stopping_criteria, generation_config, generation_mode, decode):
    return decode()
""",
).generate


def generate(processor, max_length, decode, mode="sample", eos=(EOS,), pad=PAD, criteria=None):
    """Runs `decode` inside of something that looks like `generate`."""
    config = SimpleNamespace(
        max_length=max_length, _eos_token_tensor=np.array(eos), _pad_token_tensor=np.array(pad)
    )
    return GENERATE([processor], [] if criteria is None else criteria, config, mode, decode)


def allowed_by(processor, rows):
    """The tokens that a processor allows, for each row."""
    scores = np.zeros((len(rows), WIDTH), dtype=np.float32)
    processed = processor(np.array(rows, dtype=np.int64).reshape(len(rows), -1), scores)
    assert (scores == 0).all() and set(np.unique(processed)) <= {0, -np.inf}
    return [np.flatnonzero(row == 0).tolist() for row in processed]


def replayed(grammar, tokens, max_tokens=None):
    """What a fresh matcher allows after the tokens: the naive twin."""
    matcher = maskwright.Matcher(grammar, max_tokens)
    for token in tokens:
        if matcher.is_terminated():
            break
        assert matcher.accept_token(token)
    return [EOS] if matcher.is_terminated() else brute_force(matcher, EOS + 1)


@pytest.fixture(scope="module")
def grammars(compiler):
    return [
        compiler.compile_json_schema({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}),
        compiler.compile_regex("(yes|no|ab){1,6}"),
        compiler.compile_choice(["true", "false", "null", "nobody"]),
    ]


def sample_beams(processor, prompts, grammars, n_beams, limit, seed, *, drafts=False):
    """Beams that change places at random, compared with the naive twin at every step. Returns the number of masks."""
    draw = random.Random(seed)
    texts = [[] for _ in prompts for _ in range(n_beams)]
    grammar = [grammars[row // (len(texts) // len(grammars))] for row in range(len(texts))]
    n_masks = 0

    def rows():
        return [[*prompts[row // n_beams], *text] for row, text in enumerate(texts)]

    for _ in range(limit):
        allowed = allowed_by(processor, rows())
        for row, text in enumerate(texts):
            assert allowed[row] == replayed(grammar[row], text, limit), (row, text)
            n_masks += 1
        if drafts and draw.random() < 0.3:
            # Look ahead with tokens of which some are refused, then go back.
            ahead = [[*row, draw.choice(tokens), draw.randrange(EOS)] for row, tokens in zip(rows(), allowed, strict=True)]
            allowed_by(processor, ahead)
        chosen = []
        for first in range(0, len(texts), n_beams):
            parents = draw.choices(range(first, first + n_beams), k=n_beams)
            for parent in parents:
                is_over = EOS in texts[parent]
                chosen.append([*texts[parent], PAD if is_over else draw.choice(allowed[parent])])
        texts = chosen
    assert all(EOS in text for text in texts)
    return n_masks


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("n_prompts", "n_beams", "per_prompt"), [(1, 1, False), (3, 1, True), (3, 4, True), (2, 4, False), (6, 2, True)]
)
def test_a_row_has_the_mask_of_its_own_tokens(grammars, n_prompts, n_beams, per_prompt, seed):
    prompts = [[EOS] * (3 - row % 3) + [row % 2] * (1 + row % 3) for row in range(n_prompts)]
    given = [grammars[row % 3] for row in range(n_prompts)] if per_prompt else grammars[seed % 3]
    listed = given if per_prompt else [given]
    for drafts in (False, True):
        processor = transformers.LogitsProcessor(given)
        mode = "assisted_generation" if drafts else "beam_search"

        def decode(processor=processor, drafts=drafts):
            return sample_beams(processor, prompts, listed, n_beams, 14, seed, drafts=drafts)

        # Twice, with the same processor and prompts.
        assert [generate(processor, 4 + 14, decode, mode) for _ in range(2)] == [14 * n_prompts * n_beams] * 2


class Counting:
    """A matcher that writes down how many tokens it reads."""

    def __init__(self, matcher, n_read):
        self.matcher, self.n_read = matcher, n_read

    def __getattr__(self, name):
        return getattr(self.matcher, name)

    def fork(self):
        return Counting(self.matcher.fork(), self.n_read)

    def accept_token(self, token):
        self.n_read.append(1)
        return self.matcher.accept_token(token)

    def accept_tokens(self, tokens):
        self.n_read.append(len(tokens))
        return self.matcher.accept_tokens(tokens)


def test_a_step_reads_one_token_of_each_row(grammars):
    """Whatever row it comes from: no text is read again."""
    n_read, texts, draw = [], [[]] * 4, random.Random(0)
    rows = Rows([grammars[1]], np.zeros((4, 2), dtype=np.int64))
    rows.matchers = [Counting(matcher, n_read) for matcher in rows.matchers]
    for _ in range(6):
        texts = [[*draw.choice(texts), draw.choice([256, 257])] for _ in texts]
        assert rows.update(np.array(texts)) == []
    assert n_read == [1] * 24


def test_texts_are_complete_within_the_limit(grammars):
    object_grammar = grammars[0]
    shortest = maskwright.Matcher(object_grammar).tokens_to_finish()

    def first_mask(processor, max_length):
        return generate(processor, max_length, lambda: allowed_by(processor, [[1, 2, 3]]))

    for processor in (transformers.LogitsProcessor(object_grammar), transformers.LogitsProcessor(object_grammar, max_tokens=99)):
        assert first_mask(processor, 3 + shortest)[0] == replayed(object_grammar, [], shortest)
        with pytest.raises(ValueError, match=f"{shortest}"):
            first_mask(processor, 3 + shortest - 1)
    with pytest.raises(ValueError, match=f"{shortest}"):
        first_mask(transformers.LogitsProcessor(object_grammar, max_tokens=shortest - 1), 100)
    # In a loop of one's own there is no limit but the given one.
    assert allowed_by(transformers.LogitsProcessor(object_grammar), [[1]])[0] == replayed(object_grammar, [])
    with pytest.raises(ValueError, match=f"{shortest}"):
        allowed_by(transformers.LogitsProcessor(object_grammar, max_tokens=shortest - 1), [[1]])
    with pytest.raises(ValueError, match="max_tokens is 0"):
        transformers.LogitsProcessor(object_grammar, max_tokens=0)


def test_a_new_prompt_begins_a_new_text(grammars):
    choice = grammars[2]
    start, after_n = replayed(choice, []), replayed(choice, [ord("n")])
    processor = transformers.LogitsProcessor(choice)
    n = ord("n")
    assert allowed_by(processor, [[7]])[0] == start
    assert allowed_by(processor, [[7, n]])[0] == after_n
    assert allowed_by(processor, [[7]])[0] == start, "the same prompt again"
    assert allowed_by(processor, [[7, n]])[0] == after_n
    assert allowed_by(processor, [[8, n]])[0] == start, "another prompt, as long as the text"
    assert allowed_by(processor, [[8, n, 1, 1]])[0] == start, "a prompt that begins with the text"
    assert allowed_by(processor, [[8, n, 1, 1]] * 2)[1] == start, "another batch"
    processor.reset()
    assert allowed_by(processor, [[8, n, 1, 1]] * 2)[1] == start
    # In `generate`, a prompt may even be the last text.
    assert generate(processor, 9, lambda: [allowed_by(processor, [[7]])[0], allowed_by(processor, [[7, n]])[0]]) == [start, after_n]
    assert generate(processor, 9, lambda: allowed_by(processor, [[7, n, n]])[0]) == start


def test_rows_that_have_ended_are_padded(grammars):
    processor = transformers.LogitsProcessor(grammars[2])
    # After its end, anything may come in a row.
    texts = [[7, *b"true", EOS, PAD, 5], [7, *b"false", EOS, PAD]]
    for n in range(1, 9):
        allowed = allowed_by(processor, [text[:n] for text in texts])
        assert allowed == [replayed(grammars[2], text[1:n]) for text in texts]
    assert allowed == [[EOS], [EOS]]


def test_a_row_that_the_host_stops_is_padded(grammars):
    """By a stop string, for example."""
    processor = transformers.LogitsProcessor(grammars[2])
    n = ord("n")

    def decode():
        allowed_by(processor, [[7], [7]])
        allowed_by(processor, [[7, n], [7, n]])
        return allowed_by(processor, [[7, n, PAD], [7, n, ord("u")]])

    stopped, other = generate(processor, 20, decode)
    assert len(stopped) == WIDTH and other == replayed(grammars[2], [n, ord("u")])


def test_a_token_from_elsewhere_is_an_error(grammars):
    processor = transformers.LogitsProcessor(grammars[2])
    allowed_by(processor, [[7], [7]])
    with pytest.raises(ValueError, match=r"row 1 has a token, number 0 .*`z` cannot come here.*reset\(\)") as caught:
        allowed_by(processor, [[7, ord("n")], [7, ord("z")]])
    assert "expected" in str(caught.value)
    # The processor is as new.
    assert allowed_by(processor, [[7]])[0] == replayed(grammars[2], [])
    # Beam search takes hopeless beams along, and assisted decoding refused drafts.
    for mode in ("beam_search", "beam_sample", "assisted_generation"):
        rows = generate(processor, 9, lambda: (allowed_by(processor, [[7]]), allowed_by(processor, [[7, ord("z")]]))[1], mode)
        assert len(rows[0]) == WIDTH


def test_rows_and_grammars_must_fit(grammars):
    for n_rows in (1, 2, 4):
        with pytest.raises(ValueError, match=f"{n_rows} rows? for 3 grammars"):
            allowed_by(transformers.LogitsProcessor(grammars), [[7]] * n_rows)
    with pytest.raises(ValueError, match="no grammar"):
        transformers.LogitsProcessor([])
    with pytest.raises(ValueError, match="shape"):
        transformers.LogitsProcessor(grammars[0])(np.zeros(3, dtype=np.int64), np.zeros((1, WIDTH)))
    with pytest.raises(TypeError, match="needs `tokenizer`"):
        transformers.LogitsProcessor({"type": "integer"})


def test_texts_end_where_the_host_stops(grammars):
    """The ids of the generation config take the place of the tokenizer's."""
    choice = grammars[2]
    for ends in ([280], [EOS, 280], [280, 7]):
        processor = transformers.LogitsProcessor(choice)
        texts = [[ord(each) for each in "true"][:n] for n in range(5)]

        def decode(processor=processor, texts=texts, ends=ends):
            found = [allowed_by(processor, [[1, *text]])[0] for text in texts]
            for n, end in enumerate(ends):
                over = [1, *texts[-1], end]
                assert allowed_by(processor, [over])[0] == sorted(ends), n
            return found

        found = generate(processor, 30, decode, "assisted_generation", eos=ends)
        assert found[:-1] == [replayed(choice, text) for text in texts[:-1]]
        assert found[-1] == sorted(ends)
    # A token of the text at which the host stops can only end it.
    processor = transformers.LogitsProcessor(choice)
    [found] = generate(processor, 30, lambda: allowed_by(processor, [[1]]), eos=[ord("t"), EOS])
    assert found == [token for token in replayed(choice, []) if token != ord("t")]


def test_an_assistant_is_part_of_the_generation(grammars):
    """Its `generate` runs inside, with a config of its own."""
    processor, n = transformers.LogitsProcessor(grammars[2]), ord("n")

    def decode():
        allowed_by(processor, [[7]])
        inner = generate(processor, 3, lambda: allowed_by(processor, [[7, n]])[0])
        return inner, allowed_by(processor, [[7, n, ord("o")]])[0]

    assert generate(processor, 20, decode, "assisted_generation") == (
        replayed(grammars[2], [n], 19),
        replayed(grammars[2], [n, ord("o")], 19),
    )


LLAMA = module(
    "llama_cpp.llama",
    """
def _create_completion(prompt_tokens, max_tokens, logits_processor, step):
    yield from generate(prompt_tokens, logits_processor, step)

def generate(tokens, logits_processor, step):
    tokens, sample_idx = list(tokens), len(tokens) - 1
    while True:
        yield step(sample_idx)
        sample_idx += 1
""",
)


def complete(processor, prompt, max_tokens, seed, n_drafts=0):
    """A completion as llama-cpp-python makes it, with tokens drawn at random."""
    draw, ids, allowed = random.Random(seed), list(prompt), []

    def step(sample_idx):
        assert sample_idx == len(ids) - 1
        given = np.array(ids + [1] * n_drafts, dtype=np.intc)
        records = np.zeros(WIDTH, dtype=[("id", np.intc), ("logit", np.single)])
        scores = processor(given, records["logit"])
        assert scores.dtype == np.single and not np.shares_memory(scores, records)
        allowed.append(np.flatnonzero(scores == 0).tolist())
        ids.append(draw.choice(allowed[-1]))
        return ids[-1]

    for token in LLAMA._create_completion(list(prompt), max_tokens, [processor], step):
        if token == EOS:
            break
    return ids[len(prompt) :], allowed


def test_llama_cpp(grammars):
    for grammar in grammars:
        processor = llama_cpp.LogitsProcessor(grammar)
        prompt = [1, 2]
        for seed in range(12):
            text, allowed = complete(processor, prompt, 12, seed, n_drafts=seed % 3)
            assert len(text) <= 12 and text[-1] == EOS
            assert allowed == [replayed(grammar, text[:n], 12) for n in range(len(text))]
            # The next prompt may be the conversation so far, or the same again.
            prompt = [*prompt, *text] if seed % 3 else prompt
    assert processor.error is None


def test_llama_cpp_without_a_completion(grammars):
    """A loop of one's own, or a sampler's."""
    processor, n = llama_cpp.LogitsProcessor(grammars[2]), ord("n")
    for tokens in ([], [n], [n, ord("o")]):
        scores = processor(np.array([7, *tokens], dtype=np.intc), np.zeros(WIDTH, dtype=np.single))
        assert np.flatnonzero(scores == 0).tolist() == replayed(grammars[2], tokens)


def test_llama_cpp_ends_the_text_after_an_error(grammars):
    processor = llama_cpp.LogitsProcessor(grammars[0])
    scores = np.zeros(WIDTH, dtype=np.single)
    with pytest.raises(ValueError, match="are enough"):
        next(LLAMA._create_completion([1], 2, [processor], lambda _: processor(np.array([1], dtype=np.intc), scores)))
    assert np.flatnonzero(scores == 0).tolist() == [EOS]
    assert isinstance(processor.error, ValueError)
    complete(processor, [1], 20, 0)
    assert processor.error is None
    with pytest.raises(ValueError, match="2 grammars"):
        llama_cpp.LogitsProcessor(grammars[:2])
    with pytest.raises(TypeError, match="needs `llama`"):
        llama_cpp.LogitsProcessor({})


def test_outlines_models(grammars):
    class Transformers:
        hf_tokenizer = None

    class TransformersMultiModal(Transformers):
        pass

    class LlamaCpp:
        model = None

    for model in (Transformers(), TransformersMultiModal()):
        made = outlines.processor(grammars[2], model=model, max_tokens=6)
        assert isinstance(made, transformers.LogitsProcessor)
        made.reset()
        assert allowed_by(made, [[7]])[0] == replayed(grammars[2], [], 6)
    assert isinstance(outlines.processor(grammars[2], model=LlamaCpp()), llama_cpp.LogitsProcessor)
    with pytest.raises(TypeError, match="not int"):
        outlines.processor(grammars[2], model=1)


class Tokenizer:
    """Looks like a fast tokenizer of transformers."""

    def __init__(self, backend, eos_token_id):
        self.backend_tokenizer, self.eos_token_id = backend, eos_token_id

    def __len__(self):
        return self.backend_tokenizer.get_vocab_size()


@pytest.fixture(scope="module")
def hf(tokenizer_file):
    import tokenizers

    return Tokenizer(tokenizers.Tokenizer.from_file(str(tokenizer_file)), 3)


def test_from_hf_takes_width_and_ends_of_the_model(hf):
    of_tokenizer = maskwright.Tokenizer.from_hf(hf)
    assert of_tokenizer.eos_token_ids == [3]
    width = of_tokenizer.vocab_size + 40

    class Config(SimpleNamespace):
        def get_text_config(self):
            return getattr(self, "text_config", self)

    config = Config(vocab_size=width, eos_token_id=4)
    model = SimpleNamespace(config=config, generation_config=SimpleNamespace(eos_token_id=[6, 5]))
    without = SimpleNamespace(config=config, generation_config=SimpleNamespace(eos_token_id=None))
    nested = Config(text_config=SimpleNamespace(vocab_size=width, eos_token_id=7))
    for given, ends in [(model, [5, 6]), (config, [4]), (without, [4]), (nested, [7]), (Config(vocab_size=width), [3])]:
        made = maskwright.Tokenizer.from_hf(hf, model=given)
        assert (made.vocab_size, made.eos_token_ids) == (width, ends)
    made = maskwright.Tokenizer.from_hf(hf, model=model, eos_token_ids=[9], vocab_size=width + 1)
    assert (made.vocab_size, made.eos_token_ids) == (width + 1, [9])
    with pytest.raises(TypeError, match="no vocab_size"):
        maskwright.Tokenizer.from_hf(hf, model=object())


def test_a_compiler_is_kept_as_long_as_its_tokenizer(hf):
    owner = Tokenizer(hf.backend_tokenizer, 3)
    made = [_session.compiler_of_hf(owner) for _ in range(2)]
    assert made[0] is made[1] and made[0].tokenizer.eos_token_ids == [3]
    owner.eos_token_id = 4
    assert _session.compiler_of_hf(owner).tokenizer.eos_token_ids == [4]
    assert _session.compiler_of_hf(made[0].tokenizer).tokenizer is made[0].tokenizer
    assert _session.compiler_of_hf(made[0]) is made[0]
    n_kept, gone = len(_session._COMPILERS), weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None and len(_session._COMPILERS) == n_kept - 1


def test_grammars_that_are_not_compiled(hf, real_tokenizer):
    """A schema goes in with the tokenizer of transformers; a list has one for each prompt."""
    grammar = maskwright.Compiler(real_tokenizer).compile_json_schema({"const": 12})
    expected = brute_force(maskwright.Matcher(grammar), real_tokenizer.vocab_size)
    processor = transformers.LogitsProcessor([{"const": 12}, grammar], tokenizer=hf)
    scores = processor(np.array([[1], [2]]), np.zeros((2, real_tokenizer.vocab_size), dtype=np.float32))
    assert [np.flatnonzero(row == 0).tolist() for row in scores] == [expected, expected]


def greedy(processor, prompt, texts, criteria, max_length=20):
    """Rows that a host writes token by token, as `generate` does: it pads what has ended, and asks its criteria."""

    def decode():
        length = max(map(len, texts))
        for n in range(length):
            rows = [[*prompt, *text[:n]] + [PAD] * (n - len(text[:n])) for text in texts]
            allowed_by(processor, rows)
        rows = [[*prompt, *text] + [PAD] * (length - len(text)) for text in texts]
        for criterion in criteria:
            assert not criterion(np.array(rows), None)

    generate(processor, max_length, decode, criteria=criteria)


def tokens_of(trace):
    """The tokens of a trace, as it shows them."""
    return [line.split()[1].strip('"') for line in trace.text().splitlines() if line[:1].isdigit() and " allowed " in line]


def test_a_trace_has_all_tokens_of_the_last_generation(compiler):
    trace, criteria = maskwright.Trace(), []
    processor = transformers.LogitsProcessor(compiler.compile_regex("[0-9]+"), trace=trace)
    for text in ("12", "3456"):
        criteria.clear()
        greedy(processor, [1, 2], [[*text.encode(), EOS]], criteria)
        assert len(criteria) == 1 and tokens_of(trace)[:-1] == list(text)
        assert len(trace) == len(text) + 1 and trace.cost_nats > 0


def test_each_row_has_a_trace_of_its_own(compiler):
    traces, criteria = [maskwright.Trace(), maskwright.Trace()], []
    processor = transformers.LogitsProcessor(compiler.compile_regex("[0-9]+"), trace=traces)
    greedy(processor, [1, 2], [[*b"123", EOS], [*b"4", EOS]], criteria)
    assert [tokens_of(trace)[:-1] for trace in traces] == [["1", "2", "3"], ["4"]]


@pytest.mark.parametrize("pad", [PAD, EOS])
def test_padding_after_a_host_stopped_is_not_in_a_trace(compiler, pad):
    """A criterion may stop one row of a batch in the middle of its text."""
    traces = [maskwright.Trace(), maskwright.Trace()]
    processor = transformers.LogitsProcessor(compiler.compile_regex("[0-9]{9}"), trace=traces)
    criteria = []

    def decode():
        texts = [[*b"12", *[pad] * 7], [*b"345678901"]]
        for n in range(9):
            processor(np.array([[1, *text[:n]] for text in texts]), np.zeros((2, WIDTH), dtype=np.float32))
        criteria[0](np.array([[1, *text] for text in texts]), None)

    generate(processor, 30, decode, pad=pad, criteria=criteria)
    assert [tokens_of(trace) for trace in traces] == [["1", "2"], list("345678901")]


def test_drafts_that_are_refused_are_not_in_a_trace(compiler):
    trace = maskwright.Trace()
    processor = transformers.LogitsProcessor(compiler.compile_regex("[0-9]+"), trace=trace)

    def decode():
        for text in (b"", b"1", b"12", b"13", b"134"):
            allowed_by(processor, [[1, *text]])

    generate(processor, 20, decode, mode="assisted_generation")
    assert tokens_of(trace) == ["1", "3", "4"]


def test_a_trace_is_of_one_text(compiler):
    grammar = compiler.compile_regex("[0-9]+")
    trace = maskwright.Trace()
    with pytest.raises(TypeError, match="trace is a str, expected a Trace"):
        transformers.LogitsProcessor(grammar, trace="page.html")
    with pytest.raises(ValueError, match="given twice"):
        transformers.LogitsProcessor(grammar, trace=[trace, trace])
    processor = transformers.LogitsProcessor(grammar, trace=trace)
    with pytest.raises(ValueError, match="1 trace for 2 rows, expected"):
        generate(processor, 20, lambda: allowed_by(processor, [[1], [1]]))
    with pytest.raises(ValueError, match="not of beams"):
        generate(processor, 20, lambda: allowed_by(processor, [[1]]), mode="beam_search")
    assert allowed_by(processor, [[1]]) and len(trace) == 0


def test_a_trace_in_llama_cpp(compiler):
    trace = maskwright.Trace()
    processor = llama_cpp.LogitsProcessor(compiler.compile_regex("[0-9]{2}"), trace=trace)
    for text in (b"", b"1", b"12"):
        processor(np.array([5, *text], dtype=np.intc), np.zeros(WIDTH, dtype=np.single))
    # The end is the only token that may come, so it is shown although nobody tells it.
    assert len(trace) == 3 and trace.token_ids == [*b"12", EOS] and "3 tokens" in trace.text()
    with pytest.raises(ValueError, match="2 traces, expected one"):
        llama_cpp.LogitsProcessor(compiler.compile_regex("[0-9]{2}"), trace=[trace, maskwright.Trace()])
