//! A lattice's bytes as a chart parses them.
//!
//! A node is a place of the lattice, between terminals; or a boundary with the *residue* of the terminal in
//! progress there. Edges are made when they are asked for, so a schema with thousands of terminals makes no
//! more of them than texts can use. Each edge reads at least one byte, or skips a piece that can be left out.
//!
//! Inside a token of the vocabulary a place is a set of nodes of the token trie. Sets of residues at one
//! boundary are not joined into one node: then what is useful would have to be separated again (see
//! [`scan`](crate::bytes::tables::scan)).

use std::ops::Range;

use maskwright_automata::{ByteSet, Fuel};
use maskwright_grammar::{Network, RuleId, Symbol, TerminalId};
use rustc_hash::FxHashMap;

use crate::bytes::tables::{ResidueId, Tables};
use crate::chart::{Edges, NodeIndex};
use crate::ground::InfillError;
use crate::lattice::{BYTES_OF_TOKEN, Filling, Lattice, Node, Piece, UNITS_PER_EDGE, UNITS_PER_NODE};
use crate::tokens::NodeSetId;

/// A way on.
#[derive(Clone, Copy, Debug)]
struct Edge {
    place: Node,
    to: NodeIndex,
    crossing: Crossing,
}

/// What an edge reads with a residue. `target` is what is left of the terminal, `None` if it ends there.
#[derive(Clone, Copy, Debug)]
enum Crossing {
    /// Bytes that are known, or the part of a token before its last bytes.
    Bytes,
    /// The rest of a token of the vocabulary.
    Token { residue: ResidueId, target: Option<ResidueId> },
    /// Some text of a free piece.
    Text { residue: ResidueId, target: Option<ResidueId> },
    /// Nothing: the way round a piece.
    Skip,
}

/// See the module.
pub(crate) struct Scanned<'s> {
    lattice: &'s Lattice,
    tables: &'s mut Tables,
    fuel: &'s Fuel,
    /// By position, how much of the text is before it, in tokens.
    progress_at: Vec<u32>,
    nodes: Vec<(Node, Option<ResidueId>)>,
    ids: FxHashMap<(Node, Option<ResidueId>), NodeIndex>,
    edges: Vec<Edge>,
    /// By node, its edges, once they are made; by place and residue, those by which it reads on.
    out: Vec<Option<(u32, u32)>>,
    reading: FxHashMap<(Node, ResidueId), (u32, u32)>,
    /// By position, how many bytes of its known text something read.
    furthest: Vec<u32>,
}

impl<'s> Scanned<'s> {
    pub(crate) fn new(lattice: &'s Lattice, tables: &'s mut Tables, fuel: &'s Fuel) -> Scanned<'s> {
        let mut progress_at = vec![0];
        let mut progress = 0;
        for (piece, _) in &lattice.steps {
            progress += match piece {
                Piece::Bytes(bytes) => (bytes.len() as u32 / BYTES_OF_TOKEN).max(1),
                _ => 1,
            };
            progress_at.push(progress);
        }
        let furthest = vec![0; lattice.steps.len()];
        let mut scanned = Scanned {
            lattice,
            tables,
            fuel,
            progress_at,
            nodes: Vec::new(),
            ids: FxHashMap::default(),
            edges: Vec::new(),
            out: Vec::new(),
            reading: FxHashMap::default(),
            furthest,
        };
        scanned.node(Node::boundary(0), None);
        scanned
    }

    /// Where a node is.
    pub(crate) fn place(&self, node: NodeIndex) -> Node {
        self.nodes[node as usize].0
    }

    /// How many bytes of a position's known text something reads.
    pub(crate) fn n_bytes_read(&self, position: usize) -> usize {
        self.furthest.get(position).map_or(0, |&n_bytes| n_bytes as usize)
    }

    /// What the edges of a text put into the unknown places.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn fillings(&mut self, path: &[u32]) -> Result<Vec<Filling>, InfillError> {
        let mut fillings = Vec::new();
        for &edge in path {
            let Edge { place, crossing, .. } = self.edges[edge as usize];
            let position = place.position as usize;
            self.spend(place, 1)?;
            match crossing {
                Crossing::Bytes | Crossing::Skip => {}
                Crossing::Token { residue, target } => {
                    let tokens = self.tables.scan_tokens(NodeSetId(place.inner), residue, self.fuel)?;
                    let token = tokens.to(target).and_then(|tokens| tokens.any());
                    fillings.extend(token.map(|token| Filling::Token { position, token }));
                }
                Crossing::Text { residue, target } => {
                    let bytes = self.tables.shortest_text(residue, target, self.fuel)?;
                    fillings.push(Filling::Text { position, bytes });
                }
            }
        }
        Ok(fillings)
    }

