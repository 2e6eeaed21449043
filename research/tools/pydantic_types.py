"""Arguments of tools as users of Pydantic write them: models, dataclasses, TypedDicts and functions.

`tools()` returns them as a server of MCP lists them: `{"name", "inputSchema"}`. The schemas are Pydantic's own for
validation. `functions()` returns plain functions, which `compile_tool_calls` takes as they are.
"""

# No `from __future__ import annotations`: types that are made inside of functions have to be found.
import dataclasses
import datetime
import decimal
import enum
import ipaddress
import pathlib
import re
import uuid
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union

import pydantic
from pydantic import (
    AnyUrl,
    Base64Str,
    BaseModel,
    ConfigDict,
    Field,
    HttpUrl,
    RootModel,
    StringConstraints,
    TypeAdapter,
    conint,
    conlist,
    constr,
)
from typing_extensions import NotRequired, TypedDict

Item = TypeVar("Item")


class Color(str, enum.Enum):
    """A colour."""

    RED = "red"
    GREEN = "green"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(enum.Enum):
    TEXT = "a"
    NUMBER = 1
    FRACTION = 1.5


class Address(BaseModel):
    street: str
    city: Annotated[str, Field(min_length=1, max_length=30)]
    zip_code: Annotated[str, Field(pattern=r"^\d{5}$", alias="zipCode")]


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    size: int = 1


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    name: str


class OpenTyped(BaseModel):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, int]
    name: str


class Strict(BaseModel):
    model_config = ConfigDict(strict=True, frozen=True)
    count: int
    ratio: float


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=lambda name: name.title().replace("_", ""), populate_by_name=True)
    first_name: str
    last_name: Optional[str] = None


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: Annotated[int, Field(ge=0, le=9)]


class Dog(BaseModel):
    kind: Literal["dog", "puppy"]
    good: bool = True


class Tree(BaseModel):
    value: int
    left: Optional["Tree"] = None
    right: Optional["Tree"] = None


class Folder(BaseModel):
    name: Annotated[str, Field(max_length=10)]
    entries: list[Union["Folder", "File"]] = []


class File(BaseModel):
    file: str
    size: Annotated[int, Field(ge=0)]


class Page(BaseModel, Generic[Item]):
    items: list[Item]
    total: pydantic.NonNegativeInt
    cursor: Optional[str] = None


class Names(RootModel[list[str]]):
    """A list of names."""


class Scores(RootModel[dict[str, Annotated[float, Field(ge=0, le=1)]]]):
    pass


@dataclasses.dataclass
class Point:
    x: float
    y: float
    label: str = ""


@pydantic.dataclasses.dataclass
class Checked:
    low: Annotated[int, Field(gt=0)]
    names: list[str] = dataclasses.field(default_factory=list)


class Movie(TypedDict):
    title: str
    year: NotRequired[int]


class Loose(TypedDict, total=False):
    a: int
    b: str


class Base(BaseModel):
    id: uuid.UUID


class Derived(Base):
    created: datetime.datetime
    tags: set[str] = set()


class Documented(BaseModel):
    """A model with everything that documentation can have."""

    model_config = ConfigDict(title="A documented model", json_schema_extra={"examples": [{"a": 1}]})
    a: Annotated[int, Field(title="The first", description="One\nmore line", examples=[1, 2], deprecated=True)]


Json = TypeAdapter(pydantic.JsonValue)
Small = Annotated[int, Field(ge=0, le=20)]
Short = Annotated[str, StringConstraints(min_length=1, max_length=8, strip_whitespace=True)]


def _model(**fields: Any) -> type[BaseModel]:
    """A model of these fields; a bare type is a required one, a pair has a default too."""
    whole = {key: value if isinstance(value, tuple) else (value, ...) for key, value in fields.items()}
    return pydantic.create_model("Arguments", **whole)


