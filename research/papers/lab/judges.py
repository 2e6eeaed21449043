"""Judges that share nothing with maskwright: compilers, parsers, validators.

Each answers with `None` where the text is right, and otherwise with the judge's words.
"""

from __future__ import annotations

import json
import resource
import subprocess
import tempfile
from pathlib import Path
from typing import Any

#: A program of the tests gets this much time and memory.
SECONDS = 10
MEMORY = 1 << 30


def _limits() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 24, 1 << 24))


def cpp_tests(text: str) -> str | None:
    """Compiles a program and runs it in an empty folder, with limits on time, memory and files."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "a.cpp"), Path(folder, "a")
        source.write_text(text, encoding="utf-8", errors="replace")
        try:
            compiled = subprocess.run(
                ["g++", "-std=c++17", "-w", "-o", program, source], capture_output=True, timeout=60, check=False
            )
            if compiled.returncode:
                return "does not compile"
            done = subprocess.run(
                [program], cwd=folder, capture_output=True, timeout=2 * SECONDS, preexec_fn=_limits, env={}, check=False
            )
        except subprocess.TimeoutExpired:
            return "took too long"
        return None if done.returncode == 0 else f"status {done.returncode}"


def json_text(text: str) -> str | None:
    """By Python's JSON parser, without the constants that JSON does not have."""

    def refuse(constant: str) -> Any:
        raise ValueError(f"{constant} is no JSON")

    try:
        json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        return str(error)
    return None


def json_schema(text: str, schema: Any) -> str | None:
    """By the `jsonschema` package, formats not asserted."""
    import jsonschema

    words = json_text(text)
    if words is not None:
        return words
    error = jsonschema.exceptions.best_match(jsonschema.validators.validator_for(schema)(schema).iter_errors(json.loads(text)))
    return None if error is None else f"{error.json_path}: {error.message}"[:300]


def smiles(text: str, chemistry: bool = False) -> str | None:
    """By RDKit: its parser, with `chemistry` also valences and aromatic rings."""
    from rdkit import Chem, RDLogger

    RDLogger.DisableLog("rdApp.*")
    molecule = Chem.MolFromSmiles(text, sanitize=chemistry)
    return None if molecule is not None and text.strip() == text and text else "RDKit does not read it"
