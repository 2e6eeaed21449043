//! Exact infilling under a context-free grammar: texts of which some parts are known and others are not.
//!
//! * [`Canvas`]: a sequence of positions, each a known token or a masked one, as masked diffusion models fill
//!   them in any order. A mask says which tokens a position can take such that the others can still be filled
//!   with exactly one token each.
//! * [`Template`]: fixed pieces of text and holes between them, each hole any text, at most n tokens or exactly
//!   n tokens.
//!
//! All are a lattice of pieces (`lattice`): a finite automaton over bytes that reads the texts of that shape. A
//! chart (`chart`) intersects it with the grammar (Bar-Hillel, Perles and Shamir 1961), from the left, as far as the
//! grammar can come (Earley 1970); a pass backwards from the end marks what is part of a whole derivation, and what is
//! marked in a masked position is its mask. What a terminal says about the vocabulary does not depend on the
//! position and is kept (`scan`) by the [`Infiller`], for all canvases and templates of one grammar.
//!
//! The README beside this crate's manifest holds the theory, a worked example and the complexity.

mod canvas;
mod chart;
mod derivation;
mod error;
mod expand;
mod filling;
mod infiller;
mod inline;
mod judge;
mod lattice;
mod lexed;
mod masks;
mod near;
mod node_sets;
mod over_bytes;
mod question;
mod reader;
mod rewriting;
mod right_recursion;
mod scan;
mod solver;
mod tables;
mod template;
mod tidy;
mod wide;

pub use canvas::{Canvas, CanvasConfig, CanvasStatus, Verdict};
pub(crate) use error::InfillError;
pub use infiller::{Form, InfillLimits, Infiller};
pub use maskwright_engine::MaskStatus;
pub use maskwright_error::{Error, ErrorKind};
#[doc(hidden)]
pub use reader::Relation;
pub use template::{Hole, Part, Template};
