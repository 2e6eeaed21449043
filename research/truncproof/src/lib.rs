//! TruncProof, the method of paper 4 ("LL(1)-constrained generation with maximum token limitations"), as a
//! baseline: what it allows under a limit on tokens can be compared with the engine's exact budgets.
//!
//! A crate of its own, beside the decoding loops and above them: it is an experiment's subject and no part of
//! the engine, it implements [`Constraint`](maskwright_decode::Constraint) so that every strategy runs with
//! it, and nothing but campaigns and tests depends on it.
//!
//! The method, with the paper's names. A text is split into the terminals τ that an LL(1) parser has read and
//! a remainder r. With a an acceptable terminal and b one that may follow it, a token t is allowed iff for
//! some such (a, b), or a alone,
//!
//! i + C_ab\[δ_ab(r·t)\] + d_cost(τ·a·b) < N (equation 5),
//!
//! where i counts the tokens with t, C_ab is the least number of tokens that take a state of the automaton of
//! a·b to its end (algorithm 1: `costs`), and d_cost adds up the estimates D of the symbols that the parser
//! still expects (equation 4, algorithm 2: `ll1`). The strict inequality leaves the token that ends the text.
//!
//! Two things are decided here that the paper leaves open:
//! * Its lexer is not defined, and its proof (B.7) takes any split of the text for the lexer's. So all splits
//!   are followed at once, each with its own parser stack: the language is then that of the engine's
//!   scannerless grammars, and the paper's guarantee (lemma B.2) is a theorem: what is allowed can be
//!   finished within N.
//! * Pairs of terminals are prepared when they are first needed, and not all in advance.
//!
//! What the exact minimum has and this has not: tokens that reach into a third terminal are never allowed
//! (`"},` after a string), and a completion is counted terminal by terminal, so a token that spans terminals
//! is counted once for each.

mod constraint;
mod costs;
mod error;
mod ll1;
mod method;

pub use constraint::TruncProofConstraint;
pub use error::TruncProofError;
pub use method::TruncProof;
