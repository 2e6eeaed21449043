// What all parts of the page share, and its header. Texts are written as text nodes only: nothing in a trace can run.

const data = JSON.parse(document.getElementById("data").textContent);
const element = id => document.getElementById(id);

/** The most characters of one token that the text shows. */
const MOST_SHOWN = 4000;
/** The most characters of a candidate or of a branch. */
const MOST_LISTED = 60;

/** A new element. Of the properties, `text` and `className` are the element's own, and the others attributes. */
function make(tag, { text, className, ...attributes } = {}, ...children) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

/** The beginning of a text that does not cut a character, and how many UTF-16 units are missing. */
function cut(text, most) {
  if (text.length <= most) return [text, 0];
  const end = /[\ud800-\udbff]/.test(text[most - 1]) ? most - 1 : most;
  return [text.slice(0, end), text.length - end];
}

/** A short text with marks for line ends and tabs, and for blanks at its ends. */
function marked(text) {
  const [shown, n_missing] = cut(text, MOST_LISTED);
  const parts = document.createDocumentFragment();
  const blanks = /(\n|\t|^ +| +$)/;
  for (const part of shown.split(blanks)) {
    if (!part) continue;
    const mark = { "\n": "↵", "\t": "⇥" }[part] ?? (/^ +$/.test(part) ? "·".repeat(part.length) : null);
    parts.append(mark ? make("span", { className: "blank", text: mark }) : part);
  }
  if (n_missing) parts.append(make("span", { className: "blank", text: `… ${count(n_missing)} more` }));
  return parts;
}

const count = number => number.toLocaleString("en");

const isMeasured = number => number !== undefined && number !== null;

/** A probability as a percentage. */
function percent(probability) {
  if (!isMeasured(probability)) return "–";
  const value = probability * 100;
  if (value === 0 || value === 100) return `${value}%`;
  if (value >= 99.95) return ">99.9%";
  if (value >= 0.1) return `${value.toFixed(1)}%`;
  return value >= 0.001 ? `${value.toPrecision(1)}%` : "<0.001%";
}

/** The probability of a cost in nats, in words if it is small. */
function chance(cost) {
  const probability = Math.exp(-cost);
  if (probability >= 0.001) return percent(probability);
  return probability > 1e-15 ? `1 in ${count(Number((1 / probability).toPrecision(2)))}` : "almost 0";
}

/** The negative logarithm of a probability, as the page shows it. */
function nats(probability) {
  const cost = -Math.log(probability);
  if (!Number.isFinite(cost)) return "infinitely many nats";
  return `${Math.abs(cost).toFixed(cost < 0.1 && cost > 0 ? 3 : 2)} nats`;
}

function duration(microseconds) {
  if (microseconds < 1000) return `${Number(microseconds.toPrecision(3))} µs`;
  return `${Number((microseconds / 1000).toPrecision(3))} ms`;
}

/** The class of a probability; the legend names their bounds. */
const MASSES = [0.99, 0.9, 0.5, 0.1, 0.01, 0];
const massClass = mass => (isMeasured(mass) ? `mass-${MASSES.findIndex(from => mass >= from)}` : "");
const MASS_LABELS = ["≥ 99%", "≥ 90%", "≥ 50%", "≥ 10%", "≥ 1%", "< 1%"];

/**
 * One of the children of a container can be focused, and the arrow keys move the focus. `items` are in their order;
 * `onMove(index)` is called when one is focused, `onEnter` on Enter and Space, `onEscape` on Escape.
 */
function moveByKeys(container, items, { onMove, onEnter, onEscape }) {
  const indices = new Map(items.map((item, index) => [item, index]));
  let current = 0;
  const focus = index => {
    if (!items[index]) return;
    items[current].tabIndex = -1;
    current = index;
    items[index].tabIndex = 0;
    items[index].focus();
  };
  items.forEach((item, index) => { item.tabIndex = index ? -1 : 0; });
  container.addEventListener("focusin", event => {
    const index = indices.get(event.target);
    if (index === undefined) return;
    items[current].tabIndex = -1;
    current = index;
    items[index].tabIndex = 0;
    onMove(index);
  });
  container.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey || !indices.has(event.target)) return;
    const actions = {
      ArrowLeft: () => focus(current - 1),
      ArrowRight: () => focus(current + 1),
      ArrowUp: () => focus(itemInNextLine(items, current, -1)),
      ArrowDown: () => focus(itemInNextLine(items, current, 1)),
      Home: () => focus(0),
      End: () => focus(items.length - 1),
      Enter: () => onEnter(current),
      " ": () => onEnter(current),
      Escape: () => onEscape(current),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
  return focus;
}

/** The item nearest above (`step` -1) or below (1) in the next line on the screen. */
function itemInNextLine(items, from, step) {
  const box = item => item.getClientRects()[0] ?? item.getBoundingClientRect();
  const start = box(items[from]);
  let best;
  let line;
  for (let index = from + step; items[index]; index += step) {
    const at = box(items[index]);
    if (Math.abs(at.top - start.top) < start.height / 2) continue;
    if (line !== undefined && Math.abs(at.top - line) > start.height / 2) break;
    line ??= at.top;
    const distance = Math.abs(at.left - start.left);
    if (best === undefined || distance < best.distance) best = { index, distance };
  }
  return best?.index;
}

function showHeader() {
  element("title").textContent = document.title = data.title || "Trace";
  const about = element("about");
  const isShort = text => text && text.length <= 80 && !text.includes("\n");
  const facts = [["Model", data.model], ["Grammar", isShort(data.grammar) ? data.grammar : null]];
  for (const [label, value] of facts) {
    if (value) about.append(make("span", {}, `${label} `, make("b", { text: value })));
  }
  if (data.is_complete !== null) {
    const text = data.is_complete ? "✓ complete" : "✕ stopped before the text was complete";
    about.append(make("span", { text }));
  }
  if (data.grammar && !isShort(data.grammar)) showFolded("grammar", data.grammar);
  if (data.prompt) showFolded("prompt", data.prompt);
  if (data.steps.length) showFigures();
}

function showFolded(id, text) {
  element(id).hidden = false;
  element(id).querySelector("pre").textContent = text;
}

function showFigures() {
  const figures = element("figures");
  const add = (label, value, unit) => {
    const parts = unit ? [String(value), " ", make("small", { text: unit })] : [String(value)];
    figures.append(make("div", {}, make("dt", { text: label }), make("dd", {}, ...parts)));
  };
  const n_forced = data.steps.filter(step => step.f).length;
  add("Tokens", count(data.steps.length));
  add("Forced", count(n_forced), percent(n_forced / data.steps.length));
  const times = data.steps.map(step => step.u).filter(time => time !== undefined);
  const mean = times.reduce((sum, time) => sum + time, 0) / times.length;
  if (times.length) add("Mean mask time", ...duration(mean).split(" "));
  if (data.cost === null && !data.is_cost_infinite) return;
  add("Probability cut off", data.is_cost_infinite ? "∞" : data.cost.toFixed(2), "nats");
  element("cost").hidden = false;
  element("cost-line").textContent = data.is_cost_infinite
    ? "The model gave no probability at all to what was allowed at some token."
    : "Writing freely, the model would have stayed inside the grammar at all of these tokens with a probability of "
      + `${chance(data.cost)}.`;
}

function showTheme() {
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  element("theme").addEventListener("click", () => {
    const style = document.documentElement.style;
    const isDark = (style.colorScheme || (prefersDark.matches ? "dark" : "light")) === "dark";
    style.colorScheme = isDark ? "light" : "dark";
  });
}
