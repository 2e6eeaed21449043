/** What a bug in the engine does. In a file of its own, because nothing of the engine can be used afterwards. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { Compiler, EnginePanic } from "../package/index.js";
import { byteTokenizer } from "./support.mjs";

test("a panic says so, at every later call too", () => {
  const compiler = new Compiler(byteTokenizer());
  const [broken, other] = [compiler.compile("regex", "a"), compiler.compile("regex", "b")];
  broken._inner.__wbg_ptr = 0xfffffff0;
  assert.throws(() => broken.matcher(), (error) => error instanceof EnginePanic && /please report it/.test(error.message));
  assert.throws(() => other.matcher(), EnginePanic);
});
