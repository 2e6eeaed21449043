//! Constrained decoding: a language model that can only write what a grammar allows.
//!
//! Given a grammar (a regular expression, a JSON Schema, a structural tag, GBNF, Lark, a list of choices, a
//! built-in language) and a model's vocabulary, Maskwright says at each step exactly which tokens may come
//! next.
//!
//! ```
//! use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
//!
//! let tokens = ["{", "}", "\"", "ok", ":", " ", "true", "false", "</s>"];
//! let tokens = tokens.map(|token| token.as_bytes().to_vec());
//! let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(8)])?;
//! let compiler = Compiler::new(&tokenizer);
//! let schema = r#"{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
//!     "additionalProperties": false}"#;
//! let schema = GrammarSource::json_schema(schema, Default::default());
//! let grammar = compiler.compile(&schema, &CompileOptions::default())?;
//! let mut matcher = grammar.matcher();
//! for token in tokenizer.encode(r#"{"ok": true}"#)? {
//!     assert!(matcher.mask()?.contains(token));
//!     assert!(matcher.accept_token(token)?);
//! }
//! assert!(matcher.is_accepting());
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! The parts: a [`Tokenizer`] (a [`Vocabulary`] with its encoder), a [`Compiler`] for it, a
//! [`GrammarSource`], the [`CompiledGrammar`] made from it, and a [`Matcher`] for each sequence.
//! [`MatcherConfig::max_tokens`] makes sure that the text is complete within a number of tokens. A
//! [`Template`] (fixed pieces and holes) or a [`Canvas`] (known and masked tokens) fills in a text with known
//! parts. [`CompiledGrammar::check`] says where a whole text leaves the language, and why. Every call that
//! can fail returns [`Error`]; the errors of building a grammar by hand convert to it.
//!
//! Rare options are in modules by topic: [`json_schema`], [`lark`], [`infill`], [`grammar`] (grammars built
//! by hand) and [`inspect`] (what the engine knows, for debugging).
//!
//! # Features
//!
//! Both are on by default. Without them half as many crates are compiled. A [`Tokenizer`] is then made from a
//! list of tokens; a [`Vocabulary`] is read from `tokenizer.json` and GGUF files all the same.
//!
//! * `tokenizers`: `Tokenizer::from_file`, `from_json` and `from_gguf`.
//! * `tiktoken`: `Tokenizer::from_tiktoken`, with OpenAI's encodings inside.

pub mod bindings;
mod check;
mod compiled;
mod compiler;
mod events;
mod frame;
pub mod json_schema;
pub mod lark;
mod limits;
mod named_tokens;
mod pieces;
mod source;
mod special_text;
mod words;

pub use check::{Check, CheckConfig, CheckReason};
pub use compiled::CompiledGrammar;
pub use compiler::{CompileOptions, Compiler};
pub use events::{Capture, Event, Events, Message, PathPart, ToolCall};
pub use limits::Limits;
pub use maskwright_automata::CancelToken;
/// Follows one text from left to right. [`CompiledGrammar::matcher`] makes one.
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["ab"]), &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [TokenId(0)]);
/// assert!(matcher.accept_token(TokenId(0))?);
/// assert!(!matcher.accept_token(TokenId(0))?, "refused, and nothing changed");
/// assert!(matcher.accept_token(TokenId(1))? && matcher.is_accepting());
/// assert!(matcher.accept_token(TokenId(2))? && matcher.is_terminated());
/// matcher.rollback(2)?;
/// assert!(!matcher.is_accepting());
/// # Ok::<(), maskwright::Error>(())
/// ```
pub use maskwright_engine::Matcher;
/// What the engine makes of a grammar and a text, for debugging.
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokens = ["1", "23", "x"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("[0-9]+"), &CompileOptions::default())?;
/// assert_eq!(grammar.inspect_rules(100).len(), 1);
/// let rows = grammar.matcher().inspect_rows()?;
/// assert_eq!(rows[0].n_inside, Some(2), "1 and 23 are digits alone");
/// # Ok::<(), maskwright::Error>(())
/// ```
pub use maskwright_engine::inspect;
pub use maskwright_engine::{
    Likeliest, LikeliestConfig, LikeliestStatus, MaskStatus, MatcherConfig, MatcherState, MatcherStep,
    PositionScores, StateKeyword, StateNext, TokenCountStatus, TokensToFinish,
};
/// What every call that can fail returns.
///
/// ```
/// use maskwright::{CompileOptions, ErrorKind, GrammarSource};
/// let source = GrammarSource::gbnf("root ::= itm+\nitem ::= \"x\"");
/// let error = source.grammar(&CompileOptions::default()).unwrap_err();
/// assert_eq!((error.kind(), error.line(), error.column()), (ErrorKind::Grammar, Some(1), Some(10)));
/// assert_eq!(error.hint(), Some("did you mean `item`?"));
/// ```
pub use maskwright_error::Error;
pub use maskwright_error::ErrorKind;
/// For models that fill in masked tokens, in any order. [`CompiledGrammar::canvas`] makes one.
///
/// ```
/// use maskwright::infill::Verdict;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["(", ")", "()", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["()()"]), &CompileOptions::default())?;
/// let mut canvas = grammar.canvas(&[None, None, Some(TokenId(1))])?;
/// assert_eq!(canvas.complete()?, Some(vec![TokenId(2), TokenId(0), TokenId(1)]));
/// assert!(!canvas.set(0, TokenId(0))?, "`(` and one token and `)` is never ()()");
/// assert_eq!(canvas.allows(1, &[TokenId(0), TokenId(2)])?, [Verdict::Yes, Verdict::No]);
/// assert!(canvas.set(1, TokenId(0))?);
/// canvas.undo();
/// assert_eq!(canvas.positions()[1], None);
/// # Ok::<(), maskwright::Error>(())
/// ```
pub use maskwright_infill::Canvas;
/// For texts of which some pieces are given. [`CompiledGrammar::template`] makes one.
///
/// ```
/// use maskwright::infill::{Hole, Part};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokens = ["a", "b", "ab"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("(ab)+"), &CompileOptions::default())?;
/// let parts = vec![Part::Text(b"a".to_vec()), Part::Hole(Hole::Exactly(2)), Part::Text(b"b".to_vec())];
/// let mut template = grammar.template(parts)?;
/// assert_eq!(template.complete()?, Some(b"abab".to_vec()));
/// let mut mask = [0];
/// template.fill_mask(0, &[], &mut mask)?;
/// assert_eq!(mask, [0b010], "`b` and then `a`: nothing else is two tokens here");
/// # Ok::<(), maskwright::Error>(())
/// ```
pub use maskwright_infill::Template;
pub use maskwright_vocabulary::{
    Mask, TokenId, Tokenizer, TokenizerOptions, Vocabulary, mask_contains, mask_words,
};
pub use source::GrammarSource;
pub use special_text::GrammarWarning;

