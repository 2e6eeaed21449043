"""Types with Pydantic: the schema is what Pydantic says, and Pydantic takes every text that the mask allows."""

import dataclasses
import datetime
import decimal
import enum
import random
import uuid
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, Literal, NamedTuple, NewType, Optional, TypeVar, Union

import maskwright
import numpy as np
import pydantic
import pytest
from pydantic import (
    AliasChoices, AwareDatetime, BaseModel, ConfigDict, Discriminator, Field, FiniteFloat, HttpUrl, Json, NaiveDatetime,
    PastDate, RootModel, SecretStr, StrictInt, StringConstraints, Tag, TypeAdapter, UUID4, computed_field, conint, conlist,
    constr, field_validator,
)  # fmt: skip
from pydantic.alias_generators import to_camel
from pydantic.dataclasses import dataclass as pydantic_dataclass
from typing_extensions import NotRequired, TypedDict

T = TypeVar("T")
UserId = NewType("UserId", int)


class Color(enum.Enum):
    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    TEXT = "x"
    NUMBER = 7
    NOTHING = None
    PAIR = (1, "a")
    DAY = datetime.date(2020, 1, 1)
    PRICE = decimal.Decimal("1.5")


class Pairs(enum.Enum):
    ONE = (1, 2)
    OTHER = (3, 4)


class Address(BaseModel):
    """Where someone lives."""

    street: str = Field(min_length=1, max_length=20, description="with the number")
    zip_code: str = Field(alias="zip", pattern=r"^[0-9]{5}(-[0-9]{4})?$")


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"name": "Ada"}]})
    name: str = Field(max_length=12)
    age: int = Field(ge=0, le=150)
    address: Optional[Address] = None
    tags: list[str] = Field(default_factory=list, max_length=3)

    @computed_field
    @property
    def is_adult(self) -> bool:
        return self.age >= 18


class Node(BaseModel):
    value: int = Field(ge=-9, le=9)
    children: list["Node"] = []


class Even(BaseModel):
    odd: Optional["Odd"] = None


class Odd(BaseModel):
    even: Optional[Even] = None


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int = Field(default=9, ge=1, le=9)


class Dog(BaseModel):
    kind: Literal["dog", "puppy"]
    barks: bool


Pet = Annotated[Union[Cat, Dog], Field(discriminator="kind")]


class Owner(BaseModel):
    pets: list[Pet] = Field(min_length=1, max_length=2)
    favourite: Optional[Pet] = None


class Page(BaseModel, Generic[T]):
    items: list[T] = Field(max_length=2)
    next_page: Optional[int] = Field(None, ge=1, le=99)


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)
    first_name: str = Field(max_length=5)
    is_here: bool = False


class Choices(BaseModel):
    color: Color = Field(validation_alias=AliasChoices("colour", "color"))


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    a: Literal[1, 2]
    b: Literal["x"] | None = None


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    a: int


class Times(BaseModel):
    day: datetime.date
    at: datetime.datetime
    clock: datetime.time
    length: datetime.timedelta


class Invoice(BaseModel):
    model_config = ConfigDict(extra="forbid")
    number: uuid.UUID
    total: decimal.Decimal = Field(max_digits=8, decimal_places=2, gt=0)
    due: datetime.date | None


class Child(Closed):
    c: float = Field(ge=0, le=1)


class Default(BaseModel):
    a: int | str = "x"
    b: Color = Color.RED
    c: datetime.date = datetime.date(2020, 1, 1)
    d: Any = None


Numbers = RootModel[list[Annotated[int, Field(multiple_of=5)]]]


@dataclasses.dataclass
class Point:
    x: float
    y: float = 0.0
    label: Optional[str] = None


@dataclasses.dataclass
class Chain:
    point: Point
    rest: Optional["Chain"] = None


@pydantic_dataclass
class Box:
    size: int = Field(gt=0, lt=100)
    inside: list["Box"] = Field(default_factory=list, max_length=1)


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Pair(NamedTuple):
    first: int
    second: str = "x"


def search(query: str, limit: int = 10, *, kinds: list[Literal["a", "b"]]) -> str:
    """Searches."""
    return query


def kind_of(value: Any) -> str:
    return "text" if isinstance(value, str) else "number"


