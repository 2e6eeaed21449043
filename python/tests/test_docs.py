"""The examples in the docstrings, and the blocks of the pages."""

import doctest
import struct

import maskwright
import page_runner
import pages
import pytest
from conftest import SHARED, count_skipped

DOCUMENTED = [maskwright, *(getattr(maskwright, name) for name in maskwright.__all__ if not name.startswith("_"))]


def test_examples():
    runner = doctest.DocTestRunner()
    names = vars(maskwright) | {"maskwright": maskwright}
    for item in DOCUMENTED:
        example = doctest.DocTestParser().get_doctest(item.__doc__, dict(names), item.__name__, None, None)
        runner.run(example)
    assert runner.summarize().failed == 0 and runner.summarize().attempted > 8


CLASSES = [name for name in maskwright.__all__ if isinstance(getattr(maskwright, name), type)]


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_have_docstrings(name):
    members = vars(getattr(maskwright, name)).items()
    # What is data has no docstring of its own: the class says what it is.
    said = getattr(maskwright, name).__doc__
    undocumented = [
        member
        for member, value in members
        if not member.startswith("_") and not (f"`{member}`" in said if value is None else value.__doc__)
    ]
    assert undocumented == []


PAGES = [page for page in pages.pages() if pages.blocks(page)]
#: At least so many blocks are run by the tests. At most such a share of the shell's blocks, which often install or serve, and of all others
#: that are not text, is only shown.
MIN_RUN = 140
MAX_SHOWN = {"sh": 0.6, "others": 0.08}


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """A network with a thousandth of SmolLM2's weights, which reads prompts as long as SmolLM2's; None where it is not."""
    real = SHARED / "models" / "stories260K" / "stories260K-f32.gguf"
    if not real.is_file():
        count_skipped("blocks of pages that generate", real)
        return None
    length = b"llama.context_length" + struct.pack("<I", 4)
    file = tmp_path_factory.mktemp("model") / "network.gguf"
    file.write_bytes(real.read_bytes().replace(length + struct.pack("<I", 512), length + struct.pack("<I", 8192)))
    return file


@pytest.mark.parametrize("page", PAGES)
def test_blocks(page, tmp_path, network):
    assert pages.faults(page) == []
    lacking = page_runner.run_page(page, tmp_path, network)
    if lacking:
        pytest.skip("; ".join(lacking))


def test_few_blocks_are_only_shown():
    """So that nobody gets past `test_blocks` by comments."""
    blocks = [block for page in PAGES for block in pages.blocks(page) if block.language != "text"]
    assert sum(block.state == "run" for block in blocks) >= MIN_RUN
    for kind, share in MAX_SHOWN.items():
        states = [block.state for block in blocks if (block.language == "sh") == (kind == "sh")]
        assert states.count("shown") <= share * len(states), f"{kind}: {states.count('shown')} of {len(states)} are only shown"
