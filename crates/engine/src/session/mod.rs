//! The top floor: what users of the engine hold, and how they share what is below.
//!
//! A [`Compiler`] makes an [`EngineGrammar`]. Its sessions, each a [`Matcher`], share one `Machine` behind a lock.

mod compiler;
mod engine_grammar;
pub mod inspect;
mod machine;
mod matcher;
mod shared_machine;

pub use compiler::Compiler;
pub(crate) use compiler::Shared;
pub use engine_grammar::EngineGrammar;
pub(crate) use engine_grammar::Source;
pub(crate) use machine::Machine;
pub(crate) use matcher::State;
pub use matcher::{Matcher, Taken, written};
pub(crate) use shared_machine::SharedMachine;
