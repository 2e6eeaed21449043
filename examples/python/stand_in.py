"""The model that these examples ask: a stand-in that runs anywhere, or a real one with `--model NAME`.

`StandIn` is no language model. It knows one text by heart, its script, and continues it: after the longest ending of the text so far
that is in the script, it likes the token that follows there. All else is noise. Its tokens are single bytes.

Both classes have `tokenizer`, `prompt`, `logits` and `write`, so an example doesn't know which one it has.
"""

import argparse

import maskwright
import numpy as np


class StandIn:
    """Continues `script`, in which `</s>` ends a message. The same `seed` gives the same texts."""

    def __init__(self, script, seed=0):
        tokens = [bytes([byte]) for byte in range(256)] + [b"</s>", b"<mask>"]
        self.tokenizer = maskwright.Tokenizer.from_tokens(tokens, eos_token_ids=[256], special_token_ids=[257])
        parts = [list(part.encode()) for part in script.split("</s>")]
        self.script = np.array([token for part in parts for token in [*part, 256]])
        self.random = np.random.default_rng(seed)

    def prompt(self, messages, tools=()):
        """The tokens of a chat, up to where the assistant's next message begins."""
        chat = "".join(f"<{message['role']}>{message.get('content') or ''}\n" for message in messages)
        return self.tokenizer.encode(chat + "<assistant>")

    def logits(self, sequences):
        """The logits of the token after each sequence, of shape (sequences, vocabulary)."""
        return np.stack([self._logits(ids) for ids in sequences]).astype(np.float32)

    def _logits(self, ids):
        logits = self.random.normal(size=self.tokenizer.vocab_size)
        places, length = np.arange(len(self.script)), 0  # where the last `length` tokens stand in the script
        while places.size:
            logits[self.script[places]] = 12 * length / (length + 3)
            length += 1
            places = places[places >= length] if length <= len(ids) else places[:0]
            places = places[self.script[places - length] == ids[-length]] if places.size else places
        return logits

    def write(self, grammar, prompt_ids, max_tokens):
        """The tokens of a text of the grammar: at each step, mask the logits and take the best token."""
        matcher = maskwright.Matcher(grammar, max_tokens=max_tokens)
        mask = maskwright.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        while not matcher.is_terminated():
            logits = self.logits([[*prompt_ids, *matcher.steps]])
            matcher.fill_next_token_bitmask(mask)
            maskwright.apply_token_bitmask_inplace(logits, mask)
            matcher.accept_token(int(logits[0].argmax()))
        return matcher.steps


class Transformers:
    """A causal language model of the package `transformers`, by its name or folder."""

    def __init__(self, name):
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.hf_tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForCausalLM.from_pretrained(name).eval()
        self.tokenizer = maskwright.Tokenizer.from_hf(self.hf_tokenizer, model=self.model)

    def prompt(self, messages, tools=()):
        if self.hf_tokenizer.chat_template is None:
            return self.hf_tokenizer("\n\n".join(message.get("content") or "" for message in messages) + "\n\n")["input_ids"]
        chat = self.hf_tokenizer.apply_chat_template(messages, tools=list(tools) or None, add_generation_prompt=True, return_dict=True)
        return chat["input_ids"]

    def logits(self, sequences):
        """Each sequence from its beginning, in one pass: simple, not fast. What pads the shorter ones stands after them, unseen."""
        import torch

        length = max(len(ids) for ids in sequences)
        padded = torch.tensor([[*ids, *[0] * (length - len(ids))] for ids in sequences], device=self.model.device)
        with torch.no_grad():
            logits = self.model(padded).logits
        return torch.stack([row[len(ids) - 1] for row, ids in zip(logits, sequences, strict=True)]).float().cpu().numpy()

    def write(self, grammar, prompt_ids, max_tokens):
        """`generate` does the loop, and keeps what it has computed."""
        import torch
        from maskwright.integrations.transformers import LogitsProcessor

        ids = torch.tensor([prompt_ids], device=self.model.device)
        output = self.model.generate(
            ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=max_tokens,
            do_sample=False,
            logits_processor=[LogitsProcessor(grammar)],
        )
        return output[0, ids.shape[1] :].tolist()


def parser(about):
    """A parser of arguments that has `--model`."""
    arguments = argparse.ArgumentParser(description=about.split("\n")[0])
    arguments.add_argument("--model", metavar="NAME", help="a model of transformers; by default a stand-in, which knows its text")
    return arguments


def load(name, script):
    """The model of that name, or a stand-in."""
    return Transformers(name) if name else StandIn(script)
