//! Tokenizers of `llguidance.h`.

use std::ffi::{c_char, c_void};
use std::sync::Arc;

use maskwright::{Compiler, Error, TokenId, Tokenizer, TokenizerOptions};

use super::{LlgToken, cloned, put_text};
use crate::guard::{argument, caught, of_json};
use crate::pointers::{Opaque, free, get, give, items, optional_text, put_tokens};

/// Leave special tokens out, and other bytes as they are.
pub const LLG_DECODE_NONE: u32 = 0;
/// Write special tokens by their names.
pub const LLG_DECODE_INCLUDE_SPECIAL: u32 = 1;
/// Write U+FFFD for what is not UTF-8.
pub const LLG_DECODE_VALID_UTF8: u32 = 2;

/// What the bytes of a special token begin with.
const MARK: u8 = 0xff;

/// The id of no token.
const NO_TOKEN: u32 = u32::MAX;

/// A vocabulary, how it cuts text, and what compiles for it.
pub struct LlgTokenizer {
    _opaque: [u8; 0],
}

impl Opaque for LlgTokenizer {
    type Inner = Arc<Shared>;
    const NAME: &'static str = "LlgTokenizer";
}

/// Tokenizes bytes: writes at most `output_tokens_len` ids, and returns how many there are. Must be
/// callable from any thread.
pub type LlgTokenizeFn = Option<
    unsafe extern "C" fn(
        user_data: *const c_void,
        bytes: *const u8,
        bytes_len: usize,
        output_tokens: *mut u32,
        output_tokens_len: usize,
    ) -> usize,
>;

/// What an older program gives for a tokenizer. Fill it with zeros first.
#[repr(C)]
pub struct LlgTokenizerInit {
    /// How many tokens there are.
    pub vocab_size: u32,
    /// The token that ends a text.
    pub tok_eos: LlgToken,
    /// The length of each token.
    pub token_lens: *const u32,
    /// The bytes of all tokens. Those of special tokens begin with 0xFF.
    pub token_bytes: *const u8,
    /// The text of a `tokenizer.json`, instead of the two.
    pub tokenizer_json: *const c_char,
    /// Whether `tokenize_fn` takes only UTF-8, and may put something before its tokens.
    pub tokenize_assumes_string: bool,
    /// How text is tokenized.
    pub tokenize_fn: LlgTokenizeFn,
    /// Whether text is tokenized by longest match if there is no `tokenize_fn`.
    pub use_approximate_greedy_tokenize_fn: bool,
    /// The first argument of `tokenize_fn`.
    pub tokenize_user_data: *const c_void,
    /// Ignored.
    pub slices: *const *const c_char,
}

/// What a program gives for a tokenizer: as [`LlgTokenizerInit`], with its own size in front, and more tokens
/// that end a text. Fill it with zeros first.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct LlgTokenizerInitV2 {
    /// The size of this struct.
    pub struct_size: usize,
    /// How many tokens there are.
    pub vocab_size: u32,
    /// The token that ends a text.
    pub tok_eos: LlgToken,
    /// The length of each token.
    pub token_lens: *const u32,
    /// The bytes of all tokens. Those of special tokens begin with 0xFF.
    pub token_bytes: *const u8,
    /// The text of a `tokenizer.json`, instead of the two.
    pub tokenizer_json: *const c_char,
    /// Whether `tokenize_fn` takes only UTF-8, and may put something before its tokens.
    pub tokenize_assumes_string: bool,
    /// How text is tokenized.
    pub tokenize_fn: LlgTokenizeFn,
    /// Whether text is tokenized by longest match if there is no `tokenize_fn`.
    pub use_approximate_greedy_tokenize_fn: bool,
    /// The first argument of `tokenize_fn`.
    pub tokenize_user_data: *const c_void,
    /// Ignored.
    pub slices: *const *const c_char,
    /// More tokens that end a text.
    pub tok_eos_extra: *const LlgToken,
    /// How many these are.
    pub tok_eos_extra_count: u32,
}

