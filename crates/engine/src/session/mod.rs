//! The top floor: what users of the engine hold, and how they share what is below.
//!
//! A [`Compiler`] makes an [`EngineGrammar`]. Its sessions, each a [`Matcher`], share one `Machine` behind a
//! lock.

mod answerer;
mod compiler;
mod engine_grammar;
pub mod inspect;
mod machine;
mod matcher;
mod shared_machine;
mod source;
mod state;

pub use compiler::Compiler;
pub use engine_grammar::{EngineGrammar, Words, WordsSpeaker};
pub use matcher::{
    Likeliest, LikeliestConfig, LikeliestStatus, Matcher, MatcherConfig, MatcherStep, OfCanvas, PassedLabels,
};
