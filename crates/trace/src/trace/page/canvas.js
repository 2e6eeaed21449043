// A canvas that is filled step by step.

const MILLISECONDS_PER_FRAME = 600;

/** The cells of each frame in full: what they show (`null`: masked), flags and probabilities. */
function wholeFrames() {
  let before = [];
  return data.frames.map(frame => {
    before = frame.map((cell, position) => {
      if (cell === 0) return { text: null };
      if (cell === 1) return { ...before[position], isNew: false };
      const [text, flags, probability, mass] = cell;
      return { text, isNew: Boolean(flags & 1), isKnown: Boolean(flags & 2), probability, mass };
    });
    return before;
  });
}

function showCanvas() {
  element("canvas").hidden = false;
  const frames = wholeFrames();
  const slider = element("frame");
  slider.max = frames.length - 1;
  const n_cells = Math.max(0, ...frames.map(frame => frame.length));
  const parts = Array.from({ length: n_cells }, (_, position) =>
    make("span", { className: "cell", role: "option", "aria-selected": "false", "data-index": position }));
  element("cells").append(...parts);
  let at = 0;
  let selected = null;
  let timer = null;

  const describe = position => {
    const cell = frames[at][position];
    const about = element("cell-details");
    if (!cell) return about.replaceChildren();
    const words = [` position ${count(position + 1)}`];
    if (cell.isKnown) words.push("given");
    if (cell.isNew) words.push("written in this step");
    if (isMeasured(cell.probability)) words.push(`probability ${percent(cell.probability)}`);
    if (isMeasured(cell.mass)) words.push(`allowed ${percent(cell.mass)}`);
    const shown = cell.text === null ? "masked" : marked(cell.text);
    about.replaceChildren(make("span", { className: "chip" }, shown), words.join(", "));
  };
  const draw = index => {
    at = Math.min(Math.max(index, 0), frames.length - 1);
    const frame = frames[at];
    parts.forEach((part, position) => {
      const cell = frame[position];
      part.hidden = !cell;
      if (!cell) return;
      const isMasked = cell.text === null;
      part.textContent = isMasked ? "" : cut(cell.text, MOST_SHOWN)[0].replaceAll("\n", "↵\n");
      part.setAttribute("aria-label", isMasked ? "masked" : cell.text || "part of a character");
      part.className = `cell ${isMasked ? "is-masked" : massClass(cell.mass)}`;
      part.classList.toggle("is-new", Boolean(cell.isNew));
      part.classList.toggle("is-known", Boolean(cell.isKnown));
      part.classList.toggle("is-selected", position === selected);
    });
    slider.value = at;
    const n_masked = frame.filter(cell => cell.text === null).length;
    const label = `step ${count(at + 1)} of ${count(frames.length)}, ${count(n_masked)} masked`;
    element("frame-label").textContent = label;
    slider.setAttribute("aria-valuetext", label);
    element("previous").disabled = at === 0;
    element("next").disabled = at === frames.length - 1;
    if (selected !== null) describe(selected);
  };
  const stop = () => {
    clearInterval(timer);
    timer = null;
    element("play").textContent = "Play";
  };
  const go = index => { stop(); draw(index); };
  slider.addEventListener("input", () => go(Number(slider.value)));
  element("previous").addEventListener("click", () => go(at - 1));
  element("next").addEventListener("click", () => go(at + 1));
  element("play").addEventListener("click", () => {
    if (timer !== null) return stop();
    if (at === frames.length - 1) draw(0);
    element("play").textContent = "Pause";
    timer = setInterval(() => {
      draw(at + 1);
      if (at === frames.length - 1) stop();
    }, MILLISECONDS_PER_FRAME);
  });

  const select = position => {
    if (selected !== null) parts[selected].setAttribute("aria-selected", "false");
    selected = position;
    parts.forEach((part, index) => part.classList.toggle("is-selected", index === position));
    if (position === null) return element("cell-details").replaceChildren();
    parts[position].setAttribute("aria-selected", "true");
    describe(position);
  };
  const actions = { onMove: select, onEnter: select, onEscape: () => select(null) };
  const focus = moveByKeys(element("cells"), parts, actions);
  const indexAt = event => {
    const part = event.target.closest?.(".cell");
    return part ? Number(part.dataset.index) : null;
  };
  element("cells").addEventListener("pointerover", event => {
    const position = indexAt(event);
    if (event.pointerType === "mouse" && position !== null) describe(position);
  });
  element("cells").addEventListener("pointerleave", () => {
    if (selected !== null) describe(selected);
    else element("cell-details").replaceChildren();
  });
  element("cells").addEventListener("click", event => { if (indexAt(event) !== null) focus(indexAt(event)); });
  showCanvasLegend(frames);
  draw(0);
}

function showCanvasLegend(frames) {
  const legend = element("canvas-legend");
  const swatch = className => make("span", { className: `cell ${className}`, "aria-hidden": "true" });
  const some = is => frames.some(frame => frame.some(is));
  const add = (...parts) => legend.append(make("li", {}, ...parts));
  add(swatch("is-masked"), "masked");
  add(swatch("is-new"), "written in this step");
  if (some(cell => cell.isKnown)) add(make("span", { className: "known", text: "bold" }), "given");
  if (!some(cell => isMeasured(cell.mass))) return;
  add("The model’s probability of all that was allowed:");
  MASS_LABELS.forEach((label, index) => add(swatch(`mass-${index}`), label));
}
