/** A stack that overflows within the engine ends it, as a bug does. In a file of its own, for the same reason as `panic.test.mjs`. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Compiler, EnginePanic } from "../package/index.js";
import { byteTokenizer } from "./support.mjs";

test("an overflow of the stack says so, at every later call too", () => {
  const compiler = new Compiler(byteTokenizer());
  const compile = () => compiler.compile("gbnf", `root ::= ${"(".repeat(60)}"a"${")".repeat(60)}`);
  const deep = (n) => (n === 0 ? compile() : deep(n - 1));
  let isEnded = false;
  for (let n = 100; n < 100_000 && !isEnded; n += 20) {
    try {
      deep(n).free();
    } catch (error) {
      assert.ok(error instanceof EnginePanic || error instanceof RangeError, String(error));
      // If the engine was not reached, it still works.
      try {
        compile().free();
      } catch (later) {
        assert.ok(later instanceof EnginePanic, String(later));
        isEnded = true;
      }
    }
  }
  assert.ok(isEnded);
  assert.throws(compile, EnginePanic);
});
