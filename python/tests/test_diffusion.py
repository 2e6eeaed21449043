"""The loop that fills canvases with a diffusion model."""

import doctest
import itertools
import json
import signal

import maskwright
import numpy as np
import pytest
from conftest import unpack
from diffusion_model import ASSETS, DiffusionModel
from maskwright import Canvas, Matcher
from maskwright.integrations.diffusion import fill

TOKENS = [b"(", b")", b"()", b"a", b")a", b"", b"", b"", b""]
EOS, PAD, MASK = 5, 6, 7
NESTED = 'root ::= "(" root ")" root | "a" | ""\n'


@pytest.fixture(scope="module")
def nested():
    tokenizer = maskwright.Tokenizer.from_tokens(TOKENS, eos_token_ids=[EOS])
    return maskwright.Compiler(tokenizer).compile_gbnf(NESTED)


@pytest.fixture(scope="module")
def model():
    if not ASSETS.is_dir():
        pytest.skip(f"the built-in diffusion model is not in {ASSETS}")
    return DiffusionModel()


def is_text(grammar, ids):
    """Whether a text and its end are a text of the grammar, by an ordinary session."""
    ends = {*grammar.tokenizer.eos_token_ids, PAD}
    text = list(itertools.takewhile(lambda id: id not in ends, ids))
    matcher = Matcher(grammar)
    return matcher.accept_tokens(text) == len(text) and matcher.is_accepting() and set(ids[len(text) :]) <= ends


def random_model(seed, n_vocab=len(TOKENS)):
    """Logits that depend on all ids."""
    return lambda ids: np.random.default_rng([seed, *ids]).normal(size=(len(ids), n_vocab)) * 3


def test_the_example():
    example = doctest.DocTestParser().get_doctest(fill.__doc__, {"fill": fill}, "fill", None, None)
    assert doctest.DocTestRunner().run(example) == (0, 6)


def naive(model, grammar, positions, prompt):
    """At each step, of all positions and all tokens that exact masks allow there, the likeliest."""
    canvas = Canvas(grammar, positions, padding_id=PAD, mask_id=MASK)
    while None in canvas.positions:
        logits = model(np.array([*prompt, *(MASK if id is None else id for id in canvas.positions)]))[len(prompt) :]
        weights = np.exp(logits)
        best = []
        for i, known in enumerate(canvas.positions):
            if known is None:
                mask = maskwright.allocate_token_bitmask(1, len(TOKENS))
                assert canvas.fill_bitmask(i, mask, exact=True) == "exact"
                best += [(weights[i, id] / weights[i].sum(), -i, id) for id in unpack(mask[0], len(TOKENS))]
        _, i, id = max(best)
        assert canvas.set(-i, id)
    return canvas.positions


@pytest.mark.parametrize("seed", range(40))
def test_the_likeliest_that_is_allowed_is_put(nested, seed):
    positions = [[None] * 6, [0, None, None, None, 4], [None, 3, None, None]][seed % 3]
    model, prompt = random_model(seed), [1, 0][: seed % 3]
    canvas = Canvas(nested, positions, padding_id=PAD, mask_id=MASK)
    steps = []
    ids = fill(model, canvas, prompt_ids=prompt, mask_id=MASK, n_alternatives=len(TOKENS), on_step=steps.append)
    assert ids == canvas.positions == naive(model, nested, positions, prompt) and is_text(nested, ids)
    assert [step.number for step in steps] == [*range(1, positions.count(None) + 1)]
    put = {i: id for step in steps for i, id in step.tokens.items()}
    assert put == {i: ids[i] for i, id in enumerate(positions) if id is None}
    assert all(step.n_questions > 0 and step.n_given == 0 and step.remasked == [] for step in steps)


