//! Lexers with a discipline: which prefix of a text is the next token, and of which terminal.
//!
//! Grammars in Lark's language split a text into tokens before they parse it, and Python's `re` decides what
//! a terminal matches: the first way to match in backtracking order, not the longest one. This crate knows
//! ordered patterns over bytes and nothing of grammars, vocabularies or parsing.
//!
//! * [`Pattern`]: an ordered regular expression with greedy and lazy repetition and assertions;
//!   [`parse_python`] reads one, [`find_prefix`] defines what it matches.
//! * [`Lexer`]: the lazily determinised automaton of a list of terminals, under a [`Discipline`].
//! * [`lark_terminals`]: the order of terminals and the keywords as Lark has them;
//!   [`lark_contextual_terminals`]: the same for a lexer that is told at each place which terminals compete.
//! * [`Pattern::words`]: the words of one pattern as a language, for whoever has no lexer.
//! * [`Surroundings`]: the words of patterns with assertions, for texts that no lexer splits.
//! * [`BoundedWords`]: the words that a lookbehind can look for, as sequences of sets of characters.
//! * [`Guards`]: what must not follow a match, in few states.
//! * [`terminals_within`]: the terminals restricted to texts over a set of bytes.
//! * [`tokenize()`]: a whole text, by the definition.

mod backtrack;
mod bounded;
mod characters;
mod elimination;
mod error;
mod guards;
mod language;
mod lark;
mod lexer;
mod merge;
mod nfa;
mod pattern;
mod possible;
mod python;
mod rivals;
mod states;
mod surroundings;
mod terminal;
mod tokenize;
mod within;

pub use backtrack::find_prefix;
pub use bounded::{BoundedWord, BoundedWords, EDGE, MAX_CELLS, Sides};
pub use error::{LexError, PatternError};
pub use guards::{Fate, Guards};
pub use lark::{LarkTerminal, ignored_keywords, lark_contextual_terminals, lark_order, lark_terminals};
pub use lexer::{Lexer, LexerLimits};
pub use pattern::{Pattern, PatternNode};
pub use python::{Flags, literal_ignoring_case, parse_python};
pub use surroundings::{Chains, Context, Counting, Surroundings, Words};
pub use terminal::{Accept, Choice, Discipline, Keyword, LexState, LexerTerminal, TerminalSet};
pub use tokenize::{Token, tokenize};
pub use within::terminals_within;
