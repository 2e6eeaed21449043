//! From a grammar's source to a compiled grammar: front end, passes and engine in one call.

use std::sync::Arc;

use maskwright_automata::{CancelToken, Fuel, FuelError};
use maskwright_grammar::{GrammarError, collapse_regular};
use maskwright_json_schema::{SchemaConfig, usual_terminals};
use maskwright_lark::{LarkGrammar, LexerKind};
use maskwright_vocabulary::Tokenizer;

use crate::events::{Captures, Rules};
use crate::source::Parsed;
use crate::{CompiledGrammar, Error, GrammarSource, Limits};

/// Work units for what a new compiler prepares: a multiple of what it takes.
const WARM_FUEL: u64 = 100_000;

/// Compiles grammars for one tokenizer, and owns the caches that they share.
///
/// Cheap to clone; clones share the caches. May be used from many threads.
///
/// # Example: one grammar
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
/// let tokens = ["1", "9", "a", "</s>"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?;
/// let compiler = Compiler::new(&tokenizer);
/// let year = compiler.compile(&GrammarSource::regex("19[0-9]{2}"), &CompileOptions::default())?;
/// assert_eq!(Matcher::new(&year).mask()?.len(), 1);
/// # Ok::<(), maskwright::Error>(())
/// ```
///
/// # Example: many threads
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
/// let tokens = ["1", "9", "a", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// std::thread::scope(|scope| {
///     for pattern in ["19+", "a{2,5}", "[a1]*"] {
///         let compiler = compiler.clone();
///         scope.spawn(move || {
///             let grammar = compiler.compile(&GrammarSource::regex(pattern), &CompileOptions::default());
///             assert!(grammar.is_ok());
///         });
///     }
/// });
/// assert!(compiler.memory_usage() > 0, "what the grammars share is kept");
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone)]
pub struct Compiler {
    engine: maskwright_engine::Compiler,
    tokenizer: Tokenizer,
    limits: Limits,
}

/// What goes with one compilation.
///
/// # Example: an option is set by its field
///
/// ```
/// use maskwright::{CancelToken, CompileOptions};
/// let mut options = CompileOptions::default();
/// options.cancel = Some(CancelToken::new());
/// ```
///
/// # Example: cancelling from another thread
///
/// ```
/// use maskwright::{CancelToken, CompileOptions, Compiler, GrammarSource, Tokenizer};
/// let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"a".to_vec()], &[])?);
/// let token = CancelToken::new();
/// let mut options = CompileOptions::default();
/// options.cancel = Some(token.clone());
/// std::thread::spawn(move || token.cancel()).join().unwrap();
/// let error = compiler.compile(&GrammarSource::regex("a{1000}"), &options).unwrap_err();
/// assert!(error.is_cancelled());
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CompileOptions {
    /// Ends the compilation when cancelled from another thread.
    pub cancel: Option<CancelToken>,
}

impl CompileOptions {
    /// A supply of work and memory that ends when the compilation is cancelled.
    pub(crate) fn fuel(&self, limits: &Limits) -> Fuel {
        let fuel = Fuel::new(limits.compile_work).with_bytes(limits.compile_bytes);
        match &self.cancel {
            Some(token) => fuel.with_cancel(token.clone()),
            None => fuel,
        }
    }
}

impl Compiler {
    /// A compiler with the default limits.
    pub fn new(tokenizer: &Tokenizer) -> Compiler {
        Compiler::with_limits(tokenizer, Limits::default())
    }

    /// A compiler with the given limits. The rows of JSON's own terminals are made now, in about 10 ms.
    pub fn with_limits(tokenizer: &Tokenizer, limits: Limits) -> Compiler {
        let compiler = Compiler::cold(tokenizer, limits);
        compiler.warm();
        compiler
    }

