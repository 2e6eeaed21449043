"""The code of other libraries that pages show beside ours runs as it is shown."""

import pytest
from conftest import SMOLLM2, run_page
from pages import run_by

PAGES = run_by("cargo xtask hosts peers")


@pytest.mark.parametrize("page", PAGES)
def test_pages(page, tmp_path):
    run_page(page, "cargo xtask hosts peers", tmp_path, SMOLLM2)


def test_there_are_pages():
    assert PAGES
