/** Every function of the package, its errors, and what happens after misuse. */

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { Compiler, load, MaskwrightError, Tokenizer } from "../package/index.js";
import { byteTokenizer, END, root, sharedPath } from "./support.mjs";
import { readFileSync } from "node:fs";

const compiler = new Compiler(byteTokenizer());
const OBJECT = { type: "object", properties: { a: { type: "integer" } }, required: ["a"], additionalProperties: false };

test("a loop", () => {
  const matcher = compiler.compile("json_schema", OBJECT).matcher({ maxTokens: 12 });
  const mask = new Uint32Array(compiler.tokenizer.maskWords);
  while (!matcher.isTerminated) {
    // Near the limit a mask may lack tokens.
    assert.deepEqual(Object.keys(matcher.fillMask(mask)), ["isExact", "isFull"]);
    assert.ok(!matcher.fillMask(mask).isFull);
    const allowed = matcher.allowedTokens();
    assert.deepEqual(allowed, [...Array(258).keys()].filter((id) => (mask[id >>> 5] >>> (id & 31)) & 1));
    const logits = matcher.applyTo(new Float32Array(300).fill(1));
    assert.deepEqual([...logits.keys()].filter((id) => logits[id] === 1), allowed);
    assert.ok(matcher.accept(allowed[0]));
  }
  assert.ok(matcher.nTokens <= 12 && Number.isInteger(JSON.parse(matcher.text).a));
});

test("steps back, copies, and what must come", () => {
  const grammar = compiler.compile("choice", ["yes", "yellow"]);
  const matcher = grammar.matcher();
  assert.equal(matcher.forcedText(), "ye");
  assert.deepEqual(matcher.forcedTokens(), [121, 101]);
  assert.equal(matcher.acceptTokens([121, 101, 120]), 2);
  assert.equal(matcher.validate([115, END, 1]), 2);
  const fork = matcher.fork();
  assert.ok(fork.acceptText("s") && fork.isAccepting && !matcher.isAccepting);
  matcher.rollback(2);
  assert.equal(matcher.text, "");
  assert.equal(matcher.tokensToFinish(), 4);
  assert.deepEqual(matcher.finish(), [121, 101, 115, END]);
  assert.throws(() => matcher.rollback(1), { kind: "state" });
  fork.reset();
  assert.equal(fork.nTokens, 0);
  assert.match(fork.explain(0), /is refused/);
  assert.ok(grammar.matcher({ stopTokenIds: [257] }).acceptText("yes"));
});

