//! JSON Schemas, their documents and structural tags as arguments, and what is warned about.

use std::path::PathBuf;

use maskwright::json_schema::{Numbers, PropertyOrder, Report, SchemaConfig, SchemaDocuments, Whitespace};
use pyo3::exceptions::{PyBaseException, PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyDict, PyList, PyString, PyType};

use crate::arguments::{self, Count, GrammarText, OfGrammar, OfSchema, Text};
use crate::errors::{self, OrRaise, SchemaError, SchemaWarning, invalid};
use crate::work::detached;

/// A schema as JSON text.
pub(crate) struct SchemaText {
    pub(crate) text: String,
    /// The file that it is from.
    pub(crate) file: Option<PathBuf>,
    /// Whether the text is the caller's own, so that places in it mean something.
    is_given: bool,
    /// The schema and the name of the type that it is of, if it is of one.
    of_type: Option<(Py<PyAny>, String)>,
}

impl SchemaText {
    /// From JSON text, the path of a file with it, a dict, a bool, or a type.
    ///
    /// # Errors
    /// SchemaError for what is no JSON value and for types without a schema, TypeError for what is neither
    /// JSON nor a type, OSError if the file cannot be read.
    pub(crate) fn of(given: &Bound<'_, PyAny>) -> PyResult<SchemaText> {
        let py = given.py();
        if let Ok(text) = given.cast::<PyString>() {
            let text = arguments::text::<OfSchema>(text)?;
            return Ok(SchemaText { text, file: None, is_given: true, of_type: None });
        }
        if arguments::is_path(given)? {
            let file: PathBuf = given.extract()?;
            let text = arguments::file_text::<OfSchema>(py, &file)?;
            return Ok(SchemaText { text, file: Some(file), is_given: true, of_type: None });
        }
        let (mut value, mut of_type) = (given.clone(), None);
        if !given.is_instance_of::<PyDict>() {
            let types = py.import("maskwright._types")?;
            let compiled = types.call_method1("compiled_schema", (given,))?;
            let name: Option<String>;
            (value, name) = compiled.extract()?;
            of_type = name.map(|name| (value.clone().unbind(), name));
        }
        let text = dumped::<OfSchema>(&value, "schema")?;
        Ok(SchemaText { text: text.extract()?, file: None, is_given: false, of_type })
    }

    /// The error of reading this text: with its file, and without a place in a text that the caller never
    /// saw.
    pub(crate) fn located(&self, py: Python<'_>, error: PyErr) -> PyErr {
        self.locate(error.value(py)).err().unwrap_or(error)
    }

    fn locate(&self, error: &Bound<'_, PyBaseException>) -> PyResult<()> {
        if !error.is_instance_of::<SchemaError>() {
            return Ok(());
        }
        // With a pointer, line and column are those in a pattern, which the caller wrote.
        let pointer = error.getattr("pointer")?;
        if !pointer.is_none() {
            if let Some((schema, name)) = &self.of_type {
                let types = error.py().import("maskwright._types")?;
                let place: String = types.call_method1("place", (schema, pointer, name))?.extract()?;
                let message = error.str()?;
                error.setattr("args", (format!("{place}: {message}"),))?;
            }
            return Ok(());
        }
        if let Some(file) = &self.file {
            error.setattr("path", file.to_string_lossy())?;
        }
        if !self.is_given {
            error.setattr("line", error.py().None())?;
            error.setattr("column", error.py().None())?;
        }
        Ok(())
    }
}

/// A structural tag: JSON text, the path of a file with it, a dict, or a model that writes itself as JSON.
pub(crate) struct TagText(pub(crate) GrammarText);

impl<'py> FromPyObject<'_, 'py> for TagText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<TagText> {
        let py = object.py();
        if object.is_instance_of::<PyString>() || arguments::is_path(&object)? {
            return object.extract().map(TagText);
        }
        let is_model = object.hasattr("model_dump_json")? && !object.is_instance_of::<PyType>();
        let text = if is_model {
            let options = PyDict::new(py);
            options.set_item("by_alias", true)?;
            object.call_method("model_dump_json", (), Some(&options))?
        } else if object.is_instance_of::<PyDict>() || object.is_instance_of::<PyList>() {
            // A list is no tag, and the error says so with its place.
            dumped::<OfGrammar>(&object, "structural tag")?
        } else {
            let given = object.get_type().name()?;
            let message = format!(
                "expected a structural tag as JSON text, a dict, a path or a model with model_dump_json, not {given}"
            );
            return Err(PyTypeError::new_err(message));
        };
        text.extract().map(TagText)
    }
}

