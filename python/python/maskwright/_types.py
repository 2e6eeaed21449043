"""Python types as JSON Schemas, and which `compile_*` takes which object.

Where Pydantic is installed, the schema of a type is what Pydantic says (`TypeAdapter(t).json_schema()`). Without it, and for
`typing.TypedDict`, which Pydantic refuses before Python 3.12, `_Schemas` reads what the standard library has: classes with
annotations, enumerations, unions, containers and functions. A test compares the two.

A text that fits Pydantic's schema may still fail Pydantic's validator: the schema of a Decimal allows every string. So types
are compiled from a schema that is narrower in such places, which the module `_narrowed` lists.

Pydantic is imported only when a type needs it.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import functools
import inspect
import json
import os
import pathlib
import re
import types
import typing
import uuid
from typing import TYPE_CHECKING, Any

from maskwright._maskwright import GrammarError, SchemaError

if TYPE_CHECKING:
    from maskwright._maskwright import _Schema


def schema_from(obj: _Schema) -> dict[str, Any]:
    """The JSON Schema of a type, as a dict.

    `obj`: a Pydantic model or `TypeAdapter`, a dataclass, TypedDict or Enum, `Literal[...]`, a union, `list[T]` and other
    containers, a simple type such as `int`, `Decimal` or `datetime`, or a function, whose parameters become the properties of
    an object. A JSON Schema is returned as it is: JSON text, a mapping or a bool.

    If Pydantic is installed, the schema is what Pydantic says, in its mode "validation". Without it, types of the standard
    library work.

    Raises TypeError for what is no type, and SchemaError, which names the type and the field, for a type that has no schema.

    >>> maskwright.schema_from(list[int]) == {"type": "array", "items": {"type": "integer"}}
    True
    """
    return _schema(obj, is_narrow=False)


def compiled_schema(obj: object) -> tuple[Any, str | None]:
    """What is compiled for an object, and the name of the type if it is one: a JSON Schema as it is, the narrower schema
    of a type.
    """
    if isinstance(obj, bool):
        return obj, None
    return _schema(obj, is_narrow=True), None if isinstance(obj, collections.abc.Mapping) else name_of(obj)


def compiled_with(source: object) -> tuple[str, object, dict[str, str]]:
    """The method of `Compiler` for an object, and the argument and options to give it."""
    if isinstance(source, str):
        raise TypeError(
            "a str may be JSON, a pattern, a grammar or a path: call compile_json_schema, compile_regex, compile_gbnf or "
            "compile_lark with it, compile_choice with a list, or pass pathlib.Path(...)"
        )
    if isinstance(source, re.Pattern):
        return "compile_regex", _pattern_text(source), {"dialect": "python"}
    if isinstance(source, os.PathLike):
        path = pathlib.Path(os.fsdecode(source))
        method = _BY_SUFFIX.get(path.suffix.lower())
        if method is None:
            raise GrammarError(f"{path}: the ending {path.suffix!r} says no notation, expected {', '.join(_BY_SUFFIX)}")
        return method, path, {}
    return "compile_json_schema", source, {}


_BY_SUFFIX = {".json": "compile_json_schema", ".lark": "compile_lark", ".gbnf": "compile_gbnf"}


def _pattern_text(pattern: re.Pattern[Any]) -> str:
    """The text of a pattern, with its flags in front."""
    if not isinstance(pattern.pattern, str):
        raise TypeError("expected a pattern of str, not one of bytes")
    flags = "".join(letter for letter in "aimsx" if pattern.flags & getattr(re, letter.upper()))
    return f"(?{flags}){pattern.pattern}" if flags else pattern.pattern


def choices(obj: object) -> list[str]:
    """The texts of an iterable, an Enum or a Literal."""
    if isinstance(obj, str):
        raise TypeError(f"expected an iterable of str, not one str: write [{obj!r}] for a single choice")
    if typing.get_origin(obj) is typing.Literal:
        given = [item.value if isinstance(item, enum.Enum) else item for item in typing.get_args(obj)]
    elif isinstance(obj, type) and issubclass(obj, enum.Enum):
        given = [item.value for item in obj]
    elif isinstance(obj, collections.abc.Iterable) and not isinstance(obj, type | bytes):
        given = list(obj)
    else:
        raise TypeError(f"expected an iterable of str, an Enum or a Literal, not {_shown(obj)}")
    for item in given:
        if not isinstance(item, str):
            raise TypeError(f"expected choices that are str, not {item!r} of type {type(item).__name__}")
    return given


def place(schema: Any, pointer: str, name: str) -> str:
    """The type and field at a JSON pointer: `Order.items`."""
    found = name
    keys = [key.replace("~1", "/").replace("~0", "~") for key in pointer.split("/")[1:]]
    for keyword, key in zip(keys, keys[1:], strict=False):
        if not isinstance(schema, dict | list):
            break
        if keyword == "$defs":
            found = key
        elif keyword == "properties" and isinstance(schema, dict) and isinstance(schema.get("properties"), dict):
            found += f".{key}"
        schema = schema[int(keyword)] if isinstance(schema, list) else schema.get(keyword)
    return found


def name_of(obj: object) -> str:
    """What a type is called in messages."""
    plain = getattr(obj, "__name__", None) if isinstance(obj, type) or inspect.isroutine(obj) else None
    return plain if plain and not typing.get_args(obj) else str(getattr(obj, "_type", obj))


def _schema(obj: object, *, is_narrow: bool) -> dict[str, Any]:
    if isinstance(obj, str):
        try:
            obj = json.loads(obj)
        except ValueError as error:
            raise SchemaError(f"the schema is not JSON: {error}") from None
        if not isinstance(obj, dict | bool):
            raise SchemaError(f"a schema must be an object or a boolean, but it is {_shown(obj)}")
    if isinstance(obj, bool):
        return {} if obj else {"not": {}}
    if isinstance(obj, collections.abc.Mapping):
        return dict(obj)
    hint = _hint(obj)
    if hint is not None:
        raise TypeError(f"expected a type or a JSON Schema, not {_shown(obj)}: {hint}")
    return _Schemas(is_narrow).root(obj)


def _shown(obj: object) -> str:
    text = repr(obj)
    return f"{text if len(text) <= 60 else text[:57] + '...'} ({type(obj).__name__})"


def _hint(obj: object) -> str | None:
    """What to write instead of an object that is no type; None if it may be one."""
    if isinstance(obj, list | tuple | set | frozenset):
        return "for one of several texts use compile_choice or Literal[...], for a list of values list[T]"
    if isinstance(obj, re.Pattern):
        return "Compiler.compile takes it; in a schema write {'type': 'string', 'pattern': ...}"
    if isinstance(obj, os.PathLike):
        return "Compiler.compile and compile_json_schema read files"
    if isinstance(obj, enum.Enum) or (dataclasses.is_dataclass(obj) and not isinstance(obj, type)):
        return f"pass the class {type(obj).__name__}"
    if hasattr(obj, "model_json_schema") and not isinstance(obj, type):
        return f"pass the class {type(obj).__name__}"
    if isinstance(obj, int | float | complex | bytes):
        return f"pass the class {type(obj).__name__}, or Literal[...] for one value"
    is_function = inspect.isroutine(obj) or isinstance(obj, functools.partial)
    is_typing = type(obj).__module__ in ("annotationlib", "types", "typing", "typing_extensions")
    if obj is None or isinstance(obj, type) or is_function or is_typing or hasattr(obj, "json_schema"):
        return None
    return "pass a class, a type such as list[int], or a function"


def _pydantic() -> Any:
    """The package, version 2, or None."""
    try:
        import pydantic
    except ImportError:
        return None
    return pydantic if hasattr(pydantic, "TypeAdapter") else None


#: Formats and the like are those of Pydantic.
_SIMPLE: dict[Any, dict[str, Any]] = {
    Any: {},
    object: {},
    None: {"type": "null"},
    type(None): {"type": "null"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    str: {"type": "string"},
    decimal.Decimal: {"anyOf": [{"type": "number"}, {"type": "string", "pattern": r"^-?[0-9]+(\.[0-9]+)?$"}]},
    datetime.date: {"type": "string", "format": "date"},
    datetime.datetime: {"type": "string", "format": "date-time"},
    datetime.time: {"type": "string", "format": "time"},
    datetime.timedelta: {"type": "string", "format": "duration"},
    uuid.UUID: {"type": "string", "format": "uuid"},
}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_SETS = (set, frozenset, collections.abc.Set)
_DICTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_OF_VALUES = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


class _Schemas:
    """Makes the schema of one type: from Pydantic where that can, else from the parts of the type."""

    def __init__(self, is_narrow: bool) -> None:
        self.is_narrow = is_narrow
        self.pydantic = _pydantic()
        self.defs: dict[str, Any] = {}
        #: Classes by their names in `defs`.
        self.named: dict[str, Any] = {}

    def root(self, kind: Any) -> dict[str, Any]:
        made = self.of(kind, name_of(kind))
        name = made.get("$ref", "").removeprefix("#/$defs/")
        if name in self.named and json.dumps({**made, "of": self.defs}).count(f'"#/$defs/{name}"') == 1:
            made = self.defs.pop(name)
        return {"$defs": self.defs, **made} if self.defs else made

    def of(self, kind: Any, where: str) -> dict[str, Any]:
        """The schema of `kind`, which is at `where` in the type."""
        reason: str | None = "install pydantic, which knows more types"
        if inspect.isroutine(kind) or isinstance(kind, functools.partial):
            _check_parameters(kind, where)
        if not self._is_model(kind) and hasattr(kind, "model_json_schema"):
            return self._defined(dict(kind.model_json_schema()))
        if not self._is_model(kind) and hasattr(kind, "__get_validators__") and hasattr(kind, "schema"):
            raise SchemaError(f"{where}: {name_of(kind)} is a model of Pydantic 1: pass {name_of(kind)}.schema()")
        if self.pydantic is not None:
            from pydantic_core import SchemaError as CoreError

            try:
                return self._from_pydantic(kind)
            except self.pydantic.errors.PydanticUserError as error:
                reason = str(error.message).split("\n")[0]
            except (NameError, TypeError, AttributeError, CoreError) as error:
                reason = str(error).split("\n")[0]
        made = self._from_parts(kind, where)
        if made is None:
            unmade = SchemaError(f"{where}: {name_of(kind)} has no JSON Schema: {reason}")
            unmade.hint = reason
            raise unmade
        return made

    def _is_model(self, kind: Any) -> bool:
        return isinstance(kind, type) and self.pydantic is not None and issubclass(kind, self.pydantic.BaseModel)

    def _from_pydantic(self, kind: Any) -> dict[str, Any]:
        generator = self.pydantic.json_schema.GenerateJsonSchema
        if self.is_narrow:
            from maskwright._narrowed import Narrowed as generator
        if self._is_model(kind):
            return self._defined(kind.model_json_schema(schema_generator=generator))
        adapter = kind if isinstance(kind, self.pydantic.TypeAdapter) else self.pydantic.TypeAdapter(kind)
        return self._defined(adapter.json_schema(schema_generator=generator))

    def _defined(self, made: dict[str, Any]) -> dict[str, Any]:
        """A schema whose definitions have become ours."""
        for name, definition in made.pop("$defs", {}).items():
            if self.defs.setdefault(name, definition) != definition:
                raise SchemaError(f"two types are called {name}: rename one of them")
        return made

    def _from_parts(self, kind: Any, where: str) -> dict[str, Any] | None:
        """The schema of what the standard library has; None for anything else."""
        origin, args = typing.get_origin(kind) or kind, typing.get_args(kind)
        if isinstance(origin, collections.abc.Hashable) and not args and origin in _SIMPLE:
            return dict(_SIMPLE[origin])
        if origin is typing.Annotated:
            # What a constraint means, Pydantic knows; a text is a comment.
            return self.of(args[0], where) if all(isinstance(note, str) for note in kind.__metadata__) else None
        if origin in (typing.Required, typing.NotRequired):
            return self.of(args[0], where)
        if origin is typing.Literal:
            return _values([item.value if isinstance(item, enum.Enum) else item for item in args])
        if origin is typing.Union or origin is types.UnionType:
            return {"anyOf": [self.of(arg, where) for arg in args]}
        if origin in _LISTS or origin in _SETS:
            unique = {"uniqueItems": True} if origin in _SETS else {}
            return {"type": "array", "items": self.of(args[0], where) if args else {}, **unique}
        if origin is tuple:
            if not args or args[-1] is Ellipsis:
                is_bare = kind is tuple or kind is typing.Tuple  # noqa: UP006
                if args or is_bare:
                    return {"type": "array", "items": self.of(args[0], where) if args else {}}
            items = {"prefixItems": [self.of(arg, where) for arg in args]} if args else {}
            return {"type": "array", **items, "minItems": len(args), "maxItems": len(args)}
        if origin in _DICTS and (not args or args[0] is str):
            return {"type": "object", "additionalProperties": self.of(args[1], where) if args else True}
        if isinstance(kind, typing.NewType):
            return self.of(kind.__supertype__, where)
        if inspect.isroutine(kind) or isinstance(kind, functools.partial):
            return {"additionalProperties": False, **self._object(kind, where)}
        if not isinstance(kind, type):
            return None
        if issubclass(kind, enum.Enum):
            return self._named(kind, lambda: _values([item.value for item in kind], is_enum=True))
        if typing.is_typeddict(kind):
            return self._named(kind, lambda: self._typed_dict(kind))
        if dataclasses.is_dataclass(kind):
            return self._named(kind, lambda: self._object(kind, kind.__name__))
        fields = getattr(kind, "model_fields", None)
        if isinstance(fields, dict):
            # Pydantic has refused it: the field at fault says so itself.
            for name, field in fields.items():
                self.of(field.annotation, f"{kind.__name__}.{name}")
        return None

    def _named(self, kind: type, make: typing.Callable[[], dict[str, Any] | None]) -> dict[str, Any] | None:
        """A reference to the schema of a class, which may have itself as a part."""
        name = kind.__name__
        if self.named.setdefault(name, kind) is not kind:
            raise SchemaError(f"two types are called {name}: rename one of them")
        if name not in self.defs:
            self.defs[name] = {}
            made = make()
            if made is None:
                return None
            self.defs[name] = {**made, "title": name}
        return {"$ref": f"#/$defs/{name}"}

    def _typed_dict(self, kind: Any) -> dict[str, Any]:
        hints = _hints(kind, kind.__name__)
        properties = {name: self.of(hint, f"{kind.__name__}.{name}") for name, hint in hints.items()}
        required = [name for name in hints if name in kind.__required_keys__]
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})

    def _object(self, function: Any, where: str) -> dict[str, Any]:
        """The parameters of a function, or of a dataclass's constructor, as an object."""
        parameters = _check_parameters(function, where)
        hints = _hints(getattr(function, "func", function), where)
        properties, required = {}, []
        for name, parameter in parameters.items():
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:
                raise SchemaError(f"{where}: **{name} needs pydantic: install it, or name the parameters")
            properties[name] = self.of(hints.get(name, Any), f"{where}.{name}")
            if parameter.default is inspect.Parameter.empty:
                required.append(name)
            elif type(parameter.default) in _OF_VALUES:
                properties[name] = {**properties[name], "default": parameter.default}
        return {"type": "object", "properties": properties} | ({"required": required} if required else {})


def _check_parameters(function: Any, where: str) -> dict[str, inspect.Parameter]:
    """The parameters of a function, all of which can be given by name."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        raise SchemaError(f"{where}: the function tells no parameters") from None
    for name, parameter in parameters.items():
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            raise SchemaError(f"{where}: an object has no room for *{name}: make it a parameter of type list[T]")
        if parameter.kind is inspect.Parameter.POSITIONAL_ONLY:
            raise SchemaError(f"{where}: {name} is positional only, and an object has names: remove the / after it")
    return dict(parameters)


def _hints(kind: Any, where: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise SchemaError(f"{where}: {error}: define it at the top level of the module") from None


def _values(values: list[Any], *, is_enum: bool = False) -> dict[str, Any] | None:
    """Exactly these values."""
    if not all(type(value) in _OF_VALUES for value in values):
        return None
    kinds = {_OF_VALUES[type(value)] for value in values}
    given = {"const": values[0]} if len(values) == 1 and not is_enum else {"enum": values}
    return given | ({"type": kinds.pop()} if len(kinds) == 1 else {})
