//! Constrained decoding: a language model that can only write what a grammar allows.
//!
//! Given a grammar (a regular expression, a JSON Schema, GBNF, Lark, a list of choices, a built-in language) and a
//! model's vocabulary, Maskwright says at each step exactly which tokens may come next.
//!
//! ```
//! use maskwright::{CompileOptions, Compiler, Matcher, Tokenizer};
//!
//! let tokens = ["{", "}", "\"", "ok", ":", " ", "true", "false", "</s>"];
//! let tokenizer = Tokenizer::from_tokens(tokens.map(|token| token.as_bytes().to_vec()).to_vec(), &[8])?;
//! let compiler = Compiler::new(&tokenizer);
//! let schema = r#"{"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"],
//!     "additionalProperties": false}"#;
//! let compiled = compiler.compile_json_schema(schema, &Default::default(), &CompileOptions::default())?;
//! let mut matcher = Matcher::new(&compiled.grammar);
//! for token in tokenizer.encode(r#"{"ok": true}"#)? {
//!     assert!(matcher.mask()?.contains(maskwright::TokenId(token)));
//!     assert!(matcher.accept_token(maskwright::TokenId(token))?);
//! }
//! assert!(matcher.is_accepting());
//! # Ok::<(), maskwright::Error>(())
//! ```
//!
//! The pieces: a [`Tokenizer`] (a [`Vocabulary`] with its encoder), a [`Compiler`] for it, the
//! [`CompiledGrammar`] it makes, and a [`Matcher`] for each sequence, with or without a limit on tokens that the text
//! is complete within ([`Matcher::with_max_tokens`]). Texts of which parts are known are a [`Template`] (fixed
//! pieces and holes) or a [`Canvas`] (known and masked tokens).

mod compiled;
mod compiler;
mod error;
mod gbnf;
mod lark;
pub mod parse;
mod schema;

pub use compiled::CompiledGrammar;
pub use compiler::{CompileOptions, CompiledSchema, Compiler};
pub use error::{Error, ErrorKind};
pub use lark::LarkOptions;
pub use maskwright_automata::{CancelToken, Regex};
pub use maskwright_engine::{
    EngineError, Limits, MaskStatus, Matcher, Options, TokenCountStatus, TokensToFinish, inspect,
};
pub use maskwright_grammar::{Grammar, GrammarBuilder, LrConflict, LrProduction, LrState, LrSymbol, LrTable};
pub use maskwright_infill::{Canvas, CanvasConfig, Hole, InfillError, Infiller, Part, Template};
pub use maskwright_json_schema::{
    PropertyOrder, Report, ReportEntry, SchemaConfig, Status, Warning, Whitespace,
};
pub use maskwright_lark::{Indentation, LarkGrammar, LexerKind, Tabs, builtin_names};
pub use maskwright_syntax::regex::Dialect;
pub use maskwright_vocabulary::{
    Mask, TokenId, Tokenizer, TokenizerOptions, Vocabulary, mask_contains, mask_words,
};
pub use schema::SchemaDocuments;
