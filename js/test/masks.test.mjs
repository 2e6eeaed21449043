/** The masks of `testdata/masks`, which are the same in every language. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Compiler, Tokenizer } from "../package/index.js";
import { lines, root } from "./support.mjs";

function tokenizer() {
  const [tokens, eosTokenIds, specialTokenIds] = [[], [], []];
  lines(`${root}testdata/masks/vocabulary.txt`).forEach((line, id) => {
    const [hex, mark] = line.split(" ");
    tokens.push(Uint8Array.from(Buffer.from(hex, "hex")));
    if (mark === "end") eosTokenIds.push(id);
    if (mark === "special") specialTokenIds.push(id);
  });
  return Tokenizer.fromTokens(tokens, { eosTokenIds, specialTokenIds });
}

test("masks are those of the record", () => {
  const compiler = new Compiler(tokenizer());
  const pairs = lines(`${root}testdata/masks/pairs.jsonl`).map((line) => JSON.parse(line));
  assert.equal(pairs.length, 500);
  const mask = new Uint32Array(compiler.tokenizer.maskWords);
  const bytes = new Uint8Array(mask.buffer);
  for (const pair of pairs) {
    const grammar = compiler.compile(pair.kind, pair.source, pair.options);
    const matcher = grammar.matcher();
    let number = 0xcbf29ce484222325n;
    for (const token of [...pair.tokens, null]) {
      matcher.fillMask(mask);
      for (const byte of bytes) number = BigInt.asUintN(64, (number ^ BigInt(byte)) * 0x100000001b3n);
      assert.ok(token === null || matcher.accept(token));
    }
    assert.equal(number.toString(16).padStart(16, "0"), pair.masks, pair.source);
    matcher.free();
    grammar.free();
  }
});
