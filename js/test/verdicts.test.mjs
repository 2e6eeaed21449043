/** The verdicts of the repository's own cases of JSON Schemas, regular expressions and structural tags. */

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { Compiler } from "../package/index.js";
import { byteTokenizer, lines, root } from "./support.mjs";

const compiler = new Compiler(byteTokenizer());

function judge(grammar, { yes = [], no = [] }, what) {
  const accepts = (text) => {
    const matcher = grammar.matcher();
    const accepted = matcher.acceptText(text) && matcher.isAccepting;
    matcher.free();
    return accepted;
  };
  const texts = (list) => list.filter((text) => typeof text === "string");
  for (const text of texts(yes)) assert.ok(accepts(text), `${JSON.stringify(text)} of ${what}`);
  for (const text of texts(no)) assert.ok(!accepts(text), `${JSON.stringify(text)} of ${what}`);
  return texts(yes).length + texts(no).length;
}

function cases(path) {
  return lines(`${root}testdata/${path}`).filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
}

/** The schema of a case as it is written: JavaScript's numbers are not those of JSON. */
function written(line) {
  const start = line.indexOf('"schema": ') + '"schema": '.length;
  let end = start;
  for (let depth = 0, inText = false; ; end++) {
    if (line[end] === "\\") end++;
    else if (line[end] === '"') inText = !inText;
    else if (!inText && "{[".includes(line[end])) depth++;
    else if (!inText && "}]".includes(line[end])) depth--;
    if (!inText && depth === 0 && (end === line.length - 2 || line[end + 1] === ",")) return line.slice(start, end + 1);
  }
}

test("JSON Schemas", () => {
  let n = 0;
  for (const name of readdirSync(`${root}testdata/json-schema`).filter((name) => name.endsWith(".jsonl"))) {
    for (const line of lines(`${root}testdata/json-schema/${name}`).filter((line) => line.startsWith("{"))) {
      const one = JSON.parse(line);
      // Options that this package does not have.
      if (["style", "max_number_digits", "max_indent", "max_alternatives"].some((option) => option in one)) continue;
      const { property_order, numbers, whitespace, lenient } = one;
      const schema = written(line);
      const spaced = typeof whitespace === "number" ? { max_whitespace: whitespace } : { whitespace };
      const options = { property_order, numbers, strict: lenient !== true, ...spaced };
      if ("yes" in one || "no" in one) n += judge(compiler.compile("json_schema", schema, options), one, JSON.stringify(one));
      else assert.throws(() => compiler.compile("json_schema", schema, options), { kind: /schema|limit/ }, JSON.stringify(one));
    }
  }
  assert.ok(n > 1000, `${n}`);
});

test("regular expressions", () => {
  for (const one of cases("syntax/regexes.jsonl")) {
    // A pattern that matches nothing is refused.
    if (one.yes.length === 0) continue;
    judge(compiler.compile("regex", one.pattern, { dialect: one.dialect === "ascii" ? "rust_ascii" : one.dialect }), one, one.pattern);
  }
});
