"""Installs SGLang into the environment that runs this, without what it asks for: 10 GB of kernels for GPUs.

`requirements-sglang.txt` has what it needs on a CPU.
"""

import subprocess
import sys

SGLANG = "sglang==0.5.23"

if __name__ == "__main__":
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", SGLANG], check=True)
