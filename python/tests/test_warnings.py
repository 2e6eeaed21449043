"""What is warned about in a schema, and what the report says."""

import warnings

import maskwright
import pytest

MISSPELT = {"propertes": {}, "properties": {"e": {"type": "string", "format": "emial", "minLenght": 3}}}


def test_misspelt_keywords_are_warned_about_at_the_line_of_the_call(compiler):
    """`propertes`, `minLenght` and `emial` were accepted in silence."""
    with pytest.warns(maskwright.SchemaWarning) as told:
        compiler.compile_json_schema(MISSPELT)
    assert [str(warning.message).rsplit(": ", 1)[1] for warning in told] == [
        "did you mean `properties`?",
        'did you mean "email"?',
        "did you mean `minLength`?",
    ]
    assert "/properties/e" in str(told[2].message) and "no effect" in str(told[2].message)
    assert all(warning.filename == __file__ for warning in told)
    assert issubclass(maskwright.SchemaWarning, UserWarning)


def test_unknown_formats_are_not_checked(compiler):
    with pytest.warns(maskwright.SchemaWarning, match='"int32" at the root is not known, so it is not checked$'):
        compiler.compile_json_schema({"type": "integer", "format": "int32"})


def test_extensions_and_annotations_are_not_warned_about(compiler):
    schema = {
        "title": "t", "default": 1, "deprecated": True, "examples": [], "$comment": "c", "readOnly": True,
        "x-order": 1, "markdownDescription": "m", "example": 1, "id": "i", "divisibleBy": 2,
        "contentEncoding": "base64", "format": "email",
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        report = compiler.compile_json_schema(schema).report
    found = {entry.keyword: entry.status for entry in report}
    assert found == {
        "x-order": "annotation", "markdownDescription": "annotation", "example": "annotation",
        "id": "annotation", "divisibleBy": "annotation", "contentEncoding": "annotation", "format": "enforced",
    }  # fmt: skip


def test_warnings_may_be_errors(compiler):
    with warnings.catch_warnings():
        warnings.simplefilter("error", maskwright.SchemaWarning)
        with pytest.raises(maskwright.SchemaWarning, match="propertes"):
            compiler.compile_json_schema(MISSPELT)
    # Nothing is held or lost.
    with pytest.warns(maskwright.SchemaWarning):
        assert compiler.compile_json_schema(MISSPELT).report


def test_a_handler_of_warnings_may_compile(compiler, monkeypatch):
    """It runs with no lock held."""
    told = []

    def show(message, *rest, **more):
        told.append(str(message))
        compiler.compile_json_schema({"type": "object", "properties": {"a": {"type": "string"}}})

    with warnings.catch_warnings():
        warnings.simplefilter("always")
        monkeypatch.setattr(warnings, "showwarning", show)
        compiler.compile_json_schema(MISSPELT)
    assert len(told) == 3


def test_the_report_is_in_the_order_of_the_dict_and_has_suggestions(compiler):
    """It came in the order c, b, a."""
    properties = {name: {"type": "string", "maxLength": 3} for name in "abc"}
    schema = {"type": "object", "properties": properties, "required": ["b"], "requird": 1}
    with pytest.warns(maskwright.SchemaWarning):
        report = compiler.compile_json_schema(schema).report
    assert [(entry.pointer, entry.keyword) for entry in report] == [
        ("", "type"), ("", "properties"),
        ("/properties/a", "type"), ("/properties/a", "maxLength"),
        ("/properties/b", "type"), ("/properties/b", "maxLength"),
        ("/properties/c", "type"), ("/properties/c", "maxLength"),
        ("", "required"), ("", "requird"),
    ]  # fmt: skip
    assert [entry.suggestion for entry in report] == [None] * 9 + ["required"]
    assert report[-1].status == "annotation" and "suggestion" in repr(report[-1])
