//! Calls that must not unwind into C, and what the interfaces share.

use std::panic::{AssertUnwindSafe, catch_unwind};

use maskwright::{Error, ErrorKind, Tokenizer, TokenizerOptions};

/// What `call` returns; a panic is an error.
pub(crate) fn caught<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    // After a panic, the object of the call is marked as broken or was never made, so nobody uses it.
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Error::message(ErrorKind::Internal, format!("a bug in Maskwright, please report it: {text}")))
    })
}

/// The error for what a call was given.
pub(crate) fn argument(message: impl Into<String>) -> Error {
    Error::message(ErrorKind::Argument, message)
}

/// The tokenizer of a `tokenizer.json`; without encoders, one that cuts text greedily.
#[cfg(any(feature = "native", feature = "llguidance"))]
pub(crate) fn of_json(json: &[u8], options: &TokenizerOptions) -> Result<Tokenizer, Error> {
    #[cfg(feature = "tokenizers")]
    return Tokenizer::from_json(json, options);
    #[cfg(not(feature = "tokenizers"))]
    return maskwright::Vocabulary::from_json(json, options).map(Tokenizer::from_vocabulary);
}
