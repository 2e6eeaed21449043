//! Whether a residue has a word at all.
//!
//! Without intersection and complement a canonical expression other than ∅ has one. With them it may have
//! none without being written ∅, and then no byte may lead to it: masks are exact. The rule here is
//! compositional where it can be (a concatenation lives if its parts do, a union if a member does), and
//! searches the derivatives of an intersection or complement otherwise, the shortest-looking first. A search
//! that finds a living residue proves the path to it alive; one that runs out of residues has visited a
//! closed set without an accepting member, so all of it is dead. Both are remembered in the arena, and so
//! each residue is decided once. A search that runs out of fuel is an error, never a guess.
//!
//! The common case takes no search: `body ∩ ¬names` has a word if `body` has one longer than all names,
//! which the arena sees when it makes the node.
//!
//! Rejected: deciding whole states (`(a ∩ b) · rest` would search through `rest`), and computing live states
//! of the full automaton up front (counted repetition makes it huge).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::arena::{Node, NodeId};
use crate::residues::Access;
use crate::{AutomatonError, Fuel, meter};

/// Node visits of a search between two pauses, in which others may use the residues.
const SLICE: u64 = 1 << 12;

/// Node visits of a search that take as long as a unit of work, where all is known that they lead to.
const VISITS_PER_UNIT: u64 = 2;

/// Whether the language of `node` has a word. Amortised over all calls, each residue is decided once.
///
/// # Errors
/// If a search takes more than `limit` node visits, or `fuel` (the caller's, of a compilation) runs out.
pub(crate) fn is_alive(
    on: &mut impl Access,
    node: NodeId,
    limit: u64,
    fuel: Option<&Fuel>,
) -> Result<bool, AutomatonError> {
    if let Some(known) = on.residues().known(node) {
        on.residues().arena.set_alive(node, known);
        return Ok(known);
    }
    let alive = match on.residues().arena.node(node).clone() {
        Node::Cons(..) => {
            let mut rest = node;
            loop {
                let &Node::Cons(head, tail) = on.residues().arena.node(rest) else {
                    break is_alive(on, rest, limit, fuel)?;
                };
                if !is_alive(on, head, limit, fuel)? {
                    break false;
                }
                rest = tail;
            }
        }
        Node::Union(list) => {
            let mut alive = false;
            for &member in &*list {
                alive = alive || is_alive(on, member, limit, fuel)?;
            }
            alive
        }
        // A repeat that has ε is known already.
        Node::Repeat { inner, .. } => is_alive(on, inner, limit, fuel)?,
        _ => {
            // Another thread may be searching for the same word, and find it.
            on.claim(node, fuel)?;
            let alive = match on.residues().known(node) {
                Some(known) => Ok(known),
                None => search(on, node, limit, fuel),
            };
            on.release();
            return alive;
        }
    };
    on.residues().arena.set_alive(node, alive);
    Ok(alive)
}

fn search(
    on: &mut impl Access,
    root: NodeId,
    limit: u64,
    fuel: Option<&Fuel>,
) -> Result<bool, AutomatonError> {
    let mut search_fuel = SearchFuel::new(limit);
    // Members of intersections, and what complements leave out, that were paid for.
    let mut members = FxHashSet::default();
    // Each visited residue and the one that it was reached from.
    let mut parents: FxHashMap<NodeId, NodeId> = FxHashMap::default();
    let mut queue = BinaryHeap::new();
    parents.insert(root, root);
    queue.push(Reverse((on.residues().arena.entry(root).min_length, root)));
    while let Some(Reverse((_, mut node))) = queue.pop() {
        let cost = on.residues().cost(node, &mut members);
        let classes = on.residues().arena.classes(node)?;
        for class in classes.iter() {
            search_fuel.spend(cost)?;
            if let Some(fuel) = fuel {
                fuel.spend_unwatched(cost)?;
            }
            if search_fuel.ends_slice() {
                on.pause(fuel)?;
            }
            let residues = on.residues();
            #[cfg(test)]
            {
                residues.n_visits += 1;
                if residues.panics_at.is_some_and(|at| residues.n_visits >= at) {
                    residues.panics_at = None;
                    panic!("on purpose");
                }
            }
            let next = residues.arena.derivative(node, classes.representative(class))?;
            match residues.known(next) {
                Some(false) => {}
                Some(true) => loop {
                    residues.arena.set_alive(node, true);
                    let parent = parents[&node];
                    if parent == node {
                        return Ok(true);
                    }
                    node = parent;
                },
                None => {
                    parents.entry(next).or_insert_with(|| {
                        queue.push(Reverse((residues.arena.entry(next).min_length, next)));
                        node
                    });
                }
            }
        }
    }
    for &node in parents.keys() {
        on.residues().arena.set_alive(node, false);
    }
    Ok(false)
}

/// The supply of one search.
pub(crate) struct SearchFuel {
    limit: u64,
    left: u64,
    /// What is left when the present slice ends.
    slice_end: u64,
}

impl SearchFuel {
    /// A supply of `limit` node visits.
    pub(crate) fn new(limit: u64) -> SearchFuel {
        SearchFuel { limit, left: limit, slice_end: limit.saturating_sub(SLICE) }
    }

    /// Whether so much was spent since the last slice ended that the next one begins.
    #[inline]
    pub(crate) fn ends_slice(&mut self) -> bool {
        let is_over = self.left < self.slice_end;
        if is_over {
            self.slice_end = self.left.saturating_sub(SLICE);
        }
        is_over
    }

    /// Takes `units`, in visited nodes.
    ///
    /// # Errors
    /// If fewer are left, or the call is out of work.
    pub(crate) fn spend(&mut self, units: u64) -> Result<(), AutomatonError> {
        // What is made is metered where that happens; a visit takes a fraction of it.
        meter::spend(1 + units / VISITS_PER_UNIT)?;
        match self.left.checked_sub(units) {
            Some(left) => {
                self.left = left;
                Ok(())
            }
            None => Err(AutomatonError::search(self.limit)),
        }
    }
}
