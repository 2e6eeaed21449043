"""Takes the pictures of a trace's page in docs/guides/seeing.md.

usage: trace_page.py [BINARY]

It runs `maskwright generate` (target/release/maskwright, or BINARY) on the prompt of README's first picture, opens the page that
`--trace` writes in Chromium, and writes docs/pictures/trace-page-light.png and -dark.png.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from first_screen import FOLDER, PROMPT, ROOT, SCHEMA
from screenshots import Browser

#: The token whose details are open: the first `kit` of kitchen.
SHOWN = "[...document.querySelectorAll('.token')].find(token => token.textContent.startsWith('kit'))"
WIDTH = 1000


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/release/maskwright"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        page = Path(folder) / "page.html"
        command = [binary, "generate", "--model", "smollm2", "--strategy", "greedy", "--prompt", PROMPT, "--trace", page]
        subprocess.run([*command, "--json-schema", json.dumps(SCHEMA)], check=True, stdout=subprocess.DEVNULL)
        browser = Browser(Path(folder) / "profile")
        try:
            for scheme in ["light", "dark"]:
                browser.open(page, WIDTH, scheme)
                browser.value(f"{SHOWN}.click()")
                browser.picture(FOLDER / f"trace-page-{scheme}.png", is_whole=False)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