impl LlgTokenizerInitV2 {
    fn of_first(first: &LlgTokenizerInit) -> LlgTokenizerInitV2 {
        LlgTokenizerInitV2 {
            struct_size: size_of::<LlgTokenizerInitV2>(),
            vocab_size: first.vocab_size,
            tok_eos: first.tok_eos,
            token_lens: first.token_lens,
            token_bytes: first.token_bytes,
            tokenizer_json: first.tokenizer_json,
            tokenize_assumes_string: first.tokenize_assumes_string,
            tokenize_fn: first.tokenize_fn,
            use_approximate_greedy_tokenize_fn: first.use_approximate_greedy_tokenize_fn,
            tokenize_user_data: first.tokenize_user_data,
            slices: first.slices,
            tok_eos_extra: std::ptr::null(),
            tok_eos_extra_count: 0,
        }
    }
}

/// A tokenizer, its compiler, and the caller's function.
pub(crate) struct Shared {
    pub(super) compiler: Compiler,
    /// As they were given.
    tokens: Vec<Vec<u8>>,
    cut: Option<Cut>,
}

struct Cut {
    function: unsafe extern "C" fn(*const c_void, *const u8, usize, *mut u32, usize) -> usize,
    user_data: *const c_void,
    takes_text: bool,
}

// SAFETY: the caller promises that the function may be called from any thread, with this argument.
unsafe impl Send for Cut {}
// SAFETY: as above.
unsafe impl Sync for Cut {}

impl Cut {
    fn tokens(&self, bytes: &[u8]) -> Vec<u32> {
        let call = |buffer: &mut [u32]| {
            // SAFETY: bytes and buffer have these lengths, and the caller's promise.
            unsafe {
                (self.function)(
                    self.user_data,
                    bytes.as_ptr(),
                    bytes.len(),
                    buffer.as_mut_ptr(),
                    buffer.len(),
                )
            }
        };
        // No token is empty; a second call is for functions that put something before.
        let mut ids = vec![0; bytes.len()];
        let mut n = call(&mut ids);
        if n > ids.len() {
            ids.resize(n, 0);
            n = call(&mut ids);
        }
        ids.truncate(n);
        ids
    }
}

impl Shared {
    /// # Safety
    /// The pointers lead to what the fields say.
    unsafe fn new(init: &LlgTokenizerInitV2) -> Result<Shared, Error> {
        if init.tokenize_fn.is_none() && !init.use_approximate_greedy_tokenize_fn {
            return Err(argument("Either tokenize_fn or use_approximate_greedy_tokenize_fn must be set"));
        }
        // SAFETY: the caller's promise.
        let json = unsafe { optional_text(init.tokenizer_json, "tokenizer_json") }?;
        let mut ends = Vec::new();
        if init.tok_eos != NO_TOKEN {
            ends.push(TokenId(init.tok_eos));
        }
        if !init.tok_eos_extra.is_null() {
            let n = init.tok_eos_extra_count as usize;
            // SAFETY: the caller's promise.
            ends.extend(
                unsafe { items(init.tok_eos_extra, n, "tok_eos_extra") }?.iter().map(|&id| TokenId(id)),
            );
        }
        let in_range = |n_tokens: usize| match ends.iter().find(|id| id.index() >= n_tokens) {
            Some(id) => {
                Err(argument(format!("EOS token ID {} is out of range (vocab_size={n_tokens})", id.0)))
            }
            None => Ok(()),
        };
        let (tokenizer, tokens) = match json {
            Some(json) => {
                let mut options = TokenizerOptions::default();
                options.eos_token_ids = Some(ends.clone());
                options.vocab_size = (init.vocab_size > 0).then_some(init.vocab_size as usize);
                let tokenizer = of_json(json.as_bytes(), &options)?;
                let n_tokens = tokenizer.n_vocab();
                in_range(n_tokens)?;
                let special: std::collections::HashMap<TokenId, &str> = tokenizer.special_tokens().collect();
                let token = |id| match special.get(&TokenId(id)) {
                    Some(name) => [&[MARK], name.as_bytes()].concat(),
                    None => tokenizer.token_bytes(TokenId(id)).unwrap_or_default().to_vec(),
                };
                let tokens = (0..n_tokens as u32).map(token).collect();
                (tokenizer, tokens)
            }
            None => {
                if init.token_lens.is_null() || init.token_bytes.is_null() {
                    return Err(argument("token_lens and token_bytes must be set"));
                }
                in_range(init.vocab_size as usize)?;
                // SAFETY: the caller's promise.
                let tokens = unsafe {
                    crate::pointers::tokens(init.token_bytes, init.token_lens, init.vocab_size as usize)
                }?;
                (of_tokens(&tokens, &ends)?, tokens)
            }
        };
        let cut = init.tokenize_fn.map(|function| Cut {
            function,
            user_data: init.tokenize_user_data,
            takes_text: init.tokenize_assumes_string,
        });
        Ok(Shared { compiler: Compiler::new(&tokenizer), tokens, cut })
    }

