import type { Compiler, Grammar, Limits, TokenIds } from "./index.js";

/** A processor for `logits_processor` of `generate`, one for each call at a time. */
export interface GrammarProcessor {
  /** The next call begins a new generation. */
  reset(): void;
  _call(input_ids: bigint[][], logits: unknown): unknown;
}

/** The class, made from `LogitsProcessor` of `@huggingface/transformers`. */
export function grammarProcessor(Base: new () => object): new (
  grammar: Grammar,
  options?: { maxTokens?: number | null; stopTokenIds?: TokenIds },
) => GrammarProcessor;

/** A compiler for a tokenizer of transformers.js, whose end token is the default of `eosTokenIds`. */
export function compilerOf(
  tokenizer: unknown,
  options?: { limits?: Limits; eosTokenIds?: TokenIds; vocabSize?: number },
): Compiler;
