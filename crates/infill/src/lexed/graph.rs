//! The lattice as the lexer sees it: a graph whose paths are the ways to read its texts as tokens.
//!
//! A node is a place of the lattice, a hypothesis of the lexer about the text up to there, and the width of
//! the line in progress, if that matters. An edge reads at least one byte, or skips a piece that can be left
//! out, or is what a line's end does to blocks. If a token that the lexer passes to the parser ends with the
//! edge, it is labelled with the token's terminal. The grammar has no part in this.
//!
//! Theorem. A text of the lattice that ends at one of `ends` is split by the lexer into tokens whose sequence
//! without the ignored ones is w iff a path from the first node to a goal has the labels w and reads the
//! text.
//!
//! Proof. Of all hypotheses about the text, one that ends at a boundary and is not refuted is the lexer's own
//! reading (`hypotheses`); edges are the lexer's steps put together. ∎
//!
//! With indentation that holds of the paths that fit the parser's contexts (`contexts`).
//!
//! Nodes from which no goal can be reached are marked dead. For the others the graph knows the terminals that
//! can be next: the parser's lookahead, over the whole lattice.

pub(super) mod narrow;
pub(super) mod outlook;

use maskwright_automata::Fuel;
use maskwright_grammar::{Tabs, TerminalId};
use maskwright_lexing::TerminalSet;
use maskwright_scan::{Carry, HypothesisId, Indent, MAX_WIDTH, WIDE};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::chart::{NodeIndex, START_NODE};
use crate::ground::InfillError;
use crate::lattice::{BYTES_OF_TOKEN, Lattice, Node, Piece, Step, UNITS_PER_EDGE, UNITS_PER_NODE};
use crate::lexed::graph::narrow::{Reading, usual_widths};
use crate::lexed::hypotheses::CLEAR;
use crate::lexed::tables::LexedTables;
use crate::lexed::tables::memo::Leap;
use crate::rules::StatesId;
use crate::tokens::NodeSetId;

/// A way on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Edge {
    pub(crate) from: NodeIndex,
    pub(crate) to: NodeIndex,
    /// The terminal whose token ends; `None` also if that token is ignored.
    pub(crate) label: Option<TerminalId>,
    pub(crate) crossing: Crossing,
}

/// What an edge reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Crossing {
    /// Bytes that are known, or the part of a token before its last bytes.
    Bytes,
    /// The rest of a token of the vocabulary: entry `index` of the scan from the node before.
    Token { index: u32 },
    /// A text of a free piece that leads to `target`; the next node reads what `target` reads.
    Text { target: HypothesisId },
    /// The end of a walk (`walks`) to `target`, whose future the next node has: a token that gives the parser
    /// what it got since the position's beginning.
    Walk { target: HypothesisId },
    /// Nothing: the way round a piece.
    Skip,
    /// Nothing: what the end of a line, or of the text, does to the blocks around.
    Indent,
}

/// Whether a node is a boundary, and where its edges lead by which labels.
type Future = (bool, Vec<(NodeIndex, Option<TerminalId>)>);

/// What may be read from a node on.
#[derive(Clone, Debug)]
pub(crate) struct Ahead {
    /// The terminals that the next token which the parser gets may be of, or the end of the text.
    pub(crate) next: TerminalSet,
    /// The terminals that the token in progress (at a boundary, the one that begins here) may be of.
    pub(crate) current: TerminalSet,
    /// Whether that token may be one that is ignored, or there may be none before the end.
    pub(crate) may_be_ignored: bool,
}

