//! What can go wrong while compiling or while serving masks.

use std::fmt;
use std::sync::Arc;

use maskwright_automata::meter::OutOfWork;
use maskwright_automata::{Automaton, AutomatonError, FuelError, StateId};
use maskwright_error::{Error, ErrorKind, Place, counted};
use maskwright_grammar::GrammarError;
use maskwright_lexing::LexError;
use maskwright_scan::ScanError;
use maskwright_vocabulary::{TokenId, Vocabulary};

use super::status::{MANY, NEVER, TokenCountStatus};

/// Why a grammar is refused, or a mask cannot be given.
#[derive(Clone, Debug)]
pub(crate) struct EngineError(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Grammar(GrammarError),
    Automaton {
        terminal: String,
        error: AutomatonError,
    },
    Lexer(ScanError),
    LexedLimit {
        what: &'static str,
        limit: usize,
    },
    NoText,
    WatchSearch {
        limit: usize,
    },
    TooManyThreads {
        n_threads: usize,
        limit: usize,
    },
    TooManyCalls {
        limit: usize,
    },
    MaskTooShort {
        given: usize,
        needed: usize,
    },
    MaxTokensTooSmall {
        limit: usize,
        needed: usize,
    },
    TooManyTokens,
    NoCompletionKnown,
    CannotBeSpelled,
    Undecided,
    StopsLeaveNoText {
        stops: String,
    },
    UnknownToken {
        name: String,
        meant: Option<String>,
    },
    NoSuchIds {
        first: u32,
        last: u32,
        n_vocab: usize,
    },
    TooManyNamedTokens {
        limit: usize,
    },
    NoSuchStop {
        id: TokenId,
        n_vocab: usize,
    },
    NoPositions,
    NoLikeliest,
    TooManyPositions {
        given: usize,
        limit: usize,
    },
    ScoresDiffer {
        position: usize,
        id: TokenId,
    },
    UndecidedPositions,
    BadScore {
        position: usize,
        id: u32,
    },
    CandidatesDiffer {
        position: usize,
        n_ids: usize,
        n_log_probabilities: usize,
    },
    NotThatLong {
        asked: usize,
        accepted: usize,
    },
    SavedRows {
        reason: String,
    },
    Broken,
    /// The call has done as much work as it may.
    OutOfWork,
    /// Never leaves the engine.
    Search(Box<Search>),
    /// Never leaves the engine.
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

/// How many characters of a terminal's expression are shown.
const MAX_SHOWN: usize = 60;

/// How many stop tokens are shown.
const MAX_STOPS_SHOWN: usize = 8;

impl EngineError {
    /// `terminal` is its expression, of which the beginning is shown.
    pub(crate) fn automaton(mut terminal: String, error: AutomatonError) -> EngineError {
        if error.is_out_of_work() {
            return EngineError(Kind::OutOfWork);
        }
        if let Some((end, _)) = terminal.char_indices().nth(MAX_SHOWN) {
            terminal.truncate(end);
            terminal.push('…');
        }
        EngineError(Kind::Automaton { terminal, error })
    }

    /// Places the errors of a terminal's automaton:
    /// `automaton.step(..).map_err(EngineError::in_terminal(automaton))`.
    pub(crate) fn in_terminal(automaton: &Automaton) -> impl Fn(AutomatonError) -> EngineError + Copy + '_ {
        |error| match error.is_out_of_work() {
            true => EngineError(Kind::OutOfWork),
            false => EngineError::automaton(format!("{:?}", automaton.regex()), error),
        }
    }

    /// The grammar names a token that the vocabulary lacks; `meant` is a similar name.
    pub(crate) fn unknown_token(name: &str, meant: Option<&str>) -> EngineError {
        EngineError(Kind::UnknownToken { name: name.to_owned(), meant: meant.map(str::to_owned) })
    }

    /// The grammar names tokens by ids that are out of range, or that come in the wrong order.
    pub(crate) fn no_such_ids(first: u32, last: u32, n_vocab: usize) -> EngineError {
        EngineError(Kind::NoSuchIds { first, last, n_vocab })
    }

    /// The grammar tells more than `limit` kinds of tokens apart by their ids.
    pub(crate) fn too_many_named_tokens(limit: usize) -> EngineError {
        EngineError(Kind::TooManyNamedTokens { limit })
    }

    /// A stop token's id is out of range.
    pub(crate) fn no_such_stop(id: TokenId, n_vocab: usize) -> EngineError {
        EngineError(Kind::NoSuchStop { id, n_vocab })
    }

    /// The likeliest text of no positions is asked for.
    pub(crate) fn no_positions() -> EngineError {
        EngineError(Kind::NoPositions)
    }

    /// More positions than a search takes.
    pub(crate) fn too_many_positions(given: usize, limit: usize) -> EngineError {
        EngineError(Kind::TooManyPositions { given, limit })
    }

    /// A candidate's probability and its logit contradict each other.
    pub(crate) fn scores_differ(position: usize, id: TokenId) -> EngineError {
        EngineError(Kind::ScoresDiffer { position, id })
    }

    /// No text fits the positions.
    pub(crate) fn no_likeliest() -> EngineError {
        EngineError(Kind::NoLikeliest)
    }

    /// No text was found that fits the positions, and there may be one.
    pub(crate) fn undecided_positions() -> EngineError {
        EngineError(Kind::UndecidedPositions)
    }

    /// A score that cannot be added up.
    pub(crate) fn bad_score(position: usize, id: u32) -> EngineError {
        EngineError(Kind::BadScore { position, id })
    }

    /// Candidates need as many probabilities as ids.
    pub(crate) fn candidates_differ(
        position: usize,
        n_ids: usize,
        n_log_probabilities: usize,
    ) -> EngineError {
        EngineError(Kind::CandidatesDiffer { position, n_ids, n_log_probabilities })
    }

    /// What to do about it, if that is known.
    fn hint(&self) -> Option<String> {
        match &self.0 {
            Kind::UnknownToken { meant: Some(meant), .. } => Some(format!("did you mean `{meant}`?")),
            _ => None,
        }
    }

    /// Saved rows were refused.
    pub(crate) fn saved_rows(reason: String) -> EngineError {
        EngineError(Kind::SavedRows { reason })
    }

    /// The limit of `limit` of `what` was reached.
    pub(crate) fn lexed_limit(what: &'static str, limit: usize) -> EngineError {
        EngineError(Kind::LexedLimit { what, limit })
    }

    /// No text is split by the lexer into a sentence of the grammar.
    pub(crate) fn no_text() -> EngineError {
        EngineError(Kind::NoText)
    }

    /// The search for a completion that the watch lets pass was given up.
    pub(crate) fn watch_search(limit: usize) -> EngineError {
        EngineError(Kind::WatchSearch { limit })
    }

    pub(crate) fn too_many_threads(n_threads: usize, limit: usize) -> EngineError {
        EngineError(Kind::TooManyThreads { n_threads, limit })
    }

    pub(crate) fn too_many_calls(limit: usize) -> EngineError {
        EngineError(Kind::TooManyCalls { limit })
    }

    /// No completion of at most `limit` tokens is known, but one of so many. `needed` is `u32::MAX` if none
    /// is.
    pub(crate) fn max_tokens_too_small(limit: usize, needed: u32, status: TokenCountStatus) -> EngineError {
        match needed {
            MANY.. => EngineError::no_tokens(needed, status),
            _ => EngineError(Kind::MaxTokensTooSmall { limit, needed: needed as usize }),
        }
    }

    /// How many tokens are enough, if that is the error.
    fn needed(&self) -> Option<usize> {
        match self.0 {
            Kind::MaxTokensTooSmall { needed, .. } => Some(needed),
            _ => None,
        }
    }

    /// No tokens spell the rest of any text, if `least` is `u32::MAX` and exact; else every text that was
    /// found takes too many to be counted, or none was found.
    pub(crate) fn no_tokens(least: u32, status: TokenCountStatus) -> EngineError {
        match (least, status) {
            (NEVER, TokenCountStatus::Exact) => EngineError::cannot_be_spelled(),
            (NEVER, TokenCountStatus::Upper) => EngineError::no_completion_known(),
            _ => EngineError(Kind::TooManyTokens),
        }
    }

    /// No completion of the text was found within the limits on work.
    pub(crate) fn no_completion_known() -> EngineError {
        EngineError(Kind::NoCompletionKnown)
    }

    pub(crate) fn cannot_be_spelled() -> EngineError {
        EngineError(Kind::CannotBeSpelled)
    }

    /// A limit was reached before it was decided whether a text can be completed.
    pub(crate) fn undecided() -> EngineError {
        EngineError(Kind::Undecided)
    }

    /// Whether the error is that something could not be decided within the limits on work.
    pub(crate) fn is_undecided(&self) -> bool {
        self.is_limit() && !matches!(self.0, Kind::TooManyTokens)
    }

    /// Whether the error is that there is no text at all.
    pub(crate) fn is_without_text(&self) -> bool {
        match &self.0 {
            Kind::Grammar(error) => error.is_unproductive(),
            kind => matches!(kind, Kind::NoText | Kind::CannotBeSpelled),
        }
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
        EngineError(Kind::StopsLeaveNoText { stops: stops.join(", ") })
    }

    pub(crate) fn mask_too_short(given: usize, needed: usize) -> EngineError {
        EngineError(Kind::MaskTooShort { given, needed })
    }

    pub(crate) fn not_that_long(asked: usize, accepted: usize) -> EngineError {
        EngineError(Kind::NotThatLong { asked, accepted })
    }

    /// A call of the session panicked.
    pub(crate) fn broken() -> EngineError {
        EngineError(Kind::Broken)
    }

    /// The call needs a search for a word.
    pub(crate) fn search(search: Search) -> EngineError {
        EngineError(Kind::Search(Box::new(search)))
    }

    /// The search that the call needs before it is made again, or the error itself.
    pub(crate) fn into_search(self) -> Result<Search, EngineError> {
        match self.0 {
            Kind::Search(search) => Ok(*search),
            kind => Err(EngineError(kind)),
        }
    }

    /// The answer is not known, and the call may not work it out.
    pub(crate) fn unknown() -> EngineError {
        EngineError(Kind::Unknown)
    }

    /// Whether the call could not be made as it was, and says nothing of its answer.
    pub(crate) fn is_postponed(&self) -> bool {
        matches!(self.0, Kind::Unknown | Kind::Search(_))
    }

    /// Whether the call has done as much work as it may. Nothing follows for other calls, so no answer is to
    /// be kept.
    pub(crate) fn is_out_of_work(&self) -> bool {
        match &self.0 {
            Kind::OutOfWork => true,
            Kind::Lexer(error) => error.is_out_of_work(),
            Kind::Automaton { error, .. } => error.is_out_of_work(),
            _ => false,
        }
    }

    /// Whether an earlier call of the session panicked, so that nothing can be said of its state.
    fn is_broken(&self) -> bool {
        matches!(self.0, Kind::Broken)
    }

    /// Whether a limit on work or size was reached; raising [`Limits`](crate::Limits) may help.
    pub(crate) fn is_limit(&self) -> bool {
        match &self.0 {
            Kind::Grammar(error) => error.is_limit(),
            Kind::Automaton { error, .. } => error.is_limit(),
            Kind::Lexer(error) => error.is_limit(),
            Kind::TooManyThreads { .. }
            | Kind::TooManyCalls { .. }
            | Kind::TooManyTokens
            | Kind::NoCompletionKnown
            | Kind::Undecided
            | Kind::UndecidedPositions
            | Kind::TooManyPositions { .. }
            | Kind::LexedLimit { .. }
            | Kind::TooManyNamedTokens { .. }
            | Kind::OutOfWork
            | Kind::WatchSearch { .. } => true,
            Kind::NoText
            | Kind::MaskTooShort { .. }
            | Kind::NotThatLong { .. }
            | Kind::NoPositions
            | Kind::NoLikeliest
            | Kind::ScoresDiffer { .. }
            | Kind::BadScore { .. }
            | Kind::CandidatesDiffer { .. }
            | Kind::MaxTokensTooSmall { .. }
            | Kind::SavedRows { .. }
            | Kind::Broken
            | Kind::Search(_)
            | Kind::Unknown
            | Kind::UnknownToken { .. }
            | Kind::NoSuchIds { .. }
            | Kind::NoSuchStop { .. }
            | Kind::StopsLeaveNoText { .. }
            | Kind::CannotBeSpelled => false,
        }
    }

    /// Whether the caller cancelled the work.
    pub(crate) fn is_cancelled(&self) -> bool {
        match &self.0 {
            Kind::Grammar(error) => error.is_cancelled(),
            Kind::Automaton { error, .. } => error.is_cancelled(),
            Kind::Lexer(error) => error.is_cancelled(),
            _ => false,
        }
    }

    /// Whether the grammar is at fault, rather than the call.
    fn is_of_grammar(&self) -> bool {
        matches!(
            self.0,
            Kind::Grammar(_)
                | Kind::Automaton { .. }
                | Kind::Lexer(_)
                | Kind::NoText
                | Kind::UnknownToken { .. }
                | Kind::NoSuchIds { .. }
        )
    }
}

