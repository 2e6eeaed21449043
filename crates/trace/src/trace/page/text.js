// The text: tokens in lines, with brackets for its regions.
//
// A token that holds a line end or the border of a region is several pieces; the first is the one that takes the focus.

/** The most regions inside one another that the text draws; the details name all. */
const MOST_NESTED = 6;
/** The height of a bracket, in pixels, in lines where it has a label and in others. */
const LABEL_HEIGHT = 15;
const BRACKET_HEIGHT = 5;

const shownText = step => step.c ?? data.tokens[step.k].n ?? data.tokens[step.k].t;
const isSpecial = step => data.tokens[step.k].n !== undefined;
const regionLabel = region => (region.n === undefined ? region.k : `${region.k} ${region.n}`);
const isBefore = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);

/** Classes by kind, in the order in which kinds appear. */
const regionClasses = new Map();
for (const { k } of data.regions) {
  if (!regionClasses.has(k)) regionClasses.set(k, `region-${regionClasses.size % 6}`);
}

/**
 * The pieces of all tokens, in lines. A piece has the index of its step, the text, whether a line end follows, how much
 * of the token is not shown, the regions around it from the outermost, and those of them that begin here.
 */
function layOut() {
  const drawn = data.regions.filter(region => isBefore(region.s, region.e));
  drawn.sort((a, b) => a.s[0] - b.s[0] || a.s[1] - b.s[1] || b.e[0] - a.e[0] || b.e[1] - a.e[1]);
  const borders = new Map();
  for (const [step, offset] of drawn.flatMap(region => [region.s, region.e])) {
    if (!borders.has(step)) borders.set(step, new Set());
    borders.get(step).add(offset);
  }
  const lines = [[]];
  let next = 0;
  let around = [];
  const add = (index, start, text, hasNewline, n_missing) => {
    const place = [index, start];
    if (around.some(region => !isBefore(place, region.e))) around = around.filter(region => isBefore(place, region.e));
    const begins = [];
    for (; next < drawn.length && !isBefore(place, drawn[next].s); next += 1) {
      if (isBefore(place, drawn[next].e)) begins.push(drawn[next]);
    }
    if (begins.length) around = [...around, ...begins];
    lines.at(-1).push({ index, text, hasNewline, n_missing, around, begins });
    if (hasNewline) lines.push([]);
  };
  data.steps.forEach((step, index) => {
    const [text, n_missing] = cut(shownText(step), MOST_SHOWN);
    const ends = new Set(borders.get(index));
    if (!isSpecial(step)) {
      for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) ends.add(at + 1);
    }
    ends.delete(0);
    let start = 0;
    for (const end of [...ends, text.length].sort((a, b) => a - b)) {
      if (end > text.length || (end === start && end > 0)) continue;
      const hasNewline = !isSpecial(step) && text[end - 1] === "\n";
      const part = text.slice(start, hasNewline ? end - 1 : end);
      add(index, start, part, hasNewline, end === text.length ? n_missing : 0);
      start = end;
    }
  });
  return lines;
}

/** Draws the text. Returns, for each token, its elements and what they show. */
function drawText() {
  const lines = layOut();
  const firstLine = new Map();
  const lastLine = new Map();
  lines.forEach((pieces, line) => {
    for (const region of pieces.flatMap(piece => piece.around)) {
      if (!firstLine.has(region)) firstLine.set(region, line);
      lastLine.set(region, line);
    }
  });
  const isTall = region => firstLine.get(region) !== lastLine.get(region);
  const gutter = placeInGutter([...firstLine.keys()].filter(isTall), firstLine, lastLine);
  const tokens = data.steps.map(() => []);
  const container = element("text");
  lines.forEach((pieces, line) => {
    const row = make("div", { className: "text-line", role: "presentation" });
    row.style.paddingInlineStart = `${gutter.width}px`;
    for (const [region, column] of gutter.columns) {
      if (line < firstLine.get(region) || line > lastLine.get(region)) continue;
      const bar = make("i", { className: `gutter ${regionClasses.get(region.k)}`, "aria-hidden": "true" });
      bar.style.insetInlineStart = `${column * 8}px`;
      bar.classList.toggle("begins", line === firstLine.get(region));
      bar.classList.toggle("ends", line === lastLine.get(region) && !region.o);
      row.append(bar);
    }
    const bracketed = pieces.map(piece =>
      piece.around.slice(0, MOST_NESTED).filter(region => !isTall(region) || firstLine.get(region) === line));
    drawLine(row, pieces, bracketed, tokens, isTall);
    container.append(row);
  });
  fitLabels(container);
  new ResizeObserver(() => fitLabels(container)).observe(container);
  return tokens;
}

/** Columns for the regions of several lines: the outer ones to the left. */
function placeInGutter(regions, firstLine, lastLine) {
  const columns = new Map();
  const ends = [];
  for (const region of regions) {
    const free = ends.findIndex(end => end < firstLine.get(region));
    const column = free >= 0 ? free : ends.length;
    if (column >= MOST_NESTED) continue;
    ends[column] = lastLine.get(region);
    columns.set(region, column);
  }
  return { columns, width: ends.length ? ends.length * 8 + 6 : 0 };
}