    /// A compiler that starts with what [`save_rows`](Compiler::save_rows) gave, and does not make those rows
    /// again. Changes no answer. As with [`load_rows`](Compiler::load_rows), take rows only from where you
    /// would take a program.
    ///
    /// # Errors
    /// If the bytes are not saved rows of this vocabulary and version, or a limit is reached.
    ///
    /// ```
    /// use maskwright::{Compiler, TokenId, Tokenizer};
    /// let tokens = [b"a".to_vec(), b"\"".to_vec(), b"</s>".to_vec()];
    /// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?;
    /// let saved = Compiler::new(&tokenizer).save_rows();
    /// let next = Compiler::with_saved_rows(&tokenizer, Default::default(), &saved)?;
    /// assert_eq!(next.load_rows(&saved)?, 0, "it has them all");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn with_saved_rows(tokenizer: &Tokenizer, limits: Limits, saved: &[u8]) -> Result<Compiler, Error> {
        let compiler = Compiler::cold(tokenizer, limits);
        compiler.load_rows(saved)?;
        // Whoever saved them may have had less, after `clear_caches` or with other limits.
        compiler.warm();
        Ok(compiler)
    }

    fn cold(tokenizer: &Tokenizer, limits: Limits) -> Compiler {
        let engine = maskwright_engine::Compiler::new(tokenizer.vocabulary().clone(), limits.engine());
        Compiler { engine, tokenizer: tokenizer.clone(), limits }
    }

    /// Makes the rows of JSON's own terminals that are not there.
    fn warm(&self) {
        // Only a limit can end this early, and then the masks that need the rest meet it, or make it.
        let _ = self.engine.warm(&usual_terminals(&SchemaConfig::default()), &Fuel::new(WARM_FUEL));
    }

    /// The tokenizer that masks are for.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Compiles a grammar, in time linear in the source. Masks and automata are made later, when a text needs
    /// them.
    ///
    /// # Errors
    /// If the source is wrong (the error says where) or matches no text; if it is a JSON Schema or structural
    /// tag with a keyword that cannot be enforced, unless
    /// [`SchemaConfig::strict`](crate::json_schema::SchemaConfig::strict) is off; or a limit is reached.
    ///
    /// ```
    /// use maskwright::json_schema::SchemaConfig;
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, TokenId, Tokenizer};
    /// let tokens = ["\"", "a", "b", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
    /// let mut config = SchemaConfig::default();
    /// config.strict = false;
    /// let schema = GrammarSource::json_schema(r#"{"type": "string", "maxLength": 2}"#, config).file("name.json");
    /// let compiled = compiler.compile(&schema, &CompileOptions::default())?;
    /// assert!(compiled.report().is_some_and(|report| report.is_complete()), "every keyword is enforced");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn compile(
        &self,
        source: &GrammarSource,
        options: &CompileOptions,
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let fuel = options.fuel(&self.limits);
        self.compile_within(source, &fuel).map_err(|error| match fuel.ended_by() {
            _ if !error.is_limit() => error,
            Some(FuelError::Exhausted { limit }) => error.at_limit("compile_work", limit),
            Some(FuelError::Memory { limit }) => error.at_limit("compile_bytes", limit),
            _ => error,
        })
    }

    fn compile_within(&self, source: &GrammarSource, fuel: &Fuel) -> Result<Arc<CompiledGrammar>, Error> {
        let (parsed, read) = source.read(Some(self.tokenizer.vocabulary()), fuel)?;
        let unspelled = parsed.unspelled(self.tokenizer.vocabulary(), fuel);
        let names = source.captured()?;
        let rules = (!names.is_empty()).then(|| match &parsed {
            Parsed::OverBytes(grammar, _) => Rules::OverBytes(grammar.clone()),
            Parsed::Lark(lark) => match &lark.over_bytes {
                Some(grammar) => Rules::OverBytes(Box::new(grammar.clone())),
                None => Rules::Lexed(lark.clone()),
            },
        });
        let (sessions, is_lexed, report) = match parsed {
            Parsed::OverBytes(grammar, report) => {
                let grammar = match source.has_written_rules() {
                    true => collapse_regular(&grammar, fuel).map_err(GrammarError::from)?,
                    false => *grammar,
                };
                (self.engine.compile(grammar, fuel), false, report)
            }
            Parsed::Lark(lark) => {
                let LarkGrammar { lexed, indentation, over_bytes, lexer, .. } = *lark;
                match (over_bytes, lexer) {
                    (Some(grammar), _) => (self.engine.compile(grammar, fuel), false, None),
                    (None, LexerKind::Basic) => {
                        (self.engine.compile_lexed(lexed, indentation, fuel), true, None)
                    }
                    (None, _) => (self.engine.compile_contextual(lexed, indentation, fuel), true, None),
                }
            }
        };
        let vocabulary = self.tokenizer.vocabulary();
        let sessions = sessions.map_err(|error| read.located(error, vocabulary, fuel))?;
        let captures = rules.map(|rules| Captures::new(&sessions, rules, names, fuel)).transpose()?;
        let limits = self.limits.clone();
        Ok(Arc::new(CompiledGrammar::new(sessions, read, is_lexed, report, unspelled, captures, limits)))
    }

    /// Compiles what [`CompiledGrammar::serialize`] wrote, also for another vocabulary. The bytes need not be
    /// trusted: they are read within the limits, and lead to no file.
    ///
    /// # Errors
    /// If the bytes are no saved grammar, damaged or of another version; and as
    /// [`compile`](Compiler::compile).
    pub fn deserialize(&self, bytes: &[u8], options: &CompileOptions) -> Result<Arc<CompiledGrammar>, Error> {
        self.compile(&GrammarSource::deserialize(bytes)?, options)
    }

    /// What is known by now of the vocabulary (rows), for [`load_rows`](Compiler::load_rows) in another
    /// process: its first masks need not wait for it then.
    ///
    /// ```
    /// use maskwright::{Compiler, TokenId, Tokenizer};
    /// let tokens = [b"a".to_vec(), b"\"".to_vec(), b"</s>".to_vec()];
    /// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(2)])?;
    /// let saved = Compiler::new(&tokenizer).save_rows();
    /// let next = Compiler::new(&tokenizer);
    /// next.load_rows(&saved)?;
    /// assert!(next.load_rows(b"something else").is_err());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn save_rows(&self) -> Vec<u8> {
        self.engine.save_rows()
    }

    /// Takes rows that [`save_rows`](Compiler::save_rows) gave, and returns how many were new. Changes no
    /// answer: bytes that are damaged, of another version or for another vocabulary are refused. (Not found
    /// is malice: take rows only from where you would take a program.)
    ///
    /// # Errors
    /// If the bytes are not saved rows of this vocabulary and version, or a limit is reached.
    pub fn load_rows(&self, saved: &[u8]) -> Result<usize, Error> {
        let fuel = Fuel::new(self.limits.compile_work);
        self.engine.load_rows(saved, &fuel)
    }

    /// Drops the shared caches; grammars compiled before keep working.
    pub fn clear_caches(&self) {
        self.engine.clear_caches();
    }

    /// Approximate memory of the shared caches and of all living grammars, in bytes. Infillers are not
    /// counted.
    pub fn memory_usage(&self) -> usize {
        self.engine.memory_usage()
    }
}
