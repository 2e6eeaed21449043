//! What can be wrong with a GGUF file.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::TokenizerError;

/// Why a GGUF file cannot be used. The message names the file, the place in it, and what was expected.
#[derive(Debug)]
pub struct GgufError {
    path: PathBuf,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// What failed, and why.
    Io(&'static str, std::io::Error),
    Invalid(String),
    Limit {
        what: String,
        limit: u64,
    },
}

impl GgufError {
    /// The system refused to open or read the file.
    pub(super) fn io(path: &Path, problem: &'static str, error: std::io::Error) -> GgufError {
        GgufError { path: path.to_path_buf(), kind: Kind::Io(problem, error) }
    }

    pub(super) fn invalid(path: &Path, problem: String) -> GgufError {
        GgufError { path: path.to_path_buf(), kind: Kind::Invalid(problem) }
    }

    pub(super) fn limit(path: &Path, what: String, limit: u64) -> GgufError {
        GgufError { path: path.to_path_buf(), kind: Kind::Limit { what, limit } }
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a limit on size was reached, rather than something being wrong.
    pub fn is_limit(&self) -> bool {
        matches!(self.kind, Kind::Limit { .. })
    }

    /// What the system said, if it refused to open or read the file.
    pub fn into_io(self) -> Option<std::io::Error> {
        match self.kind {
            Kind::Io(_, error) => Some(error),
            _ => None,
        }
    }
}

impl From<GgufError> for TokenizerError {
    fn from(GgufError { path, kind }: GgufError) -> TokenizerError {
        let error = match kind {
            Kind::Io(_, error) => TokenizerError::io(error),
            Kind::Invalid(problem) => TokenizerError::invalid(problem),
            Kind::Limit { what, limit } => TokenizerError::limit(what, limit as usize),
        };
        error.at(&path)
    }
}

impl fmt::Display for GgufError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.path.display())?;
        match &self.kind {
            Kind::Io(problem, _) => f.write_str(problem),
            Kind::Invalid(problem) => f.write_str(problem),
            Kind::Limit { what, limit } => write!(f, "{what}, more than the limit of {limit}"),
        }
    }
}

impl std::error::Error for GgufError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            Kind::Io(_, error) => Some(error),
            _ => None,
        }
    }
}
