//! Front ends for regular expressions, choices and GBNF: text in, typed values out.
//!
//! Between the surface syntax and the grammar layer: [`regex::parse`] makes a `maskwright_automata::Regex`,
//! [`parse_gbnf`] and [`choice()`] make a `maskwright_grammar::Grammar`. Nothing here knows vocabularies or
//! the engine, and nothing goes from text to text. Every failure is a [`SyntaxError`] with its place in the
//! source. Time is linear in the source, but for what a pattern asks for in assertions, which `Fuel` and
//! fixed limits bound.

mod choice;
mod error;
mod gbnf;
pub mod regex;

pub use choice::choice;
pub use error::{Fault, PATH_HINT, SyntaxError, is_like_a_path};
pub use gbnf::{gbnf_literals, parse_gbnf, parse_gbnf_with_names};
pub use maskwright_error::nearest_name;

/// How deeply groups may nest in any source; parsers recurse on nesting.
const MAX_DEPTH: usize = 250;

/// The longest source of a grammar, in bytes; far more than any grammar that people write.
pub const MAX_SOURCE: usize = 1 << 26;
