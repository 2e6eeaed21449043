//! From the grammar arguments to a grammar: reading files, calling front ends, naming the file in errors.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, anyhow};
use maskwright::{
    CancelToken, CompileOptions, CompiledGrammar, Compiler, Grammar, Report, SchemaConfig, Status, Tokenizer,
    parse,
};

use crate::arguments::GrammarArguments;
use crate::outcome::note;

/// A grammar's source, read.
pub(crate) enum Source {
    /// A JSON Schema.
    JsonSchema { name: String, text: String, config: SchemaConfig },
    /// A regular expression.
    Regex(String),
    /// A GBNF grammar.
    Gbnf { name: String, text: String },
    /// Some texts.
    Choice(Vec<String>),
}

impl Source {
    /// Reads the grammar that the user named; `None` if there is none.
    pub(crate) fn read(arguments: &GrammarArguments) -> anyhow::Result<Option<Source>> {
        let GrammarArguments { json_schema, regex, gbnf, choice, whitespace, lenient } = arguments;
        Ok(if let Some(path) = json_schema {
            let config = SchemaConfig {
                whitespace: (*whitespace).into(),
                strict: !lenient,
                ..SchemaConfig::default()
            };
            Some(Source::JsonSchema { name: path.display().to_string(), text: read_text(path)?, config })
        } else if let Some(path) = gbnf {
            Some(Source::Gbnf { name: path.display().to_string(), text: read_text(path)? })
        } else if let Some(pattern) = regex {
            Some(Source::Regex(pattern.clone()))
        } else {
            choice.clone().map(Source::Choice)
        })
    }

    /// As [`read`](Source::read), where there must be one.
    pub(crate) fn require(arguments: &GrammarArguments) -> anyhow::Result<Source> {
        let missing = "no grammar is given: one of --json-schema, --regex, --gbnf, --choice is needed";
        Source::read(arguments)?.ok_or_else(|| anyhow!(missing))
    }

    /// The schema's text, if it is one.
    pub(crate) fn schema_text(&self) -> Option<&str> {
        match self {
            Source::JsonSchema { text, .. } => Some(text),
            _ => None,
        }
    }

    /// Compiles for the tokens of `tokenizer`, and tells of keywords that are not enforced.
    pub(crate) fn compile(
        &self,
        tokenizer: &Tokenizer,
        cancel: Option<CancelToken>,
    ) -> anyhow::Result<Arc<CompiledGrammar>> {
        let compiler = Compiler::new(tokenizer);
        let options = CompileOptions { cancel };
        match self {
            Source::Regex(pattern) => Ok(compiler.compile_regex(pattern, &options)?),
            Source::Gbnf { name, text } => {
                compiler.compile_gbnf(text, &options).with_context(|| name.clone())
            }
            Source::Choice(choices) => Ok(compiler.compile_choice(choices, &options)?),
            Source::JsonSchema { name, text, config } => {
                let compiled =
                    compiler.compile_json_schema(text, config, &options).with_context(|| name.clone())?;
                tell_unenforced(name, &compiled.report);
                Ok(compiled.grammar)
            }
        }
    }

    /// The grammar as the front end makes it.
    pub(crate) fn parse(&self) -> anyhow::Result<Grammar> {
        let options = CompileOptions::default();
        match self {
            Source::Regex(pattern) => Ok(parse::regex(pattern, &options)?),
            Source::Gbnf { name, text } => parse::gbnf(text, &options).with_context(|| name.clone()),
            Source::Choice(choices) => Ok(parse::choice(choices)?),
            Source::JsonSchema { name, text, config } => {
                let (grammar, report) =
                    parse::json_schema(text, config, &options).with_context(|| name.clone())?;
                tell_unenforced(name, &report);
                Ok(grammar)
            }
        }
    }
}

/// Reads a text file; the error names it.
pub(crate) fn read_text(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        anyhow!("{}: not UTF-8 text from byte {position} on", path.display())
    })
}

/// What a lenient compilation lets pass.
fn tell_unenforced(name: &str, report: &Report) {
    for entry in report.entries() {
        if let Status::NotEnforced { reason } = entry.status {
            let place = if entry.pointer.is_empty() { "the root" } else { &entry.pointer };
            note(format_args!("{name}: `{}` at {place} is not enforced: {reason}", entry.keyword));
        }
    }
}
