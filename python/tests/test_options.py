"""What an operator sets for a server by environment variables, and what becomes of specs that cannot be compiled."""

import logging

import maskwright
import pytest
from maskwright.integrations import _options, _specs
from maskwright.integrations._options import Options
from maskwright.integrations._specs import Grammars, Spec

LOG = logging.getLogger("test.options")


def test_nothing_set_means_the_defaults():
    assert _options.read({}) == Options()
    # A compose file sets variables to nothing.
    assert _options.read({"MASKWRIGHT_THREADS": "", "MASKWRIGHT_NUMBERS": " "}) == Options()


def test_each_variable_sets_its_option():
    environment = {
        "MASKWRIGHT_MASK_WORK": "none",
        "MASKWRIGHT_COMPILE_SECONDS": "0.5",
        "MASKWRIGHT_GRAMMARS": "7",
        "MASKWRIGHT_THREADS": "3",
        "MASKWRIGHT_PROPERTY_ORDER": "any",
        "MASKWRIGHT_WHITESPACE": "compact",
        "MASKWRIGHT_NUMBERS": "any",
        "MASKWRIGHT_UNENFORCED": "refuse",
        "MASKWRIGHT_ON_TOOL_ERROR": "leave_out",
    }
    assert _options.read(environment) == Options(None, 0.5, 7, 3, "any", "compact", "any", "refuse", "leave_out")
    assert _options.read({"MASKWRIGHT_MASK_WORK": "0"}).mask_work == 0


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("MASKWRIGHT_MASK_WORK", "-1", "a whole number of at least 0, or none"),
        ("MASKWRIGHT_MASK_WORK", "1e6", "a whole number of at least 0, or none"),
        ("MASKWRIGHT_COMPILE_SECONDS", "nan", "a number of at least 0.01"),
        ("MASKWRIGHT_COMPILE_SECONDS", "inf", "a number of at least 0.01"),
        ("MASKWRIGHT_GRAMMARS", "0", "a whole number of at least 1"),
        ("MASKWRIGHT_THREADS", "none", "a whole number of at least 1"),
        ("MASKWRIGHT_PROPERTY_ORDER", "Any", "one of schema, any"),
        ("MASKWRIGHT_UNENFORCED", "raise", "one of log, refuse"),
    ],
)
def test_a_wrong_value_is_named_with_its_variable(variable, value, expected):
    with pytest.raises(ValueError, match=f"^{variable} is '{value}', expected {expected}$"):
        _options.read({variable: value})


def test_options_change_what_is_compiled(tokenizer):
    schema = '{"type": "object", "properties": {"a": {"type": "number"}, "b": {}}, "required": ["a", "b"]}'
    for options, text in [
        (Options(property_order="any"), '{"b": 1, "a": 1}'),
        (Options(whitespace="any"), '{ \n"a":1,"b":1}'),
        (Options(numbers="any"), '{"a": 1E+4, "b": 1}'),
    ]:
        compiler = _specs.compiler_of(tokenizer, options)
        is_read = [
            maskwright.Matcher(Grammars(compiler, LOG, each).get(Spec("json", schema))).accept_bytes(text.encode())
            for each in (Options(), options)
        ]
        assert is_read == [False, True], text
    # A request's own white space comes first.
    compact = Grammars(compiler, LOG, Options(whitespace="any")).get(Spec("json", schema, "compact"))
    assert not maskwright.Matcher(compact).accept_bytes(b'{ "a"')


def test_the_work_of_a_mask_is_bounded_as_the_options_say(tokenizer):
    for options, status in [(Options(mask_work=0), "bound"), (Options(mask_work=None), "exact")]:
        grammar = Grammars(_specs.compiler_of(tokenizer, options), LOG, options).get(Spec("regex", "[a-z]+x"))
        matcher = maskwright.Matcher(grammar)
        matcher.fill_next_token_bitmask(maskwright.allocate_token_bitmask(1, tokenizer.vocab_size))
        assert matcher.mask_status == status


def test_what_is_not_enforced_is_refused_if_that_is_asked_for(tokenizer, caplog):
    schema = '{"type": "array", "items": {"type": "string", "pattern": "a"}, "minItems": 2, "uniqueItems": true}'
    refusing = Grammars(maskwright.Compiler(tokenizer), LOG, Options(unenforced="refuse"))
    for _ in range(2):
        with pytest.raises(maskwright.SchemaError, match="^not enforced: .* at "):
            refusing.get(Spec("json", schema))
    assert refusing.get(Spec("json", '{"type": "string"}'))
    assert "not enforced" not in caplog.text
    Grammars(maskwright.Compiler(tokenizer), LOG).get(Spec("json", schema))
    assert "not enforced in the json" in caplog.text


def test_what_cannot_be_compiled_is_compiled_once(tokenizer, monkeypatch):
    n_compiled = 0
    compile_spec = _specs.compile_spec

    def counted(*given):
        nonlocal n_compiled
        n_compiled += 1
        return compile_spec(*given)

    monkeypatch.setattr(_specs, "compile_spec", counted)
    grammars = Grammars(maskwright.Compiler(tokenizer), LOG, Options(n_kept=3))
    errors = []
    for _ in range(5):
        with pytest.raises(maskwright.Error) as caught:
            grammars.get(Spec("regex", "("))
        errors.append(str(caught.value))
    assert n_compiled == 1 and len(set(errors)) == 1
    depth, frame = 0, caught.value.__traceback__
    while frame is not None:
        depth, frame = depth + 1, frame.tb_next
    assert depth < 5, "the error keeps the frames of all who asked"
    for n in range(3):
        grammars.get(Spec("regex", "a" * n))
    with pytest.raises(maskwright.Error):
        grammars.get(Spec("regex", "("))
    assert n_compiled == 5, "it was dropped as the one used longest ago"


def test_what_is_no_fault_of_the_spec_is_not_kept(tokenizer, monkeypatch):
    grammars = Grammars(maskwright.Compiler(tokenizer), LOG)
    compile_spec = _specs.compile_spec
    monkeypatch.setattr(_specs, "compile_spec", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        grammars.get(Spec("regex", "a"))
    monkeypatch.setattr(_specs, "compile_spec", compile_spec)
    assert grammars.get(Spec("regex", "a"))
