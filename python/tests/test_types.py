"""Types as schemas without Pydantic, and `Compiler.compile`."""

import dataclasses
import datetime
import decimal
import enum
import functools
import itertools
import pickle
import random
import re
import sys
import types
import uuid
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, NotRequired, Optional, TypedDict, Union

import maskwright
import pytest


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    ONE = 1
    TWO = "two"


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    tags: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Tree:
    point: Point
    left: Optional["Tree"] = None
    right: Optional["Tree"] = None


class Movie(TypedDict):
    title: str
    year: NotRequired[int]
    points: list[Point]


def search(query: str, limit: int = 10, *, kinds: list[Literal["a", "b"]], rest=None) -> str:
    """Searches."""
    return query


STANDARD = [
    int, float, str, bool, None, Any, datetime.date, datetime.datetime, datetime.time, datetime.timedelta, uuid.UUID,
    Color, Level, Mixed, Literal["a"], Literal["a", 1, None], Literal["a", "b"], Optional[int], Union[int, str], int | None,
    list[int], list, Sequence[str], set[int], frozenset[str], tuple[int, str], tuple[int, ...], tuple, tuple[()], dict[str, int],
    dict, Mapping[str, Color], NewType("UserId", int), Annotated[int, "how many"], Point, Tree, list[Tree], Optional[Point],
    search, functools.partial(search, limit=5), lambda x, y=2: None,
]  # fmt: skip