/// What is known of a lattice's positions before the graph is made, and how its texts are read.
#[derive(Debug, Default)]
struct Positions {
    /// By position, how much of the text is before it, in tokens as they are mostly long, and whether it is
    /// known.
    progress: Vec<(u32, bool)>,
    /// By position, the byte that all texts have at its beginning, if that is known and matters: where texts
    /// end nowhere, all that can be read is kept.
    first_bytes: Vec<Option<u8>>,
    /// By position, its text if that is known; empty unless known text is kept.
    known: Vec<Option<Box<[u8]>>>,
    /// Whether a comment or string that begins in unknown text must end before known text
    /// ([`Lattice::keeps_text`]).
    keeps_text: bool,
    /// The greatest width that is counted: lines that are wider have their width from any text, and may be
    /// [`WIDE`].
    counted: u32,
    /// The widths that lines have between masked positions in a narrow graph; sorted.
    usual_widths: Vec<u32>,
    /// A masked position of which only these tokens are asked about; packed.
    asked: Option<(usize, Box<[u32]>)>,
}

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Graph {
    positions: Positions,
    pub(crate) nodes: Vec<(Node, HypothesisId)>,
    ids: FxHashMap<(Node, HypothesisId, u32), NodeIndex>,
    /// By node, how much of the text is before it, in tokens as they are mostly long.
    pub(crate) progress: Vec<u32>,
    /// By node, how wide its line is, if the hypothesis asks.
    pub(crate) widths: Vec<u32>,
    pub(crate) is_boundary: Vec<bool>,
    /// By node, whether it is nowhere in particular in the indentation.
    is_plain: Vec<bool>,
    /// How many edges were not added for what comes next.
    n_hopeless: u64,
    /// All edges, those of one node next to each other.
    pub(crate) edges: Vec<Edge>,
    /// By node, its edges.
    pub(crate) out: Vec<(u32, u32)>,
    /// By position, its nodes.
    pub(crate) at: Vec<Vec<NodeIndex>>,
    /// By node; `None` if it is dead.
    pub(crate) ahead: Vec<Option<Ahead>>,
    pub(crate) goals: Vec<NodeIndex>,
    /// By node, the states of the grammar's approximation that may go on there; empty if that is not asked.
    pub(crate) futures: Vec<StatesId>,
}

impl Graph {
    /// The graph of a lattice; by position how much of it is wanted, where that is not the whole.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn new(
        lattice: &Lattice,
        readings: &[Reading],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Graph, InfillError> {
        Graph::asking(lattice, readings, None, tables, fuel)
    }

    /// The same, with a token of `asked`, or one that leads to the same as one of those, wherever a text has
    /// one at its position.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn asking(
        lattice: &Lattice,
        readings: &[Reading],
        asked: Option<(usize, Box<[u32]>)>,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Graph, InfillError> {
        let Lattice { steps, ends, .. } = lattice;
        let mut graph = Graph { at: vec![Vec::new(); steps.len() + 1], ..Graph::default() };
        graph.positions.asked = asked;
        let tabs = tables.hypotheses.tables().layout.as_ref().map_or(Tabs::Apart, |layout| layout.tabs);
        graph.positions.usual_widths = usual_widths(steps, tabs);
        let mut progress = 0;
        for (piece, _) in steps {
            let length = if let Piece::Bytes(bytes) = piece { Some(bytes.len() as u32) } else { None };
            graph.positions.progress.push((progress, length.is_some()));
            progress += length.map_or(1, |length| (length / BYTES_OF_TOKEN).max(1));
        }
        graph.positions.progress.push((progress, false));
        if !ends.is_empty() {
            graph.positions.first_bytes = steps
                .iter()
                .enumerate()
                .map(|(position, step)| match step {
                    (Piece::Bytes(bytes), None) if !ends.contains(&position) => bytes.first().copied(),
                    _ => None,
                })
                .collect();
        }
        if lattice.keeps_text {
            let known =
                |(piece, _): &Step| if let Piece::Bytes(bytes) = piece { Some(bytes.clone()) } else { None };
            graph.positions.known = steps.iter().map(known).collect();
        }
        graph.positions.counted = tables.counted(steps)?;
        graph.node(Node::boundary(0), (tables.hypotheses.start, 0), tables);
        let over = (Piece::Stop, None);
        for (position, step) in steps.iter().chain([&over]).enumerate() {
            // The list grows while it is read.
            let mut index = 0;
            let reading = readings.get(position).copied().unwrap_or(Reading::Whole);
            let begins_unknown = !graph.is_known(position) && (position == 0 || graph.is_known(position - 1));
            if lattice.keeps_text && begins_unknown {
                graph.positions.keeps_text = true;
                for &node in &graph.at[position] {
                    // What is known may have begun it.
                    graph.positions.keeps_text &=
                        !tables.hypotheses.is_in_text(graph.nodes[node as usize].1)?;
                }
            }
            let is_end = ends.contains(&position);
            while let Some(&node) = graph.at[position].get(index) {
                index += 1;
                graph
                    .expand(node, step, reading, is_end, tables, fuel)
                    .map_err(|error| error.at(position))?;
            }
        }
        graph.out.resize(graph.nodes.len(), (0, 0));
        for &end in ends {
            for &node in &graph.at[end] {
                let (place, hypothesis) = graph.nodes[node as usize];
                let ends_here = if tables.hypotheses.tables().layout.is_some() {
                    tables.hypotheses.indent(hypothesis) == Indent::Over
                } else {
                    tables.may_end(hypothesis, fuel)?
                };
                if place == Node::boundary(end as u32) && ends_here {
                    graph.goals.push(node);
                }
            }
        }
        graph.look_ahead(tables.grammar.n_terminals, fuel)?;
        graph.look_further(&mut tables.grammar, fuel)?;
        if tables.merge_alike {
            graph.merge_alike(steps);
        }
        Ok(graph)
    }

