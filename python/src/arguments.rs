//! Arguments from Python that have the right type and yet no meaning here, each with an exception of the
//! package.
//!
//! A `str` may hold half of a surrogate pair, which no UTF-8 text has; an `int` may be of any size. The
//! bindings' own conversions raise `UnicodeEncodeError` and `OverflowError` for those. Wrong types stay
//! `TypeError`s.

use std::marker::PhantomData;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use maskwright::debug::nearest_name;
use maskwright::{GrammarSource, TokenId};
use pyo3::conversion::FromPyObjectOwned;
use pyo3::exceptions::{PyOSError, PyOverflowError, PyTypeError, PyUnicodeEncodeError};
use pyo3::prelude::*;
use pyo3::type_object::PyTypeInfo;
use pyo3::types::{PyBytes, PyDict, PySlice, PyString, PyType};

use crate::errors;
use crate::interrupt::aside;
// Which exception says that an argument is wrong: one of a grammar, of a schema, of a tokenizer, or of the
// call as such.
pub(crate) use crate::errors::{
    Error as OfCall, GrammarError as OfGrammar, SchemaError as OfSchema, TokenizerError as OfTokenizer,
};

/// A `str` that is text.
pub(crate) struct Text<B>(pub(crate) String, PhantomData<fn() -> B>);

impl<B> Text<B> {
    /// A default value.
    pub(crate) fn new(text: &str) -> Text<B> {
        Text(text.to_owned(), PhantomData)
    }
}

impl<B> Deref for Text<B> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'py, B: PyTypeInfo> FromPyObject<'_, 'py> for Text<B> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Text<B>> {
        match object.cast::<PyString>() {
            Ok(given) => text::<B>(&given).map(|text| Text(text, PhantomData)),
            Err(_) => Err(wrong_type(&object, "a str")),
        }
    }
}

/// The text of a `str`.
///
/// # Errors
/// With line and column, if it has half of a surrogate pair.
pub(crate) fn text<B: PyTypeInfo>(given: &Bound<'_, PyString>) -> PyResult<String> {
    let py = given.py();
    let error = match given.to_str() {
        Ok(text) => return Ok(text.to_owned()),
        Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(py) => error,
        Err(error) => return Err(error),
    };
    let start: isize = error.value(py).getattr("start")?.extract()?;
    let code = given.get_item(start)?.repr()?;
    let before = given.get_item(PySlice::new(py, 0, start, 1))?;
    let before = before.cast::<PyString>()?.to_str()?;
    let (line, column) = (
        before.matches('\n').count() + 1,
        before.rsplit('\n').next().unwrap_or_default().chars().count() + 1,
    );
    let error = PyErr::new::<B, _>(format!(
        "{code} at line {line} column {column} is half of a surrogate pair, which is no character: no UTF-8 text has it"
    ));
    error.value(py).setattr("line", line)?;
    error.value(py).setattr("column", column)?;
    Err(error)
}

/// A regular expression given as `str`.
pub(crate) struct PatternText(pub(crate) String);

impl<'py> FromPyObject<'_, 'py> for PatternText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<PatternText> {
        if object.is_instance(&object.py().import("re")?.getattr("Pattern")?)? {
            return Err(PyTypeError::new_err(
                "expected a pattern as str, not re.Pattern: call compile(pattern), which reads it as Python does, flags \
                 included",
            ));
        }
        object.extract().map(|pattern: Text<OfGrammar>| PatternText(pattern.0))
    }
}

/// A text given as `str` or `bytes`, as bytes.
pub(crate) struct TextBytes<B>(pub(crate) Vec<u8>, PhantomData<fn() -> B>);

impl<'py, B: PyTypeInfo> FromPyObject<'_, 'py> for TextBytes<B> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<TextBytes<B>> {
        if let Ok(given) = object.cast::<PyString>() {
            return Ok(TextBytes(text::<B>(&given)?.into_bytes(), PhantomData));
        }
        match object.cast::<PyBytes>() {
            Ok(bytes) => Ok(TextBytes(bytes.as_bytes().to_vec(), PhantomData)),
            Err(_) => Err(wrong_type(&object, "a text as str or bytes")),
        }
    }
}

/// A file's path, as `str`, `bytes` or `os.PathLike`.
pub(crate) struct FilePath<B>(pub(crate) PathBuf, PhantomData<fn() -> B>);

impl<'py, B: PyTypeInfo> FromPyObject<'_, 'py> for FilePath<B> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<FilePath<B>> {
        match object.extract::<PathBuf>() {
            Ok(path) => Ok(FilePath(path, PhantomData)),
            Err(error) if error.is_instance_of::<PyUnicodeEncodeError>(object.py()) => {
                Err(PyErr::new::<B, _>(format!("{} is no file's path", object.repr()?)))
            }
            Err(error) if error.is_instance_of::<PyTypeError>(object.py()) => {
                Err(wrong_type(&object, "a file's path as str, bytes or os.PathLike"))
            }
            Err(error) => Err(error),
        }
    }
}

