/** The engine, in a thread of its own: one answer to each question. The page ends it when it takes too long. */

import { Compiler, load, Tokenizer } from "./maskwright/index.js";

const SHOWN = 400;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
/** How many tokens a text at random may have where no limit is given. */
const RANDOM_TOKENS = 200;
let tokenizer = null;
let compiler = null;
let known = { key: null, grammar: null };

/** A token as it is shown, and whether that is text which can be written: parts of characters are not. */
function shown(id) {
  const bytes = tokenizer.tokenBytes(id);
  if (bytes === null) {
    const named = Object.entries(tokenizer.specialTokens).find(([, own]) => own === id);
    return { id, text: named ? named[0] : `token ${id}`, isText: named !== undefined && !tokenizer.eosTokenIds.includes(id) };
  }
  try {
    return { id, text: decoder.decode(bytes), isText: true };
  } catch {
    const hex = Array.from(bytes, (byte) => `\\x${byte.toString(16).toUpperCase().padStart(2, "0")}`);
    return { id, text: hex.join(""), isText: false };
  }
}

function grammarOf({ kind, source, options }) {
  const key = JSON.stringify([kind, source, options]);
  if (known.key !== key) {
    known.grammar?.free();
    known = { key: null, grammar: null };
    known = { key, grammar: compiler.compile(kind, source, options) };
  }
  return known.grammar;
}

function matcherOf(question) {
  const grammar = grammarOf(question);
  const matcher = grammar.matcher({ maxTokens: question.limit });
  const ids = tokenizer.encode(question.text, { specialTokens: true });
  const n = matcher.acceptTokens(ids);
  if (n === ids.length) return { grammar, matcher, check: null };
  // Where tokens of this vocabulary do not fit, the text itself may.
  matcher.reset();
  if (matcher.acceptText(question.text)) return { grammar, matcher, check: null };
  matcher.free();
  const check = grammar.check(question.text, { specialTokens: true });
  if (question.limit !== null && (check.isPrefix || check.isValid)) check.message = `the text cannot be completed within the limit of ${question.limit} tokens`;
  return { grammar, matcher: null, check };
}

const answers = {
  vocabulary({ lines, json }) {
    known = { key: null, grammar: null };
    if (json !== undefined) {
      tokenizer = Tokenizer.fromJson(json);
    } else {
      const marked = (mark) => lines.flatMap((line, id) => (line.endsWith(mark) ? [id] : []));
      const tokens = lines.map((line) => Uint8Array.from(line.split(" ")[0].match(/../g), (hex) => parseInt(hex, 16)));
      tokenizer = Tokenizer.fromTokens(tokens, { eosTokenIds: marked(" end"), specialTokenIds: marked(" special") });
    }
    compiler = new Compiler(tokenizer);
    return { size: tokenizer.vocabSize };
  },

  look(question) {
    const began = performance.now();
    const { grammar, matcher, check } = matcherOf(question);
    const facts = { warnings: grammar.warnings(), report: grammar.report() };
    if (matcher === null) return { ...facts, check };
    const allowed = matcher.allowedTokens();
    const spent = performance.now() - began;
    const forced = matcher.isTerminated ? "" : matcher.forcedText();
    const answer = {
      ...facts,
      spent,
      isComplete: matcher.isAccepting,
      state: matcher.state(),
      n: allowed.length,
      tokens: allowed.slice(0, SHOWN).map((id) => ({ ...shown(id), isEnd: tokenizer.eosTokenIds.includes(id) })),
      forced,
      events: matcher.events(),
      used: matcher.nTokens,
      left: question.limit === null ? null : question.limit - matcher.nTokens,
      toFinish: matcher.tokensToFinish(),
      completion: tokenizer.decode(matcher.finish()),
    };
    matcher.free();
    return answer;
  },

  why({ token, ...question }) {
    const { matcher } = matcherOf(question);
    if (matcher === null) return { because: "the text is not one of the grammar" };
    const [id] = tokenizer.encode(token, { specialTokens: true });
    const because = id === undefined ? "" : matcher.explain(id);
    matcher.free();
    return { because };
  },

  random({ n, ...question }) {
    let { limit } = question;
    if (limit === null) {
      const { matcher } = matcherOf(question);
      if (matcher === null) return { text: question.text };
      limit = matcher.nTokens + matcher.tokensToFinish() + RANDOM_TOKENS;
      matcher.free();
    }
    const { matcher } = matcherOf({ ...question, limit });
    if (matcher === null) return { text: question.text };
    const ends = new Set(tokenizer.eosTokenIds);
    // A token may be a part of a character: then some more make it whole.
    const isWanted = (written) => written < n || (written < n + 3 && matcher.text.endsWith("\ufffd"));
    for (let written = 0; !matcher.isTerminated && isWanted(written); written++) {
      const allowed = matcher.allowedTokens();
      if (allowed.length === 0) break;
      // Long tokens more often: single bytes would make most texts letter by letter.
      const weights = allowed.map((id) => (ends.has(id) ? 4 : (tokenizer.tokenBytes(id)?.length ?? 4) ** 2));
      let at = Math.random() * weights.reduce((sum, weight) => sum + weight, 0);
      const chosen = allowed.find((_, index) => (at -= weights[index]) < 0) ?? allowed[0];
      matcher.accept(chosen);
    }
    const { text } = matcher;
    matcher.free();
    return { text };
  },
};

const ready = load();

addEventListener("message", async ({ data: { number, question, ...given } }) => {
  try {
    await ready;
    postMessage({ number, answer: answers[question](given) });
  } catch (error) {
    const { message, kind, line, column, pointer, keyword, hint, needed } = error;
    postMessage({ number, error: { message, kind, line, column, pointer, keyword, hint, needed, isPanic: error.name === "EnginePanic" } });
  }
});