#: The 60 types of this test, and some more.
TYPES = {
    "int": int,
    "strict int": StrictInt,
    "float": float,
    "str": str,
    "bool": bool,
    "null": None,
    "any": Any,
    "bytes": bytes,
    "secret": SecretStr,
    "date": datetime.date,
    "datetime": datetime.datetime,
    "aware datetime": AwareDatetime,
    "naive datetime": NaiveDatetime,
    "time": datetime.time,
    "timedelta": datetime.timedelta,
    "decimal": decimal.Decimal,
    "decimal with places": Annotated[decimal.Decimal, Field(decimal_places=3)],
    "decimal with digits": Annotated[decimal.Decimal, Field(max_digits=4)],
    "decimal with both": Annotated[decimal.Decimal, Field(max_digits=5, decimal_places=2)],
    "decimal with bounds": Annotated[decimal.Decimal, Field(ge=decimal.Decimal("-1.5"), lt=100)],
    "price": Annotated[decimal.Decimal, Field(max_digits=6, decimal_places=2, gt=0)],
    "uuid": uuid.UUID,
    "uuid4": UUID4,
    "path": Path,
    "url": HttpUrl,
    "positive": conint(gt=0),
    "byte": conint(ge=0, le=255),
    "multiple": conint(multiple_of=7, ge=-100, le=100),
    "fraction": Annotated[float, Field(gt=0, lt=1)],
    "finite": FiniteFloat,
    "quarter": Annotated[float, Field(multiple_of=0.25, ge=-4, le=4)],
    "short": constr(min_length=2, max_length=5),
    "pattern": Annotated[str, StringConstraints(pattern=r"^[A-Z]{2}-\d+$")],
    "some": conlist(int, min_length=1, max_length=3),
    "enum": Color,
    "int enum": Level,
    "enum of several kinds": Mixed,
    "literal": Literal["a", 1, None, True],
    "optional": Optional[int],
    "union": Union[int, str, list[bool]],
    "list": list[int],
    "nested lists": list[list[Color]],
    "tuple": tuple[int, str],
    "tuple of any length": tuple[bool, ...],
    "empty tuple": tuple[()],
    "set": set[Literal[1, 2, 3]],
    "frozenset": frozenset[int],
    "sequence": Sequence[Level],
    "dict": dict[str, int],
    "dict by enum": dict[Color, bool],
    "dict by int": dict[int, bool],
    "dict by pattern": dict[Annotated[str, StringConstraints(pattern="^x[0-9]$")], bool],
    "dict by uuid": dict[uuid.UUID, bool],
    "new type": UserId,
    "annotated": Annotated[int, Field(ge=3, le=7)],
    "model": Address,
    "nested models": Person,
    "recursive": Node,
    "mutually recursive": Even,
    "discriminated": Pet,
    "discriminated in a model": Owner,
    "discriminated by a function": Annotated[
        Union[Annotated[str, Tag("text")], Annotated[int, Tag("number")]], Discriminator(kind_of)
    ],
    "generic": Page[int],
    "generic of models": Page[Address],
    "aliases": Camel,
    "alias choices": Choices,
    "closed": Closed,
    "open": Open,
    "inherited": Child,
    "times": Times,
    "invoice": Invoice,
    "defaults": Default,
    "root model": Numbers,
    "list of models": list[Closed],
    "optional model": Optional[Closed],
    "dataclass": Point,
    "recursive dataclass": Chain,
    "pydantic dataclass": Box,
    "typed dict": Movie,
    "named tuple": Pair,
    "function": search,
    "adapter": TypeAdapter(dict[str, list[Closed]]),
}

N_TEXTS = 12


class Writer:
    """Random texts under the mask."""

    def __init__(self):
        self.tokenizer = maskwright.Tokenizer.from_tiktoken("gpt2")
        self.compiler = maskwright.Compiler(self.tokenizer)
        self.mask = maskwright.allocate_token_bitmask(1, self.tokenizer.vocab_size)
        spelled = [self.tokenizer.token_bytes(token) or b"" for token in range(self.tokenizer.vocab_size)]
        self.first_bytes = np.array([text[0] if text else 256 for text in spelled])
        self.closing = [self.tokenizer.eos_token_ids[0], *(spelled.index(text) for text in (b"]", b"}", b'"'))]

    def text(self, grammar, random, max_tokens=40):
        """A text, every first byte as likely as any other, so that words do not crowd out punctuation."""
        matcher = self._matcher(grammar, max_tokens)
        tokens = []
        while not matcher.is_terminated():
            matcher.fill_next_token_bitmask(self.mask)
            allowed = np.flatnonzero(np.unpackbits(self.mask[0].view(np.uint8), bitorder="little"))
            first_bytes = self.first_bytes[allowed]
            token = int(random.choice(allowed[first_bytes == random.choice(np.unique(first_bytes))]))
            # A text without a limit (`uniqueItems` allows none) is led to its end.
            if len(tokens) > max_tokens or (matcher.is_accepting() and random.random() < 0.2):
                token = next((token for token in self.closing if token in allowed), token)
            assert matcher.accept_token(token)
            tokens.append(token)
        return self.tokenizer.decode(tokens)

    def _matcher(self, grammar, max_tokens):
        try:
            return maskwright.Matcher(grammar, max_tokens=max_tokens)
        except maskwright.GrammarError:
            return maskwright.Matcher(grammar)
        except ValueError:
            return maskwright.Matcher(grammar, max_tokens=4 * max_tokens)