impl fmt::Display for EngineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Grammar(error) => error.fmt(f),
            Kind::Automaton { terminal, error } => write!(f, "{error}, in the terminal `{terminal}`"),
            Kind::Lexer(error) => error.fmt(f),
            Kind::LexedLimit { what, limit } => {
                write!(f, "the grammar needs more than {limit} {what}")
            }
            Kind::NoText => write!(
                f,
                "the grammar matches no text: the lexer splits none into tokens that are a sentence of it"
            ),
            Kind::WatchSearch { limit } => {
                write!(
                    f,
                    "gave up after {limit} steps: no completion with distinct items and keys was found"
                )
            }
            Kind::TooManyThreads { n_threads, limit } => write!(
                f,
                "the grammar is so ambiguous here that {n_threads} readings would have to be followed, more than the limit of {limit}"
            ),
            Kind::TooManyCalls { limit } => write!(
                f,
                "the grammar is so ambiguous here that one byte leads to more calls of rules than the limit of {limit}"
            ),
            Kind::MaxTokensTooSmall { limit, needed } => write!(
                f,
                "{} {} too few for the grammar: a text needs at most {needed}, the end-of-sequence token included",
                counted(*limit, "token"),
                if *limit == 1 { "is" } else { "are" },
            ),
            Kind::NoCompletionKnown => write!(
                f,
                "no completion of the text was found: the shortest may have more than 262,144 bytes, or is hard to spell in tokens"
            ),
            Kind::TooManyTokens => {
                write!(f, "every completion of the text takes {MANY} tokens or more")
            }
            Kind::CannotBeSpelled => {
                write!(f, "the vocabulary's tokens spell no completion of the text")
            }
            Kind::Undecided => {
                write!(f, "could not decide within the limits on work whether any text of the grammar avoids the stop tokens")
            }
            Kind::StopsLeaveNoText { stops } => write!(
                f,
                "the stop tokens leave no text of the grammar: stop tokens cannot be used within the text, and every text \
                 needs bytes that no other tokens spell; the stop tokens are {stops}"
            ),
            Kind::MaskTooShort { given, needed } => {
                write!(f, "the mask has {given} words of 32 bits, the vocabulary needs {needed}")
            }
            Kind::NoPositions => f.write_str("there are no positions to fill"),
            Kind::NoLikeliest => f.write_str("no text of the grammar fits the positions"),
            Kind::TooManyPositions { given, limit } => {
                write!(f, "there are {given} positions, more than the limit of {limit}")
            }
            Kind::ScoresDiffer { position, id: TokenId(id) } => write!(
                f,
                "position {position}: the logit and the log-probability of token {id} contradict each other"
            ),
            Kind::UndecidedPositions => {
                f.write_str("no text of the grammar that fits the positions was found within the limits on work")
            }
            Kind::BadScore { position, id } => {
                write!(f, "position {position}: the score of token {id} is not a number or plus infinity")
            }
            Kind::CandidatesDiffer { position, n_ids, n_log_probabilities } => write!(
                f,
                "position {position}: there are {n_ids} ids of candidates and {n_log_probabilities} log-probabilities"
            ),
            Kind::NotThatLong { asked, accepted } => {
                write!(f, "cannot roll back {}: only {accepted} were accepted", counted(*asked, "token"))
            }
            Kind::UnknownToken { name, meant } => {
                write!(f, "the tokenizer has no token named `{name}`")?;
                match meant {
                    Some(meant) => write!(f, "; did you mean `{meant}`?"),
                    None => Ok(()),
                }
            }
            Kind::NoSuchIds { first, last, n_vocab } if first > last => {
                write!(f, "the range {first}-{last} of token ids is backwards; the vocabulary has {n_vocab} ids")
            }
            Kind::NoSuchIds { first, last, n_vocab } => {
                let id = if (*first as usize) < *n_vocab { last } else { first };
                write!(f, "no token has the id {id}: the vocabulary has {n_vocab} ids")
            }
            Kind::TooManyNamedTokens { limit } => write!(
                f,
                "the grammar's sets of tokens divide the vocabulary into more than {limit} groups; use fewer different sets"
            ),
            Kind::NoSuchStop { id: TokenId(id), n_vocab } => {
                write!(f, "stop token {id} does not exist: the vocabulary has {n_vocab} ids")
            }
            Kind::SavedRows { reason } => f.write_str(reason),
            Kind::Broken => f.write_str(
                "an earlier call of this session ended in an internal error, so its state is lost; start a new session",
            ),
            Kind::OutOfWork => OutOfWork.fmt(f),
            Kind::Search(_) => f.write_str("a search for a word is still to be made"),
            Kind::Unknown => f.write_str("the answer is not known yet"),
        }
    }
}

