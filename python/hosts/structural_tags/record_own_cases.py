"""A pytest plugin that records what xgrammar's own tests say of structural tags.

`own_cases.py` runs xgrammar's tests with it, in a process of their own. A test makes a grammar of a structural tag and
asks whether it accepts a text. Both functions are wrapped here, before the tests import them: the first remembers the tag
of its grammar, the second writes tag, text and answer. Answers of tests that fail are dropped, as nobody expects them.
"""

import json

import pytest
import xgrammar
import xgrammar.testing
from xgrammar.grammar import _get_structural_tag_str_from_args

make_grammar = xgrammar.Grammar.from_structural_tag
is_accepted = xgrammar.testing._is_grammar_accept_string
#: Tag, text and answer of the test that runs.
recorded = []


def make_and_remember(*arguments, **named):
    grammar = make_grammar(*arguments, **named)
    grammar.recorded_tag = _get_structural_tag_str_from_args(arguments, named)
    return grammar


def answer_and_record(grammar, text, **options):
    answer = is_accepted(grammar, text, **options)
    tag = getattr(grammar, "recorded_tag", None)
    # Without `require_termination`, the question is whether the text is the beginning of one.
    if tag is not None and options.get("require_termination", True):
        recorded.append((tag, text, answer))
    return answer


def pytest_addoption(parser):
    parser.addoption("--record-to", help="the file of the answers, one a line")


def pytest_configure(config):
    xgrammar.Grammar.from_structural_tag = staticmethod(make_and_remember)
    xgrammar.testing._is_grammar_accept_string = answer_and_record


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    recorded.clear()
    result = yield
    with open(item.config.getoption("--record-to"), "a", encoding="utf-8") as file:
        for case in recorded:
            file.write(json.dumps([item.nodeid, *case]) + "\n")
    return result
