//! From source text to a compiled grammar: front end, passes and engine in one call.

use std::path::PathBuf;
use std::sync::Arc;

use maskwright_automata::{CancelToken, Fuel};
use maskwright_engine::{Limits, Options};
use maskwright_grammar::{Grammar, collapse_regular};
use maskwright_json_schema::{Report, SchemaConfig, usual_terminals};
use maskwright_lark::{LarkGrammar, LexerKind};
use maskwright_syntax::regex::Dialect;
use maskwright_vocabulary::Tokenizer;

use crate::schema::{Schema, SchemaDocuments};
use crate::{CompiledGrammar, Error, LarkOptions, gbnf, lark, parse};

/// Work units for what a new compiler prepares: a multiple of what it takes.
const WARM_FUEL: u64 = 100_000;

/// Compiles grammars for one tokenizer, and owns the caches that they share.
///
/// Cheap to clone; clones share the caches. May be used from many threads.
///
/// ```
/// use maskwright::{CompileOptions, Compiler, Matcher, Tokenizer};
/// let tokens = ["1", "9", "a", "</s>"].map(|token| token.as_bytes().to_vec());
/// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[3])?;
/// let compiler = Compiler::new(&tokenizer);
/// let year = compiler.compile_regex("19[0-9]{2}", &CompileOptions::default())?;
/// assert_eq!(Matcher::new(&year).mask()?.len(), 1);
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone)]
pub struct Compiler {
    engine: maskwright_engine::Compiler,
    tokenizer: Tokenizer,
}

/// What goes with one compilation.
#[derive(Clone, Debug, Default)]
pub struct CompileOptions {
    /// Ends the compilation when cancelled from another thread.
    pub cancel: Option<CancelToken>,
    /// The file that the source was read from: what messages call it, and beside which the relative references of a
    /// JSON Schema are looked for (`"$ref": "address.json"`). Files outside of its folder are not read for it, and no more than
    /// 4,096 files, 64 MiB in all. (Grammars in Lark's language have [`LarkOptions::file`].)
    pub file: Option<PathBuf>,
    /// The other documents that the references of a JSON Schema may lead to.
    pub documents: SchemaDocuments,
}

impl CompileOptions {
    /// A supply of work that ends when the compilation is cancelled.
    pub(crate) fn fuel(&self, n_units: u64) -> Fuel {
        let fuel = Fuel::new(n_units);
        match &self.cancel {
            Some(token) => fuel.with_cancel(token.clone()),
            None => fuel,
        }
    }
}

/// A compiled JSON Schema.
#[derive(Clone)]
pub struct CompiledSchema {
    /// The grammar of the schema's texts.
    pub grammar: Arc<CompiledGrammar>,
    /// What was enforced, keyword by keyword.
    pub report: Report,
}

impl Compiler {
    /// A compiler with the default limits.
    pub fn new(tokenizer: &Tokenizer) -> Compiler {
        Compiler::with_limits(tokenizer, Limits::default())
    }

    /// A compiler with the given limits.
    pub fn with_limits(tokenizer: &Tokenizer, limits: Limits) -> Compiler {
        Compiler::with_options(tokenizer, limits, Options::default())
    }

    /// A compiler with the given limits and optimisations; masks are the same whichever are on. The rows of JSON's own
    /// terminals are made now, in about 10 ms.
    pub fn with_options(tokenizer: &Tokenizer, limits: Limits, options: Options) -> Compiler {
        let compiler = Compiler::cold(tokenizer, limits, options);
        compiler.warm();
        compiler
    }

    /// A compiler that starts with what [`save_rows`](Compiler::save_rows) gave, and does not make those rows again.
    /// Changes no answer. As with [`load_rows`](Compiler::load_rows), take rows only from where you would take a program.
    ///
    /// # Errors
    /// If the bytes are not saved rows of this vocabulary and version, or a limit is reached.
    ///
    /// ```
    /// use maskwright::{Compiler, Tokenizer};
    /// let tokens = [b"a".to_vec(), b"\"".to_vec(), b"</s>".to_vec()];
    /// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[2])?;
    /// let saved = Compiler::new(&tokenizer).save_rows();
    /// let next = Compiler::with_saved_rows(&tokenizer, Default::default(), &saved)?;
    /// assert_eq!(next.load_rows(&saved)?, 0, "it has them all");
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn with_saved_rows(tokenizer: &Tokenizer, limits: Limits, saved: &[u8]) -> Result<Compiler, Error> {
        let compiler = Compiler::cold(tokenizer, limits, Options::default());
        compiler.load_rows(saved)?;
        // Whoever saved them may have had less, after `clear_caches` or with other limits.
        compiler.warm();
        Ok(compiler)
    }

