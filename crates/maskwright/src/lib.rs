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
//! Programs to start from are in the folder `examples`: `own_loop`, `server`, `tool_calls`, `diffusion` and
//! `candle`, each to be run with `cargo run --example own_loop`.
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
mod describe;
mod events;
mod frame;
pub mod infill;
pub mod json_schema;
pub mod lark;
mod limits;
mod named_tokens;
#[cfg(doctest)]
mod pages;
mod pieces;
mod source;
mod special_text;
pub mod tool_calls;
mod words;

pub use check::{Check, CheckConfig, CheckReason};
pub use compiled::CompiledGrammar;
pub use compiler::{CompileOptions, Compiler};
pub use describe::describe;
pub use events::{Capture, Event, Events, Message, PathPart, ToolCall};
pub use limits::Limits;
pub use maskwright_automata::CancelToken;
/// The best text for the scores of a model: [`Matcher::likeliest`] and [`Canvas::likeliest`] find it.
///
/// # Example: all positions at once
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, PositionScores, TokenId, Tokenizer};
/// let tokens = ["yes", "no", "!", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("(yes|no)!*"), &CompileOptions::default())?;
/// let logits = [[1.0, 2.0, 9.0, 0.0], [0.0, 0.0, 1.0, 2.0]];
/// let positions = logits.each_ref().map(|logits| PositionScores::Logits(logits));
/// let found = grammar.matcher().likeliest(&positions, &Default::default())?;
/// assert_eq!(found.token_ids, [1, 3].map(TokenId), "`no` and the end");
/// assert!(found.is_complete && found.n_tokens == 2);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: what it costs
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, PositionScores, TokenId, Tokenizer};
/// let tokens = ["yes", "no", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["no"]), &CompileOptions::default())?;
/// // The model is almost sure of `yes`, and then of the end.
/// let logits = [[8.0, 0.0, 0.0], [0.0, 0.0, 8.0]];
/// let positions = logits.each_ref().map(|logits| PositionScores::Logits(logits));
/// let found = grammar.matcher().likeliest(&positions, &Default::default())?;
/// assert!((-8.1..-8.0).contains(&found.log_probability), "of `no` and the end");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::Likeliest;
/// The options of [`Matcher::likeliest`].
///
/// # Example: a text that goes on after the positions
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, LikeliestConfig, PositionScores, TokenId, Tokenizer};
/// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("a+b"), &CompileOptions::default())?;
/// let positions = [PositionScores::Logits(&[1.0, 0.0, 0.0]); 3];
/// let mut config = LikeliestConfig::default();
/// config.max_tokens = Some(5);
/// let found = grammar.matcher().likeliest(&positions, &config)?;
/// assert_eq!((found.token_ids, found.is_complete), (vec![TokenId(0); 3], false));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::LikeliestConfig;
/// How sure a search is: [`Likeliest::status`].
///
/// # Example: no text is likelier
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, LikeliestStatus, PositionScores, TokenId, Tokenizer};
/// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("a*b?"), &CompileOptions::default())?;
/// let positions = [PositionScores::Logits(&[1.0, 2.0, 0.0]); 3];
/// let found = grammar.matcher().likeliest(&positions, &Default::default())?;
/// assert_eq!(found.status, LikeliestStatus::Exact);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: a token that was not among the candidates
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, LikeliestStatus, PositionScores, TokenId, Tokenizer};
/// let tokens = ["a", "b", "c", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["b", "c"]), &CompileOptions::default())?;
/// let candidates = |id| PositionScores::Candidates { ids: id, log_probabilities: &[-0.1], logits: None };
/// let found = grammar.matcher().likeliest(&[candidates(&[0]), candidates(&[3])], &Default::default())?;
/// assert_eq!(found.status, LikeliestStatus::Bound, "whether `b` or `c` is likelier, nobody has said");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::LikeliestStatus;
/// How complete a mask is: [`Matcher::fill_mask`] returns it.
///
/// # Example: all of them
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, MaskStatus, Tokenizer, mask_words};
/// let tokenizer = Tokenizer::from_tokens(vec![b"a".to_vec(), b"b".to_vec()], &[])?;
/// let grammar = Compiler::new(&tokenizer).compile(&GrammarSource::regex("a*"), &CompileOptions::default())?;
/// let mut mask = vec![0; mask_words(tokenizer.n_vocab())];
/// assert_eq!(grammar.matcher().fill_mask(&mut mask)?, MaskStatus::Exact);
/// assert_eq!(mask, [0b01]);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: those that were found with little work
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, MaskStatus, MatcherConfig, Tokenizer};
/// let tokens = (0..20_000).map(|n| n.to_string().into_bytes()).collect();
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens, &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("([0-9]{3})*7"), &CompileOptions::default())?;
/// let mut config = MatcherConfig::default();
/// config.mask_work = Some(10);
/// let mut matcher = grammar.matcher_with(&config)?;
/// let mask = matcher.mask()?;
/// assert!(matcher.mask_status() == MaskStatus::Bound && !mask.is_empty(), "each of its tokens is allowed");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::MaskStatus;
/// Follows one text from left to right. [`CompiledGrammar::matcher`] makes one.
///
/// # Example: tokens and masks
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
///
/// # Example: forced text, and the way to the end
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["yes", "no", "n", "o", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(4)])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["yes", "no"]), &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// assert!(matcher.accept_bytes(b"n")?);
/// assert_eq!(matcher.forced_bytes()?, b"o");
/// assert_eq!(matcher.fork().finish()?, [3, 4].map(TokenId));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::Matcher;
/// The options of a [`Matcher`], for [`CompiledGrammar::matcher_with`].
///
/// # Example: complete within a number of tokens
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, MatcherConfig, TokenId, Tokenizer};
/// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("a*b"), &CompileOptions::default())?;
/// let mut matcher = grammar.matcher_with(&MatcherConfig::with_max_tokens(3))?;
/// assert!(matcher.accept_token(TokenId(0))?);
/// assert_eq!(matcher.mask()?.iter().collect::<Vec<_>>(), [TokenId(1)], "`b` and the end still fit");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::MatcherConfig;
/// The place of a text in its grammar, in words: [`Matcher::state`] gives it.
///
/// # Example: within a JSON value
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = r#"{"type": "object", "properties": {"age": {"type": "integer", "maximum": 130}}}"#;
/// let schema = GrammarSource::json_schema(schema, Default::default());
/// let mut matcher = compiler.compile(&schema, &CompileOptions::default())?.matcher();
/// assert!(matcher.accept_bytes(br#"{"age": 1"#)?);
/// let state = matcher.state()?;
/// assert_eq!((state.path.as_deref(), state.is_complete), (Some("/age"), false));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::MatcherState;
/// A token or a run of bytes: [`Matcher::steps`] lists those of a text.
///
/// # Example: the steps of a text
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, MatcherStep, TokenId, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"a".to_vec()], &[])?);
/// let mut matcher = compiler.compile(&GrammarSource::regex("a*"), &CompileOptions::default())?.matcher();
/// assert!(matcher.accept_token(TokenId(0))? && matcher.accept_bytes(b"aa")?);
/// assert_eq!(matcher.steps(), [MatcherStep::Token(TokenId(0)), MatcherStep::Bytes((*b"aa").into())]);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: the same text again
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, MatcherStep, TokenId, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"a".to_vec()], &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("a*"), &CompileOptions::default())?;
/// let (mut first, mut second) = (grammar.matcher(), grammar.matcher());
/// assert!(first.accept_token(TokenId(0))? && first.accept_bytes(b"aa")?);
/// for step in first.steps() {
///     let is_taken = match step {
///         MatcherStep::Token(token) => second.accept_token(token)?,
///         MatcherStep::Bytes(bytes) => second.accept_bytes(&bytes)?,
///     };
///     assert!(is_taken);
/// }
/// assert_eq!(first.text(), second.text());
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::MatcherStep;
/// The scores of a position, for [`Matcher::likeliest`] and [`Canvas::likeliest`].
///
/// # Example: logits
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, PositionScores, TokenId, Tokenizer};
/// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("[ab]"), &CompileOptions::default())?;
/// let positions = [PositionScores::Logits(&[1.0, 3.0, 0.0]), PositionScores::Logits(&[0.0, 0.0, 1.0])];
/// let found = grammar.matcher().likeliest(&positions, &Default::default())?;
/// assert_eq!(found.token_ids, [1, 2].map(TokenId));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: the best tokens alone, as servers send them
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, PositionScores, TokenId, Tokenizer};
/// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("[ab]"), &CompileOptions::default())?;
/// let best = PositionScores::Candidates { ids: &[2, 0], log_probabilities: &[-0.4, -1.5], logits: None };
/// let found = grammar.matcher().likeliest(&[best, PositionScores::Known(TokenId(2))], &Default::default())?;
/// assert_eq!(found.token_ids, [0, 2].map(TokenId), "the text cannot end at once");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::PositionScores;
/// What limits the value in progress: [`MatcherState::keywords`] lists them.
///
/// # Example: what limits a number
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let schema = GrammarSource::json_schema(r#"{"type": "integer", "maximum": 130}"#, Default::default());
/// let mut matcher = compiler.compile(&schema, &CompileOptions::default())?.matcher();
/// assert!(matcher.accept_bytes(b"1")?);
/// let keywords = matcher.state()?.keywords;
/// assert!(keywords.iter().any(|keyword| keyword.name == "maximum" && keyword.value == "130"));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::StateKeyword;
/// A way to go on with a text: [`MatcherState::next`] lists them.
///
/// # Example: in words
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("[0-9]+ (cm|km)"), &CompileOptions::default())?;
/// let next = grammar.matcher().state()?.next;
/// assert!(next[0].words.starts_with("a digit"));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: with examples
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["left", "right"]), &CompileOptions::default())?;
/// for next in grammar.matcher().state()?.next {
///     println!("{}, such as {:?}", next.words, next.examples);
/// }
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::StateNext;
/// How sure a number of tokens is: [`TokensToFinish::status`].
///
/// # Example: the least
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenCountStatus, TokenId, Tokenizer};
/// let tokens = ["a", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(1)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("aaa*"), &CompileOptions::default())?;
/// let mut matcher = grammar.matcher();
/// assert!(matcher.accept_bytes(b"aa")?);
/// let least = matcher.tokens_to_finish()?;
/// assert_eq!((least.n_tokens, least.status), (1, TokenCountStatus::Exact), "the end alone");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: enough in any case
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, MatcherConfig, TokenId, Tokenizer};
/// let tokens = ["a", "ab", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("(aab)+"), &CompileOptions::default())?;
/// // Whether it is the least or an upper bound, a text fits within so many tokens.
/// let enough = grammar.matcher().tokens_to_finish()?.n_tokens;
/// assert!(grammar.matcher_with(&MatcherConfig::with_max_tokens(enough)).is_ok());
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::TokenCountStatus;
/// The way from here to the end of a text: [`Matcher::tokens_to_finish`] measures it.
///
/// # Example: room for the rest of a text
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["[", "]", "1", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// let list = GrammarSource::gbnf(r#"root ::= "[" (root | "1")* "]""#);
/// let mut matcher = compiler.compile(&list, &CompileOptions::default())?.matcher();
/// assert!(matcher.accept_bytes(b"[[[")?);
/// assert_eq!(matcher.tokens_to_finish()?.n_tokens, 4, "three brackets and the end");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_engine::TokensToFinish;
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
/// What every call that can fail returns.
///
/// # Example: where, and what to do
///
/// ```
/// use maskwright::{CompileOptions, ErrorKind, GrammarSource};
/// let source = GrammarSource::gbnf("root ::= itm+\nitem ::= \"x\"");
/// let error = source.grammar(&CompileOptions::default()).unwrap_err();
/// assert_eq!((error.kind(), error.line(), error.column()), (ErrorKind::Grammar, Some(1), Some(10)));
/// assert_eq!(error.hint(), Some("did you mean `item`?"));
/// ```
///
/// # Example: the place in a schema
///
/// ```
/// use maskwright::{CompileOptions, GrammarSource};
/// let schema = r#"{"properties": {"age": {"type": "integr"}}}"#;
/// let error = GrammarSource::json_schema(schema, Default::default()).grammar(&CompileOptions::default()).unwrap_err();
/// assert_eq!((error.pointer(), error.keyword()), (Some("/properties/age"), Some("type")));
/// println!("{error}");
/// ```
///
/// # Overview
pub use maskwright_error::Error;
/// The kinds of failure, to branch on: [`Error::kind`].
///
/// # Example: whose fault it is
///
/// ```
/// use maskwright::{CompileOptions, Compiler, Error, ErrorKind, GrammarSource, Tokenizer};
/// let status = |error: &Error| match error.kind() {
///     ErrorKind::Internal => 500,
///     ErrorKind::Cancelled => 499,
///     _ => 400,
/// };
/// let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"a".to_vec()], &[])?);
/// let error = compiler.compile(&GrammarSource::regex("(a"), &CompileOptions::default()).unwrap_err();
/// assert_eq!((error.kind(), status(&error)), (ErrorKind::Grammar, 400));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: a limit on tokens that is too small
///
/// ```
/// use maskwright::{CompileOptions, Compiler, ErrorKind, GrammarSource, MatcherConfig, TokenId, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens(vec![b"a".to_vec(), b"</s>".to_vec()], &[TokenId(1)])?;
/// let grammar = GrammarSource::regex("a{5,}");
/// let grammar = Compiler::new(&tokenizer).compile(&grammar, &CompileOptions::default())?;
/// let error = grammar.matcher_with(&MatcherConfig::with_max_tokens(2)).unwrap_err();
/// assert_eq!((error.kind(), error.needed()), (ErrorKind::MaxTokensTooSmall, Some(6)));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_error::ErrorKind;
/// For models that fill in masked tokens, in any order. [`CompiledGrammar::canvas`] makes one.
///
/// # Example: tokens that fit
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
///
/// # Example: the likeliest text that fits
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, PositionScores, TokenId, Tokenizer};
/// let tokens = ["a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?);
/// let grammar = compiler.compile(&GrammarSource::regex("(ab|ba)*"), &CompileOptions::default())?;
/// let mut canvas = grammar.canvas(&[None, Some(TokenId(0))])?;
/// let found = canvas.likeliest(&[PositionScores::Logits(&[1.0, 0.0, 0.0]); 2], 32)?;
/// assert_eq!(found.token_ids, [1, 0].map(TokenId), "the model likes `a`, which does not fit");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::Canvas;
/// For texts of which some pieces are given. [`CompiledGrammar::template`] makes one.
///
/// # Example: a mask within a hole
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
///
/// # Example: holes are filled in any order
///
/// ```
/// use maskwright::infill::{Hole, Part};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["1", "2", "+", "="].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let sum = compiler.compile(&GrammarSource::choice(["1+1=2", "1+2=1"]), &CompileOptions::default())?;
/// let hole = || Part::Hole(Hole::Exactly(1));
/// let mut template = sum.template(vec![Part::Text(b"1+".to_vec()), hole(), Part::Text(b"=".to_vec()), hole()])?;
/// assert!(template.fix(1, &[TokenId(0)])?);
/// assert!(!template.fix(0, &[TokenId(0)])? && template.fix(0, &[TokenId(1)])?);
/// assert_eq!(template.complete()?.as_deref(), Some(&b"1+2=1"[..]));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::Template;
pub use maskwright_vocabulary::{
    Mask, TokenId, Tokenizer, TokenizerOptions, Vocabulary, mask_contains, mask_words,
};
/// A grammar's text in its notation: what [`Compiler::compile`] takes.
///
/// # Example: the text of a file
///
/// ```
/// use maskwright::GrammarSource;
/// let source = GrammarSource::gbnf("root ::= item").file("list.gbnf");
/// let error = source.grammar(&Default::default()).unwrap_err();
/// assert_eq!((error.path(), error.line()), (Some("list.gbnf".as_ref()), Some(1)));
/// ```
///
/// # Overview
pub use source::GrammarSource;
pub use special_text::GrammarWarning;

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
