//! What can go wrong while compiling or while serving masks.

use std::fmt;
use std::sync::Arc;

use maskwright_automata::meter::OutOfWork;
use maskwright_automata::{Automaton, AutomatonError, FuelError, StateId};
use maskwright_error::{Error, ErrorKind, Place, beginning, counted};
use maskwright_grammar::GrammarError;
use maskwright_lexing::LexError;
use maskwright_scan::ScanError;
use maskwright_vocabulary::{TokenId, Vocabulary};

use super::status::{MANY, NEVER, TokenCountStatus};

/// Why a grammar is refused, or a mask cannot be given.
#[derive(Clone, Debug)]
pub(crate) enum EngineError {
    Signal(Signal),
    Grammar(GrammarError),
    Automaton {
        /// The beginning of its expression.
        terminal: String,
        error: AutomatonError,
    },
    Lexer(ScanError),
    /// The lexer splits no text into a sentence of the grammar.
    NoText,
    /// As users get it.
    Told(Error),
}

/// Why a call could not be made as it was. Nothing follows for other calls, so no answer is to be kept.
#[derive(Clone, Debug)]
pub(crate) enum Signal {
    /// The call has done as much work as it may.
    OutOfWork,
    /// A search is to be made first; never leaves the engine.
    Search(Box<Search>),
    /// The answer is not known, and the call may not work it out; never leaves the engine.
    Unknown,
}

/// A search for a word that a call needs, to be made without the lock of its machine; then the call is made
/// again.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub(crate) automaton: Arc<Automaton>,
    pub(crate) residue: StateId,
    /// Search after this byte; if `None`, after each byte.
    pub(crate) byte: Option<u8>,
}

impl Search {
    /// Makes the search.
    ///
    /// # Errors
    /// If it reaches a limit.
    pub(crate) fn make(&self) -> Result<(), EngineError> {
        let made = match self.byte {
            Some(byte) => self.automaton.step(self.residue, byte).map(|_| ()),
            None => self.automaton.next_bytes(self.residue).map(|_| ()),
        };
        made.map_err(EngineError::in_terminal(&self.automaton))
    }
}

/// How many stop tokens are shown.
const MAX_STOPS_SHOWN: usize = 8;

impl EngineError {
    /// `terminal` is its expression, of which the beginning is shown.
    pub(crate) fn automaton(terminal: fmt::Arguments<'_>, error: AutomatonError) -> EngineError {
        match error.is_out_of_work() {
            true => OutOfWork.into(),
            false => EngineError::Automaton { terminal: beginning(terminal), error },
        }
    }

