"""Facts out of a text, as a Pydantic model.

The grammar is the model's JSON Schema. The text that comes out always parses: no field is missing, none is invented, a year is a number,
and a field of study is one of the list. Left to itself, the stand-in says "Sure!" first; the mask has no place for that.
"""

from typing import Literal

import maskwright
import stand_in
from pydantic import BaseModel, ConfigDict, Field

TEXT = """Ada Lovelace, born in London in 1815, wrote the first published program. Charles Babbage (1791) had designed the machine
that it was for. Both were mathematicians."""


class Person(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str = Field(min_length=1, max_length=40)
    born: int = Field(ge=1000, le=2100)
    field: Literal["mathematics", "physics", "literature"]


class Facts(BaseModel):
    model_config = ConfigDict(extra="forbid")
    people: list[Person] = Field(min_length=1, max_length=4)
    place: str | None = Field(max_length=40)


SCRIPT = (
    'Sure! Here are the facts: {"people": [{"name": "Ada Lovelace", "born": 1815, "field": "mathematics"}, '
    '{"name": "Charles Babbage", "born": 1791, "field": "mathematics"}], "place": "London"}</s>'
)


def main():
    arguments = stand_in.parser(__doc__).parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    compiler = maskwright.Compiler(model.tokenizer)

    # A Pydantic model, a dataclass or a JSON Schema as a dict: `compile` takes each of them.
    grammar = compiler.compile(Facts)
    left_out = [entry for entry in grammar.report if entry.status == "not enforced"]
    assert not left_out, "every keyword of the schema is enforced"

    question = f"Which people and which place does this text name? Answer in JSON.\n\n{TEXT}"
    prompt_ids = model.prompt([{"role": "user", "content": question}])
    # The text is complete within 300 tokens, whatever the model wants.
    text = model.tokenizer.decode(model.write(grammar, prompt_ids, max_tokens=300)).decode()
    print(text)

    # No try, no second request: this cannot fail.
    facts = Facts.model_validate_json(text)
    for person in facts.people:
        print(f"{person.name}, born {person.born}, {person.field}")


if __name__ == "__main__":
    main()
