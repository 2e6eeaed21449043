/** What the tests share: the repository's data, and a small tokenizer. */

import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { load, Tokenizer } from "../package/index.js";

await load();

export const root = fileURLToPath(new URL("../../", import.meta.url));
export const shared = process.env.MASKWRIGHT_SHARED ?? `${root}../shared`;

export function lines(path) {
  return readFileSync(path, "utf8").split("\n").filter((line) => line !== "");
}

/** A path of the shared data, or null where it is absent. */
export function sharedPath(name) {
  const path = `${shared}/${name}`;
  return existsSync(path) ? path : null;
}

export const END = 256;

/** Single bytes, an end, and a special token. */
export function byteTokenizer() {
  const tokens = [...Array(256).keys()].map((byte) => Uint8Array.of(byte));
  return Tokenizer.fromTokens([...tokens, "</s>", "<call>"], { eosTokenIds: [END], specialTokenIds: [257] });
}
