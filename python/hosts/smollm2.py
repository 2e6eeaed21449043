"""Makes a folder that `transformers` loads from SmolLM2's GGUF file: `python smollm2.py FILE.gguf FOLDER`."""

import json
import sys
from pathlib import Path

import torch
from gguf import GGUFReader
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer


def make(gguf: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(gguf.parent, gguf_file=gguf.name)
    template = GGUFReader(gguf).get_field("tokenizer.chat_template")
    tokenizer.chat_template = template.contents()
    tokenizer.save_pretrained(folder)
    model = AutoModelForCausalLM.from_pretrained(gguf.parent, gguf_file=gguf.name, dtype=torch.float32)
    weights = {name: weight.contiguous() for name, weight in model.state_dict().items() if name != "lm_head.weight"}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    model.generation_config.save_pretrained(folder)
    config = model.config.to_dict() | {"architectures": ["LlamaForCausalLM"], "tie_word_embeddings": True}
    config.pop("quantization_config", None)
    # Last: whoever finds it knows that the folder is complete.
    (folder / "config.json").write_text(json.dumps(config, default=str, indent=2))


if __name__ == "__main__":
    make(Path(sys.argv[1]), Path(sys.argv[2]))
