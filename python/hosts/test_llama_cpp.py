"""`LogitsProcessor` in llama-cpp-python."""

import re

import maskwright
import pytest
from conftest import MAX_NEW_TOKENS, NAMES, PROMPTS, SMOLLM2, check, run_page
from llama_cpp import Llama, LogitsProcessorList
from llama_cpp.llama_speculative import LlamaPromptLookupDecoding
from maskwright.integrations.llama_cpp import LogitsProcessor
from pages import run_by

N_TEXTS = 20


@pytest.fixture(scope="module")
def llama(gguf):
    return Llama(str(gguf), n_ctx=512, verbose=False, seed=1)


def test_texts(llama, gguf_grammars):
    processors = {name: LogitsProcessor(gguf_grammars[name]) for name in NAMES}
    for n in range(N_TEXTS):
        name, prompt = NAMES[n % len(NAMES)], PROMPTS[(n + n // len(NAMES)) % len(PROMPTS)]
        options = {"max_tokens": MAX_NEW_TOKENS, "seed": n, "temperature": 0 if n % 4 == 0 else 1.2}
        processor = processors[name]
        if n % 2:
            done = llama(prompt, logits_processor=LogitsProcessorList([processor]), **options)
            text = done["choices"][0]["text"]
        else:
            messages = [{"role": "user", "content": prompt}]
            done = llama.create_chat_completion(messages, logits_processor=LogitsProcessorList([processor]), **options)
            text = done["choices"][0]["message"]["content"]
        assert processor.error is None
        assert done["choices"][0]["finish_reason"] == "stop", text
        check(name, text)
    print(f"\nllama-cpp-python: {N_TEXTS} texts are valid and complete")


def test_streams(llama, gguf_grammars):
    processors = LogitsProcessorList([LogitsProcessor(gguf_grammars["person"])])
    for _ in range(2):
        chunks = llama(PROMPTS[0], max_tokens=MAX_NEW_TOKENS, logits_processor=processors, stream=True)
        check("person", "".join(chunk["choices"][0]["text"] for chunk in chunks))


def test_a_draft_model_does_not_change_the_text(llama, gguf, gguf_grammars):
    drafting = Llama(
        str(gguf), n_ctx=512, verbose=False, logits_all=True, draft_model=LlamaPromptLookupDecoding(num_pred_tokens=4)
    )
    for name in NAMES:
        texts = []
        for each in (llama, drafting):
            processors = LogitsProcessorList([LogitsProcessor(gguf_grammars[name])])
            done = each(PROMPTS[0], max_tokens=MAX_NEW_TOKENS, temperature=0, logits_processor=processors)
            texts.append(done["choices"][0]["text"])
            assert processors[0].error is None
            check(name, texts[-1])


def test_an_error_ends_the_text(llama, gguf_grammars):
    processor = LogitsProcessor(gguf_grammars["person"])
    done = llama(PROMPTS[0], max_tokens=3, logits_processor=LogitsProcessorList([processor]))
    assert done["choices"][0]["text"] == ""
    assert isinstance(processor.error, ValueError) and "3 tokens" in str(processor.error)


@pytest.mark.parametrize("page", run_by("cargo xtask hosts llama-cpp"))
def test_pages(page, tmp_path):
    names = run_page(page, "cargo xtask hosts llama-cpp", tmp_path, SMOLLM2).names
    if page == "docs/guides/llama-cpp-python.md":
        text = names["done"]["choices"][0]["message"]["content"]
        assert re.fullmatch(r"[1-9](\+[1-9])*", text)


def test_traces_have_the_texts(llama, gguf, gguf_grammars):
    tokenizer = gguf_grammars["person"].tokenizer
    for name in NAMES:
        trace = maskwright.Trace()
        processors = LogitsProcessorList([LogitsProcessor(gguf_grammars[name], trace=trace)])
        for prompt in PROMPTS[:2]:
            done = llama(prompt, max_tokens=MAX_NEW_TOKENS, temperature=0, logits_processor=processors)
            text = tokenizer.decode([id for id in trace.token_ids if id not in tokenizer.eos_token_ids])
            assert text.decode() == done["choices"][0]["text"], name
            assert trace.cost_nats >= 0
