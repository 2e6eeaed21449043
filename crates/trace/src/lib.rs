//! Traces of a generation, as a page to look at.
//!
//! A [`Trace`] holds what happened while a model wrote a text under a grammar: each token, what the model
//! wanted to write instead, and how much of its probability the grammar cut off. It is shown in three ways:
//!
//! * [`Trace::html`]: one page for a browser. It is a single file that loads nothing and works offline.
//! * [`Trace::to_ansi`]: coloured text for a terminal.
//! * [`Trace::to_text`]: plain text, one line per token.
//!
//! ```
//! use maskwright_trace::{Candidate, Step, Trace};
//! let favourite = Candidate { token: 7, text: b"Sure".to_vec(), probability: 0.75, ..Candidate::default() };
//! let step = Step {
//!     token: 1,
//!     text: b"{".to_vec(),
//!     allowed_mass: Some(0.25),
//!     wanted: vec![favourite],
//!     ..Step::default()
//! };
//! let trace = Trace { title: "A person".to_owned(), steps: vec![step], ..Trace::default() };
//! assert!(trace.html().starts_with("<!doctype html>"));
//! assert!(trace.to_text().contains("wanted \"Sure\""));
//! ```
//!
//! Everything in a trace may be hostile: texts are shown and never run, and control characters become visible
//! symbols. A probability that is not a finite number counts as not measured.
//!
//! The crate knows no grammars, tokenizers or models. Whoever generates fills in the trace.

mod trace;

pub use trace::{Branch, Candidate, Cell, Frame, N_CANDIDATES, Outcome, Region, Step, Trace, escape_html};
