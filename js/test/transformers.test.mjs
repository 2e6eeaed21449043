/** The processor for transformers.js, with that package's own classes and its `generate`, which runs a model of two nodes. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  AutoModelForCausalLM, env, LogitsProcessor, LogitsProcessorList, PreTrainedTokenizer, Tensor,
} from "@huggingface/transformers";
import { Compiler } from "../package/index.js";
import { compilerOf, grammarProcessor } from "../package/transformers.js";
import { written } from "./onnx.mjs";
import { byteTokenizer, END } from "./support.mjs";

const GrammarProcessor = grammarProcessor(LogitsProcessor);
const compiler = new Compiler(byteTokenizer());
const WIDTH = 300;

const table = Float32Array.from({ length: WIDTH * WIDTH }, (_, at) => ((at * 7919) % 10007) / 1000);
const files = written(table, WIDTH, END);
env.allowRemoteModels = false;
env.localModelPath = files.parent;
const model = await AutoModelForCausalLM.from_pretrained(files.name, { dtype: "fp32" });

/** What `generate` writes after each prompt, until the end. */
async function write(prompts, options) {
  const inputs = new Tensor("int64", BigInt64Array.from(prompts.flat().map(BigInt)), [prompts.length, prompts[0].length]);
  const rows = (await model.generate({ inputs, ...options })).tolist();
  return rows.map((row) => {
    const tokens = row.slice(prompts[0].length).map(Number);
    return tokens.includes(END) ? tokens.slice(0, tokens.indexOf(END)) : tokens;
  });
}

test("texts of a batch are those of the grammar, within the limit", async () => {
  const grammar = compiler.compile("json_schema", { type: "array", items: { type: "string" }, minItems: 1 });
  const [maxTokens, prompts] = [12, [[1, 2], [3, 4]]];
  for (const do_sample of [false, true]) {
    const processor = new GrammarProcessor(grammar, { maxTokens });
    for (let again = 0; again < 3; again++) {
      const processors = new LogitsProcessorList();
      processors.push(processor);
      for (const tokens of await write(prompts, { max_new_tokens: maxTokens, do_sample, logits_processor: processors })) {
        const text = compiler.tokenizer.decode(tokens);
        assert.ok(grammar.check(text).isValid && tokens.length < maxTokens, text);
      }
      processor.reset();
    }
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
  // The end is what the tokenizer calls so, whatever names there are.
  json.added_tokens.push({ ...json.added_tokens[0], id: 3, content: "<STOP>" });
  assert.deepEqual(compilerOf(new PreTrainedTokenizer(json, { eos_token: "<STOP>" })).tokenizer.eosTokenIds, [3]);
  assert.deepEqual(compilerOf(tokenizer, { eosTokenIds: [2, 3] }).tokenizer.eosTokenIds, [2, 3]);
});

test("another prompt begins anew, without reset too", () => {
  const processor = new GrammarProcessor(compiler.compile("regex", "abc"));
  const allowed = (ids) => {
    const { data } = processor._call([ids], new Tensor("float32", new Float32Array(WIDTH), [1, WIDTH]));
    return [...data.keys()].filter((id) => data[id] > -Infinity).map((id) => String.fromCharCode(id));
  };
  assert.deepEqual([allowed([1n, 2n]), allowed([1n, 2n, 97n]), allowed([1n, 2n, 97n, 98n])], [["a"], ["b"], ["c"]]);
  assert.deepEqual(allowed([1n, 2n, 97n]), ["b"]);
  for (const prompt of [[9n], [3n, 2n, 97n], [1n, 2n, 3n, 4n, 5n, 6n]]) {
    assert.deepEqual([allowed(prompt), allowed([...prompt, 97n])], [["a"], ["b"]]);
  }
});
