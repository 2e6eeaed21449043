// The details of a token, and the table of all tokens.

/** How many rows are added to the table at once. */
const ROWS_AT_ONCE = 300;

function showTokens() {
  element("tokens").hidden = false;
  const drawn = drawText();
  const panel = element("details");
  const text = element("text");
  let selected = null;
  let hovered = null;

  const setClass = (index, name, isOn) => {
    if (index === null) return;
    for (const { part } of drawn[index]) part.classList.toggle(name, isOn);
    revealBlanks(drawn[index], index === selected || index === hovered);
  };
  const open = () => {
    panel.classList.add("is-open");
    document.body.classList.add("has-sheet");
    element("close").hidden = false;
  };
  const select = index => {
    const before = selected;
    selected = index;
    setClass(before, "is-selected", false);
    if (before !== null) drawn[before][0].part.setAttribute("aria-selected", "false");
    setClass(index, "is-selected", true);
    if (index === null) return;
    drawn[index][0].part.setAttribute("aria-selected", "true");
    fillDetails(index);
    open();
    drawn[index][0].part.scrollIntoView({ block: "nearest", inline: "nearest" });
  };
  const hover = index => {
    if (hovered === index) return;
    const before = hovered;
    hovered = index;
    setClass(before, "is-hovered", false);
    setClass(index, "is-hovered", true);
    if (index !== null) fillDetails(index);
    else if (selected !== null) fillDetails(selected);
    else emptyDetails();
  };
  const close = () => {
    panel.classList.remove("is-open");
    document.body.classList.remove("has-sheet");
    element("close").hidden = true;
    select(null);
    emptyDetails();
  };

  // The panel ends above the lower edge of the window, wherever it begins.
  const fit = () => panel.style.setProperty("--top", `${Math.max(16, panel.getBoundingClientRect().top)}px`);
  addEventListener("scroll", fit, { passive: true });
  addEventListener("resize", fit);
  element("cost").addEventListener("toggle", fit, true);
  fit();

  const actions = { onMove: select, onEnter: select, onEscape: close };
  const focus = moveByKeys(text, drawn.map(([first]) => first.part), actions);
  const indexAt = event => {
    const part = event.target.closest?.(".token");
    return part ? Number(part.dataset.index) : null;
  };
  text.addEventListener("pointerover", event => { if (event.pointerType === "mouse") hover(indexAt(event)); });
  text.addEventListener("pointerleave", () => hover(null));
  text.addEventListener("click", event => {
    const index = indexAt(event);
    if (index === null || !getSelection().isCollapsed) return;
    focus(index);
    select(index);
  });
  panel.addEventListener("keydown", event => { if (event.key === "Escape") closeAndReturn(); });
  element("close").addEventListener("click", () => closeAndReturn());
  const closeAndReturn = () => {
    const index = selected;
    close();
    // The focus would select the token again.
    if (index !== null) drawn[index][0].part.focus({ preventScroll: true });
    close();
  };
  showLegend();
  showViews();
}

function emptyDetails() {
  element("details-summary").replaceChildren("Point at a token, tap it, or move to it with the arrow keys.");
  element("details-body").replaceChildren();
}

function fillDetails(index) {
  const step = data.steps[index];
  const token = data.tokens[step.k];
  const summary = element("details-summary");
  summary.replaceChildren(
    make("span", { className: "chip" }, marked(shownText(step))),
    make("span", { className: "blank", text: ` token ${count(index + 1)} of ${count(data.steps.length)}` }));
  const body = document.createDocumentFragment();
  body.append(make("p", { className: "note", text: massSentence(step) }));

  const places = make("dl", { className: "facts" });
  const facts = make("dl", { className: "facts" });
  const addTo = (list, label, ...value) => list.append(make("dt", { text: label }), make("dd", {}, ...value));
  const add = (label, ...value) => addTo(facts, label, ...value);
  if (step.p !== undefined) {
    addTo(places, "Place", make("span", { className: "mono", text: cut(data.strings[step.p], 400)[0] }));
  }
  const around = regionsAround(index);
  if (around.length) addTo(places, "Inside", around.map(regionLabel).join(" › "));
  if (step.n !== undefined) add("Allowed tokens", count(step.n));
  if (step.u !== undefined) add("Mask time", duration(step.u));
  if (step.l !== undefined) add("Tokens left", count(step.l));
  add("Token id", String(token.i));
  add("Bytes", make("span", { className: "mono", text: bytes(token) }));
  if (step.e) add("Ends the text", "yes");
  if (places.firstChild) body.append(places);
  addCandidates(body, "The model wanted", step.w, step);
  addCandidates(body, "Among the allowed", step.a, step);
  body.append(facts);
  element("details-body").replaceChildren(body);
  element("details").scrollTop = 0;
}

function massSentence(step) {
  const allowed = step.m === undefined
    ? ""
    : ` ${percent(step.m)} of the model’s probability was allowed, which costs ${nats(step.m)}.`;
  const unasked = step.m === undefined ? ", and the model was not asked" : "";
  if (step.f) return `Forced: it was the only token allowed${unasked}.${allowed}`;
  return allowed.trim() || "How much of the model’s probability was allowed was not measured.";
}