@pytest.fixture(scope="module")
def writer():
    return Writer()


def adapter_of(kind):
    return kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)


def refusals(writer, kind):
    """What Pydantic says of random texts of a type: the texts that it refuses, and for what kinds of errors."""
    grammar, adapter, chance = writer.compiler.compile(kind), adapter_of(kind), random.Random(31)
    found = {}
    for _ in range(N_TEXTS):
        text = writer.text(grammar, chance)
        try:
            adapter.validate_json(text)
        except pydantic.ValidationError as error:
            found[text] = {each["type"]: each["msg"] for each in error.errors()}
    return found


def test_there_are_sixty_types():
    assert len(TYPES) >= 60


@pytest.mark.parametrize("name", TYPES)
def test_the_schema_is_what_pydantic_says(name):
    assert maskwright.schema_from(TYPES[name]) == adapter_of(TYPES[name]).json_schema()


@pytest.mark.parametrize("name", TYPES)
def test_pydantic_takes_what_the_mask_allows(name, writer):
    assert refusals(writer, TYPES[name]) == {}


class Validated(BaseModel):
    name: str

    @field_validator("name")
    @classmethod
    def is_upper(cls, name: str) -> str:
        if name != name.upper() or len(name) < 100:
            raise ValueError("not long and in capitals")
        return name


#: Types whose validators ask for what their schemas do not say, and what that is. The guide lists the kinds.
NOT_IN_THE_SCHEMA = {
    "a validator": (Validated, "functions can do anything"),
    "the past": (PastDate, "it depends on the day"),
    "bounds of dates": (Annotated[datetime.date, Field(gt=datetime.date(9990, 1, 1))], "Pydantic's schema has no bounds for dates"),
    "JSON in a string": (Json[list[int]], "contentSchema is an annotation"),
    "white space": (
        Annotated[str, StringConstraints(strip_whitespace=True, pattern=r"^\s?$", min_length=1)],
        "the string is stripped before it is measured",
    ),
    "hashes": (set[tuple[int, Any]], "an item of any type may be a list"),
}


@pytest.mark.parametrize("name", NOT_IN_THE_SCHEMA)
@pytest.mark.filterwarnings("ignore::maskwright.SchemaWarning")
def test_what_a_schema_cannot_say(name, writer):
    """If one of these passes, the guide can promise it."""
    kind, _ = NOT_IN_THE_SCHEMA[name]
    assert maskwright.schema_from(kind) == adapter_of(kind).json_schema()
    assert any(refusals(writer, kind) for _ in range(3))


@dataclasses.dataclass
class Broken:
    items: list[int]
    stream: "Stream"


class Stream:
    pass


class Callback(BaseModel):
    call: type[int] | None = None
    handler: "Handler"


class Handler(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)
    streams: list[Stream]


def test_errors_name_the_type_and_the_field(writer):
    with pytest.raises(maskwright.SchemaError, match=r"^Broken\.stream: Stream has no JSON Schema: ") as error:
        maskwright.schema_from(Broken)
    assert "arbitrary_types_allowed" in error.value.hint
    with pytest.raises(maskwright.SchemaError, match=r"^Handler\.streams: Stream has no JSON Schema: "):
        maskwright.schema_from(Callback)

    class Code(BaseModel):
        text: str = Field(json_schema_extra={"pattern": r"(a)\1"})

    class Order(BaseModel):
        codes: list[Code]

    with pytest.raises(maskwright.SchemaError, match=r"^Code\.text: ") as error:
        writer.compiler.compile(Order)
    assert (error.value.pointer, error.value.keyword) == ("/$defs/Code/properties/text", "pattern")


def test_an_enum_without_members_has_no_value(writer):
    with pytest.raises(maskwright.SchemaError, match="no value satisfies it"):
        writer.compiler.compile(enum.Enum("Empty", []))
    assert writer.compiler.compile(list[enum.Enum("Empty", [])])


def test_a_model_of_pydantic_1():
    class Old:
        @classmethod
        def __get_validators__(cls):
            yield from ()

        @classmethod
        def schema(cls):
            return {"const": 1}

    with pytest.raises(maskwright.SchemaError, match=r"pass Old\.schema\(\)"):
        maskwright.schema_from(Old)


