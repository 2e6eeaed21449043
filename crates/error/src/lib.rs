//! The error that every public call of the library returns.
//!
//! The crates below the facade have errors of their own for their own use; at their public boundary each
//! becomes an [`Error`]: a message, an [`ErrorKind`] to branch on, and a [`Place`] that programs can read.

mod names;
mod shown;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use names::nearest_name;
pub use shown::{beginning, counted, shown};

/// Why a call failed. The message says where (line and column with a source frame, or a JSON pointer), what,
/// and what to do about it; programs get the same from the accessors.
///
/// Cheap to clone.
#[derive(Clone)]
pub struct Error(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    source: Arc<dyn std::error::Error + Send + Sync>,
    place: Place,
}

/// Where something is wrong, as far as that is known, and what to do about it.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// See [`Error::pointer`].
    pub pointer: Option<String>,
    /// See [`Error::keyword`].
    pub keyword: Option<&'static str>,
    /// See [`Error::line`].
    pub line: Option<usize>,
    /// See [`Error::column`].
    pub column: Option<usize>,
    /// See [`Error::path`].
    pub path: Option<PathBuf>,
    /// See [`Error::hint`].
    pub hint: Option<String>,
    /// See [`Error::limit`].
    pub limit: Option<(&'static str, u64)>,
    /// How the limit is raised, and the hint with that.
    pub raised_by: Option<(String, String)>,
    /// See [`Error::needed`].
    pub needed: Option<usize>,
}

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The grammar (regular expression, GBNF, Lark, choice) is wrong or matches no text, or the call is not
    /// supported for grammars of its kind.
    Grammar,
    /// The JSON Schema is wrong, unsatisfiable, or has a keyword that cannot be enforced.
    Schema,
    /// The tokenizer or vocabulary is wrong.
    Tokenizer,
    /// A limit on work or size was reached.
    Limit,
    /// The caller cancelled the work.
    Cancelled,
    /// The limit on tokens is too small; [`Error::needed`] says which is not.
    MaxTokensTooSmall,
    /// No text of the grammar can be written: not with this vocabulary, these stop tokens, scores or known
    /// positions.
    NoText,
    /// What the call was given is wrong: a buffer is too short, a token, position or hole does not exist.
    Argument,
    /// The call does not fit what was done before: a rollback beyond the beginning, a hole that is filled
    /// already.
    State,
    /// An earlier call of the session panicked: a bug in this library.
    Internal,
}

impl ErrorKind {
    /// For the crates of this library: `Cancelled` or `Limit` where one of the two is the cause, else
    /// `otherwise`.
    #[doc(hidden)]
    pub fn of(is_cancelled: bool, is_limit: bool, otherwise: ErrorKind) -> ErrorKind {
        match (is_cancelled, is_limit) {
            (true, _) => ErrorKind::Cancelled,
            (_, true) => ErrorKind::Limit,
            _ => otherwise,
        }
    }
}

impl Error {
    /// An error whose message, and [`source`](std::error::Error::source), are those of `source`.
    #[doc(hidden)]
    pub fn new(kind: ErrorKind, source: impl std::error::Error + Send + Sync + 'static) -> Error {
        Error(Arc::new(Inner { kind, source: Arc::new(source), place: Place::default() }))
    }

    /// An error with this message.
    #[doc(hidden)]
    pub fn message(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error::new(kind, Message(message.into()))
    }

    /// The same error, at `place`.
    ///
    /// ```
    /// use maskwright_error::{Error, ErrorKind, Place};
    /// let error = Error::message(ErrorKind::Grammar, "rule `item` is not defined")
    ///     .at(Place { line: Some(1), column: Some(10), ..Place::default() });
    /// assert_eq!((error.line(), error.column(), error.pointer()), (Some(1), Some(10), None));
    /// assert!(!error.is_limit() && error.to_string().contains("item"));
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn at(mut self, place: Place) -> Error {
        Arc::make_mut(&mut self.0).place = place;
        self
    }

