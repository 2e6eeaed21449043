/** A model of two nodes, as the files that transformers.js loads: the logits of a token are a row of a table, by the last token. */

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A field of a protocol buffer: a number, or bytes with their length. */
function field(number, value) {
  if (typeof value === "number") return Buffer.from([...varint(number << 3), ...varint(value)]);
  const bytes = typeof value === "string" ? Buffer.from(value) : Buffer.concat([value].flat());
  return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes]);
}

function varint(value) {
  const bytes = [];
  for (; value >= 128; value = Math.floor(value / 128)) bytes.push((value % 128) | 128);
  return [...bytes, value];
}

const node = (type, inputs, output) => field(1, [...inputs.map((name) => field(1, name)), field(2, output), field(4, type)]);
const dimension = (size) => field(1, typeof size === "string" ? field(2, size) : field(1, size));
const value = (name, type, shape) => [field(1, name), field(2, field(1, [field(1, type), field(2, shape.map(dimension))]))];

/** `table`: a Float32Array of size × size. */
function model(table, size) {
  const [float, int64] = [1, 7];
  const weights = [field(1, size), field(1, size), field(2, float), field(8, "table"), field(9, Buffer.from(table.buffer))];
  const graph = [
    node("Gather", ["table", "input_ids"], "rows"),
    node("Identity", ["rows"], "logits"),
    field(2, "two nodes"),
    field(5, weights),
    field(11, value("input_ids", int64, ["batch", "tokens"])),
    field(12, value("logits", float, ["batch", "tokens", size])),
  ];
  return Buffer.concat([field(1, 8), field(7, graph), field(8, field(2, 13))]);
}

/** Writes the files to a folder; returns the folder that holds it, and its name there. */
export function written(table, size, eosTokenId) {
  const parent = mkdtempSync(join(tmpdir(), "maskwright-"));
  const folder = join(parent, "model");
  mkdirSync(join(folder, "onnx"), { recursive: true });
  const config = {
    architectures: ["LlamaForCausalLM"], model_type: "llama", vocab_size: size, hidden_size: 8, num_hidden_layers: 1,
    num_attention_heads: 1, num_key_value_heads: 1, eos_token_id: eosTokenId, bos_token_id: eosTokenId,
  };
  writeFileSync(join(folder, "config.json"), JSON.stringify(config));
  writeFileSync(join(folder, "generation_config.json"), JSON.stringify({ eos_token_id: eosTokenId, pad_token_id: eosTokenId }));
  writeFileSync(join(folder, "onnx/model.onnx"), model(table, size));
  return { parent, name: "model" };
}
