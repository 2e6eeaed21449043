/** The processor for transformers.js, with that package's own classes and a greedy loop in the place of a model. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { LogitsProcessor, LogitsProcessorList, PreTrainedTokenizer, Tensor } from "@huggingface/transformers";
import { Compiler } from "../package/index.js";
import { compilerOf, grammarProcessor } from "../package/transformers.js";
import { byteTokenizer, END } from "./support.mjs";

const GrammarProcessor = grammarProcessor(LogitsProcessor);
const compiler = new Compiler(byteTokenizer());
const WIDTH = 300;

/** Takes the token with the greatest logit after the processors, for each row, as `generate` does. */
function write(processor, prompts, n) {
  const list = new LogitsProcessorList();
  list.push(processor);
  const rows = prompts.map((prompt) => prompt.map(BigInt));
  for (let step = 0; step < n; step++) {
    const data = Float32Array.from({ length: rows.length * WIDTH }, (_, at) => ((at + step) * 7919) % 101);
    const logits = list(rows, new Tensor("float32", data, [rows.length, WIDTH]));
    rows.forEach((row, index) => {
      const own = logits.data.slice(index * WIDTH, (index + 1) * WIDTH);
      row.push(BigInt(own.indexOf(Math.max(...own))));
    });
  }
  return rows.map((row, index) => {
    const written = row.slice(prompts[index].length).map(Number);
    return written.slice(0, written.includes(END) ? written.indexOf(END) : n);
  });
}

test("texts of a batch are those of the grammar, within the limit", () => {
  const grammar = compiler.compile("json_schema", { type: "array", items: { type: "integer" }, minItems: 1 });
  const processor = new GrammarProcessor(grammar, { maxTokens: 12 });
  for (let again = 0; again < 2; again++) {
    for (const tokens of write(processor, [[1, 2], [3, 4]], 14)) {
      const text = compiler.tokenizer.decode(tokens);
      assert.ok(grammar.check(text).isValid && tokens.length < 12, text);
    }
    processor.reset();
  }
});

test("tokens that another processor chose are an error with words", () => {
  const processor = new GrammarProcessor(compiler.compile("regex", "[ab]+"));
  const logits = () => new Tensor("float32", new Float32Array(WIDTH), [1, WIDTH]);
  processor._call([[1n]], logits());
  assert.throws(() => processor._call([[1n, 99n]], logits()), /token 99 was not allowed: .*`c`/);
});

test("a compiler for a tokenizer of transformers.js", () => {
  const json = {
    version: "1.0", normalizer: null, pre_tokenizer: { type: "ByteLevel", add_prefix_space: false }, post_processor: null,
    decoder: { type: "ByteLevel" }, model: { type: "BPE", vocab: { a: 0, b: 1 }, merges: [] },
    added_tokens: [{ id: 2, content: "</s>", special: true, single_word: false, lstrip: false, rstrip: false, normalized: false }],
  };
  const tokenizer = new PreTrainedTokenizer(json, { eos_token: "</s>" });
  assert.deepEqual(compilerOf(tokenizer).compile("regex", "b").matcher().allowedTokens(), [1]);
  assert.throws(() => compilerOf({}), TypeError);
});
