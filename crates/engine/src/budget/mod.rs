//! Token budgets.

mod completions;
mod futures;
mod profile;
mod runs;
mod session;
mod summaries;

pub(crate) use completions::Budget;
pub(crate) use runs::Spelling;
pub use session::{TokenCountStatus, TokensToFinish};