    /// The edges from a node to nodes that are not dead, with their numbers.
    pub(crate) fn edges_of(&self, node: NodeIndex) -> impl Iterator<Item = (u32, Edge)> {
        let (start, end) = self.out[node as usize];
        (start..end)
            .map(|index| (index, self.edges[index as usize]))
            .filter(|(_, edge)| self.ahead[edge.to as usize].is_some())
    }

    /// Whether an edge of `node` leads back within its position: to a node that was made before, or to
    /// itself.
    pub(crate) fn leads_back(&self, node: NodeIndex, to: NodeIndex) -> bool {
        to <= node && self.nodes[to as usize].0.position == self.nodes[node as usize].0.position
    }

    /// Takes no node for dead, and anything to be ahead of it.
    pub(crate) fn forget_ahead(&mut self, n_terminals: usize) {
        let all = TerminalSet::from_iter(0..=n_terminals as u32);
        let ahead = Ahead { next: all.clone(), current: all, may_be_ignored: true };
        self.ahead = vec![Some(ahead); self.nodes.len()];
        self.futures = Vec::new();
    }

    /// Adds an edge, and the node that it leads to if it is new; none to where the next byte is known and
    /// cannot be read, or the text ends and none may end so.
    fn lead(
        &mut self,
        from: NodeIndex,
        (label, hypothesis): Leap,
        place: Node,
        crossing: Crossing,
        tables: &mut LexedTables,
    ) -> Result<(), InfillError> {
        let on = tables.hypotheses.on(hypothesis, self.widths[from as usize])?;
        self.lead_on(from, label, on, place, crossing, tables)
    }

    /// The same, to a hypothesis that stands for all widths, and the width.
    fn lead_on(
        &mut self,
        from: NodeIndex,
        label: Option<TerminalId>,
        (hypothesis, width): (HypothesisId, u32),
        place: Node,
        crossing: Crossing,
        tables: &mut LexedTables,
    ) -> Result<(), InfillError> {
        if place.inner == 0 && self.is_hopeless(hypothesis, place.position as usize, tables)? {
            self.n_hopeless += 1;
            return Ok(());
        }
        let enters_known = || {
            let before = self.nodes[from as usize].0.position;
            self.is_known(place.position as usize) && !self.is_known(before as usize)
        };
        if self.positions.keeps_text
            && enters_known()
            && self.makes_text(hypothesis, place.position as usize, tables)?
        {
            return Ok(());
        }
        let width = if width > self.positions.counted && width <= MAX_WIDTH { WIDE } else { width };
        let to = self.node(place, (hypothesis, width), tables);
        // The token in progress of a walk's beginning is over where the walk goes on.
        self.is_boundary[to as usize] |= label.is_some();
        self.edges.push(Edge { from, to, label, crossing });
        Ok(())
    }

    /// Whether the known text from a position on becomes part of the token in progress, as of a comment or a
    /// string. This may show only after some of the text, as with ` 1;` after `#define A`.
    fn makes_text(
        &self,
        mut hypothesis: HypothesisId,
        position: usize,
        tables: &mut LexedTables,
    ) -> Result<bool, InfillError> {
        if tables.hypotheses.is_boundary(hypothesis) {
            return Ok(false);
        }
        let mut bytes =
            self.positions.known[position..].iter().map_while(Option::as_ref).flat_map(|text| text.iter());
        loop {
            if tables.hypotheses.reads_anything(hypothesis)? {
                return Ok(true);
            }
            let Some(&byte) = bytes.next() else { return Ok(false) };
            let Some(next) = tables.hypotheses.within_after(hypothesis, byte)? else { return Ok(false) };
            hypothesis = next;
        }
    }

    /// Whether nothing comes of a hypothesis at the beginning of a position: the next byte is known and
    /// cannot be read, or there is none and no text ends so.
    fn is_hopeless(
        &self,
        hypothesis: HypothesisId,
        position: usize,
        tables: &mut LexedTables,
    ) -> Result<bool, InfillError> {
        match self.positions.first_bytes.get(position) {
            Some(&Some(byte)) => Ok(!tables.hypotheses.may_read(hypothesis, byte)?),
            None if !self.positions.first_bytes.is_empty() => Ok(!tables.hypotheses.is_ending(hypothesis)),
            _ => Ok(false),
        }
    }