/// Whether an argument is the path of a file as `os.PathLike`. A class of paths is a type, and none.
pub(crate) fn is_path(given: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(given.hasattr("__fspath__")? && !given.is_instance_of::<PyType>())
}

/// The bytes of a file.
///
/// # Errors
/// OSError, with the file's name, if it cannot be read.
pub(crate) fn file_bytes(py: Python<'_>, file: &Path) -> PyResult<Vec<u8>> {
    let path = file.to_owned();
    aside(py, || std::fs::read(path))?.map_err(|error| os_error(&error, file))
}

/// An error of the system as Python's own functions raise it.
pub(crate) fn os_error(error: &std::io::Error, file: &Path) -> PyErr {
    let text = error.to_string();
    match error.raw_os_error() {
        Some(number) => {
            let text = text.trim_end_matches(&format!(" (os error {number})")).to_owned();
            PyOSError::new_err((number, text, file.to_path_buf()))
        }
        None => PyOSError::new_err(format!("{}: {text}", file.display())),
    }
}

/// The text of a file in which a grammar or schema is.
///
/// # Errors
/// OSError if it cannot be read; of class `B`, with `path`, if it is not UTF-8.
pub(crate) fn file_text<B: PyTypeInfo>(py: Python<'_>, file: &Path) -> PyResult<String> {
    let bytes = file_bytes(py, file)?;
    String::from_utf8(bytes).map_err(|_| {
        let error = PyErr::new::<B, _>(format!("{}: not UTF-8 text", file.display()));
        // Setting an attribute fails where memory ends; that is the error then.
        error.value(py).setattr("path", file.to_string_lossy()).err().unwrap_or(error)
    })
}

/// A grammar: its text, or a file with it, as `os.PathLike`.
pub(crate) struct GrammarText {
    text: String,
    file: Option<PathBuf>,
}

impl GrammarText {
    /// As the source that `read` makes of the text.
    pub(crate) fn source(self, read: impl FnOnce(String) -> GrammarSource) -> GrammarSource {
        let source = read(self.text);
        match self.file {
            Some(file) => source.file(file),
            None => source,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for GrammarText {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<GrammarText> {
        if !is_path(&object)? {
            let text: Text<OfGrammar> = object.extract()?;
            return Ok(GrammarText { text: text.0, file: None });
        }
        let file: PathBuf = object.extract()?;
        let text = file_text::<OfGrammar>(object.py(), &file)?;
        Ok(GrammarText { text, file: Some(file) })
    }
}

/// A signed `int` of 64 bits, such as a token id. The callee checks its range.
#[derive(Clone, Copy)]
pub(crate) struct Int(pub(crate) i64);

impl<'py> FromPyObject<'_, 'py> for Int {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Int> {
        let range = "an integer from -2**63 to 2**63 - 1";
        object.extract().map(Int).map_err(|error| wrong_number(object, error, range))
    }
}

/// An `int` of at least 0.
#[derive(Clone, Copy)]
pub(crate) struct Count(pub(crate) usize);

impl<'py> FromPyObject<'_, 'py> for Count {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Count> {
        let range = "an integer of at least 0 and at most 2**64 - 1";
        object.extract().map(Count).map_err(|error| wrong_number(object, error, range))
    }
}

/// A number.
#[derive(Clone, Copy)]
pub(crate) struct Real(pub(crate) f32);

impl<'py> FromPyObject<'_, 'py> for Real {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Real> {
        object.extract().map(Real).map_err(|error| of_type(&object, error, "a number"))
    }
}

/// A truth value. Other objects, although Python takes them for true or false, are mistakes.
#[derive(Clone, Copy)]
pub(crate) struct Flag(pub(crate) bool);

impl<'py> FromPyObject<'_, 'py> for Flag {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Flag> {
        object.extract().map(Flag).map_err(|error| of_type(&object, error, "True or False"))
    }
}

/// A dict. `what` it is a dict of, for messages.
///
/// # Errors
/// TypeError for another type.
pub(crate) fn dict<'a, 'py>(given: &'a Bound<'py, PyAny>, what: &str) -> PyResult<&'a Bound<'py, PyDict>> {
    given.cast().map_err(|_| wrong_type(given, &format!("a dict from {what}")))
}

/// What `serialize` wrote.
pub(crate) struct Saved(pub(crate) Vec<u8>);

impl<'py> FromPyObject<'_, 'py> for Saved {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Saved> {
        let expected = "the bytes that serialize() gives";
        object.extract().map(Saved).map_err(|error| of_type(&object, error, expected))
    }
}

/// What can be an item of a [`List`].
pub(crate) trait Item {
    /// A list of such items, for messages.
    const LIST: &'static str;
}

impl Item for Int {
    const LIST: &'static str = "a list of integers";
}

impl Item for Option<Int> {
    const LIST: &'static str = "a list of integers and None";
}

impl Item for Option<Count> {
    const LIST: &'static str = "an integer, or a list of integers and None";
}

impl Item for Bound<'_, PyAny> {
    const LIST: &'static str = "a list";
}

impl<B> Item for FilePath<B> {
    const LIST: &'static str = "a list of paths";
}

