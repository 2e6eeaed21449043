"""Whether the adapters fit the newest vLLM and SGLang: `cargo xtask hosts newest`. No server runs.

usage: newest.py vllm|sglang [VERSION]

Fetches the sources of a release from PyPI, by default the newest, puts them before the installed version, and registers the adapter there: what
it replaces must be there and take what it is given. For vLLM, whose kernels are not in its sources, the modules that the adapter imports
are enough. Run in the environment of that server.
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
import urllib.parse
import urllib.request
import zipfile
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import parse_sdist_filename, parse_wheel_filename
from packaging.version import Version

REGISTER = {
    "vllm": """
import vllm
from maskwright.integrations import vllm as adapter
adapter.register()
from vllm.v1.structured_output import StructuredOutputManager
assert StructuredOutputManager.grammar_init.is_maskwright
""",
    "sglang": """
import sglang
from maskwright.integrations import sglang as adapter
adapter.register()
adapter._hook()
""",
}


FITS = frozenset(sys_tags())
INDEX = "https://pypi.org/simple/"


def sources(project, version):
    """A release, by default the newest, and the address of its sources: a source archive, or a wheel for this machine."""
    page = urllib.request.Request(f"{INDEX}{project}/", headers={"Accept": "application/vnd.pypi.simple.v1+json"})
    with urllib.request.urlopen(page, timeout=60) as answer:
        files = json.load(answer)["files"]
    found = {}
    # Source archives first.
    for each in sorted(files, key=lambda each: each["filename"].endswith(".whl")):
        name = each["filename"]
        if name.endswith(".tar.gz"):
            found.setdefault(parse_sdist_filename(name)[1], each["url"])
        elif name.endswith(".whl") and FITS & parse_wheel_filename(name)[3]:
            found.setdefault(parse_wheel_filename(name)[1], each["url"])
    released = [each for each in found if not each.is_prerelease]
    chosen = Version(version) if version else max(released)
    if chosen not in found:
        raise SystemExit(f"{project} {chosen} has no sources on PyPI; the newest that has is {max(released)}")
    return chosen, urllib.parse.urljoin(page.full_url, found[chosen])


def unpacked(address, folder):
    """The folder that is to be imported from."""
    archive = folder / address.rsplit("/", 1)[1]
    with urllib.request.urlopen(address, timeout=60) as answer:
        archive.write_bytes(answer.read())
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(folder / "sources")
        return folder / "sources"
    with tarfile.open(archive) as sources:
        sources.extractall(folder / "sources", filter="data")
    (top,) = (folder / "sources").iterdir()
    return top


def main(project, version=None):
    with tempfile.TemporaryDirectory() as name:
        version, address = sources(project, version)
        folder = unpacked(address, Path(name))
        environment = {**os.environ, "PYTHONPATH": str(folder), "MASKWRIGHT_VLLM": "1"}
        code = REGISTER[project] + f"\nassert {project}.__file__.startswith({str(folder)!r}), {project}.__file__"
        done = subprocess.run([sys.executable, "-c", code], env=environment, cwd=name, timeout=300)
    print(f"{project} {version}: {'the adapter fits' if done.returncode == 0 else 'the adapter does not fit, see above'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
