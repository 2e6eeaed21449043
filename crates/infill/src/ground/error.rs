//! Why an infilling question has no answer.

use std::fmt;

use maskwright_automata::{AutomatonError, FuelError};
use maskwright_error::{Error, ErrorKind, beginning};
use maskwright_grammar::GrammarError;
use maskwright_lexing::LexError;
use maskwright_scan::ScanError;

/// Why a grammar, canvas or template is refused, or a question about it cannot be answered within the limits.
#[derive(Clone, Debug)]
pub(crate) enum InfillError {
    Grammar(GrammarError),
    Automaton {
        /// The beginning of its expression.
        terminal: String,
        error: AutomatonError,
    },
    Lexer(ScanError),
    /// A limit on work was reached while reading this position.
    Work {
        position: usize,
        limit: u64,
    },
    /// Whoever asked wants no answer any more.
    Cancelled,
    /// As users get it.
    Told(Error),
}

impl InfillError {
    /// `terminal` is its expression, of which the beginning is shown.
    pub(crate) fn automaton(terminal: fmt::Arguments<'_>, error: AutomatonError) -> InfillError {
        InfillError::Automaton { terminal: beginning(terminal), error }
    }

    /// What the call was given is wrong.
    pub(crate) fn argument(message: impl Into<String>) -> InfillError {
        Error::message(ErrorKind::Argument, message).into()
    }

    /// The grammar is of a kind that cannot be infilled.
    pub(crate) fn grammar(message: impl Into<String>) -> InfillError {
        Error::message(ErrorKind::Grammar, message).into()
    }

    /// There are more positions than the limit.
    pub(crate) fn too_long(given: usize, limit: usize) -> InfillError {
        let message = format!("{given} positions are more than the limit of {limit}");
        Error::message(ErrorKind::Limit, message).at_limit("max_positions", limit as u64).into()
    }

    pub(crate) fn mask_too_short(given: usize, needed: usize) -> InfillError {
        InfillError::argument(format!("the mask has {given} words and the vocabulary needs {needed}"))
    }

    /// Neither a text was found nor that there is none.
    pub(crate) fn open(limit: u64) -> InfillError {
        let message = format!(
            "neither a text that fills the unknown places was found, nor that there is none, within the {limit} units of \
             work of the limit infill_work"
        );
        Error::message(ErrorKind::Limit, message).at_limit("infill_work", limit).into()
    }

    /// A limit on work was reached while reading position `position`.
    pub(crate) fn work(position: usize, error: FuelError) -> InfillError {
        match error {
            FuelError::Exhausted { limit } | FuelError::Memory { limit } => {
                InfillError::Work { position, limit }
            }
            FuelError::Cancelled => InfillError::Cancelled,
        }
    }

    /// The same error, at `position` if it is a limit on work.
    pub(crate) fn at(self, position: usize) -> InfillError {
        match self {
            InfillError::Work { limit, .. } => InfillError::Work { position, limit },
            _ => self,
        }
    }

    /// Whether a limit on work or size was reached; raising [`InfillLimits`](crate::InfillLimits) may help.
    pub(crate) fn is_limit(&self) -> bool {
        match self {
            InfillError::Grammar(error) => error.is_limit(),
            InfillError::Automaton { error, .. } => error.is_limit(),
            InfillError::Lexer(error) => error.is_limit(),
            InfillError::Told(error) => error.is_limit(),
            InfillError::Work { .. } => true,
            InfillError::Cancelled => false,
        }
    }

    /// Whether the caller cancelled the work.
    fn is_cancelled(&self) -> bool {
        match self {
            InfillError::Grammar(error) => error.is_cancelled(),
            InfillError::Automaton { error, .. } => error.is_cancelled(),
            InfillError::Lexer(error) => error.is_cancelled(),
            error => matches!(error, InfillError::Cancelled),
        }
    }
}

impl fmt::Display for InfillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InfillError::Grammar(error) => error.fmt(f),
            InfillError::Lexer(error) => error.fmt(f),
            InfillError::Automaton { terminal, error } => write!(f, "terminal {terminal}: {error}"),
            InfillError::Work { position, limit } => {
                write!(f, "position {position}: more work than the limit of {limit} units allows")
            }
            InfillError::Cancelled => f.write_str("cancelled"),
            InfillError::Told(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for InfillError {}

impl From<InfillError> for Error {
    fn from(error: InfillError) -> Error {
        match error {
            InfillError::Told(error) => error,
            error => {
                let kind = ErrorKind::of(error.is_cancelled(), error.is_limit(), ErrorKind::Grammar);
                Error::new(kind, error)
            }
        }
    }
}

impl From<Error> for InfillError {
    fn from(error: Error) -> InfillError {
        InfillError::Told(error)
    }
}

impl From<FuelError> for InfillError {
    /// At the first position, until somebody says [which](InfillError::at).
    fn from(error: FuelError) -> InfillError {
        InfillError::work(0, error)
    }
}

impl From<GrammarError> for InfillError {
    fn from(error: GrammarError) -> InfillError {
        InfillError::Grammar(error)
    }
}

impl From<LexError> for InfillError {
    fn from(error: LexError) -> InfillError {
        ScanError::from(error).into()
    }
}

impl From<ScanError> for InfillError {
    fn from(error: ScanError) -> InfillError {
        InfillError::Lexer(error)
    }
}