    /// Adds to `mask` the tokens that the edges of a masked position read, of those that are `wanted`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn add_tokens(
        &mut self,
        position: usize,
        is_wanted: impl Fn(u32) -> bool,
        mask: &mut [u32],
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        for (edge, &Edge { place, crossing, .. }) in (0..).zip(&self.edges) {
            if let Crossing::Token { residue, target } = crossing
                && place.position as usize == position
                && is_wanted(edge)
            {
                let tokens = self.tables.scan_tokens(NodeSetId(place.inner), residue, fuel)?;
                if let Some(tokens) = tokens.to(target) {
                    tokens.add_to(mask);
                }
            }
        }
        Ok(())
    }

    fn spend(&self, place: Node, n: u64) -> Result<(), InfillError> {
        self.fuel.spend(n).map_err(|error| InfillError::work(place.position as usize, error))
    }

    fn node(&mut self, place: Node, residue: Option<ResidueId>) -> NodeIndex {
        let next = self.nodes.len() as u32;
        let id = *self.ids.entry((place, residue)).or_insert(next);
        if id == next {
            self.nodes.push((place, residue));
            self.out.push(None);
        }
        id
    }

    /// The bytes that a text can go on with at a place within its piece.
    fn bytes_at(&self, place: Node) -> ByteSet {
        match self.lattice.steps.get(place.position as usize) {
            Some((Piece::Bytes(bytes), _)) => bytes.get(place.inner as usize).copied().into_iter().collect(),
            Some((Piece::Token, _)) => self.tables.node_sets.first_bytes(NodeSetId(place.inner)),
            Some((Piece::Free | Piece::Rough, _)) => ByteSet::EMPTY.complement(),
            Some((Piece::Stop, _)) | None => ByteSet::EMPTY,
        }
    }

    /// The edges by which a residue reads at least one byte of the piece from a place on.
    fn read(&mut self, place: Node, residue: ResidueId) -> Result<(u32, u32), InfillError> {
        if let Some(&known) = self.reading.get(&(place, residue)) {
            return Ok(known);
        }
        let (first, n_nodes) = (self.edges.len() as u32, self.nodes.len());
        let lattice = self.lattice;
        let piece = lattice.steps.get(place.position as usize).map(|(piece, _)| piece);
        let behind = Node::boundary(place.position + 1);
        let located = |error: InfillError| error.at(place.position as usize);
        match piece {
            None | Some(Piece::Stop) => {}
            Some(Piece::Bytes(bytes)) => self.read_bytes(place, residue, bytes)?,
            Some(Piece::Token) => {
                let scan = self.tables.scan(NodeSetId(place.inner), residue, self.fuel).map_err(located)?;
                if let Some(set) = scan.exits {
                    self.lead(place, (Node { inner: set.0, ..place }, None), Crossing::Bytes);
                }
                let ends = scan.ends.then_some(None);
                for target in ends.into_iter().chain(scan.entries.iter().copied().map(Some)) {
                    self.lead(place, (behind, target), Crossing::Token { residue, target });
                }
            }
            Some(Piece::Free | Piece::Rough) => {
                let scan = self.tables.free_scan(residue, self.fuel).map_err(located)?;
                if scan.exits.is_some() {
                    self.lead(place, (place, None), Crossing::Text { residue, target: None });
                }
                for &next in &scan.entries {
                    let crossing = Crossing::Text { residue, target: Some(next) };
                    self.lead(place, (behind, Some(next)), crossing);
                }
            }
        }
        let edges = (first, self.edges.len() as u32);
        // As those of a lexer's graph.
        let n_new = (self.nodes.len() - n_nodes) as u64;
        self.spend(place, UNITS_PER_NODE * n_new + UNITS_PER_EDGE * u64::from(edges.1 - first))?;
        self.reading.insert((place, residue), edges);
        Ok(edges)
    }

    fn read_bytes(&mut self, place: Node, residue: ResidueId, bytes: &[u8]) -> Result<(), InfillError> {
        let (automaton, mut state) = self.tables.residue(residue);
        let automaton = automaton.clone();
        let behind = Node::boundary(place.position + 1);
        for (offset, &byte) in bytes.iter().enumerate().skip(place.inner as usize) {
            let next = automaton.step(state, byte).map_err(|error| self.tables.located(residue, error))?;
            self.spend(place, 1)?;
            let Some(next) = next else { return Ok(()) };
            state = next;
            let furthest = &mut self.furthest[place.position as usize];
            *furthest = (*furthest).max(offset as u32 + 1);
            if automaton.is_accepting(state) {
                let is_over = offset + 1 == bytes.len();
                let to = if is_over { behind } else { Node { inner: offset as u32 + 1, ..place } };
                self.lead(place, (to, None), Crossing::Bytes);
            }
        }
        if !automaton.next_bytes(state).map_err(|error| self.tables.located(residue, error))?.is_empty() {
            let next = self.tables.intern(&automaton, state);
            self.lead(place, (behind, Some(next)), Crossing::Bytes);
        }
        Ok(())
    }

    fn lead(&mut self, place: Node, (to, residue): (Node, Option<ResidueId>), crossing: Crossing) {
        let to = self.node(to, residue);
        self.edges.push(Edge { place, to, crossing });
    }
}