impl<B> Item for Text<B> {
    const LIST: &'static str = "a list of str";
}

/// A list or another sequence of items, but no `str`.
#[derive(Clone)]
pub(crate) struct List<T>(pub(crate) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<'py, T: Item + FromPyObjectOwned<'py>> FromPyObject<'_, 'py> for List<T> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<List<T>> {
        object.extract().map(List).map_err(|error| match object.extract::<Vec<Bound<'py, PyAny>>>() {
            // It is a list, and one of its items is wrong.
            Ok(_) => error,
            Err(_) => of_type(&object, error, T::LIST),
        })
    }
}

/// The error that is `given` for an argument: TypeErrors in the words of this package, with the type that is
/// `expected`.
fn of_type(object: &Bound<'_, PyAny>, given: PyErr, expected: &str) -> PyErr {
    if given.is_instance_of::<PyTypeError>(object.py()) { wrong_type(object, expected) } else { given }
}

/// The error if an argument is not an `expected` number: ValueError for a number out of range, TypeError for
/// another type.
fn wrong_number(object: Borrowed<'_, '_, PyAny>, error: PyErr, expected: &str) -> PyErr {
    let py = object.py();
    if error.is_instance_of::<PyOverflowError>(py) {
        errors::Error::new_err(format!("expected {expected}, not {}", shown(object)))
    } else if error.is_instance_of::<PyTypeError>(py) {
        wrong_type(&object, "an integer")
    } else {
        error
    }
}

/// TypeError for an argument that does not have the `expected` type.
pub(crate) fn wrong_type(given: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    wrong_type_but(given, expected, "")
}

/// The same, with advice after a colon unless `instead` is empty.
pub(crate) fn wrong_type_but(given: &Bound<'_, PyAny>, expected: &str, instead: &str) -> PyErr {
    let kind = given.get_type();
    let name = match given.cast::<PyType>() {
        Ok(class) => class.name().map(|name| format!("the class {name}")),
        Err(_) if given.is_none() => Ok("None".to_owned()),
        Err(_) => kind.fully_qualified_name().map(|name| name.to_string()),
    };
    match name {
        Ok(name) if instead.is_empty() => PyTypeError::new_err(format!("expected {expected}, not {name}")),
        Ok(name) => PyTypeError::new_err(format!("expected {expected}, not {name}: {instead}")),
        Err(error) => error,
    }
}

/// A number for a message; one of many digits has no place there.
fn shown(object: Borrowed<'_, '_, PyAny>) -> String {
    const MAX_LEN: usize = 40;
    let text = object.repr().map(|text| text.to_string()).unwrap_or_default();
    if text.is_empty() || text.len() > MAX_LEN { "this one".to_owned() } else { text }
}

/// Refuses keyword arguments that `method` of a class does not have.
///
/// # Errors
/// TypeError, with the option that was probably meant.
pub(crate) fn refuse_unknown(
    class: &Bound<'_, PyType>,
    method: &str,
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let Some((name, _)) = unknown.and_then(|unknown| unknown.iter().next()) else { return Ok(()) };
    let given = name.to_string();
    let signature: String = class.getattr(method)?.getattr("__text_signature__")?.extract()?;
    let parameters = signature.trim_matches(['(', ')']).split(", ");
    let names = parameters.filter_map(|parameter| Some(parameter.split_once('=')?.0));
    let meant = match nearest_name(&given, names.clone()) {
        Some((_, meant)) => format!("did you mean {meant:?}?"),
        None => format!("its options are {}", names.collect::<Vec<_>>().join(", ")),
    };
    Err(PyTypeError::new_err(format!("{method}() got an unexpected keyword argument {given:?}; {meant}")))
}

/// What `__reduce__` gives: what makes an object again, and what it is called with.
pub(crate) type Reduced<'py, A> = PyResult<(Bound<'py, PyAny>, A)>;

/// A token that must be in a vocabulary of `n_vocab` tokens.
///
/// # Errors
/// ValueError with the given id, if it is not.
pub(crate) fn known_token(Int(id): Int, n_vocab: usize) -> PyResult<TokenId> {
    match u32::try_from(id) {
        Ok(id) if (id as usize) < n_vocab => Ok(TokenId(id)),
        _ => Err(errors::Error::new_err(format!(
            "token {id} is not in the vocabulary: its ids are from 0 to {}",
            n_vocab as i64 - 1
        ))),
    }
}

/// Ids of tokens, of which all must be in some vocabulary.
///
/// # Errors
/// TokenizerError for those that are in none.
pub(crate) fn vocabulary_ids(List(ids): List<Int>) -> PyResult<Vec<TokenId>> {
    let no_id = |id: i64| errors::TokenizerError::new_err(format!("token {id} is in no vocabulary"));
    ids.into_iter().map(|Int(id)| u32::try_from(id).map(TokenId).map_err(|_| no_id(id))).collect()
}

/// The ids of tokens, as Python has them.
pub(crate) fn ints(tokens: impl IntoIterator<Item = TokenId>) -> Vec<u32> {
    tokens.into_iter().map(|token| token.0).collect()
}
