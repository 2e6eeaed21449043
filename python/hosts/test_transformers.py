"""`LogitsProcessor` in `generate` of transformers: texts are valid, complete, and those of a naive processor."""

import copy
import os
import re
import time
from pathlib import Path

import maskwright
import numpy as np
import pytest
import torch
from conftest import MAX_NEW_TOKENS, NAMES, PROMPTS, SMOLLM2, check, compile_all, run_page
from maskwright.integrations.transformers import LogitsProcessor
from pages import run_by
from transformers import AutoModelForCausalLM, AutoTokenizer

N_GENERATIONS = 25
PAGES = run_by("cargo xtask hosts transformers")
#: What other tests look at.
LOOKED_AT = ["docs/guides/diffusion.md", "docs/guides/streaming-tool-calls.md", "docs/guides/tool-calls.md"]


class Replaying:
    """The naive processor: a fresh matcher reads the whole text of each row at every step."""

    def __init__(self, grammars, prompt_len):
        self.grammars, self.prompt_len = grammars, prompt_len

    def __call__(self, input_ids, scores):
        rows = input_ids[:, self.prompt_len :].tolist()
        mask = maskwright.allocate_token_bitmask(len(rows), scores.shape[1])
        for row, tokens in enumerate(rows):
            matcher = maskwright.Matcher(self.grammars[row // (len(rows) // len(self.grammars))], MAX_NEW_TOKENS)
            if all(matcher.is_terminated() or matcher.accept_token(token) for token in tokens):
                matcher.fill_next_token_bitmask(mask, row)
            else:  # a beam without any hope
                mask[row] = -1
        processed = scores.clone()
        maskwright.apply_token_bitmask_inplace(processed, mask)
        return processed


@pytest.fixture(scope="module")
def tokenizer(folder):
    return AutoTokenizer.from_pretrained(folder, padding_side="left")


@pytest.fixture(scope="module")
def model(folder):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16).eval()
    return model.to("cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture(scope="module")
def grammars(tokenizer, model):
    return compile_all(maskwright.Compiler(maskwright.Tokenizer.from_hf(tokenizer, model=model)))


def texts_of(model, tokenizer, prompts, processor, seed=0, **options):
    """The texts that `generate` writes after some prompts."""
    chats = [[{"role": "user", "content": prompt}] for prompt in prompts]
    inputs = tokenizer.apply_chat_template(
        chats, add_generation_prompt=True, return_tensors="pt", return_dict=True, padding=True
    ).to(model.device)
    width = inputs["input_ids"].shape[1]
    if isinstance(processor, list):
        processor = Replaying(processor, width)
    torch.manual_seed(seed)
    options = {"max_new_tokens": MAX_NEW_TOKENS} | options
    sequences = model.generate(**inputs, logits_processor=[processor], **options)[:, width:]
    assert sequences.shape[1] <= options["max_new_tokens"]
    ends = [tokenizer.eos_token_id in row for row in sequences.tolist()]
    return tokenizer.batch_decode(sequences, skip_special_tokens=True), ends


def both(model, tokenizer, prompts, grammars, names, seed, processor=None, **options):
    """Checks texts, and that they are those of the naive processor."""
    given = [grammars[name] for name in names]
    processor = processor or LogitsProcessor(given)
    texts, ends = texts_of(model, tokenizer, prompts, processor, seed, **options)
    assert all(ends), texts
    for row, text in enumerate(texts):
        check(names[row // (len(texts) // len(names))], text)
    assert (texts, ends) == texts_of(model, tokenizer, prompts, given, seed, **options)
    return texts


MODES = {
    "greedy": {"do_sample": False},
    "sampling": {"do_sample": True, "temperature": 1.2, "top_k": 0},
    "beams": {"do_sample": False, "num_beams": 4},
    "beam sampling": {"do_sample": True, "num_beams": 3, "num_return_sequences": 2},
}


@pytest.mark.parametrize("mode", ["greedy", "sampling", "beams"])
def test_one_prompt(model, tokenizer, grammars, mode):
    n_texts = 0
    # One processor for each grammar, used again and again.
    processors = {name: LogitsProcessor(grammars[name]) for name in NAMES}
    for n in range(N_GENERATIONS):
        name, prompt = NAMES[n % len(NAMES)], PROMPTS[(n + n // len(NAMES)) % len(PROMPTS)]
        options = MODES[mode] | ({"num_return_sequences": 3} if n % 5 == 4 and mode != "greedy" else {})
        n_texts += len(both(model, tokenizer, [prompt], grammars, [name], n, processors[name], **options))
    print(f"\n{mode}: {n_texts} texts of {N_GENERATIONS} generations are valid, complete and the naive processor's")
    assert n_texts >= N_GENERATIONS


def test_batches_of_eight_grammars(model, tokenizer, grammars):
    n_texts = 0
    for n in range(N_GENERATIONS):
        names = NAMES[n % 8 :] + NAMES[: n % 8]
        mode = ["sampling", "sampling", "greedy", "sampling", "beams"][n % 5]
        n_texts += len(both(model, tokenizer, PROMPTS, grammars, names, n, **MODES[mode]))
    print(f"\nbatches: {n_texts} texts of {N_GENERATIONS} generations are valid, complete and the naive processor's")
    assert n_texts == 8 * N_GENERATIONS


def test_several_texts_of_each_prompt(model, tokenizer, grammars):
    for mode in ("sampling", "beam sampling"):
        options = {"num_return_sequences": 2} | MODES[mode]
        assert len(both(model, tokenizer, PROMPTS[:3], grammars, NAMES[:3], 7, **options)) == 6
        for_all = LogitsProcessor(grammars[NAMES[4]])
        assert len(both(model, tokenizer, PROMPTS[:3], grammars, NAMES[4:5], 7, for_all, **options)) == 6


def test_assisted_decoding(model, tokenizer, grammars):
    # Several tokens at once round differently; in single precision that changes no text.
    model = copy.deepcopy(model).float()
    for name in NAMES:
        plain = both(model, tokenizer, PROMPTS[:1], grammars, [name], 0, do_sample=False)
        for options in ({"prompt_lookup_num_tokens": 3}, {"assistant_model": model}):
            processor = LogitsProcessor(grammars[name])
            assert texts_of(model, tokenizer, PROMPTS[:1], processor, do_sample=False, **options)[0] == plain


def test_texts_end_at_the_ids_of_the_generation_config(model, tokenizer):
    """A grammar whose tokenizer knows another end."""
    other = tokenizer.convert_tokens_to_ids("<|endoftext|>")
    assert other != tokenizer.eos_token_id
    made = maskwright.Tokenizer.from_hf(tokenizer, eos_token_ids=[other])
    grammar = maskwright.Compiler(made).compile_choice(["yes", "no"])
    texts, ends = texts_of(model, tokenizer, PROMPTS[:2], LogitsProcessor(grammar))
    assert all(ends) and set(texts) <= {"yes", "no"}
    made = maskwright.Tokenizer.from_hf(tokenizer, model=model)
    assert made.eos_token_ids == [tokenizer.eos_token_id] and made.vocab_size == model.config.vocab_size


def test_padded_vocabularies(model, tokenizer, grammars):
    """A model with more logits than the tokenizer has tokens."""
    scores = torch.zeros(2, model.config.vocab_size + 64)
    processed = LogitsProcessor(grammars["choice"])(torch.zeros(2, 3, dtype=torch.long), scores)
    assert (scores == 0).all() and torch.isinf(processed[:, model.config.vocab_size :]).all()
    assert (processed == 0).any(dim=1).all()


def test_a_limit_that_is_too_low_is_an_error(model, tokenizer, grammars):
    with pytest.raises(ValueError, match="3 tokens are too few"):
        texts_of(model, tokenizer, PROMPTS[:1], LogitsProcessor(grammars["person"]), max_new_tokens=3)


@pytest.mark.parametrize("page", [page for page in PAGES if page not in LOOKED_AT])
def test_pages(page, tmp_path):
    names = run_page(page, "cargo xtask hosts transformers", tmp_path, SMOLLM2).names
    if page == "docs/guides/transformers.md":
        assert isinstance(names["person"], names["Person"])
        answer, date = names["texts"]
        assert answer in ("yes", "no") and re.fullmatch(r"\d{4}-\d\d-\d\d", date)


def test_overhead():
    """What a step costs beside the mask fill alone: 32 rows, 128,000 ids."""
    shared = Path(os.environ.get("MASKWRIGHT_SHARED", "")) / "tokenizers/llama3_1/tokenizer.json"
    if not shared.is_file():
        pytest.skip("MASKWRIGHT_SHARED names no folder with the tokenizer of Llama 3.1")
    tokenizer = maskwright.Tokenizer.from_file(shared)
    schema = {"type": "array", "items": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}}
    grammar = maskwright.Compiler(tokenizer).compile_json_schema(schema)
    n_rows, prompt_len, n_steps = 32, 200, 200
    words = "the quick brown fox jumps over a lazy dog while many other animals look on in some surprise".split()
    draw = np.random.default_rng(0)
    rows = []
    for _ in range(n_rows):
        items = ['{"text": "' + " ".join(draw.choice(words, 12)) + '"}' for _ in range(40)]
        rows.append([0] * prompt_len + tokenizer.encode("[" + ", ".join(items) + "]")[:n_steps])
    ids = torch.tensor(rows)
    scores = torch.randn(n_rows, tokenizer.vocab_size)
    processor = LogitsProcessor(grammar)
    matchers = [maskwright.Matcher(grammar) for _ in rows]
    mask = maskwright.allocate_token_bitmask(n_rows, tokenizer.vocab_size)
    # Once before, so that the masks are known.
    for step in range(n_steps):
        processor(ids[:, : prompt_len + step], scores)
    processor.reset()
    times = {"processor": [], "fill": [], "clone": [], "apply": [], "accept": []}

    def timed(name, function):
        start = time.perf_counter()
        result = function()
        times[name].append(time.perf_counter() - start)
        return result

    for step in range(n_steps):
        timed("processor", lambda: processor(ids[:, : prompt_len + step], scores))
        timed("fill", lambda: maskwright.fill_next_token_bitmask_batch(matchers, mask))
        copy = timed("clone", scores.clone)
        timed("apply", lambda: maskwright.apply_token_bitmask_inplace(copy, mask))
        timed("accept", lambda: [m.accept_token(int(row)) for m, row in zip(matchers, ids[:, prompt_len + step], strict=True)])
    median = {name: float(np.median(each)) * 1e6 for name, each in times.items()}
    parts = sum(each for name, each in median.items() if name != "processor")
    print(f"\na step of {n_rows} rows and {tokenizer.vocab_size} ids, medians in us:")
    print(f"  processor {median['processor']:.0f}; its parts alone:", end=" ")
    print(", ".join(f"{name} {median[name]:.0f}" for name in ("fill", "accept", "clone", "apply")))
    print(f"  the processor's own share: {median['processor'] - parts:.0f}")
    # Slack for a busy machine; what it really is, the line above says.
    assert median["processor"] < 3 * parts


def test_traces_have_the_tokens_of_the_texts(model, tokenizer, grammars):
    """The last token too, which no processor sees; and none of the drafts that were refused."""
    for name in NAMES:
        for options in ({"do_sample": False}, {"do_sample": True, "top_k": 0}, {"do_sample": False, "prompt_lookup_num_tokens": 3}):
            trace = maskwright.Trace()
            processor = LogitsProcessor(grammars[name], trace=trace)
            for seed, prompt in enumerate(PROMPTS[:2]):
                inputs = tokenizer(prompt, return_tensors="pt").to(model.device)
                torch.manual_seed(seed)
                output = model.generate(**inputs, max_new_tokens=MAX_NEW_TOKENS, logits_processor=[processor], **options)
                assert trace.token_ids == output[0, inputs["input_ids"].shape[1] :].tolist(), (name, options)
                assert trace.cost_nats >= 0 and "<!doctype html>" in trace.html()
    traces = [maskwright.Trace(), maskwright.Trace()]
    texts, _ = texts_of(model, tokenizer, PROMPTS[:2], LogitsProcessor(grammars["person"], trace=traces), do_sample=False)
    assert texts == [tokenizer.decode(trace.token_ids, skip_special_tokens=True) for trace in traces]
    with pytest.raises(ValueError, match="not of beams"):
        processor = LogitsProcessor(grammars["person"], trace=maskwright.Trace())
        texts_of(model, tokenizer, PROMPTS[:1], processor, num_beams=2)
