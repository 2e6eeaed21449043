"""The built-in diffusion model in numpy: the forward pass of `crates/models/src/diffusion/network.rs`."""

import json
import math
from pathlib import Path

import maskwright
import numpy as np

ASSETS = Path(__file__).parents[2] / "crates" / "models" / "assets" / "diffusion"


class DiffusionModel:
    """Called with token ids, gives the logits of each position."""

    def __init__(self, folder=ASSETS):
        config = json.loads((folder / "config.json").read_text())
        self.mask_id, self.pad_id, self.separator_id = config["mask_id"], config["pad_id"], config["separator_id"]
        self.n_positions, self.n_heads, self.n_layers = config["n_positions"], config["n_heads"], config["n_layers"]
        self.tokenizer = maskwright.Tokenizer.from_file(folder / "tokenizer.json")
        self._weights = read_safetensors(folder / "model.safetensors")

    def prompt_ids(self, kind):
        """The tokens that ask for a kind of text: "smiles" or the name of a schema."""
        return [*self.tokenizer.encode(kind), self.separator_id]

    def __call__(self, ids):
        embedding = self._weights["token_embedding"]
        rows = embedding[ids] + self._weights["position_embedding"][: len(ids)]
        for layer in range(self.n_layers):
            weights = {name: self._weights[f"layers.{layer}.{name}"] for name in LAYER}
            projected = norm(rows, weights["attention_norm"]) @ weights["query_key_value"]
            rows = rows + self._attend(projected) @ weights["attention_output"]
            inner = norm(rows, weights["feed_forward_norm"]) @ weights["up"]
            rows = rows + np.maximum(inner, 0) ** 2 @ weights["down"]
        return norm(rows, self._weights["output_norm"]) @ embedding.T + self._weights["output_bias"]

    def _attend(self, projected):
        """Attention of every position to all of them."""
        length, width = projected.shape[0], projected.shape[1] // 3
        split = projected.reshape(length, 3, self.n_heads, width // self.n_heads)
        query, key, value = split.transpose(1, 2, 0, 3)
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(width // self.n_heads)
        scores = np.exp(scores - scores.max(axis=-1, keepdims=True))
        attended = scores / scores.sum(axis=-1, keepdims=True) @ value
        return attended.transpose(1, 0, 2).reshape(length, width)


LAYER = ["attention_norm", "query_key_value", "attention_output", "feed_forward_norm", "up", "down"]


def norm(rows, gain):
    return rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + 1e-5) * gain


def read_safetensors(path):
    """The tensors of a safetensors file, as float32: a JSON header after its length in 8 bytes, then the numbers."""
    data = path.read_bytes()
    n_header = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + n_header])
    numbers = {"F16": np.float16, "F32": np.float32}
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = (8 + n_header + offset for offset in entry["data_offsets"])
            flat = np.frombuffer(data[begin:end], dtype=np.dtype(numbers[entry["dtype"]]).newbyteorder("<"))
            tensors[name] = flat.reshape(entry["shape"]).astype(np.float32)
    return tensors
