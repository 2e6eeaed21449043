//! The functions of `llguidance.h`, for programs that are written for llguidance. A library of its own,
//! `libmaskwright_llguidance`.
//!
//! It behaves as such programs rely on, also where Maskwright itself does otherwise: a text that nothing may
//! follow is *stopped* before a token ends it, and a refused token is an error from then on. A mask never
//! fails for lack of work, since a program might go on without the grammar: it lacks tokens, or the text
//! ends.
//!
//! Facts of the interface are from llguidance's header and documentation (1.9).

mod constraint;
mod grammar;
mod matcher;
mod stop;
mod tokenizer;
mod writer;

use std::ffi::c_char;

pub use constraint::*;
pub use matcher::*;
pub use stop::*;
pub use tokenizer::*;

use crate::pointers::{Opaque, get, items_mut};

/// The id of a token.
pub type LlgToken = u32;

/// Limits of llguidance's parser. Ignored: Maskwright has limits of its own.
#[repr(C)]
#[derive(Clone, Debug)]
pub struct LlgParserLimits {
    /// Items of one row of its parser.
    pub max_items_in_row: usize,
    /// Work for the expressions of its lexer.
    pub initial_lexer_fuel: u64,
    /// Work of its lexer for a mask.
    pub step_lexer_fuel: u64,
    /// Items of its parser for a mask.
    pub step_max_items: usize,
    /// States of its lexer.
    pub max_lexer_states: usize,
    /// Symbols of a grammar.
    pub max_grammar_size: usize,
    /// Whether large expressions are run over the vocabulary at once.
    pub precompute_large_lexemes: bool,
    /// Whether errors say where the text is.
    pub verbose_errors: bool,
}

/// How a matcher or constraint is made.
#[repr(C)]
pub struct LlgConstraintInit {
    /// The tokenizer that masks are for.
    pub tokenizer: *const LlgTokenizer,
    /// What `llg_flush_logs` tells: 0 nothing, 1 warnings, 2 also each step.
    pub log_buffer_level: u32,
    /// The same for standard error.
    pub log_stderr_level: u32,
    /// Whether `llg_commit_token` may return more tokens than the one it was given. Of constraints alone.
    pub ff_tokens_ok: bool,
    /// Whether tokens may be taken back. Nothing here ever asks for it.
    pub backtrack_ok: bool,
    /// Ignored.
    pub limits: LlgParserLimits,
}

/// Fills in the defaults: warnings on standard error, and one token at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_constraint_init_set_defaults(
    init: *mut LlgConstraintInit,
    tokenizer: *const LlgTokenizer,
) {
    let limits = LlgParserLimits {
        max_items_in_row: 2_000,
        initial_lexer_fuel: 1_000_000,
        step_lexer_fuel: 200_000,
        step_max_items: 50_000,
        max_lexer_states: 250_000,
        max_grammar_size: 500_000,
        precompute_large_lexemes: true,
        verbose_errors: true,
    };
    let defaults = LlgConstraintInit {
        tokenizer,
        log_buffer_level: 0,
        log_stderr_level: 1,
        ff_tokens_ok: false,
        backtrack_ok: false,
        limits,
    };
    // SAFETY: the caller's promise. NULL is left alone.
    let _ = unsafe { crate::pointers::put(init, defaults, "init") };
}

/// What this library is and whose interface it has, as `name@version` with blanks between. Not to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn llg_get_version() -> *const c_char {
    // Programs look for the name.
    concat!("maskwright@", env!("CARGO_PKG_VERSION"), " interface-of-llguidance@1.9\0").as_ptr().cast()
}

/// Writes a text and a NUL byte to a buffer, as much as it can hold. Returns how many bytes that takes.
///
/// # Safety
/// The pointer is NULL or leads to `length` bytes that nobody else uses.
unsafe fn put_text(text: &[u8], buffer: *mut c_char, length: usize) -> usize {
    // SAFETY: the caller's promise.
    let buffer = unsafe { items_mut(buffer.cast::<u8>(), length, "the buffer") };
    if let Some((end, room)) = buffer.unwrap_or_default().split_last_mut() {
        let n = text.len().min(room.len());
        room[..n].copy_from_slice(&text[..n]);
        *room.get_mut(n).unwrap_or(end) = 0;
    }
    text.len() + 1
}

/// A copy of an object, or NULL for what is none.
///
/// # Safety
/// As [`get`].
unsafe fn cloned<O: Opaque<Inner: Clone + Sync>>(pointer: *const O) -> *mut O {
    // SAFETY: the caller's promise.
    unsafe { get(pointer) }.map_or(std::ptr::null_mut(), |object| crate::pointers::give(object.clone()))
}
