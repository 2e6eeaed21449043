"""The two judges: Ajv, in a process of its own, and jsonschema, with exact decimal numbers.

A verdict is True, False, or None where a judge has none: it refuses the schema, or fails at it.
"""

from __future__ import annotations

import decimal
import json
import re
import select
import signal
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import referencing

from collect import kill_group

Verdict = bool | None
#: Seconds that Ajv may take for one request, and jsonschema for one text: some patterns take forever.
AJV_SECONDS, TEXT_SECONDS = 20.0, 2.0

decimal.getcontext().prec = 1000


class Ajv:
    """Ajv, through `judge.mjs`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._process = folder, None
        self._schema: Any = None
        self._buffer = b""

    def use(self, schema: Any) -> str | None:
        """Makes this the schema to judge by; returns what is wrong with it."""
        self._schema = schema
        answer = self._ask({"schema": schema})
        if answer is None:
            return "no answer in time"
        return answer.get("error")

    def verdicts(self, texts: list[str]) -> list[Verdict]:
        """One verdict per text, by the schema in use."""
        answer = self._ask({"texts": texts})
        if answer is not None:
            return list(answer["valid"])
        if len(texts) == 1:
            return [None]
        # One of them takes forever. The new process has no schema yet.
        found = []
        for text in texts:
            self.use(self._schema)
            found += self.verdicts([text])
        return found

    def close(self) -> None:
        if self._process is not None:
            kill_group(self._process)
            self._process = None

    def _ask(self, message: Any) -> dict[str, Any] | None:
        if self._process is None:
            self._buffer = b""
            self._process = subprocess.Popen(
                ["node", "judge.mjs"],
                cwd=self._folder,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                start_new_session=True,
                bufsize=0,
            )
            if "texts" in message:
                self._ask({"schema": self._schema})
        process = self._process
        assert process is not None and process.stdin is not None and process.stdout is not None
        data = json.dumps(message).encode() + b"\n"
        while data:
            data = data[process.stdin.write(data) :]
        while b"\n" not in self._buffer:
            if not select.select([process.stdout], [], [], AJV_SECONDS)[0]:
                self.close()
                return None
            part = process.stdout.read(1 << 20)
            if not part:
                raise RuntimeError("the process of Ajv ended")
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b"\n")
        return dict(json.loads(line))

    def __del__(self) -> None:
        self.close()


class PythonJsonschema:
    """jsonschema, with numbers as they are written: `19.99` is a multiple of `0.01`."""

    def __init__(self) -> None:
        self._validator: Any = None
        signal.signal(signal.SIGALRM, _too_long)

    def use(self, schema: Any) -> str | None:
        """Makes this the schema to judge by; returns what is wrong with it."""
        self._validator = None
        schema = json.loads(json.dumps(schema), parse_float=decimal.Decimal)
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        try:
            kind.check_schema(schema, format_checker=jsonschema.FormatChecker([]))
        except jsonschema.SchemaError as error:
            return error.message[:300]
        checker = kind.TYPE_CHECKER.redefine("integer", _is_integer)
        exact = jsonschema.validators.extend(kind, type_checker=checker)
        self._validator = exact(schema, registry=referencing.Registry(), format_checker=kind.FORMAT_CHECKER)
        return None

    def verdicts(self, texts: list[str]) -> list[Verdict]:
        """One verdict per text, by the schema in use."""
        return [self._verdict(text) for text in texts]

    def _verdict(self, text: str) -> Verdict:
        if self._validator is None:
            return None
        signal.setitimer(signal.ITIMER_REAL, TEXT_SECONDS)
        try:
            value = json.loads(text, parse_float=decimal.Decimal)
            return bool(self._validator.is_valid(value))
        except (re.error, _TooLong, RecursionError, decimal.DecimalException, referencing.exceptions.Unresolvable):
            return None
        except jsonschema.exceptions._WrappedReferencingError:
            return None
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)


class _TooLong(Exception):
    """The time for a text is over."""


def _too_long(_signal: int, _frame: Any) -> None:
    raise _TooLong


def _is_integer(_checker: Any, value: Any) -> bool:
    if isinstance(value, bool):
        return False
    if isinstance(value, decimal.Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int)
