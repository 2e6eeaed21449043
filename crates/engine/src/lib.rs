//! Exact token masks.
//!
//! The engine takes a [`Grammar`](maskwright_grammar::Grammar) and a
//! [`Vocabulary`](maskwright_vocabulary::Vocabulary) and serves, for every prefix of every text, the set of
//! tokens that some text of the language goes on with. It knows no surface syntax.
//!
//! * [`Compiler`]: owns what grammars share for one vocabulary (automata, rows); makes a
//!   [`EngineGrammar`] in time linear in the grammar.
//! * [`Matcher`]: the state of one sequence; fills masks, accepts tokens, rolls back, forks.
//!
//! Inside, the engine is a house with floors. A file imports from its own floor and from those below:
//!
//! * `session`: compilers, grammars and matchers, as users hold them.
//! * `watch`: grammars whose sessions remember what was there, so that keys and items differ.
//! * `labels`: which parts of a labelled grammar a text has passed.
//! * `budget`: the least number of tokens that complete a text, and masks that keep within a limit.
//! * `likeliest`: the best path through states, given scores for each position.
//! * `reader`: one interface over the two readers.
//! * `bytes` and `lexed`: the two readers. The first steps terminals byte by byte, the second reads the
//!   tokens of a lexer.
//! * `parser`: rules over terminals, as configurations (sets of readings, hash-consed) over a
//!   graph-structured stack.
//! * `shared`: what all grammars of a compiler share.
//! * `spelling` and `rows`: what one terminal costs in tokens, and what it says about the vocabulary.
//! * `ground`: errors, limits, memory, masks.

mod budget;
mod bytes;
mod ground;
mod labels;
mod lexed;
mod likeliest;
mod parser;
mod reader;
mod rows;
mod session;
mod shared;
mod spelling;
mod watch;

pub(crate) use ground::EngineError;
pub use ground::{
    ExitRows, Limits, MaskStatus, MatcherState, Options, StateKeyword, StateNext, TokenCountStatus,
    TokensToFinish,
};
#[doc(hidden)]
pub use ground::{NamedTokens, ResolvedLexed, TextPart, first_character, text_parts, written};
#[doc(hidden)]
pub use ground::{TextRegion, WordsPlace};
#[doc(hidden)]
pub use labels::LabelledGrammar;
pub use likeliest::PositionScores;
pub use maskwright_error::{Error, ErrorKind};
pub use maskwright_grammar::Layout;
pub use session::{
    Compiler, EngineGrammar, Likeliest, LikeliestConfig, LikeliestStatus, Matcher, MatcherConfig,
    MatcherStep, inspect,
};
#[doc(hidden)]
pub use session::{OfCanvas, PassedLabels, Words, WordsSpeaker};
