"""Bad input: the right exception, and a message with the place."""

import json
import re

import maskwright
import pytest


def test_exceptions_are_value_errors():
    names = ["GrammarError", "SchemaError", "TokenizerError", "LimitError"]
    assert all(issubclass(getattr(maskwright, name), ValueError) for name in names)
    assert issubclass(maskwright.WorkCancelled, RuntimeError)
    assert maskwright.GrammarError.__module__ == "maskwright"


def test_every_name_is_there():
    for name in maskwright.__all__:
        assert getattr(maskwright, name).__doc__, f"{name} has no docstring"


@pytest.mark.parametrize("pattern", ["(ab", "a{2", "[z-a]", "a**b(", "\\p{Nonsense}"])
def test_broken_regex(compiler, pattern):
    with pytest.raises(maskwright.GrammarError) as error:
        compiler.compile_regex(pattern)
    assert pattern in str(error.value), "the message has a source frame"


def test_broken_gbnf(compiler):
    with pytest.raises(maskwright.GrammarError) as error:
        compiler.compile_gbnf('root ::= "a" item\nitem ::= [0-9')
    assert "2" in str(error.value) and "item ::= [0-9" in str(error.value)
    with pytest.raises(maskwright.GrammarError, match="nowhere"):
        compiler.compile_gbnf('root ::= "a" nowhere')
    with pytest.raises(maskwright.GrammarError):
        compiler.compile_gbnf('root ::= "a" root')


def test_no_choice(compiler):
    with pytest.raises(maskwright.GrammarError):
        compiler.compile_choice([])
    with pytest.raises(TypeError):
        compiler.compile_choice("yes")


def test_broken_schema(compiler):
    with pytest.raises(maskwright.SchemaError):
        compiler.compile_json_schema('{"type": "object"')
    with pytest.raises(maskwright.SchemaError, match="/properties/a"):
        compiler.compile_json_schema({"properties": {"a": {"type": "nonsense"}}})
    with pytest.raises(maskwright.SchemaError, match="/properties/b"):
        compiler.compile_json_schema({"properties": {"b": {"$ref": "#/$defs/nowhere"}}})
    with pytest.raises(ValueError):
        compiler.compile_json_schema({"type": "integer", "minimum": 3, "maximum": 2})
    with pytest.raises(TypeError):
        compiler.compile_json_schema({"const": {1, 2}})


