//! What can be wrong with a grammar as a whole.

use std::fmt;

use maskwright_automata::FuelError;
use maskwright_error::{Error, ErrorKind};

/// Why a grammar is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Undefined { rule: String },
    Unproductive { rule: String },
    Fuel(FuelError),
}

impl GrammarError {
    pub(crate) fn undefined(rule: impl Into<String>) -> GrammarError {
        GrammarError(Kind::Undefined { rule: rule.into() })
    }

    pub(crate) fn unproductive(rule: impl Into<String>) -> GrammarError {
        GrammarError(Kind::Unproductive { rule: rule.into() })
    }

    /// Whether the limit on work was reached, rather than the grammar being wrong.
    pub fn is_limit(&self) -> bool {
        matches!(self.0, Kind::Fuel(error) if error.is_limit())
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        matches!(self.0, Kind::Fuel(FuelError::Cancelled))
    }

    /// Whether the grammar's language is empty.
    pub fn is_unproductive(&self) -> bool {
        matches!(self.0, Kind::Unproductive { .. })
    }
}

impl fmt::Display for GrammarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Undefined { rule } => write!(f, "rule `{rule}` is used but not defined"),
            Kind::Unproductive { rule } => {
                write!(f, "rule `{rule}` matches no text at all: nothing could ever be generated")
            }
            Kind::Fuel(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for GrammarError {}

impl From<GrammarError> for Error {
    fn from(error: GrammarError) -> Error {
        Error::new(ErrorKind::of(error.is_cancelled(), error.is_limit(), ErrorKind::Grammar), error)
    }
}

impl From<FuelError> for GrammarError {
    fn from(error: FuelError) -> GrammarError {
        GrammarError(Kind::Fuel(error))
    }
}
