"""A masked diffusion model fills a canvas: positions of one token each, in any order.

Such a model looks at the whole text, some of which is masked, and says what it likes at each masked position. It fills the positions of
which it is surest, first here, then there. A `Canvas` says whether a token can stand at its place such that all the rest can still be
filled, so the text is one of the grammar in the end.

By default the model is a stand-in, which likes a text at its positions. With `--model NAME` it is a masked language model of transformers
with a tokenizer of bytes, such as `answerdotai/ModernBERT-base`. Dream and LLaDA need a line more: see docs/guides/diffusion.md.
"""

import json

import maskwright
import numpy as np
import stand_in
from maskwright.integrations.diffusion import fill

SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}, "city": {"enum": ["Rome", "Oslo"]}},
    "required": ["name", "age", "city"],
    "additionalProperties": False,
}
# What the stand-in likes: a text with an age that is no number, and a city that is not in the list.
WANTED = '{"name":"Ada","age":"36","city":"Paris"}'
KNOWN = '{"name":"Ada'  # the beginning is given


class StandIn:
    """Likes WANTED: at each position its byte there, some positions more than others."""

    def __init__(self, seed=0):
        self.tokenizer = stand_in.StandIn("").tokenizer
        self.mask_id, self.n_positions = self.tokenizer.special_tokens["<mask>"], len(WANTED)
        self.random = np.random.default_rng(seed)

    def logits(self, ids):
        logits = self.random.normal(size=(len(ids), self.tokenizer.vocab_size))
        for position, byte in enumerate(WANTED.encode(), start=len(ids) - self.n_positions):
            logits[position, byte] += self.random.uniform(2, 8)
        return logits


class Masked:
    """A masked language model of transformers."""

    def __init__(self, name):
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        hf_tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForMaskedLM.from_pretrained(name).eval()
        end = hf_tokenizer.eos_token_id if hf_tokenizer.eos_token_id is not None else hf_tokenizer.sep_token_id
        self.tokenizer = maskwright.Tokenizer.from_hf(hf_tokenizer, eos_token_ids=[end], vocab_size=self.model.config.vocab_size)
        self.mask_id, self.n_positions = hf_tokenizer.mask_token_id, 32

    def logits(self, ids):
        import torch

        with torch.no_grad():
            return self.model(torch.from_numpy(ids)[None].to(self.model.device)).logits


def main():
    arguments = stand_in.parser(__doc__).parse_args()
    model = Masked(arguments.model) if arguments.model else StandIn()
    grammar = maskwright.Compiler(model.tokenizer).compile_json_schema(SCHEMA, whitespace="compact")
    known = model.tokenizer.encode(KNOWN)
    positions = known + [None] * (model.n_positions - len(known))
    canvas = maskwright.Canvas(grammar, positions, mask_id=model.mask_id)
    prompt_ids = model.tokenizer.encode("Describe Ada as JSON.\n")

    def show(step):
        put = "".join("_" if id is None else model.tokenizer.decode([id]).decode(errors="replace") for id in canvas.positions)
        print(f"{step.number:3} {put}")

    ids = fill(model.logits, canvas, prompt_ids=prompt_ids, mask_id=model.mask_id, tokens_per_step=4, on_step=show)
    text = model.tokenizer.decode(ids).decode()
    value = json.loads(text)
    print(value)
    assert text.startswith(KNOWN) and value["city"] in ("Rome", "Oslo") and isinstance(value["age"], int)


if __name__ == "__main__":
    main()
