//! The texts that a question allows, and what reads them.
//!
//! A [`Lattice`] is such a set of texts; `wide` makes others with more texts. What [reads](Read) a lattice
//! finds a text of it that the grammar has, and what that text puts into the unknown places (`filling`), or
//! shows that there is none.

mod filling;
#[allow(clippy::module_inception, reason = "the room's main thing")]
mod lattice;
mod read;
mod wide;

pub(crate) use filling::Filling;
pub(crate) use lattice::{BYTES_OF_TOKEN, Lattice, Node, Piece, Step, UNITS_PER_EDGE, UNITS_PER_NODE};
pub(crate) use read::{Blocked, Effort, LexerToken, Outcome, Read, Unread};
pub(crate) use wide::{MAX_AROUNDS, around, rough, wide};
