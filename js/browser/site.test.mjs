/** The built site in headless Chromium: what its search finds, that each page is near, and six pages wide and narrow, light and dark. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, normalize } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";

const folder = fileURLToPath(new URL("../../target/site/", import.meta.url));
const shots = process.env.MASKWRIGHT_SCREENSHOTS;
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json" };

/** What users type, and a page that answers it: among the first three pages that are found. */
const TERMS = {
  unevaluatedProperties: "reference/json-schema.html",
  additionalProperties: "reference/json-schema.html",
  "date-time": "reference/json-schema.html",
  uniqueItems: "reference/json-schema.html",
  max_tokens: "guides/limits.html",
  MaxTokensTooSmall: "reference/errors.html",
  tool_choice: "guides/tool-calls.html",
  GBNF: "reference/gbnf.html",
  apply_patch: "start/index.html",
  MaskStatus: "guides/limits.html",
  LogitsProcessor: "reference/python.html",
  MASKWRIGHT_VLLM: "reference/environment.html",
  mask_work: "reference/limits.html",
  lookahead: "guides/regex.html",
  pydantic: "guides/pydantic.html",
  streaming: "guides/streaming-tool-calls.html",
  outlines: "coming-from/outlines.html",
  indentation: "guides/lark-lexers.html",
  diffusion: "guides/diffusion.html",
  "llama-server": "start/server.html",
};
const PAGES = ["index.html", "start/server.html", "guides/tool-calls.html", "reference/json-schema.html", "reference/python.html", "compare.html"];

let server;
let address;
let browser;

before(async () => {
  server = createServer(async (request, response) => {
    const name = normalize(decodeURIComponent(new URL(request.url, "http://site/").pathname));
    try {
      const data = await readFile(folder + (name.endsWith("/") ? `${name}index.html` : name));
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

/** A page, and what it has done wrong so far: nothing may be fetched from elsewhere. */
async function opened(name, options) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const wrong = [];
  page.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  page.on("pageerror", (error) => wrong.push(String(error)));
  page.on("request", (request) => request.url().startsWith(address) || wrong.push(request.url()));
  await page.goto(address + name);
  return { page, wrong };
}

/** The pages of the site that the visible links of a page lead to. */
async function links(page, name) {
  await page.goto(address + name);
  const found = await page.$$eval("a[href]", (all) => all.filter((link) => link.checkVisibility()).map((link) => link.href.split("#")[0]));
  return found.filter((link) => link.startsWith(address)).map((link) => link.slice(address.length) || "index.html");
}

test("the search finds what users type", { timeout: 240_000 }, async () => {
  const { page, wrong } = await opened("index.html", { viewport: { width: 1280, height: 900 } });
  const missed = [];
  for (const [term, expected] of Object.entries(TERMS)) {
    await page.goto(`${address}index.html?q=${encodeURIComponent(term)}`);
    const found = page.locator(".md-search-result__item > .md-search-result__link");
    await found.first().waitFor({ timeout: 20_000 }).catch(() => {});
    const paths = (await found.evaluateAll((all) => all.map((link) => link.href))).map((link) => new URL(link).pathname.slice(1));
    const pages = [...new Set(paths)];
    if (!pages.slice(0, 3).includes(expected)) missed.push(`${term}: ${expected} is not among ${pages.slice(0, 3)}, but number ${pages.indexOf(expected) + 1}`);
  }
  assert.deepEqual(missed, []);
  assert.deepEqual(wrong, []);
});

test("each page is within two clicks of home", { timeout: 240_000 }, async () => {
  const { page } = await opened("index.html", { viewport: { width: 1280, height: 900 } });
  const all = [...(await readFile(`${folder}sitemap.xml`, "utf8")).matchAll(/<loc>[^<]*?\/maskwright\/([^<]*)<\/loc>/g)].map((match) => match[1] || "index.html");
  const first = new Set(await links(page, "index.html"));
  const near = new Set(first);
  for (const name of first) if (name.endsWith(".html")) for (const link of await links(page, name)) near.add(link);
  assert.ok(all.length > 40, `${all.length} pages`);
  assert.deepEqual(all.filter((name) => !near.has(name)), []);
});

for (const [width, colorScheme] of [[1280, "light"], [1280, "dark"], [390, "light"], [390, "dark"]]) {
  test(`six pages at ${width} pixels, ${colorScheme}`, { timeout: 120_000 }, async () => {
    for (const name of PAGES) {
      const { page, wrong } = await opened(name, { viewport: { width, height: 900 }, colorScheme });
      await page.waitForLoadState("networkidle");
      assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= width, `${name}: wider than the page`);
      const broken = await page.$$eval("img", (all) => all.filter((image) => image.checkVisibility() && !image.naturalWidth).map((image) => image.src));
      assert.deepEqual(broken, [], name);
      // Text and what is behind it.
      const [text, behind] = await page.evaluate(() => [document.querySelector("article h1"), document.body].map((node) => getComputedStyle(node)).map((style, i) => (i ? style.backgroundColor : style.color)));
      const light = (colour) => colour.match(/[\d.]+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
      assert.equal(light(behind) < 128, colorScheme === "dark", `${name}: ${behind}`);
      assert.ok(Math.abs(light(text) - light(behind)) > 80, `${name}: ${text} on ${behind}`);
      assert.deepEqual(wrong, [], name);
      if (shots) await page.screenshot({ path: `${shots}/${name.replaceAll("/", "-").replace(".html", "")}-${width}-${colorScheme}.png` });
      await page.context().close();
    }
  });
}
