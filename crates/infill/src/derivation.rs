//! The backward pass over a chart: which facts are part of a whole derivation, and one derivation itself.
//!
//! Theorem. A fact of the chart is marked iff some derivation of a text of the lattice, ending in one of the goals,
//! contains it; so a token is in a masked position's mask iff a marked crossing of the position reads it.
//!
//! Proof. Backs are exactly the last steps of partial derivations, and all calls are made where their callers' items
//! are, so a chain of backs from a goal down to the beginning, with one for each end on the way, is a derivation;
//! conversely each derivation is such a chain. For the tokens see `scan`. ∎

use maskwright_automata::{Fuel, StateId};
use rustc_hash::FxHashMap;

use crate::InfillError;
use crate::chart::{Chart, Crossing, NONE};
use crate::filling::Filling;
use crate::node_sets::NodeSetId;
use crate::tables::{ResidueId, Tables};

/// The marked crossings of a chart.
#[derive(Debug)]
pub(crate) struct Marked {
    crossings: Vec<bool>,
}

impl Chart {
    /// Marks what derivations that end in `goals` (ends of the start rule) contain. Takes time linear in the chart.
    pub(crate) fn mark(&self, goals: &[u32]) -> Marked {
        let mut facts = vec![false; self.facts.len()];
        let mut crossings = vec![false; self.crossings.len()];
        let mut stack: Vec<u32> = Vec::new();
        let mut visit = |stack: &mut Vec<u32>, fact: u32| {
            if fact != NONE && !std::mem::replace(&mut facts[fact as usize], true) {
                stack.push(fact);
            }
        };
        goals.iter().for_each(|&goal| visit(&mut stack, goal));
        while let Some(fact) = stack.pop() {
            let mut index = self.last_backs[fact as usize];
            while index != NONE {
                let back = self.backs[index as usize];
                if back.crossing != NONE {
                    crossings[back.crossing as usize] = true;
                }
                visit(&mut stack, back.pred);
                visit(&mut stack, back.end);
                index = back.before;
            }
        }
        Marked { crossings }
    }

    /// Adds to `mask` the tokens that masked position `position` can take.
    pub(crate) fn add_tokens(
        &self,
        marked: &Marked,
        position: usize,
        mask: &mut [u32],
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        for crossing in self.marked_at(marked, position) {
            if let Crossing::Token { node, residue, target } = crossing {
                let tokens = tables.scan_tokens(NodeSetId(node.inner), residue, fuel)?;
                if let Some(tokens) = tokens.to(target) {
                    tokens.add_to(mask);
                }
            }
        }
        Ok(())
    }

    fn marked_at<'a>(
        &'a self,
        marked: &'a Marked,
        position: usize,
    ) -> impl Iterator<Item = Crossing> + use<'a> {
        let crossings = self.crossings_at[position].iter().map(|&index| index as usize);
        crossings.filter(|&index| marked.crossings[index]).map(|index| self.crossings[index])
    }

    /// What the first derivation found that ends in `goal` puts into the unknown places.
    ///
    /// Each fact's first back is of facts made before it, so following first backs ends.
    pub(crate) fn fillings(
        &self,
        goal: u32,
        tables: &mut Tables,
        fuel: &Fuel,
    ) -> Result<Vec<Filling>, InfillError> {
        let mut fillings = Vec::new();
        // (fact, crossing): one of them is missing.
        let mut stack = vec![(goal, NONE)];
        while let Some((fact, crossing)) = stack.pop() {
            fuel.spend(1).map_err(|error| InfillError::work(self.steps.len(), error))?;
            if fact != NONE {
                let back = self.backs[self.first_backs[fact as usize] as usize];
                stack.push((back.end, NONE));
                stack.push((NONE, back.crossing));
                stack.push((back.pred, NONE));
            } else if crossing != NONE {
                match self.crossings[crossing as usize] {
                    Crossing::Skip { .. } => {}
                    Crossing::Token { node, residue, target } => {
                        let tokens = tables.scan_tokens(NodeSetId(node.inner), residue, fuel)?;
                        if let Some(token) = tokens.to(target).and_then(|tokens| tokens.any()) {
                            let position = node.position as usize;
                            fillings.push(Filling::Token { position, token });
                        }
                    }
                    Crossing::Text { position, residue, target } => {
                        let bytes = tables.shortest_text(residue, target, fuel)?;
                        fillings.push(Filling::Text { position: position as usize, bytes });
                    }
                }
            }
        }
        Ok(fillings)
    }
}

impl Tables {
    /// The shortest text of at least one byte that leads from a residue to another, or to one that accepts. There
    /// is one: the scan that made the crossing found it.
    fn shortest_text(
        &self,
        from: ResidueId,
        target: Option<ResidueId>,
        fuel: &Fuel,
    ) -> Result<Vec<u8>, InfillError> {
        let (automaton, start) = self.residue(from);
        let target = target.map(|target| automaton_key(self, target));
        let located = |error| self.located(from, error);
        // By state: the state before it, and the byte between.
        let mut came_from: FxHashMap<StateId, (StateId, u8)> = FxHashMap::default();
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            for byte in automaton.next_bytes(state).map_err(located)?.iter() {
                fuel.spend(1).map_err(|error| InfillError::work(0, error))?;
                let Some(next) = automaton.step(state, byte).map_err(located)? else { continue };
                let is_there = match target {
                    Some(key) => automaton.residue_key(next) == key,
                    None => automaton.is_accepting(next),
                };
                if is_there {
                    let mut bytes = vec![byte];
                    let mut at = state;
                    while at != start {
                        let (before, byte) = came_from[&at];
                        bytes.push(byte);
                        at = before;
                    }
                    bytes.reverse();
                    return Ok(bytes);
                }
                if next != start && !came_from.contains_key(&next) {
                    came_from.insert(next, (state, byte));
                    queue.push_back(next);
                }
            }
        }
        Ok(Vec::new())
    }
}

/// The name of a residue in the whole process.
fn automaton_key(tables: &Tables, residue: ResidueId) -> (u64, StateId) {
    let (automaton, state) = tables.residue(residue);
    automaton.residue_key(state)
}
