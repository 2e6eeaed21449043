/** The playground in headless Chromium: tasks by keyboard and by pointer, wide and narrow, light and dark; hostile grammars. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const folder = fileURLToPath(new URL("../../target/playground/", import.meta.url));
const shots = process.env.MASKWRIGHT_SCREENSHOTS;
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".wasm": "application/wasm", ".txt": "text/plain" };

let server;
let address;
let browser;

before(async () => {
  server = createServer(async (request, response) => {
    const name = request.url === "/" ? "index.html" : decodeURIComponent(request.url.slice(1));
    try {
      const data = await readFile(folder + name);
      response.writeHead(200, { "content-type": types[extname(name)] ?? "application/octet-stream" }).end(data);
    } catch {
      response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  address = `http://127.0.0.1:${server.address().port}/`;
  const executablePath = process.env.MASKWRIGHT_CHROMIUM ?? "/usr/bin/chromium";
  browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
});

after(async () => {
  await browser?.close();
  server?.close();
});

/** A page that is ready, and what it has done wrong so far. */
async function opened(options, hash = "") {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => request.url().startsWith(address) || wrong.push(request.url()));
  await page.goto(address + hash);
  await page.waitForSelector("body[data-ready=yes]");
  await page.waitForFunction(() => document.getElementById("grammar-status").textContent !== "");
  return { page, wrong };
}

/** Waits until an element says something. */
async function says(page, id, pattern) {
  const matches = ([id, source]) => new RegExp(source, "s").test(document.getElementById(id).textContent);
  await page.waitForFunction(matches, [id, pattern.source], { timeout: 4000 }).catch(async () => {
    assert.match(await page.textContent(`#${id}`), pattern);
  });
}

/** Puts text into a field by keys alone. */
async function typed(page, id, text) {
  await page.focus(`#${id}`);
  await page.keyboard.press("Control+A");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText(text);
}

/** Puts text into a field by pointer, as by pasting. */
async function pasted(page, id, text) {
  await page.click(`#${id}`);
  await page.fill(`#${id}`, text);
}

/** Chooses an entry of a list. */
async function chosen(page, id, index, byKeys) {
  if (!byKeys) return page.selectOption(`#${id}`, { index });
  await page.focus(`#${id}`);
  await page.keyboard.press("Home");
  for (let step = 0; step < index; step++) await page.keyboard.press("ArrowDown");
}

async function pressed(page, id, byKeys) {
  if (!byKeys) return page.click(`#${id}`);
  await page.focus(`#${id}`);
  await page.keyboard.press("Enter");
}

