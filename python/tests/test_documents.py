"""Schemas over several documents."""

import json

import maskwright
import pytest

THING = {"$id": "https://x.test/thing", "definitions": {"one": {"const": 1}}}


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_accepting()


@pytest.mark.parametrize("thing", [THING, json.dumps(THING)], ids=["dict", "text"])
@pytest.mark.parametrize("reference", ["schema-org-thing.json", "https://x.test/thing"])
def test_documents_are_found_by_name_and_by_identifier(compiler, thing, reference):
    """Many schemas name a sibling by file name, and Python had no way to give it."""
    schema = {"$id": "https://json.schemastore.org/main.json", "$ref": f"{reference}#/definitions/one"}
    grammar = compiler.compile_json_schema(schema, documents={"schema-org-thing.json": thing})
    assert accepts(grammar, b"1") and not accepts(grammar, b"2")


def test_a_document_may_be_a_boolean(compiler):
    grammar = compiler.compile_json_schema({"items": {"$ref": "no.json"}, "type": "array"}, documents={"no.json": False})
    assert accepts(grammar, b"[]") and not accepts(grammar, b"[1")


def test_a_document_that_was_not_given(compiler):
    with pytest.raises(maskwright.SchemaError, match="leads out of the document") as error:
        compiler.compile_json_schema({"properties": {"a": {"$ref": "thing.json#/x"}}})
    assert (error.value.pointer, error.value.keyword) == ("/properties/a", "$ref")
    assert 'documents={"thing.json": ...}' in error.value.hint and "--schema-dir" in error.value.hint
    assert error.value.hint in str(error.value)


def test_all_documents_that_were_not_given(compiler):
    schema = {"properties": {"a": {"$ref": "a.json"}, "b": {"$ref": "b.json#/x"}}, "items": {"$ref": "a.json#/y"}}
    with pytest.raises(maskwright.SchemaError, match=r'"b\.json" \(/properties/b\)') as error:
        compiler.compile_json_schema(schema)
    assert error.value.pointer == "/properties/a" and str(error.value).count("a.json") == 2
    assert 'documents={"a.json": ..., "b.json": ...}, or strict=False' in error.value.hint
    assert "--lenient" in error.value.hint
    compiler.compile_json_schema(schema, strict=False)


def test_a_document_that_is_not_json(compiler):
    with pytest.raises(maskwright.SchemaError, match="thing.json:1:2") as error:
        compiler.compile_json_schema({"$ref": "thing.json"}, documents={"thing.json": "{"})
    assert error.value.path is None
    for wrong in ({1: {}}, {"a": object()}, []):
        with pytest.raises(TypeError):
            compiler.compile_json_schema({}, documents=wrong)


def test_places_in_a_document_are_those_of_the_text_that_was_given(compiler, tmp_path):
    """They were judged by whether the schema was text, not the document."""
    for schema in ({"$ref": "thing.json"}, '{"$ref": "thing.json"}'):
        with pytest.raises(maskwright.SchemaError) as error:
            compiler.compile_json_schema(schema, documents={"thing.json": "{"})
        assert (error.value.line, error.value.column) == (1, 2)
        with pytest.raises(maskwright.SchemaError, match="repeated") as error:
            compiler.compile_json_schema(schema, documents={"thing.json": {1: 1, "1": 1}})
        assert (error.value.line, error.value.column) == (None, None)
    (tmp_path / "thing.json").write_text("{")
    with pytest.raises(maskwright.SchemaError) as error:
        compiler.compile_json_schema({}, documents={"thing.json": tmp_path / "thing.json"})
    assert (error.value.path, error.value.line) == (str(tmp_path / "thing.json"), 1)


def test_a_file_that_is_not_utf_8(compiler, tmp_path):
    path = tmp_path / "schema.json"
    path.write_bytes(b"\xff")
    with pytest.raises(maskwright.SchemaError, match="not UTF-8") as error:
        compiler.compile_json_schema(path)
    assert error.value.path == str(path)


def test_a_document_that_changes_the_dict_it_is_in(compiler, tmp_path):
    (tmp_path / "one.json").write_text('{"const": 1}')
    documents = {}

    class Path:
        def __fspath__(self):
            documents["c.json"] = True
            return str(tmp_path / "one.json")

    documents |= {"a.json": Path(), "b.json": Path()}
    grammar = compiler.compile_json_schema({"$ref": "b.json"}, documents=documents)
    assert accepts(grammar, b"1") and not accepts(grammar, b"2")


def test_a_schema_in_a_file_finds_its_siblings(compiler, tmp_path):
    (tmp_path / "outside.json").write_text("true")
    folder = tmp_path / "schemas"
    folder.mkdir()
    (folder / "main.json").write_text('{"$ref": "two.json"}')
    (folder / "two.json").write_text('{"const": 2}')
    grammar = compiler.compile_json_schema(folder / "main.json")
    assert accepts(grammar, b"2") and not accepts(grammar, b"1")
    (folder / "main.json").write_text('{"$ref": "../outside.json"}')
    with pytest.raises(maskwright.SchemaError, match="leads out of the document") as error:
        compiler.compile_json_schema(folder / "main.json")
    assert error.value.path == str(folder / "main.json")
    (folder / "main.json").write_text('{"$ref": "two.json",\n}')
    with pytest.raises(maskwright.SchemaError) as error:
        compiler.compile_json_schema(folder / "main.json")
    assert (error.value.path, error.value.line, error.value.column) == (str(folder / "main.json"), 2, 1)
    with pytest.raises(FileNotFoundError):
        compiler.compile_json_schema(folder / "no-such.json")
