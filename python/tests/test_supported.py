"""What of schemas is enforced, asked without a tokenizer."""

import json
import os
import random
from pathlib import Path

import maskwright
import pytest

SHARED = Path(os.environ.get("MASKWRIGHT_SHARED", Path(__file__).parents[3] / "shared"))
BYTES = maskwright.Tokenizer.from_tokens([bytes([byte]) for byte in range(256)] + [b"</s>"], eos_token_ids=[256])
COMPILER = maskwright.Compiler(BYTES)


ORDER = list(maskwright.supported_schema()["$defs"]["keywords"]["properties"])


def schemas_of_schemas(**options):
    """The grammar of the schemas that are enforced in full."""
    return COMPILER.compile_json_schema(maskwright.supported_schema(), whitespace="any", numbers="any", **options)


def test_what_is_not_enforced_is_named():
    support = maskwright.supported({"items": {"pattern": r"(a)\1"}, "maxItems": 2})
    assert not support and support.error is None
    (entry,) = support.unenforced
    assert (entry.pointer, entry.keyword) == ("/items", "pattern")
    assert str(support) == f"not enforced:\n`pattern` at /items: {entry.reason}"
    assert [entry.keyword for entry in support.report] == ["items", "pattern", "maxItems"]


def test_what_is_enforced():
    support = maskwright.supported('{"type": "array", "uniqueItems": true}')
    assert support and support.unenforced == [] and str(support) == "enforced in full"
    assert maskwright.supported(list[int])
    assert maskwright.supported({"$ref": "n"}, documents={"n": {"type": "integer"}})


def test_errors_are_told():
    support = maskwright.supported({"type": "text"})
    assert not support and isinstance(support.error, maskwright.SchemaError) and support.report == []
    assert support.error.keyword == "type" and str(support).startswith("cannot be compiled: `type` at the root")
    assert not maskwright.supported("{")
    assert not maskwright.supported({"$ref": "n"})


def test_wrong_use():
    with pytest.raises(TypeError):
        maskwright.supported(3)
    with pytest.raises(TypeError):
        maskwright.supported({}, strict=True)
    with pytest.raises(TypeError):
        maskwright.supported({}, white_space="any")


@pytest.mark.filterwarnings("ignore::maskwright.SchemaWarning")
def test_it_says_what_compiling_says():
    """Of the schemas of MaskBench."""
    folder = SHARED / "data" / "maskbench"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    n_supported = 0
    for schema in schemas_in(folder)[::12]:
        try:
            COMPILER.compile_json_schema(schema)
            is_compiled = True
        except maskwright.Error:
            is_compiled = False
        assert bool(maskwright.supported(schema)) == is_compiled
        n_supported += is_compiled
    assert n_supported > 300


def schemas_in(folder):
    """The schemas of MaskBench."""
    texts = [file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.jsonl"))]
    return [json.loads(line)["schema"] for text in texts for line in text.split("\n") if line]


def is_enforced(schema):
    """Whether a schema is enforced; True as well if it allows nothing, which is an error of another kind."""
    support = maskwright.supported(schema)
    said = str(support.error)
    return bool(support) or "no value satisfies" in said or "leads back to itself" in said or "more than" in said


def test_what_the_schema_of_schemas_accepts_is_enforced():
    """Of MaskBench and the official suite."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"{folder} is not there")
    schemas = schemas_in(folder / "maskbench")[::12]
    suite = sorted((folder / "json-schema-test-suite" / "tests").rglob("*.json"))
    schemas += [group["schema"] for file in suite[::3] for group in json.loads(file.read_text(encoding="utf-8"))]
    grammar = schemas_of_schemas(property_order="any")
    accepted = [schema for schema in schemas if grammar.check(json.dumps(schema, ensure_ascii=False)).is_valid]
    assert len(accepted) > len(schemas) / 2
    assert [schema for schema in accepted if not is_enforced(schema)] == []


NAMES = ["a", "b", "type", "kind", "x-y"]
TYPES = ["array", "boolean", "integer", "null", "number", "object", "string"]
PATTERNS = ["^a", "b$", "[0-9]{3}", "^(a|b)+$", "^x-", "^[a-z]{1,5}$", ".*", "(?:ab)*", r"(a)\1", "(?=a)a"]
VALUES = [1, 2.5, 0, True, None, "a", "ab", [], [1], {}, {"a": 1}]


class Writer:
    """Writes random schemas, most of which the schema of schemas accepts."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def some(self, values, least=1, most=3):
        return self.random.sample(values, self.random.randint(least, most))

    def simple(self):
        pick = self.random.choice
        return pick([{"type": pick(TYPES)}, {"const": pick(VALUES)}, {"enum": self.some(VALUES)}, {"required": self.some(NAMES)}])

    def schema(self, depth):
        pick, some = self.random.choice, self.some
        if self.random.random() < 0.1:
            return pick([True, True, False])
        made = {
            "type": lambda: pick([pick(TYPES), some(TYPES)]),
            "enum": lambda: some(VALUES),
            "not": self.simple,
            "minimum": lambda: pick([0, 2.5, 100]),
            "exclusiveMaximum": lambda: pick([10, 99.5]),
            "multipleOf": lambda: pick([1, 7, 0.01, 12345.678]),
            "minLength": lambda: pick([0, 3, 400]),
            "maxLength": lambda: pick([1, 40, 4000]),
            "pattern": lambda: pick(PATTERNS),
            "format": lambda: pick(["date", "email", "uuid", "int32"]),
            "required": lambda: some(NAMES),
            "minProperties": lambda: pick([1, 5]),
            "maxProperties": lambda: pick([1, 100]),
            "dependentRequired": lambda: {name: some(NAMES, 0) for name in some(NAMES)},
            "minItems": lambda: pick([0, 1, 2, 500]),
            "maxItems": lambda: pick([0, 3, 1000]),
            "uniqueItems": lambda: True,
            "unevaluatedProperties": lambda: False,
            "unevaluatedItems": lambda: False,
            "$ref": lambda: pick(["#", "#/$defs/p", "#/$defs/q"]),
        }
        if depth > 0:
            inner = lambda: self.schema(depth - 1)  # noqa: E731
            several = lambda: [inner() for _ in range(self.random.randint(1, 4))]  # noqa: E731
            made |= {
                "anyOf": several,
                "oneOf": several,
                "allOf": several,
                "properties": lambda: {name: inner() for name in some(NAMES)},
                "additionalProperties": inner,
                "patternProperties": lambda: {pattern: inner() for pattern in some(PATTERNS)},
                "propertyNames": inner,
                "items": inner,
                "prefixItems": several,
                "contains": inner,
                "if": lambda: {"properties": {name: self.simple() for name in some(NAMES)}},
                "then": inner,
            }
        return {keyword: made[keyword]() for keyword in sorted(some(list(made), 1, 5), key=ORDER.index)}


def test_random_schemas_that_it_accepts_are_enforced():
    grammar = schemas_of_schemas()
    writer = Writer(os.environ.get("PROPTEST_RNG_SEED", "1"))
    n_accepted = 0
    for _ in range(int(os.environ.get("MASKWRIGHT_RANDOM_SCHEMAS", "2000"))):
        whole = writer.schema(3)
        schema = {} if isinstance(whole, bool) else whole
        schema["$defs"] = {"p": writer.schema(2), "q": writer.schema(2)}
        schema = dict(sorted(schema.items(), key=lambda member: ORDER.index(member[0])))
        if grammar.check(json.dumps(schema)).is_valid:
            n_accepted += 1
            assert is_enforced(schema), schema
    assert n_accepted > 200
