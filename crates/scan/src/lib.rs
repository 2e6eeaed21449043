//! What reads bytes and says which terminals may have ended, whatever a parser has read.
//!
//! A lexer cannot always tell at a byte whether a token has ended: `1.` may be a number with a point, or the
//! beginning of `1..2`. So a text has several readings until more of it is known. This crate follows them
//! all; the engine's masks, its limits on tokens and infilling put a parser on top of it, each in its own
//! way.
//!
//! [`LexerTables`] is a grammar's lexer, [`Hypotheses`] are its readings, and [`Points`] are both together.
//!
//! ```
//! use std::sync::Arc;
//! use maskwright_automata::Fuel;
//! use maskwright_lexing::{LexerTerminal, Pattern};
//! use maskwright_scan::{LexerTables, Points};
//! let literal = |id, text: &[u8]| LexerTerminal::new(id, Pattern::literal(text));
//! let terminals = vec![literal(0, b"a"), literal(1, b"ab")];
//! let names = vec!["A".to_owned(), "AB".to_owned()];
//! let tables = LexerTables::new(terminals, names, vec![], None, true, &Fuel::new(100_000))?;
//! let mut points = Points::new(Arc::new(tables));
//! let start = points.hypotheses.start()?;
//! // After `a`: the token continues, or it has ended and no `b` may follow.
//! let outcomes = points.hypotheses.step(start, b'a')?;
//! assert_eq!(outcomes.len(), 2);
//! # Ok::<(), maskwright_scan::ScanError>(())
//! ```
//!
//! A scan knows no rules, stacks or vocabulary.

pub mod bits;
mod blanks;
mod carry;
mod contexts;
mod error;
mod hypotheses;
mod indentation;
mod layout;
mod points;
mod tables;

pub use blanks::Blanks;
pub use carry::Carry;
pub use contexts::SetId;
pub use error::ScanError;
pub use hypotheses::{Hypotheses, Hypothesis, HypothesisId, Node, Outcome};
pub use indentation::{ANY_WIDTH, Indent, MAX_WIDTH, WIDE, Width};
pub use layout::{BlockStackId, LayoutId, LayoutState, Layouts};
pub use points::{Point, Points, Read};
pub use tables::LexerTables;
