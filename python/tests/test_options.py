"""What an operator sets for a server by environment variables, and what becomes of specs that cannot be compiled."""

import json

import maskwright
import pytest
from maskwright.integrations._serving import options as settings
from maskwright.integrations._serving import specs
from maskwright.integrations._serving.options import GrammarOptions, Options
from maskwright.integrations._serving.specs import Grammars, Spec


def test_nothing_set_means_the_defaults():
    assert settings.read({}) == Options()
    # A compose file sets variables to nothing.
    assert settings.read({"MASKWRIGHT_THREADS": "", "MASKWRIGHT_NUMBERS": " "}) == Options()


def test_each_variable_sets_its_option():
    environment = {
        "MASKWRIGHT_MASK_WORK": "none",
        "MASKWRIGHT_COMPILE_WORK": "5000",
        "MASKWRIGHT_COMPILE_BYTES": "6000",
        "MASKWRIGHT_LONG_COMPILATIONS": "2",
        "MASKWRIGHT_GRAMMARS": "7",
        "MASKWRIGHT_LOG_SCHEMAS": "1",
        "MASKWRIGHT_THREADS": "3",
        "MASKWRIGHT_DRAFTING_REQUESTS": "0",
        "MASKWRIGHT_LIMIT": "off",
        "MASKWRIGHT_SPELLING": "canonical",
        "MASKWRIGHT_PROPERTY_ORDER": "any",
        "MASKWRIGHT_WHITESPACE": "compact",
        "MASKWRIGHT_NUMBERS": "any",
        "MASKWRIGHT_UNENFORCED": "refuse",
        "MASKWRIGHT_ON_TOOL_ERROR": "leave_out",
    }
    assert settings.read(environment) == Options(
        None, 5000, 6000, 2, 7, True, 3, 0, False, "canonical", GrammarOptions("any", "compact", "any", "refuse", "leave_out")
    )
    assert settings.read({"MASKWRIGHT_MASK_WORK": "0"}).mask_work == 0


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("MASKWRIGHT_MASK_WORK", "-1", "a whole number of at least 0, or none"),
        ("MASKWRIGHT_MASK_WORK", "1e6", "a whole number of at least 0, or none"),
        ("MASKWRIGHT_COMPILE_WORK", "inf", "a whole number of at least 1"),
        ("MASKWRIGHT_COMPILE_BYTES", "0", "a whole number of at least 1"),
        ("MASKWRIGHT_GRAMMARS", "0", "a whole number of at least 1"),
        ("MASKWRIGHT_THREADS", "none", "a whole number of at least 1"),
        ("MASKWRIGHT_LIMIT", "2", "1 or 0"),
        ("MASKWRIGHT_PROPERTY_ORDER", "Any", "one of schema, any"),
        ("MASKWRIGHT_UNENFORCED", "raise", "one of log, refuse"),
    ],
)
def test_a_wrong_value_is_named_with_its_variable(variable, value, expected):
    with pytest.raises(ValueError, match=f"^{variable} is '{value}', expected {expected}$"):
        settings.read({variable: value})


def test_a_variable_that_is_gone_names_what_replaces_it():
    with pytest.raises(ValueError, match="^MASKWRIGHT_COMPILE_SECONDS is no more: .*MASKWRIGHT_COMPILE_WORK"):
        settings.read({"MASKWRIGHT_COMPILE_SECONDS": "5"})


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, Options(threads=3)),
        ({"kv_transfer_params": {}, "thinking_budget": 3}, Options(threads=3)),
        ({"maskwright_limit": False}, Options(threads=3, has_limit=False)),
        ({"maskwright_limit": 0, "maskwright_spelling": "canonical"}, Options(threads=3, has_limit=False, spelling="canonical")),
        ({"maskwright_unenforced": " refuse "}, Options(threads=3, grammar=GrammarOptions(unenforced="refuse"))),
    ],
)
def test_a_request_changes_its_own_options(given, expected):
    assert Options(threads=3).for_request(given) == expected


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"maskwright_numbers": None}, "maskwright_numbers is None, expected one of plain, any"),
        ({"maskwright_limit": "maybe"}, "maskwright_limit is 'maybe', expected 1 or 0"),
        # A client does not raise the server's limits.
        ({"maskwright_mask_work": "none"}, "maskwright_mask_work is no option of a request; those are maskwright_limit, maskwright_spelling"),
        ({"maskwright_white_space": "any"}, "maskwright_white_space is no option of a request"),
        ({"maskwright_whitespace": ["any"]}, "maskwright_whitespace is .'any'., expected one of flexible, compact, any"),
    ],
)
def test_a_wrong_option_of_a_request_is_named(given, message):
    with pytest.raises(ValueError, match=message):
        Options().for_request(given)


