//! The chart of a lattice: which of its texts a grammar has.
//!
//! One chart (`chart`) parses whatever makes `edges`: the bytes of a lattice, or a lexer's graph of it.
//! `focus` makes it outwards from one position. `contexts` says which block or bracket is open around a rule.

#[allow(clippy::module_inception, reason = "the room's main thing")]
mod chart;
mod contexts;
mod edges;
mod focus;

pub(crate) use chart::Chart;
pub(crate) use contexts::{ContextId, Contexts};
pub(crate) use edges::{Edges, NodeIndex, START_NODE};