/// A value as JSON text. `what`: what messages call it.
///
/// # Errors
/// `B` if it is nested too deeply or no JSON value, TypeError if something in it is not.
fn dumped<'py, B: PyTypeInfo>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyAny>> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("allow_nan", false)?;
    let dumped = py.import("json")?.call_method("dumps", (value,), Some(&options));
    dumped.map_err(|error| {
        if error.is_instance_of::<PyRecursionError>(py) {
            PyErr::new::<B, _>(format!("the {what} is nested too deeply, more than 127 levels are refused"))
        } else if error.is_instance_of::<PyValueError>(py) {
            PyErr::new::<B, _>(format!("the {what} is no JSON value: {}", error.value(py)))
        } else {
            error
        }
    })
}

/// Reads documents as `documents` gives them: a dict from URIs to schemas.
///
/// # Errors
/// As [`SchemaText::of`]; SchemaError for a text that is not JSON, TypeError for another type than a dict.
pub(crate) fn documents(py: Python<'_>, given: Option<&Bound<'_, PyAny>>) -> PyResult<SchemaDocuments> {
    let mut documents = SchemaDocuments::default();
    let given = given.map(|given| arguments::dict(given, "URIs to schemas")).transpose()?;
    // A list, since Python code runs in between, which may change the dict.
    let items = given.map(|given| given.items());
    for item in items.iter().flatten() {
        let (uri, schema): (Text<OfSchema>, Bound<'_, PyAny>) = item.extract()?;
        let schema = SchemaText::of(&schema)?;
        let inserted = detached(py, || documents.insert(&uri, &schema.text))?.or_raise();
        inserted.map_err(|error| schema.located(py, error))?;
    }
    Ok(documents)
}

/// Warns about what has no effect in a schema and was probably meant to have one, at the line that called the
/// package.
///
/// # Errors
/// The warning, where warnings are errors.
pub(crate) fn warn(py: Python<'_>, report: &Report) -> PyResult<()> {
    for warning in report.warnings() {
        errors::warn::<SchemaWarning>(py, &warning.to_string())?;
    }
    Ok(())
}

/// The configuration of a schema, from the values of the Python arguments.
pub(crate) fn config(property_order: &str, whitespace: Whitespace, numbers: &str) -> PyResult<SchemaConfig> {
    let property_order = match property_order {
        "schema" => PropertyOrder::Schema,
        "any" => PropertyOrder::Any,
        other => {
            return Err(invalid(format!("property_order is {other:?}, expected \"schema\" or \"any\"")));
        }
    };
    let numbers = match numbers {
        "plain" => Numbers::Plain,
        "any" => Numbers::Any,
        other => {
            return Err(invalid(format!("numbers is {other:?}, expected \"plain\" or \"any\"")));
        }
    };
    let mut config = SchemaConfig::default();
    config.numbers = numbers;
    config.property_order = property_order;
    config.whitespace = whitespace;
    Ok(config)
}

/// The white space for the values of the arguments `whitespace` and `max_whitespace`.
pub(crate) fn whitespace(kind: Option<&str>, max: Option<Count>) -> PyResult<Whitespace> {
    match (kind, max) {
        (None | Some("any"), Some(Count(max))) => {
            Ok(Whitespace::AtMost(u32::try_from(max).unwrap_or(u32::MAX)))
        }
        (Some(kind @ ("flexible" | "compact")), Some(Count(max))) => Err(invalid(format!(
            "max_whitespace is {max} and whitespace is {kind:?}, which has limits of its own; leave one of them out, or say \
             whitespace=\"any\""
        ))),
        (None | Some("flexible"), None) => Ok(Whitespace::Flexible),
        (Some("compact"), None) => Ok(Whitespace::Compact),
        (Some("any"), None) => Ok(Whitespace::Any),
        (Some(other), _) => {
            Err(invalid(format!("whitespace is {other:?}, expected \"flexible\", \"compact\" or \"any\"")))
        }
    }
}
