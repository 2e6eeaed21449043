//! Errors of the library as Python exceptions.

use std::any::Any;
use std::ffi::CString;

use maskwright::ErrorKind;
use pyo3::create_exception;
use pyo3::exceptions::{PyDeprecationWarning, PyRuntimeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;

create_exception!(
    maskwright,
    Error,
    PyValueError,
    "The input of a call is wrong. The base class of the package's errors.

`str(error)` says where the fault is and what to do about it. The same facts are attributes, each None if it does not
apply:

* `pointer`: the JSON pointer of the schema at fault; the empty string is the whole document. In another document than
  the compiled one: that document's URI, `#` and the pointer. `keyword`: the keyword at fault there.
* `line` and `column`, from 1, in the text at fault: a grammar, a pattern (in a schema too), or JSON. Columns count
  characters.
* `path`: the file at fault, as a str. For a schema this is the file that was compiled; if the fault is in another
  document, `pointer` names it.
* `hint`: what to do about it. `needed`, of a MaxTokensTooSmall alone: how many tokens are enough."
);
create_exception!(
    maskwright,
    GrammarError,
    Error,
    "The grammar (regular expression, GBNF, Lark, choice) is wrong, no text fits it, or the call is not supported for its kind."
);
create_exception!(
    maskwright,
    SchemaError,
    Error,
    "The JSON Schema is wrong, no text fits it, or it has a keyword that cannot be enforced."
);
create_exception!(
    maskwright,
    TokenizerError,
    Error,
    "The tokenizer is wrong, or a text cannot be written with it."
);
create_exception!(
    maskwright,
    LimitError,
    Error,
    "A limit on work or size was reached; raising the compiler's limits may help."
);
create_exception!(
    maskwright,
    MaxTokensTooSmall,
    Error,
    "The limit on tokens is too small. `needed`: how many are enough. Within that many, and within any more, a text begins and is complete."
);
create_exception!(
    maskwright,
    BatchError,
    Error,
    "Some rows of a batch of masks failed. `errors` is a dict from row to exception. These rows allow no token; all others are filled."
);
create_exception!(
    maskwright,
    SchemaWarning,
    PyUserWarning,
    "A JSON Schema has a keyword that is probably misspelt, or an unknown format, which is not checked."
);
create_exception!(
    maskwright,
    GrammarWarning,
    PyUserWarning,
    "A string of a grammar contains the name of a special token, which the string never matches."
);
create_exception!(
    maskwright,
    InternalError,
    PyRuntimeError,
    "A bug in this package. Every later call of the same Matcher fails too, except `reset`. Other matchers are not affected."
);
create_exception!(
    maskwright,
    WorkCancelled,
    PyRuntimeError,
    "The work was cancelled through its CancelToken. Not a ValueError: nothing is wrong with the input."
);

/// The attributes of [`Error`], which are None until they are set.
const ATTRIBUTES: [&str; 6] = ["pointer", "keyword", "line", "column", "path", "hint"];

/// Gives every [`Error`] its attributes. Called once, when the module is made.
pub(crate) fn declare_attributes(py: Python<'_>) -> PyResult<()> {
    let class = py.get_type::<Error>();
    ATTRIBUTES.iter().try_for_each(|name| class.setattr(*name, py.None()))
}

/// The limits that users meet; the others are below `advanced`.
pub(crate) const LIMITS: [&str; 5] =
    ["compile_work", "mask_work", "infill_work", "memory_bytes", "max_positions"];

/// The exception for what a call was given that it cannot take, other than a wrong type.
pub(crate) fn invalid(message: impl Into<String>) -> PyErr {
    Error::new_err(message.into())
}

/// The exception for an error.
pub(crate) fn exception(py: Python<'_>, error: &maskwright::Error) -> PyErr {
    let error = &match error.limit() {
        Some((name, value)) => {
            let limits = format!("{{\"{name}\": {}}}", value.saturating_mul(10));
            let limits = match LIMITS.contains(&name) {
                true => limits,
                false => format!("{{\"advanced\": {limits}}}"),
            };
            error.clone().raised_by(&format!("raise it with Compiler(tokenizer, limits={limits})"))
        }
        None => error.clone(),
    };
    let message = error.to_string();
    let exception = match error.kind() {
        ErrorKind::Grammar => GrammarError::new_err(message),
        ErrorKind::Schema => SchemaError::new_err(message),
        ErrorKind::Tokenizer => TokenizerError::new_err(message),
        ErrorKind::Limit => LimitError::new_err(message),
        ErrorKind::MaxTokensTooSmall => MaxTokensTooSmall::new_err(message),
        ErrorKind::Cancelled => return WorkCancelled::new_err(message),
        ErrorKind::Internal => return InternalError::new_err(message),
        _ => invalid(message),
    };
    let value = exception.value(py);
    let path = error.path().map(|path| path.to_string_lossy());
    let set = || -> PyResult<()> {
        value.setattr("pointer", error.pointer())?;
        value.setattr("keyword", error.keyword())?;
        value.setattr("line", error.line())?;
        value.setattr("column", error.column())?;
        value.setattr("path", path.as_deref())?;
        if let Some(needed) = error.needed() {
            value.setattr("needed", needed)?;
        }
        value.setattr("hint", error.hint())
    };
    // Setting an attribute fails where memory ends; that is the error then.
    set().err().unwrap_or(exception)
}

/// The exception for a call of an object of which an earlier call has panicked.
pub(crate) fn broken() -> PyErr {
    InternalError::new_err("an earlier call of this object ended in an internal error, so its state is lost")
}

/// The exception for a panic.
pub(crate) fn internal(panic: &(dyn Any + Send)) -> PyErr {
    let message = panic.downcast_ref::<&str>().copied();
    let message = message.or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    InternalError::new_err(format!("a bug in maskwright: {}", message.unwrap_or("a panic without a message")))
}

/// The exception where the system has no thread to give.
pub(crate) fn no_thread(error: &std::io::Error) -> PyErr {
    PyRuntimeError::new_err(format!("cannot start a thread: {error}"))
}

/// Turns a result of the library into one for Python. Call it with the interpreter held.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception for the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Into<maskwright::Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| Python::attach(|py| exception(py, &error.into())))
    }
}

/// Warns that `old` is called `new` now.
///
/// # Errors
/// The warning, if warnings are errors.
pub(crate) fn deprecated(py: Python<'_>, old: &str, new: &str) -> PyResult<()> {
    warn::<PyDeprecationWarning>(py, &format!("{old} is called {new} now"))
}

/// Warns at the line that called the package.
///
/// # Errors
/// The warning, if warnings are errors.
pub(crate) fn warn<W: PyTypeInfo>(py: Python<'_>, message: &str) -> PyResult<()> {
    // A source may contain NUL, but a message cannot.
    let message =
        CString::new(message.replace('\0', "\u{fffd}")).map_err(|error| invalid(error.to_string()))?;
    PyErr::warn(py, &py.get_type::<W>(), &message, 1)
}
