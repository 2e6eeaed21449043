//! Why bytes cannot be read.

use std::fmt;

use maskwright_lexing::LexError;

/// Why hypotheses could not be stepped: the lexer has an error, or there are too many. The same call fails in
/// the same way again, unless it was [out of work](ScanError::is_out_of_work).
#[derive(Clone, Debug)]
pub struct ScanError(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Lexer(LexError),
    Hypotheses { limit: usize },
}

impl ScanError {
    /// There are more hypotheses than `limit`.
    pub(crate) fn hypotheses(limit: usize) -> ScanError {
        ScanError(Kind::Hypotheses { limit })
    }

    /// Whether a limit was reached.
    pub fn is_limit(&self) -> bool {
        match &self.0 {
            Kind::Lexer(error) => error.is_limit(),
            Kind::Hypotheses { .. } => true,
        }
    }

    /// Whether the present call has done as much work as it may ([`meter`](maskwright_automata::meter)).
    pub fn is_out_of_work(&self) -> bool {
        matches!(&self.0, Kind::Lexer(error) if error.is_out_of_work())
    }

    /// Whether the caller's [`CancelToken`](maskwright_automata::CancelToken) ended the work.
    pub fn is_cancelled(&self) -> bool {
        matches!(&self.0, Kind::Lexer(error) if error.is_cancelled())
    }
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Lexer(error) => error.fmt(f),
            Kind::Hypotheses { limit } => {
                write!(f, "the grammar needs more than {limit} readings of a text as tokens")
            }
        }
    }
}

impl std::error::Error for ScanError {}

impl From<LexError> for ScanError {
    fn from(error: LexError) -> ScanError {
        ScanError(Kind::Lexer(error))
    }
}
