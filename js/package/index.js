/**
 * Maskwright: which tokens may come next, given a grammar. The engine is in WebAssembly; `load` it once.
 *
 * @module maskwright
 */

import * as wasm from "./wasm/maskwright_js.js";

let loading = null;

/** What went wrong, and where. `index.d.ts` says what its fields are. */
export class MaskwrightError extends Error {
  constructor(described) {
    super(described.message);
    this.name = "MaskwrightError";
    const { message, ...fields } = described;
    Object.assign(this, fields);
  }
}

/** The engine has met a bug, and cannot be used any more in this page, worker or process. */
export class EnginePanic extends Error {
  constructor(message) {
    super(`a bug in Maskwright, please report it; start a new worker or load the page again: ${message}`);
    this.name = "EnginePanic";
  }
}

/**
 * Loads the engine. Browsers and bundlers find the file beside this one; `source` may be where it is instead, its bytes, or a
 * compiled module. Later calls return the first one's promise.
 */
export function load(source) {
  loading ??= start(source).catch((error) => {
    loading = null;
    throw error;
  });
  return loading;
}

async function start(source) {
  const given = source ?? new URL("./wasm/maskwright_js_bg.wasm", import.meta.url);
  const isFile = given instanceof URL && given.protocol === "file:";
  const module_or_path = isFile ? await (await import("node:fs/promises")).readFile(given) : given;
  await wasm.default({ module_or_path });
  isLoaded = true;
}

let isLoaded = false;
let panic = null;