def plain(schema, defs=None):
    """A schema without titles and descriptions."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: plain(item) for key, item in schema.items() if key not in ("title", "description") or isinstance(item, dict)}


@pytest.fixture
def without_pydantic(monkeypatch):
    monkeypatch.setitem(sys.modules, "pydantic", None)


@pytest.mark.parametrize("kind", STANDARD, ids=str)
def test_types_of_the_standard_library_have_the_same_schema_without_pydantic(kind, monkeypatch):
    pydantic = pytest.importorskip("pydantic")
    expected = pydantic.TypeAdapter(kind).json_schema()
    monkeypatch.setitem(sys.modules, "pydantic", None)
    assert plain(maskwright.schema_from(kind)) == plain(expected)


def test_importing_the_package_does_not_import_pydantic():
    import subprocess

    program = "import sys, maskwright; maskwright.schema_from({}); assert 'pydantic' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_a_typed_dict_of_typing(compiler):
    """Pydantic refuses it before Python 3.12."""
    schema = plain(maskwright.schema_from(Movie))
    assert schema["properties"]["year"] == {"type": "integer"}
    assert schema["required"] == ["title", "points"]
    assert schema["properties"]["points"]["items"]["$ref"] == "#/$defs/Point"
    assert accepts(compiler.compile(Movie), b'{"title": "M", "points": [{"x": 1.5}]}')


def test_decimals_without_pydantic(compiler, without_pydantic):
    grammar = compiler.compile(decimal.Decimal)
    assert accepts(grammar, b'"-1.50"') and accepts(grammar, b"2.5") and not accepts(grammar, b'"x"')


def test_json_schemas_are_taken_as_they_are(compiler):
    assert maskwright.schema_from('{"type": "integer"}') == {"type": "integer"}
    assert maskwright.schema_from(types.MappingProxyType({"const": 1})) == {"const": 1}
    assert maskwright.schema_from(True) == {} and maskwright.schema_from(False) == {"not": {}}
    assert accepts(compiler.compile_json_schema(types.MappingProxyType({"const": 1})), b"1")
    with pytest.raises(maskwright.SchemaError, match="^`type` at /items: ") as error:
        compiler.compile(types.MappingProxyType({"items": {"type": "x"}}))
    assert error.value.pointer == "/items"
    for wrong in ("[1]", "{", "schema.json"):
        with pytest.raises(maskwright.SchemaError):
            maskwright.schema_from(wrong)


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text) and matcher.is_accepting()


COMPILED = [
    (Point, b'{"x": 1.5, "tags": ["a"]}', b'{"y": 1.5}'),
    (Color, b'"red"', b"red"),
    (Literal["a", 1], b'"a"', b"a"),
    (list[int], b"[1, 2]", b'["1"]'),
    (int | None, b"null", b"true"),
    (search, b'{"query": "x", "kinds": ["a"]}', b'{"query": "x"}'),
    ({"const": 1}, b"1", b"2"),
    (False, None, b"1"),
    (None, b"null", b"1"),
    (re.compile("a+b"), b"aab", b"aabb"),
    (re.compile("A.\n", re.I | re.S), b"a\n\n", b"b\n\n"),
    (re.compile(" a b # text", re.X), b"ab", b"a b"),
]


@pytest.mark.parametrize("with_pydantic", [True, False])
@pytest.mark.parametrize(("source", "fits", "fails"), COMPILED, ids=lambda value: str(value)[:30])
def test_compile_goes_by_the_type(compiler, source, fits, fails, with_pydantic, monkeypatch):
    if not with_pydantic:
        monkeypatch.setitem(sys.modules, "pydantic", None)
    if fits is None:
        with pytest.raises(maskwright.SchemaError):
            compiler.compile(source)
        return
    grammar = compiler.compile(source)
    assert accepts(grammar, fits) and not accepts(grammar, fails)
    if not isinstance(source, re.Pattern):
        assert accepts(compiler.compile_json_schema(source), fits)


def test_files_go_by_their_ending(compiler, tmp_path):
    (tmp_path / "names.lark").write_text('NAME: "a"+\n')
    files = {
        "x.json": ('{"const": 1}', b"1"),
        "x.GBNF": ('root ::= "a"', b"a"),
        "x.lark": ("%import .names.NAME\nstart: NAME\n", b"aa"),
    }
    for name, (text, fits) in files.items():
        (tmp_path / name).write_text(text)
        assert accepts(compiler.compile(tmp_path / name), fits)
    assert accepts(compiler.compile_lark(tmp_path / "x.lark"), b"a")
    with pytest.raises(maskwright.GrammarError, match=r"'.txt' says no notation, expected .json, .lark, .gbnf"):
        compiler.compile(tmp_path / "x.txt")
    with pytest.raises(FileNotFoundError):
        compiler.compile(tmp_path / "absent.lark")
    (tmp_path / "x.gbnf").write_bytes(b'root ::= "\xff"')
    with pytest.raises(maskwright.GrammarError, match="not UTF-8") as error:
        compiler.compile(tmp_path / "x.gbnf")
    assert error.value.path == str(tmp_path / "x.gbnf")
    (tmp_path / "x.gbnf").write_text("root ::= nowhere")
    with pytest.raises(maskwright.GrammarError) as error:
        compiler.compile(tmp_path / "x.gbnf")
    assert (error.value.path, error.value.line) == (str(tmp_path / "x.gbnf"), 1)


def test_what_was_compiled_from_a_type_file_or_pattern_is_pickled(compiler, tmp_path):
    (tmp_path / "x.gbnf").write_text('root ::= "a"')
    for source, fits in ((Point, b'{"x": 1}'), (re.compile("A", re.I), b"a"), (tmp_path / "x.gbnf", b"a")):
        assert accepts(pickle.loads(pickle.dumps(compiler.compile(source))), fits)


def test_compile_passes_options_on(compiler):
    cancel = maskwright.CancelToken()
    assert not accepts(compiler.compile(list[int], whitespace="compact", cancel=cancel), b"[1, 2]")
    with pytest.raises(TypeError, match="whitespace"):
        compiler.compile(re.compile("a"), whitespace="compact")
    cancel.cancel()
    with pytest.raises(maskwright.WorkCancelled):
        compiler.compile(list[int], cancel=cancel)


def test_warnings_are_about_the_line_of_the_call(compiler):
    for call in (compiler.compile, compiler.compile_json_schema):
        with pytest.warns(maskwright.SchemaWarning) as told:
            call({"propertes": {}})
        assert told[0].filename == __file__


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("yes", "call compile_json_schema, compile_regex"),
        (["yes", "no"], "use compile_choice"),
        (re.compile(b"a"), "not one of bytes"),
        (5, "pass the class int"),
        (object(), "pass a class, a type such as"),
        (Color.RED, "pass the class Color"),
        (Point(1.0), "pass the class Point"),
    ],
    ids=str,
)
def test_what_is_not_compiled(compiler, source, told):
    with pytest.raises(TypeError, match=told):
        compiler.compile(source)


class Stream:
    pass


@dataclasses.dataclass
class Order:
    number: int
    streams: list[Stream]


def starred(*texts: str):
    pass


def positional(text: str, /):
    pass


@pytest.mark.parametrize("with_pydantic", [True, False])
def test_errors_name_the_type_and_the_field(with_pydantic, monkeypatch):
    if not with_pydantic:
        monkeypatch.setitem(sys.modules, "pydantic", None)
    with pytest.raises(maskwright.SchemaError, match=r"^Order\.streams: Stream has no JSON Schema: ") as error:
        maskwright.schema_from(list[Order])
    assert with_pydantic or "install pydantic" in error.value.hint
    with pytest.raises(maskwright.SchemaError, match=r"^starred: .*\*texts: make it a parameter of type list"):
        maskwright.schema_from(starred)
    with pytest.raises(maskwright.SchemaError, match=r"^positional: text is positional only"):
        maskwright.schema_from(positional)
    with pytest.raises(TypeError, match="Compiler.compile takes it"):
        maskwright.schema_from(re.compile("a"))


class Model:
    """A class that makes its own schema, as those of other packages do."""

    @classmethod
    def model_json_schema(cls):
        return {"$ref": "#/$defs/M", "$defs": {"M": {"const": 1}}}


@dataclasses.dataclass
class Holder:
    model: Model


@pytest.mark.parametrize("with_pydantic", [True, False])
def test_classes_that_make_their_own_schema(compiler, with_pydantic, monkeypatch):
    if not with_pydantic:
        monkeypatch.setitem(sys.modules, "pydantic", None)
    assert maskwright.schema_from(Model) == Model.model_json_schema()
    assert accepts(compiler.compile(Holder), b'{"model": 1}') and not accepts(compiler.compile(Holder), b'{"model": 2}')


def test_constraints_need_pydantic(without_pydantic):
    with pytest.raises(maskwright.SchemaError, match="install pydantic"):
        maskwright.schema_from(Annotated[int, slice(3)])


@pytest.mark.parametrize(
    "choices",
    [["a", "b"], ("a", "b"), {"a", "b"}, (letter for letter in "ab"), {"a": 1, "b": 2}, Literal["a", "b"],
     enum.Enum("Choice", {"A": "a", "B": "b"})],
    ids=lambda choices: type(choices).__name__,
)  # fmt: skip
def test_choices_of_any_kind(compiler, choices):
    grammar = compiler.compile_choice(choices)
    assert accepts(grammar, b"a") and accepts(grammar, b"b") and not accepts(grammar, b"c")


@pytest.mark.parametrize(
    ("choices", "told"),
    [("yes", r"write \['yes'\]"), (5, "expected an iterable of str"), (["a", 1], "not 1 of type int"), (Level, "type int"),
     (b"ab", "expected an iterable"), (str, "expected an iterable")],
    ids=str,
)  # fmt: skip
def test_choices_that_are_none(compiler, choices, told):
    with pytest.raises(TypeError, match=told):
        compiler.compile_choice(choices)


def test_dialects(compiler):
    assert accepts(compiler.compile_regex(r"(?=\d)[0-9a-f]{2}", dialect="ecma"), b"1f")
    assert accepts(compiler.compile_regex(r"\d\Z", dialect="python"), b"1")
    with pytest.raises(maskwright.GrammarError):
        compiler.compile_regex(r"(?=\d)[0-9a-f]{2}", dialect="rust")
    with pytest.raises(ValueError, match='"rust", "ecma" or "python"'):
        compiler.compile_regex("a", dialect="perl")
    for pattern in (r"(a)\1", r"(?P<x>a)(?P=x)", r"(?>a)", r"a++", r"(a)(?(1)b|c)"):
        with pytest.raises(maskwright.GrammarError, match="not supported"):
            compiler.compile(re.compile(pattern))


#: Where Python's regular expressions differ from others'.
PATTERNS = [
    "a|ab", "a$", r"a\Z", "^a", "(?m)^a$\n^b$", "(?i)straße", "(?i)I", r"\d", r"\w+", r"\s", r"(?a)\w", r"(?a:\w)\w", "(?s).", ".",
    "(?x) a # b", r"[^\W\d]", r"\b\w+\b", r"\B-\B", "(?<=a)b", "a(?<=a)b", "(?<!a)b", "(?=a).", "(?!a).", "a{2,}", "a{,2}", "[]a]",
    r"\x41|\u0042|\101", "a??b*?", "(?P<n>a)b", "(?#text)a", "(?:a|)+", "a{", r"[\b]", r"(?i)[^a]", "$a?", "(?:^a|b)+",
]  # fmt: skip
LETTERS = ["a", "b", "A", "B", "-", "\n", "1", "é", "ß", "ẞ", "İ", "ı", "i", "٣", "²", "\x1c", "\u0301", "_", "{", "]", "\b"]


def agree(compiler, pattern, texts):
    """Whether a pattern is taken; where it is, it has to match what Python says."""
    if r"\B" in pattern:  # Python 3.14 has changed what it says of the empty text.
        texts = [text for text in texts if text]
    try:
        grammar = compiler.compile(re.compile(pattern))
    except maskwright.LimitError:
        return False
    except maskwright.GrammarError as error:
        if "not supported" in str(error):
            return False
        assert not any(re.fullmatch(pattern, text) for text in texts), f"{pattern!r}: {error}"
        return True
    for text in texts:
        expected = re.fullmatch(pattern, text) is not None
        assert accepts(grammar, text.encode()) == expected, f"{pattern!r} on {text!r}"
    return True


def test_patterns_match_what_python_says(compiler):
    texts = ["".join(text) for length in range(3) for text in itertools.product(LETTERS, repeat=length)]
    texts += ["straße", "STRAßE", "strasse", "a\nb", "ab-a"]
    assert all(agree(compiler, pattern, texts) for pattern in PATTERNS)


def test_random_patterns_match_what_python_says(compiler):
    leaves = ["a", "b", "-", ".", r"\w", "[^a]", "", "^", "$", r"\b", r"\B", r"\s", r"\Z", "(?<=a)", r"(?<!\w)", "(?m:^)", "(?m:$)"]
    texts = ["".join(text) for length in range(5) for text in itertools.product("ab-\n", repeat=length)][:200]
    chance = random.Random(7)

    def made(depth):
        if depth == 0:
            return chance.choice(leaves)
        parts = [made(depth - 1) for _ in range(chance.randint(1, 3))]
        body = chance.choice(["", "|"]).join(parts)
        return chance.choice(["(?:", "(?=", "(?!", "(?:", "(?s:"]) + body + ")" + chance.choice(["", "", "?", "*", "{1,2}", "+?"])

    n_taken = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(400):
            pattern = made(2) + made(1)
            try:
                re.compile(pattern)
            except re.error:
                continue
            n_taken += agree(compiler, pattern, texts)
    assert n_taken > 250


def test_errors_of_files_have_their_path(compiler, tmp_path):
    path = Path(tmp_path / "x.json")
    path.write_text("{")
    with pytest.raises(maskwright.SchemaError) as error:
        compiler.compile(path)
    assert (error.value.path, error.value.line) == (str(path), 1)
