/** The page: what is written in it becomes questions for the worker, and the answers are shown. */

import { EXAMPLES } from "./examples.js";

const KINDS = {
  json_schema: "JSON Schema", regex: "regular expression", choice: "choices", lark: "Lark", gbnf: "GBNF",
  structural_tag: "structural tag", tool_calls: "tool calls", builtin: "built-in grammar",
};
/** How long an answer may take. */
const PATIENCE_MS = 1900;
const $ = (id) => document.getElementById(id);

let worker = null;
let loading = Promise.resolve();
/** The question that the engine is at, and those that wait, by kind. */
let posted = null;
const next = new Map();
let number = 0;
/** Of the site: names and files. A link names the vocabulary if it is one of these. */
let vocabularies = [];
/** What the engine has: `lines` or `json`, and `name`. */
let vocabulary = {};
let asked = 0;

const superseded = { message: "superseded", isSuperseded: true };

/** Starts the engine anew, with these tokens. */
function start(tokens = vocabulary) {
  worker?.terminate();
  if (posted !== null) ended().reject(superseded);
  worker = new Worker("worker.js", { type: "module" });
  worker.addEventListener("message", ({ data }) => {
    if (posted?.number !== data.number) return;
    const { question, resolve, reject } = ended();
    if (data.error?.isPanic && question !== "vocabulary") start().catch(() => {});
    data.error ? reject(data.error) : resolve(data.answer);
    if (posted === null) postNext();
  });
  // The first answer waits for the engine to load.
  loading = new Promise((resolve, reject) => post({ question: "vocabulary", given: tokens, patience: 30_000, resolve, reject }));
  return loading;
}

function post(one) {
  number += 1;
  const timer = setTimeout(() => {
    posted = null;
    // What is at work does not stop by itself.
    if (one.question !== "vocabulary") start().catch(() => {});
    one.reject({ message: `no answer within ${one.patience / 1000} s: this grammar takes too much work`, isTooLong: true });
  }, one.patience);
  posted = { ...one, number, timer };
  worker.postMessage({ number, question: one.question, ...one.given });
}

function ended() {
  const one = posted;
  clearTimeout(one.timer);
  posted = null;
  return one;
}

function postNext() {
  const [one] = next.values();
  if (one === undefined) return;
  next.delete(one.question);
  post(one);
}

/** Asks the engine once it is there and has answered. A later question takes the place of one of its kind that waits. */
async function ask(question, given) {
  for (let known = null; known !== loading; ) {
    known = loading;
    await known.catch(() => {});
  }
  return new Promise((resolve, reject) => {
    next.get(question)?.reject(superseded);
    next.set(question, { question, given, patience: PATIENCE_MS, resolve, reject });
    if (posted === null) postNext();
  });
}

/** What is written in the page. */
function question() {
  const limit = $("limit").value === "" ? null : Number($("limit").value);
  const options = $("options").value.trim() === "" ? {} : JSON.parse($("options").value);
  const { name } = vocabulary;
  return { kind: $("kind").value, source: $("source").value, options, text: $("text").value, limit, vocabulary: name };
}

const countOf = (n) => (n === 1 ? "1 token" : `${n} tokens`);

function say(id, text, mood = "") {
  $(id).textContent = text;
  $(id).className = `status ${mood}`;
}

function item(text) {
  const li = document.createElement("li");
  li.textContent = text;
  return li;
}

/** Spaces and line ends that can be seen. */
function visible(text) {
  return text === "" ? "␀" : text.replaceAll("\n", "⏎").replaceAll("\t", "⇥").replaceAll(" ", "␣");
}

function empty() {
  for (const id of ["tokens", "events", "report"]) $(id).replaceChildren();
  for (const id of ["forced", "place", "count", "finish"]) $(id).textContent = "";
}

