//! Errors of `maskwright.h`.

use std::ffi::{CString, c_char};
use std::ptr;

use maskwright::{Error, ErrorKind};

use crate::guard::caught;
use crate::pointers::{c_text, free_text, place};

/// The result of a call.
#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// It did what it says.
    Ok = 0,
    /// The grammar is wrong or matches no text, or the call is not supported for its kind.
    Grammar = 1,
    /// The JSON Schema is wrong, unsatisfiable, or has a keyword that cannot be enforced.
    Schema = 2,
    /// The tokenizer is wrong, or a text cannot be written with it.
    Tokenizer = 3,
    /// A limit on work or size was reached.
    Limit = 4,
    /// The work was cancelled.
    Cancelled = 5,
    /// The limit on tokens is too small; `needed` of the error is large enough.
    MaxTokensTooSmall = 6,
    /// No text of the grammar can be written.
    NoText = 7,
    /// What the call was given is wrong: NULL, an object of another kind, a buffer that is too short.
    Argument = 8,
    /// The call does not fit what was done before, such as a rollback beyond the beginning.
    State = 9,
    /// A bug in this library. The session that was called stays broken until `mw_session_reset`.
    Internal = 10,
}

impl Status {
    fn of(error: &Error) -> Status {
        match error.kind() {
            ErrorKind::Grammar => Status::Grammar,
            ErrorKind::Schema => Status::Schema,
            ErrorKind::Tokenizer => Status::Tokenizer,
            ErrorKind::Limit => Status::Limit,
            ErrorKind::Cancelled => Status::Cancelled,
            ErrorKind::MaxTokensTooSmall => Status::MaxTokensTooSmall,
            ErrorKind::NoText => Status::NoText,
            ErrorKind::Argument => Status::Argument,
            ErrorKind::State => Status::State,
            _ => Status::Internal,
        }
    }
}

/// Why a call failed, and where. Texts are NULL and numbers 0 where they do not apply.
#[repr(C)]
pub struct ErrorInfo {
    /// What the call returned.
    pub status: Status,
    /// Where, what, and what to do about it.
    pub message: *mut c_char,
    /// The JSON pointer of the schema at fault; the empty text is the whole document.
    pub pointer: *mut c_char,
    /// The keyword at fault there.
    pub keyword: *mut c_char,
    /// The file at fault.
    pub path: *mut c_char,
    /// What to do about it.
    pub hint: *mut c_char,
    /// The limit that was reached.
    pub limit: *mut c_char,
    /// Its value.
    pub limit_value: u64,
    /// The line of the text at fault, from 1.
    pub line: usize,
    /// The column, in characters from 1.
    pub column: usize,
    /// How many tokens are enough.
    pub needed: usize,
}

impl ErrorInfo {
    fn new(error: &Error) -> ErrorInfo {
        let text = |text: Option<&str>| text.map_or(ptr::null_mut(), |text| c_text(text).into_raw());
        let limit = error.limit();
        let error = &match limit {
            Some((name, value)) => {
                let more = format!("{{\"{name}\": {}}}", value.saturating_mul(10));
                error.clone().raised_by(&format!("raise it with mw_compiler_new, whose limits may be {more}"))
            }
            None => error.clone(),
        };
        ErrorInfo {
            status: Status::of(error),
            message: c_text(error.to_string()).into_raw(),
            pointer: text(error.pointer()),
            keyword: text(error.keyword()),
            path: text(error.path().map(|path| path.to_string_lossy().into_owned()).as_deref()),
            hint: text(error.hint()),
            limit: text(limit.map(|(name, _)| name)),
            limit_value: limit.map_or(0, |(_, value)| value),
            line: error.line().unwrap_or_default(),
            column: error.column().unwrap_or_default(),
            needed: error.needed().unwrap_or_default(),
        }
    }
}

/// Frees an error; NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_error_free(error: *mut ErrorInfo) {
    if error.is_null() {
        return;
    }
    // SAFETY: `report` made it of a box, and the caller's promise.
    let error = unsafe { Box::from_raw(error) };
    for text in [error.message, error.pointer, error.keyword, error.path, error.hint, error.limit] {
        // SAFETY: each is NULL or a text of `ErrorInfo::new`.
        unsafe { free_text(text) };
    }
}

/// Runs a call; gives its error, if it has one, to C.
///
/// # Safety
/// `error` is NULL or leads to memory for a pointer.
pub(super) unsafe fn report(error: *mut *mut ErrorInfo, call: impl FnOnce() -> Result<(), Error>) -> Status {
    let (status, info) = match caught(call) {
        Ok(()) => (Status::Ok, ptr::null_mut()),
        Err(failed) => match error.is_null() {
            true => (Status::of(&failed), ptr::null_mut()),
            false => (Status::of(&failed), Box::into_raw(Box::new(ErrorInfo::new(&failed)))),
        },
    };
    if !error.is_null() {
        // SAFETY: it is not NULL, and the caller's promise.
        unsafe { error.write(info) };
    }
    status
}

/// A text that C must free with `mw_text_free`.
pub(super) fn given_text(text: impl Into<Vec<u8>>) -> *mut c_char {
    CString::into_raw(c_text(text))
}

/// The same, where the pointer says.
///
/// # Safety
/// The pointer is NULL or leads to memory for a pointer.
pub(super) unsafe fn put_text(
    pointer: *mut *mut c_char,
    text: impl Into<Vec<u8>>,
    what: &str,
) -> Result<(), Error> {
    // SAFETY: the caller's promise.
    unsafe { place(pointer, what) }?.write(given_text(text));
    Ok(())
}
