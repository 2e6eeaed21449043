//! Exact token masks.
//!
//! The engine takes a [`Grammar`](maskwright_grammar::Grammar) and a
//! [`Vocabulary`](maskwright_vocabulary::Vocabulary) and serves, for every prefix of every text, the set of
//! tokens that some text of the language goes on with. It knows no surface syntax.
//!
//! * [`Compiler`]: owns what grammars share for one vocabulary (automata, rows); makes a
//!   [`EngineGrammar`] in time linear in the grammar.
//! * [`Matcher`]: the state of one sequence; fills masks, accepts tokens, rolls back, forks.
//! * `lexed`: grammars over the tokens of a lexer, masks over their bytes.
//! * `budget`: the least number of tokens that complete a text, and masks that keep within a limit.
//! * Inside: configurations (`configuration`, sets of readings, hash-consed) over a graph-structured stack
//!   (`stack`), stepped byte by byte (`machine`); `rows` and `mask` turn them into masks.

mod budget;
mod by_stops;
mod compiler;
mod configuration;
mod engine_grammar;
mod error;
mod explain;
mod forced;
mod hooks;
pub mod inspect;
mod lexed;
mod limits;
mod machine;
mod mask;
mod mask_form;
mod matcher;
mod memory;
mod named_tokens;
mod parser;
mod rows;
mod shared_machine;
mod spelled;
mod stack;
mod watched;
mod watched_search;

pub use budget::{MaskStatus, TokenCountStatus, TokensToFinish};
pub use compiler::Compiler;
pub use engine_grammar::EngineGrammar;
pub(crate) use error::EngineError;
pub use limits::{ExitRows, Limits, Options};
pub use maskwright_error::{Error, ErrorKind};
pub use maskwright_grammar::Layout;
#[doc(hidden)]
pub use matcher::written;
pub use matcher::{Matcher, Taken};
#[doc(hidden)]
pub use named_tokens::{NamedTokens, ResolvedLexed, TextPart, text_parts};