test("what a text says", () => {
  const tools = [{ name: "look", inputSchema: OBJECT }];
  const grammar = compiler.compile("tool_calls", tools, { format: "qwen_3" });
  const text = 'Hm.\n<tool_call>\n{"name": "look", "arguments": {"a": 7}}\n</tool_call>';
  const message = grammar.parse(text);
  assert.deepEqual(message.calls, [{ name: "look", id: null, input: null, arguments: { a: 7 }, argumentsJson: '{"a":7}' }]);
  assert.equal(message.text, "Hm.\n");
  const matcher = grammar.matcher();
  assert.ok(matcher.acceptText(text.slice(0, -15)));
  assert.deepEqual(matcher.events()[0], { kind: "text", delta: "Hm.\n", tag: null });
  assert.equal(matcher.events(1)[0].kind, "tool");
  assert.equal(matcher.state().path, "/a");
  assert.ok(grammar.report().some((entry) => entry.keyword === "required" && entry.tool === "look"));
  const value = compiler.compile("json_schema", OBJECT);
  assert.deepEqual(value.parse('{"a": 5}').value, { a: 5 });
  const check = value.check('{"a": true}');
  assert.deepEqual([check.isValid, check.offset, check.path], [false, 6, "/a"]);
  const captured = compiler.compile("gbnf", 'root ::= item ("," item)*\nitem ::= [0-9]+', { capture: ["item"] });
  const captures = captured.matcher();
  captures.acceptText("12,3");
  assert.deepEqual(captures.captures().map(({ text, end }) => [text, end]), [["12", 2], ["3", null]]);
  assert.match(captured.toLlguidance(), /^%llguidance \{"maskwright":/);
  assert.match(compiler.compile("gbnf", 'root ::= "<call>"').warnings()[0], /special token/);
});

test("tokenizers", () => {
  const json = { model: { type: "BPE", vocab: { a: 0, b: 1, ab: 2 }, merges: ["a b"] }, decoder: { type: "ByteLevel" },
    added_tokens: [{ id: 3, content: "</s>", special: true }] };
  for (const given of [json, JSON.stringify(json)]) {
    const tokenizer = Tokenizer.fromJson(given, { vocabSize: 40 });
    assert.deepEqual([tokenizer.vocabSize, tokenizer.maskWords, tokenizer.eosTokenIds], [40, 2, [3]]);
    assert.deepEqual(tokenizer.specialTokens, { "</s>": 3 });
    assert.deepEqual([...tokenizer.encode("abb")], [2, 1]);
    assert.deepEqual([...tokenizer.encode("a</s>", { specialTokens: true })], [0, 3]);
    assert.equal(tokenizer.decode([2, 1]), "abb");
    assert.deepEqual([tokenizer.tokenBytes(2), tokenizer.tokenBytes(3)], [Uint8Array.of(97, 98), null]);
  }
  const real = sharedPath("tokenizers/llama3_1/tokenizer.json");
  if (real !== null) {
    const tokenizer = Tokenizer.fromJson(readFileSync(real, "utf8"));
    const matcher = new Compiler(tokenizer).compile("regex", "[a-z]{1,9}").matcher();
    assert.ok(matcher.allowedTokens().length > 10_000);
  }
});

test("errors have their place", () => {
  const cases = [
    [() => compiler.compile("gbnf", 'root ::= itm\nitem ::= "a"'), { kind: "grammar", line: 1, column: 10, hint: "did you mean `item`?" }],
    [() => compiler.compile("json_schema", { type: "strin" }), { kind: "schema", pointer: "", keyword: "type" }],
    [() => compiler.compile("json_schema", "{"), { kind: "schema", line: 1 }],
    [() => compiler.compile("regex", "a", { dialekt: "ecma" }), { kind: "argument" }],
    [() => compiler.compile("xml", "a"), { kind: "argument" }],
    [() => compiler.compile("regex", "a{9}").matcher({ maxTokens: 3 }), { kind: "max_tokens_too_small", needed: 10 }],
    [() => new Compiler(compiler.tokenizer, { compile_work: 5 }).compile("regex", "a{9}(b|cc)*"), { kind: "limit", limit: "compile_work" }],
    [() => compiler.compile("regex", "a").parse("b"), { kind: "argument" }],
    [() => Tokenizer.fromJson("{}"), { kind: "tokenizer" }],
    [() => Tokenizer.fromTokens(["a"], { eosTokenIds: [7] }), { kind: "tokenizer" }],
  ];
  for (const [call, fields] of cases) {
    assert.throws(call, (error) => {
      assert.ok(error instanceof MaskwrightError && error.message !== "", String(error));
      for (const [name, value] of Object.entries(fields)) assert.equal(error[name], value, `${name} of ${error.message}`);
      return true;
    });
  }
});

test("a mark of byte order is a character", () => {
  const matcher = compiler.compile("choice", ["\ufeffyes"]).matcher();
  assert.equal(matcher.forcedText(), "\ufeffyes");
  assert.ok(matcher.acceptText("\ufeffy"));
  assert.equal(matcher.text, "\ufeffy");
  assert.equal(compiler.tokenizer.decode([0xef, 0xbb, 0xbf, 97]), "\ufeffa");
});

test("misuse", () => {
  const matcher = compiler.compile("regex", "a+").matcher();
  assert.throws(() => matcher.fillMask([0]), TypeError);
  assert.throws(() => matcher.fillMask(new Uint32Array(2)), { kind: "argument" });
  assert.throws(() => matcher.applyTo(new Float32Array(5)), /5 logits for a tokenizer of 258 tokens/);
  for (const id of [-1, 1.5, "a", null, 2 ** 32, NaN, [], "", true, undefined]) assert.throws(() => matcher.accept(id), TypeError);
  for (const ids of [97, "a", null, [null], { length: 1 }]) assert.throws(() => matcher.acceptTokens(ids), TypeError);
  for (const kind of [5, null, undefined]) assert.throws(() => compiler.compile(kind, "a"), TypeError);
  for (const source of [5, /a/, undefined, null, "\ud800"]) assert.throws(() => compiler.compile("regex", source), TypeError);
  assert.throws(() => compiler.compile("json_schema", undefined), TypeError);
  assert.throws(() => compiler.compile("json_schema", { minimum: Infinity }), TypeError);
  for (const text of [5, undefined, "\ud800"]) assert.throws(() => compiler.tokenizer.encode(text), TypeError);
  assert.throws(() => new Compiler(compiler.tokenizer, { compile_work: NaN }), TypeError);
  for (const n of [2 ** 32, NaN, -1]) assert.throws(() => matcher.rollback(n), TypeError);
  for (const n of [-1, NaN]) assert.throws(() => matcher.events(n), TypeError);
  assert.throws(() => compiler.compile("regex", "a").matcher({ stopTokenIds: 257 }), TypeError);
  assert.throws(() => Tokenizer.fromJson(undefined), TypeError);
  for (const logits of [{}, null, 5]) assert.throws(() => matcher.applyTo(logits), TypeError);
  assert.equal(matcher.accept(4_000_000_000), false);
  assert.throws(() => matcher.acceptText(5), TypeError);
  assert.throws(() => matcher.rollback(-1), TypeError);
  assert.throws(() => compiler.compile("regex", "a").matcher({ maxTokens: -3 }), TypeError);
  assert.throws(() => new Compiler({}), TypeError);
  const hostile = new Compiler(compiler.tokenizer);
  assert.throws(() => hostile.compile("json_schema", `${'{"not":'.repeat(400)}{}${"}".repeat(400)}`), MaskwrightError);
  assert.throws(() => hostile.compile("gbnf", `root ::= ${"(".repeat(100_000)}`), MaskwrightError);
  matcher.free();
  assert.throws(() => matcher.accept(97));
});

test("the engine is loaded once, and before it is used", async () => {
  assert.equal(load(), load());
  const code = `import { Tokenizer } from "${root}js/package/index.js"; Tokenizer.fromTokens(["a"]);`;
  const run = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
  assert.match(run.stderr, /call `await load\(\)` first/);
});
