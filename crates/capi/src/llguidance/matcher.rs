//! Matchers of `llguidance.h`.

use std::ffi::{CString, c_char};
use std::sync::Arc;

use maskwright::Error;

use super::grammar::compile;
use super::writer::Writer;
use super::{LlgConstraintInit, cloned, put_text};
use crate::guard::{argument, caught};
use crate::pointers::{Opaque, c_text, free, get, get_mut, give, items, items_mut, put_tokens};

/// One text under a grammar.
pub struct LlgMatcher {
    _opaque: [u8; 0],
}

impl Opaque for LlgMatcher {
    type Inner = Inner;
    const NAME: &'static str = "LlgMatcher";
}

#[derive(Clone)]
pub(crate) struct Inner {
    /// The session, or what went wrong for good.
    writer: Result<Writer, Arc<CString>>,
    /// The last mask, until the text changes.
    shown: Option<Arc<[u32]>>,
    /// Whether nothing may follow.
    is_stopped: bool,
    n_words: usize,
    log_stderr_level: u32,
    /// Whether a warning has said that the text ends.
    has_warned: bool,
}

impl Inner {
    fn new(made: Result<Writer, Error>, log_stderr_level: u32) -> Inner {
        let n_words = made.as_ref().map_or(0, Writer::n_words);
        let writer = made.map_err(|error| Arc::new(c_text(error.to_string())));
        let mut inner =
            Inner { writer, shown: None, is_stopped: false, n_words, log_stderr_level, has_warned: false };
        inner.work(|_| Ok(()));
        inner
    }

    /// Does something with the session. What fails is an error for good.
    fn work<T>(&mut self, call: impl FnOnce(&mut Writer) -> Result<T, Error>) -> Option<T> {
        let writer = self.writer.as_mut().ok()?;
        let done = caught(|| {
            let done = call(writer)?;
            Ok((done, writer.is_stopped()?))
        });
        match done {
            Ok((done, is_stopped)) => {
                self.is_stopped = is_stopped;
                Some(done)
            }
            Err(error) => {
                self.writer = Err(Arc::new(c_text(error.to_string())));
                self.shown = None;
                None
            }
        }
    }

    /// Does something that changes the text.
    fn change(&mut self, call: impl FnOnce(&mut Writer) -> Result<(), Error>) -> i32 {
        self.shown = None;
        if self.work(call).is_some() { 0 } else { -1 }
    }

    #[allow(
        clippy::print_stderr,
        reason = "callers ask for warnings there, and llguidance writes them there"
    )]
    fn mask(&mut self) -> Option<Arc<[u32]>> {
        let (mask, why) = self.work(|writer| Ok((writer.mask()?, writer.ended_by().map(str::to_owned))))?;
        if let Some(why) = &why
            && self.log_stderr_level > 0
            && !self.has_warned
        {
            eprintln!("maskwright: the text ends here: {why}");
        }
        self.has_warned = why.is_some();
        Some(mask)
    }
}

/// A matcher, never NULL, to be freed with `llg_free_matcher`: `llg_matcher_get_error` says whether it could
/// be made. `constraint_type`: "regex", "json_schema" (or "json"), "json_object", "lark", "llguidance" (or
/// "guidance").
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_matcher(
    init: *const LlgConstraintInit,
    constraint_type: *const c_char,
    data: *const c_char,
) -> *mut LlgMatcher {
    // SAFETY: the caller's promise.
    let made = caught(|| unsafe { compile(init, constraint_type, data) }?.writer());
    // SAFETY: as above.
    let level = unsafe { items(init, 1, "init") }.map_or(0, |init| init[0].log_stderr_level);
    give(Inner::new(made, level))
}

/// Whether a grammar could be used: 0 if so, 1 with a warning in `message`, -1 with an error in it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_validate_grammar(
    init: *const LlgConstraintInit,
    constraint_type: *const c_char,
    data: *const c_char,
    message: *mut c_char,
    message_len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let (result, text) = match caught(|| Ok(unsafe { compile(init, constraint_type, data) }?.warnings())) {
        Ok(warnings) => (i32::from(!warnings.is_empty()), warnings.join("\n")),
        Err(error) => (-1, error.to_string()),
    };
    // SAFETY: as above.
    unsafe { put_text(text.as_bytes(), message, message_len) };
    result
}

/// Computes the mask of the tokens that may come next into a buffer of `llg_matcher_get_mask_byte_size`
/// bytes. 0, or -1 for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_compute_mask_into(
    matcher: *mut LlgMatcher,
    mask_dest: *mut u32,
    mask_byte_len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(matcher) = (unsafe { get_mut(matcher) }) else { return -1 };
    let n_words = matcher.n_words;
    let done = matcher.mask().is_some()
        && matcher
            .work(|writer| {
                if mask_byte_len != 4 * n_words {
                    let message = format!("mask_byte_len is {mask_byte_len}, expected {}", 4 * n_words);
                    return Err(argument(message));
                }
                // SAFETY: as above.
                unsafe { items_mut(mask_dest, n_words, "mask_dest") }?.copy_from_slice(&writer.mask()?);
                Ok(())
            })
            .is_some();
    if done { 0 } else { -1 }
}