    fn cold(tokenizer: &Tokenizer, limits: Limits, options: Options) -> Compiler {
        let vocabulary = tokenizer.vocabulary().clone();
        let engine = maskwright_engine::Compiler::with_options(vocabulary, limits, options);
        Compiler { engine, tokenizer: tokenizer.clone() }
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

    /// The texts that the whole of `pattern` matches, in the dialect of Rust's `regex` crate.
    ///
    /// # Errors
    /// If the pattern is wrong, matches nothing, or a limit is reached.
    pub fn compile_regex(
        &self,
        pattern: &str,
        options: &CompileOptions,
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let fuel = self.fuel(options);
        let pattern = pattern.to_owned();
        let read = move |fuel: &Fuel| {
            Ok(Grammar::from_regex(maskwright_syntax::regex::parse(&pattern, Dialect::Rust, fuel)?))
        };
        let grammar = self.engine.compile(read(&fuel)?, &fuel)?;
        Ok(self.compiled(grammar, read))
    }

    /// The texts of a GBNF grammar (llama.cpp's notation; the start rule is `root`).
    ///
    /// # Errors
    /// If the grammar is wrong, matches nothing, or a limit is reached.
    pub fn compile_gbnf(
        &self,
        source: &str,
        options: &CompileOptions,
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let fuel = self.fuel(options);
        let (source, file) = (source.to_owned(), options.file.clone());
        let read = move |fuel: &Fuel| gbnf::parse(&source, file.as_deref(), fuel);
        let grammar =
            collapse_regular(&read(&fuel)?, &fuel).map_err(maskwright_grammar::GrammarError::from)?;
        let grammar = self.engine.compile(grammar, &fuel)?;
        Ok(self.compiled(grammar, read))
    }

    /// Exactly one of `choices`.
    ///
    /// # Errors
    /// If there are no choices, or a limit is reached.
    pub fn compile_choice<S: AsRef<str>>(
        &self,
        choices: &[S],
        options: &CompileOptions,
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let choices: Vec<String> = choices.iter().map(|choice| choice.as_ref().to_owned()).collect();
        let read = move |_: &Fuel| parse::choice(&choices);
        let fuel = self.fuel(options);
        let grammar = self.engine.compile(read(&fuel)?, &fuel)?;
        Ok(self.compiled(grammar, read))
    }

    /// The JSON texts that a schema allows. Its references may lead to [`CompileOptions::documents`], and to files
    /// beside [`CompileOptions::file`].
    ///
    /// # Errors
    /// If the schema is wrong, unsatisfiable, has a keyword that is not enforced (unless
    /// `config.strict` is off; then the report names it), or a limit is reached.
    pub fn compile_json_schema(
        &self,
        schema: &str,
        config: &SchemaConfig,
        options: &CompileOptions,
    ) -> Result<CompiledSchema, Error> {
        let fuel = self.fuel(options);
        let (schema, document) = Schema::read(schema, config, options)?;
        let compiled = schema.compile(&document, &fuel)?;
        let grammar = self.engine.compile(compiled.grammar, &fuel)?;
        let read = move |fuel: &Fuel| schema.grammar(fuel);
        Ok(CompiledSchema { grammar: self.compiled(grammar, read), report: compiled.report })
    }

    /// The texts of a grammar in Lark's language. Which terminals compete for a token, all of them or those that can
    /// be read where it stands, or that there are no tokens, is [`LarkOptions::lexer`]'s to say.
    ///
    /// With [`LexerKind::DynamicComplete`], rules and terminals may be JSON Schemas: `call: NAME "(" %json {"type": "object"} ")"`,
    /// or `%json "call.json"` for one in a file. Keys that a schema there does not name may occur twice (and count twice for `minProperties`), and `uniqueItems` that
    /// no rules say is an error, since it takes a session over JSON alone to see to them.
    ///
    /// # Errors
    /// If the grammar is wrong (the message has file, line, column and a hint), an import is not found, no text is
    /// in the language, or a limit is reached.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, LarkOptions, LexerKind, Matcher, Tokenizer};
    /// let tokens = ["if", "x", " ", "1", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[4])?);
    /// let source = "start: \"if\" NAME\nNAME: /[a-z]+/\n%ignore \" \"\n";
    /// let contextual = compiler.compile_lark(source, &LarkOptions::default(), &CompileOptions::default())?;
    /// assert!(Matcher::new(&contextual).accept_bytes(b"ifx")?, "no name can be read before the `if`");
    /// assert!(Matcher::new(&contextual).accept_bytes(b"if if")?, "and no `if` behind it");
    /// let lark = LarkOptions { lexer: LexerKind::Basic, ..Default::default() };
    /// let basic = compiler.compile_lark(source, &lark, &CompileOptions::default())?;
    /// let mut matcher = Matcher::new(&basic);
    /// assert!(!matcher.accept_bytes(b"ifx")?, "that is one name");
    /// assert!(matcher.accept_bytes(b"if x")? && matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn compile_lark(
        &self,
        source: &str,
        lark: &LarkOptions,
        options: &CompileOptions,
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let fuel = self.fuel(options);
        let grammar = lark::parse(source, lark, &fuel)?;
        self.compile_lexed(grammar, &fuel)
    }