    pub(super) fn n_vocab(&self) -> usize {
        self.compiler.tokenizer().n_vocab()
    }

    pub(super) fn is_end(&self, id: TokenId) -> bool {
        self.compiler.tokenizer().eos_token_ids().contains(&id)
    }

    /// The bytes of a token as text; none of a special token.
    pub(super) fn text_of(&self, id: u32) -> &[u8] {
        match self.tokens.get(id as usize).map(Vec::as_slice) {
            Some([MARK, _, ..]) | None => &[],
            Some(text) => text,
        }
    }

    /// The tokens of bytes: the caller's, if they spell them.
    pub(super) fn encode(&self, bytes: &[u8]) -> Vec<TokenId> {
        if let Some(cut) = &self.cut
            && (!cut.takes_text || std::str::from_utf8(bytes).is_ok())
        {
            let mut ids = cut.tokens(bytes);
            // What it puts before them is no text.
            ids.retain(|&id| !self.text_of(id).is_empty());
            let spelled: Vec<u8> = ids.iter().flat_map(|&id| self.text_of(id)).copied().collect();
            if spelled == bytes {
                return ids.into_iter().map(TokenId).collect();
            }
        }
        self.compiler.tokenizer().encode_bytes(bytes).unwrap_or_default()
    }

    /// The same, with special tokens where a mark stands before `<name>` or `[id]`.
    fn encode_marked(&self, bytes: &[u8]) -> Vec<TokenId> {
        let mut tokens = Vec::new();
        let (mut start, mut at) = (0, 0);
        while at < bytes.len() {
            let marked = (bytes[at] == MARK).then(|| self.marked(&bytes[at + 1..])).flatten();
            match marked {
                Some((token, length)) => {
                    tokens.extend(self.encode(&bytes[start..at]));
                    tokens.push(token);
                    at += 1 + length;
                    start = at;
                }
                None => at += 1,
            }
        }
        tokens.extend(self.encode(&bytes[start..]));
        tokens
    }

    /// The token that is written after a mark, and the length of that.
    fn marked(&self, bytes: &[u8]) -> Option<(TokenId, usize)> {
        let close = match bytes.first()? {
            b'[' => b']',
            b'<' => b'>',
            _ => return None,
        };
        let length = bytes.iter().position(|&byte| byte == close)? + 1;
        let written = std::str::from_utf8(&bytes[..length]).ok()?;
        let number = written.trim_matches(['<', '>', '[', ']']).parse::<u32>().ok();
        let token = match number.filter(|_| written.starts_with('[') || written.starts_with("<[")) {
            Some(id) => TokenId(id),
            None => self.compiler.tokenizer().special_token_id(written)?,
        };
        (token.index() < self.n_vocab()).then_some((token, length))
    }

