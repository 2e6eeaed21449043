//! What everything stands on: errors and limits.

mod error;
mod limits;

pub(crate) use error::InfillError;
pub use limits::InfillLimits;
