//! The seven functions of the library `libollama_constraints` that Ollama's engine for MLX opens, as its
//! header `x/mlxrunner/constraint/native/constraint.h` has them at commit ba0b1ef.

use std::cell::RefCell;
use std::ffi::{CString, c_char, c_int};

use maskwright::{CompileOptions, Compiler, Error, GrammarSource, Matcher, TokenId, Tokenizer, mask_words};

use crate::guard::{argument, caught};
use crate::pointers::{Opaque, c_text, free, get, get_mut, give_to, items, items_mut, place, put};

/// The largest vocabulary and the longest schema, in bytes.
const MAX_VOCAB: i32 = 1 << 20;
const MAX_SOURCE: usize = 1 << 20;

thread_local! {
    static LAST_ERROR: RefCell<CString> = RefCell::default();
}

/// A vocabulary, and what compiles for it.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct ollama_constraint_model {
    _opaque: [u8; 0],
}

impl Opaque for ollama_constraint_model {
    type Inner = Compiler;
    const NAME: &'static str = "model";
}

/// One text under a grammar.
#[allow(non_camel_case_types, reason = "the name in C")]
pub struct ollama_constraint_matcher {
    _opaque: [u8; 0],
}

impl Opaque for ollama_constraint_matcher {
    type Inner = Matcher;
    const NAME: &'static str = "matcher";
}

/// Runs a call: 0, or 1 and an error that [`ollama_constraint_last_error`] says.
fn run(call: impl FnOnce() -> Result<(), Error>) -> c_int {
    let failed = caught(call).err();
    let message = failed.as_ref().map(|error| c_text(error.to_string())).unwrap_or_default();
    LAST_ERROR.set(message);
    c_int::from(failed.is_some())
}

/// What the last call on this thread says went wrong; empty if it did not. Until the next call on this
/// thread.
#[unsafe(no_mangle)]
pub extern "C" fn ollama_constraint_last_error() -> *const c_char {
    LAST_ERROR.with_borrow(|message| message.as_ptr())
}

/// A model of `count` tokens, padded to `vocab_size`: the bytes of all, and for each where it ends. Tokens of
/// `stop_ids` end a text. 0, or 1 for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ollama_constraint_model_new(
    token_data: *const c_char,
    token_data_size: usize,
    token_offsets: *const u64,
    token_count: usize,
    vocab_size: i32,
    stop_token_ids: *const i32,
    stop_token_count: usize,
    model: *mut *mut ollama_constraint_model,
) -> c_int {
    run(|| {
        // SAFETY: the caller's promise.
        let (data, ends, stops) = unsafe {
            put(model, std::ptr::null_mut(), "where to put the model")?;
            (
                items(token_data.cast::<u8>(), token_data_size, "the tokens")?,
                items(token_offsets, token_count, "the offsets")?,
                items(stop_token_ids, stop_token_count, "the stop tokens")?,
            )
        };
        if !(1..=MAX_VOCAB).contains(&vocab_size) || token_count > vocab_size as usize {
            return Err(argument(format!("{token_count} tokens in a vocabulary of {vocab_size}")));
        }
        if stops.is_empty() {
            return Err(argument("there is no stop token"));
        }
        let mut tokens = Vec::with_capacity(vocab_size as usize);
        let mut start = 0;
        for &end in ends {
            let end = usize::try_from(end).unwrap_or(usize::MAX);
            let token = data.get(start..end).ok_or_else(|| argument("the offsets do not fit the tokens"))?;
            tokens.push(token.to_vec());
            start = end;
        }
        if start != data.len() {
            return Err(argument("the offsets do not reach the end of the tokens"));
        }
        tokens.resize(vocab_size as usize, Vec::new());
        let stop = |&given: &i32| {
            let id = u32::try_from(given).ok().filter(|_| given < vocab_size).map(TokenId);
            id.ok_or_else(|| argument(format!("the stop token {given} is outside of the vocabulary")))
        };
        let stops = stops.iter().map(stop).collect::<Result<Vec<TokenId>, Error>>()?;
        let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &stops)?);
        // SAFETY: as above.
        unsafe { give_to(model, compiler, "where to put the model") }
    })
}

