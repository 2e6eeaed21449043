//! JSON Schemas and their documents as arguments, and what is warned about.

use std::ffi::CString;
use std::path::PathBuf;

use maskwright::{CompileOptions, PropertyOrder, Report, SchemaConfig, SchemaDocuments, Whitespace};
use pyo3::exceptions::{PyRecursionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::arguments::{self, OfSchema, Text};
use crate::errors::{SchemaError, SchemaWarning};
use crate::work::detached;

/// A schema as JSON text.
pub(crate) struct SchemaText {
    pub(crate) text: String,
    /// The file that it is from.
    file: Option<PathBuf>,
    /// Whether the text is the caller's own, so that places in it mean something.
    is_given: bool,
}

impl SchemaText {
    /// From JSON text, the path of a file with it, or what `json.dumps` takes.
    ///
    /// # Errors
    /// SchemaError for what is no JSON value, TypeError for what `json.dumps` does not take, OSError if the file cannot be
    /// read.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<SchemaText> {
        let py = given.py();
        if let Ok(text) = given.cast::<PyString>() {
            let text = arguments::text::<OfSchema>(text)?;
            return Ok(SchemaText { text, file: None, is_given: true });
        }
        if given.hasattr("__fspath__")? {
            let file: PathBuf = given.extract()?;
            let bytes = detached(py, || std::fs::read(&file))??;
            let text = String::from_utf8(bytes)
                .map_err(|_| SchemaError::new_err(format!("{}: not UTF-8 text", file.display())))?;
            return Ok(SchemaText { text, file: Some(file), is_given: true });
        }
        let options = PyDict::new(py);
        options.set_item("allow_nan", false)?;
        let dumped = py.import("json")?.call_method("dumps", (given,), Some(&options));
        let text = dumped.map_err(|error| {
            if error.is_instance_of::<PyRecursionError>(py) {
                SchemaError::new_err("the schema is nested too deeply, more than 127 levels are refused")
            } else if error.is_instance_of::<PyValueError>(py) {
                SchemaError::new_err(format!("the schema is no JSON value: {}", error.value(py)))
            } else {
                error
            }
        })?;
        Ok(SchemaText { text: text.extract()?, file: None, is_given: false })
    }

    /// Says in `options` where the schema is from.
    pub(crate) fn place(&self, options: &mut CompileOptions) {
        options.file = self.file.clone();
    }

    /// The error without a place in a text that the caller never saw.
    pub(crate) fn located(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let is_foreign = || -> PyResult<bool> {
            let value = error.value(py);
            Ok(!self.is_given
                && error.is_instance_of::<SchemaError>(py)
                && value.getattr("pointer")?.is_none())
        };
        let forget = || -> PyResult<()> {
            if is_foreign()? {
                error.value(py).setattr("line", py.None())?;
                error.value(py).setattr("column", py.None())?;
            }
            Ok(())
        };
        forget().err().unwrap_or(error)
    }
}

/// Documents as `documents` gives them: a dict from URIs to schemas.
///
/// # Errors
/// TypeError if it is none; as [`SchemaText::of`].
pub(crate) fn documents(given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, SchemaText)>> {
    let items = given.map(|given| given.iter()).into_iter().flatten();
    items.map(|(uri, schema)| Ok((uri.extract::<Text<OfSchema>>()?.0, SchemaText::of(&schema)?))).collect()
}

/// The documents, read.
pub(crate) fn read(documents: &[(String, SchemaText)]) -> Result<SchemaDocuments, maskwright::Error> {
    let mut all = SchemaDocuments::default();
    documents.iter().try_for_each(|(uri, schema)| all.insert(uri, &schema.text))?;
    Ok(all)
}

/// Warns about what has no effect in a schema and was probably meant to have one, at the line that called the package.
///
/// # Errors
/// The warning, where warnings are errors.
pub(crate) fn warn(py: Python<'_>, report: &Report) -> PyResult<()> {
    for warning in report.warnings() {
        // The text of a schema may have NUL, which no message can.
        let message = CString::new(warning.to_string().replace('\0', "\u{fffd}"))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyErr::warn(py, &py.get_type::<SchemaWarning>(), &message, 1)?;
    }
    Ok(())
}

/// How a schema is read, by the names that Python has for it.
pub(crate) fn config(property_order: &str, whitespace: &str) -> PyResult<SchemaConfig> {
    let property_order = match property_order {
        "schema" => PropertyOrder::Schema,
        "any" => PropertyOrder::Any,
        other => {
            return Err(PyValueError::new_err(format!(
                "property_order is {other:?}, expected \"schema\" or \"any\""
            )));
        }
    };
    let whitespace = match whitespace {
        "flexible" => Whitespace::Flexible,
        "compact" => Whitespace::Compact,
        "any" => Whitespace::Any,
        other => {
            return Err(PyValueError::new_err(format!(
                "whitespace is {other:?}, expected \"flexible\", \"compact\" or \"any\""
            )));
        }
    };
    Ok(SchemaConfig { property_order, whitespace, ..SchemaConfig::default() })
}
