//! Tokenizers of `maskwright.h`.

use std::ffi::c_char;
use std::path::Path;

#[cfg(not(feature = "tokenizers"))]
use maskwright::Vocabulary;
use maskwright::{Error, TokenId, Tokenizer, TokenizerOptions, bindings};

use super::{ErrorInfo, Status, error::report};
use crate::guard::of_json;
use crate::pointers::{Opaque, clear, free, get, give_to, items, optional_text, put, put_tokens};

/// A model's tokens, and how it cuts text.
pub struct MwTokenizer {
    _opaque: [u8; 0],
}

impl Opaque for MwTokenizer {
    type Inner = Tokenizer;
    const NAME: &'static str = "tokenizer";
}

/// The bytes of a token are its name; it never matches as text.
pub const MW_TOKEN_SPECIAL: u8 = 1;
/// The token ends a text.
pub const MW_TOKEN_ENDS_TEXT: u8 = 2;

/// Reads the tokenizer of a model: a Hugging Face `tokenizer.json`, or a GGUF file if its name ends so.
///
/// In a library without encoders, text is tokenized by longest match, not as the model's tokenizer does: only
/// `mw_tokenizer_encode` and forced tokens depend on it.
///
/// `options`: JSON, `{"eos_token_ids": [...], "vocab_size": n}` where the files are wrong, or NULL. Result:
/// `tokenizer`, to be freed with `mw_tokenizer_free`. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_from_file(
    path: *const c_char,
    options: *const c_char,
    tokenizer: *mut *mut MwTokenizer,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(tokenizer) };
    let call = || {
        // SAFETY: the caller's promise.
        let (path, given) =
            unsafe { (crate::pointers::text(path, "the path")?, optional_text(options, "the options")?) };
        let made = from_file(path, &bindings::tokenizer_options(given.unwrap_or_default())?)?;
        // SAFETY: as above.
        unsafe { give_to(tokenizer, made, "where to put the tokenizer") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

fn from_file(path: &str, options: &TokenizerOptions) -> Result<Tokenizer, Error> {
    let path = Path::new(path);
    match path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf")) {
        #[cfg(feature = "tokenizers")]
        true => Tokenizer::from_gguf(path, options),
        #[cfg(feature = "tokenizers")]
        false => Tokenizer::from_file(path, options),
        #[cfg(not(feature = "tokenizers"))]
        true => Vocabulary::from_gguf(path, options).map(Tokenizer::from_vocabulary),
        #[cfg(not(feature = "tokenizers"))]
        false => Vocabulary::from_file(path, options).map(Tokenizer::from_vocabulary),
    }
}

/// Reads the text of a Hugging Face `tokenizer.json`. As `mw_tokenizer_from_file`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_from_json(
    json: *const u8,
    n_bytes: usize,
    options: *const c_char,
    tokenizer: *mut *mut MwTokenizer,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(tokenizer) };
    let call = || {
        // SAFETY: the caller's promise.
        let (json, given) =
            unsafe { (items(json, n_bytes, "the JSON")?, optional_text(options, "the options")?) };
        let made = of_json(json, &bindings::tokenizer_options(given.unwrap_or_default())?)?;
        // SAFETY: as above.
        unsafe { give_to(tokenizer, made, "where to put the tokenizer") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// A tokenizer of `n_tokens` tokens: their bytes one after the other, the length of each, and for each the
/// flags MW_TOKEN_SPECIAL and MW_TOKEN_ENDS_TEXT (`flags` may be NULL: all are text). An empty token never
/// matches. Text is tokenized by longest match. As `mw_tokenizer_from_file`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_from_tokens(
    bytes: *const u8,
    lengths: *const u32,
    flags: *const u8,
    n_tokens: usize,
    tokenizer: *mut *mut MwTokenizer,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(tokenizer) };
    let call = || {
        // SAFETY: the caller's promise.
        let tokens = unsafe { crate::pointers::tokens(bytes, lengths, n_tokens) }?;
        let flags = match flags.is_null() {
            true => &[],
            // SAFETY: as above.
            false => unsafe { items(flags, n_tokens, "the flags") }?,
        };
        let with = |flag: u8| {
            let ids = flags.iter().enumerate().filter(move |(_, flags)| *flags & flag != 0);
            ids.map(|(id, _)| TokenId(id as u32)).collect::<Vec<_>>()
        };
        let (ends, special) = (with(MW_TOKEN_ENDS_TEXT), with(MW_TOKEN_SPECIAL));
        let made = Tokenizer::from_tokens_with_special(tokens, &ends, &special)?;
        // SAFETY: as above.
        unsafe { give_to(tokenizer, made, "where to put the tokenizer") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// Frees a tokenizer; NULL is nothing to free. Compilers made of it stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_free(tokenizer: *mut MwTokenizer) {
    // SAFETY: the caller's promise.
    unsafe { free(tokenizer) };
}

/// How many tokens there are: the width of the model's logits. 0 for NULL. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_n_vocab(tokenizer: *const MwTokenizer) -> usize {
    // SAFETY: the caller's promise.
    unsafe { get(tokenizer) }.map_or(0, Tokenizer::n_vocab)
}

/// How many 32-bit words a mask has: bit `id % 32` of word `id / 32` is the token's. 0 for NULL. May be
/// called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_mask_words(tokenizer: *const MwTokenizer) -> usize {
    // SAFETY: the caller's promise.
    unsafe { get(tokenizer) }.map_or(0, |tokenizer| maskwright::mask_words(tokenizer.n_vocab()))
}

/// The bytes that a token stands for, which live as long as the tokenizer; NULL for one that is no text, and
/// for ids without a token. `n_bytes`: how many there are; may be NULL. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_token_bytes(
    tokenizer: *const MwTokenizer,
    id: u32,
    n_bytes: *mut usize,
) -> *const u8 {
    // SAFETY: the caller's promise.
    let tokenizer = unsafe { get(tokenizer) };
    let bytes = tokenizer.ok().and_then(|tokenizer| tokenizer.token_bytes(TokenId(id)));
    if !n_bytes.is_null() {
        // SAFETY: it is not NULL, and the caller's promise.
        unsafe { n_bytes.write(bytes.map_or(0, <[u8]>::len)) };
    }
    bytes.map_or(std::ptr::null(), <[u8]>::as_ptr)
}

/// Tokenizes a text; the names of special tokens in it are text. Writes at most `capacity` ids to `ids`,
/// which may be NULL, and to `n_ids` how many the text has. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_tokenizer_encode(
    tokenizer: *const MwTokenizer,
    text: *const u8,
    n_bytes: usize,
    ids: *mut u32,
    capacity: usize,
    n_ids: *mut usize,
    error: *mut *mut ErrorInfo,
) -> Status {
    let call = || {
        // SAFETY: the caller's promise.
        let (tokenizer, text) = unsafe { (get(tokenizer)?, items(text, n_bytes, "the text")?) };
        let tokens = tokenizer.encode_bytes(text)?;
        // SAFETY: as above.
        unsafe { put(n_ids, put_tokens(&tokens, ids, capacity)?, "where to put the number of ids") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}
