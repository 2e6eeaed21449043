//! `maskwright.ReportEntry`.

use maskwright::json_schema::Status;
use pyo3::prelude::*;

/// Whether and how one keyword of a JSON Schema is enforced.
#[pyclass(frozen, module = "maskwright", eq, hash, get_all)]
#[derive(PartialEq, Eq, Hash)]
pub(crate) struct ReportEntry {
    /// The JSON pointer of the schema that has the keyword.
    pointer: String,
    /// The keyword.
    keyword: String,
    /// "enforced", "enforced by the session" (by each Matcher, which remembers earlier items), "annotation"
    /// (the specification gives it no effect) or "not enforced".
    status: &'static str,
    /// Why it is not enforced; None if it is.
    reason: Option<String>,
    /// For an unknown keyword or format, the known one that was probably meant; else None.
    suggestion: Option<&'static str>,
    /// The name of the tool whose arguments the schema describes; None if it is of no tool.
    tool: Option<String>,
}

impl ReportEntry {
    pub(crate) fn new(entry: maskwright::json_schema::ReportEntry<'_>) -> ReportEntry {
        let (status, reason) = match entry.status {
            Status::Enforced => ("enforced", None),
            Status::EnforcedBySession => ("enforced by the session", None),
            Status::Annotation => ("annotation", None),
            Status::NotEnforced { reason } => ("not enforced", Some(reason.to_string())),
            // A kind that this version does not know: claim nothing.
            other => ("not enforced", Some(format!("{other:?}"))),
        };
        let (keyword, tool) = (entry.keyword.to_owned(), entry.tool.map(str::to_owned));
        ReportEntry { pointer: entry.pointer, keyword, status, reason, suggestion: entry.suggestion, tool }
    }
}

#[pymethods]
impl ReportEntry {
    fn __repr__(&self) -> String {
        let reason = self.reason.as_ref().map(|reason| format!(", reason={reason:?}")).unwrap_or_default();
        let suggestion = self.suggestion.map(|name| format!(", suggestion={name:?}")).unwrap_or_default();
        let tool = self.tool.as_ref().map(|name| format!(", tool={name:?}")).unwrap_or_default();
        format!(
            "ReportEntry(pointer={:?}, keyword={:?}, status={:?}{reason}{suggestion}{tool})",
            self.pointer, self.keyword, self.status
        )
    }
}