    /// Whether the text of a position is known.
    fn is_known(&self, position: usize) -> bool {
        self.positions.progress[position].1
    }

    fn node(
        &mut self,
        place: Node,
        (hypothesis, width): (HypothesisId, u32),
        tables: &LexedTables,
    ) -> NodeIndex {
        let next = self.nodes.len() as u32;
        let id = *self.ids.entry((place, hypothesis, width)).or_insert(next);
        if id == next {
            self.nodes.push((place, hypothesis));
            self.widths.push(width);
            let (before, is_known) = self.positions.progress[place.position as usize];
            self.progress.push(before + if is_known { place.inner / BYTES_OF_TOKEN } else { 0 });
            self.is_boundary.push(tables.hypotheses.is_boundary(hypothesis));
            self.is_plain.push(tables.hypotheses.indent(hypothesis) == Indent::None);
            self.at[place.position as usize].push(id);
        }
        id
    }

    fn expand(
        &mut self,
        from: NodeIndex,
        (piece, way_round): &Step,
        reading: Reading,
        is_end: bool,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let (place, hypothesis) = self.nodes[from as usize];
        let (first, n_nodes, n_hopeless) = (self.edges.len() as u32, self.nodes.len(), self.n_hopeless);
        let behind = Node::boundary(place.position + 1);
        if place.inner == 0
            && let Some(target) = *way_round
        {
            self.lead(from, (None, hypothesis), Node::boundary(target), Crossing::Skip, tables)?;
        }
        if is_end
            && place.inner == 0
            && tables.hypotheses.tables().layout.is_some()
            && tables.may_end(hypothesis, fuel)?
        {
            let at_end = tables.hypotheses.at_end(Indent::TextEnded)?;
            self.lead(from, (None, at_end), place, Crossing::Indent, tables)?;
        }
        match piece {
            _ if !tables.hypotheses.indent(hypothesis).is_read_on() => {
                for (label, target) in tables.hypotheses.moves(hypothesis)? {
                    self.lead(from, (label, target), place, Crossing::Indent, tables)?;
                }
            }
            Piece::Token if reading != Reading::Whole => self.walk(from, reading, tables, fuel)?,
            _ if hypothesis == CLEAR => {}
            Piece::Stop => {}
            Piece::Bytes(bytes) => self.read_known(from, bytes, tables, fuel)?,
            Piece::Token => {
                let scan = tables.scan(NodeSetId(place.inner), hypothesis, fuel)?;
                for &(leap, set) in &scan.exits {
                    self.lead(from, leap, Node { inner: set.0, ..place }, Crossing::Bytes, tables)?;
                }
                let is_here = |asked: &&(usize, _)| asked.0 == place.position as usize;
                let wanted: Option<Vec<bool>> = match self.positions.asked.as_ref().filter(is_here) {
                    Some((_, asked)) => {
                        let tokens = tables.scan_tokens(NodeSetId(place.inner), hypothesis, fuel)?;
                        Some(tokens.iter().map(|tokens| tokens.intersects(asked)).collect())
                    }
                    None => None,
                };
                for (index, &leap) in scan.ends.iter().enumerate() {
                    if wanted.as_ref().is_none_or(|wanted| wanted.get(index) == Some(&true)) {
                        self.lead(from, leap, behind, Crossing::Token { index: index as u32 }, tables)?;
                    }
                }
            }
            Piece::Free | Piece::Rough => {
                let counted = self.counted_in(piece);
                let scan = tables.free_scan(hypothesis, counted, fuel)?;
                let is_all = reading == Reading::Whole;
                for &(leap, _) in &scan.exits {
                    if is_all || self.is_usual(from, leap.1, tables) {
                        self.lead(from, leap, place, Crossing::Text { target: leap.1 }, tables)?;
                    }
                }
                for &inside in &scan.inside {
                    if is_all || self.is_usual(from, inside, tables) {
                        self.lead(from, (None, inside), behind, Crossing::Text { target: inside }, tables)?;
                    }
                }
            }
        }
        let n_edges = self.edges.len() as u32 - first;
        let n_new = (self.nodes.len() - n_nodes) as u64;
        let n_dropped = self.n_hopeless - n_hopeless;
        fuel.spend(1 + UNITS_PER_EDGE * u64::from(n_edges) + UNITS_PER_NODE * n_new + n_dropped / 4)
            .map_err(|error| InfillError::work(place.position as usize, error))?;
        self.out.resize(self.nodes.len(), (0, 0));
        self.out[from as usize] = (first, first + n_edges);
        Ok(())
    }

