// The tree of a search. Branches without a fork between them are one row, and a row's children are made when it is
// opened.

/** A tree of at most this many branches is open at first. Of a larger one, only the chosen path is. */
const MOST_OPEN = 300;
/** Deeper rows are not indented. */
const MOST_INDENTED = 12;

const OUTCOMES = { dropped: "✕ dropped", finished: "✓ finished", chosen: "★ chosen" };

function showTree() {
  element("search").hidden = false;
  const children = data.tree.map(() => []);
  const roots = [];
  data.tree.forEach((branch, index) => (branch.p === undefined ? roots : children[branch.p]).push(index));
  // Whether the chosen text goes through a branch; children come after their parents.
  const isOnPath = data.tree.map(branch => branch.o === "chosen");
  for (let index = data.tree.length - 1; index >= 0; index -= 1) {
    if (isOnPath[index] && data.tree[index].p !== undefined) isOnPath[data.tree[index].p] = true;
  }
  const tally = outcome => data.tree.filter(branch => branch.o === outcome).length;
  const tallies = ["finished", "dropped"].map(outcome => [tally(outcome), outcome]).filter(([n]) => n);
  tallies.unshift([data.tree.length + data.n_left_out, "branches"]);
  if (data.n_left_out) tallies.push([data.n_left_out, "unlikely ones left out"]);
  element("search-label").textContent = tallies.map(([n, word]) => `${count(n)} ${word}`).join(", ");

  const list = (branches, depth) => {
    const rows = make("ul", { className: depth > MOST_INDENTED ? "is-deep" : "" });
    for (const first of branches) {
      const chain = [first];
      while (children[chain.at(-1)].length === 1) chain.push(children[chain.at(-1)][0]);
      const last = chain.at(-1);
      const row = drawBranch(chain, !children[last].length);
      if (!children[last].length) {
        rows.append(make("li", {}, row));
        continue;
      }
      const folded = make("details", {}, make("summary", {}, row));
      folded.addEventListener("toggle", () => {
        if (folded.open && folded.children.length === 1) folded.append(list(children[last], depth + 1));
      });
      folded.open = data.tree.length <= MOST_OPEN || isOnPath[last];
      rows.append(make("li", {}, folded));
    }
    return rows;
  };
  element("tree").append(list(roots, 0));
}

/** One row: the texts of branches that follow each other, and what became of the last one. */
function drawBranch(chain, isLeaf) {
  const texts = make("span", { className: "texts" });
  for (const index of chain) {
    const branch = data.tree[index];
    const title = branch.l === undefined ? undefined : `log probability ${branch.l}`;
    texts.append(make("span", { className: branch.o ?? "", title }, marked(branch.t)));
  }
  const last = data.tree[chain.at(-1)];
  const row = make("span", { className: "branch" }, texts);
  if (last.l !== undefined) row.append(make("small", { text: `log p ${last.l.toFixed(2).replace("-", "−")}` }));
  const outcome = OUTCOMES[last.o];
  if (isLeaf && outcome) row.append(make("small", { className: `outcome is-${last.o}`, text: outcome }));
  return row;
}
