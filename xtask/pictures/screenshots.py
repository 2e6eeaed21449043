"""Takes pictures of pages, and checks them in a browser: exits with 1 if a check fails.

usage: screenshots.py FOLDER PAGE.html...

Each page is opened 1280 and 390 pixels wide, light and dark. It must write no error to the console, load nothing, not
scroll sideways, and show all text with a contrast of at least 4.5 (WCAG AA). Its tokens are then used by the keyboard
alone. The pictures are written to FOLDER.

Needs Chromium (Debian: apt-get install chromium) and nothing else. To make the pages:
cargo run -p maskwright-trace --example three_pages -- target/pages
"""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SECONDS_TO_WAIT = 30
MOST_TABS = 20
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}

# The texts whose contrast with their background is too low. Disabled buttons may be pale.
LOW_CONTRAST = """(() => {
  const numbers = colour => {
    const values = colour.match(/[0-9.]+/g).map(Number);
    return colour.startsWith("color(srgb") ? values.map((value, at) => (at < 3 ? value * 255 : value)) : values;
  };
  const light = colour => {
    const [r, g, b] = colour.map(value => value / 255).map(value => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = node => {
    for (let at = node; at; at = at.parentElement) {
      const colour = numbers(getComputedStyle(at).backgroundColor);
      if (colour.length < 4 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !node.checkVisibility() || node.closest("button:disabled, script, style, noscript")) continue;
    const [a, b] = [light(numbers(getComputedStyle(node).color)), light(behind(node))].sort((x, y) => y - x);
    const contrast = (a + 0.05) / (b + 0.05);
    if (contrast < 4.5) found.push(`${contrast.toFixed(2)}: ${text.data.slice(0, 30)}`);
  }
  return found;
})()"""


class Browser:
    """Headless Chromium, through the pipe of its DevTools protocol."""

    def __init__(self, folder):
        program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
        if program is None:
            sys.exit("no Chromium found: apt-get install chromium")
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def connect():
            # Chromium reads from 3 and writes to 4; the copies keep one from replacing the other.
            read, write = os.dup(to_read), os.dup(to_write)
            os.dup2(read, 3)
            os.dup2(write, 4)

        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", f"--user-data-dir={folder}"]
        self.process = subprocess.Popen(
            [program, *arguments], preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(to_write)
        os.set_blocking(self.from_browser, False)
        self.buffer = b""
        self.last_id = 0
        self.session = None
        self.events = []

    def close(self):
        self.process.terminate()
        self.process.wait()

    def message(self, deadline):
        """The next message; `None` after the deadline."""
        while b"\0" not in self.buffer:
            try:
                self.buffer += os.read(self.from_browser, 1 << 20)
            except BlockingIOError:
                if time.monotonic() > deadline:
                    return None
                time.sleep(0.005)
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while answer := self.message(deadline):
            if answer.get("id") == self.last_id:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)
        raise TimeoutError(method)

    def wait_for(self, method):
        deadline = time.monotonic() + SECONDS_TO_WAIT
        while not any(event.get("method") == method for event in self.events):
            event = self.message(deadline)
            if event is None:
                raise TimeoutError(method)
            self.events.append(event)

    def open(self, page, width, scheme):
        self.session = None
        self.events = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ["Page", "Runtime", "Log", "Network"]:
            self.call(f"{domain}.enable")
        is_phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=844, deviceScaleFactor=1, mobile=is_phone)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Page.navigate", url=page.resolve().as_uri())
        self.wait_for("Page.loadEventFired")

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def press(self, key):
        for kind in ["rawKeyDown", "keyUp"]:
            code = KEYS[key]
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def picture(self, file, is_whole=True):
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        options = {"clip": clip, "captureBeyondViewport": True} if is_whole else {}
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", **options)["data"]))

    def complaints(self):
        """What the page wrote to the console and tried to load."""
        found = []
        for event in self.events:
            params = event.get("params", {})
            match event.get("method"):
                case "Runtime.exceptionThrown":
                    found.append(f"exception: {params['exceptionDetails'].get('exception', {}).get('description')}")
                case "Runtime.consoleAPICalled" if params["type"] in ["error", "warning", "assert"]:
                    found.append(f"console: {params['args']}")
                case "Log.entryAdded" if params["entry"]["level"] in ["error", "warning"]:
                    found.append(f"log: {params['entry']['text']}")
                case "Network.requestWillBeSent" if params["request"]["url"] != params["documentURL"]:
                    found.append(f"request: {params['request']['url']}")
                case _:
                    pass
        return found