/** Draws one line: pieces inside the brackets around them. */
function drawLine(row, pieces, bracketed, tokens, isTall) {
  const heights = [];
  pieces.forEach(({ begins }, at) => bracketed[at].forEach((region, level) => {
    heights[level] = Math.max(heights[level] ?? 0, begins.includes(region) ? LABEL_HEIGHT : BRACKET_HEIGHT);
  }));
  const total = heights.reduce((sum, height) => sum + height, 0);
  const lowered = make("span", { role: "presentation" });
  // Lowered under the line's own height, so that the room for brackets is above the text only.
  if (total) lowered.style.verticalAlign = `-${total}px`;
  row.append(lowered);
  let open = [];
  pieces.forEach((piece, at) => {
    const around = bracketed[at];
    let n_kept = 0;
    while (n_kept < open.length && open[n_kept].region === around[n_kept]) n_kept += 1;
    open.length = n_kept;
    // The line breaks before the brackets that begin with the piece.
    if (isWhole(piece.text)) (open.at(-1)?.bracket ?? lowered).append(make("wbr"));
    for (let level = n_kept; level < around.length; level += 1) {
      const region = around[level];
      const bracket = drawBracket(region, piece.begins.includes(region));
      bracket.classList.toggle("is-tall", isTall(region));
      bracket.style.setProperty("--above", `${heights.slice(level + 1).reduce((sum, height) => sum + height, 4)}px`);
      (open.at(-1)?.bracket ?? lowered).append(bracket);
      open.push({ region, bracket });
    }
    for (const { region, bracket } of open) {
      const isLast = !bracketed[at + 1]?.includes(region);
      if (isLast && !region.o && !isTall(region)) bracket.classList.add("ends");
    }
    (open.at(-1)?.bracket ?? lowered).append(drawPiece(piece, tokens[piece.index]));
  });
}

function drawBracket(region, begins) {
  const label = regionLabel(region);
  const name = begins ? label : `${label}, continued`;
  const className = `region ${regionClasses.get(region.k)}`;
  const bracket = make("span", { className, role: "group", "aria-label": cut(name, 200)[0] });
  if (begins) {
    bracket.classList.add("begins");
    const [title, n_missing] = cut(label, 200);
    const text = n_missing ? `${title}…` : title;
    bracket.append(make("span", { className: "region-label", text, title, "aria-hidden": "true" }));
  }
  return bracket;
}

/** Whether a line may break before a piece but not in it: a word with the blank before it. */
const isWhole = text => /^ [^ \n\t]{1,23}$/.test(text);

/** Draws a piece; the first of a token is the one that is focused and read aloud. */
function drawPiece(piece, drawn) {
  const step = data.steps[piece.index];
  const classes = ["token"];
  if (step.f) classes.push("is-forced");
  else classes.push(massClass(step.m));
  if (isSpecial(step)) classes.push("is-special");
  if (isWhole(piece.text)) classes.push("is-whole");
  const isFirst = drawn.length === 0;
  if (isFirst && step.w?.[0]?.length === 3) classes.push("is-refused");
  if (isFirst && !piece.text && !piece.hasNewline) classes.push("is-empty");
  const className = classes.filter(Boolean).join(" ");
  const part = make("span", { className, text: piece.text, "data-index": piece.index });
  if (isFirst) {
    part.setAttribute("role", "option");
    part.setAttribute("aria-selected", "false");
    part.setAttribute("aria-label", spoken(step));
  } else {
    part.setAttribute("aria-hidden", "true");
  }
  drawn.push({ part, text: part.firstChild, own: piece.text });
  if (piece.n_missing) part.append(make("span", { className: "rest", text: ` … ${count(piece.n_missing)} more ` }));
  if (piece.hasNewline) part.append(make("span", { className: "newline", text: "↵", "aria-hidden": "true" }));
  return part;
}

/** What a screen reader says of a token. */
function spoken(step) {
  const text = cut(shownText(step), MOST_LISTED)[0];
  if (text.trim()) return text;
  const names = { "\n": "line end ", "\t": "tab ", " ": "space " };
  return text.replace(/[\n\t ]/g, blank => names[blank]) || "part of a character";
}

/** Cuts each label where the next one in its row begins. */
function fitLabels(container) {
  const labels = [...container.querySelectorAll(".region-label")];
  labels.forEach(label => label.style.removeProperty("--most"));
  const right = container.getBoundingClientRect().right - 4;
  const boxes = labels.map(label => label.getBoundingClientRect());
  const rows = new Map();
  boxes.forEach(({ top, left }) => {
    const row = Math.round(top);
    if (!rows.has(row)) rows.set(row, []);
    rows.get(row).push(left);
  });
  rows.forEach(lefts => lefts.sort((a, b) => a - b));
  labels.forEach((label, at) => {
    const { top, left } = boxes[at];
    const next = rows.get(Math.round(top)).find(other => other > left + 1);
    label.style.setProperty("--most", `${Math.max(0, Math.min(right, (next ?? Infinity) - 6) - left)}px`);
  });
}

/** Shows the blanks of a token as marks, or as themselves again. */
function revealBlanks(drawn, isRevealed) {
  for (const { text, own } of drawn) {
    if (text) text.data = isRevealed ? own.replaceAll(" ", "·").replaceAll("\t", "⇥\t") : own;
  }
}

function showLegend() {
  const legend = element("legend");
  const add = (className, label) =>
    legend.append(make("li", {}, make("span", { className: `token ${className}`, "aria-hidden": "true" }), label));
  const isMeasured = data.steps.some(step => step.m !== undefined);
  if (isMeasured) {
    legend.append(make("li", { text: "The model’s probability of all that was allowed:" }));
    MASS_LABELS.forEach((label, index) => add(`mass-${index}`, label));
  }
  if (data.steps.some(step => step.f)) add("is-forced", "forced");
  if (data.steps.some(step => step.w?.[0]?.length === 3)) add("is-refused", "the model’s favourite was refused");
}
