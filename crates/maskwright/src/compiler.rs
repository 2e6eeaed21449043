//! From source text to a compiled grammar: front end, passes and engine in one call.

use std::sync::Arc;

use maskwright_automata::{CancelToken, Fuel};
use maskwright_engine::{CompiledGrammar, Limits, Options};
use maskwright_grammar::{Grammar, collapse_regular};
use maskwright_json_schema::{Report, SchemaConfig};
use maskwright_syntax::regex::Dialect;
use maskwright_vocabulary::Tokenizer;

use crate::Error;

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

    /// A compiler with the given limits and optimisations; masks are the same whichever are on.
    pub fn with_options(tokenizer: &Tokenizer, limits: Limits, options: Options) -> Compiler {
        let engine =
            maskwright_engine::Compiler::with_options(tokenizer.vocabulary().clone(), limits, options);
        Compiler { engine, tokenizer: tokenizer.clone() }
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
        let regex = maskwright_syntax::regex::parse(pattern, Dialect::Rust, &fuel)?;
        Ok(self.engine.compile(Grammar::from_regex(regex), &fuel)?)
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
        let grammar = maskwright_syntax::parse_gbnf(source, "grammar.gbnf", &fuel)?;
        self.compile(&grammar, options)
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
        let grammar = maskwright_syntax::choice(choices)?;
        Ok(self.engine.compile(grammar, &self.fuel(options))?)
    }

    /// The JSON texts that a schema allows.
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
        let compiled = maskwright_json_schema::compile_str(schema, config, &fuel)?;
        let grammar = self.engine.compile(compiled.grammar, &fuel)?;
        Ok(CompiledSchema { grammar, report: compiled.report })
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
        let grammar = collapse_regular(grammar, &fuel).map_err(maskwright_grammar::GrammarError::from)?;
        Ok(self.engine.compile(grammar, &fuel)?)
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
        let fuel = Fuel::new(self.engine.limits().compile_fuel);
        match &options.cancel {
            Some(token) => fuel.with_cancel(token.clone()),
            None => fuel,
        }
    }
}