def test_options_are_checked(compiler, tokenizer):
    for wrong in ({"property_order": "x"}, {"whitespace": "none"}, {"numbers": "all"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            compiler.compile_json_schema({}, **wrong)
    with pytest.raises(TypeError):
        compiler.compile_json_schema({}, "schema")
    with pytest.raises(ValueError):
        maskwright.Compiler(tokenizer, threads=0)
    with pytest.raises(TypeError, match="no limit is named \"fuel\""):
        maskwright.Compiler(tokenizer, limits={"fuel": 1})


def test_limits(tokenizer):
    compiler = maskwright.Compiler(tokenizer, limits={"compile_work": 10})
    with pytest.raises(maskwright.LimitError, match="10") as raised:
        compiler.compile_json_schema({"enum": list(range(100))})
    assert "Help: say the same with fewer branches" in str(raised.value)
    # The limits that a message gives can be given, and raising them helps.
    grammars = {
        "compile_regex": "(a|b)*a(a|b){300}",
        "compile_gbnf": "root ::= " + " | ".join(f'"word {i}" [a-z]+' for i in range(300)),
        "compile_lark": "start: " + " | ".join(f'"word {i}" /[a-z]+/' for i in range(300)),
        "compile_json_schema": {"enum": list(range(300))},
        "compile_structural_tag": {"format": {"type": "const_string", "value": "abc" * 300}},
    }
    for limit in ({"compile_work": 10}, {"advanced": {"compile_bytes": 1}}):
        for compile_it, grammar in grammars.items():
            limits = limit
            for _ in range(12):
                compiler = maskwright.Compiler(tokenizer, limits=limits)
                try:
                    getattr(compiler, compile_it)(grammar)
                    break
                except maskwright.LimitError as error:
                    [given] = re.findall(r"raise it with Compiler\(tokenizer, limits=(\{.*\})\)$", str(error))
                    assert error.hint.endswith(f"limits={given})")
                    assert list(json.loads(given)) == list(limit)
                    limits = json.loads(given)
            else:
                raise AssertionError(f"{compile_it}: raising {limit} does not help")
            assert limits != limit, compile_it


def test_report(compiler):
    items = {"type": "string", "pattern": "a", "x-hint": 1}
    schema = {"type": "array", "items": items, "minItems": 2, "uniqueItems": True}
    with pytest.raises(maskwright.SchemaError, match="uniqueItems"):
        compiler.compile_json_schema(schema)
    grammar = compiler.compile_json_schema(schema, strict=False)
    found = {(entry.pointer, entry.keyword): entry for entry in grammar.report}
    assert found["", "uniqueItems"].status == "not enforced" and found["", "uniqueItems"].reason
    assert found["", "items"].status == "enforced" and found["", "items"].reason is None
    assert found["/items", "x-hint"].status == "annotation"
    assert "uniqueItems" in repr(found["", "uniqueItems"])
    assert found["", "items"] in grammar.report and len(set(grammar.report)) == len(grammar.report)
    assert compiler.compile_regex("a").report == []


def test_order_of_a_dict_is_kept(compiler):
    grammar = compiler.compile_json_schema({"properties": {"b": {"const": 1}, "a": {"const": 2}}, "required": ["a", "b"], "type": "object", "additionalProperties": False})
    assert maskwright.Matcher(grammar).accept_bytes(b'{"b": 1, "a": 2}')
    assert not maskwright.Matcher(grammar).accept_bytes(b'{"a"')


def test_whitespace(compiler):
    schema = json.dumps({"type": "array", "items": {"const": 1}})
    texts = {"compact": b"[1,1]", "flexible": b"[1, 1]", "any": b"[ 1 ,1\t]"}
    for whitespace, text in texts.items():
        grammar = compiler.compile_json_schema(schema, whitespace=whitespace)
        accepts = {name: maskwright.Matcher(grammar).accept_bytes(text) for name, text in texts.items()}
        assert accepts[whitespace]
        assert whitespace != "compact" or not (accepts["flexible"] or accepts["any"])
        assert whitespace != "flexible" or not accepts["any"]


def test_brackets_are_padded_on_both_sides_or_neither(compiler):
    grammar = compiler.compile_json_schema({"type": "object", "additionalProperties": {"type": "integer"}})

    def accepts(text):
        matcher = maskwright.Matcher(grammar)
        return matcher.accept_bytes(text) and matcher.is_accepting()

    value = {"a": 1, "b": 2}
    written = [json.dumps(value, indent=indent) for indent in (None, 0, 1, 2, 4, "\t")]
    written += [json.dumps(value, separators=(",", ":")), "{}", "{ }", '{ "a": 1 }', '{ "a": 1\n}']
    for text in written:
        assert accepts(text.encode()), text
    for text in ('{ "a": 1}', '{"a": 1 }', '{\n"a": 1}', '{"a" : 1}', '{"a":\n1}', '{"a": 1 ,"b": 2}', '{\n \t"a": 1\n}'):
        assert not accepts(text.encode()), text


def test_max_whitespace(compiler):
    schema = {"type": "array", "items": {"const": 1}}
    tag = {"format": {"type": "json_schema", "json_schema": schema}}
    lark = f"start: %json {json.dumps(schema)}"
    compiled = {
        "schema": lambda **options: compiler.compile_json_schema(schema, **options),
        "tag": lambda **options: compiler.compile_structural_tag(tag, **options),
        "lark": lambda **options: compiler.compile_lark(lark, lexer="dynamic_complete", **options),
    }
    for name, compile in compiled.items():
        for options in ({"max_whitespace": 2}, {"max_whitespace": 2, "whitespace": "any"}):
            grammar = compile(**options)
            for text, is_allowed in ((b"[1,1]", True), (b"[ \t1 ,\r\n1]", True), (b"[   1]", False), (b"[1   ]", False), (b" [1]", False)):
                assert maskwright.Matcher(grammar).accept_bytes(text) == is_allowed, (name, options, text)
        assert not maskwright.Matcher(compile(max_whitespace=0)).accept_bytes(b"[ ")
        assert maskwright.Matcher(compile(max_whitespace=2**64 - 1)).accept_bytes(b"[" + b" " * 300 + b"1]")
        for whitespace in ("flexible", "compact"):
            with pytest.raises(ValueError, match=f"max_whitespace is 3 and whitespace is \"{whitespace}\""):
                compile(whitespace=whitespace, max_whitespace=3)
        with pytest.raises(ValueError, match="of at least 0"):
            compile(max_whitespace=-1)
        with pytest.raises(ValueError, match='whitespace is "none"'):
            compile(whitespace="none", max_whitespace=1)
        with pytest.raises(TypeError):
            compile(max_whitespace="1")
    assert not maskwright.Matcher(compiler.compile(list[int], max_whitespace=1)).accept_bytes(b"[1,  2")


def test_numbers(compiler):
    schema = {"type": "integer"}
    tag = {"type": "structural_tag", "format": {"type": "json_schema", "json_schema": schema}}
    lark = 'start: %json {"type": "integer"}'
    compiled = {
        "schema": lambda **options: compiler.compile_json_schema(schema, **options),
        "tag": lambda **options: compiler.compile_structural_tag(tag, **options),
        "lark": lambda **options: compiler.compile_lark(lark, lexer="dynamic_complete", **options),
        "type": lambda **options: compiler.compile(int, **options),
    }
    for name, compile in compiled.items():
        for options, expected in (({}, False), ({"numbers": "plain"}, False), ({"numbers": "any"}, True)):
            grammar = compile(**options)
            assert maskwright.Matcher(grammar).accept_bytes(b"5.0") is expected, (name, options)
            assert maskwright.Matcher(grammar).accept_bytes(b"-0") is expected, (name, options)
            assert maskwright.Matcher(grammar).accept_bytes(b"-12"), (name, options)


def test_arguments_of_the_wrong_type(tokenizer, compiler):
    with pytest.raises(TypeError):
        maskwright.Compiler("tokenizer.json")
    with pytest.raises(TypeError):
        maskwright.Matcher(compiler)
    with pytest.raises(TypeError):
        compiler.compile_regex(b"a")
    matcher = maskwright.Matcher(compiler.compile_regex("a+"))
    for wrong in (None, "a", 1.5):
        with pytest.raises(TypeError):
            matcher.accept_token(wrong)
    assert matcher.accept_token(ord("a"))


ATTRIBUTES = ("pointer", "keyword", "line", "column", "path", "hint")


def raised(call, *arguments, **options):
    """The package's error that a call raises."""
    with pytest.raises(maskwright.Error) as error:
        call(*arguments, **options)
    return error.value


def attributes(error):
    return tuple(getattr(error, name) for name in ATTRIBUTES)


def test_errors_have_their_places_as_attributes(compiler, tmp_path):
    """A server that answers 400 had to parse pictures of errors."""
    for kind in (maskwright.GrammarError, maskwright.SchemaError, maskwright.TokenizerError, maskwright.LimitError):
        assert attributes(kind("x")) == (None,) * 6
    regex = raised(compiler.compile_regex, "a(b")
    assert attributes(regex) == (None, None, 1, 2, None, None)
    gbnf = raised(compiler.compile_gbnf, 'root ::= item\nitem ::= "a" other\n')
    assert attributes(gbnf) == (None, None, 2, 14, None, None)
    lark = raised(compiler.compile_lark, 'start: itm\nitem: "x"\n')
    assert attributes(lark) == (None, None, 1, 8, None, "did you mean `item`?")
    (tmp_path / "names.lark").write_text("NAME: /[/\n")
    imported = raised(compiler.compile_lark, "%import names.NAME\nstart: NAME\n", import_paths=[tmp_path])
    assert (imported.path, imported.line) == (str(tmp_path / "names.lark"), 1)
    keyword = raised(compiler.compile_json_schema, {"properties": {"a/b": {"type": "text"}}})
    assert attributes(keyword) == ("/properties/a~1b", "type", None, None, None, 'did you mean "string"?')
    assert attributes(raised(compiler.compile_choice, [])) == (None,) * 6
    missing = raised(maskwright.Tokenizer.from_file, tmp_path / "tokenizer.json")
    assert attributes(missing) == (None, None, None, None, str(tmp_path / "tokenizer.json"), None)


def test_files_that_are_missing_are_named(compiler, tmp_path):
    missing = tmp_path / "none.json"
    for call in (compiler.compile, compiler.compile_json_schema, compiler.load_rows):
        with pytest.raises(FileNotFoundError, match="none.json") as caught:
            call(missing)
        assert str(caught.value.filename) == str(missing)
    with pytest.raises(FileNotFoundError, match="rows"):
        compiler.save_rows(tmp_path / "nowhere" / "rows")


def test_no_message_begins_with_error(compiler):
    """Those of patterns, GBNF and Lark did."""
    for error in (
        raised(compiler.compile_regex, "a("),
        raised(compiler.compile_gbnf, "root ::= x"),
        raised(compiler.compile_lark, "start: x"),
        raised(compiler.compile_json_schema, "{"),
        raised(compiler.compile_json_schema, {"type": 1}),
    ):
        assert not str(error).startswith("Error"), str(error)


def test_a_pattern_in_a_schema_has_both_places(compiler):
    """The column was told, but not of what."""
    error = raised(compiler.compile_json_schema, {"items": {"type": "string", "pattern": "(a)\\1"}})
    assert (error.pointer, error.keyword, error.line, error.column) == ("/items", "pattern", 1, 4)
    assert "(a)\\1" in str(error) and "/items" in str(error)


def test_schema_text_that_is_not_json_is_shown(compiler):
    error = raised(compiler.compile_json_schema, '{\n  "type": "object",\n}')
    assert (error.pointer, error.line, error.column) == (None, 3, 1)
    assert "trailing comma at line 3 column 1" in str(error) and " 3 | }" in str(error) and error.hint
    path = raised(compiler.compile_json_schema, "schemas/person.json")
    assert "pathlib" in path.hint and path.hint in str(path)
    # A dict has no lines.
    error = raised(compiler.compile_json_schema, {1: 1, "1": 1})
    assert "repeated" in str(error) and (error.line, error.column) == (None, None)


def test_contradictory_bounds_tell_their_values(compiler):
    error = raised(compiler.compile_json_schema, {"type": "integer", "minimum": 10, "maximum": 5})
    assert error.pointer == "" and "`minimum` 10" in str(error) and "`maximum` 5" in str(error)


def test_what_is_no_tokenizer_has_a_hint(tmp_path):
    """Settings were read as a tokenizer, and a folder was "Is a directory"."""
    (tmp_path / "tokenizer_config.json").write_text("{}")
    settings = raised(maskwright.Tokenizer.from_file, tmp_path / "tokenizer_config.json")
    assert "tokenizer.json beside it" in settings.hint and settings.path == str(tmp_path / "tokenizer_config.json")
    folder = raised(maskwright.Tokenizer.from_file, tmp_path)
    assert "folder" in folder.hint and folder.hint in str(folder)


def test_half_a_surrogate_pair(compiler, tokenizer):
    """It raised UnicodeEncodeError, which a server does not expect from this package."""
    half = "a\nb\ud800"
    for kind, call, *arguments in [
        (maskwright.GrammarError, compiler.compile_regex, half),
        (maskwright.GrammarError, compiler.compile_gbnf, half),
        (maskwright.GrammarError, compiler.compile_lark, half),
        (maskwright.GrammarError, compiler.compile_choice, [half]),
        (maskwright.GrammarError, compiler.compile_builtin, half),
        (maskwright.SchemaError, compiler.compile_json_schema, half),
        (maskwright.TokenizerError, tokenizer.encode, half),
        (maskwright.TokenizerError, maskwright.Tokenizer.from_tiktoken, half),
    ]:
        error = raised(call, *arguments)
        assert type(error) is kind and "surrogate" in str(error), call
        assert (error.line, error.column) == (2, 2)
    for schema in ({"const": half}, {half: 1}, '{"const": "\\ud800"}'):
        error = raised(compiler.compile_json_schema, schema)
        assert type(error) is maskwright.SchemaError and "surrogate" in str(error)
    assert type(raised(compiler.compile_json_schema, {}, documents={half: {}})) is maskwright.SchemaError
    assert type(raised(compiler.compile_json_schema, {}, whitespace=half)) is maskwright.Error
    assert type(raised(compiler.compile_lark, "start: /a/", lexer=half)) is maskwright.Error
    assert type(raised(maskwright.Tokenizer.from_file, half)) is maskwright.TokenizerError
    assert type(raised(maskwright.Compiler, tokenizer, {half: 1})) is maskwright.Error


def test_schemas_that_are_no_json_values(compiler):
    """A dict nested 10,000 deep raised RecursionError."""
    deep = {}
    for _ in range(10_000):
        deep = {"items": deep}
    circular = {}
    circular["items"] = circular
    for schema in (deep, circular, {"const": float("nan")}, "[" * 10_000 + "]" * 10_000):
        assert type(raised(compiler.compile_json_schema, schema)) is maskwright.SchemaError


def test_ids_that_are_none(compiler, tokenizer):
    """Ids beyond 64 bits raised OverflowError."""
    matcher = maskwright.Matcher(compiler.compile_regex("a+"))
    canvas = maskwright.Canvas(compiler.compile_regex("a+"), [None])
    mask = maskwright.allocate_token_bitmask(1, tokenizer.vocab_size)
    for call, *arguments in [
        (matcher.accept_token, 2**70), (matcher.accept_tokens, [2**70]), (matcher.validate_tokens, [-(2**70)]),
        (matcher.explain, 2**70), (tokenizer.token_bytes, 2**70), (tokenizer.decode, [2**70]), (tokenizer.decode, [-1]),
        (maskwright.Tokenizer.from_tokens, [b"a"], [-1]), (maskwright.Tokenizer.from_tokens, [b"a"], [2**40]),
        (canvas.set, 0, 2**70), (canvas.fill_bitmask, 0, mask, 2**70), (matcher.fill_next_token_bitmask, mask, 2**70),
        (matcher.fill_draft_tree, [2**70], [0], mask), (maskwright.fill_next_token_bitmask_batch, [matcher], mask, [2**70]),
        (matcher.rollback, 2**70), (maskwright.Compiler, tokenizer, None, -1), (maskwright.Compiler, tokenizer, {"advanced": {"max_threads": -1}}),
    ]:  # fmt: skip
        assert isinstance(raised(call, *arguments), ValueError), call
    assert "at least 0" in str(raised(maskwright.Compiler, tokenizer, None, -1))
    assert isinstance(raised(matcher.accept_token, 10**10_000), ValueError), "it has too many digits to be shown"
    # Those of 64 bits are only refused.
    assert not matcher.accept_token(-1) and not matcher.accept_token(2**40)
    assert matcher.accept_token(ord("a"))


def test_errors_can_be_pickled(compiler):
    import pickle

    error = raised(compiler.compile_json_schema, {"properties": {"a": {"type": "text"}}})
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error) and str(copy) == str(error) and attributes(copy) == attributes(error)
