//! What can be wrong with a tokenizer file, or with a text to encode.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::VocabularyError;

/// Why a tokenizer could not be loaded, or a text not encoded.
///
/// The message names the file where there is one, what was found, and what would have been right.
#[derive(Debug)]
pub struct TokenizerError {
    path: Option<PathBuf>,
    kind: Kind,
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
    pub(crate) fn io(error: std::io::Error) -> TokenizerError {
        TokenizerError { path: None, kind: Kind::Io(error) }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> TokenizerError {
        TokenizerError { path: None, kind: Kind::Invalid(message.into()) }
    }

    pub(crate) fn limit(what: impl Into<String>, limit: usize) -> TokenizerError {
        TokenizerError { path: None, kind: Kind::Limit { what: what.into(), limit } }
    }

    pub(crate) fn no_eos() -> TokenizerError {
        TokenizerError { path: None, kind: Kind::NoEos }
    }

    pub(crate) fn not_encodable(position: usize) -> TokenizerError {
        TokenizerError { path: None, kind: Kind::NotEncodable { position } }
    }

    /// The same error, in the file at `path` unless it already names one.
    pub(crate) fn at(mut self, path: &Path) -> TokenizerError {
        self.path.get_or_insert_with(|| path.to_path_buf());
        self
    }

    /// Whether a limit on size was reached, rather than something being wrong.
    pub fn is_limit(&self) -> bool {
        match &self.kind {
            Kind::Limit { .. } => true,
            Kind::Vocabulary(error) => error.is_limit(),
            _ => false,
        }
    }
}

impl From<serde_json::Error> for TokenizerError {
    fn from(error: serde_json::Error) -> TokenizerError {
        TokenizerError { path: None, kind: Kind::Json(error) }
    }
}

impl From<VocabularyError> for TokenizerError {
    fn from(error: VocabularyError) -> TokenizerError {
        TokenizerError { path: None, kind: Kind::Vocabulary(error) }
    }
}

impl fmt::Display for TokenizerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        match &self.kind {
            Kind::Io(error) => write!(f, "cannot read the file: {error}"),
            Kind::Json(error) => write!(f, "not a tokenizer file in JSON: {error}"),
            Kind::Vocabulary(error) => error.fmt(f),
            Kind::Invalid(message) => f.write_str(message),
            Kind::Limit { what, limit } => write!(f, "{what}, more than the limit of {limit}"),
            Kind::NoEos => f.write_str(
                "no end-of-sequence token: no configuration file beside the tokenizer names one and no \
                 well-known name is among the special tokens; give its ids as eos_token_ids",
            ),
            Kind::NotEncodable { position } => {
                write!(
                    f,
                    "the text cannot be written with the tokens of this vocabulary from byte {position} on"
                )
            }
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
