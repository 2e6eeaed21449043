//! Why a pattern or a lexer could not be made, or a lexer not be stepped.

use std::fmt;

use maskwright_automata::meter::OutOfWork;
use maskwright_automata::{AutomatonError, FuelError};

/// Why a pattern could not be read: where, what was given, and what is allowed.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Flags, parse_python};
/// let error = parse_python(r"(a)\1", Flags::default(), &Fuel::new(1_000)).unwrap_err();
/// assert_eq!(error.offset(), Some(3));
/// assert_eq!(error.to_string(), "back-references are not supported: what they match is not regular (at byte 3)");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError(PatternKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PatternKind {
    Syntax { offset: usize, message: String },
    Fuel(FuelError),
}

impl PatternError {
    pub(crate) fn at(offset: usize, message: impl Into<String>) -> PatternError {
        PatternError(PatternKind::Syntax { offset, message: message.into() })
    }

    /// The byte of the pattern's source that the error is at, if it is at one.
    pub fn offset(&self) -> Option<usize> {
        match &self.0 {
            PatternKind::Syntax { offset, .. } => Some(*offset),
            PatternKind::Fuel(_) => None,
        }
    }

    /// What is wrong, without the place.
    pub fn message(&self) -> String {
        match &self.0 {
            PatternKind::Syntax { message, .. } => message.clone(),
            PatternKind::Fuel(error) => error.to_string(),
        }
    }

    /// Why the supply of work ended, if that is what is wrong.
    pub fn fuel_error(&self) -> Option<FuelError> {
        match self.0 {
            PatternKind::Syntax { .. } => None,
            PatternKind::Fuel(error) => Some(error),
        }
    }

    /// Whether the caller's [`CancelToken`](maskwright_automata::CancelToken) ended the work.
    pub fn is_cancelled(&self) -> bool {
        self.0 == PatternKind::Fuel(FuelError::Cancelled)
    }

    /// Whether the caller's fuel was used up.
    pub fn is_limit(&self) -> bool {
        matches!(self.0, PatternKind::Fuel(error) if error.is_limit())
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            PatternKind::Syntax { offset, message } => write!(f, "{message} (at byte {offset})"),
            PatternKind::Fuel(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for PatternError {}

impl From<FuelError> for PatternError {
    fn from(error: FuelError) -> PatternError {
        PatternError(PatternKind::Fuel(error))
    }
}

/// Why a [`Lexer`](crate::Lexer) could not be made or stepped. The lexer stays usable, and the same call
/// fails in the same way again.
///
/// ```
/// use maskwright_automata::Fuel;
/// use maskwright_lexing::{Discipline, Lexer, LexerLimits, LexerTerminal, Pattern};
/// let terminals = [LexerTerminal::new(4, Pattern::literal(b"a").repeat(0, None, true))];
/// let error = Lexer::new(&terminals, Discipline::LeftmostFirst, LexerLimits::default(), &Fuel::new(1_000));
/// assert_eq!(error.unwrap_err().to_string(), "terminal 4 can match the empty text, which would never end");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LexError(LexKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum LexKind {
    Limit {
        what: &'static str,
        limit: u64,
    },
    Fuel(FuelError),
    /// The automaton of a terminal's words could not be made or stepped.
    Automaton(AutomatonError),
    Terminal {
        terminal: u32,
        message: &'static str,
    },
}

impl LexError {
    /// The limit of `limit` units called `what` was reached.
    pub(crate) fn limit(what: &'static str, limit: u64) -> LexError {
        LexError(LexKind::Limit { what, limit })
    }

    /// The terminal cannot be had.
    pub(crate) fn terminal(terminal: u32, message: &'static str) -> LexError {
        LexError(LexKind::Terminal { terminal, message })
    }

    /// The terminal that the error is about, if it is about one.
    pub fn terminal_id(&self) -> Option<u32> {
        match self.0 {
            LexKind::Terminal { terminal, .. } => Some(terminal),
            _ => None,
        }
    }

    /// Whether a limit was reached, the caller's fuel included.
    pub fn is_limit(&self) -> bool {
        match &self.0 {
            LexKind::Limit { .. } => true,
            LexKind::Fuel(error) => error.is_limit(),
            LexKind::Automaton(error) => error.is_limit(),
            LexKind::Terminal { .. } => false,
        }
    }

    /// Whether the present call has done as much work as it may ([`meter`](maskwright_automata::meter)).
    pub fn is_out_of_work(&self) -> bool {
        matches!(&self.0, LexKind::Automaton(error) if error.is_out_of_work())
    }

    /// Whether the caller's [`CancelToken`](maskwright_automata::CancelToken) ended the work.
    pub fn is_cancelled(&self) -> bool {
        match &self.0 {
            LexKind::Fuel(error) => *error == FuelError::Cancelled,
            LexKind::Automaton(error) => error.is_cancelled(),
            LexKind::Limit { .. } | LexKind::Terminal { .. } => false,
        }
    }
}

impl fmt::Display for LexError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            LexKind::Limit { what, limit } => {
                write!(f, "the lexer needs more than the {limit} {what} allowed")
            }
            LexKind::Fuel(error) => error.fmt(f),
            LexKind::Automaton(error) => error.fmt(f),
            LexKind::Terminal { terminal, message } => write!(f, "terminal {terminal} {message}"),
        }
    }
}

impl std::error::Error for LexError {}

impl From<FuelError> for LexError {
    fn from(error: FuelError) -> LexError {
        LexError(LexKind::Fuel(error))
    }
}

impl From<OutOfWork> for LexError {
    fn from(error: OutOfWork) -> LexError {
        AutomatonError::from(error).into()
    }
}

impl From<AutomatonError> for LexError {
    fn from(error: AutomatonError) -> LexError {
        LexError(LexKind::Automaton(error))
    }
}