impl std::error::Error for EngineError {}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        let otherwise = match &error {
            error if error.is_of_grammar() => ErrorKind::Grammar,
            error if error.is_broken() => ErrorKind::Internal,
            error if error.needed().is_some() => ErrorKind::MaxTokensTooSmall,
            EngineError(Kind::CannotBeSpelled | Kind::StopsLeaveNoText { .. } | Kind::NoLikeliest) => {
                ErrorKind::NoText
            }
            EngineError(Kind::NotThatLong { .. }) => ErrorKind::State,
            _ => ErrorKind::Argument,
        };
        let place = Place { hint: error.hint(), needed: error.needed(), ..Place::default() };
        Error::new(ErrorKind::of(error.is_cancelled(), error.is_limit(), otherwise), error).at(place)
    }
}

impl From<GrammarError> for EngineError {
    fn from(error: GrammarError) -> EngineError {
        EngineError(Kind::Grammar(error))
    }
}

impl From<LexError> for EngineError {
    fn from(error: LexError) -> EngineError {
        ScanError::from(error).into()
    }
}

impl From<ScanError> for EngineError {
    fn from(error: ScanError) -> EngineError {
        EngineError(Kind::Lexer(error))
    }
}

impl From<FuelError> for EngineError {
    fn from(error: FuelError) -> EngineError {
        EngineError(Kind::Grammar(error.into()))
    }
}

impl From<OutOfWork> for EngineError {
    fn from(_: OutOfWork) -> EngineError {
        EngineError(Kind::OutOfWork)
    }
}
