//! Stop controllers of `llguidance.h`: they end a text at tokens, or before text that a pattern matches.

use std::ffi::c_char;
use std::sync::Arc;

use maskwright::{
    CompileOptions, CompiledGrammar, Compiler, Error, GrammarSource, Matcher, TokenId, Tokenizer,
};

use super::tokenizer::Shared;
use super::{LLG_DECODE_INCLUDE_SPECIAL, LlgTokenizer, cloned, put_text};
use crate::guard::{argument, caught};
use crate::pointers::{Opaque, free, get, get_mut, give, items, optional_text, put};

/// Watches a text for where it stops.
pub struct LlgStopController {
    _opaque: [u8; 0],
}

impl Opaque for LlgStopController {
    type Inner = Inner;
    const NAME: &'static str = "LlgStopController";
}

#[derive(Clone)]
pub(crate) struct Inner {
    tokenizer: Arc<Shared>,
    stop_tokens: Vec<u32>,
    pattern: Option<Arc<CompiledGrammar>>,
    /// The text that is held back: it may belong to a match, or be the beginning of a character.
    held: Vec<u8>,
    /// A match that may have begun at a byte of it, the earliest first; no two in the same state.
    begun: Vec<(usize, Matcher)>,
    is_stopped: bool,
    /// The last text, which the caller may be reading.
    output: Vec<u8>,
}

impl Inner {
    fn new(tokenizer: Arc<Shared>, stop_tokens: &[u32], pattern: Option<&str>) -> Result<Inner, Error> {
        let compile = |pattern: &str| {
            // Over bytes, so that the words of the vocabulary don't matter.
            let bytes = Tokenizer::from_tokens((0..=255).map(|byte| vec![byte]).collect(), &[])?;
            let source = GrammarSource::rust_regex(pattern);
            let grammar = Compiler::new(&bytes).compile(&source, &CompileOptions::default())?;
            match grammar.matcher().is_accepting() {
                true => Err(argument("the stop pattern matches the empty text")),
                false => Ok(grammar),
            }
        };
        Ok(Inner {
            tokenizer,
            stop_tokens: stop_tokens.to_vec(),
            pattern: pattern.map(compile).transpose()?,
            held: Vec::new(),
            begun: Vec::new(),
            is_stopped: false,
            output: Vec::new(),
        })
    }

    /// Reads a token; returns the text that certainly belongs to the whole.
    fn commit(&mut self, token: u32) -> Result<Vec<u8>, Error> {
        if self.is_stopped {
            return Ok(Vec::new());
        }
        if self.stop_tokens.contains(&token) {
            self.is_stopped = true;
            return Ok(std::mem::take(&mut self.held));
        }
        let tokenizer = self.tokenizer.clone();
        if tokenizer.text_of(token).is_empty() {
            // A match of a text never has a special token within it.
            self.begun.clear();
            let is_known = TokenId(token).index() < tokenizer.n_vocab();
            let name =
                if is_known { tokenizer.decode(&[token], LLG_DECODE_INCLUDE_SPECIAL) } else { Vec::new() };
            return Ok([std::mem::take(&mut self.held), name].concat());
        }
        for &byte in tokenizer.text_of(token) {
            if let Some(start) = self.read(byte)? {
                self.is_stopped = true;
                self.held.truncate(start);
                return Ok(std::mem::take(&mut self.held));
            }
        }
        let certain = self.begun.first().map_or(self.held.len(), |&(start, _)| start);
        let n = whole_characters(&self.held[..certain]);
        for (start, _) in &mut self.begun {
            *start -= n;
        }
        Ok(self.held.drain(..n).collect())
    }