@pytest.mark.parametrize("commit", ["surest", "likeliest"])
@pytest.mark.parametrize("seed", range(60))
def test_every_way_of_filling_ends_in_a_text(nested, seed, commit):
    canvas = Canvas(nested, [None] * 3 + [1] + [None] * 5, padding_id=PAD, mask_id=MASK)
    options = {
        "tokens_per_step": 1 + seed % 4,
        "temperature": [0.0, 0.7, 50.0][seed % 3],
        "n_alternatives": [0, 1, 8][seed // 3 % 3],
        "n_remasked": [0, 4, 100][seed // 9 % 3],
        "block_length": [None, 1, 4][seed // 20],
        "seed": seed,
        "commit": commit,
        "mask_id": MASK,
    }
    steps = []
    ids = fill(random_model(seed), canvas, on_step=steps.append, **options)
    assert is_text(nested, ids) and ids == canvas.positions and ids[3] == 1 and MASK not in ids
    assert all(1 <= len(step.tokens) <= options["tokens_per_step"] for step in steps)
    remasked = [len(step.remasked) for step in steps if step.remasked]
    assert remasked == ([min(options["n_remasked"], 8)] if options["n_remasked"] else [])
    again = Canvas(nested, [None] * 3 + [1] + [None] * 5, padding_id=PAD, mask_id=MASK)
    assert fill(random_model(seed), again, **options) == ids


def test_a_step_of_the_likeliest_text_puts_it_all(nested):
    canvas = Canvas(nested, [None] * 6, padding_id=PAD, mask_id=MASK)
    logits = random_model(7)(np.arange(6))
    logits[:, MASK] = 100  # never put
    expected = canvas.likeliest(np.where(np.arange(len(TOKENS)) == MASK, -np.inf, logits)).token_ids
    steps = []
    assert fill(lambda ids: logits, canvas, mask_id=MASK, tokens_per_step=6, commit="likeliest", on_step=steps.append) == expected
    assert len(steps) == 1 and steps[0].n_questions == 6 and steps[0].n_masks == 0


def test_blocks_go_from_left_to_right(nested):
    canvas = Canvas(nested, [None, 2, None, None, None, None, None], mask_id=MASK)
    steps = []
    fill(random_model(3), canvas, mask_id=MASK, tokens_per_step=8, block_length=3, on_step=steps.append)
    assert [sorted(step.tokens) for step in steps] == [[0, 2], [3, 4, 5], [6]]
    canvas = Canvas(nested, [None] * 5, mask_id=MASK)
    steps.clear()
    fill(random_model(4), canvas, mask_id=MASK, block_length=1, on_step=steps.append)
    assert [list(step.tokens) for step in steps] == [[0], [1], [2], [3], [4]]


def test_the_least_sure_are_masked_again(nested):
    """A model that is sure of one position only, and says so in its confidences."""
    surest = np.array([40.0, 0.0, 30.0, 20.0, 10.0, 5.0])

    def model(ids):
        logits = np.zeros((len(ids), len(TOKENS)))
        logits[:, 2] = surest / 10
        return logits

    canvas = Canvas(nested, [None] * 6, mask_id=MASK)
    steps = []
    assert fill(model, canvas, mask_id=MASK, n_remasked=2, on_step=steps.append) == [2] * 6
    assert [list(step.tokens) for step in steps] == [[0], [2], [3], [4], [5], [1], [5], [1]]
    assert [step.remasked for step in steps] == [[]] * 5 + [[1, 5]] + [[]] * 2


def test_a_model_that_believes_in_nothing_allowed(nested):
    def stubborn(ids):
        logits = np.full((len(ids), len(TOKENS)), -np.inf)
        logits[:, 8] = 1.0  # a token without text
        return logits

    steps = []
    canvas = Canvas(nested, [None] * 4, mask_id=MASK)
    for temperature in (0.0, 1.0):
        canvas = Canvas(nested, [None] * 4, mask_id=MASK)
        completed = canvas.complete()
        assert fill(stubborn, canvas, mask_id=MASK, temperature=temperature, on_step=steps.append) == completed
    assert [step.n_given for step in steps] == [1] * 8 and [step.n_masks for step in steps] == [4, 3, 2, 1] * 2


def test_open_answers_cost_no_text(nested):
    """With little work for a question, some stay open, and the text is one of the grammar all the same."""
    steps, n_filled = [], 0
    for work in (10, 30, 100, 300, 1000, 3000):
        compiler = maskwright.Compiler(nested.tokenizer, limits={"infill_work": work})
        canvas = Canvas(compiler.compile_gbnf(NESTED), [None] * 30, mask_id=MASK)
        if canvas.decide() == "possible":
            n_filled += 1
            assert is_text(nested, fill(random_model(1), canvas, mask_id=MASK, on_step=steps.append))
    assert n_filled > 1 and sum(step.n_open for step in steps) > 10
    assert sum(step.open_probability for step in steps) > 0
    assert all(step.open_probability == 0 for step in steps if step.n_open == 0)


def test_temperature_draws_from_the_model():
    tokenizer = maskwright.Tokenizer.from_tokens([b"a", b"b", b"c", b"</s>"], eos_token_ids=[3])
    grammar = maskwright.Compiler(tokenizer).compile_regex("[abc]")
    logits = np.log(np.array([[0.5, 0.3, 0.15, 0.05]]))
    counts = np.zeros(4)
    for seed in range(2000):
        [id] = fill(lambda ids: logits, Canvas(grammar, [None]), mask_id=3, temperature=1.0, seed=seed, n_alternatives=0)
        counts[id] += 1
    # A refused end is drawn again among what is allowed.
    assert np.abs(counts / 2000 - np.array([0.5, 0.3, 0.15, 0]) / 0.95).max() < 0.04


def test_impossible_canvases_and_wrong_arguments(nested):
    with pytest.raises(ValueError, match="commit is 'best'"):
        fill(random_model(0), Canvas(nested, [None], mask_id=MASK), mask_id=MASK, commit="best")
    calls = []
    with pytest.raises(ValueError, match="cannot be completed"):
        fill(calls.append, Canvas(nested, [1, None], mask_id=MASK), mask_id=MASK)
    little = maskwright.Compiler(nested.tokenizer, limits={"infill_work": 1}).compile_gbnf(NESTED)
    with pytest.raises(maskwright.LimitError, match="1 units of work"):
        fill(calls.append, Canvas(little, [None] * 40 + [1] + [None] * 40, mask_id=MASK), mask_id=MASK)
    assert calls == []
    canvas = Canvas(nested, [None, 1], mask_id=MASK)
    wrong = [
        ({"tokens_per_step": 0}, "tokens_per_step is 0, expected a finite number, at least 1"),
        ({"block_length": 0}, "block_length is 0"),
        ({"temperature": -1.0}, "temperature is -1.0"),
        ({"temperature": float("nan")}, "temperature is nan"),
        ({"n_alternatives": -1}, "n_alternatives"),
        ({"n_remasked": -1}, "n_remasked"),
        ({"mask_id": -1}, "mask_id"),
    ]
    for options, message in wrong:
        with pytest.raises(ValueError, match=message):
            fill(random_model(0), canvas, **{"mask_id": MASK, **options})
    for shape in [(1, 9), (3, 9), (2, 8), (2, 2, 9), (18,)]:
        with pytest.raises(ValueError, match=r"expected \(2, 9\)"):
            fill(lambda ids, shape=shape: np.zeros(shape), canvas, mask_id=MASK)
    with pytest.raises(ValueError, match="no finite logit for position 0"):
        fill(lambda ids: np.full((2, 9), np.nan), canvas, mask_id=MASK)
    assert canvas.positions == [None, 1]
    # The padding of a model's vocabulary, and a batch of one.
    assert fill(lambda ids: np.eye(1, 20, 15) + np.zeros((1, 2, 20)), canvas, mask_id=MASK) == [0, 1]
    assert fill(calls.append, canvas, mask_id=MASK) == [0, 1] and fill(calls.append, Canvas(nested, []), mask_id=MASK) == []


@pytest.mark.filterwarnings("error")
def test_logits_that_are_no_numbers(nested):
    def model(ids):
        logits = np.random.default_rng([9, *ids]).normal(size=(len(ids), len(TOKENS))).astype(np.float16)
        logits[::2, 0], logits[1::2, 1], logits[:, 3] = np.inf, np.nan, -np.inf
        return logits

    for temperature in (0.0, 1.0):
        canvas = Canvas(nested, [None] * 6, mask_id=MASK)
        assert is_text(nested, fill(model, canvas, mask_id=MASK, temperature=temperature, seed=1))


def test_an_interrupted_canvas_goes_on(nested):
    canvas = Canvas(nested, [None] * 6, mask_id=MASK)
    steps = []

    def on_step(step):
        steps.append(step)
        if step.number == 2:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        fill(random_model(5), canvas, mask_id=MASK, on_step=on_step)
    assert len(steps) == 2 and canvas.positions.count(None) == 4 and canvas.decide() == "possible"
    assert is_text(nested, fill(random_model(5), canvas, mask_id=MASK))


def test_tensors_are_as_arrays(nested):
    torch = pytest.importorskip("torch")
    for seed in range(8):
        array = random_model(seed)
        options = {"mask_id": MASK, "temperature": seed % 2, "seed": seed, "tokens_per_step": 2}

        def tensor(ids, array=array):
            return torch.tensor(array(ids))[None].to(torch.bfloat16).requires_grad_()

        def same_array(ids, tensor=tensor):
            return tensor(ids).detach().float().numpy()

        filled = [fill(each, Canvas(nested, [None] * 7, mask_id=MASK), **options) for each in (tensor, same_array)]
        assert filled[0] == filled[1] and is_text(nested, filled[0])


def record(model, kind):
    return maskwright.Compiler(model.tokenizer).compile_json_schema(ASSETS / "schemas" / f"{kind}.json")


@pytest.mark.parametrize("kind", ["person", "book", "city", "event", "order", "recipe"])
def test_records_of_the_built_in_model(model, kind):
    grammar = record(model, kind)
    prompt = model.prompt_ids(kind)
    steps = []
    for options in [{}, {"tokens_per_step": 4, "temperature": 1.0, "seed": 5, "n_remasked": 6}]:
        canvas = Canvas(grammar, [None] * (64 - len(prompt)), padding_id=model.pad_id, mask_id=model.mask_id)
        ids = fill(model, canvas, prompt_ids=prompt, mask_id=model.mask_id, on_step=steps.append, **options)
        text = model.tokenizer.decode(list(itertools.takewhile(lambda id: id not in (model.pad_id, 1), ids)))
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(text) and matcher.is_accepting() and type(json.loads(text)) is dict
    assert sum(step.n_questions for step in steps) >= len(steps)


def test_molecules_of_the_built_in_model(model):
    grammar = maskwright.Compiler(model.tokenizer).compile_builtin("smiles")
    known = model.tokenizer.encode("c1ccccc1")
    for seed in range(3):
        positions = [None] * 6 + known + [None] * 10
        canvas = Canvas(grammar, positions, padding_id=model.pad_id, mask_id=model.mask_id)
        ids = fill(model, canvas, prompt_ids=model.prompt_ids("smiles"), mask_id=model.mask_id, temperature=seed / 2, seed=seed)
        text = model.tokenizer.decode(list(itertools.takewhile(lambda id: id not in (model.pad_id, 1), ids)))
        matcher = Matcher(grammar)
        assert matcher.accept_bytes(text) and matcher.is_accepting() and ids[6 : 6 + len(known)] == known


def test_the_model_writes_records_by_itself(model):
    """Its forward pass is right: most of its likeliest tokens need no correction."""
    grammar, prompt, steps = record(model, "person"), model.prompt_ids("person"), []
    canvas = Canvas(grammar, [None] * (48 - len(prompt)), padding_id=model.pad_id, mask_id=model.mask_id)
    fill(model, canvas, prompt_ids=prompt, mask_id=model.mask_id, on_step=steps.append)
    assert sum(step.n_questions for step in steps) < 3 * len(steps) and sum(step.n_given for step in steps) == 0
