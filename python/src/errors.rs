//! Errors of the library as Python exceptions.

use maskwright::{Error, ErrorKind};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    maskwright,
    GrammarError,
    PyValueError,
    "The grammar (regular expression, GBNF, Lark, choice) is wrong, no text fits it, or what was asked is not known for its kind."
);
create_exception!(
    maskwright,
    SchemaError,
    PyValueError,
    "The JSON Schema is wrong, no text fits it, or it has a keyword that cannot be enforced."
);
create_exception!(
    maskwright,
    TokenizerError,
    PyValueError,
    "The tokenizer is wrong, or a text cannot be written with it."
);
create_exception!(
    maskwright,
    LimitError,
    PyValueError,
    "A limit on work or size was reached; raising the compiler's limits may help."
);
create_exception!(
    maskwright,
    CancelledError,
    PyRuntimeError,
    "The work was cancelled through its CancelToken. Not a ValueError: nothing is wrong with the input."
);

/// The exception for an error. A call that does not fit the state of its matcher is a plain `ValueError`.
pub(crate) fn exception(error: &Error) -> PyErr {
    let message = error.to_string();
    match error.kind() {
        ErrorKind::Grammar => GrammarError::new_err(message),
        ErrorKind::Schema => SchemaError::new_err(message),
        ErrorKind::Tokenizer => TokenizerError::new_err(message),
        ErrorKind::Limit => LimitError::new_err(message),
        ErrorKind::Cancelled => CancelledError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// Turns a result of the library into one for Python.
pub(crate) trait OrRaise<T> {
    /// The value, or the exception for the error.
    fn or_raise(self) -> PyResult<T>;
}

impl<T, E: Into<Error>> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> PyResult<T> {
        self.map_err(|error| exception(&error.into()))
    }
}
