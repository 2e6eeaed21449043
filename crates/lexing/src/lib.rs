//! Lexers with a discipline: which prefix of a text is the next token, and of which terminal.
//!
//! Grammars in Lark's language split a text into tokens before they parse it, and Python's `re` decides what
//! a terminal matches: the first way to match in backtracking order, not the longest one. This crate knows
//! ordered patterns over bytes and nothing of grammars, vocabularies or parsing.
//!
//! * [`Pattern`]: an ordered regular expression with greedy and lazy repetition and assertions.

mod pattern;

pub use pattern::{Pattern, PatternNode};
