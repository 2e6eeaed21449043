/** Maskwright: which tokens may come next, given a grammar. */

/** Loads the engine, once. `source`: where its file is, its bytes, or a compiled module; by default the file of this package. */
export function load(source?: string | URL | Request | BufferSource | WebAssembly.Module): Promise<void>;

/** What went wrong, and where. A field that does not apply is null. */
export class MaskwrightError extends Error {
  kind:
    | "grammar" | "schema" | "tokenizer" | "limit" | "cancelled" | "max_tokens_too_small" | "no_text" | "argument" | "state"
    | "internal";
  /** The JSON pointer of the schema at fault; the empty string is the whole document. */
  pointer: string | null;
  /** The keyword at fault there. */
  keyword: string | null;
  /** The line and column, from 1, in a grammar, a pattern or JSON. */
  line: number | null;
  column: number | null;
  /** What to do about it. */
  hint: string | null;
  /** The limit that was reached. */
  limit: string | null;
  /** How many tokens are enough. */
  needed: number | null;
}

/** The engine has met a bug. Nothing of it can be used any more: start a new worker, or load the page again. */
export class EnginePanic extends Error {}

/** Text, or bytes. */
export type Text = string | Uint8Array;
export type TokenIds = Iterable<number | bigint>;

/** A model's tokens. Text is cut greedily, not as the model's own tokenizer does; only `encode` and forced tokens depend on it. */
export class Tokenizer {
  private constructor();
  static fromJson(json: string | object, options?: { eosTokenIds?: TokenIds; vocabSize?: number }): Tokenizer;
  static fromTokens(tokens: Iterable<Text>, options?: { eosTokenIds?: TokenIds; specialTokenIds?: TokenIds }): Tokenizer;
  readonly vocabSize: number;
  /** How many 32-bit words a mask has. */
  readonly maskWords: number;
  readonly eosTokenIds: number[];
  /** Ids by name. */
  readonly specialTokens: Record<string, number>;
  /** The bytes of a token; null for one that is no text. */
  tokenBytes(id: number): Uint8Array | null;
  encode(text: string, options?: { specialTokens?: boolean }): Uint32Array;
  decode(ids: TokenIds): string;
  free(): void;
}

export interface Limits {
  compile_work?: number;
  mask_work?: number;
  memory_bytes?: number;
  compile_bytes?: number;
  max_threads?: number;
  max_calls?: number;
  max_states?: number;
  [name: string]: number | undefined;
}

export interface SchemaOptions {
  property_order?: "schema" | "any";
  whitespace?: "flexible" | "compact" | "any";
  max_whitespace?: number;
  numbers?: "plain" | "any";
  /** Whether a keyword that cannot be enforced is an error. On by default. */
  strict?: boolean;
}
export interface JsonSchemaOptions extends SchemaOptions {
  /** Other schemas, by URI. */
  documents?: Record<string, unknown>;
}
export interface RegexOptions {
  dialect?: "rust_ascii" | "rust" | "ecma" | "python";
}
export interface RulesOptions {
  special_tokens_in_text?: boolean;
  /** The names of rules whose texts `Matcher.captures` tells. */
  capture?: string[];
}
export interface LarkOptions extends SchemaOptions, RulesOptions {
  start?: string;
  lexer?: "contextual" | "basic" | "dynamic_complete";
  dialect?: "lark" | "llguidance";
  indentation?: "python";
  /** The texts of imported grammars, by path (`names.lark`). */
  grammars?: Record<string, string>;
}
export interface ToolCallOptions extends SchemaOptions {
  /** How the model writes calls, such as "qwen_3". */
  format: string;
  tool_choice?: string | object;
  parallel?: boolean;
  text?: boolean;
  reasoning?: "never" | "always" | "auto" | "open";
  on_error?: "raise" | "leave_out" | "any_json";
}