def test_types_of_which_all_is_known_cause_no_warning(writer):
    """`bytes` has the format "binary", of which JSON Schema knows nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for kind in TYPES.values():
            writer.compiler.compile(kind)


def test_an_instance_is_no_type():
    for instance in (Closed(a=1), Point(1.0), Color.RED):
        with pytest.raises(TypeError, match=f"pass the class {type(instance).__name__}"):
            maskwright.schema_from(instance)


def accepts(grammar, text):
    matcher = maskwright.Matcher(grammar)
    return matcher.accept_bytes(text.encode()) and matcher.is_accepting()


def is_taken(kind, text):
    try:
        adapter_of(kind).validate_json(text)
    except pydantic.ValidationError:
        return False
    return True


#: Constraints of a Decimal: digits, places, and others.
DECIMALS = [
    *((digits, places, {}) for digits, places in [(3, 3), (1, 1), (2, 3), (1, 3), (3, 2), (3, 1), (3, 0), (1, 0), (20, 2), (18, 18)]),
    *((None, places, {}) for places in (0, 1, 4)),
    (3, 3, {"ge": 0}),
    (3, 3, {"gt": decimal.Decimal("-0.5"), "lt": decimal.Decimal("0.5")}),
    (2, 2, {"multiple_of": decimal.Decimal("0.05")}),
    (3, 1, {"multiple_of": decimal.Decimal("0.25")}),
    (None, 0, {"multiple_of": decimal.Decimal("0.5")}),
    (4, None, {"le": 50}),
    (None, None, {"ge": decimal.Decimal("0.12345678901234567890"), "le": decimal.Decimal("0.98765432109876543210")}),
]


def decimal_texts(random):
    """Numbers, most of them close to what the constraints allow."""
    yield from ("0", "-0", "0.0", "-0.0", "0.00", "0.000", "1", "1.0", "0.1", "0.001", "99.9", "999", "1000", "0.999", "1e18", "0.12345678901234568")
    for _ in range(200):
        whole = random.choice(["0", str(random.randrange(10 ** random.randrange(1, 6)))])
        fraction = "".join(random.choice("0459") for _ in range(random.randrange(5)))
        yield random.choice(["", "-"]) + whole + ("." + fraction if fraction else "")


@pytest.mark.parametrize(("digits", "places", "others"), DECIMALS, ids=str)
@pytest.mark.parametrize("numbers", ["plain", "any"])
def test_decimals_are_those_of_pydantic(writer, digits, places, others, numbers):
    kind = Annotated[decimal.Decimal, Field(max_digits=digits, decimal_places=places, **others)]
    grammar, taken = writer.compiler.compile(kind, numbers=numbers), 0
    for text in set(decimal_texts(random.Random(7))):
        is_valid = is_taken(kind, text)
        assert is_valid or not accepts(grammar, text), text
        # A valid number has a text without zeros at the end.
        shortest = text.rstrip("0").rstrip(".") if "." in text else text
        if is_valid and places is not None and "e" not in shortest and shortest != "-0":
            assert accepts(grammar, shortest), text
            taken += 1
    assert taken or places is None


def test_times_are_written_as_pydantic_writes_them(writer):
    zones = [None, datetime.timezone.utc, datetime.timezone(datetime.timedelta(hours=-5, minutes=-30))]
    times = [datetime.time(10, 0, tzinfo=zone) for zone in zones] + [datetime.time(23, 59, 59, 123, tzinfo=zone) for zone in zones]
    moments = [datetime.datetime.combine(datetime.date(2024, 2, 29), time) for time in times]
    lengths = [datetime.timedelta(**parts) for parts in ({}, {"days": -1}, {"seconds": -1.5}, {"days": 400, "hours": 2, "seconds": 0.25}, {"microseconds": 1})]
    for kind, values in [(datetime.time, times), (datetime.datetime, moments), (datetime.timedelta, lengths)]:
        grammar = writer.compiler.compile(kind)
        for value in values:
            text = adapter_of(kind).dump_json(value).decode()
            assert accepts(grammar, text) and adapter_of(kind).validate_json(text) == value, text
    assert not accepts(writer.compiler.compile(NaiveDatetime), '"2024-02-29T10:00:00Z"')
    assert not accepts(writer.compiler.compile(AwareDatetime), '"2024-02-29T10:00:00"')


def test_members_of_an_enum_are_those_that_pydantic_finds(writer):
    grammar = writer.compiler.compile(Mixed)
    for text in ('"x"', "7", "null"):
        assert accepts(grammar, text) and is_taken(Mixed, text), text
    for text in ('[1, "a"]', '"2020-01-01"', '"1.5"'):
        assert not accepts(grammar, text) and not is_taken(Mixed, text), text
    with pytest.raises(maskwright.SchemaError, match="Pairs"):
        writer.compiler.compile(Pairs)