/// Computes the mask of the tokens that may come next, for `llg_matcher_get_mask`. 0, or -1 for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_compute_mask(matcher: *mut LlgMatcher) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(matcher) = (unsafe { get_mut(matcher) }) else { return -1 };
    matcher.shown = matcher.mask();
    if matcher.shown.is_some() { 0 } else { -1 }
}

/// The mask that was computed last; NULL if the text has changed since.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_get_mask(matcher: *mut LlgMatcher) -> *const u32 {
    // SAFETY: the caller's promise.
    let shown = unsafe { get(matcher) }.ok().and_then(|matcher| matcher.shown.as_ref());
    shown.map_or(std::ptr::null(), |mask| mask.as_ptr())
}

/// How many bytes a mask has.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_get_mask_byte_size(matcher: *const LlgMatcher) -> usize {
    // SAFETY: the caller's promise.
    unsafe { get(matcher) }.map_or(0, |matcher| 4 * matcher.n_words)
}

/// Accepts a token. 0, or -1 for an error: after a refused token the object stays in the error state.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_consume_token(matcher: *mut LlgMatcher, token: u32) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { get_mut(matcher) }.map_or(-1, |matcher| matcher.change(|writer| writer.consume(token)))
}

/// The same for several tokens.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_consume_tokens(
    matcher: *mut LlgMatcher,
    tokens: *const u32,
    n_tokens: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(matcher) = (unsafe { get_mut(matcher) }) else { return -1 };
    matcher.change(|writer| {
        // SAFETY: as above.
        writer.consume_all(unsafe { items(tokens, n_tokens, "tokens") }?)
    })
}

/// What went wrong, as long as the matcher lives; NULL if nothing did.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_get_error(matcher: *mut LlgMatcher) -> *const c_char {
    // SAFETY: the caller's promise.
    match unsafe { get(matcher) }.map(|matcher| &matcher.writer) {
        Ok(Err(message)) => message.as_ptr(),
        Ok(Ok(_)) => std::ptr::null(),
        Err(_) => c"the matcher is NULL, or something else".as_ptr(),
    }
}

/// Whether something went wrong.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_is_error(matcher: *const LlgMatcher) -> bool {
    // SAFETY: the caller's promise.
    unsafe { get(matcher) }.map_or(true, |matcher| matcher.writer.is_err())
}

/// Frees a matcher; NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_free_matcher(matcher: *mut LlgMatcher) {
    // SAFETY: the caller's promise.
    unsafe { free(matcher) };
}

/// Takes the last tokens back. 0, or -1 for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_rollback(matcher: *mut LlgMatcher, num_tokens: usize) -> i32 {
    // SAFETY: the caller's promise.
    unsafe { get_mut(matcher) }.map_or(-1, |matcher| matcher.change(|writer| writer.rollback(num_tokens)))
}

/// Goes back to the beginning. 0, or -1 for an error, and after one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_reset(matcher: *mut LlgMatcher) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(matcher) = (unsafe { get_mut(matcher) }) else { return -1 };
    matcher.change(|writer| {
        writer.reset();
        Ok(())
    })
}

/// Whether the text may end here.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_is_accepting(matcher: *mut LlgMatcher) -> bool {
    // SAFETY: the caller's promise.
    let Ok(matcher) = (unsafe { get_mut(matcher) }) else { return false };
    matcher.work(|writer| Ok(writer.is_accepting())).unwrap_or_default()
}

/// Whether nothing may follow but a token that ends the text; also after an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_is_stopped(matcher: *const LlgMatcher) -> bool {
    // SAFETY: the caller's promise.
    unsafe { get(matcher) }.map_or(true, |matcher| matcher.writer.is_err() || matcher.is_stopped)
}

/// How many of the tokens could be accepted, one after the other; -1 for an error. The text does not change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_validate_tokens(
    matcher: *mut LlgMatcher,
    tokens: *const u32,
    n_tokens: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(matcher) = (unsafe { get_mut(matcher) }) else { return -1 };
    let n = matcher.work(|writer| {
        // SAFETY: as above.
        writer.validate(unsafe { items(tokens, n_tokens, "tokens") }?)
    });
    n.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1)
}

/// The tokens that must come next: writes as many ids as the buffer holds, and returns how many it wrote; -1
/// for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_matcher_compute_ff_tokens(
    matcher: *mut LlgMatcher,
    output: *mut u32,
    output_len: usize,
) -> i32 {
    // SAFETY: the caller's promise.
    let Ok(matcher) = (unsafe { get_mut(matcher) }) else { return -1 };
    if output.is_null() {
        return -1;
    }
    let n = matcher.work(|writer| {
        let forced = writer.forced();
        // SAFETY: as above.
        Ok(unsafe { put_tokens(&forced, output, output_len) }?.min(output_len))
    });
    n.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1)
}

/// A matcher in the same state, to be freed by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_clone_matcher(matcher: *const LlgMatcher) -> *mut LlgMatcher {
    // SAFETY: the caller's promise.
    unsafe { cloned(matcher) }
}