function showEvents(events) {
  const lines = [];
  for (const event of events) {
    const last = lines.at(-1);
    if (event.kind === "argument") {
      if (last?.index === event.index && last.kind === "argument") last.text += event.delta;
      else lines.push({ ...event, text: event.delta, label: event.index === null ? "value" : `arguments of call ${event.index + 1}` });
    } else if (event.kind === "text" || event.kind === "reasoning" || event.kind === "input") {
      if (last?.kind === event.kind) last.text += event.delta;
      else lines.push({ ...event, text: event.delta, label: event.kind });
    } else if (event.kind === "tool") {
      lines.push({ ...event, text: event.name, label: `call ${event.index + 1}` });
    } else if (event.kind === "end") {
      lines.push({ ...event, text: "", label: event.index === null ? "the text has ended" : `call ${event.index + 1} has ended` });
    }
  }
  $("events").replaceChildren(...lines.map(({ label, text }) => item(text === "" ? label : `${label}: ${text}`)));
}

function showReport(report) {
  const table = document.createElement("table");
  for (const { pointer, keyword, status, reason } of report) {
    const row = table.insertRow();
    for (const text of [pointer || "(top)", keyword, reason === null ? status : `${status}: ${reason}`]) row.insertCell().textContent = text;
  }
  $("report").replaceChildren(report.length > 0 ? table : item("not a schema"));
}

function show(answer) {
  empty();
  showReport(answer.report);
  say("grammar-status", answer.warnings.join("\n") || "compiled", answer.warnings.length > 0 ? "bad" : "good");
  if (answer.check) {
    say("text-status", answer.check.message, "bad");
    return;
  }
  const { state } = answer;
  const left = answer.left === null ? "" : `, ${answer.left} left`;
  const used = countOf(answer.used) + left;
  say("text-status", answer.isComplete ? `the text may end here (${used})` : `the text is not complete (${used})`, "good");
  const within = state.path === null && state.rules.length > 1 ? `in ${state.rules.join(" > ")}; ` : "";
  $("place").textContent = within + state.sentence;
  $("count").textContent = `${countOf(answer.n)} may come next (grammar, text and mask: ${answer.spent.toFixed(1)} ms)${answer.n > answer.tokens.length ? `, ${answer.tokens.length} of them here` : ""}`;
  $("tokens").replaceChildren(
    ...answer.tokens.map(({ text, isEnd, isText }) => {
      const li = document.createElement("li");
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = isEnd ? "the end" : visible(text);
      button.disabled = !isText;
      button.addEventListener("click", () => {
        $("text").value += text;
        look();
      });
      li.append(button);
      return li;
    }),
  );
  $("forced").textContent = answer.forced === "" ? "" : `must come: ${visible(answer.forced)}`;
  $("finish").textContent = answer.completion === "" ? "" : `A short end, ${countOf(answer.toFinish)}: ${visible(answer.completion)}`;
  showEvents(answer.events);
}

/** Asks about what is written, and keeps it in the address. */
async function look() {
  asked += 1;
  const own = asked;
  let given;
  try {
    given = question();
  } catch (error) {
    empty();
    say("grammar-status", `the options are not JSON: ${error.message}`, "bad");
    say("text-status", "");
    return;
  }
  history.replaceState(null, "", `#${encodeURIComponent(JSON.stringify(given))}`);
  try {
    const answer = await ask("look", given);
    if (own === asked) show(answer);
  } catch (error) {
    if (error.isSuperseded || own !== asked) return;
    empty();
    const isOfText = error.kind === "max_tokens_too_small";
    say(isOfText ? "text-status" : "grammar-status", error.message, "bad");
    say(isOfText ? "grammar-status" : "text-status", "");
  }
}

let typing = 0;

/** Asks a moment after the last key. */
function lookSoon() {
  clearTimeout(typing);
  typing = setTimeout(look, 10);
}

