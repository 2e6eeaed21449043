//! Why an automaton could not be made or stepped.

use std::fmt;

use crate::FuelError;
use crate::meter::OutOfWork;

/// Why an [`Automaton`](crate::Automaton) could not be made or stepped: a limit was reached, or the caller
/// cancelled. The automaton stays usable, and the same call fails in the same way again, unless it was [out
/// of work](AutomatonError::is_out_of_work).
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

/// What `max_states` counts, and `max_residue_size`.
pub(crate) const STATES: &str = "states";
pub(crate) const NODES: &str = "nodes in one residue";

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Limit {
        what: &'static str,
        limit: u64,
    },
    /// The limit of a search for a word.
    Search {
        limit: u64,
    },
    Unsearched,
    /// The metered call is over.
    OutOfWork,
    Fuel(FuelError),
}

impl AutomatonError {
    /// The limit of `limit` units called `what` was reached.
    pub(crate) fn limit(what: &'static str, limit: u64) -> AutomatonError {
        AutomatonError(Kind::Limit { what, limit })
    }

    /// A search for a word took more than `limit` node visits.
    pub(crate) fn search(limit: u64) -> AutomatonError {
        AutomatonError(Kind::Search { limit })
    }

    /// A long search is needed, and was not made.
    pub(crate) fn unsearched() -> AutomatonError {
        AutomatonError(Kind::Unsearched)
    }

    /// Whether a search for a word took too many visits.
    pub(crate) fn is_search(&self) -> bool {
        matches!(self.0, Kind::Search { .. })
    }

    /// Whether the call was one that does not wait for long searches ([`Automaton::try_step`]
    /// and the like), and needs one. The call that does wait makes it.
    ///
    /// [`Automaton::try_step`]: crate::Automaton::try_step
    pub fn is_unsearched(&self) -> bool {
        self.0 == Kind::Unsearched
    }

    /// Whether a limit was reached, the caller's fuel included.
    pub fn is_limit(&self) -> bool {
        !self.is_cancelled() && !self.is_unsearched()
    }

    /// The limit of [`AutomatonLimits`](crate::AutomatonLimits) that was reached: its name and value.
    pub fn named_limit(&self) -> Option<(&'static str, u64)> {
        match self.0 {
            Kind::Limit { what: STATES, limit } => Some(("max_states", limit)),
            Kind::Limit { what: NODES, limit } => Some(("max_residue_size", limit)),
            Kind::Search { limit } => Some(("liveness_fuel", limit)),
            _ => None,
        }
    }

    /// Whether the present call has done as much work as it may ([`meter`](crate::meter)); nothing follows
    /// for other calls.
    pub fn is_out_of_work(&self) -> bool {
        self.0 == Kind::OutOfWork
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
            Kind::Search { limit } => {
                write!(
                    f,
                    "the expression needs more than the {limit} node visits in one search for a word allowed: patterns that hold together \
                     need smaller counts, or fewer of them"
                )
            }
            Kind::Unsearched => f.write_str("a search for a word of the expression is still to be made"),
            Kind::OutOfWork => OutOfWork.fmt(f),
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

impl From<OutOfWork> for AutomatonError {
    fn from(_: OutOfWork) -> AutomatonError {
        AutomatonError(Kind::OutOfWork)
    }
}