const tasks = {
  "see what may come next": async (page) => {
    await says(page, "place", /at \/age: expected `,` or `}` or a digit/);
    assert.equal(await page.$$eval("#tokens li", (items) => items.length > 5), true);
  },
  "see why not": async (page, put) => {
    await put(page, "why", "x");
    await page.keyboard.press("Enter");
    await says(page, "because", /`x` cannot come here/);
  },
  "a wrong text": async (page, put) => {
    await put(page, "text", '{"name": "Ada", "age": 200}');
    await says(page, "text-status", /"maximum": 150/);
  },
  "a wrong grammar": async (page, put) => {
    await put(page, "source", '{"type": "strin"}');
    await says(page, "grammar-status", /did you mean "string"/);
  },
  "options that are not JSON": async (page, put) => {
    await put(page, "options", "{");
    await says(page, "grammar-status", /the options are not JSON/);
  },
  "a limit that is too small, then one that is not": async (page, put) => {
    await put(page, "limit", "3");
    await says(page, "text-status", /3 tokens are too few/);
    await put(page, "limit", "60");
    await says(page, "text-status", /8 tokens, 52 left/);
    await says(page, "finish", /A short end/);
  },
  "a text at random": async (page, _, byKeys) => {
    await pressed(page, "random", byKeys);
    await says(page, "text-status", /the text may end here/);
    JSON.parse(await page.inputValue("#text"));
  },
  "token by token": async (page, _, byKeys) => {
    const before = await page.inputValue("#text");
    await pressed(page, "random-token", byKeys);
    await page.waitForFunction((before) => document.getElementById("text").value.length > before.length, before);
  },
  "another example": async (page, _, byKeys) => {
    await chosen(page, "example", 2, byKeys);
    await says(page, "place", /expected/);
    assert.match(await page.inputValue("#source"), /^\(19/);
  },
  "calls of tools": async (page, put, byKeys) => {
    await chosen(page, "example", 6, byKeys);
    await put(page, "text", '<tool_call>\n{"name": "ring_bell", "arguments": {"tower": "north", "times": 3}}\n</tool_call>');
    await says(page, "events", /call 1: ring_bell.*arguments of call 1: {"tower":"north","times":3}.*call 1 has ended/);
  },
  "what a schema enforces": async (page, _, byKeys) => {
    if (byKeys) {
      await page.focus("summary");
      await page.keyboard.press("Enter");
    } else await page.click("summary");
    await says(page, "report", /uniqueItems.*enforced/);
    assert.ok(await page.isVisible("#report table"));
  },
  "a link to all of it": async (page, put, byKeys, options) => {
    await put(page, "text", '{"name": "B');
    await says(page, "place", /at \/name/);
    await pressed(page, "link", byKeys);
    const { page: other } = await opened(options, new URL(page.url()).hash);
    assert.equal(await other.inputValue("#text"), '{"name": "B');
    await says(other, "place", /at \/name/);
    await other.context().close();
  },
};

for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
  const options = { viewport: { width, height: 900 }, colorScheme };
  test(`tasks at ${width} pixels, ${colorScheme}`, { timeout: 240_000 }, async () => {
    for (const byKeys of [true, false]) {
      for (const [name, task] of Object.entries(tasks)) {
        const { page, wrong } = await opened(options);
        await task(page, byKeys ? typed : pasted, byKeys, options).catch((error) => {
          throw new Error(`${name}, ${byKeys ? "keyboard" : "pointer"}: ${error.message}`);
        });
        assert.deepEqual(wrong, [], name);
        assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${name}: wider than the page`);
        if (shots && !byKeys) await page.screenshot({ path: `${shots}/${name.replaceAll(" ", "-")}-${width}-${colorScheme}.png`, fullPage: true });
        await page.context().close();
      }
    }
  });
}

test("other vocabularies, and links that are followed or cut", { timeout: 60_000 }, async () => {
  const json = {
    version: "1.0", normalizer: null, pre_tokenizer: { type: "ByteLevel", add_prefix_space: false }, post_processor: null,
    decoder: { type: "ByteLevel" }, model: { type: "BPE", vocab: { "{": 0, "}": 1, x: 2 }, merges: [] },
    added_tokens: [{ id: 3, content: "</s>", special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }],
  };
  const file = (text) => ({ name: "tokenizer.json", mimeType: "application/json", buffer: Buffer.from(text) });
  const { page, wrong } = await opened({}, "#null");
  await says(page, "vocabulary", /a small one: 1482 tokens/);
  await page.fill("#text", "");
  await page.setInputFiles("#tokenizer", file(JSON.stringify(json)));
  await says(page, "vocabulary", /tokenizer.json: 4 tokens/);
  await page.setInputFiles("#tokenizer", file("no JSON"));
  await page.setInputFiles("#tokenizer", file(JSON.stringify(json)));
  await says(page, "vocabulary", /tokenizer.json: 4 tokens/);
  await page.selectOption("#kind", "regex");
  await page.fill("#source", "x+\\}");
  await says(page, "count", /1 token may come next/);
  await page.setInputFiles("#tokenizer", file("no JSON"));
  await says(page, "vocabulary", /tokenizer.json: .*JSON/);
  await says(page, "count", /1 token may come next/);
  await page.click("summary:text('Vocabulary')");
  await page.selectOption("#vocabularies", { index: 0 });
  await says(page, "vocabulary", /a small one/);
  await page.evaluate(() => (location.hash = `#${encodeURIComponent('{"kind": "regex", "source": "[0-9]", "vocabulary": "none"}')}`));
  await says(page, "count", /10 tokens may come next/);
  await page.evaluate(() => (location.hash = "#{"));
  await says(page, "place", /at \/age/);
  assert.deepEqual(wrong, []);
  await page.context().close();
});

test("what cannot be written by clicking, and limits that texts are over", { timeout: 60_000 }, async () => {
  const { page, wrong } = await opened({});
  await page.fill("#source", '{"type": "string"}');
  await page.fill("#text", '"');
  await says(page, "place", /character/);
  const parts = await page.$$eval("#tokens button", (all) => all.filter((one) => one.textContent.startsWith("\\x")).map((one) => one.disabled));
  assert.ok(parts.length > 10 && parts.every((isDisabled) => isDisabled), `${parts}`);
  assert.ok(!(await page.textContent("#tokens")).includes("\ufffd"));
  for (let step = 0; step < 20; step++) {
    const before = await page.inputValue("#text");
    await page.click("#random-token");
    await page.waitForFunction((before) => document.getElementById("text").value !== before, before);
    if (await page.textContent("#text-status").then((text) => text.includes("may end"))) break;
    assert.ok(!(await page.inputValue("#text")).includes("\ufffd"));
  }
  await page.selectOption("#kind", "regex");
  await page.fill("#source", "[a-z]*");
  await page.fill("#text", "zqzqzqzqzq");
  await page.fill("#limit", "5");
  await says(page, "text-status", /cannot be completed within the limit of 5 tokens/);
  await page.fill("#limit", "");
  await page.fill("#text", "zq".repeat(400));
  await page.click("#random-token");
  await page.waitForFunction(() => document.getElementById("text").value.length > 800);
  await page.fill("#options", "{");
  await says(page, "grammar-status", /not JSON/);
  assert.equal(await page.textContent("#tokens"), "");
  assert.deepEqual(wrong, []);
  await page.context().close();
});

const nested = (open, inside, close, n) => open.repeat(n) + inside + close.repeat(n);
const hostile = [
  ["regex", "((a{0,200}){0,200}){0,200}x"],
  ["regex", `(?=.*a)(?=.*b)(?=.*c)(?=.*d)(?=.*e)(?=.*f)(?=.*g)(?=.*h).*`],
  ["regex", "(.*a.{9}){9}"],
  ["json_schema", nested('{"not":', "{}", "}", 400)],
  ["json_schema", JSON.stringify({ enum: Array.from({ length: 30_000 }, (_, index) => `value ${index}`) })],
  ["json_schema", JSON.stringify({ type: "object", patternProperties: Object.fromEntries(Array.from({ length: 14 }, (_, n) => [`${n}.*${n}`, { multipleOf: n + 7 }])) })],
  ["json_schema", JSON.stringify({ type: "object", properties: Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`k${n}`, {}])), required: ["k1"] })],
  ["gbnf", `root ::= ${"(".repeat(100_000)}`],
  ["gbnf", 'root ::= root root | "a" | ""'],
  ["lark", `start: a{1,}\na: ${nested("(", '"x" | "xx"', "){0,99}", 60)}`],
];

