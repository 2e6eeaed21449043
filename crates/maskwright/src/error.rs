//! One error for everything that a user of the library meets.

use std::fmt;
use std::path::{Path, PathBuf};

use maskwright_engine::EngineError;
use maskwright_grammar::GrammarError;
use maskwright_infill::InfillError;
use maskwright_json_schema::SchemaError;
use maskwright_lark::LarkError;
use maskwright_syntax::{SyntaxError, nearest_name};
use maskwright_vocabulary::{TokenizerError, VocabularyError};

use crate::lark;

/// Why a call failed. The message has the place (line and column with a source frame, or a JSON pointer) and what to do
/// about it; programs get both from the accessors.
///
/// ```
/// use maskwright::{CompileOptions, parse};
/// let options = CompileOptions { file: Some("list.gbnf".into()), ..Default::default() };
/// let error = parse::gbnf("root ::= item\n", &options).unwrap_err();
/// assert_eq!((error.line(), error.column()), (Some(1), Some(10)));
/// assert_eq!(error.path(), Some("list.gbnf".as_ref()));
/// ```
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    source: Box<dyn std::error::Error + Send + Sync>,
    place: Box<Place>,
}

/// Where something is wrong, as far as that is known, and what to do about it.
#[derive(Debug, Default)]
struct Place {
    pointer: Option<String>,
    keyword: Option<&'static str>,
    line: Option<usize>,
    column: Option<usize>,
    path: Option<PathBuf>,
    hint: Option<String>,
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

    /// The JSON pointer (RFC 6901) of the schema at fault; empty for the whole document. In another document than the
    /// schema's own, that document's URI, `#` and the pointer.
    pub fn pointer(&self) -> Option<&str> {
        self.place.pointer.as_deref()
    }

    /// The JSON Schema keyword at fault, in the schema at [`pointer`](Self::pointer).
    pub fn keyword(&self) -> Option<&'static str> {
        self.place.keyword
    }

    /// The line, from 1, in the text at fault: a grammar, a pattern (in a schema too), or JSON.
    pub fn line(&self) -> Option<usize> {
        self.place.line
    }

    /// The column in characters, from 1, in the same text as [`line`](Self::line).
    pub fn column(&self) -> Option<usize> {
        self.place.column
    }

    /// The file at fault, if the text is from one. For a JSON Schema this is the file that was compiled; the place may be
    /// in another document, which [`pointer`](Self::pointer) then names.
    pub fn path(&self) -> Option<&Path> {
        self.place.path.as_deref()
    }

    /// What to do about it, where that is known. The message has it too.
    pub fn hint(&self) -> Option<&str> {
        self.place.hint.as_deref()
    }

    /// No built-in grammar is called `name`.
    pub(crate) fn no_builtin(name: &str, known: &[&str]) -> Error {
        let message = format!("no built-in grammar is called {name:?}, expected one of {}", known.join(", "));
        let Some((_, meant)) = nearest_name(name, known.iter().copied()) else {
            return Error::grammar(message);
        };
        Error::grammar_with_hint(&message, format!("did you mean `{meant}`?"))
    }

    /// Infilling is asked for of a grammar with the contextual lexer.
    pub(crate) fn no_contextual_infilling() -> Error {
        let message = "infilling is not known for the contextual lexer of a Lark grammar";
        let hint = "compile it with the basic lexer (lexer=\"basic\", --lexer basic), which lets all terminals compete everywhere";
        Error::grammar_with_hint(message, hint.to_owned())
    }

    /// No infiller could be made of a grammar.
    pub(crate) fn infiller(error: InfillError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error)
    }

    /// There is nothing to choose from. There is no text with a place either.
    pub(crate) fn choices(error: &SyntaxError) -> Error {
        Error::grammar(error.message().to_owned())
    }

    /// A folder of schema documents cannot be read.
    pub(crate) fn unreadable_folder(folder: &Path, error: &std::io::Error) -> Error {
        let message = format!("{}: cannot read the folder: {error}", folder.display());
        Error::new(ErrorKind::Schema, Message(message)).in_file(Some(folder))
    }

    /// A folder has more schema documents than are read.
    pub(crate) fn too_many_documents(folder: &Path, max_files: usize, max_bytes: u64) -> Error {
        let message = format!(
            "{}: more than {max_files} schemas, or more than {max_bytes} bytes of them",
            folder.display()
        );
        Error::new(ErrorKind::Limit, Message(message)).in_file(Some(folder))
    }

    /// The same error about what was read from `file`.
    pub(crate) fn in_file(mut self, file: Option<&Path>) -> Error {
        self.place.path = file.map(Path::to_path_buf);
        self
    }

    fn grammar_with_hint(message: &str, hint: String) -> Error {
        let message = format!("{message}\nHelp: {hint}");
        Error::grammar(message).at(Place { hint: Some(hint), ..Place::default() })
    }

    fn grammar(message: String) -> Error {
        Error::new(ErrorKind::Grammar, Message(message))
    }

    fn new(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error { kind, source: Box::new(source), place: Box::default() }
    }

    fn at(self, place: Place) -> Error {
        Error { place: Box::new(place), ..self }
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
        let place = Place {
            line: Some(error.line()),
            column: Some(error.column()),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error).at(place)
    }
}

impl From<SchemaError> for Error {
    fn from(error: SchemaError) -> Error {
        let has_pointer = !error.is_syntax() && !error.is_cancelled();
        let place = Place {
            pointer: has_pointer.then(|| error.pointer().to_owned()),
            keyword: error.keyword(),
            line: error.line(),
            column: error.column(),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Schema), error).at(place)
    }
}

impl From<GrammarError> for Error {
    fn from(error: GrammarError) -> Error {
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error)
    }
}

impl From<LarkError> for Error {
    fn from(error: LarkError) -> Error {
        let name = error.source_name();
        let place = Place {
            line: Some(error.line()),
            column: Some(error.column()),
            path: lark::is_file(name).then(|| name.into()),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        Error::new(compile_kind(error.is_limit(), error.is_cancelled(), ErrorKind::Grammar), error).at(place)
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
        let (line, column) = error.line_and_column().unzip();
        let place = Place {
            line,
            column,
            path: error.path().map(Path::to_path_buf),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        Error::new(kind, error).at(place)
    }
}

impl From<VocabularyError> for Error {
    fn from(error: VocabularyError) -> Error {
        let kind = if error.is_limit() { ErrorKind::Limit } else { ErrorKind::Tokenizer };
        Error::new(kind, error)
    }
}
