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
    // A stack that overflows within the engine leaves it as broken as a trap does.
    const isOverflow = error instanceof RangeError || error?.name === "InternalError";
    if (!(error instanceof WebAssembly.RuntimeError) && !isOverflow) throw error;
    panic = error.message;
    try {
      panic = wasm.panic_message() || panic;
    } catch {
      // So broken that it cannot even say why.
    }
    throw new EnginePanic(panic);
  }
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

function stringOf(what, value) {
  if (typeof value !== "string") throw new TypeError(`${what} is ${value}, expected a string`);
  if (!value.isWellFormed()) throw new TypeError(`${what} has half of a surrogate pair`);
  return value;
}

/** A whole number from 0 on that the engine can hold. */
function countOf(what, value) {
  if (!Number.isInteger(value) || value < 0 || value > 0xffffffff) {
    throw new TypeError(`${what} is ${value}, expected a whole number, 0 or more`);
  }
  return value;
}

/** Text or bytes as bytes. */
function bytesOf(text) {
  if (typeof text === "string") return encoder.encode(stringOf("a text", text));
  if (text instanceof Uint8Array) return text;
  throw new TypeError("expected a text as a string or a Uint8Array");
}

function idOf(id) {
  return countOf("a token id", typeof id === "bigint" ? Number(id) : id);
}

/** Token ids as the engine takes them. */
function idsOf(ids) {
  if (typeof ids?.[Symbol.iterator] !== "function" || typeof ids === "string") throw new TypeError("expected a list of token ids");
  return Uint32Array.from(Array.from(ids, idOf));
}

/** A value as JSON. What JSON has no form for is an error, except members that are undefined. */
function jsonOf(what, value) {
  const json = JSON.stringify(value, (name, part) => {
    if (typeof part === "number" && !Number.isFinite(part)) throw new TypeError(`${name || what} is ${part}, which JSON cannot say`);
    return part;
  });
  if (json === undefined) throw new TypeError(`${what} is ${String(value)}, expected a text or a value of JSON`);
  return json;
}

/** The kinds of grammars whose sources may be values. */
const VALUES = new Set(["json_schema", "choice", "structural_tag", "tool_calls"]);

/** A model's tokens. */
export class Tokenizer {
  constructor(inner) {
    this._inner = inner;
  }

  /** From `tokenizer.json`: its text, or the object that it holds. */
  static fromJson(json, { eosTokenIds = [], vocabSize = 0 } = {}) {
    const text = typeof json === "string" ? stringOf("a tokenizer", json) : jsonOf("a tokenizer", json);
    const [ends, size] = [idsOf(eosTokenIds), countOf("vocabSize", vocabSize)];
    return new Tokenizer(call(() => wasm.Tokenizer.from_json(text, ends, size)));
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
    const [ends, specials] = [idsOf(eosTokenIds), idsOf(specialTokenIds)];
    return new Tokenizer(call(() => wasm.Tokenizer.from_tokens(bytes, lengths, ends, specials)));
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
    const own = idOf(id);
    return call(() => this._inner.token_bytes(own)) ?? null;
  }

  encode(text, { specialTokens = false } = {}) {
    const own = stringOf("a text", text);
    return call(() => this._inner.encode(own, Boolean(specialTokens)));
  }

  decode(ids) {
    const own = idsOf(ids);
    return decoder.decode(call(() => this._inner.decode(own)));
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
    const own = jsonOf("limits", limits);
    this._inner = call(() => new wasm.Compiler(tokenizer._inner, own));
  }

  /** A grammar of a kind; see `index.d.ts` for the kinds and their options. */
  compile(kind, source, options = {}) {
    stringOf("a kind", kind);
    const isValue = VALUES.has(kind) && typeof source !== "string";
    const text = isValue ? jsonOf("a grammar", source) : stringOf("a grammar", source);
    const own = jsonOf("options", options);
    const inner = call(() => this._inner.compile(kind, text, own));
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
    const bytes = bytesOf(text);
    const message = JSON.parse(call(() => this._inner.parse(bytes)));
    const value = (json) => (json === null ? null : JSON.parse(json));
    const calls = message.calls.map((one) => ({ ...one, arguments: value(one.arguments), argumentsJson: one.arguments }));
    return { ...message, calls, value: value(message.value) };
  }

  /** How far a text is in the language, where it leaves it, and why. */
  check(text, { specialTokens = false } = {}) {
    const bytes = bytesOf(text);
    const check = JSON.parse(call(() => this._inner.check(bytes, Boolean(specialTokens))));
    const { is_valid: isValid, is_prefix: isPrefix, ...rest } = check;
    return { isValid, isPrefix, ...rest };
  }

  /** A matcher at the beginning of a text. */
  matcher({ maxTokens = null, stopTokenIds = [] } = {}) {
    const limit = maxTokens === null ? -1 : countOf("maxTokens", maxTokens);
    const stops = idsOf(stopTokenIds);
    return new Matcher(call(() => this._inner.matcher(limit, stops)), this);
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
    if (!(logits?.length >= vocabSize)) {
      throw new TypeError(
        `${logits?.length} logits for a tokenizer of ${vocabSize} tokens: compile the grammar for this model's tokenizer`,
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
    const own = idOf(id);
    return call(() => this._inner.accept(own));
  }

  /** Accepts tokens until one is refused, and returns how many were accepted. */
  acceptTokens(ids) {
    const own = idsOf(ids);
    return call(() => this._inner.accept_tokens(own));
  }

  /** Accepts text if it may come next; one step for `rollback`. */
  acceptText(text) {
    const bytes = bytesOf(text);
    return call(() => this._inner.accept_bytes(bytes));
  }

  /** How many of the tokens would be accepted. */
  validate(ids) {
    const own = idsOf(ids);
    return call(() => this._inner.validate(own));
  }

  /** Undoes the last `n` steps. */
  rollback(n = 1) {
    const own = countOf("the number of steps", n);
    call(() => this._inner.rollback(own));
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
    const own = countOf("since", since);
    return JSON.parse(call(() => this._inner.events(own)));
  }

  /** Where the text is, and what may come next, in words. */
  state() {
    return JSON.parse(call(() => this._inner.state()));
  }

  /** Why a token is allowed or refused here, in words. */
  explain(id) {
    const own = idOf(id);
    return call(() => this._inner.explain(own));
  }

  /** The texts of captured rules. */
  captures() {
    return JSON.parse(call(() => this._inner.captures()));
  }

  free() {
    this._inner.free();
  }
}
