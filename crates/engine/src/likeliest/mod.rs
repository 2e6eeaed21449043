//! The likeliest text, where a model gives a distribution for every position at once.
//!
//! A block-diffusion model has no next token: it scores the tokens of all positions of a block. The question
//! is then which text of the grammar has the highest sum of scores, one token for each position. That is
//! Viterbi's algorithm over the states of a session: paths that reach the same state have the same
//! continuations, so the best of them is kept.
//!
//! * [`Scores`]: the scores of the tokens at each position, and the most that the positions ahead can add.
//! * [`Paths`]: what states there are, and which tokens lead from one to the next. [`Finite`] has them in a
//!   table of few classes of tokens, where the texts of a grammar pass through few states; sessions have them
//!   otherwise (`session/matcher/likeliest.rs`).
//! * [`search()`]: the best path, layer by layer, with a limit on the states of a layer.
//!
//! An answer is exact if nothing was left out that could have been better: neither states beyond the limit
//! nor tokens that were not tried. Both are bounded by the score of the path so far and the best score of
//! each position ahead.
//!
//! The regular case is the dynamic program of DINGO (Suresh et al., 2025), here over classes of tokens and
//! with only the states that can win.

mod automaton;
mod finite;
mod scores;
mod search;
mod task;

pub(crate) use automaton::{Closure, TokenAutomaton};
pub(crate) use finite::Finite;
pub use scores::PositionScores;
pub(crate) use scores::{IMPOSSIBLE, Ranked, Row, Scores};
pub(crate) use search::{Edge, Found, Paths, Wanted, search};
pub(crate) use task::Task;