impl Edges for Scanned<'_> {
    fn network(&mut self) -> &mut Network {
        &mut self.tables.network
    }

    fn fuel(&self) -> &Fuel {
        self.fuel
    }

    fn position(&self, node: NodeIndex) -> u32 {
        self.place(node).position
    }

    fn progress(&self, node: NodeIndex) -> u32 {
        let place = self.place(node);
        let is_text = matches!(self.lattice.steps.get(place.position as usize), Some((Piece::Bytes(_), _)));
        self.progress_at[place.position as usize] + if is_text { place.inner / BYTES_OF_TOKEN } else { 0 }
    }

    fn is_boundary(&self, node: NodeIndex) -> bool {
        self.nodes[node as usize].1.is_none()
    }

    fn is_goal(&self, node: NodeIndex) -> bool {
        let (place, residue) = self.nodes[node as usize];
        place.inner == 0 && residue.is_none() && self.lattice.ends.contains(&(place.position as usize))
    }

    fn edges(&mut self, node: NodeIndex) -> Result<Range<u32>, InfillError> {
        if let Some((start, end)) = self.out[node as usize] {
            return Ok(start..end);
        }
        let (place, residue) = self.nodes[node as usize];
        let (mut start, mut end) = residue.map_or(Ok((0, 0)), |residue| self.read(place, residue))?;
        if place.inner == 0
            && let Some(&(_, Some(target))) = self.lattice.steps.get(place.position as usize)
        {
            let reading = self.edges[start as usize..end as usize].to_vec();
            start = self.edges.len() as u32;
            self.edges.extend(reading);
            self.lead(place, (Node::boundary(target), residue), Crossing::Skip);
            end = self.edges.len() as u32;
        }
        self.out[node as usize] = Some((start, end));
        Ok(start..end)
    }

    fn way(&self, edge: u32) -> (NodeIndex, Option<TerminalId>) {
        (self.edges[edge as usize].to, None)
    }

    fn ends_terminal(&self, edge: u32) -> bool {
        let edge = &self.edges[edge as usize];
        !matches!(edge.crossing, Crossing::Skip) && self.is_boundary(edge.to)
    }

    fn reading(&mut self, node: NodeIndex, terminal: TerminalId) -> Result<Range<u32>, InfillError> {
        let place = self.place(node);
        let residue = self.tables.start(terminal, self.fuel)?;
        if !self.tables.next_bytes(residue)?.intersects(&self.bytes_at(place)) {
            return Ok(0..0);
        }
        let (start, end) = self.read(place, residue)?;
        Ok(start..end)
    }

    fn can_begin(&mut self, rule: RuleId, node: NodeIndex) -> Result<bool, InfillError> {
        let bytes = self.bytes_at(self.place(node));
        Ok(self.tables.first(Symbol::Rule(rule), self.fuel)?.intersects(&bytes))
    }
}
