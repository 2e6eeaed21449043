//! Constrained decoding: a language model that can only write what a grammar allows.
//!
//! Given a grammar (a regular expression, a JSON Schema, a structural tag, GBNF, Lark, a list of choices, a built-in language) and a
//! model's vocabulary, Maskwright says at each step exactly which tokens may come next.
//!
//! ```
//! use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
//!
//! let tokens = ["{", "}", "\"", "ok", ":", " ", "true", "false", "</s>"];
//! let tokenizer = Tokenizer::from_tokens(tokens.map(|token| token.as_bytes().to_vec()).to_vec(), &[8])?;
//! let compiler = Compiler::new(&tokenizer);
//! let schema = r#"{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
//!     "additionalProperties": false}"#;
//! let schema = GrammarSource::json_schema(schema, Default::default());
//! let grammar = compiler.compile(&schema, &CompileOptions::default())?;
//! let mut matcher = Matcher::new(&grammar);
//! for token in tokenizer.encode(r#"{"ok": true}"#)? {
//!     assert!(matcher.mask()?.contains(TokenId(token)));
//!     assert!(matcher.accept_token(TokenId(token))?);
//! }
//! assert!(matcher.is_accepting());
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! The parts: a [`Tokenizer`] (a [`Vocabulary`] with its encoder), a [`Compiler`] for it, a [`GrammarSource`], the
//! [`CompiledGrammar`] made from it, and a [`Matcher`] for each sequence. [`Matcher::with_max_tokens`] makes sure that the
//! text is complete within a number of tokens. A [`Template`] (fixed pieces and holes) or a [`Canvas`] (known and masked
//! tokens) fills in a text with known parts. Every call that can fail returns [`Error`]; the
//! errors of building a grammar by hand convert to it.
//!
//! Rare options are in modules by topic: [`json_schema`], [`lark`], [`infill`], [`grammar`] (grammars built by hand) and
//! [`inspect`] (what the engine knows, for debugging).
//!
//! # Features
//!
//! Both are on by default. Without them half as many crates are compiled. A [`Tokenizer`] is then made from a list of tokens;
//! a [`Vocabulary`] is read from `tokenizer.json` and GGUF files all the same.
//!
//! * `tokenizers`: `Tokenizer::from_file`, `from_json` and `from_gguf`.
//! * `tiktoken`: `Tokenizer::from_tiktoken`, with OpenAI's encodings inside.

mod compiled;
mod compiler;
pub mod json_schema;
pub mod lark;
mod limits;
mod named_tokens;
mod source;
mod special_text;

pub use compiled::CompiledGrammar;
pub use compiler::{CompileOptions, Compiler};
pub use limits::Limits;
pub use maskwright_automata::CancelToken;
pub use maskwright_engine::{MaskStatus, Matcher, Taken, TokenCountStatus, TokensToFinish, inspect};
pub use maskwright_error::{Error, ErrorKind};
pub use maskwright_infill::{Canvas, Template};
pub use maskwright_vocabulary::{
    Mask, TokenId, Tokenizer, TokenizerOptions, Vocabulary, mask_contains, mask_words,
};
pub use source::GrammarSource;
pub use special_text::GrammarWarning;

/// The parts of templates and canvases.
pub mod infill {
    pub use maskwright_infill::{CanvasConfig, CanvasStatus, Hole, InfillLimits, Infiller, Part, Verdict};
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
    pub use maskwright_engine::EngineGrammar;
    pub use maskwright_grammar::{
        ExprId, Grammar, GrammarBuilder, GrammarError, RuleId, ShuffleItem, ShuffleList, TerminalId,
    };
}

/// For `maskwright debug` and experiments; no part of it is promised.
#[doc(hidden)]
pub mod debug {
    pub use maskwright_grammar::{LrConflict, LrProduction, LrState, LrSymbol, LrTable};
    pub use maskwright_lark::LarkGrammar;

    pub use crate::source::Parsed;
    use crate::{CompileOptions, Error, Limits, grammar::Grammar};

    /// The LALR(1) table of a grammar's rules; the engine does not use it.
    pub fn lr_table(grammar: &Grammar, options: &CompileOptions) -> Result<LrTable, Error> {
        let fuel = options.fuel(Limits::default().compile_fuel);
        Ok(LrTable::new(grammar, &fuel).map_err(maskwright_grammar::GrammarError::from)?)
    }
}
