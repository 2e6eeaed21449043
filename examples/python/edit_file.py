"""Edits a file with a patch that always applies.

Coding agents such as Codex edit files by a patch in the `apply_patch` format: lines that stay begin with a blank, lines that go with `-`,
new ones with `+`; `@@` begins a place further down. A patch fails if a line that should stay or go is not in the file, which models often
get wrong by a blank. Here the grammar is made from the file: such lines can only be those of the file, in their order.
"""

import json

import maskwright
import stand_in

PATH = "greet.py"
OLD = """import sys


def greet(name):
    print("Hello " + name)


def main():
    greet(sys.argv[1])
"""

# The script gets two lines slightly wrong: a comma in `"Hello, "`, and a tab before `greet`.
SCRIPT = """*** Begin Patch
*** Update File: greet.py
@@
 def greet(name):
-    print("Hello, " + name)
+    print(f"Hello, {name}!")
@@
 def main():
-\tgreet(sys.argv[1])
+    for name in sys.argv[1:]:
+        greet(name)
*** End Patch</s>"""


def patch_grammar(path, text):
    """The patches of one file, in Lark. After `at_3` of the grammar, line 3 of the file is next."""
    lines = text.splitlines(keepends=True)
    begin = json.dumps(f"*** Begin Patch\n*** Update File: {path}\n@@\n")
    rules = [f'start: {begin} from_0 "*** End Patch"', 'new: "+" /[^\\n]+/? "\\n"']
    for number, line in enumerate(lines):
        further = f" | from_{number + 1}" if number + 1 < len(lines) else ""
        rules += [
            f"from_{number}: line_{number}{further}",  # a place of the patch begins with this line, or further down
            f'line_{number}: (" " | "-") {json.dumps(line, ensure_ascii=False)} at_{number + 1}',
            f'at_{number}: new* (line_{number} | "@@\\n" from_{number})?',
        ]
    return "\n".join([*rules, f"at_{len(lines)}: new*"])


def apply(patch, text):
    """The file after the patch. Each place is looked for after the one before."""
    lines, at, done = text.splitlines(), 0, []
    for place in patch.split("\n@@\n")[1:]:
        place = [line for line in place.split("\n") if line and not line.startswith("***")]
        old = [line[1:] for line in place if line[0] in " -"]
        begin = next(i for i in range(at, len(lines)) if lines[i : i + len(old)] == old)
        done += lines[at:begin] + [line[1:] for line in place if line[0] in " +"]
        at = begin + len(old)
    return "\n".join(done + lines[at:]) + "\n"


def main():
    arguments = stand_in.parser(__doc__).parse_args()
    model = stand_in.load(arguments.model, SCRIPT)
    compiler = maskwright.Compiler(model.tokenizer)
    # `dynamic_complete`: no lexer cuts the text, the rules alone say what may come.
    grammar = compiler.compile_lark(patch_grammar(PATH, OLD), lexer="dynamic_complete")

    task = f"Greet everybody on the command line. Answer with a patch in the format of apply_patch.\n\n{PATH}:\n{OLD}"
    prompt_ids = model.prompt([{"role": "user", "content": task}])
    patch = model.tokenizer.decode(model.write(grammar, prompt_ids, max_tokens=400)).decode()
    print(patch)
    new = apply(patch, OLD)
    print(new)

    # A patch of lines that the file does not have is no text of the grammar; `check` says where it goes wrong.
    check = grammar.check(SCRIPT.removesuffix("</s>"))
    print(check)
    assert not check
    if not arguments.model:
        assert new.count("for name in sys.argv[1:]:") == 1 and "sys.argv[1])" not in new


if __name__ == "__main__":
    main()
