"""Names that were changed before the first release go on working, with a DeprecationWarning that says the new one."""

import maskwright
import numpy as np
import pytest

TOKENIZER = maskwright.Tokenizer.from_tokens([b"a", b"b", b"</s>"], eos_token_ids=[2])
COMPILER = maskwright.Compiler(TOKENIZER)


def test_attributes():
    grammar = COMPILER.compile_regex("a+b")
    canvas, template = maskwright.Canvas(grammar, [None, 1]), maskwright.Template(grammar, [maskwright.Hole(), "b"])
    found = maskwright.Matcher(grammar).likeliest(np.zeros((4, 3)))
    (text,) = maskwright.Matcher(grammar, max_tokens=4).search(lambda texts: np.zeros((len(texts), 3)), [0], strategy="likeliest", tries=1)
    for old, new, message in [
        (lambda: canvas.status, canvas.decide(), r"Canvas.status is called Canvas.decide\(\) now"),
        (lambda: template.status, template.decide(), r"Template.status is called Template.decide\(\) now"),
        (lambda: found.ids, found.token_ids, "Likeliest.ids is called Likeliest.token_ids now"),
        (lambda: text.log_likelihood, text.log_probability, "Hypothesis.log_likelihood is called Hypothesis.log_probability now"),
        (lambda: maskwright.CancelledError, maskwright.WorkCancelled, "CancelledError is called WorkCancelled now"),
    ]:
        with pytest.warns(DeprecationWarning, match=message):
            assert old() == new
    with pytest.raises(AttributeError, match="Canceled"):
        _ = maskwright.Canceled


def test_limits():
    for given, meant in [({"compile_fuel": 10}, {"compile_work": 10}), ({"max_calls": 10}, {"advanced": {"max_calls": 10}})]:
        with pytest.warns(DeprecationWarning, match="limit"):
            compiler = maskwright.Compiler(TOKENIZER, limits=given)
        assert compiler.__reduce__()[1][1] == meant
    with pytest.raises(TypeError, match="did you mean \"compile_bytes\""):
        maskwright.Compiler(TOKENIZER, limits={"advanced": {"compile_byte": 1}})
