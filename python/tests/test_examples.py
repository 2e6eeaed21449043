"""The programs of `examples/python`: each runs, checks what it has written, and prints what is expected."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples" / "python"

#: What each prints, among more. The stand-in for a model gives the same ones each time.
PRINTED = {
    "agent": ['get_temperature({"city": "Oslo"}) -> 11', "It is warmer in Rome: 24 degrees, and 11 in Oslo."],
    "batch": ["row 2: Is the sky blue?  ->  yes", "row 1: All names, please.  ->  SELECT name FROM people"],
    "cite": ["characters 37 to 54: 1,149 metres long"],
    "classify": ["The app closes when I open a photo.  ->  defect"],
    "diffusion": ["{'name': 'Ada', 'age': "],
    "edit_file": ['-    print("Hello " + name)', '    print(f"Hello, {name}!")', "        greet(name)"],
    "extract": ["Charles Babbage, born 1791, mathematics"],
    "streaming": ["halfway: {'to': ['ada@example.org', 'alan@example.org']}"],
}


@pytest.mark.parametrize("name", sorted(PRINTED))
def test_example(name):
    if name == "extract" and importlib.util.find_spec("pydantic") is None:
        pytest.skip("pydantic is not installed")
    environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, FOLDER / f"{name}.py"]
    ran = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment, timeout=120)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert [text for text in PRINTED[name] if text not in ran.stdout] == [], ran.stdout


def test_all_examples_are_listed_and_run():
    files = {path.stem for path in FOLDER.glob("*.py")} - {"stand_in"}
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert files == set(PRINTED)
    assert [name for name in files if f"[{name}.py]({name}.py)" not in page] == []