/** Calls the engine: its errors become exceptions with fields, and a panic says so at every later call. */
function call(work) {
  if (!isLoaded) throw new Error("the engine is not loaded: call `await load()` first");
  if (panic !== null) throw new EnginePanic(panic);
  try {
    return work();
  } catch (error) {
    if (typeof error === "string") throw new MaskwrightError(JSON.parse(error));
    if (!(error instanceof WebAssembly.RuntimeError)) throw error;
    panic = wasm.panic_message() || error.message;
    throw new EnginePanic(panic);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Text or bytes as bytes. */
function bytesOf(text) {
  if (typeof text === "string") return encoder.encode(text);
  if (text instanceof Uint8Array) return text;
  throw new TypeError("expected a text as a string or a Uint8Array");
}

/** Token ids as the engine takes them. */
function idsOf(ids) {
  const list = Array.from(ids ?? [], Number);
  const wrong = list.find((id) => !Number.isInteger(id) || id < 0 || id > 0xffffffff);
  if (wrong !== undefined) throw new TypeError(`${wrong} is no token id`);
  return Uint32Array.from(list);
}

/** A grammar's source as text: JSON Schemas, tags, tools and choices may be values. */
function textOf(source) {
  return typeof source === "string" ? source : JSON.stringify(source);
}

/** A model's tokens. */
export class Tokenizer {
  constructor(inner) {
    this._inner = inner;
  }

  /** From `tokenizer.json`: its text, or the object that it holds. */
  static fromJson(json, { eosTokenIds = [], vocabSize = 0 } = {}) {
    return new Tokenizer(call(() => wasm.Tokenizer.from_json(textOf(json), idsOf(eosTokenIds), vocabSize)));
  }

  /** From all tokens, each a string or bytes; the position is the id. Empty tokens never match. */
  static fromTokens(tokens, { eosTokenIds = [], specialTokenIds = [] } = {}) {
    const all = Array.from(tokens, bytesOf);
    const lengths = Uint32Array.from(all, (token) => token.length);
    const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
    let at = 0;
    for (const token of all) {
      bytes.set(token, at);
      at += token.length;
    }
    return new Tokenizer(call(() => wasm.Tokenizer.from_tokens(bytes, lengths, idsOf(eosTokenIds), idsOf(specialTokenIds))));
  }

  get vocabSize() {
    return call(() => this._inner.n_vocab());
  }

  /** How many 32-bit words a mask has. */
  get maskWords() {
    return Math.ceil(this.vocabSize / 32);
  }

  get eosTokenIds() {
    return Array.from(call(() => this._inner.eos_token_ids()));
  }

  get specialTokens() {
    return JSON.parse(call(() => this._inner.special_tokens()));
  }

  tokenBytes(id) {
    return call(() => this._inner.token_bytes(idsOf([id])[0])) ?? null;
  }

  encode(text, { specialTokens = false } = {}) {
    return call(() => this._inner.encode(text, specialTokens));
  }

  decode(ids) {
    return decoder.decode(call(() => this._inner.decode(idsOf(ids))));
  }

  free() {
    this._inner.free();
  }
}

/** Compiles grammars for one tokenizer, and has the caches that they share. */
export class Compiler {
  constructor(tokenizer, limits = {}) {
    if (!(tokenizer instanceof Tokenizer)) throw new TypeError("expected a Tokenizer");
    this.tokenizer = tokenizer;
    this._inner = call(() => new wasm.Compiler(tokenizer._inner, JSON.stringify(limits)));
  }

  /** A grammar of a kind; see `index.d.ts` for the kinds and their options. */
  compile(kind, source, options = {}) {
    const inner = call(() => this._inner.compile(kind, textOf(source), JSON.stringify(options)));
    return new Grammar(inner, kind, this.tokenizer);
  }

  get memoryUsage() {
    return call(() => this._inner.memory_usage());
  }

  free() {
    this._inner.free();
  }
}

/** A compiled grammar. `Compiler.compile` makes one. */
export class Grammar {
  constructor(inner, kind, tokenizer) {
    Object.assign(this, { _inner: inner, kind, tokenizer });
  }

  report() {
    return JSON.parse(call(() => this._inner.report()));
  }

  warnings() {
    return JSON.parse(call(() => this._inner.warnings()));
  }

  toLlguidance() {
    return call(() => this._inner.to_llguidance());
  }

  /** What a whole text says: its text, reasoning, calls of tools, or value. */
  parse(text) {
    const message = JSON.parse(call(() => this._inner.parse(bytesOf(text))));
    const value = (json) => (json === null ? null : JSON.parse(json));
    const calls = message.calls.map((one) => ({ ...one, arguments: value(one.arguments), argumentsJson: one.arguments }));
    return { ...message, calls, value: value(message.value) };
  }

  /** How far a text is in the language, where it leaves it, and why. */
  check(text, { specialTokens = false } = {}) {
    const check = JSON.parse(call(() => this._inner.check(bytesOf(text), specialTokens)));
    const { is_valid: isValid, is_prefix: isPrefix, ...rest } = check;
    return { isValid, isPrefix, ...rest };
  }

  /** A matcher at the beginning of a text. */
  matcher({ maxTokens = null, stopTokenIds = [] } = {}) {
    if (maxTokens !== null && (!Number.isInteger(maxTokens) || maxTokens < 0)) {
      throw new TypeError(`maxTokens is ${maxTokens}, expected a whole number, 0 or more, or null`);
    }
    return new Matcher(call(() => this._inner.matcher(maxTokens ?? -1, idsOf(stopTokenIds))), this);
  }

  free() {
    this._inner.free();
  }
}

/** One text under a grammar: the tokens so far, and which may come next. */
export class Matcher {
  constructor(inner, grammar) {
    Object.assign(this, { _inner: inner, grammar, _mask: null });
  }

  /**
   * Writes the mask of the tokens that may come next: bit `id % 32` of word `id / 32`. Returns whether every allowed token is
   * in it (`isExact`) and whether it allows all (`isFull`).
   */
  fillMask(mask) {
    if (!(mask instanceof Uint32Array)) throw new TypeError("expected a Uint32Array");
    const flags = call(() => this._inner.fill_mask(mask));
    return { isExact: (flags & 1) === 0, isFull: (flags & 2) !== 0 };
  }

  /** Sets the logits of tokens that may not come next to minus infinity. */
  applyTo(logits) {
    this._mask ??= new Uint32Array(this.grammar.tokenizer.maskWords);
    const mask = this._mask;
    const vocabSize = this.grammar.tokenizer.vocabSize;
    if (logits.length < vocabSize) {
      throw new TypeError(
        `${logits.length} logits for a tokenizer of ${vocabSize} tokens: compile the grammar for this model's tokenizer`,
      );
    }
    if (this.fillMask(mask).isFull && logits.length === vocabSize) return logits;
    for (let id = 0; id < logits.length; id++) {
      if (id >= vocabSize || ((mask[id >>> 5] >>> (id & 31)) & 1) === 0) logits[id] = -Infinity;
    }
    return logits;
  }

  /** The ids of the tokens that may come next. */
  allowedTokens() {
    const mask = new Uint32Array(this.grammar.tokenizer.maskWords);
    this.fillMask(mask);
    const ids = [];
    mask.forEach((word, at) => {
      for (let bits = word; bits !== 0; bits &= bits - 1) ids.push(32 * at + 31 - Math.clz32(bits & -bits));
    });
    return ids;
  }

  /** Accepts a token if it is allowed, and returns whether it is. */
  accept(id) {
    return call(() => this._inner.accept(idsOf([id])[0]));
  }

  /** Accepts tokens until one is refused, and returns how many were accepted. */
  acceptTokens(ids) {
    return call(() => this._inner.accept_tokens(idsOf(ids)));
  }

  /** Accepts text if it may come next; one step for `rollback`. */
  acceptText(text) {
    return call(() => this._inner.accept_bytes(bytesOf(text)));
  }

  /** How many of the tokens would be accepted. */
  validate(ids) {
    return call(() => this._inner.validate(idsOf(ids)));
  }

  /** Undoes the last `n` steps. */
  rollback(n = 1) {
    if (!Number.isInteger(n) || n < 0) throw new TypeError(`${n} steps cannot be undone`);
    call(() => this._inner.rollback(n));
  }

  reset() {
    call(() => this._inner.reset());
  }

  /** An independent matcher in the same state. */
  fork() {
    return new Matcher(call(() => this._inner.fork()), this.grammar);
  }

  get isAccepting() {
    return call(() => this._inner.is_accepting());
  }

  get isTerminated() {
    return call(() => this._inner.is_terminated());
  }

  get text() {
    return decoder.decode(call(() => this._inner.text()));
  }

  get nTokens() {
    return call(() => this._inner.n_tokens());
  }

  /** The tokens that can be taken without asking the model. */
  forcedTokens() {
    return Array.from(call(() => this._inner.forced_tokens()));
  }

  /** The text that every completion begins with. */
  forcedText() {
    return decoder.decode(call(() => this._inner.forced_bytes()));
  }

  /** A short completion, with a token that ends the text. */
  finish() {
    return Array.from(call(() => this._inner.finish()));
  }

  tokensToFinish() {
    return call(() => this._inner.tokens_to_finish());
  }

  /** What the text says, from event number `since` on. */
  events(since = 0) {
    return JSON.parse(call(() => this._inner.events(since)));
  }

  /** Where the text is, and what may come next, in words. */
  state() {
    return JSON.parse(call(() => this._inner.state()));
  }

  /** Why a token is allowed or refused here, in words. */
  explain(id) {
    return call(() => this._inner.explain(idsOf([id])[0]));
  }

  /** The texts of captured rules. */
  captures() {
    return JSON.parse(call(() => this._inner.captures()));
  }

  free() {
    this._inner.free();
  }
}
