/** The blocks of pages that say `run by: cargo xtask js`, in order, as one module for each page. */

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, symlinkSync, mkdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { root } from "./support.mjs";

const MARKED = /^<!-- run by: cargo xtask js -->\n```js\n(.*?)^```$/gms;
const pages = ["README.md", ...["docs", "examples"].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true }).filter((name) => name.endsWith(".md")).map((name) => join(folder, name)))];

let nPages = 0;
for (const page of pages) {
  const blocks = [...readFileSync(join(root, page), "utf8").matchAll(MARKED)].map(([, block]) => block);
  if (blocks.length === 0) continue;
  nPages++;
  test(page, () => {
    const folder = mkdtempSync(join(tmpdir(), "maskwright-page-"));
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(join(root, "js", "package"), join(folder, "node_modules", "maskwright"));
    writeFileSync(join(folder, "page.mjs"), blocks.join("\n"));
    const run = spawnSync(process.execPath, ["--preserve-symlinks", "page.mjs"], { cwd: folder, encoding: "utf8", timeout: 60_000 });
    assert.equal(run.status, 0, run.stderr);
    assert.notEqual(run.stdout, "");
  });
}

test("some pages have blocks", () => assert.ok(nPages >= 1));
