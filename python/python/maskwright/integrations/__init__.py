"""Adapters for the programs that run models. Each but `sglang`, which SGLang imports, and `mlx` imports its host only when it is used.

* `maskwright.integrations.transformers.LogitsProcessor`: for `model.generate`.
* `maskwright.integrations.llama_cpp.LogitsProcessor`: for llama-cpp-python.
* `maskwright.integrations.mlx.LogitsProcessor`: for mlx-lm and mlx-vlm.
* `maskwright.integrations.outlines.processor`: for `outlines.Generator`.
* `maskwright.integrations.diffusion.fill`: a loop for diffusion models, such as Dream and LLaDA.
* `maskwright.integrations.vllm`: vLLM finds it by itself; `MASKWRIGHT_VLLM=1` turns it on.
* `maskwright.integrations.sglang`: SGLang finds it by itself; `--grammar-backend maskwright` chooses it.
"""
