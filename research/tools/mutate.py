"""Small changes to a value, most of which break some keyword of its schema."""

from __future__ import annotations

import copy
import random
from typing import Any

import texts
from walk import schemas

_OTHERS: list[Any] = [None, True, False, 0, 1, -1, 2.5, 3.0, 1e300, 2**63, "", "x", "0", "null", [], {}, [[]], {"a": 1}, [None]]


class Mutator:
    """Changes values in ways that this schema's own words suggest: its bounds, lengths, choices and formats."""

    def __init__(self, schema: Any, rng: random.Random) -> None:
        self._rng = rng
        self._numbers: list[Any] = []
        self._lengths: set[int] = set()
        self._names: list[str] = []
        self._values: list[Any] = []
        self._nearly: list[str] = []
        for inner in schemas(schema):
            for key, value in inner.items():
                if key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf") and type(value) in (int, float):
                    self._numbers += [value, value + 1, value - 1, value + 0.5, value - 0.001, -value, value * 2]
                elif key in ("minLength", "maxLength", "minItems", "maxItems") and type(value) is int and value < 5000:
                    self._lengths |= {value, value + 1, max(value - 1, 0)}
                elif key == "properties" and isinstance(value, dict):
                    self._names += list(value)
                elif key == "enum" and isinstance(value, list):
                    self._values += value
                elif key == "const":
                    self._values.append(value)
                elif key == "format" and isinstance(value, str):
                    self._nearly += texts.NEARLY.get(value, [])

    def changed(self, value: Any) -> Any:
        """A copy of the value with one to three changes."""
        whole = [copy.deepcopy(value)]
        for _ in range(self._rng.choice([1, 1, 1, 2, 3])):
            holder, key = self._rng.choice(list(_places(whole)))
            self._change(holder, key, top=holder is whole)
        return whole[0]

    def _change(self, holder: Any, key: Any, top: bool) -> None:
        rng, value = self._rng, holder[key]
        way = rng.random()
        if not top and way < 0.12:
            del holder[key]
        elif isinstance(holder, dict) and way < 0.16:
            holder[key + rng.choice(["s", "_", " "]) if rng.random() < 0.5 else key.swapcase()] = holder.pop(key)
        elif way < 0.26 and not top:
            holder[key] = copy.deepcopy(rng.choice(_OTHERS))
        elif self._values and way < 0.34 and not top:
            holder[key] = copy.deepcopy(rng.choice(self._values))
        elif isinstance(value, dict):
            self._change_object(value)
        elif isinstance(value, list):
            self._change_list(value)
        elif isinstance(value, str):
            holder[key] = self._other_text(value)
        elif isinstance(value, bool) or value is None:
            holder[key] = rng.choice([not value, str(value).lower(), 1])
        else:
            holder[key] = self._other_number(value)

    def _change_object(self, value: dict[str, Any]) -> None:
        rng = self._rng
        if value and rng.random() < 0.4:
            del value[rng.choice(list(value))]
        elif self._names and rng.random() < 0.5:
            value[rng.choice(self._names)] = copy.deepcopy(rng.choice(_OTHERS))
        else:
            value[rng.choice(["extra", "", "a b", "é", "x-y", texts.word(rng)])] = copy.deepcopy(rng.choice(_OTHERS))

    def _change_list(self, value: list[Any]) -> None:
        rng = self._rng
        way = rng.random()
        if value and way < 0.25:
            value.pop(rng.randrange(len(value)))
        elif value and way < 0.5:
            value.append(copy.deepcopy(rng.choice(value)))
        elif value and way < 0.6:
            rng.shuffle(value)
        elif value and self._lengths and way < 0.8:
            wanted = rng.choice([length for length in self._lengths if length < 60] or [0])
            del value[wanted:]
            value += [copy.deepcopy(value[-1]) if value else None for _ in range(wanted - len(value))]
        else:
            value.append(copy.deepcopy(rng.choice(_OTHERS)))

    def _other_text(self, value: str) -> Any:
        rng = self._rng
        way = rng.random()
        if self._nearly and way < 0.3:
            return rng.choice(self._nearly)
        if self._lengths and way < 0.5:
            wanted = rng.choice(list(self._lengths))
            return (value + "x" * wanted)[:wanted]
        if way < 0.6:
            return value + rng.choice([" ", "x", "\n", "é", "0", "-", "\u0660"])
        if way < 0.7:
            return rng.choice([" ", "x", "\n", "-"]) + value
        if way < 0.8:
            return value.swapcase()
        if value and way < 0.95:
            place = rng.randrange(len(value))
            return value[:place] + rng.choice(["", "z", "9", " ", ".", "ß"]) + value[place + 1 :]
        return texts.word(rng)

    def _other_number(self, value: Any) -> Any:
        rng = self._rng
        if self._numbers and rng.random() < 0.6:
            return rng.choice(self._numbers)
        return rng.choice([value + 1, value - 1, -value, value + 0.5, float(value) if abs(value) < 1e300 else 0, str(value), 10**20, 1e-7, 0])


def _places(holder: Any, depth: int = 0) -> Any:
    """All places in a value, as a holder and its key."""
    if isinstance(holder, dict):
        pairs = list(holder.items())
    elif isinstance(holder, list):
        pairs = list(enumerate(holder))
    else:
        return
    for key, value in pairs:
        yield holder, key
        if depth < 20:
            yield from _places(value, depth + 1)
