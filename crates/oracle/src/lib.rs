//! Naive reference implementations that decide masks on small cases; for tests only.
//!
//! The engine must agree with what is written here, so this crate shares nothing with it but the values that
//! front ends build: `Regex`, `Grammar` and `Vocabulary`. Everything is the textbook's method, chosen for
//! being plainly right:
//!
//! * [`Oracle`]: a grammar as one context-free grammar over bytes without unproductive symbols, recognised
//!   by Earley's algorithm. Decides words, viable prefixes and masks.
//! * [`Oracle::tokens_to_finish`]: the least number of tokens that complete a text, by the least fixpoint.
//! * [`LexedOracle`]: which texts are in the language of a grammar over the tokens of a lexer.
//! * [`enumerate_words`], [`enumerate_grammar`]: all words up to a length, as sets, straight from the
//!   definition of each operation. Shares no code with the former, so that either can convict the other.
//! * [`unfold()`]: lists in any order, written out.
//! * [`shared()`]: real data beside the project; without it, tests are counted as skipped.
//! * [`arb_grammar`], [`arb_regex`], [`arb_vocabulary`], [`arb_text_walk`]: random cases that shrink.
//!
//! Costs are exponential or worse in places (complement, enumeration). Do not use it on real grammars.

mod arbitrary;
mod budget;
mod cfg;
mod contextual;
mod derivative;
mod earley;
mod enumerate;
mod lexed;
mod oracle;
mod outside;
#[cfg(test)]
mod relation;
mod tokens;
mod unfold;

pub use arbitrary::{ALPHABET, arb_grammar, arb_regex};
pub use enumerate::{enumerate_grammar, enumerate_words};
pub use lexed::LexedOracle;
pub use oracle::Oracle;
pub use outside::{cases, has_program, shared, shared_folder};
pub use tokens::{TextWalk, arb_text_walk, arb_vocabulary};
pub use unfold::unfold;