    /// Reads a byte; returns where the match begins that ends with it.
    fn read(&mut self, byte: u8) -> Result<Option<usize>, Error> {
        self.held.push(byte);
        let Some(pattern) = &self.pattern else { return Ok(None) };
        self.begun.push((self.held.len() - 1, pattern.matcher()));
        let mut still = Vec::with_capacity(self.begun.len());
        for (start, mut matcher) in self.begun.drain(..) {
            if !matcher.accept_bytes(&[byte])? {
                continue;
            }
            if matcher.is_accepting() {
                return Ok(Some(start));
            }
            let state = matcher.inspect_configuration();
            if still.iter().all(|(_, earlier): &(usize, Matcher)| earlier.inspect_configuration() != state) {
                still.push((start, matcher));
            }
        }
        self.begun = still;
        Ok(None)
    }
}

/// How many bytes are there without a character that is not complete at their end.
fn whole_characters(bytes: &[u8]) -> usize {
    let cut = bytes.iter().rev().take(3).position(|&byte| byte >= 0xc0).map_or(0, |after| after + 1);
    let start = bytes.len() - cut;
    match std::str::from_utf8(&bytes[start..]) {
        Err(error) if error.error_len().is_none() => start + error.valid_up_to(),
        _ => bytes.len(),
    }
}

/// A controller that stops at `stop_tokens`, and before text that `stop_rx` matches (NULL for none), to be
/// freed with `llg_free_stop_controller`; NULL, and a message in `error_string`, if it cannot be made.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_new_stop_controller(
    tokenizer: *const LlgTokenizer,
    stop_tokens: *const u32,
    stop_tokens_len: usize,
    stop_rx: *const c_char,
    error_string: *mut c_char,
    error_string_len: usize,
) -> *mut LlgStopController {
    let call = || {
        // SAFETY: the caller's promise.
        let (tokenizer, tokens, pattern) = unsafe {
            let tokens = items(stop_tokens, stop_tokens_len, "stop_tokens")?;
            (get(tokenizer)?, tokens, optional_text(stop_rx, "stop_rx")?)
        };
        let in_range = |&id: &u32| TokenId(id).index() < tokenizer.n_vocab();
        if let Some(id) = tokens.iter().find(|id| !in_range(id)) {
            return Err(argument(format!("the stop token {id} is out of range")));
        }
        Inner::new(tokenizer.clone(), tokens, pattern)
    };
    match caught(call) {
        Ok(inner) => give(inner),
        Err(error) => {
            // SAFETY: as above.
            unsafe { put_text(error.to_string().as_bytes(), error_string, error_string_len) };
            std::ptr::null_mut()
        }
    }
}

/// Reads a token. Returns the text to show, until the next call, its length in `output_len_p`, and in
/// `is_stopped_p` whether the text has stopped. A NUL byte follows it. NULL for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_stop_commit_token(
    stop_ctrl: *mut LlgStopController,
    token: u32,
    output_len_p: *mut usize,
    is_stopped_p: *mut bool,
) -> *const c_char {
    // SAFETY: the caller's promise.
    let Ok(inner) = (unsafe { get_mut(stop_ctrl) }) else { return std::ptr::null() };
    let text = caught(|| inner.commit(token)).unwrap_or_else(|_| {
        // Text that can't be watched any more ends.
        inner.is_stopped = true;
        std::mem::take(&mut inner.held)
    });
    let text = String::from_utf8_lossy(&text).into_owned();
    // SAFETY: as above. A NULL is left alone.
    unsafe {
        let _ = put(output_len_p, text.len(), "output_len_p");
        let _ = put(is_stopped_p, inner.is_stopped, "is_stopped_p");
    }
    inner.output = text.into_bytes();
    inner.output.push(0);
    inner.output.as_ptr().cast()
}

/// A controller in the same state, to be freed by itself.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_clone_stop_controller(
    stop_ctrl: *const LlgStopController,
) -> *mut LlgStopController {
    // SAFETY: the caller's promise.
    unsafe { cloned(stop_ctrl) }
}

/// Frees a controller; NULL is nothing to free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn llg_free_stop_controller(stop_ctrl: *mut LlgStopController) {
    // SAFETY: the caller's promise.
    unsafe { free(stop_ctrl) };
}
