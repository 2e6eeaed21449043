//! The parts of templates and canvases.

pub use maskwright_infill::CanvasConfig;
/// What [`Canvas::status`](crate::Canvas::status) and [`Template::status`](crate::Template::status) return.
///
/// # Example: possible or not
///
/// ```
/// use maskwright::infill::CanvasStatus;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["a", "b"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["ab"]), &CompileOptions::default())?;
/// assert_eq!(grammar.canvas(&[None, Some(TokenId(1))])?.status()?, CanvasStatus::Possible);
/// assert_eq!(grammar.canvas(&[None, Some(TokenId(0))])?.status()?, CanvasStatus::Impossible);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: too little work
///
/// ```
/// use maskwright::infill::CanvasStatus;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Limits, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let mut limits = Limits::default();
/// limits.infill_work = 10;
/// let compiler = Compiler::with_limits(&tokenizer, limits);
/// let grammar = compiler.compile(&GrammarSource::builtin("json"), &CompileOptions::default())?;
/// let mut canvas = grammar.canvas(&[None; 40])?;
/// assert_eq!(canvas.status()?, CanvasStatus::Open, "neither was found out");
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::CanvasStatus;
/// A hole of a [`Template`](crate::Template), by its size.
///
/// # Example: exactly so many tokens
///
/// ```
/// use maskwright::infill::{Hole, Part};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokens = ["a", "aa"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("a{3}"), &CompileOptions::default())?;
/// let is_possible = |hole| grammar.template(vec![Part::Hole(hole)])?.is_possible();
/// assert!(is_possible(Hole::Exactly(2))? && !is_possible(Hole::Exactly(1))?);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: at most so many, or any text
///
/// ```
/// use maskwright::infill::{Hole, Part};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"a".to_vec()], &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("a{3}b?"), &CompileOptions::default())?;
/// let is_possible = |hole| grammar.template(vec![Part::Hole(hole)])?.is_possible();
/// assert!(is_possible(Hole::Any)? && is_possible(Hole::AtMost(3))? && !is_possible(Hole::AtMost(2))?);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::Hole;
/// What canvases and templates may spend: [`Infiller::limits`] tells them.
///
/// # Example: those of a compiler
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Limits, Tokenizer};
/// let mut limits = Limits::default();
/// limits.max_positions = 512;
/// let compiler = Compiler::with_limits(&Tokenizer::from_tokens(vec![b"a".to_vec()], &[])?, limits);
/// let options = CompileOptions::default();
/// let grammar = compiler.compile(&GrammarSource::regex("a*"), &options)?;
/// assert_eq!(grammar.infiller(&options)?.limits().max_positions, 512);
/// assert!(grammar.canvas(&[None; 513]).is_err());
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::InfillLimits;
/// Makes canvases and templates. [`CompiledGrammar::infiller`](crate::CompiledGrammar::infiller) makes one.
///
/// # Example: a canvas
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
///
/// # Example: a template, on another thread
///
/// ```
/// use maskwright::infill::{Hole, Part};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Template, Tokenizer};
/// let tokens = ["a", "b"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let options = CompileOptions::default();
/// let grammar = compiler.compile(&GrammarSource::regex("a+b"), &options)?;
/// let infiller = grammar.infiller(&options)?;
/// let text = std::thread::spawn(move || {
///     let parts = vec![Part::Hole(Hole::Exactly(2)), Part::Text(b"b".to_vec())];
///     Template::new(&infiller, parts)?.complete()
/// });
/// assert_eq!(text.join().unwrap()?.as_deref(), Some(&b"aab"[..]));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::Infiller;
/// A piece of a [`Template`](crate::Template), which is given or to be filled in.
///
/// # Example: text and a hole
///
/// ```
/// use maskwright::infill::{Hole, Part};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
/// let schema = GrammarSource::json_schema(r#"{"enum": ["left", "right"]}"#, Default::default());
/// let grammar = Compiler::new(&tokenizer).compile(&schema, &CompileOptions::default())?;
/// let mut template = grammar.template(vec![Part::Text(b"\"r".to_vec()), Part::Hole(Hole::Any)])?;
/// assert_eq!(template.complete()?.as_deref(), Some(&b"\"right\""[..]));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: tokens that the grammar names
///
/// ```
/// use maskwright::infill::{Hole, Part};
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["<think>", "h", "m"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens_with_special(tokens.to_vec(), &[], &[TokenId(0)])?;
/// let grammar = GrammarSource::gbnf("root ::= <think> [hm]+");
/// let grammar = Compiler::new(&tokenizer).compile(&grammar, &CompileOptions::default())?;
/// let parts = vec![Part::Tokens(vec![TokenId(0), TokenId(1)]), Part::Hole(Hole::AtMost(2))];
/// assert!(grammar.template(parts)?.is_possible()?);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::Part;
/// What [`Canvas::allows`](crate::Canvas::allows) says of a token.
///
/// # Example: tokens of one position
///
/// ```
/// use maskwright::infill::Verdict;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["a", "b", "c"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::regex("[ab]+c"), &CompileOptions::default())?;
/// let mut canvas = grammar.canvas(&[None, None])?;
/// let answers = canvas.allows(0, &[0, 1, 2].map(TokenId))?;
/// assert_eq!(answers, [Verdict::Yes, Verdict::Yes, Verdict::No]);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: what is allowed can be put
///
/// ```
/// use maskwright::infill::Verdict;
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["a", "b"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[])?);
/// let grammar = compiler.compile(&GrammarSource::choice(["ab", "ba"]), &CompileOptions::default())?;
/// let mut canvas = grammar.canvas(&[None, None])?;
/// if canvas.allows(0, &[TokenId(1)])?[0] == Verdict::Yes {
///     assert!(canvas.set(0, TokenId(1))?);
/// }
/// assert_eq!(canvas.complete()?, Some(vec![TokenId(1), TokenId(0)]));
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Overview
pub use maskwright_infill::Verdict;
