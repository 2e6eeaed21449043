//! Why an automaton could not be made or stepped.

use std::fmt;

use crate::FuelError;

/// Why an [`Automaton`](crate::Automaton) could not be made or stepped: a limit was reached, or the caller
/// cancelled. The automaton stays usable, and the same call fails in the same way again.
///
/// ```
/// use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex};
/// let mut nested = Regex::literal(b"ab");
/// for _ in 0..1_000 {
///     nested = Regex::concat([nested.repeat(2, Some(3)), Regex::literal(b"x")]);
/// }
/// let error = Automaton::new(&nested, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap_err();
/// assert!(error.is_limit());
/// assert_eq!(error.to_string(), "the expression needs more than the 400 levels of nesting allowed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AutomatonError(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Limit { what: &'static str, limit: u64 },
    Fuel(FuelError),
}

impl AutomatonError {
    /// The limit of `limit` units called `what` was reached.
    pub(crate) fn limit(what: &'static str, limit: u64) -> AutomatonError {
        AutomatonError(Kind::Limit { what, limit })
    }

    /// Whether a limit was reached, the caller's fuel included.
    pub fn is_limit(&self) -> bool {
        !self.is_cancelled()
    }

    /// Whether the caller's [`CancelToken`](crate::CancelToken) ended the work.
    pub fn is_cancelled(&self) -> bool {
        self.0 == Kind::Fuel(FuelError::Cancelled)
    }
}

impl fmt::Display for AutomatonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Limit { what, limit } => {
                write!(f, "the expression needs more than the {limit} {what} allowed")
            }
            Kind::Fuel(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for AutomatonError {}

impl From<FuelError> for AutomatonError {
    fn from(error: FuelError) -> AutomatonError {
        AutomatonError(Kind::Fuel(error))
    }
}