    /// Places the errors of a terminal's automaton:
    /// `automaton.step(..).map_err(EngineError::in_terminal(automaton))`.
    pub(crate) fn in_terminal(automaton: &Automaton) -> impl Fn(AutomatonError) -> EngineError + Copy + '_ {
        |error| EngineError::automaton(format_args!("{:?}", automaton.regex()), error)
    }

    /// What the call was given is wrong.
    pub(crate) fn argument(message: impl Into<String>) -> EngineError {
        EngineError::Told(Error::message(ErrorKind::Argument, message))
    }

    /// The grammar is wrong for this vocabulary.
    pub(crate) fn grammar(message: impl Into<String>) -> EngineError {
        EngineError::Told(Error::message(ErrorKind::Grammar, message))
    }

    /// A limit on work or size was reached.
    pub(crate) fn limit(message: impl Into<String>) -> EngineError {
        EngineError::Told(Error::message(ErrorKind::Limit, message))
    }

    /// A limit that users set was reached.
    pub(crate) fn at_limit(message: String, name: &'static str, limit: usize) -> EngineError {
        EngineError::Told(Error::message(ErrorKind::Limit, message).at_limit(name, limit as u64))
    }

    /// No text can be written.
    pub(crate) fn without_text(message: impl Into<String>) -> EngineError {
        EngineError::Told(Error::message(ErrorKind::NoText, message))
    }

    /// The limit of `limit` of `what` was reached.
    pub(crate) fn lexed_limit(what: &'static str, limit: usize) -> EngineError {
        EngineError::limit(format!("the grammar needs more than {limit} {what}"))
    }

    /// The grammar tells more than `limit` kinds of tokens apart by their ids.
    pub(crate) fn too_many_named_tokens(limit: usize) -> EngineError {
        EngineError::limit(format!(
            "the grammar's sets of tokens divide the vocabulary into more than {limit} groups; use fewer different sets"
        ))
    }

    /// No completion of at most `limit` tokens is known, but one of so many. `needed` is `u32::MAX` if none
    /// is.
    pub(crate) fn max_tokens_too_small(limit: usize, needed: u32, status: TokenCountStatus) -> EngineError {
        if needed >= MANY {
            return EngineError::no_tokens(needed, status);
        }
        let message = format!(
            "{} {} too few for the grammar: {needed} {} enough, the end-of-sequence token included",
            counted(limit, "token"),
            if limit == 1 { "is" } else { "are" },
            if needed == 1 { "is" } else { "are" },
        );
        let place = Place { needed: Some(needed as usize), ..Place::default() };
        EngineError::Told(Error::message(ErrorKind::MaxTokensTooSmall, message).at(place))
    }

    /// No tokens spell the rest of any text, if `least` is `u32::MAX` and exact; else every text that was
    /// found takes too many to be counted, or none was found.
    pub(crate) fn no_tokens(least: u32, status: TokenCountStatus) -> EngineError {
        match (least, status) {
            (NEVER, TokenCountStatus::Exact) => EngineError::cannot_be_spelled(),
            (NEVER, TokenCountStatus::Upper) => EngineError::no_completion_known(),
            _ => EngineError::limit(format!("every completion of the text takes {MANY} tokens or more")),
        }
    }

    /// No completion of the text was found within the limits on work.
    pub(crate) fn no_completion_known() -> EngineError {
        EngineError::limit(
            "no completion of the text was found: the shortest may have more than 262,144 bytes, or is hard to spell in tokens",
        )
    }

    pub(crate) fn cannot_be_spelled() -> EngineError {
        EngineError::without_text("the vocabulary's tokens spell no completion of the text")
    }

    /// A limit was reached before it was decided whether a text can be completed.
    pub(crate) fn undecided() -> EngineError {
        EngineError::limit(
            "could not decide within the limits on work whether any text of the grammar avoids the stop tokens",
        )
    }

    /// No text was found that fits the positions, and there may be one.
    pub(crate) fn undecided_positions() -> EngineError {
        EngineError::limit(
            "no text of the grammar that fits the positions was found within the limits on work",
        )
    }

    /// No text of the grammar can be written without `stops`.
    pub(crate) fn stops_leave_no_text(vocabulary: &Vocabulary, stops: &[TokenId]) -> EngineError {
        let shown = |&stop: &TokenId| match vocabulary.token_bytes(stop) {
            Some(bytes) => format!("{} ({:?})", stop.0, String::from_utf8_lossy(bytes)),
            None => stop.0.to_string(),
        };
        let mut stops: Vec<String> = stops.iter().map(shown).collect();
        let n_more = stops.len().saturating_sub(MAX_STOPS_SHOWN);
        if n_more > 0 {
            stops.truncate(MAX_STOPS_SHOWN);
            stops.push(format!("{n_more} more"));
        }
        EngineError::without_text(format!(
            "the stop tokens leave no text of the grammar: stop tokens cannot be used within the text, and every text \
             needs bytes that no other tokens spell; the stop tokens are {}",
            stops.join(", ")
        ))
    }

    /// The search that the call needs before it is made again, or the error itself.
    pub(crate) fn into_search(self) -> Result<Search, EngineError> {
        match self {
            EngineError::Signal(Signal::Search(search)) => Ok(*search),
            error => Err(error),
        }
    }

    /// Whether the call could not be made as it was, and says nothing of its answer.
    pub(crate) fn is_postponed(&self) -> bool {
        matches!(self, EngineError::Signal(Signal::Unknown | Signal::Search(_)))
    }

    /// Whether the call has done as much work as it may.
    pub(crate) fn is_out_of_work(&self) -> bool {
        match self {
            EngineError::Signal(signal) => matches!(signal, Signal::OutOfWork),
            EngineError::Lexer(error) => error.is_out_of_work(),
            EngineError::Automaton { error, .. } => error.is_out_of_work(),
            _ => false,
        }
    }

    /// Whether there is no text at all.
    pub(crate) fn is_without_text(&self) -> bool {
        match self {
            EngineError::Grammar(error) => error.is_unproductive(),
            EngineError::Told(error) => error.kind() == ErrorKind::NoText,
            error => matches!(error, EngineError::NoText),
        }
    }

    /// Whether a limit on work or size was reached; raising [`Limits`](crate::Limits) may help.
    pub(crate) fn is_limit(&self) -> bool {
        match self {
            EngineError::Grammar(error) => error.is_limit(),
            EngineError::Automaton { error, .. } => error.is_limit(),
            EngineError::Lexer(error) => error.is_limit(),
            EngineError::Told(error) => error.is_limit(),
            EngineError::NoText => false,
            EngineError::Signal(signal) => matches!(signal, Signal::OutOfWork),
        }
    }

    /// Whether a limit was reached that more work in one call does not lift.
    pub(crate) fn is_final_limit(&self) -> bool {
        self.is_limit() && !self.is_out_of_work()
    }

    /// Whether the caller cancelled the work.
    pub(crate) fn is_cancelled(&self) -> bool {
        match self {
            EngineError::Grammar(error) => error.is_cancelled(),
            EngineError::Automaton { error, .. } => error.is_cancelled(),
            EngineError::Lexer(error) => error.is_cancelled(),
            _ => false,
        }
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EngineError::Grammar(error) => error.fmt(f),
            EngineError::Automaton { terminal, error } => write!(f, "{error}, in the terminal `{terminal}`"),
            EngineError::Lexer(error) => error.fmt(f),
            EngineError::NoText => f.write_str(
                "the grammar matches no text: the lexer splits none into tokens that are a sentence of it",
            ),
            EngineError::Told(error) => error.fmt(f),
            EngineError::Signal(Signal::OutOfWork) => OutOfWork.fmt(f),
            EngineError::Signal(Signal::Search(_)) => f.write_str("a search for a word is still to be made"),
            EngineError::Signal(Signal::Unknown) => f.write_str("the answer is not known yet"),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        match error {
            EngineError::Told(error) => error,
            error => {
                let limit = match &error {
                    EngineError::Automaton { error, .. } => error.named_limit(),
                    _ => None,
                };
                let kind = ErrorKind::of(error.is_cancelled(), error.is_limit(), ErrorKind::Grammar);
                let error = Error::new(kind, error);
                let Some((name, value)) = limit else { return error };
                error.at_limit(name, value)
            }
        }
    }
}

impl From<GrammarError> for EngineError {
    fn from(error: GrammarError) -> EngineError {
        EngineError::Grammar(error)
    }
}

impl From<LexError> for EngineError {
    fn from(error: LexError) -> EngineError {
        ScanError::from(error).into()
    }
}

impl From<ScanError> for EngineError {
    fn from(error: ScanError) -> EngineError {
        EngineError::Lexer(error)
    }
}

impl From<FuelError> for EngineError {
    fn from(error: FuelError) -> EngineError {
        EngineError::Grammar(error.into())
    }
}

impl From<OutOfWork> for EngineError {
    fn from(_: OutOfWork) -> EngineError {
        EngineError::Signal(Signal::OutOfWork)
    }
}
