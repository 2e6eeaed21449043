//! The typed grammar representation, between the front ends and the engine.
//!
//! A front end builds a [`Grammar`] with a [`GrammarBuilder`]: rules over terminals (regular languages,
//! `maskwright_automata::Regex`) combined by sequence, choice, repetition and lists in any
//! order. Any context-free grammar is
//! welcome: ambiguous, left-recursive, with empty rules. The passes then lead, one type to the next, to what
//! the engine runs:
//!
//! [`Grammar`] → [`collapse_regular`] (optional) → [`ReducedGrammar`] ([`reduce()`]) → [`Network`]
//! ([`Network::new`]: left recursion turned into repetition, states made on demand).
//!
//! Parsing sees terminal ids, never bytes; only the engine steps the automata behind them.

mod absorb;
mod builder;
mod captures;
mod collapse;
mod embed;
mod ends;
mod error;
mod expr;
mod item;
mod label;
mod layout;
mod left_recursion;
mod lexed;
mod network;
mod reduce;
mod render;
mod shuffle;
mod spelling;
mod token_limit;
mod token_set;
mod watch;

pub use builder::{Grammar, GrammarBuilder};
pub use captures::with_labelled_rules;
pub use collapse::collapse_regular;
pub use embed::Embedded;
pub use error::GrammarError;
pub use expr::{Expr, ExprId, ExprPool, RuleId, Seen, TerminalId};
pub use item::Item;
pub use label::Label;
pub use layout::{Layout, Tabs, blanks_after};
pub use lexed::LexedGrammar;
pub use network::{Move, Network, Symbol};
pub use reduce::{ReducedGrammar, TerminalFacts, reduce};
pub use shuffle::{ListLeft, Offer, Shuffle, ShuffleItem, ShuffleList, ShufflePhase};
pub use spelling::{SpecialNames, SpelledPart, SpelledPiece, SpellingError};
pub use token_limit::at_most_tokens;
pub use token_set::{Halves, TokenItem, TokenSet, halves, resolve};
pub use watch::{Doubt, Mark, Marks, Watch, Watched, Watching};
