//! One error for everything that a user of the library meets.

use std::fmt;

use maskwright_engine::EngineError;
use maskwright_grammar::GrammarError;
use maskwright_infill::InfillError;
use maskwright_json_schema::SchemaError;
use maskwright_lark::LarkError;
use maskwright_syntax::SyntaxError;
use maskwright_vocabulary::{TokenizerError, VocabularyError};

/// Why a call failed. The message has the place (line and column with a source frame, or a JSON pointer).
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    source: Box<dyn std::error::Error + Send + Sync>,
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The grammar (regular expression, GBNF, Lark, choice) is wrong, its language is empty, or what was asked is not
    /// known for grammars of its kind.
    Grammar,
    /// The JSON Schema is wrong, unsatisfiable, or has a keyword that cannot be enforced.
    Schema,
    /// The tokenizer or vocabulary is wrong.
    Tokenizer,
    /// A limit on work or size was reached.
    Limit,
    /// The caller cancelled the work.
    Cancelled,
    /// The call does not fit the state of the session: a rollback beyond
    /// its beginning, a buffer that is too short, a limit on tokens that no text keeps, a position or hole that is not
    /// there.
    State,
    /// An earlier call of the session panicked: a bug in this library.
    Internal,
}

impl Error {
    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// No built-in grammar is called `name`.
    pub(crate) fn no_builtin(name: &str, known: &[&str]) -> Error {
        Error::grammar(format!(
            "no built-in grammar is called {name:?}, expected one of {}",
            known.join(", ")
        ))
    }

    /// Infilling is asked for of a grammar with the contextual lexer.
    pub(crate) fn no_contextual_infilling() -> Error {
        Error::grammar(
            "infilling is not known for the contextual lexer of a Lark grammar: compile it with lexer=\"basic\", which lets \
             all terminals compete everywhere"
                .to_owned(),
        )
    }

    /// No infiller could be made of a grammar.
    pub(crate) fn infiller(error: InfillError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error)
    }

    fn grammar(message: String) -> Error {
        Error::new(ErrorKind::Grammar, Message(message))
    }

    fn new(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { kind, source: Box::new(source) }
    }
}

/// An error of this crate's own.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Message(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.source()
    }
}

/// The kind of a failed compilation.
fn compile_kind(is_limit: bool, is_cancelled: bool, otherwise: ErrorKind) -> ErrorKind {
    match (is_cancelled, is_limit) {
        (true, _) => ErrorKind::Cancelled,
        (_, true) => ErrorKind::Limit,
        _ => otherwise,
    }
}

impl From<SyntaxError> for Error {
    fn from(error: SyntaxError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error)
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Schema), error)
    }
}

impl From<GrammarError> for Error {
    fn from(error: GrammarError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error)
    }
}

impl From<LarkError> for Error {
    fn from(error: LarkError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error)
    }
}

impl From<InfillError> for Error {
    fn from(error: InfillError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::State), error)
    }
}

impl From<EngineError> for Error {
    fn from(error: EngineError) -> Error {
        let otherwise = match &error {
            error if error.is_unproductive() => ErrorKind::Grammar,
            error if error.is_broken() => ErrorKind::Internal,
            _ => ErrorKind::State,
        };
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), otherwise), error)
    }
}

impl From<TokenizerError> for Error {
    fn from(error: TokenizerError) -> Error {
        let kind = if error.is_limit() { ErrorKind::Limit } else { ErrorKind::Tokenizer };
        Error::new(kind, error)
    }
}

impl From<VocabularyError> for Error {
    fn from(error: VocabularyError) -> Error {
        let kind = if error.is_limit() { ErrorKind::Limit } else { ErrorKind::Tokenizer };
        Error::new(kind, error)
    }
}
