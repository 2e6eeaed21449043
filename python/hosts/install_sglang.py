"""Installs SGLang into the environment that runs this, without what it asks for: 10 GB of kernels for GPUs.

On a CPU, its models take a kernel from vLLM, which is installed first. `requirements-sglang.txt` has the rest.
"""

import install_vllm

SGLANG = "sglang==0.5.23"

if __name__ == "__main__":
    install_vllm.install()
    install_vllm.pip("--no-deps", SGLANG)
