//! Why an infilling question has no answer.

use std::fmt;

use maskwright_automata::{AutomatonError, FuelError};
use maskwright_error::{Error, ErrorKind};
use maskwright_grammar::GrammarError;
use maskwright_lexing::LexError;
use maskwright_scan::ScanError;

/// Why a grammar, canvas or template is refused, or a question about it cannot be answered within the limits.
#[derive(Clone, Debug)]
pub(crate) struct InfillError(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Grammar(GrammarError),
    Automaton { terminal: String, error: AutomatonError },
    Work { position: usize, limit: u64 },
    Chart { position: usize, limit: usize },
    Lexer(ScanError),
    Declared { name: String },
    Unpaired { rule: String },
    FreeText,
    TooWide { given: u32, limit: u32 },
    Cancelled,
    Token { id: u32, n_vocab: usize },
    Position { given: usize, n_positions: usize },
    NoHole { given: usize, n_holes: usize },
    HoleFixed { hole: usize },
    TooLong { given: usize, limit: usize },
    PositionsDiffer { given: usize, needed: usize },
    ImpossibleCanvas { why: String },
    PaddingIsText { id: u32 },
    MaskTooShort { given: usize, needed: usize },
    Open { limit: u64 },
    Session(Error),
    BlankIsNamed,
}

impl InfillError {
    pub(crate) fn automaton(terminal: String, error: AutomatonError) -> InfillError {
        InfillError(Kind::Automaton { terminal, error })
    }

    pub(crate) fn unpaired(rule: &str) -> InfillError {
        InfillError(Kind::Unpaired { rule: rule.to_owned() })
    }

    pub(crate) fn too_wide(given: u32, limit: u32) -> InfillError {
        InfillError(Kind::TooWide { given, limit })
    }

    pub(crate) fn free_text() -> InfillError {
        InfillError(Kind::FreeText)
    }

    pub(crate) fn declared(name: &str) -> InfillError {
        InfillError(Kind::Declared { name: name.to_owned() })
    }

    /// Whoever asked wants no answer any more.
    pub(crate) fn cancelled() -> InfillError {
        InfillError(Kind::Cancelled)
    }

    /// A limit on work was reached while reading position `position`.
    pub(crate) fn work(position: usize, error: FuelError) -> InfillError {
        InfillError(match error {
            FuelError::Exhausted { limit } | FuelError::Memory { limit } => Kind::Work { position, limit },
            FuelError::Cancelled => Kind::Cancelled,
        })
    }

    /// A chart has become too large while reading position `position`.
    pub(crate) fn chart(position: usize, limit: usize) -> InfillError {
        InfillError(Kind::Chart { position, limit })
    }

    /// The same error, at `position` if it is a limit on work.
    pub(crate) fn at(self, position: usize) -> InfillError {
        match self.0 {
            Kind::Work { limit, .. } => InfillError(Kind::Work { position, limit }),
            _ => self,
        }
    }

    /// A session reached a limit.
    pub(crate) fn session(error: Error) -> InfillError {
        InfillError(Kind::Session(error))
    }

    /// Neither a text was found nor that there is none.
    pub(crate) fn open(limit: u64) -> InfillError {
        InfillError(Kind::Open { limit })
    }

    pub(crate) fn token(id: u32, n_vocab: usize) -> InfillError {
        InfillError(Kind::Token { id, n_vocab })
    }

    pub(crate) fn position(given: usize, n_positions: usize) -> InfillError {
        InfillError(Kind::Position { given, n_positions })
    }

    pub(crate) fn no_hole(given: usize, n_holes: usize) -> InfillError {
        InfillError(Kind::NoHole { given, n_holes })
    }

    pub(crate) fn hole_fixed(hole: usize) -> InfillError {
        InfillError(Kind::HoleFixed { hole })
    }

    pub(crate) fn too_long(given: usize, limit: usize) -> InfillError {
        InfillError(Kind::TooLong { given, limit })
    }

    /// Scores are needed for each position.
    pub(crate) fn positions_differ(given: usize, needed: usize) -> InfillError {
        InfillError(Kind::PositionsDiffer { given, needed })
    }

    /// Nothing fills the canvas.
    pub(crate) fn impossible_canvas(why: String) -> InfillError {
        InfillError(Kind::ImpossibleCanvas { why })
    }

    pub(crate) fn padding_is_text(id: u32) -> InfillError {
        InfillError(Kind::PaddingIsText { id })
    }

    /// The grammar asks for the token of padding or of masked positions.
    pub(crate) fn blank_is_named() -> InfillError {
        InfillError(Kind::BlankIsNamed)
    }

    pub(crate) fn mask_too_short(given: usize, needed: usize) -> InfillError {
        InfillError(Kind::MaskTooShort { given, needed })
    }

    /// Whether a limit on work or size was reached; raising [`InfillLimits`](crate::InfillLimits) may help.
    pub(crate) fn is_limit(&self) -> bool {
        match &self.0 {
            Kind::Grammar(error) => error.is_limit(),
            Kind::Automaton { error, .. } => error.is_limit(),
            Kind::Lexer(error) => error.is_limit(),
            Kind::Work { .. } | Kind::Chart { .. } | Kind::TooLong { .. } | Kind::Open { .. } => true,
            Kind::Session(error) => error.is_limit(),
            _ => false,
        }
    }