_MODELS: dict[str, Any] = {
    "str": _model(text=str),
    "int_float_bool": _model(i=int, f=float, b=bool),
    "optional": _model(name=Optional[str], age=(Optional[int], None)),
    "defaults": _model(a=(int, 3), b=(str, "x"), c=(list[str], []), d=(Optional[bool], None)),
    "bounds": _model(age=Annotated[int, Field(ge=0, le=150)], share=Annotated[float, Field(gt=0, lt=1)]),
    "multiple_of": _model(even=Annotated[int, Field(multiple_of=2)], cents=Annotated[float, Field(multiple_of=0.05, ge=0)]),
    "conint": _model(n=conint(gt=1, lt=10), s=constr(pattern="^a+$", max_length=4), many=conlist(int, min_length=2, max_length=3)),
    "signs": _model(a=pydantic.PositiveInt, b=pydantic.NegativeFloat, c=pydantic.NonPositiveInt),
    "lengths": _model(name=Annotated[str, Field(min_length=2, max_length=5)], short=Short),
    "pattern": _model(code=Annotated[str, Field(pattern=r"^[A-Z]{2}\d{3}$")], any_place=Annotated[str, Field(pattern=r"\d-\d")]),
    "pattern_compiled": _model(word=Annotated[str, Field(pattern=re.compile(r"^\w+( \w+)*$"))]),
    "enum": _model(color=Color, level=Level, mixed=Mixed),
    "enum_default": _model(color=(Color, Color.RED), other=(Optional[Color], None)),
    "literals": _model(mode=Literal["r", "w"], number=Literal[1, 2, 3], flag=Literal[True], mixed=Literal["a", 1, None]),
    "const": _model(kind=Literal["only"]),
    "union": _model(value=Union[int, str], other=Union[bool, list[int], None]),
    "union_of_models": _model(item=Union[Address, Closed]),
    "discriminated": _model(pet=Annotated[Union[Cat, Dog], Field(discriminator="kind")]),
    "discriminated_list": _model(pets=Annotated[list[Annotated[Union[Cat, Dog], Field(discriminator="kind")]], Field(max_length=3)]),
    "list": _model(names=list[str], matrix=list[list[float]]),
    "list_bounds": _model(few=Annotated[list[Small], Field(min_length=1, max_length=4)]),
    "set": _model(tags=set[str], few=Annotated[set[Small], Field(min_length=1, max_length=3)]),
    "frozenset": _model(colors=frozenset[Color]),
    "tuple": _model(pair=tuple[int, str], many=tuple[int, ...], none=tuple[()]),
    "dict": _model(counts=dict[str, int], nested=dict[str, list[bool]]),
    "dict_of_int_keys": _model(by_id=dict[int, str]),
    "dict_of_enum_keys": _model(prices=dict[Color, float]),
    "dict_of_literal_keys": _model(sizes=dict[Literal["s", "m", "l"], int]),
    "dict_of_pattern_keys": _model(env=dict[Annotated[str, Field(pattern="^[A-Z]+$")], str]),
    "dict_of_short_keys": _model(env=dict[Annotated[str, Field(max_length=3)], int]),
    "dict_bounds": _model(few=Annotated[dict[str, int], Field(min_length=1, max_length=2)]),
    "any": _model(value=Any, things=(list[Any], [])),
    "json_value": _model(value=pydantic.JsonValue),
    "json_text": _model(value=pydantic.Json[list[int]]),
    "object": _model(value=object, free=dict),
    "none": _model(nothing=None),
    "datetime": _model(at=datetime.datetime, day=datetime.date, hour=datetime.time),
    "timedelta": _model(wait=datetime.timedelta),
    "aware": _model(at=pydantic.AwareDatetime, past=pydantic.PastDate),
    "uuid": _model(id=uuid.UUID, four=pydantic.UUID4),
    "urls": _model(link=HttpUrl, any=AnyUrl),
    "ip": _model(four=ipaddress.IPv4Address, six=ipaddress.IPv6Address, net=ipaddress.IPv4Network),
    "ip_any": _model(address=pydantic.IPvAnyAddress),
    "path": _model(path=pathlib.Path, file=pydantic.FilePath),
    "bytes": _model(data=bytes, short=Annotated[bytes, Field(max_length=4)]),
    "base64": _model(data=Base64Str),
    "secret": _model(password=pydantic.SecretStr),
    "decimal": _model(price=decimal.Decimal, tax=Annotated[decimal.Decimal, Field(max_digits=5, decimal_places=2)]),
    "decimal_bounds": _model(share=Annotated[decimal.Decimal, Field(ge=0, le=1)]),
    "pattern_type": _model(regex=re.Pattern),
    "byte_size": _model(size=pydantic.ByteSize),
    "strict_types": _model(a=pydantic.StrictInt, b=pydantic.StrictStr, c=pydantic.StrictBool),
    "finite": _model(x=pydantic.FiniteFloat),
    "closed": Closed,
    "open": Open,
    "open_typed": OpenTyped,
    "strict": Strict,
    "camel": Camel,
    "nested": _model(home=Address, others=(list[Address], []), work=(Optional[Address], None)),
    "nested_closed": _model(inner=Closed, more=dict[str, Closed]),
    "recursive_tree": Tree,
    "recursive_folder": Folder,
    "generic": Page[Address],
    "generic_of_generic": Page[Page[int]],
    "root_list": _model(names=Names),
    "root_dict": _model(scores=Scores),
    "dataclass": _model(point=Point, points=list[Point]),
    "pydantic_dataclass": Checked,
    "plain_dataclass": Point,
    "typed_dict": Movie,
    "typed_dict_optional": Loose,
    "derived": Derived,
    "documented": Documented,
    "annotated_twice": _model(n=Annotated[int, Field(ge=0), Field(le=9)], s=Annotated[str, Field(min_length=1), Field(max_length=2)]),
    "validators": _model(n=Annotated[int, pydantic.AfterValidator(abs)], s=Annotated[str, pydantic.BeforeValidator(str)]),
    "alias": _model(where=Annotated[str, Field(alias="from")], to=Annotated[int, Field(validation_alias="until")]),
    "alias_choices": _model(x=Annotated[int, Field(validation_alias=pydantic.AliasChoices("first", "second"))]),
    "schema_extra": _model(n=Annotated[int, Field(json_schema_extra={"x-unit": "km", "widget": "slider"})]),
    "odd_names": _model(**{"größe": int, "with_": (str, "")}, other=Annotated[str, Field(alias="a b/c~d\"e")]),
    "callable_default": _model(ids=(list[int], Field(default_factory=list)), at=(datetime.datetime, Field(default_factory=datetime.datetime.now))),
    "deprecated": _model(old=(Annotated[int, Field(deprecated="use new")], 0), new=(int, 0)),
    "long_literal": _model(zone=Literal[tuple(f"zone/{n:03}" for n in range(200))]),
    "many_fields": _model(**{f"field_{n}": (Optional[int], None) for n in range(30)}),
    "union_left_to_right": _model(v=Annotated[Union[float, int, str], Field(union_mode="left_to_right")]),
    "nested_optionals": _model(grid=Optional[list[Optional[list[Optional[int]]]]]),
    "fail_fast_unique": _model(ids=Annotated[list[uuid.UUID], Field(max_length=3)]),
}


