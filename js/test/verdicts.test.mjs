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

test("JSON Schemas", () => {
  let n = 0;
  for (const name of ["types", "objects", "arrays", "strings", "numbers", "combinations", "references", "formats", "members"]) {
    for (const one of cases(`json-schema/${name}.jsonl`)) {
      n += judge(compiler.compile("json_schema", one.schema), one, JSON.stringify(one.schema));
    }
  }
  for (const one of cases("json-schema/any-order.jsonl")) {
    n += judge(compiler.compile("json_schema", one.schema, { property_order: "any" }), one, JSON.stringify(one.schema));
  }
  assert.ok(n > 500, `${n}`);
});

test("regular expressions", () => {
  for (const one of cases("syntax/regexes.jsonl")) {
    judge(compiler.compile("regex", one.pattern, { dialect: one.dialect }), one, one.pattern);
  }
});

test("every file of cases is there", () => {
  assert.ok(readdirSync(`${root}testdata/json-schema`).includes("members.jsonl"));
});
