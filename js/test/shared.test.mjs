/** The verdicts of the official JSON Schema suite and of MaskBench, which `cargo xtask js` has the native library write. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Compiler, Tokenizer } from "../package/index.js";
import { lines } from "./support.mjs";

const written = process.env.MASKWRIGHT_VERDICTS;

test("verdicts are those of the native library", { skip: written ? false : "MASKWRIGHT_VERDICTS is not set" }, () => {
  const tokens = [...Array(256).keys()].map((byte) => Uint8Array.of(byte));
  const compiler = new Compiler(Tokenizer.fromTokens([...tokens, "</s>"], { eosTokenIds: [256] }));
  let n = 0;
  for (const line of lines(written)) {
    const { schema, texts, verdicts } = JSON.parse(line);
    let grammar = null;
    let refused = null;
    try {
      grammar = compiler.compile("json_schema", schema);
    } catch (error) {
      refused = error.kind;
    }
    texts.forEach((text, index) => {
      let verdict = refused;
      if (grammar !== null) {
        const matcher = grammar.matcher();
        try {
          verdict = matcher.acceptText(text) && matcher.isAccepting;
        } catch (error) {
          verdict = error.kind;
        }
        matcher.free();
      }
      assert.equal(verdict, verdicts[index], `${text} of ${schema}`);
      n++;
    });
    grammar?.free();
  }
  assert.ok(n > 5_000, `${n}`);
});
