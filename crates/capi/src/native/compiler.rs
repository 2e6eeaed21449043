//! Compilers and grammars of `maskwright.h`.

use std::ffi::c_char;
use std::sync::Arc;

use maskwright::{CancelToken, CompileOptions, CompiledGrammar, Compiler, bindings};

use super::error::{given_text, put_text, report};
use super::{ErrorInfo, MwTokenizer, Status};
use crate::guard::argument;
use crate::pointers::{Opaque, clear, free, get, give, give_to, items, optional_text, text};

/// Compiles grammars for one tokenizer, and has the caches that they share.
pub struct MwCompiler {
    _opaque: [u8; 0],
}

impl Opaque for MwCompiler {
    type Inner = Compiler;
    const NAME: &'static str = "compiler";
}

/// A compiled grammar.
pub struct MwGrammar {
    _opaque: [u8; 0],
}

impl Opaque for MwGrammar {
    type Inner = Grammar;
    const NAME: &'static str = "grammar";
}

/// A grammar and what its sessions need besides.
pub(crate) struct Grammar {
    pub(super) compiled: Arc<CompiledGrammar>,
    pub(super) compiler: Compiler,
}

/// Stops work from another thread.
pub struct MwCancel {
    _opaque: [u8; 0],
}

impl Opaque for MwCancel {
    type Inner = CancelToken;
    const NAME: &'static str = "cancel token";
}

/// A compiler. `limits`: JSON, the limits of Python's `Compiler(limits=…)` in one object, such as
/// `{"compile_work": 1000000, "mask_work": 500000}`, or NULL. Result: `compiler`, to be freed with
/// `mw_compiler_free`. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_new(
    tokenizer: *const MwTokenizer,
    limits: *const c_char,
    compiler: *mut *mut MwCompiler,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(compiler) };
    let call = || {
        // SAFETY: the caller's promise.
        let (tokenizer, limits) =
            unsafe { (get(tokenizer)?, optional_text(limits, "the limits")?.unwrap_or_default()) };
        let made = Compiler::with_limits(tokenizer, bindings::limits(limits)?);
        // SAFETY: as above.
        unsafe { give_to(compiler, made, "where to put the compiler") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// Frees a compiler; NULL is nothing to free. Grammars that it compiled stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_free(compiler: *mut MwCompiler) {
    // SAFETY: the caller's promise.
    unsafe { free(compiler) };
}

/// The bytes that the compiler's caches and grammars take. 0 for NULL. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compiler_memory(compiler: *const MwCompiler) -> usize {
    // SAFETY: the caller's promise.
    unsafe { get(compiler) }.map_or(0, Compiler::memory_usage)
}

/// Compiles a grammar.
///
/// * `kind`: "json_schema", "regex", "choice", "lark", "gbnf", "structural_tag", "tool_calls" or "builtin".
/// * `source`, `n_bytes`: its text; choices as a JSON array of texts, tools as JSON (MCP, OpenAI's or
///   Anthropic's), a built-in grammar by its name.
/// * `options`: JSON, the options of Python's `compile_…` for the kind, such as
///   `{"whitespace": "compact"}`; tool calls need `{"format": "qwen_3"}`. NULL for none.
/// * `cancel`: ends the compilation when it is cancelled on another thread; may be NULL.
///
/// Result: `grammar`, to be freed with `mw_grammar_free`. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_compile(
    compiler: *const MwCompiler,
    kind: *const c_char,
    source: *const c_char,
    n_bytes: usize,
    options: *const c_char,
    cancel: *const MwCancel,
    grammar: *mut *mut MwGrammar,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(grammar) };
    let call = || {
        // SAFETY: the caller's promise.
        let (compiler, kind, source, options) = unsafe {
            let options = optional_text(options, "the options")?.unwrap_or_default();
            (
                get(compiler)?,
                text(kind, "the kind")?,
                items(source.cast::<u8>(), n_bytes, "the source")?,
                options,
            )
        };
        let source = std::str::from_utf8(source)
            .map_err(|error| argument(format!("the source is not UTF-8: {error}")))?;
        let mut with = CompileOptions::default();
        if !cancel.is_null() {
            // SAFETY: as above.
            with.cancel = Some(unsafe { get(cancel) }?.clone());
        }
        let compiled = compiler.compile(&bindings::source(kind, source, options)?, &with)?;
        let made = Grammar { compiled, compiler: compiler.clone() };
        // SAFETY: as above.
        unsafe { give_to(grammar, made, "where to put the grammar") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// Frees a grammar; NULL is nothing to free. Its sessions stay valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_free(grammar: *mut MwGrammar) {
    // SAFETY: the caller's promise.
    unsafe { free(grammar) };
}

/// What became of each keyword of a schema: a JSON array of objects with `pointer`, `keyword`, `status`,
/// `reason`, `suggestion` and `tool`. To be freed with `mw_text_free`; NULL for NULL. May be called from any
/// thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_report(grammar: *const MwGrammar) -> *mut c_char {
    // SAFETY: the caller's promise.
    match unsafe { get(grammar) } {
        Ok(grammar) => given_text(bindings::report(grammar.compiled.report()).to_string()),
        Err(_) => std::ptr::null_mut(),
    }
}

/// Reads a whole text: what it says, as a JSON object with `text`, `reasoning`, `calls` (each with `name`,
/// `id`, `arguments` as JSON text or `input`), `value` (JSON text) and `captures`. Result: `message`, to be
/// freed with `mw_text_free`. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_parse(
    grammar: *const MwGrammar,
    text: *const u8,
    n_bytes: usize,
    message: *mut *mut c_char,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(message) };
    let call = || {
        // SAFETY: the caller's promise.
        let (grammar, text) = unsafe { (get(grammar)?, items(text, n_bytes, "the text")?) };
        let said = bindings::message(&grammar.compiled.parse(text)?);
        // SAFETY: as above.
        unsafe { put_text(message, said.to_string(), "where to put the message") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// The grammar as a text that goes wherever `libmaskwright_llguidance` is given Lark, such as the field
/// `grammar` of llama-server. Result: `exported`, to be freed with `mw_text_free`. Fails for grammars that
/// need other files. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_grammar_export(
    grammar: *const MwGrammar,
    exported: *mut *mut c_char,
    error: *mut *mut ErrorInfo,
) -> Status {
    // SAFETY: the caller's promise.
    unsafe { clear(exported) };
    let call = || {
        // SAFETY: the caller's promise.
        let text = bindings::exported(unsafe { get(grammar) }?.compiled.source())?;
        // SAFETY: as above.
        unsafe { put_text(exported, text, "where to put the text") }
    };
    // SAFETY: as above.
    unsafe { report(error, call) }
}

/// A token that stops work from another thread, to be freed with `mw_cancel_free`. May be called from any
/// thread.
#[unsafe(no_mangle)]
pub extern "C" fn mw_cancel_new() -> *mut MwCancel {
    give(CancelToken::new())
}

/// Stops the work that was given this, now and later. May be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_cancel(cancel: *const MwCancel) {
    // SAFETY: the caller's promise.
    if let Ok(cancel) = unsafe { get(cancel) } {
        cancel.cancel();
    }
}

/// Frees what stops work; NULL is nothing to free. Work that was given it is not stopped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn mw_cancel_free(cancel: *mut MwCancel) {
    // SAFETY: the caller's promise.
    unsafe { free(cancel) };
}