/// How families of models write calls of tools: the options of [`GrammarSource::tool_calls`].
pub mod tool_calls {
    pub use maskwright_tags::{
        OnError, Reasons, ToolCallOptions, ToolFormat, formats_of_template, template_opens_reasoning,
        tool_formats,
    };
}

/// The parts of templates and canvases.
pub mod infill {
    /// Makes canvases and templates. [`CompiledGrammar::infiller`](crate::CompiledGrammar::infiller) makes
    /// one.
    ///
    /// ```
    /// use maskwright::infill::CanvasConfig;
    /// use maskwright::{Canvas, CompileOptions, Compiler, GrammarSource, Tokenizer};
    /// let tokens = ["a", "ab", "b"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
    /// let options = CompileOptions::default();
    /// let grammar = compiler.compile(&GrammarSource::choice(["abab"]), &options)?;
    /// let mut canvas = Canvas::new(&grammar.infiller(&options)?, &[None; 3], CanvasConfig::default())?;
    /// assert!(canvas.is_possible()?);
    /// let mut mask = [0];
    /// canvas.fill_mask(1, &mut mask, true)?;
    /// assert_eq!(mask, [0b101], "ab a b, a b ab: never a b a");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub use maskwright_infill::Infiller;
    pub use maskwright_infill::{CanvasConfig, CanvasStatus, Hole, InfillLimits, Part, Verdict};
}

/// Calls that somebody may want to stop: masks, completions, canvases. (A compilation has a [`CancelToken`].)
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicBool, Ordering};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer, stop};
/// let tokenizer = Tokenizer::from_tokens(vec![b"a".to_vec(), b"</s>".to_vec()], &[TokenId(1)])?;
/// let grammar = GrammarSource::regex("a{1000000}");
/// let grammar = Compiler::new(&tokenizer).compile(&grammar, &CompileOptions::default())?;
/// // Another thread sets it.
/// let is_to_stop = Arc::new(AtomicBool::new(true));
/// let watch = is_to_stop.clone();
/// let (text, is_stopped) =
///     stop::watched(move || watch.load(Ordering::Relaxed), || grammar.matcher().finish());
/// assert!(is_stopped && text.is_err(), "what is returned then says nothing");
/// # Ok::<(), maskwright::Error>(())
/// ```
pub mod stop {
    pub use maskwright_automata::meter::{is_stopped, look, unwatched, watched};
}

/// Grammars built by hand, rule by rule, and the types that stand for them.
///
/// ```
/// use maskwright::grammar::{Fuel, GrammarBuilder};
/// use maskwright::{CompileOptions, GrammarSource};
/// let date = GrammarSource::regex("[0-9]{4}-[0-9]{2}").grammar(&CompileOptions::default())?;
/// let mut builder = GrammarBuilder::new();
/// let start = builder.declare("start");
/// let dates = builder.embed(&date, &Fuel::new(1_000), |builder, terminal| {
///     builder.terminal(date.terminals()[terminal.index()].clone())
/// })?;
/// let (open, close) = (builder.literal("["), builder.literal("]"));
/// let body = builder.seq(&[open, dates, close]);
/// builder.define(start, body);
/// let source = GrammarSource::from(builder.finish(start)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub mod grammar {
    pub use maskwright_automata::{ByteSet, Fuel, FuelError, Regex};
    pub use maskwright_grammar::{
        ExprId, Grammar, GrammarBuilder, GrammarError, RuleId, ShuffleItem, ShuffleList, TerminalId,
    };
}

/// For the command line and experiments; no part of it is promised.
#[doc(hidden)]
pub mod debug {
    pub use maskwright_error::{counted, nearest_name};
    pub use maskwright_lark::LarkGrammar;

    pub use maskwright_engine::EngineGrammar;

    pub use crate::check::{quoted, without_line_end};
    pub use crate::frame::Place;
    pub use crate::pieces::{ReadText, read_text};
    pub use crate::source::Parsed;
}
