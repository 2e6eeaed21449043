"""The examples in the docstrings."""

import doctest

import maskwright
import pytest

DOCUMENTED = [maskwright, *(getattr(maskwright, name) for name in maskwright.__all__)]


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
    undocumented = [member for member, value in members if not member.startswith("_") and not value.__doc__]
    assert undocumented == []