async function write(n) {
  try {
    const { text } = await ask("random", { ...question(), n });
    $("text").value = text;
    look();
  } catch (error) {
    if (!error.isSuperseded) say("text-status", error.message, "bad");
  }
}

async function why() {
  $("because").textContent = "";
  if ($("why").value === "") return;
  try {
    $("because").textContent = (await ask("why", { ...question(), token: $("why").value })).because;
  } catch (error) {
    if (!error.isSuperseded) $("because").textContent = error.message;
  }
}

function fill({ kind, source, options = {}, text = "", limit = null }) {
  $("kind").value = kind;
  $("source").value = source;
  $("options").value = Object.keys(options ?? {}).length > 0 ? JSON.stringify(options) : "";
  $("text").value = text;
  $("limit").value = limit ?? "";
}

let uses = 0;

/** Has the engine take other tokens: those of the site's vocabulary with this name, or of a file. */
async function use(name, file = null) {
  uses += 1;
  const own = uses;
  const title = file?.name ?? name;
  try {
    let tokens;
    if (file !== null) {
      tokens = { json: await file.text() };
    } else {
      const [, path] = vocabularies.find(([known]) => known === name);
      const text = await (await fetch(path)).text();
      tokens = path.endsWith(".json") ? { name, json: text } : { name, lines: text.split("\n").filter((line) => line !== "") };
    }
    if (own !== uses) return;
    const { size } = await start(tokens);
    vocabulary = tokens;
    $("vocabulary").textContent = `${title}: ${countOf(size)}`;
  } catch (error) {
    // Another one was chosen meanwhile.
    if (error.isSuperseded || own !== uses) return;
    $("vocabulary").textContent = `${title}: ${error.message}`;
    await start().catch(() => {});
  }
  $("vocabularies").value = vocabulary.name ?? "";
}

/** Shows what the address says, or the first example. */
async function follow() {
  let given = {};
  try {
    given = JSON.parse(decodeURIComponent(location.hash.slice(1)));
  } catch {
    // No link, or one that was cut.
  }
  if (typeof given?.source !== "string") given = EXAMPLES[0];
  fill(given);
  const names = vocabularies.map(([name]) => name);
  const name = names.includes(given.vocabulary) ? given.vocabulary : names[0];
  if (vocabulary.name !== name) await use(name);
}

async function begin() {
  $("example").replaceChildren(...EXAMPLES.map(({ name }, index) => new Option(name, index)));
  $("kind").replaceChildren(...Object.entries(KINDS).map(([kind, name]) => new Option(name, kind)));
  vocabularies = await (await fetch("vocabularies.json")).json();
  $("vocabularies").replaceChildren(...vocabularies.map(([name]) => new Option(name)));
  await follow();
  for (const id of ["source", "options", "text", "limit"]) $(id).addEventListener("input", lookSoon);
  $("kind").addEventListener("change", look);
  $("example").addEventListener("change", () => {
    fill(EXAMPLES[$("example").value]);
    look();
  });
  $("random").addEventListener("click", () => write(200));
  $("random-token").addEventListener("click", () => write(1));
  $("clear").addEventListener("click", () => {
    $("text").value = "";
    look();
  });
  $("why").addEventListener("change", why);
  const take = async (name, file) => {
    await use(name, file);
    look();
  };
  $("vocabularies").addEventListener("change", ({ target }) => take(target.value));
  $("tokenizer").addEventListener("change", ({ target }) => target.files[0] && take(null, target.files[0]));
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", (event) => {
    event.preventDefault();
    const file = event.dataTransfer.files[0];
    if (file) take(null, file);
  });
  $("link").addEventListener("click", async () => {
    await navigator.clipboard?.writeText(location.href).catch(() => {});
    $("copied").textContent = "the address of this page is the link";
  });
  addEventListener("hashchange", async () => {
    await follow();
    look();
  });
  document.body.dataset.ready = "yes";
  look();
}

begin().catch((error) => say("grammar-status", error.message, "bad"));
