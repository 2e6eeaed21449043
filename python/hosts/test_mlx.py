"""The processor for MLX in mlx-lm itself, with SmolLM2: one text at a time, batches, drafts; greedy and sampled.

`cargo xtask hosts mlx` runs it on the CPU; no test here needs Apple's hardware. Masks are compared with those that the processor
for transformers gives for the same tokens.
"""

import json
import os

import maskwright
import mlx.core as mx
import numpy as np
import pytest
from conftest import FOLDER, run_page
from maskwright.integrations import transformers
from maskwright.integrations.mlx import LogitsProcessor
from mlx_lm import load
from mlx_lm.generate import BatchGenerator, generate, generate_step, speculative_generate_step
from mlx_lm.models import llama
from mlx_lm.sample_utils import make_sampler
from pages import run_by

OBJECT = {"type": "object", "additionalProperties": False}
#: 20 grammars: kind, source, options.
GRAMMARS = [
    ("json_schema", {**OBJECT, "properties": {"name": {"type": "string", "maxLength": 12}}, "required": ["name"]}, {}),
    ("json_schema", {**OBJECT, "properties": {"age": {"type": "integer", "minimum": 0, "maximum": 120}}, "required": ["age"]}, {}),
    ("json_schema", {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "minItems": 1, "maxItems": 4}, {}),
    ("json_schema", {"type": "array", "items": {"type": "integer"}, "maxItems": 3, "uniqueItems": True}, {}),
    ("json_schema", {"anyOf": [{"type": "boolean"}, {"type": "null"}]}, {}),
    ("json_schema", {"type": "string", "pattern": "^[A-Z][a-z]{2,8}$"}, {}),
    ("json_schema", {"type": "string", "format": "date"}, {}),
    ("json_schema", {"type": "number", "multipleOf": 0.5, "minimum": 1, "maximum": 9}, {"whitespace": "compact"}),
    ("json_schema", {**OBJECT, "properties": {"a": {"const": 1}, "b": {"const": 2}}, "required": ["a", "b"]}, {"property_order": "any"}),
    ("regex", r"\d{4}-\d\d-\d\d", {}),
    ("regex", r"(yes|no)( and (yes|no)){0,3}", {}),
    ("regex", r"[a-z]{3,10}@[a-z]{3,8}\.(com|org)", {}),
    ("choice", ["north", "south", "east", "west"], {}),
    ("choice", ["a", "ab", "abc", "abcd"], {}),
    ("gbnf", 'root ::= "(" [0-9]{1,3} (" + " [0-9]{1,3}){0,3} ")"', {}),
    ("gbnf", 'root ::= item ("," item){0,4}\nitem ::= [a-f]{1,3}', {}),
    ("lark", 'start: WORD ("," WORD)~0..3\nWORD: /[a-z]{1,6}/', {}),
    ("lark", '%llguidance {}\nstart: "<" %json {"type": "boolean"} ">"', {"dialect": "llguidance"}),
    ("structural_tag", {"format": {"type": "tag", "begin": "<b>", "content": {"type": "regex", "pattern": "[a-z ]{1,20}"}, "end": "</b>"}}, {}),
    (
        "tool_calls",
        [{"name": "look", "inputSchema": {**OBJECT, "properties": {"at": {"enum": ["sky", "sea"]}}, "required": ["at"]}}],
        {"format": "qwen_3", "tool_choice": "required", "parallel": False, "text": False},
    ),
]
LIMIT = 60


@pytest.fixture(scope="module")
def loaded():
    return load(os.environ["MASKWRIGHT_HOSTS_MODEL"])


@pytest.fixture(scope="module")
def compiler(loaded):
    model, tokenizer = loaded
    width = model(mx.array([[0]])).shape[-1]
    own = maskwright.Tokenizer.from_gguf(os.environ["MASKWRIGHT_HOSTS_GGUF"], vocab_size=width)
    return maskwright.Compiler(own)


@pytest.fixture(scope="module")
def grammars(compiler):
    return [getattr(compiler, f"compile_{kind}")(source, **options) for kind, source, options in GRAMMARS]


@pytest.fixture(scope="module")
def prompts(loaded):
    _, tokenizer = loaded
    texts = ["Answer in one line: who are you?", "Write a value.", "The quick brown fox"]
    return [tokenizer.encode(texts[i % 3]) for i in range(len(GRAMMARS))]


