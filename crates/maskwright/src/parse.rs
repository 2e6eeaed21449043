//! Front ends alone: source text in, grammar out, without a vocabulary.
//!
//! [`Compiler`](crate::Compiler) does this as its first step. Here it is by itself, for whoever wants to see the
//! grammar (`maskwright debug ir`), to put it into a larger one, or to compile it for several vocabularies. The
//! work is limited by [`Limits::compile_fuel`](crate::Limits) at its default.

use maskwright_automata::Fuel;
use maskwright_grammar::{Grammar, GrammarError, LrTable};
use maskwright_json_schema::{Report, SchemaConfig};
use maskwright_lark::LarkGrammar;
use maskwright_syntax::regex::Dialect;

use crate::schema::Schema;
use crate::{CompileOptions, Error, LarkOptions, Limits, gbnf};

/// The texts that the whole of `pattern` matches, in the dialect of Rust's `regex` crate.
///
/// # Errors
/// If the pattern is wrong, or a limit is reached.
///
/// ```
/// let grammar = maskwright::parse::regex("[0-9]+", &Default::default())?;
/// assert_eq!(grammar.terminals().len(), 1);
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn regex(pattern: &str, options: &CompileOptions) -> Result<Grammar, Error> {
    Ok(Grammar::from_regex(maskwright_syntax::regex::parse(pattern, Dialect::Rust, &fuel(options))?))
}

/// The texts of a GBNF grammar.
///
/// # Errors
/// If the grammar is wrong, or a limit is reached.
///
/// ```
/// let grammar = maskwright::parse::gbnf(r#"root ::= "a" root | "b""#, &Default::default())?;
/// assert!(grammar.to_string().contains("root ::="));
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn gbnf(source: &str, options: &CompileOptions) -> Result<Grammar, Error> {
    gbnf::parse(source, options.file.as_deref(), &fuel(options))
}

/// Exactly one of `choices`.
///
/// # Errors
/// If there are none.
///
/// ```
/// assert!(maskwright::parse::choice(&["yes", "no"]).is_ok());
/// ```
pub fn choice<S: AsRef<str>>(choices: &[S]) -> Result<Grammar, Error> {
    maskwright_syntax::choice(choices).map_err(|error| Error::choices(&error))
}

/// The JSON texts that a schema allows, and what of it is enforced.
///
/// # Errors
/// If the schema is wrong, unsatisfiable, has a keyword that is not enforced (unless `config.strict` is off), or
/// a limit is reached.
///
/// ```
/// let (_, report) = maskwright::parse::json_schema("true", &Default::default(), &Default::default())?;
/// assert!(report.is_complete());
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn json_schema(
    schema: &str,
    config: &SchemaConfig,
    options: &CompileOptions,
) -> Result<(Grammar, Report), Error> {
    let (schema, document) = Schema::read(schema, config, options)?;
    let compiled = schema.compile(&document, &fuel(options))?;
    Ok((compiled.grammar, compiled.report))
}

/// A grammar in Lark's language.
///
/// # Errors
/// If the grammar is wrong, an import is not found, or a limit is reached.
///
/// ```
/// let grammar = maskwright::parse::lark("start: \"a\"+ B\nB: /b/", &Default::default(), &Default::default())?;
/// assert_eq!(grammar.lexed.terminals.len(), 2);
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn lark(source: &str, lark: &LarkOptions, options: &CompileOptions) -> Result<LarkGrammar, Error> {
    crate::lark::parse(source, lark, &fuel(options))
}

/// A built-in grammar.
///
/// # Errors
/// If there is none of this name.
///
/// ```
/// assert!(maskwright::parse::builtin("json", &Default::default()).is_ok());
/// ```
pub fn builtin(name: &str, options: &CompileOptions) -> Result<LarkGrammar, Error> {
    crate::lark::parse_builtin(name, &fuel(options))
}

/// The LALR(1) table of a grammar's rules, to be looked at: the engine has no use for it.
///
/// # Errors
/// If a limit is reached.
///
/// ```
/// let grammar = maskwright::parse::builtin("json", &Default::default())?;
/// let table = maskwright::parse::lr_table(&grammar.lexed.rules, &Default::default())?;
/// assert!(table.conflicts.is_empty());
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn lr_table(grammar: &Grammar, options: &CompileOptions) -> Result<LrTable, Error> {
    Ok(LrTable::new(grammar, &fuel(options)).map_err(GrammarError::from)?)
}

fn fuel(options: &CompileOptions) -> Fuel {
    options.fuel(Limits::default().compile_fuel)
}