def search(query: str, limit: Annotated[int, Field(ge=1, le=50)] = 10, *, kinds: Optional[list[Color]] = None) -> str:
    """Searches."""
    return f"{query} {limit} {kinds}"


def move(point: Point, by: tuple[float, float], *, relative: bool = True) -> None:
    """Moves a point."""


def store(movie: Movie, *, where: Union[Literal["disk", "cloud"], pathlib.Path], replace: Optional[bool] = None) -> None:
    """Stores a movie."""


def send(to: Annotated[str, Field(pattern=r"^[^@\s]+@[^@\s]+$")], body: str, at: Optional[datetime.datetime] = None) -> None:
    """Sends a message."""


def plot(points: list[Point], color: Color = Color.RED, *, title: Annotated[str, Field(max_length=20)] = "") -> None:
    """Draws a line."""


def functions() -> list[Any]:
    """Functions that are tools themselves."""
    return [search, move, store, send, plot]


def tools() -> list[dict[str, Any]]:
    """The types as tools."""
    return [
        {"name": f"pydantic_{name}", "inputSchema": TypeAdapter(kind).json_schema()} for name, kind in _MODELS.items()
    ]


if __name__ == "__main__":
    import json
    import sys

    json.dump(tools(), sys.stdout, ensure_ascii=False)