    /// A built-in grammar: `arithmetic`, `cpp`, `json`, `python`, `smiles` or `sql`. Python's takes lines indented by tabs,
    /// but not where a text is filled in.
    ///
    /// # Errors
    /// If there is none of this name, or a limit is reached.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, Matcher, Tokenizer};
    /// let tokens = ["SELECT ", "a", " FROM", " t", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[4])?);
    /// let sql = compiler.compile_builtin("sql", &CompileOptions::default())?;
    /// let mut matcher = Matcher::new(&sql);
    /// assert!(matcher.accept_bytes(b"SELECT a FROM t")? && matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn compile_builtin(
        &self,
        name: &str,
        options: &CompileOptions,
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let fuel = self.fuel(options);
        let grammar = lark::parse_builtin(name, &fuel)?;
        self.compile_lexed(grammar, &fuel)
    }

    fn compile_lexed(&self, grammar: LarkGrammar, fuel: &Fuel) -> Result<Arc<CompiledGrammar>, Error> {
        if let Some(grammar) = grammar.over_bytes {
            let sessions = self.engine.compile(grammar.clone(), fuel)?;
            return Ok(self.compiled(sessions, move |_| Ok(grammar.clone())));
        }
        let layout = grammar.indentation.clone();
        let tokens = grammar.lexed.clone();
        let sessions = match grammar.lexer {
            LexerKind::Basic => self.engine.compile_lexed(tokens, layout, fuel)?,
            LexerKind::Contextual | LexerKind::DynamicComplete => {
                self.engine.compile_contextual(tokens, layout, fuel)?
            }
        };
        Ok(CompiledGrammar::lexed(sessions, self.engine.limits().compile_fuel, grammar))
    }

    /// A grammar that the caller built. Regular rules are collapsed into terminals.
    ///
    /// # Errors
    /// If its language is empty, or a limit is reached.
    pub fn compile(
        &self,
        grammar: &Grammar,
        options: &CompileOptions,
    ) -> Result<Arc<CompiledGrammar>, Error> {
        let fuel = self.fuel(options);
        let source = grammar.clone();
        let grammar = collapse_regular(grammar, &fuel).map_err(maskwright_grammar::GrammarError::from)?;
        let grammar = self.engine.compile(grammar, &fuel)?;
        Ok(self.compiled(grammar, move |_| Ok(source.clone())))
    }

    /// What is known by now of the vocabulary (rows), for [`load_rows`](Compiler::load_rows) in another process: its first masks
    /// need not wait for it then.
    ///
    /// ```
    /// use maskwright::{Compiler, Tokenizer};
    /// let tokens = [b"a".to_vec(), b"\"".to_vec(), b"</s>".to_vec()];
    /// let tokenizer = Tokenizer::from_tokens(tokens.to_vec(), &[2])?;
    /// let saved = Compiler::new(&tokenizer).save_rows();
    /// let next = Compiler::new(&tokenizer);
    /// next.load_rows(&saved)?;
    /// assert!(next.load_rows(b"something else").is_err());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn save_rows(&self) -> Vec<u8> {
        self.engine.save_rows()
    }

    /// Takes rows that [`save_rows`](Compiler::save_rows) gave, and returns how many were new. Changes no answer: bytes that are
    /// damaged, of another version or for another vocabulary are refused. (Not found is malice: take rows only from where
    /// you would take a program.)
    ///
    /// # Errors
    /// If the bytes are not saved rows of this vocabulary and version, or a limit is reached.
    pub fn load_rows(&self, saved: &[u8]) -> Result<usize, Error> {
        let fuel = Fuel::new(self.engine.limits().compile_fuel);
        Ok(self.engine.load_rows(saved, &fuel)?)
    }

    /// Drops the shared caches; grammars compiled before keep working.
    pub fn clear_caches(&self) {
        self.engine.clear_caches();
    }

    /// Approximate memory of the shared caches, in bytes.
    pub fn memory_usage(&self) -> usize {
        self.engine.memory_usage()
    }

    fn fuel(&self, options: &CompileOptions) -> Fuel {
        options.fuel(self.engine.limits().compile_fuel)
    }

    /// `read` reads what `grammar` was compiled from.
    fn compiled(
        &self,
        grammar: Arc<maskwright_engine::CompiledGrammar>,
        read: impl Fn(&Fuel) -> Result<Grammar, Error> + Send + Sync + 'static,
    ) -> Arc<CompiledGrammar> {
        CompiledGrammar::new(grammar, self.engine.limits().compile_fuel, read)
    }
}
