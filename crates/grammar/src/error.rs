//! What can be wrong with a grammar as a whole.

use std::fmt;

use maskwright_automata::FuelError;
use maskwright_error::{Error, ErrorKind};

/// How many rules a message names.
const MOST_NAMES: usize = 20;

/// Why a grammar is refused.
///
/// # Example: a rule that is not defined
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as grammar; }
/// use maskwright::grammar::GrammarBuilder;
/// let mut builder = GrammarBuilder::new();
/// let (start, item) = (builder.declare("start"), builder.declare("item"));
/// let body = builder.rule(item);
/// builder.define(start, body);
/// let error = builder.finish(start).unwrap_err();
/// assert!(error.to_string().contains("`item`") && !error.is_limit());
/// ```
///
/// # Example: from a limit on work
///
/// ```
/// # mod maskwright { pub mod grammar { pub use maskwright_grammar::*; pub use maskwright_automata::*; } }
/// use maskwright::grammar::{Fuel, GrammarError};
/// let spent = |fuel: &Fuel| -> Result<(), GrammarError> { Ok(fuel.spend(10)?) };
/// assert!(spent(&Fuel::new(1)).unwrap_err().is_limit());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrammarError(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Undefined { rule: String },
    Unproductive { rule: String },
    NoSuchRule { rule: String, rules: String },
    BeginsWithItself { rule: String },
    Fuel(FuelError),
}

impl GrammarError {
    pub(crate) fn undefined(rule: impl Into<String>) -> GrammarError {
        GrammarError(Kind::Undefined { rule: rule.into() })
    }

    pub(crate) fn unproductive(rule: impl Into<String>) -> GrammarError {
        GrammarError(Kind::Unproductive { rule: rule.into() })
    }

    pub(crate) fn no_such_rule<'r>(rule: &str, rules: impl Iterator<Item = &'r str>) -> GrammarError {
        let mut rules: Vec<String> = rules.map(|rule| format!("`{rule}`")).collect();
        rules.sort_unstable();
        rules.dedup();
        let n_more = rules.len().saturating_sub(MOST_NAMES);
        rules.truncate(MOST_NAMES);
        rules.extend((n_more > 0).then(|| format!("{n_more} more")));
        GrammarError(Kind::NoSuchRule { rule: rule.to_owned(), rules: rules.join(", ") })
    }

    pub(crate) fn begins_with_itself(rule: &str) -> GrammarError {
        GrammarError(Kind::BeginsWithItself { rule: rule.to_owned() })
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
            Kind::NoSuchRule { rule, rules } => {
                write!(f, "no rule is called `{rule}`, so it cannot be captured; there are {rules}")
            }
            Kind::BeginsWithItself { rule } => write!(
                f,
                "rule `{rule}` can begin with itself, so it cannot be captured: where its texts begin would be \
                 open. Write it as a repetition, or capture a rule within it"
            ),
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
