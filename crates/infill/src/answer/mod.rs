//! Answers to questions about places of a text.
//!
//! An [`Infiller`] is a grammar made ready: sessions, and one `reader` or several. A `question` says what is
//! known. The `solver` answers it, near the last witness (`near`) if it can, and has what it finds read by
//! the `judge`.

mod infiller;
mod judge;
mod near;
mod question;
mod reader;
mod solver;

pub use infiller::{Form, Infiller};
pub(crate) use near::Witness;
pub(crate) use question::{Place, Question};
pub use reader::Relation;
pub(crate) use solver::{Answer, Solver, with_fuel};