class Check:
    """One page in one size and scheme; `failures` is what it did wrong."""

    def __init__(self, browser, name):
        self.browser = browser
        self.name = name
        self.failures = []

    def expect(self, is_right, what):
        failure = f"{self.name}: {what}"
        if not is_right and failure not in self.failures:
            self.failures.append(failure)

    def looks(self, when):
        width = self.browser.value("[document.documentElement.scrollWidth, innerWidth]")
        self.expect(width[0] <= width[1], f"{when}: the page is {width[0]} wide, the window {width[1]}")
        for text in self.browser.value(LOW_CONTRAST):
            self.expect(False, f"{when}: low contrast {text}")

    def tab_to(self, kind):
        for _ in range(MOST_TABS):
            self.browser.press("Tab")
            if self.browser.value(f"document.activeElement.classList.contains('{kind}')"):
                return True
        return False

    def press(self, key, selector, expected):
        """Presses a key, and expects a text where the page shows details."""
        self.browser.press(key)
        shown = self.browser.value(f"document.querySelector('{selector}').textContent")
        self.expect(expected in shown, f"{key}: {expected!r} is not in {shown!r}")

    def use_tokens(self, file):
        n_tokens = self.browser.value("data.steps.length")
        self.expect(self.tab_to("token"), "Tab does not reach the tokens")
        summary = "#details-summary"
        self.press("ArrowRight", summary, f"token {min(2, n_tokens)} of {n_tokens}")
        self.press("ArrowLeft", summary, f"token 1 of {n_tokens}")
        self.press("ArrowDown", summary, "token ")
        self.press("End", summary, f"token {n_tokens} of")
        self.press("Home", summary, "token 1 of")
        self.press("Escape", summary, "Point at a token")
        self.press("Enter", summary, "token 1 of")
        self.point()
        refused = self.browser.value("Number(document.querySelectorAll('.token.is-refused')[1]?.dataset.index ?? 0)")
        for _ in range(refused):
            self.browser.press("ArrowRight")
        self.looks("with details")
        self.browser.picture(file, is_whole=False)
        self.browser.press("Escape")
        self.browser.value("document.getElementById('as-table').click()")
        self.expect(self.browser.value("document.querySelectorAll('#table tbody tr').length") > 0, "the table is empty")
        self.looks("as a table")
        self.browser.picture(file.with_name(file.name.replace("-details", "-table")), is_whole=False)
        self.browser.value("document.getElementById('as-table').click()")
        self.browser.value("navigator.clipboard.writeText = () => Promise.reject(new Error()); document.getElementById('copy').click()")
        time.sleep(0.1)
        is_copied = "document.querySelector('.copy-box')?.value === document.getElementById('plain').textContent"
        self.expect(self.browser.value(is_copied), "the text to copy is not offered")

    def point(self):
        """Points at the second token, and clicks on it."""
        place = """(() => {
          const token = document.querySelectorAll('.token[role=option]')[Math.min(1, data.steps.length - 1)];
          token.scrollIntoView({ block: 'center' });
          const { x, y, height } = token.getClientRects()[0];
          return [x + 1, y + height / 2];
        })()"""
        self.browser.press("Escape")
        for kind in ["mouseMoved", "mousePressed", "mouseReleased"]:
            x, y = self.browser.value(place)
            self.browser.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)
            shown = self.browser.value("document.getElementById('details-summary').textContent")
            self.expect("token " in shown, f"{kind} on a token shows {shown!r}")
        is_open = self.browser.value("document.getElementById('details').classList.contains('is-open')")
        self.expect(is_open, "a click does not open the details")
        self.browser.press("Home")

    def use_canvas(self, file):
        self.browser.value("document.getElementById('play').click()")
        time.sleep(0.9)
        at = int(self.browser.value("document.getElementById('frame').value"))
        self.expect(at > 0, "the play button does nothing")
        self.browser.value("document.getElementById('play').click()")
        self.browser.value("element('frame').value = 0; element('frame').dispatchEvent(new Event('input'))")
        for _ in range(2):
            self.browser.value("document.getElementById('next').click()")
        n_frames = self.browser.value("data.frames.length")
        label = self.browser.value("document.getElementById('frame-label').textContent")
        self.expect(f"step {min(3, n_frames)} of {n_frames}" in label, f"the step is {label!r}")
        self.expect(self.tab_to("cell"), "Tab does not reach the positions")
        self.press("ArrowRight", "#cell-details", "position 2")
        self.looks("in the middle")
        self.browser.picture(file, is_whole=False)


def check(browser, page, folder, width, scheme):
    name = f"{page.stem}-{width}-{scheme}"
    checked = Check(browser, name)
    browser.open(page, width, scheme)
    checked.looks("at first")
    browser.picture(folder / f"{name}.png")
    if browser.value("data.steps.length"):
        checked.use_tokens(folder / f"{name}-details.png")
    if browser.value("data.frames.length"):
        checked.use_canvas(folder / f"{name}-canvas.png")
    before = browser.value("getComputedStyle(document.body).backgroundColor")
    browser.value("document.getElementById('theme').click()")
    after = browser.value("getComputedStyle(document.body).backgroundColor")
    checked.expect(before != after, "the switch between light and dark does nothing")
    for complaint in browser.complaints():
        checked.expect(False, complaint)
    return checked.failures


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    failures = []
    n_checked = 0
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            for page in map(Path, sys.argv[2:]):
                for width in [1280, 390]:
                    for scheme in ["light", "dark"]:
                        failures += check(browser, page, folder, width, scheme)
                        n_checked += 1
        finally:
            browser.close()
    for failure in failures:
        print(failure)
    print(f"{n_checked} views checked, {len(failures)} failures, pictures in {folder}")
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