/** Compiles grammars for one tokenizer, and has the caches that they share. */
export class Compiler {
  constructor(tokenizer: Tokenizer, limits?: Limits);
  readonly tokenizer: Tokenizer;
  compile(kind: "json_schema", schema: string | object | boolean, options?: JsonSchemaOptions): Grammar;
  compile(kind: "regex", pattern: string, options?: RegexOptions): Grammar;
  compile(kind: "choice", choices: string[] | string): Grammar;
  compile(kind: "lark", grammar: string, options?: LarkOptions): Grammar;
  compile(kind: "gbnf", grammar: string, options?: RulesOptions): Grammar;
  compile(kind: "structural_tag", tag: string | object, options?: SchemaOptions): Grammar;
  compile(kind: "tool_calls", tools: string | object[], options: ToolCallOptions): Grammar;
  compile(kind: "builtin", name: "arithmetic" | "cpp" | "json" | "python" | "smiles" | "sql"): Grammar;
  readonly memoryUsage: number;
  free(): void;
}

export interface ReportEntry {
  pointer: string;
  keyword: string;
  status: "enforced" | "enforced by the session" | "annotation" | "not enforced";
  reason: string | null;
  suggestion: string | null;
  tool: string | null;
}
export interface Capture {
  name: string;
  text: string;
  start: number;
  /** Null while it is not certain. */
  end: number | null;
}
export interface Message {
  text: string;
  reasoning: string;
  calls: { name: string; id: string | null; arguments: unknown; argumentsJson: string | null; input: string | null }[];
  /** The value of a JSON Schema. */
  value: unknown;
  captures: Capture[];
}
export interface Check {
  isValid: boolean;
  isPrefix: boolean;
  /** How many bytes of the text are the beginning of some text of the grammar. */
  offset: number;
  line: number;
  column: number;
  reason: string | null;
  /** The place in the value, as a JSON pointer. */
  path: string | null;
  expected: string[];
  /** All of it in words. */
  message: string;
}

/** A compiled grammar. */
export class Grammar {
  private constructor();
  readonly kind: string;
  readonly tokenizer: Tokenizer;
  report(): ReportEntry[];
  warnings(): string[];
  /** The grammar as a text for llama-server, if that was built with Maskwright's C library. */
  toLlguidance(): string;
  parse(text: Text): Message;
  check(text: Text, options?: { specialTokens?: boolean }): Check;
  matcher(options?: { maxTokens?: number | null; stopTokenIds?: TokenIds }): Matcher;
  free(): void;
}

export type Event =
  | { kind: "text"; delta: string; tag: string | null }
  | { kind: "reasoning"; delta: string }
  | { kind: "tool"; index: number; name: string; is_custom: boolean; id: string | null }
  | { kind: "argument"; index: number | null; path: (string | number)[]; raw: string; delta: string }
  | { kind: "input"; index: number; delta: string }
  | { kind: "end"; index: number | null; id: string | null };

export interface State {
  within: string | null;
  path: string | null;
  rules: string[];
  keywords: { name: string; value: string; pointer: string }[];
  next: { words: string; examples: string[] }[];
  is_complete: boolean;
  sentence: string;
}

/** One text under a grammar. */
export class Matcher {
  private constructor();
  readonly grammar: Grammar;
  fillMask(mask: Uint32Array): { isExact: boolean; isFull: boolean };
  applyTo<Logits extends Float32Array | Float64Array | number[]>(logits: Logits): Logits;
  allowedTokens(): number[];
  accept(id: number): boolean;
  acceptTokens(ids: TokenIds): number;
  acceptText(text: Text): boolean;
  validate(ids: TokenIds): number;
  rollback(n?: number): void;
  reset(): void;
  fork(): Matcher;
  readonly isAccepting: boolean;
  readonly isTerminated: boolean;
  readonly text: string;
  readonly nTokens: number;
  forcedTokens(): number[];
  forcedText(): string;
  finish(): number[];
  tokensToFinish(): number;
  events(since?: number): Event[];
  state(): State;
  explain(id: number): string;
  captures(): Capture[];
  free(): void;
}