    /// The text of tokens.
    pub(super) fn decode(&self, ids: &[u32], flags: u32) -> Vec<u8> {
        let mut text = Vec::new();
        for &id in ids {
            match self.tokens.get(id as usize).map(Vec::as_slice) {
                Some([MARK, name @ ..]) if !name.is_empty() => {
                    text.extend_from_slice(if flags & LLG_DECODE_INCLUDE_SPECIAL != 0 { name } else { &[] });
                }
                Some(token) if !token.is_empty() => text.extend_from_slice(token),
                _ if flags & LLG_DECODE_INCLUDE_SPECIAL != 0 => {
                    text.extend_from_slice(format!("<[{id}]>").as_bytes());
                }
                _ => {}
            }
        }
        match flags & LLG_DECODE_VALID_UTF8 {
            0 => text,
            _ => String::from_utf8_lossy(&text).into_owned().into_bytes(),
        }
    }
}

/// The tokenizer of tokens as they are given: special ones begin with a mark. One whose name is no UTF-8 can
/// never be written.
fn of_tokens(given: &[Vec<u8>], ends: &[TokenId]) -> Result<Tokenizer, Error> {
    let (mut tokens, mut special) = (Vec::with_capacity(given.len()), Vec::new());
    for (id, token) in given.iter().enumerate() {
        tokens.push(match &token[..] {
            [MARK, name @ ..] if !name.is_empty() => match std::str::from_utf8(name) {
                Ok(name) => {
                    special.push(TokenId(id as u32));
                    name.as_bytes().to_vec()
                }
                Err(_) => Vec::new(),
            },
            text => text.to_vec(),
        });
    }
    Tokenizer::from_tokens_with_special(tokens, ends, &special)
}

/// Makes a tokenizer, or writes to the buffer why it cannot be made.
///
/// # Safety
/// The buffer is NULL or has `length` bytes.
unsafe fn made(
    call: impl FnOnce() -> Result<Shared, Error>,
    buffer: *mut c_char,
    length: usize,
) -> *mut LlgTokenizer {
    match caught(call) {
        Ok(shared) => give(Arc::new(shared)),
        Err(error) => {
            // SAFETY: the caller's promise.
            unsafe { put_text(error.to_string().as_bytes(), buffer, length) };
            std::ptr::null_mut()
        }
    }
}

/// A tokenizer, to be freed with `llg_free_tokenizer`; NULL, and a message in `error_string`, if it cannot be
/// made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_tokenizer(
    tok_init: *const LlgTokenizerInit,
    error_string: *mut c_char,
    error_string_len: usize,
) -> *mut LlgTokenizer {
    let call = || {
        // SAFETY: the caller's promise; `items` refuses NULL.
        let init = unsafe { items(tok_init, 1, "tok_init") }.map_err(|_| argument("tok_init is NULL"))?;
        // SAFETY: as above.
        unsafe { Shared::new(&LlgTokenizerInitV2::of_first(&init[0])) }
    };
    // SAFETY: as above.
    unsafe { made(call, error_string, error_string_len) }
}

/// The same with more tokens that end a text. Of the struct, `struct_size` bytes are read, so a program that
/// knows fewer fields works too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_tokenizer_v2(
    tok_init: *const LlgTokenizerInitV2,
    error_string: *mut c_char,
    error_string_len: usize,
) -> *mut LlgTokenizer {
    let call = || {
        if tok_init.is_null() || !tok_init.is_aligned() {
            return Err(argument("tok_init is NULL"));
        }
        // SAFETY: it is not NULL, aligned, and begins with its size.
        let given = unsafe { *tok_init.cast::<usize>() };
        let least = std::mem::offset_of!(LlgTokenizerInitV2, token_lens);
        if given < least {
            return Err(argument(format!(
                "LlgTokenizerInitV2.struct_size is {given}, expected at least {least}: set it to sizeof(LlgTokenizerInitV2)"
            )));
        }
        // SAFETY: zeros are a value of each field: numbers, NULL, false and no function.
        let mut init: LlgTokenizerInitV2 = unsafe { std::mem::zeroed() };
        let n_bytes = given.min(size_of::<LlgTokenizerInitV2>());
        // SAFETY: the caller's promise that so many bytes are there, and `init` has room for them.
        unsafe {
            std::ptr::copy_nonoverlapping(tok_init.cast::<u8>(), (&raw mut init).cast::<u8>(), n_bytes);
        }
        // SAFETY: the caller's promise.
        unsafe { Shared::new(&init) }
    };
    // SAFETY: as above.
    unsafe { made(call, error_string, error_string_len) }
}

