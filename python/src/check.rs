//! `maskwright.Check`: how far a text is in a language, and why no further.

use maskwright_trace::escape_html;
use pyo3::prelude::*;

use crate::state::table;

/// How far a text is in the language of a grammar, where it leaves it, and why: what `CompiledGrammar.check`
/// finds. It is true if the text is valid. `str()` of it shows the place in its line.
#[pyclass(frozen, module = "maskwright")]
pub(crate) struct Check(maskwright::Check);

impl From<maskwright::Check> for Check {
    fn from(check: maskwright::Check) -> Check {
        Check(check)
    }
}

#[pymethods]
impl Check {
    /// Whether the text is in the language.
    #[getter]
    fn is_valid(&self) -> bool {
        self.0.is_valid
    }

    /// Whether some text of the language begins with the text.
    #[getter]
    fn is_prefix(&self) -> bool {
        self.0.is_prefix
    }

    /// How many bytes of the text, from the first on, some text of the language begins with.
    #[getter]
    fn offset(&self) -> usize {
        self.0.offset
    }

    /// The line of the place after these bytes, from 1.
    #[getter]
    fn line(&self) -> usize {
        self.0.line
    }

    /// The column of that place in characters, from 1.
    #[getter]
    fn column(&self) -> usize {
        self.0.column
    }

    /// Why the text is not in the language: by the keyword of a schema that refuses it, the character that
    /// cannot come there, or that the text ends too early. None if it is valid.
    #[getter]
    fn reason(&self) -> Option<String> {
        self.0.reason.as_ref().map(ToString::to_string)
    }

    /// What could have come there, in words, the most useful first; empty if the text is valid.
    #[getter]
    fn expected(&self) -> Vec<String> {
        self.0.expected.clone()
    }

    /// The way to the value at that place, as a JSON pointer; None if the text is valid or has no JSON Schema
    /// there.
    #[getter]
    fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Why a token was refused; None if none was, or the text was not read by tokens.
    #[getter]
    fn token(&self) -> Option<&str> {
        self.0.token.as_deref()
    }

    fn __bool__(&self) -> bool {
        self.0.is_valid
    }

    fn __str__(&self) -> String {
        self.0.to_string()
    }

    fn __repr__(&self) -> String {
        let Check(check) = self;
        match &check.reason {
            None => "Check(is_valid=True)".to_owned(),
            Some(reason) => format!(
                "Check(is_valid=False, offset={}, line={}, column={}, reason={:?})",
                check.offset,
                check.line,
                check.column,
                reason.to_string()
            ),
        }
    }

    /// The place in its line and the reason, for notebooks.
    fn _repr_html_(&self) -> String {
        let Check(check) = self;
        let Some(reason) = &check.reason else {
            return table(&[("text", "valid".to_owned())]);
        };
        let place = format!("line {}, column {} (byte {})", check.line, check.column, check.offset);
        let mut rows = vec![("place", place), ("reason", reason.to_string())];
        rows.extend(check.expected.iter().map(|expected| ("expected", expected.clone())));
        rows.extend(check.token.iter().map(|token| ("token", token.clone())));
        format!("<pre>{}</pre>", escape_html(check.frame())) + &table(&rows)
    }
}
