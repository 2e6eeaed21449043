"""The version of the package."""

from importlib.metadata import version

import maskwright


def test_the_version_is_that_of_the_package():
    assert maskwright.__version__ == version("maskwright")