class Compared(LogitsProcessor):
    """The processor, and at each call that of transformers on the same tokens."""

    def __init__(self, grammar, max_tokens):
        super().__init__(grammar)
        self.other = transformers.LogitsProcessor(grammar, max_tokens=max_tokens)
        self.n_compared = 0

    def __call__(self, tokens, logits):
        masked = super().__call__(tokens, logits)
        scores = np.array(logits.astype(mx.float32))
        other = self.other(np.array(tokens, dtype=np.int64)[None], scores)
        assert (np.isneginf(np.array(masked.astype(mx.float32))) == np.isneginf(other)).all()
        self.n_compared += 1
        return masked


def text_of(grammar, tokens):
    """The text, which must be whole."""
    ends = grammar.tokenizer.eos_token_ids
    assert tokens[-1] in ends and not set(tokens[:-1]) & set(ends), tokens
    text = grammar.tokenizer.decode(tokens[:-1])
    check = grammar.check(text, special_tokens=True)
    assert check.is_valid, (text, str(check))
    return text


def until_end(grammar, steps):
    tokens = []
    for step in steps:
        tokens.append(step[0])
        if tokens[-1] in grammar.tokenizer.eos_token_ids:
            break
    return tokens


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_one_text_at_a_time(loaded, grammars, prompts, temperature):
    model, _ = loaded
    mx.random.seed(4)
    for grammar, prompt in zip(grammars, prompts, strict=True):
        processor = Compared(grammar, LIMIT)
        steps = generate_step(
            mx.array(prompt), model, max_tokens=LIMIT, logits_processors=[processor], sampler=make_sampler(temperature),
            prefill_step_size=4,
        )
        text_of(grammar, until_end(grammar, steps))
        assert processor.n_compared >= 2


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_a_batch(loaded, grammars, prompts, temperature):
    model, tokenizer = loaded
    mx.random.seed(5)
    ends = [[id] for id in grammars[0].tokenizer.eos_token_ids]
    generator = BatchGenerator(model, stop_tokens=ends, sampler=make_sampler(temperature), completion_batch_size=6, prefill_batch_size=3)
    processors = [Compared(grammar, LIMIT) for grammar in grammars]
    uids = generator.insert(prompts, [LIMIT] * len(prompts), logits_processors=[[processor] for processor in processors])
    written = {uid: [] for uid in uids}
    finished = set()
    while len(finished) < len(uids):
        _, responses = generator.next()
        for response in responses:
            written[response.uid].append(response.token)
            if response.finish_reason is not None:
                finished.add(response.uid)
    for uid, grammar in zip(uids, grammars, strict=True):
        text_of(grammar, written[uid])


def test_one_processor_for_a_whole_batch(loaded, grammars, prompts):
    model, _ = loaded
    grammar = grammars[1]
    ends = [[id] for id in grammar.tokenizer.eos_token_ids]
    generator = BatchGenerator(model, stop_tokens=ends, logits_processors=[LogitsProcessor(grammar)], max_tokens=40)
    uids = generator.insert(prompts[:5])
    written, n_finished = {uid: [] for uid in uids}, 0
    while n_finished < len(uids):
        _, responses = generator.next()
        for response in responses:
            written[response.uid].append(response.token)
            n_finished += response.finish_reason is not None
    for tokens in written.values():
        assert 0 <= json.loads(text_of(grammar, tokens))["age"] <= 120


def test_drafts(loaded, grammars, prompts):
    model, _ = loaded
    arguments = llama.ModelArgs.from_dict(json.load(open(os.path.join(os.environ["MASKWRIGHT_HOSTS_MODEL"], "config.json"))))
    arguments.num_hidden_layers = 2
    draft = llama.Model(arguments)
    for grammar, prompt in list(zip(grammars, prompts, strict=True))[::3]:
        steps = speculative_generate_step(
            mx.array(prompt), model, draft, max_tokens=LIMIT, num_draft_tokens=3, logits_processors=[LogitsProcessor(grammar)]
        )
        text_of(grammar, until_end(grammar, steps))


def test_generate_with_a_type_and_its_own_tokenizer(loaded):
    model, tokenizer = loaded
    processor = LogitsProcessor({"type": "integer", "minimum": 1, "maximum": 12}, tokenizer)
    for _ in range(2):
        assert 1 <= int(generate(model, tokenizer, "A month, as a number: ", max_tokens=8, logits_processors=[processor])) <= 12


@pytest.mark.parametrize("page", run_by("cargo xtask hosts mlx"))
def test_pages(page, tmp_path):
    names = run_page(page, "cargo xtask hosts mlx", tmp_path, {"mlx-community/SmolLM2-135M-Instruct": FOLDER}).names
    if page == "docs/guides/mlx.md":
        assert isinstance(names["person"], names["Person"])
