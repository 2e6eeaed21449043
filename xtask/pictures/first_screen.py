"""Draws README's first picture: one prompt, a model alone, and the same model with a JSON Schema.

usage: first_screen.py [--record [BINARY]]

It draws docs/pictures/first-screen-light.svg and -dark.svg from docs/pictures/first-screen.json. With --record, it first
writes that file: it runs `maskwright generate` (target/release/maskwright, or BINARY) twice, always with the likeliest
token. Struck out above a token is the model's favourite there, with its probability, if the schema refused it. All
of those are shown.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path

from drawing import ADVANCE, Drawing

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs/pictures"
DATA = FOLDER / "first-screen.json"
PROMPT = 'Make the kitchen 21 degrees warm. Reply in JSON with "room" and "degrees".'
SCHEMA = {
    "type": "object",
    "properties": {
        "room": {"enum": ["kitchen", "bedroom", "bathroom"]},
        "degrees": {"type": "integer", "minimum": 5, "maximum": 30},
    },
    "required": ["room", "degrees"],
    "additionalProperties": False,
}


def steps(binary, *grammar):
    """The tokens of a text: their texts and, where the grammar refused the model's favourite, that with its probability."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        command = [binary, "generate", "--model", "smollm2", "--strategy", "greedy", "--prompt", PROMPT, "--trace", page]
        subprocess.run([*command, *grammar], check=True, stdout=subprocess.DEVNULL)
        html = page.read_text(encoding="utf-8")
    # The keys are those of crates/trace/src/trace/page_data.rs.
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', html, re.DOTALL)[1])
    found = []
    for step in data["steps"]:
        kept = {"text": "" if step.get("e") else step.get("c", data["tokens"][step["k"]]["t"])}
        token, probability, *refusal = step["w"][0]
        if refusal:
            kept |= {"refused": data["tokens"][token]["t"], "probability": probability}
        found.append(kept)
    return found


def record(binary):
    free = "".join(step["text"] for step in steps(binary))
    constrained = steps(binary, "--json-schema", json.dumps(SCHEMA))
    data = {"model": "SmolLM2 135M", "prompt": PROMPT, "schema": SCHEMA, "free": free, "constrained": constrained}
    DATA.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def faults(text):
    """What is wrong with a text, in words; empty if it fits the schema."""
    fenced = re.fullmatch(r"\s*```\w*\n(.*)\n```\s*", text, re.DOTALL)
    try:
        value = json.loads(fenced[1] if fenced else text)
    except ValueError:
        return "not JSON"
    found = ["a code fence"] if fenced else []
    rooms, degrees = SCHEMA["properties"]["room"]["enum"], SCHEMA["properties"]["degrees"]
    if not isinstance(value, dict) or set(value) != set(SCHEMA["required"]):
        found.append("the wrong keys")
    elif value["room"] not in rooms or value["degrees"] not in range(degrees["minimum"], degrees["maximum"] + 1):
        found.append("a wrong value")
    return " and ".join(found)


def wrapped(line, n_columns):
    """The lines that a line takes; all but the first are indented."""
    while len(line) > n_columns:
        at = line.rindex(" ", 0, n_columns)
        yield line[:at]
        line = "    " + line[at + 1 :]
    yield line


def draw_free(drawing, text, x, y):
    for line in text.split("\n"):
        for part in wrapped(line, 40):
            drawing.mono(x, y, part, 16)
            y += 22


def draw_constrained(drawing, steps, x, y):
    """The text with what was refused; what was written in its place is marked."""
    size = 24
    lines = [[]]
    for step in steps:
        before, line_end, text = step["text"].rpartition("\n")
        lines += [[]] * bool(line_end)
        lines[-1] = [*lines[-1], step | {"text": text}]
    is_first = True
    for line in lines:
        y += 53 if any("refused" in step for step in line) else 28
        right = free_from = x
        for step in line:
            text, left = step["text"], right
            right += len(text) * ADVANCE * size
            is_instead = "refused" in step
            if is_instead:
                left_of_word = left + (len(text) - len(text.lstrip())) * ADVANCE * size
                drawing.box(left_of_word, y - 20, right - left_of_word, 26, "good-back", line=None, radius=4)
                free_from = draw_refused(drawing, step, max(free_from, left_of_word), y - 25)
                if is_first:
                    drawing.text(free_from + 4, y - 31, "← its favourite token, refused", 14, "quiet")
                    is_first = False
            drawing.mono(left, y, text, size, "good" if is_instead else "text", weight=600)


def draw_refused(drawing, step, x, y):
    """A refused token, struck out, with its probability; the result is where the next one may be."""
    token = step["refused"].strip() or "blank"
    struck = len(token) * ADVANCE * 17
    width = struck + 53
    drawing.box(x, y - 22, width, 22, "bad-back", line=None, radius=5)
    drawing.mono(x + 7, y - 6, token, 17, "bad", weight=600)
    drawing.path([(x + 4, y - 11), (x + struck + 10, y - 11)], "bad", 1.8)
    drawing.text(x + width - 6, y - 6, f"{step['probability']:.0%}", 14, "bad", "end")
    return x + width + 4


def draw(data, scheme):
    model, free, steps = data["model"], data["free"], data["constrained"]
    constrained = "".join(step["text"] for step in steps)
    if faults(constrained) or not faults(free):
        raise ValueError("the picture would say what is not so")
    struck = [
        f"{step['refused'].strip()} ({step['probability']:.0%}) before {step['text'].strip()}"
        for step in steps
        if "refused" in step
    ]
    description = (
        f"Prompt: {data['prompt']} The model alone writes: {free} With the schema it writes: {constrained} "
        f"Its favourite tokens that the schema refused: {', '.join(struck)}."
    )
    drawing = Drawing(scheme, 330, f"One prompt, answered by {model} alone and with a JSON Schema", description)
    drawing.text(20, 33, "Prompt", 16, "quiet")
    drawing.text(86, 33, data["prompt"], 16, weight=600)
    for x, width in [(14, 420), (446, 400)]:
        drawing.box(x, 48, width, 268, "card")
    drawing.text(30, 76, f"{model} alone", 17, weight=600)
    draw_free(drawing, free, 30, 112)
    drawing.text(30, 302, f"✗ {faults(free)}", 16, "bad", weight=600)
    drawing.text(462, 76, "The same model with a JSON Schema", 17, weight=600)
    draw_constrained(drawing, steps, 462, 86)
    rooms, degrees = data["schema"]["properties"].values()
    allowed = f"one of {len(rooms['enum'])} rooms, {degrees['minimum']} to {degrees['maximum']} degrees"
    drawing.text(462, 302, f"✓ fits: {allowed}", 16, "good", weight=600)
    drawing.save(FOLDER / f"first-screen-{scheme}.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--record", nargs="?", const=ROOT / "target/release/maskwright", metavar="BINARY")
    arguments = parser.parse_args()
    if arguments.record:
        record(arguments.record)
    data = json.loads(DATA.read_text(encoding="utf-8"))
    for scheme in ["light", "dark"]:
        draw(data, scheme)


if __name__ == "__main__":
    main()
