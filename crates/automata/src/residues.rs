//! Residues as searches walk on them, and how threads share them.
//!
//! A search for a word may take tenths of a second. It works on residues that all threads share under one
//! lock, so the search is cut into slices. Between two slices the lock is free, and the caller's [`Fuel`]
//! looks for signals and cancellation, which may call foreign code. A search holds ids of nodes only, and
//! nodes are never removed, so what others do in a pause does not matter to it.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{Arena, EMPTY, Node, NodeId};
use crate::{Fuel, FuelError};

/// What searches walk on.
pub(crate) struct Residues {
    pub(crate) arena: Arena,
    pub(crate) saturated: Saturated,
    /// The lengths of the shortest words of intersections and complements, as far as they were met on the way
    /// to one.
    pub(crate) shortest: FxHashMap<NodeId, u64>,
    liveness_fuel: u64,
    /// Derivatives that searches took.
    #[cfg(test)]
    pub(crate) n_visits: u64,
    /// After so many the search panics, once.
    #[cfg(test)]
    pub(crate) panics_at: Option<u64>,
}

impl Residues {
    pub(crate) fn new(arena: Arena, liveness_fuel: u64) -> Residues {
        Residues {
            arena,
            saturated: Saturated::default(),
            shortest: FxHashMap::default(),
            liveness_fuel,
            #[cfg(test)]
            n_visits: 0,
            #[cfg(test)]
            panics_at: None,
        }
    }

    /// The least number of bytes that a word of `node` has: a lower bound, exact if that was found before.
    pub(crate) fn least_length(&self, node: NodeId) -> u64 {
        self.shortest.get(&node).copied().unwrap_or_else(|| self.arena.entry(node).min_length)
    }

    /// The most node visits of one search.
    pub(crate) fn liveness_fuel(&self) -> u64 {
        self.liveness_fuel
    }

    /// What is known about `node` without a search.
    pub(crate) fn known(&self, node: NodeId) -> Option<bool> {
        let entry = self.arena.entry(node);
        if node == EMPTY {
            return Some(false);
        }
        if entry.nullable || !entry.extended {
            return Some(true);
        }
        if entry.alive.is_some() {
            return entry.alive;
        }
        match &entry.node {
            Node::Cons(..) => {
                let (mut rest, mut known) = (node, Some(true));
                let last = loop {
                    let entry = self.arena.entry(rest);
                    match entry.node {
                        // The ends of sequences are shared, so their memo often ends the walk.
                        Node::Cons(head, tail) if entry.extended && entry.alive.is_none() => {
                            match self.known(head) {
                                Some(false) => return Some(false),
                                Some(true) => {}
                                None => known = None,
                            }
                            rest = tail;
                        }
                        _ => break self.known(rest),
                    }
                };
                last.filter(|&alive| known.is_some() || !alive)
            }
            Node::Union(list) => {
                let mut known = Some(false);
                for &member in &**list {
                    match self.known(member) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => known = None,
                    }
                }
                known
            }
            Node::Repeat { inner, .. } => self.known(*inner),
            _ => None,
        }
    }

    /// What a derivative of `node` costs in a search, in node visits. Derivatives of members are remembered,
    /// so each member is paid for once. (Whether it was met before the search does not count: limits are to
    /// be the same whatever others did.)
    pub(crate) fn cost(&self, node: NodeId, known: &mut FxHashSet<NodeId>) -> u64 {
        let members = match self.arena.node(node) {
            Node::Intersection(list) => &**list,
            Node::Complement(inner) => std::slice::from_ref(inner),
            _ => return u64::from(self.arena.entry(node).cost),
        };
        let costs = members.iter().map(|&member| match self.arena.node(member) {
            Node::Complement(inner) => (*inner, 2),
            _ => (member, 1),
        });
        1 + costs
            .map(|(member, visits)| {
                let entry = self.arena.entry(member);
                let is_remembered = !entry.extended && !known.insert(member);
                if is_remembered { visits } else { visits + u64::from(entry.cost) }
            })
            .sum::<u64>()
    }
}

/// Residues that were cut before.
#[derive(Default)]
pub(crate) struct Saturated {
    /// Cut residues by residue and number of bytes.
    pub(crate) cut: FxHashMap<(NodeId, u32), NodeId>,
    pub(crate) relaxed: FxHashMap<NodeId, NodeId>,
}

/// Residues, locked or owned.
pub(crate) trait Access {
    /// The residues, until the next pause.
    fn residues(&mut self) -> &mut Residues;

    /// Lets threads that wait have the residues, and lets `fuel` look, without the lock.
    ///
    /// # Errors
    /// If the work was cancelled.
    fn pause(&mut self, fuel: Option<&Fuel>) -> Result<(), FuelError>;

    /// Waits until no other thread searches for a word of `node`, and claims the search. One claim at a time.
    ///
    /// # Errors
    /// If the work was cancelled.
    fn claim(&mut self, node: NodeId, fuel: Option<&Fuel>) -> Result<(), FuelError>;

    /// Gives the claim up.
    fn release(&mut self);
}

/// Residues that nobody else uses, or work too short for pauses.
impl Access for Residues {
    fn residues(&mut self) -> &mut Residues {
        self
    }

    fn pause(&mut self, _: Option<&Fuel>) -> Result<(), FuelError> {
        Ok(())
    }

    fn claim(&mut self, _: NodeId, _: Option<&Fuel>) -> Result<(), FuelError> {
        Ok(())
    }

    fn release(&mut self) {}
}
