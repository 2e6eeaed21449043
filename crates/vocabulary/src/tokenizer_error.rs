//! What can be wrong with a tokenizer file, or with a text to encode.

use std::fmt;
use std::path::{Path, PathBuf};

use maskwright_error::{Error, ErrorKind, Place};

use crate::VocabularyError;

/// Why a tokenizer could not be loaded, or a text not encoded.
///
/// The message names the file where there is one, what was found, and what would have been right.
#[derive(Debug)]
pub(crate) struct TokenizerError {
    path: Option<PathBuf>,
    kind: Kind,
    hint: Option<String>,
}

#[derive(Debug)]
enum Kind {
    Io(std::io::Error),
    Json(serde_json::Error),
    Vocabulary(VocabularyError),
    Invalid(String),
    Limit { what: String, limit: usize },
    NoEos,
    NotEncodable { position: usize },
}

impl TokenizerError {
    fn of(kind: Kind) -> TokenizerError {
        TokenizerError { path: None, kind, hint: None }
    }

    pub(crate) fn io(error: std::io::Error) -> TokenizerError {
        TokenizerError::of(Kind::Io(error))
    }

    pub(crate) fn invalid(message: impl Into<String>) -> TokenizerError {
        TokenizerError::of(Kind::Invalid(message.into()))
    }

    pub(crate) fn limit(what: impl Into<String>, limit: usize) -> TokenizerError {
        TokenizerError::of(Kind::Limit { what: what.into(), limit })
    }

    pub(crate) fn no_eos() -> TokenizerError {
        TokenizerError::of(Kind::NoEos).with_hint("give its ids as eos_token_ids")
    }

    pub(crate) fn not_encodable(position: usize) -> TokenizerError {
        TokenizerError::of(Kind::NotEncodable { position })
    }

    /// The same error, in the file at `path` unless it already names one.
    pub(crate) fn at(mut self, path: &Path) -> TokenizerError {
        self.path.get_or_insert_with(|| path.to_path_buf());
        self
    }

    /// The same error with a hint: what to do about it, in lowercase.
    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> TokenizerError {
        self.hint = Some(hint.into());
        self
    }

    /// The file that is wrong, if it is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The line and the column, from 1, where the file is not the JSON that was expected.
    pub(crate) fn line_and_column(&self) -> Option<(usize, usize)> {
        match &self.kind {
            Kind::Json(error) if error.line() > 0 => Some((error.line(), error.column().max(1))),
            _ => None,
        }
    }

    /// What to do about it, where that is known.
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Whether a limit on size was reached, rather than something being wrong.
    pub(crate) fn is_limit(&self) -> bool {
        match &self.kind {
            Kind::Limit { .. } => true,
            Kind::Vocabulary(error) => error.is_limit(),
            _ => false,
        }
    }
}

impl From<serde_json::Error> for TokenizerError {
    fn from(error: serde_json::Error) -> TokenizerError {
        TokenizerError::of(Kind::Json(error))
    }
}

impl From<VocabularyError> for TokenizerError {
    fn from(error: VocabularyError) -> TokenizerError {
        TokenizerError::of(Kind::Vocabulary(error))
    }
}

impl fmt::Display for TokenizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        match &self.kind {
            Kind::Io(error) => write!(f, "cannot read the file: {error}")?,
            Kind::Json(error) => write!(f, "not a tokenizer file in JSON: {error}")?,
            Kind::Vocabulary(error) => error.fmt(f)?,
            Kind::Invalid(message) => f.write_str(message)?,
            Kind::Limit { what, limit } => write!(f, "{what}, more than the limit of {limit}")?,
            Kind::NoEos => f.write_str(
                "no end-of-sequence token: no configuration file beside the tokenizer names one and no \
                 well-known name is among the special tokens",
            )?,
            Kind::NotEncodable { position } => {
                write!(
                    f,
                    "the text cannot be written with the tokens of this vocabulary from byte {position} on"
                )?;
            }
        }
        match &self.hint {
            Some(hint) => write!(f, "\nHelp: {hint}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for TokenizerError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Io(error) => Some(error),
            Kind::Json(error) => Some(error),
            Kind::Vocabulary(error) => Some(error),
            _ => None,
        }
    }
}

impl From<TokenizerError> for Error {
    fn from(error: TokenizerError) -> Error {
        let (line, column) = error.line_and_column().unzip();
        let place = Place {
            line,
            column,
            path: error.path().map(Path::to_path_buf),
            hint: error.hint().map(str::to_owned),
            ..Place::default()
        };
        Error::new(ErrorKind::of(false, error.is_limit(), ErrorKind::Tokenizer), error).at(place)
    }
}