    /// Whether the grammar is at fault, or is of a kind that cannot be infilled, rather than the call.
    fn is_of_grammar(&self) -> bool {
        matches!(
            self.0,
            Kind::Grammar(_)
                | Kind::Automaton { .. }
                | Kind::Lexer(_)
                | Kind::Declared { .. }
                | Kind::Unpaired { .. }
        )
    }

    /// Whether the caller cancelled the work.
    fn is_cancelled(&self) -> bool {
        match &self.0 {
            Kind::Grammar(error) => error.is_cancelled(),
            Kind::Automaton { error, .. } => error.is_cancelled(),
            Kind::Lexer(error) => error.is_cancelled(),
            Kind::Session(error) => error.is_cancelled(),
            Kind::Cancelled => true,
            _ => false,
        }
    }
}

impl fmt::Display for InfillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Grammar(error) => error.fmt(f),
            Kind::Lexer(error) => error.fmt(f),
            Kind::Declared { name } => write!(
                f,
                "terminal `{name}` is declared and nothing says what makes it: infilling has only terminals that are found \
                 in the text, and those of indentation"
            ),
            Kind::Unpaired { rule } => write!(
                f,
                "rule `{rule}` opens a block or a bracket that it does not close, or closes one that it has not opened: \
                 for infilling, a rule must have both (`_INDENT stmt+ _DEDENT`, `\"(\" args \")\"`)"
            ),
            Kind::TooWide { given, limit } => write!(
                f,
                "beside any text, lines of {limit} columns are counted at most, and here one may have {given}"
            ),
            Kind::FreeText => write!(
                f,
                "lines of any text may have any width, and the terminal that ends lines here does not take another blank \
                 wherever it takes one: give the hole a number of tokens, exactly or at most"
            ),
            Kind::Automaton { terminal, error } => write!(f, "terminal {terminal}: {error}"),
            Kind::Work { position, limit } => {
                write!(f, "position {position}: more work than the limit of {limit} units allows")
            }
            Kind::Chart { position, limit } => {
                write!(
                    f,
                    "position {position}: the chart of all texts needs more than the {limit} facts allowed"
                )
            }
            Kind::Cancelled => f.write_str("cancelled"),
            Kind::Token { id, n_vocab } => {
                write!(f, "token {id} is not in the vocabulary: its ids are below {n_vocab}")
            }
            Kind::Position { given, n_positions } => {
                write!(f, "position {given} is not on the canvas: it has {n_positions}")
            }
            Kind::NoHole { given, n_holes } => {
                write!(f, "hole {given} is not in the template: it has {n_holes}")
            }
            Kind::HoleFixed { hole } => write!(f, "hole {hole} is fixed already"),
            Kind::PositionsDiffer { given, needed } => {
                write!(f, "there are scores for {given} positions, the canvas has {needed}")
            }
            Kind::ImpossibleCanvas { why } => write!(f, "the canvas cannot be completed: {why}"),
            Kind::TooLong { given, limit } => {
                write!(f, "{given} positions are more than the limit of {limit}")
            }
            Kind::PaddingIsText { id } => {
                write!(f, "token {id} cannot be padding or stand for masked positions: it matches as text")
            }
            Kind::BlankIsNamed => f.write_str(
                "the grammar names the token of padding or of masked positions, which is no part of a text",
            ),
            Kind::Open { limit } => write!(
                f,
                "neither a text that fills the unknown places was found, nor that there is none, within the {limit} units of \
                 work of the limit infill_work"
            ),
            Kind::Session(error) => error.fmt(f),
            Kind::MaskTooShort { given, needed } => {
                write!(f, "the mask has {given} words and the vocabulary needs {needed}")
            }
        }
    }
}

impl std::error::Error for InfillError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Kind::Grammar(error) => Some(error),
            Kind::Automaton { error, .. } => Some(error),
            Kind::Lexer(error) => Some(error),
            Kind::Session(error) => Some(error),
            _ => None,
        }
    }
}

impl From<InfillError> for Error {
    fn from(error: InfillError) -> Error {
        let otherwise = match &error.0 {
            _ if error.is_of_grammar() => ErrorKind::Grammar,
            Kind::ImpossibleCanvas { .. } => ErrorKind::NoText,
            Kind::HoleFixed { .. } => ErrorKind::State,
            Kind::Session(error) => error.kind(),
            _ => ErrorKind::Argument,
        };
        let kind = ErrorKind::of(error.is_cancelled(), error.is_limit(), otherwise);
        match error.0 {
            Kind::Open { limit } => Error::new(kind, error).at_limit("infill_work", limit),
            _ => Error::new(kind, error),
        }
    }
}

impl From<GrammarError> for InfillError {
    fn from(error: GrammarError) -> InfillError {
        InfillError(Kind::Grammar(error))
    }
}

impl From<LexError> for InfillError {
    fn from(error: LexError) -> InfillError {
        ScanError::from(error).into()
    }
}

impl From<ScanError> for InfillError {
    fn from(error: ScanError) -> InfillError {
        InfillError(Kind::Lexer(error))
    }
}
