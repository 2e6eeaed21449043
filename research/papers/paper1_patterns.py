"""The regular expressions of paper 1's experiments, with requests whose answers should match them."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import maskwright

from lab import judges

IP = r"((25[0-5]|2[0-4]\d|[01]?\d\d?)\.){3}(25[0-5]|2[0-4]\d|[01]?\d\d?)"
IDENTIFIER = r"[^\W\d]\w*"
EMAIL = r"[a-z0-9._]+@[a-z0-9-]+(\.[a-z]{2,})+"
PERSON: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "maxLength": 20},
        "age": {"type": "integer"},
        "email": {"type": "string", "maxLength": 30},
    },
    "required": ["name", "age", "email"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Task:
    """A constraint, and a request: solved examples, then a question."""

    name: str
    constraint: str | dict[str, Any]
    question: str
    examples: tuple[tuple[str, str], ...]
    max_tokens: int = 30

    @property
    def request(self) -> str:
        solved = "".join(f"{question}\n{answer}\n\n" for question, answer in self.examples)
        return f"{solved}{self.question}"

    def compile(self, compiler: maskwright.Compiler) -> maskwright.CompiledGrammar:
        if isinstance(self.constraint, dict):
            return compiler.compile_json_schema(self.constraint)
        return compiler.compile_regex(self.constraint, dialect="python")

    def is_valid(self, text: str) -> bool:
        """By Python's `re`, or by the `jsonschema` package."""
        if isinstance(self.constraint, dict):
            return judges.json_schema(text, self.constraint) is None
        return re.fullmatch(self.constraint, text) is not None

    def begins_valid(self, text: str) -> bool:
        """A kinder question, for free texts: is the first line right, or the first JSON object anywhere in the text?"""
        if not isinstance(self.constraint, dict):
            return self.is_valid((text.strip().splitlines() or [""])[0].strip())
        try:
            value, _ = json.JSONDecoder().raw_decode(text[text.index("{") :])
        except (ValueError, RecursionError):
            return False
        return self.is_valid(json.dumps(value))


TASKS = (
    Task(
        "choice",
        "Yes|No|Never|Always",
        "Is 1+1=2?",
        (("Is 2+2=5?", "No"), ("Does the sun rise in the east?", "Always")),
    ),
    Task(
        "year",
        r"\s*19[0-9]{2}",
        "In what year was Noam Chomsky born?",
        (("In what year was Alan Turing born?", "1912"), ("In what year was Grace Hopper born?", "1906")),
    ),
    Task(
        "IP address",
        IP,
        "What is the IP address of the Google DNS servers?",
        (("What is the IP address of localhost?", "127.0.0.1"), ("What is the IP address of a router?", "192.168.1.1")),
    ),
    Task(
        "number",
        r"([0-9]*)?\.?[0-9]*",
        "What is half of 17, as a number?",
        (("What is half of 3, as a number?", "1.5"), ("What is half of 8, as a number?", "4")),
    ),
    Task(
        "identifier",
        IDENTIFIER,
        "What is a good Python variable name for the number of users?",
        (
            ("What is a good Python variable name for a total price?", "total_price"),
            ("What is a good Python variable name for a file's path?", "path"),
        ),
    ),
    Task(
        "date",
        r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])",
        "When did the first human walk on the Moon? Write the date as YYYY-MM-DD.",
        (
            ("When did the Berlin Wall fall? Write the date as YYYY-MM-DD.", "1989-11-09"),
            ("When did the Second World War end in Europe? Write the date as YYYY-MM-DD.", "1945-05-08"),
        ),
    ),
    Task(
        "e-mail",
        EMAIL,
        "What could the e-mail address of John Smith at Google be?",
        (
            ("What could the e-mail address of Mary Jones at Apple be?", "mary.jones@apple.com"),
            ("What could the e-mail address of Bob at the BBC be?", "bob@bbc.co.uk"),
        ),
    ),
    Task(
        "person record",
        PERSON,
        "Write a person as JSON: John Smith, 42, of Google.",
        (
            (
                "Write a person as JSON: Mary Jones, 31, of Apple.",
                '{"name": "Mary Jones", "age": 31, "email": "mary@apple.com"}',
            ),
        ),
        max_tokens=80,
    ),
)
