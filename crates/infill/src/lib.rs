//! Exact infilling under a context-free grammar: texts of which some parts are known and others are not.
//!
//! * [`Canvas`]: a sequence of positions, each a known token or a masked one (exactly one token), as masked diffusion
//!   models fill them in any order.
//! * [`Template`]: fixed pieces of text with holes between them. A hole takes any text, at most n tokens, or exactly
//!   n tokens.
//!
//! Both answer whether a token may stand at a place, so that the rest can still be filled. The answer is yes, no, or
//! open at the limit on work. They keep a *witness*, a text that fills them and that an ordinary session has
//! accepted.
//!
//! The layers, from the question to the text:
//!
//! 1. `canvas` and `template` hold what is known, and state a `question`.
//! 2. `solver` answers it: near the last witness (`near`) if it can, else by searches and refutations of increasing
//!    size. `masks` does so for all tokens of a place. `tidy` makes the free text of a witness plainer.
//! 3. A `reader` searches one form of the grammar: `bytes` by a `chart` of the bytes of the `lattice`,
//!    `lexed` by the same `chart` of the graph that a lexer makes of it. `wide` makes lattices with more texts, which are
//!    cheap to refute with.
//! 4. `judge` reads each proposed text in a session. Only what it accepts counts.
//!
//! What a terminal says about the vocabulary does not depend on the position. It is computed once (`scan` of `bytes` and of `lexed`) and kept
//! by the [`Infiller`], for all canvases and templates of one grammar.
//!
//! Not for text that is written from left to right: a session (`maskwright_engine::Matcher`) is faster there.
//!
//! The theory, a worked example and the cost are in `docs/design/infilling.md`; the README of this crate covers
//! grammars with a lexer.

mod bytes;
mod canvas;
mod chart;
mod error;
mod filling;
mod infiller;
mod inline;
mod judge;
mod lattice;
mod lexed;
mod masks;
mod near;
mod node_sets;
mod question;
mod reader;
mod rewriting;
mod right_recursion;
mod solver;
mod template;
mod tidy;
mod wide;

pub use canvas::{Canvas, CanvasConfig, CanvasStatus, Verdict};
pub(crate) use error::InfillError;
pub use infiller::{Form, InfillLimits, Infiller};
#[doc(hidden)]
pub use lexed::LexerForm;
pub use maskwright_engine::MaskStatus;
pub use maskwright_error::{Error, ErrorKind};
#[doc(hidden)]
pub use reader::Relation;
pub use template::{Hole, Part, Template};
