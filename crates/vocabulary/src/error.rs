//! What can be wrong with a vocabulary.

use std::fmt;

use maskwright_error::{Error, ErrorKind};

use crate::TokenId;

/// Why a vocabulary is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct VocabularyError(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    TooNarrow { width: usize, n_tokens: usize },
    TooLarge { what: &'static str, given: usize, limit: usize },
    EosOutOfRange { id: TokenId, width: usize },
}

impl VocabularyError {
    pub(crate) fn too_narrow(width: usize, n_tokens: usize) -> VocabularyError {
        VocabularyError(Kind::TooNarrow { width, n_tokens })
    }

    pub(crate) fn too_large(what: &'static str, given: usize, limit: usize) -> VocabularyError {
        VocabularyError(Kind::TooLarge { what, given, limit })
    }

    pub(crate) fn eos_out_of_range(id: TokenId, width: usize) -> VocabularyError {
        VocabularyError(Kind::EosOutOfRange { id, width })
    }

    /// Whether a limit on size was reached.
    pub(crate) fn is_limit(&self) -> bool {
        matches!(self.0, Kind::TooLarge { .. })
    }
}

impl fmt::Display for VocabularyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Kind::TooNarrow { width, n_tokens } => {
                write!(f, "the vocabulary size {width} is less than the tokenizer's {n_tokens} tokens")
            }
            Kind::TooLarge { what, given, limit } => {
                write!(f, "the vocabulary has {given} {what}, more than the limit of {limit}")
            }
            Kind::EosOutOfRange { id: TokenId(id), width } => {
                write!(f, "the end-of-sequence id {id} is not in the vocabulary of {width} ids")
            }
        }
    }
}

impl std::error::Error for VocabularyError {}

impl From<VocabularyError> for Error {
    fn from(error: VocabularyError) -> Error {
        Error::new(ErrorKind::of(false, error.is_limit(), ErrorKind::Tokenizer), error)
    }
}
