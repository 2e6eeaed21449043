"""`processor` in the generators of Outlines."""

import json
import re

import jsonschema
import llama_cpp
import maskwright
import outlines
import pytest
import torch
from conftest import MAX_NEW_TOKENS, NAMES, PROMPTS, SMOLLM2, check, compile_all, run_page
from maskwright.integrations.outlines import processor
from pages import run_by
from transformers import AutoModelForCausalLM, AutoTokenizer

N_TEXTS = 20


@pytest.fixture(scope="module")
def of_transformers(folder):
    tokenizer = AutoTokenizer.from_pretrained(folder, padding_side="left")
    return outlines.from_transformers(AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32), tokenizer)


@pytest.fixture(scope="module")
def of_llama_cpp(gguf):
    return outlines.from_llamacpp(llama_cpp.Llama(str(gguf), n_ctx=512, verbose=False, seed=1))


def test_llama_cpp(of_llama_cpp, gguf_grammars):
    generators = {
        name: outlines.Generator(of_llama_cpp, processor=processor(gguf_grammars[name], model=of_llama_cpp)) for name in NAMES
    }
    for n in range(N_TEXTS):
        name = NAMES[n % len(NAMES)]
        text = generators[name](PROMPTS[n % 7], max_tokens=MAX_NEW_TOKENS, seed=n, temperature=1.1)
        check(name, text)
    print(f"\nOutlines over llama.cpp: {N_TEXTS} texts are valid and complete")


def test_transformers(of_transformers):
    compiler = maskwright.Compiler(maskwright.Tokenizer.from_hf(of_transformers.hf_tokenizer, model=of_transformers.model))
    grammars = compile_all(compiler)
    n_texts = 0
    for name in NAMES:
        generator = outlines.Generator(of_transformers, processor=processor(grammars[name], model=of_transformers))
        texts = [generator(PROMPTS[0], max_new_tokens=MAX_NEW_TOKENS)]
        texts += generator.batch(PROMPTS[:2], max_new_tokens=MAX_NEW_TOKENS, do_sample=True)
        for text in texts:
            check(name, text)
        n_texts += len(texts)
    print(f"\nOutlines over transformers: {n_texts} texts are valid and complete")
    assert n_texts >= N_TEXTS


@pytest.mark.parametrize("page", run_by("cargo xtask hosts outlines"))
def test_pages(page, tmp_path):
    names = run_page(page, "cargo xtask hosts outlines", tmp_path, SMOLLM2).names
    if page == "docs/guides/outlines.md":
        jsonschema.validate(json.loads(names["colours"]), names["schema"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", names["texts"][1])
