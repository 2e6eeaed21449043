//! The ground floor: what everything above builds on, and nothing of the engine is below.
//!
//! Errors, limits, accounts of memory, masks in their compact form, the tokens that a grammar names, and the
//! places where tests step in.

mod by_stops;
mod doubtful;
mod error;
pub(crate) mod hooks;
mod in_words;
mod limits;
mod mask_form;
mod memory;
mod named_tokens;
mod spelled;
mod status;
mod text;

pub(crate) use by_stops::ByStops;
pub(crate) use doubtful::DoubtfulTokens;
pub(crate) use error::{EngineError, Search, Signal};
pub(crate) use in_words::{BLOCK, Characters, END_OF_BLOCK, END_OF_LINE, shown};
pub use in_words::{MatcherState, StateKeyword, StateNext, TextRegion, WordsPlace};
pub(crate) use limits::MAX_SEARCHED;
pub use limits::{ExitRows, Limits, Options};
pub(crate) use mask_form::{MaskBuilder, MaskForm};
pub(crate) use memory::{Counted, GivesUp, Memory};
pub(crate) use named_tokens::{Ends, Readings};
pub use named_tokens::{NamedTokens, ResolvedLexed};
pub(crate) use spelled::Spelled;
pub(crate) use status::{MANY, MaskWithin, NEVER, plus};
pub use status::{MaskStatus, TokenCountStatus, TokensToFinish};
pub(crate) use text::text_prefix;
pub use text::{TextPart, first_character, text_parts, written};
