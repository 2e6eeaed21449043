//! The error of this crate: a file that cannot be used, a download that failed, a template that is wrong.

use std::{fmt, path::Path};

use maskwright_vocabulary::gguf::GgufError;

/// Why a model could not be fetched, found or read, or its chat template not applied.
///
/// The message names the file (or the model's name), what is wrong with it and what was expected;
/// [`source`](std::error::Error::source) has the cause, where another library or the system gave one.
///
/// # Examples
/// ```
/// use maskwright_models::LlamaModel;
/// let error = LlamaModel::from_gguf("no-such-file.gguf").unwrap_err();
/// assert_eq!(error.to_string(), "no-such-file.gguf: cannot be opened");
/// ```
#[derive(Debug)]
pub struct ModelsError {
    kind: Kind,
    message: String,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    File,
    NotPulled,
    Fetch,
    Template,
    Diffusion,
}

impl ModelsError {
    /// Something about a file.
    pub(crate) fn file(path: &Path, problem: impl fmt::Display) -> Self {
        Self::new(Kind::File, format!("{}: {problem}", path.display()))
    }

    /// A known model that is not in the cache.
    pub(crate) fn not_pulled(name: &str) -> Self {
        let message =
            format!("the weights of {name} are not here yet; get them with `maskwright pull {name}`");
        Self::new(Kind::NotPulled, message)
    }

    /// Something about a name, a download or its content.
    pub(crate) fn fetch(message: impl Into<String>) -> Self {
        Self::new(Kind::Fetch, message.into())
    }

    /// Something about a chat template.
    pub(crate) fn template(message: impl Into<String>) -> Self {
        Self::new(Kind::Template, message.into())
    }

    /// Something about a diffusion model's sizes, weights or batches.
    pub(crate) fn diffusion(message: impl Into<String>) -> Self {
        Self::new(Kind::Diffusion, message.into())
    }

    fn new(kind: Kind, message: String) -> Self {
        ModelsError { kind, message, source: None }
    }

    /// Adds the cause.
    pub(crate) fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// Whether the model is known by name and only has to be pulled.
    #[must_use]
    pub fn is_not_pulled(&self) -> bool {
        self.kind == Kind::NotPulled
    }
}

impl From<GgufError> for ModelsError {
    fn from(error: GgufError) -> Self {
        let message = error.to_string();
        let source = error.into_io().map(Into::into);
        ModelsError { source, ..Self::new(Kind::File, message) }
    }
}

impl fmt::Display for ModelsError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for ModelsError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn std::error::Error + 'static))
    }
}