/// Frees a model; NULL is nothing to free. Its matchers stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ollama_constraint_model_free(model: *mut ollama_constraint_model) {
    // SAFETY: the caller's promise.
    unsafe { free(model) };
}

/// A matcher for any JSON value (`kind` 0) or the values of a JSON Schema (`kind` 1). 0, or 1 for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ollama_constraint_matcher_new(
    model: *mut ollama_constraint_model,
    kind: c_int,
    source: *const c_char,
    source_size: usize,
    matcher: *mut *mut ollama_constraint_matcher,
) -> c_int {
    run(|| {
        // SAFETY: the caller's promise.
        let (compiler, source) = unsafe {
            put(matcher, std::ptr::null_mut(), "where to put the matcher")?;
            (get(model)?, items(source.cast::<u8>(), source_size, "the source")?)
        };
        if source.len() > MAX_SOURCE {
            return Err(argument(format!(
                "a schema of {} bytes, at most {MAX_SOURCE} are read",
                source.len()
            )));
        }
        let schema = match kind {
            0 => "{}",
            1 => std::str::from_utf8(source)
                .map_err(|error| argument(format!("the schema is not UTF-8: {error}")))?,
            _ => return Err(argument(format!("{kind} is no kind of grammar"))),
        };
        let schema = GrammarSource::json_schema(schema, Default::default());
        let grammar = compiler.compile(&schema, &CompileOptions::default())?;
        // SAFETY: as above.
        unsafe { give_to(matcher, grammar.matcher(), "where to put the matcher") }
    })
}

/// Frees a matcher; NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ollama_constraint_matcher_free(matcher: *mut ollama_constraint_matcher) {
    // SAFETY: the caller's promise.
    unsafe { free(matcher) };
}

/// Writes the mask of the tokens that may come next. `needs_apply`: 0 if it has all of them. 0, or 1 for an
/// error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ollama_constraint_matcher_fill(
    matcher: *mut ollama_constraint_matcher,
    bitmask: *mut i32,
    bitmask_words: usize,
    needs_apply: *mut c_int,
) -> c_int {
    run(|| {
        // SAFETY: the caller's promise.
        let (matcher, mask) =
            unsafe { (get_mut(matcher)?, items_mut(bitmask.cast::<u32>(), bitmask_words, "the mask")?) };
        let n_words = mask_words(matcher.grammar().vocabulary().n_vocab());
        if bitmask_words != n_words {
            return Err(argument(format!("a mask of {bitmask_words} words, expected {n_words}")));
        }
        matcher.fill_mask(mask)?;
        let is_partial = c_int::from(!matcher.mask_is_full());
        // SAFETY: as above.
        unsafe { put(needs_apply, is_partial, "where to put whether the mask is to be applied") }
    })
}

/// Accepts a token if it is allowed. `accepted`: whether it is. 0, or 1 for an error.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ollama_constraint_matcher_accept(
    matcher: *mut ollama_constraint_matcher,
    token_id: i32,
    accepted: *mut c_int,
) -> c_int {
    run(|| {
        // SAFETY: the caller's promise.
        let matcher = unsafe { get_mut(matcher) }?;
        let n_vocab = matcher.grammar().vocabulary().n_vocab();
        let id = u32::try_from(token_id).ok().filter(|&id| (id as usize) < n_vocab);
        let id = id.ok_or_else(|| argument(format!("the token {token_id} is outside of the vocabulary")))?;
        // SAFETY: as above.
        let to = unsafe { place(accepted, "where to put whether the token is accepted") }?;
        to.write(c_int::from(matcher.accept_token(TokenId(id))?));
        Ok(())
    })
}