    /// Adds the walks from a node of a masked position.
    fn walk(
        &mut self,
        from: NodeIndex,
        reading: Reading,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let (place, hypothesis) = self.nodes[from as usize];
        let behind = Node::boundary(place.position + 1);
        let walks = tables.walks(hypothesis, fuel)?;
        let tree = match reading {
            Reading::Last | Reading::LastOfLine => &walks.last,
            Reading::Near => &walks.near,
            Reading::Open => &walks.open,
            Reading::Whole | Reading::Inner | Reading::Silent => &walks.inner,
        };
        let Some(node) = tree.nodes.get(place.inner as usize) else { return Ok(()) };
        for &(label, to) in &node.ends {
            let is_read = match reading {
                Reading::Silent => label.is_none() && to == hypothesis,
                Reading::Last => true,
                _ => self.is_usual(from, to, tables),
            };
            if is_read {
                self.lead(from, (label, to), behind, Crossing::Walk { target: to }, tables)?;
            }
        }
        if reading != Reading::Silent {
            for &(label, child) in &node.exits {
                let inside = Node { inner: child, ..place };
                self.lead(from, (Some(label), hypothesis), inside, Crossing::Bytes, tables)?;
            }
        }
        Ok(())
    }

    /// Adds the edges that read known text from a node: to where a token of the lexer ends in it, and to its
    /// end.
    fn read_known(
        &mut self,
        from: NodeIndex,
        bytes: &[u8],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let (place, hypothesis) = self.nodes[from as usize];
        // Each stands for all widths, else there were as many as blanks.
        let mut within = vec![(hypothesis, self.widths[from as usize])];
        for (offset, &byte) in bytes.iter().enumerate().skip(place.inner as usize) {
            let behind = if offset + 1 == bytes.len() {
                Node::boundary(place.position + 1)
            } else {
                Node { inner: offset as u32 + 1, ..place }
            };
            let is_inside = behind.position == place.position;
            for (at, width) in std::mem::take(&mut within) {
                fuel.spend(1).map_err(|error| InfillError::work(place.position as usize, error))?;
                for index in tables.hypotheses.step(at, byte)? {
                    let outcome = tables.hypotheses.outcome(index);
                    let on = tables.hypotheses.on(outcome.next, width)?;
                    if is_inside && outcome.terminal.is_none() {
                        within.push(on);
                    } else if !is_inside
                        || self.positions.first_bytes.is_empty()
                        || tables.hypotheses.may_read(on.0, bytes[offset + 1])?
                    {
                        self.lead_on(from, tables.label(outcome), on, behind, Crossing::Bytes, tables)?;
                    }
                }
            }
            if within.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// How far widths are counted in a free piece.
    pub(crate) fn counted_in(&self, piece: &Piece) -> Option<u32> {
        (matches!(piece, Piece::Free) && self.positions.counted != MAX_WIDTH)
            .then_some(self.positions.counted)
    }

    /// Whether blocks are usually that wide.
    pub(crate) fn is_usual_width(&self, width: u32) -> bool {
        self.positions.usual_widths.binary_search(&width).is_ok()
    }

    /// Whether lines are usually as wide as the one after a step from `from` to `hypothesis`, if that asks.
    fn is_usual(&self, from: NodeIndex, hypothesis: HypothesisId, tables: &LexedTables) -> bool {
        let indent = tables.hypotheses.indent(hypothesis);
        let width = indent.width().map_or(0, |width| width.from(self.widths[from as usize]));
        indent == Indent::None || self.is_usual_width(width)
    }

    /// Learns what lies ahead of each node, from the end to the beginning.
    fn look_ahead(&mut self, n_terminals: usize, fuel: &Fuel) -> Result<(), InfillError> {
        self.ahead = vec![None; self.nodes.len()];
        for &goal in &self.goals {
            let mut next = TerminalSet::new();
            next.insert(n_terminals as u32);
            let current = TerminalSet::new();
            self.ahead[goal as usize] = Some(Ahead { next, current, may_be_ignored: true });
        }
        for position in (0..self.at.len()).rev() {
            // Within a position edges mostly lead to nodes that were made later, and those are done.
            loop {
                let (mut has_changed, mut goes_back) = (false, false);
                for index in (0..self.at[position].len()).rev() {
                    let node = self.at[position][index];
                    let (start, end) = self.out[node as usize];
                    fuel.spend(u64::from(end - start) + 1)
                        .map_err(|error| InfillError::work(position, error))?;
                    has_changed |= self.look_over(node);
                    let edges = &self.edges[start as usize..end as usize];
                    goes_back |= edges.iter().any(|edge| self.leads_back(node, edge.to));
                }
                if !(has_changed && goes_back) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Lets edges to nodes with the same future within known text lead to one of them.
    ///
    /// Only nodes are made one whose edges read known bytes: the edges of others say which tokens or texts
    /// are read, and those belong to one node.
    fn merge_alike(&mut self, steps: &[Step]) {
        let mut stands_for: Vec<NodeIndex> = (0..self.nodes.len() as u32).collect();
        let mut alike: FxHashMap<Future, NodeIndex> = FxHashMap::default();
        for position in (0..self.at.len()).rev() {
            let is_known = matches!(steps.get(position), Some((Piece::Bytes(_), None)));
            // Edges lead to later nodes of the same text.
            let mut nodes = self.at[position].clone();
            nodes.sort_by_key(|&node| std::cmp::Reverse(self.nodes[node as usize].0.inner));
            for node in nodes {
                let (start, end) = self.out[node as usize];
                for edge in &mut self.edges[start as usize..end as usize] {
                    edge.to = stands_for[edge.to as usize];
                }
                if matches!(steps.get(position), Some((Piece::Free | Piece::Rough, _))) {
                    self.drop_doubles(node);
                }
                if is_known
                    && node != START_NODE
                    && self.is_plain[node as usize]
                    && !self.goals.contains(&node)
                    && self.ahead[node as usize].is_some()
                {
                    let mut future: Vec<_> =
                        self.edges_of(node).map(|(_, edge)| (edge.to, edge.label)).collect();
                    future.sort_unstable();
                    let key = (self.is_boundary[node as usize], future);
                    stands_for[node as usize] = *alike.entry(key).or_insert(node);
                }
            }
            alike.clear();
        }
    }

    /// Of the texts that lead from a node of a free piece to the same node by the same label, one is enough.
    fn drop_doubles(&mut self, node: NodeIndex) {
        let (start, end) = self.out[node as usize];
        let mut seen = FxHashSet::default();
        let mut kept = start as usize;
        for index in start as usize..end as usize {
            let Edge { to, label, crossing, .. } = self.edges[index];
            if crossing == Crossing::Skip || seen.insert((to, label)) {
                self.edges.swap(kept, index);
                kept += 1;
            }
        }
        self.out[node as usize] = (start, kept as u32);
    }

    /// Adds what lies ahead of a node's edges to what lies ahead of it; whether that is more than was known.
    fn look_over(&mut self, node: NodeIndex) -> bool {
        let mut here = self.ahead[node as usize].take();
        let mut has_changed = false;
        let (start, end) = self.out[node as usize];
        for &Edge { to, label, crossing, .. } in &self.edges[start as usize..end as usize] {
            let is_loop = to == node;
            let behind = self.ahead[to as usize].as_ref();
            let is_alive = if is_loop { here.is_some() && label.is_some() } else { behind.is_some() };
            if !is_alive {
                continue;
            }
            let before = here.get_or_insert_with(|| {
                has_changed = true;
                Ahead { next: TerminalSet::new(), current: TerminalSet::new(), may_be_ignored: false }
            });
            match (label, behind) {
                (Some(terminal), _) => {
                    has_changed |= before.next.insert(terminal.index() as u32);
                    has_changed |= before.current.insert(terminal.index() as u32);
                }
                (None, Some(behind)) => {
                    has_changed |= before.next.union_with(&behind.next);
                    let is_within = matches!(crossing, Crossing::Skip | Crossing::Indent)
                        || !self.is_boundary[to as usize];
                    if is_within {
                        has_changed |= before.current.union_with(&behind.current);
                    }
                    let may_be_ignored = !is_within || behind.may_be_ignored;
                    has_changed |= may_be_ignored && !before.may_be_ignored;
                    before.may_be_ignored |= may_be_ignored;
                }
                // A node is no more than itself.
                (None, None) => {}
            }
        }
        self.ahead[node as usize] = here;
        has_changed
    }
}
