/**
 * Beside the package for structured output of transformers.js: every twelfth schema of MaskBench, which are compiled, and what they
 * say of its texts. `node compare.mjs`, after `cargo xtask js` and `npm install --no-save @huggingface/transformers-structured-output@4.3.0`.
 */

import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { PreTrainedTokenizer } from "@huggingface/transformers";
import { StructuredOutputProcessor } from "@huggingface/transformers-structured-output";
import { Compiler, load, Tokenizer } from "./package/index.js";

await load();
const shared = process.env.MASKWRIGHT_SHARED ?? fileURLToPath(new URL("../../shared", import.meta.url));
const folder = `${shared}/data/maskbench/`;
const files = readdirSync(folder).filter((name) => name.endsWith(".jsonl")).sort();
const lines = files.flatMap((name) => readFileSync(folder + name, "utf8").split("\n").filter((line) => line !== ""));
const cases = lines.filter((_, index) => index % 12 === 0).map((line) => JSON.parse(line));

/** A tokenizer of bytes, in the alphabet of byte-level BPE. */
function byteTokenizer() {
  let next = 256;
  const isShown = (byte) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  const bytes = [...Array(256).keys()];
  const vocab = Object.fromEntries(bytes.map((byte) => [String.fromCodePoint(isShown(byte) ? byte : next++), byte]));
  const end = { id: 256, content: "</s>", special: true, single_word: false, lstrip: false, rstrip: false, normalized: false };
  const json = {
    version: "1.0", normalizer: null, pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, use_regex: false },
    post_processor: null, decoder: { type: "ByteLevel" }, model: { type: "BPE", vocab, merges: [] }, added_tokens: [end],
  };
  return new PreTrainedTokenizer(json, { eos_token: "</s>" });
}

const tokenizer = byteTokenizer();
const tokens = [...Array(256).keys()].map((byte) => Uint8Array.of(byte));
const compiler = new Compiler(Tokenizer.fromTokens([...tokens, "</s>"], { eosTokenIds: [256] }));

function ours(schema) {
  const grammar = compiler.compile("json_schema", schema, { property_order: "any" });
  return (text) => {
    const matcher = grammar.matcher();
    const accepts = matcher.acceptText(text) && matcher.isAccepting;
    matcher.free();
    return accepts;
  };
}

function theirs(schema) {
  const make = () => new StructuredOutputProcessor(tokenizer, { type: "json_schema", json_schema: schema });
  make();
  return (text) => {
    const { constraint } = make().processors[0].state;
    const mask = new Uint32Array(9);
    const allows = (id) => constraint.fillMask(mask) && ((mask[id >>> 5] >>> (id & 31)) & 1) === 1;
    for (const byte of new TextEncoder().encode(text)) {
      if (!allows(byte)) return false;
      constraint.commit(byte);
    }
    return allows(256);
  };
}

/** With a blank after each comma and colon, as other languages write JSON. */
function spaced(value) {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  return `{${Object.entries(value).map(([key, one]) => `${JSON.stringify(key)}: ${spaced(one)}`).join(", ")}}`;
}

for (const [name, compile] of Object.entries({ maskwright: ours, "transformers-structured-output": theirs })) {
  const counts = { compiled: 0, refused: 0, texts: 0, "valid, refused": 0, "invalid, accepted": 0 };
  for (const { schema, tests } of cases) {
    let accepts;
    try {
      accepts = compile(schema);
      counts.compiled++;
    } catch {
      counts.refused++;
      continue;
    }
    for (const { valid, data } of tests) {
      const accepted = [JSON.stringify(data), spaced(data)].some(accepts);
      counts.texts++;
      if (valid && !accepted) counts["valid, refused"]++;
      if (!valid && accepted) counts["invalid, accepted"]++;
    }
  }
  console.log(name, counts);
}
