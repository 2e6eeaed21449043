//! Exact infilling under a context-free grammar: texts of which some parts are known and others are not.
//!
//! * [`Canvas`]: a sequence of positions, each a known token or a masked one (exactly one token), as masked
//!   diffusion models fill them in any order.
//! * [`Template`]: fixed pieces of text with holes between them. A hole takes any text, at most n tokens, or
//!   exactly n tokens.
//!
//! Both answer whether a token may stand at a place, so that the rest can still be filled. The answer is yes,
//! no, or open at the limit on work. They keep a *witness*, a text that fills them and that an ordinary
//! session has accepted.
//!
//! The floors, from the ground up; each imports only from lower ones:
//!
//! 1. `ground`: errors and limits.
//! 2. `lattice`: the texts that a question allows; `tokens`: sets of tokens; `rules`: what is made or known
//!    of a grammar's rules.
//! 3. `chart`: a grammar over the edges of a lattice.
//! 4. `bytes` and `lexed` make these edges, of bytes or of what a lexer reads, and so search a lattice. What
//!    a terminal says about the vocabulary does not depend on the position: it is computed once, for all
//!    canvases and templates of one grammar.
//! 5. `answer`: an [`Infiller`] and the solver of its questions. A session judges each text that is found,
//!    and only what it accepts counts.
//! 6. `canvas`: [`Canvas`] and [`Template`], which hold what is known and ask.
//!
//! Not for text that is written from left to right: a session (`maskwright_engine::Matcher`) is faster there.
//!
//! The theory, a worked example and the cost are in `docs/how/infilling.md`; the README of this crate
//! covers grammars with a lexer.

mod answer;
mod bytes;
mod canvas;
mod chart;
mod ground;
mod lattice;
mod lexed;
mod rules;
mod tokens;

#[doc(hidden)]
pub use answer::Relation;
pub use answer::{Form, Infiller};
pub use canvas::{Canvas, CanvasConfig, CanvasStatus, Hole, Part, Template, Verdict};
pub use ground::InfillLimits;
#[doc(hidden)]
pub use lexed::LexerForm;
pub use maskwright_engine::MaskStatus;
pub use maskwright_error::{Error, ErrorKind};