test("hostile grammars end in words within two seconds, and the page answers meanwhile", { timeout: 120_000 }, async () => {
  const { page, wrong } = await opened({ viewport: { width: 1280, height: 900 } });
  for (const [kind, source] of hostile) {
    await page.selectOption("#kind", kind);
    const began = Date.now();
    await page.evaluate((source) => {
      document.getElementById("grammar-status").textContent = "";
      document.getElementById("source").value = source;
      document.getElementById("source").dispatchEvent(new Event("input"));
    }, source);
    const frames = page.evaluate(
      () =>
        new Promise((done) => {
          let longest = 0;
          let last = performance.now();
          const look = () => {
            const now = performance.now();
            longest = Math.max(longest, now - last);
            last = now;
            document.getElementById("grammar-status").textContent === "" ? requestAnimationFrame(look) : done(longest);
          };
          look();
        }),
    );
    await says(page, "grammar-status", /./);
    assert.ok(Date.now() - began < 2_600, `${kind} ${source.slice(0, 40)}: ${Date.now() - began} ms`);
    assert.ok((await frames) < 500, `${kind} ${source.slice(0, 40)}: the page stood still`);
  }
  // It goes on as if nothing had happened.
  await page.selectOption("#example", { index: 2 });
  await says(page, "place", /expected/);
  assert.deepEqual(wrong, []);
});
