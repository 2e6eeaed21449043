//! What is made or known of a grammar's rules, whatever text they read.

mod approximation;
mod inline;
mod pairs;
mod rewriting;
mod right_recursion;

pub(crate) use approximation::{Approximation, StatesId};
pub(crate) use inline::inline_single;
pub(crate) use pairs::{check_pairs, rules_in_line};
pub(crate) use right_recursion::repeat_tails;