/** All regions that hold a part of a token, from the outermost. */
function regionsAround(index) {
  const place = [index, 0];
  const next = [index + 1, 0];
  const holds = region => isBefore(region.s, next) && isBefore(place, region.e);
  return data.regions.filter(holds).sort((a, b) => a.s[0] - b.s[0] || a.s[1] - b.s[1] || b.e[0] - a.e[0]);
}

/** The bytes of a token as hexadecimal numbers. */
function bytes(token) {
  const encoded = token.h === undefined ? new TextEncoder().encode(token.t) : null;
  const hexadecimal = byte => byte.toString(16).padStart(2, "0");
  const digits = token.h ?? Array.from(encoded.subarray(0, 100), hexadecimal).join("");
  const [shown] = cut(digits, 96);
  const n_bytes = encoded?.length ?? token.h.length / 2;
  const list = shown.replace(/..(?=.)/g, "$& ");
  return n_bytes > 48 ? `${list} … ${count(n_bytes)} bytes` : list || "none";
}

function addCandidates(body, heading, candidates, step) {
  if (!candidates?.length) return;
  const list = make("ol", { className: "candidates" });
  for (const [token, probability, why] of candidates) {
    const { n, t } = data.tokens[token];
    const isRefused = why !== undefined;
    const chip = make("span", { className: "chip" }, marked(n ?? t));
    const name = make("span", {}, isRefused ? make("s", {}, chip) : chip);
    if (isRefused) name.append(make("span", { className: "hidden-text", text: " refused" }));
    if (token === step.k) name.append(make("span", { className: "hidden-text", text: " written" }));
    const bar = make("i");
    bar.style.width = `${Math.min(100, (probability ?? 0) * 100)}%`;
    const meter = make("span", { className: "meter", "aria-hidden": "true" }, bar);
    const share = make("span", { className: "share", text: percent(probability) });
    const item = make("li", {}, make("div", { className: "candidate" }, name, meter, share));
    item.classList.toggle("is-refused", isRefused);
    item.classList.toggle("is-written", token === step.k);
    if (why >= 0) item.append(make("div", { className: "why", text: cut(data.strings[why], 400)[0] }));
    list.append(item);
  }
  body.append(make("h3", { text: heading }), list);
}

/** The buttons above the text. */
function showViews() {
  const button = element("as-table");
  button.addEventListener("click", () => {
    const isTable = button.getAttribute("aria-pressed") !== "true";
    button.setAttribute("aria-pressed", String(isTable));
    element("text").hidden = isTable;
    element("table").hidden = !isTable;
    document.querySelector(".columns").classList.toggle("is-table", isTable);
    if (isTable && !element("table").firstChild) fillTable();
  });
  element("copy").addEventListener("click", async () => {
    const text = element("plain").textContent;
    try {
      await navigator.clipboard.writeText(text);
      element("copied").textContent = "Copied";
    } catch {
      offerCopy(text);
    }
  });
}

/** Where the clipboard is not allowed: the text, selected. */
function offerCopy(text) {
  document.querySelector(".copy-box")?.remove();
  const box = make("textarea", { className: "copy-box", readonly: "", "aria-label": "The trace as text" });
  box.value = text;
  element("tokens").insertBefore(box, element("tokens").children[1]);
  box.focus();
  box.select();
  element("copied").textContent = "Copy the selected text";
}

/** Fills the table, a few hundred rows at a time. */
function fillTable() {
  const has = key => data.steps.some(step => step[key] !== undefined);
  const favourite = step => {
    const best = step.w?.[0];
    if (best?.length !== 3) return "";
    const { n, t } = data.tokens[best[0]];
    return make("s", {}, make("span", { className: "chip" }, marked(n ?? t)));
  };
  const mass = step => {
    if (step.m === undefined) return step.f ? "forced" : "–";
    return make("span", { className: `mass ${massClass(step.m)}`, text: percent(step.m) });
  };
  const columns = [
    ["#", true, (_, index) => count(index + 1)],
    ["Token", false, step => make("span", { className: "chip" }, marked(shownText(step)))],
    ["Id", true, step => String(data.tokens[step.k].i)],
    ["Allowed", true, mass],
    has("n") && ["Allowed tokens", true, step => (step.n === undefined ? "" : count(step.n))],
    has("w") && ["Favourite, if refused", false, favourite],
    has("p") && ["Place", false, step => cut(data.strings[step.p] ?? "", 200)[0]],
    has("u") && ["Mask time", true, step => (step.u === undefined ? "" : duration(step.u))],
    has("l") && ["Tokens left", true, step => (step.l === undefined ? "" : count(step.l))],
  ].filter(Boolean);
  const body = make("tbody");
  const kind = isNumber => (isNumber ? "number" : "");
  const heads = columns.map(([text, isNumber]) => make("th", { text, scope: "col", className: kind(isNumber) }));
  element("table").append(make("table", {}, make("thead", {}, make("tr", {}, ...heads)), body));
  const addRows = from => {
    data.steps.slice(from, from + ROWS_AT_ONCE).forEach((step, at) => {
      const cell = ([, isNumber, value]) => make("td", { className: kind(isNumber) }, value(step, from + at));
      const cells = columns.map(cell);
      body.append(make("tr", {}, ...cells));
    });
    if (from + ROWS_AT_ONCE < data.steps.length) setTimeout(() => addRows(from + ROWS_AT_ONCE));
  };
  addRows(0);
}
