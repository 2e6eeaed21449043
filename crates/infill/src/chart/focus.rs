//! A chart that is made from one position outwards.
//!
//! If many positions are masked, the chart of a canvas is large, and most of it says nothing about one of
//! them. So the part before the position is made step by step, and each fact after it is expanded for a
//! while, until it is *marked*: part of a derivation of a whole text. Neither edges of the position that are
//! known nor a marked fact is expanded again.
//!
//! Theorem. If [`Chart::advance_focus`](crate::chart::Chart::advance_focus) made all of its facts, an edge of
//! the position that was not taken for known is marked iff it is in a finished chart. Otherwise the marked
//! ones are a subset of those.
//!
//! Proof. Two kinds of facts are left out, and neither changes an answer. The first are edges of the position
//! whose tokens are known. The second is what follows, after the position, from a marked fact in a call that
//! was begun before the position. An item that waits for this call has read the same tokens up to the call's
//! beginning, whatever comes after, so whatever leads to a marked fact of the call is marked through the same
//! item. Calls that begin after the position are made as a whole, because several items may wait for
//! different ends of them. ∎

use std::collections::BinaryHeap;

/// In how many orders facts are followed, in turns.
pub(super) const N_ORDERS: usize = 4;

/// The position that a chart is made for.
#[derive(Debug, Default)]
pub(crate) struct Focus {
    pub(super) position: u32,
    /// Facts up to the position, by merit, in each order.
    pub(super) before: [BinaryHeap<(i32, u32)>; N_ORDERS],
    /// Facts after it, the same, those of the last fact before it first.
    pub(super) behind: [BinaryHeap<(u32, i32, u32)>; N_ORDERS],
    pub(super) generation: u32,
    /// By edge from `first_edge` on: whether none of its tokens is in doubt.
    is_known: Vec<bool>,
    first_edge: usize,
}

impl Focus {
    /// Nothing is known about the edges of the position.
    pub(crate) fn new(position: usize) -> Focus {
        Focus { position: position as u32, ..Focus::default() }
    }

    /// Whether an edge need not be followed.
    pub(super) fn skips(&self, edge: u32) -> bool {
        let index = (edge as usize).checked_sub(self.first_edge);
        index.and_then(|index| self.is_known.get(index)).copied().unwrap_or(false)
    }

    /// Takes in a fact that is to be followed.
    pub(super) fn push(&mut self, fact: u32, position: u32, merits: [i32; N_ORDERS]) {
        for (index, merit) in merits.into_iter().enumerate() {
            if position <= self.position {
                self.before[index].push((merit, fact));
            } else {
                self.behind[index].push((self.generation, merit, fact));
            }
        }
    }

    /// Leaves out the edges from `first_edge` on that are known.
    pub(super) fn skip(&mut self, first_edge: usize, is_known: Vec<bool>) {
        self.first_edge = first_edge;
        self.is_known = is_known;
    }

    pub(super) fn is_done(&self) -> bool {
        self.before.iter().all(BinaryHeap::is_empty) && self.behind.iter().all(BinaryHeap::is_empty)
    }
}
