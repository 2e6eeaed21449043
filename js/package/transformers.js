/**
 * `GrammarProcessor`: transformers.js writes only what a grammar allows.
 *
 * @module maskwright/transformers
 */

import { Compiler, Tokenizer } from "./index.js";

/** The texts of the rows of one call of `generate`. */
class Row {
  constructor(grammar, options, prompt) {
    this.matcher = grammar.matcher(options);
    this.prompt = prompt;
    this.written = [];
    this.n = 0;
  }

  /** Whether these tokens continue what was here before: the same prompt, and at most one token more than last time. */
  continues(ids) {
    const n = this.prompt.length;
    return ids.length >= n && ids.length <= n + this.n + 1 && this.prompt.every((id, at) => id === ids[at]);
  }

  /** Brings the matcher to the tokens after the prompt. */
  follow(ids) {
    const tokens = ids.slice(this.prompt.length).map(Number);
    this.n = tokens.length;
    let shared = 0;
    while (shared < this.written.length && this.written[shared] === tokens[shared]) shared += 1;
    if (shared < this.written.length) this.matcher.rollback(this.written.length - shared);
    this.written.length = shared;
    for (const token of tokens.slice(shared)) {
      if (this.matcher.isTerminated) break;
      if (!this.matcher.accept(token)) {
        throw new Error(`token ${token} was not allowed: ${this.matcher.explain(token)}. Does another processor change the logits?`);
      }
      this.written.push(token);
    }
  }
}

/**
 * A processor for `logits_processor` of `generate`. `Base` is `LogitsProcessor` of `@huggingface/transformers`, so that this
 * package needs no version of it.
 */
export function grammarProcessor(Base) {
  return class GrammarProcessor extends Base {
    /** `options`: those of `Grammar.matcher`. */
    constructor(grammar, options = {}) {
      super();
      this.grammar = grammar;
      this.options = options;
      this.rows = null;
    }

    /** The next call begins a new generation. */
    reset() {
      for (const row of this.rows ?? []) row.matcher.free();
      this.rows = null;
    }

    /** `input_ids`: the tokens of each row, prompts included. `logits`: (rows, vocabulary), changed in place. */
    _call(input_ids, logits) {
      if (this.rows?.length !== input_ids.length || !this.rows.every((row, index) => row.continues(input_ids[index]))) {
        this.reset();
        this.rows = input_ids.map((ids) => new Row(this.grammar, this.options, Array.from(ids)));
      }
      const width = logits.dims.at(-1);
      this.rows.forEach((row, index) => {
        row.follow(input_ids[index]);
        row.matcher.applyTo(logits.data.subarray(index * width, (index + 1) * width));
      });
      return logits;
    }
  };
}

/**
 * A compiler for a tokenizer of transformers.js. A text ends with the tokenizer's end, or with `eosTokenIds`: give all of the
 * model's generation config if there are more.
 */
export function compilerOf(tokenizer, { limits = {}, eosTokenIds, vocabSize } = {}) {
  const json = tokenizer?._tokenizerJSON;
  if (!json) throw new TypeError("no tokenizer.json in it: make one with Tokenizer.fromJson, and a Compiler of that");
  const end = tokenizer.eos_token_id ?? null;
  return new Compiler(Tokenizer.fromJson(json, { eosTokenIds: eosTokenIds ?? (end === null ? [] : [end]), vocabSize }), limits);
}
