//! What follows from one item, or from one residue, of the chart.

use maskwright_automata::{ByteSet, Fuel};
use maskwright_grammar::Symbol;

use crate::InfillError;
use crate::chart::{Call, CallKey, Chart, Crossing, Fact, NONE, Todo, Waiter};
use crate::lattice::{Node, Piece};
use crate::node_sets::NodeSetId;
use crate::tables::{ResidueId, Tables};

/// Where a residue can be after reading on from a node within its piece.
#[derive(Default)]
struct Reached {
    /// The terminal ends inside the piece, with what was crossed.
    exits: Vec<(Node, u32)>,
    /// The terminal ends where the piece does.
    ends: Option<u32>,
    /// The terminal continues after the piece.
    entries: Vec<(ResidueId, u32)>,
}

impl Chart {
    /// Reads on from an item by every move of its state.
    pub(crate) fn expand_item(
        &mut self,
        item: u32,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let Fact::Item { call, state, node, is_begun } = self.facts[item as usize] else { return Ok(()) };
        let position = node.position;
        let depth = self.calls[call as usize].depth;
        // Calls begin where their callers' items are, and those take the ways round by themselves.
        let is_free_to_skip = is_begun || self.calls[call as usize].key == CallKey::Top;
        if node.inner == 0
            && is_free_to_skip
            && let Some(target) = self.steps[position as usize].1
        {
            let crossing = self.crossing(Crossing::Skip { position });
            let fact = Fact::Item { call, state, node: Node::boundary(target), is_begun };
            self.add(Todo { fact, pred: item, crossing, end: NONE }, tables, fuel)?;
        }
        let bytes = self.bytes_at(node, tables);
        for index in tables.network.moves(state) {
            fuel.spend(1).map_err(|error| InfillError::work(position as usize, error))?;
            let step = tables.network.move_at(index);
            if !tables.first(step.symbol, fuel)?.intersects(&bytes) {
                continue;
            }
            match step.symbol {
                Symbol::Terminal(terminal) => {
                    let residue = tables.start(terminal, fuel)?;
                    let reached = self.read(node, residue, tables, fuel)?;
                    let Reached { exits, ends, entries } = reached;
                    let behind = ends.map(|crossing| (Node::boundary(position + 1), crossing));
                    for (node, crossing) in exits.into_iter().chain(behind) {
                        let fact = Fact::Item { call, state: step.next, node, is_begun: true };
                        self.add(Todo { fact, pred: item, crossing, end: NONE }, tables, fuel)?;
                    }
                    for (residue, crossing) in entries {
                        let (callee, _) = self.call(CallKey::Residue(residue, position + 1), depth);
                        let waiter = Waiter::Item { pred: item, next: step.next, crossing };
                        self.wait(callee, waiter, tables, fuel)?;
                    }
                }
                Symbol::Rule(rule) => {
                    let (callee, is_new) = self.call(CallKey::Rule(rule, node), depth + 1);
                    let waiter = Waiter::Item { pred: item, next: step.next, crossing: NONE };
                    self.wait(callee, waiter, tables, fuel)?;
                    if is_new {
                        let state = tables.network.body(rule);
                        let fact = Fact::Item { call: callee, state, node, is_begun: false };
                        self.add(Todo { fact, pred: NONE, crossing: NONE, end: NONE }, tables, fuel)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Reads on from a residue at a boundary.
    pub(crate) fn expand_residue(
        &mut self,
        call: u32,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let Call { key: CallKey::Residue(residue, position), depth, .. } = self.calls[call as usize] else {
            return Ok(());
        };
        fuel.spend(1).map_err(|error| InfillError::work(position as usize, error))?;
        if let Some(target) = self.steps[position as usize].1 {
            let crossing = self.crossing(Crossing::Skip { position });
            let (callee, _) = self.call(CallKey::Residue(residue, target), depth);
            self.wait(callee, Waiter::Tail { call, crossing }, tables, fuel)?;
        }
        let node = Node::boundary(position);
        let Reached { exits, ends, entries } = self.read(node, residue, tables, fuel)?;
        let behind = ends.map(|crossing| (Node::boundary(position + 1), crossing));
        for (node, crossing) in exits.into_iter().chain(behind) {
            let fact = Fact::End { call, node };
            self.add(Todo { fact, pred: NONE, crossing, end: NONE }, tables, fuel)?;
        }
        for (residue, crossing) in entries {
            let (callee, _) = self.call(CallKey::Residue(residue, position + 1), depth);
            self.wait(callee, Waiter::Tail { call, crossing }, tables, fuel)?;
        }
        Ok(())
    }

    /// The bytes that a text can go on with at `node` within its piece.
    fn bytes_at(&self, node: Node, tables: &Tables) -> ByteSet {
        match &self.steps[node.position as usize].0 {
            Piece::Bytes(bytes) => bytes.get(node.inner as usize).copied().into_iter().collect(),
            Piece::Token => tables.node_sets.first_bytes(NodeSetId(node.inner)),
            Piece::Free | Piece::Rough => ByteSet::EMPTY.complement(),
            Piece::Stop => ByteSet::EMPTY,
        }
    }

    /// Reads at least one byte of the piece from `node` on with `residue`.
    fn read(
        &mut self,
        node: Node,
        residue: ResidueId,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<Reached, InfillError> {
        let position = node.position;
        let located = |error: InfillError| error.at(position as usize);
        match &self.steps[position as usize].0 {
            Piece::Stop => Ok(Reached::default()),
            Piece::Bytes(_) => self.read_bytes(node, residue, tables, fuel),
            Piece::Token => {
                let scan = tables.scan(NodeSetId(node.inner), residue, fuel).map_err(located)?;
                let mut cross = |target| self.crossing(Crossing::Token { node, residue, target });
                Ok(Reached {
                    exits: scan
                        .exits
                        .map(|set| (Node { position, inner: set.0 }, NONE))
                        .into_iter()
                        .collect(),
                    ends: scan.ends.then(|| cross(None)),
                    entries: scan.entries.iter().map(|&next| (next, cross(Some(next)))).collect(),
                })
            }
            Piece::Free | Piece::Rough => {
                let scan = tables.free_scan(residue, fuel).map_err(located)?;
                let mut cross = |target| self.crossing(Crossing::Text { position, residue, target });
                Ok(Reached {
                    exits: scan.exits.map(|_| (node, cross(None))).into_iter().collect(),
                    ends: None,
                    entries: scan.entries.iter().map(|&next| (next, cross(Some(next)))).collect(),
                })
            }
        }
    }

    fn read_bytes(
        &mut self,
        node: Node,
        residue: ResidueId,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<Reached, InfillError> {
        let position = node.position;
        let Piece::Bytes(bytes) = &self.steps[position as usize].0 else { return Ok(Reached::default()) };
        let mut reached = Reached::default();
        let (automaton, start) = tables.residue(residue);
        let automaton = automaton.clone();
        let mut state = start;
        for (offset, &byte) in bytes.iter().enumerate().skip(node.inner as usize) {
            let next = automaton.step(state, byte).map_err(|error| tables.located(residue, error))?;
            fuel.spend(1).map_err(|error| InfillError::work(position as usize, error))?;
            let Some(next) = next else { return Ok(reached) };
            state = next;
            let furthest = &mut self.furthest[position as usize];
            *furthest = (*furthest).max(offset as u32 + 1);
            if automaton.is_accepting(state) {
                if offset + 1 == bytes.len() {
                    reached.ends = Some(NONE);
                } else {
                    reached.exits.push((Node { position, inner: offset as u32 + 1 }, NONE));
                }
            }
        }
        if !automaton.next_bytes(state).map_err(|error| tables.located(residue, error))?.is_empty() {
            reached.entries.push((tables.intern(&automaton, state), NONE));
        }
        Ok(reached)
    }
}