    /// The same error, where the limit of this name and value was reached and can be raised.
    #[must_use]
    #[doc(hidden)]
    pub fn at_limit(mut self, name: &'static str, value: u64) -> Error {
        Arc::make_mut(&mut self.0).place.limit = Some((name, value));
        self.raised_by(&format!("raise `Limits::{name}`"))
    }

    /// The same error at a limit, which is raised by doing `how`, in the words of the caller's users.
    ///
    /// ```
    /// use maskwright_error::{Error, ErrorKind};
    /// let error = Error::message(ErrorKind::Limit, "it takes too much work").at_limit("infill_work", 10);
    /// assert_eq!(error.to_string(), "it takes too much work: raise `Limits::infill_work`");
    /// assert_eq!(error.raised_by("give --work 100").to_string(), "it takes too much work: give --work 100");
    /// ```
    #[must_use]
    #[doc(hidden)]
    pub fn raised_by(mut self, how: &str) -> Error {
        let place = &mut Arc::make_mut(&mut self.0).place;
        let hint = place.hint.as_ref().map_or(how.to_owned(), |own| format!("{own}, or {how}"));
        place.raised_by = Some((how.to_owned(), hint));
        self
    }

    /// The same error, about what was read from `file`.
    #[must_use]
    #[doc(hidden)]
    pub fn in_file(mut self, file: Option<&Path>) -> Error {
        Arc::make_mut(&mut self.0).place.path = file.map(Path::to_path_buf);
        self
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Whether a limit on work or size was reached; raising it may help.
    pub fn is_limit(&self) -> bool {
        self.kind() == ErrorKind::Limit
    }

    /// Whether the caller cancelled the work.
    pub fn is_cancelled(&self) -> bool {
        self.kind() == ErrorKind::Cancelled
    }

    /// The JSON pointer (RFC 6901) of the schema at fault; empty for the whole document. In another document
    /// than the schema's own, that document's URI, `#` and the pointer.
    pub fn pointer(&self) -> Option<&str> {
        self.0.place.pointer.as_deref()
    }

    /// The JSON Schema keyword at fault, in the schema at [`pointer`](Self::pointer).
    pub fn keyword(&self) -> Option<&'static str> {
        self.0.place.keyword
    }

    /// The line, from 1, in the text at fault: a grammar, a pattern (in a schema too), or JSON.
    pub fn line(&self) -> Option<usize> {
        self.0.place.line
    }

    /// The column in characters, from 1, in the same text as [`line`](Self::line).
    pub fn column(&self) -> Option<usize> {
        self.0.place.column
    }

    /// The file at fault, if the text is from one. For a JSON Schema this is the file that was compiled; the
    /// place may be in another document, which [`pointer`](Self::pointer) then names.
    pub fn path(&self) -> Option<&Path> {
        self.0.place.path.as_deref()
    }

    /// The limit that was reached, if raising it may help: the name of a field of `Limits`, and its value.
    pub fn limit(&self) -> Option<(&'static str, u64)> {
        self.0.place.limit
    }

    /// How many tokens are enough, where a limit on tokens was too small: within that many, and within any
    /// more, a text begins and is complete.
    pub fn needed(&self) -> Option<usize> {
        self.0.place.needed
    }

    /// What to do about it, where that is known. The message has it too.
    pub fn hint(&self) -> Option<&str> {
        let Place { hint, raised_by, .. } = &self.0.place;
        raised_by.as_ref().map(|(_, hint)| hint).or(hint.as_ref()).map(String::as_str)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let message = self.0.source.to_string();
        f.write_str(&message)?;
        let Place { hint: own_hint, raised_by: Some((how, _)), .. } = &self.0.place else { return Ok(()) };
        let before = match own_hint {
            Some(_) => ", or ",
            None if message.contains('\n') => "\nHelp: ",
            None => ": ",
        };
        write!(f, "{before}{how}")
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { kind, source, place } = &*self.0;
        f.debug_struct("Error").field("kind", kind).field("source", source).field("place", place).finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.source()
    }
}

/// An error that is only a message.
struct Message(String);

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Message {}