/// The same tokenizer once more, to be freed by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_clone_tokenizer(tok: *const LlgTokenizer) -> *mut LlgTokenizer {
    // SAFETY: the caller's promise.
    unsafe { cloned(tok) }
}

/// Frees a tokenizer; NULL is nothing to free. What was made with it stays valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_free_tokenizer(tok: *mut LlgTokenizer) {
    // SAFETY: the caller's promise.
    unsafe { free(tok) };
}

/// Tokenizes bytes with `encode`.
///
/// # Safety
/// That of the function of C that calls it.
unsafe fn tokenized(
    tok: *const LlgTokenizer,
    (bytes, bytes_len): (*const u8, usize),
    (output, output_len): (*mut u32, usize),
    encode: impl FnOnce(&Shared, &[u8]) -> Vec<TokenId>,
) -> usize {
    let call = || {
        // SAFETY: the caller's promise.
        let (tokenizer, bytes) = unsafe { (get(tok)?, items(bytes, bytes_len, "bytes")?) };
        // SAFETY: as above.
        unsafe { put_tokens(&encode(tokenizer, bytes), output, output_len) }
    };
    caught(call).unwrap_or_default()
}

/// Tokenizes bytes: writes as many ids as the buffer holds, and returns how many there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_tokenize_bytes(
    tok: *const LlgTokenizer,
    bytes: *const u8,
    bytes_len: usize,
    output_tokens: *mut u32,
    output_tokens_len: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { tokenized(tok, (bytes, bytes_len), (output_tokens, output_tokens_len), Shared::encode) }
}

/// The same; after a byte 0xFF, `<name>` and `[id]` stand for a special token.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_tokenize_bytes_marker(
    tok: *const LlgTokenizer,
    bytes: *const u8,
    bytes_len: usize,
    output_tokens: *mut u32,
    output_tokens_len: usize,
) -> usize {
    // SAFETY: the caller's promise.
    unsafe { tokenized(tok, (bytes, bytes_len), (output_tokens, output_tokens_len), Shared::encode_marked) }
}

/// Tokens for people to read, between marks. Writes what the buffer holds, with a NUL byte, and returns how
/// many bytes there are with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_stringify_tokens(
    tok: *const LlgTokenizer,
    tokens: *const u32,
    n_tokens: usize,
    output: *mut c_char,
    output_len: usize,
) -> usize {
    let call = || {
        // SAFETY: the caller's promise.
        let (tokenizer, tokens) = unsafe { (get(tok)?, items(tokens, n_tokens, "tokens")?) };
        let flags = LLG_DECODE_INCLUDE_SPECIAL | LLG_DECODE_VALID_UTF8;
        let shown = tokens.iter().map(|&id| tokenizer.decode(&[id], flags));
        let shown = [b"\xe2\x9f\xa6", &shown.collect::<Vec<_>>().join("‧".as_bytes())[..], b"\xe2\x9f\xa7"];
        // SAFETY: as above.
        Ok(unsafe { put_text(&shown.concat(), output, output_len) })
    };
    caught(call).unwrap_or_default()
}

/// The text of tokens. `flags`: any of LLG_DECODE_… Writes what the buffer holds, with a NUL byte, and
/// returns how many bytes there are with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_decode_tokens(
    tok: *const LlgTokenizer,
    tokens: *const u32,
    n_tokens: usize,
    output: *mut c_char,
    output_len: usize,
    flags: u32,
) -> usize {
    let call = || {
        // SAFETY: the caller's promise.
        let (tokenizer, tokens) = unsafe { (get(tok)?, items(tokens, n_tokens, "tokens")?) };
        // SAFETY: as above.
        Ok(unsafe { put_text(&tokenizer.decode(tokens, flags), output, output_len) })
    };
    caught(call).unwrap_or_default()
}