def test_what_the_operator_refuses_no_request_allows():
    server = settings.read({"MASKWRIGHT_UNENFORCED": "refuse"})
    assert server.for_request({"maskwright_unenforced": "refuse", "maskwright_numbers": "any"}).grammar.numbers == "any"
    with pytest.raises(ValueError, match="maskwright_unenforced is 'log', but this server"):
        server.for_request({"maskwright_unenforced": "log"})


def test_a_name_that_is_no_option_is_told():
    given = {"MASKWRIGHT_UNENFORCD": "refuse", "MASKWRIGHT_VLLM": "1", "MASKWRIGHT_GRAMMARS": "3", "MASKWRIGHT_QQ": "", "PATH": ""}
    assert sorted(settings.unknown(given)) == [
        "MASKWRIGHT_QQ is no option",
        "MASKWRIGHT_UNENFORCD is no option; did you mean MASKWRIGHT_UNENFORCED?",
    ]


def test_a_limit_has_the_name_that_its_operator_knows(tokenizer):
    branches = [{"if": {"required": [f"k{n}"]}, "then": {"required": [f"p{n}"]}} for n in range(200)]
    for name, value in (("MASKWRIGHT_COMPILE_WORK", "100000"), ("MASKWRIGHT_COMPILE_BYTES", "2000000")):
        server = settings.read({name: value})
        with pytest.raises(maskwright.Error) as refused:
            Grammars(specs.compiler_of(tokenizer, server), server).get(Spec("json", json.dumps({"allOf": branches})))
        said = specs.one_line(refused.value)
        assert f"the server's limit is {name}" in said and "compiler's limit" not in said


def test_options_change_what_is_compiled(tokenizer):
    schema = '{"type": "object", "properties": {"a": {"type": "number"}, "b": {}}, "required": ["a", "b"]}'
    for options, text in [
        (GrammarOptions(property_order="any"), '{"b": 1, "a": 1}'),
        (GrammarOptions(whitespace="any"), '{ \n"a":1,"b":1}'),
        (GrammarOptions(numbers="any"), '{"a": 1E+4, "b": 1}'),
    ]:
        grammars = Grammars(maskwright.Compiler(tokenizer))
        is_read = [
            maskwright.Matcher(grammars.get(Spec("json", schema, each))).accept_bytes(text.encode())
            for each in (GrammarOptions(), options)
        ]
        assert is_read == [False, True], text


def test_the_work_of_a_mask_is_bounded_as_the_options_say(tokenizer):
    for options, status in [(Options(mask_work=0), "bound"), (Options(mask_work=None), "exact")]:
        grammar = Grammars(specs.compiler_of(tokenizer, options), options).get(Spec("regex", "[a-z]+x"))
        matcher = maskwright.Matcher(grammar)
        matcher.fill_next_token_bitmask(maskwright.allocate_token_bitmask(1, tokenizer.vocab_size))
        assert matcher.mask_status == status


def test_what_is_not_enforced_is_refused_if_that_is_asked_for(tokenizer, caplog):
    schema = '{"type": "array", "items": {"type": "string", "pattern": "a"}, "minItems": 2, "uniqueItems": true}'
    grammars, refuse = Grammars(maskwright.Compiler(tokenizer)), GrammarOptions(unenforced="refuse")
    for _ in range(2):
        with pytest.raises(maskwright.SchemaError, match="^not enforced: .* at "):
            grammars.get(Spec("json", schema, refuse), "r1")
    assert grammars.get(Spec("json", '{"type": "string"}', refuse), "r2")
    # The first request that is known by name is told, once for a schema.
    for request_id in (None, "r3", "r4"):
        grammars.get(Spec("json", schema), request_id)
    assert len(caplog.records) == 1
    assert "request r3: not enforced in the json: " in caplog.text and "uniqueItems at the root: " in caplog.text


def test_what_cannot_be_compiled_is_compiled_once(tokenizer, monkeypatch):
    n_compiled = 0
    compile_spec = specs.compile_spec

    def counted(*given):
        nonlocal n_compiled
        n_compiled += 1
        return compile_spec(*given)

    monkeypatch.setattr(specs, "compile_spec", counted)
    grammars = Grammars(maskwright.Compiler(tokenizer), Options(n_kept=3))
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
    grammars = Grammars(maskwright.Compiler(tokenizer))
    compile_spec = specs.compile_spec
    monkeypatch.setattr(specs, "compile_spec", lambda *_: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(MemoryError):
        grammars.get(Spec("regex", "a"))
    monkeypatch.setattr(specs, "compile_spec", compile_spec)
    assert grammars.get(Spec("regex", "a"))
