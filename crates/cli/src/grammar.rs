//! From the grammar arguments to a grammar: reading files, calling front ends, naming the file in errors.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use maskwright::{
    CancelToken, CompileOptions, CompiledGrammar, Compiler, LarkGrammar, LarkOptions, Report, SchemaConfig,
    SchemaDocuments, Status, Tokenizer, parse,
};

use crate::arguments::{GrammarArguments, SchemaArgument};
use crate::input;
use crate::lr::NamedTable;
use crate::outcome::{note, warning};

/// A grammar's source, read.
pub(crate) enum Source {
    /// A JSON Schema.
    JsonSchema { origin: Origin, text: String, config: SchemaConfig, documents: SchemaDocuments },
    /// A regular expression.
    Regex(String),
    /// A GBNF grammar.
    Gbnf { file: PathBuf, text: String },
    /// A grammar in Lark's language; its messages name the file.
    Lark { text: String, options: LarkOptions },
    /// A built-in grammar, by name.
    Builtin(String),
    /// Some texts.
    Choice(Vec<String>),
}

/// Where a source was read from, which messages say.
pub(crate) enum Origin {
    File(PathBuf),
    StandardInput,
    Argument,
}

impl Origin {
    fn file(&self) -> Option<&Path> {
        match self {
            Origin::File(path) => Some(path),
            Origin::StandardInput | Origin::Argument => None,
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File(path) => path.display().fmt(f),
            Origin::StandardInput => f.write_str(input::STDIN),
            Origin::Argument => f.write_str("<json>"),
        }
    }
}

impl Source {
    /// Reads the grammar that the user named; `None` if there is none.
    pub(crate) fn read(arguments: &GrammarArguments) -> anyhow::Result<Option<Source>> {
        let is_for_lark = arguments.lexer.is_some()
            || arguments.start.is_some()
            || arguments.indentation.is_some()
            || !arguments.import_path.is_empty();
        if is_for_lark && arguments.lark.is_none() {
            bail!("--lexer, --indentation, --start and --import-path go with --lark FILE");
        }
        if !arguments.schema_dir.is_empty() && arguments.json_schema.is_none() {
            bail!("--schema-dir goes with --json-schema FILE");
        }
        Ok(if let Some(schema) = &arguments.json_schema {
            let mut documents = SchemaDocuments::default();
            for folder in &arguments.schema_dir {
                documents.add_folder(folder)?;
            }
            let config = SchemaConfig {
                whitespace: arguments.whitespace.into(),
                strict: !arguments.lenient,
                ..SchemaConfig::default()
            };
            let (origin, text) = read_schema(schema)?;
            Some(Source::JsonSchema { origin, text, config, documents })
        } else if let Some(path) = &arguments.gbnf {
            Some(Source::Gbnf { file: path.clone(), text: read_text(path)? })
        } else if let Some(path) = &arguments.lark {
            let defaults = LarkOptions::default();
            let options = LarkOptions {
                start: arguments.start.clone().unwrap_or(defaults.start),
                lexer: arguments.lexer.map_or(defaults.lexer, Into::into),
                indentation: arguments.indentation.map(Into::into),
                schemas: SchemaConfig { whitespace: arguments.whitespace.into(), ..defaults.schemas },
                file: Some(path.clone()),
                import_paths: arguments.import_path.clone(),
            };
            Some(Source::Lark { text: read_text(path)?, options })
        } else if let Some(name) = &arguments.builtin {
            Some(Source::Builtin(name.clone()))
        } else if let Some(pattern) = &arguments.regex {
            Some(Source::Regex(pattern.clone()))
        } else {
            arguments.choice.clone().map(Source::Choice)
        })
    }

    /// As [`read`](Source::read), where there must be one.
    pub(crate) fn require(arguments: &GrammarArguments) -> anyhow::Result<Source> {
        let missing = "no grammar is given: one of --json-schema, --regex, --gbnf, --lark, --grammar, --choice is needed";
        Source::read(arguments)?.ok_or_else(|| anyhow!(missing))
    }

    /// The schema's text, if it is one.
    pub(crate) fn schema_text(&self) -> Option<&str> {
        match self {
            Source::JsonSchema { text, .. } => Some(text),
            _ => None,
        }
    }

    /// What goes with a compilation of this source.
    fn options(&self, cancel: Option<CancelToken>) -> CompileOptions {
        let mut options = CompileOptions { cancel, ..CompileOptions::default() };
        match self {
            Source::JsonSchema { origin, documents, .. } => {
                options.file = origin.file().map(Path::to_path_buf);
                options.documents = documents.clone();
            }
            Source::Gbnf { file, .. } => options.file = Some(file.clone()),
            _ => {}
        }
        options
    }

    /// Compiles for the tokens of `tokenizer`, and tells of keywords that are not enforced or probably misspelt.
    pub(crate) fn compile(
        &self,
        tokenizer: &Tokenizer,
        cancel: Option<CancelToken>,
    ) -> anyhow::Result<Arc<CompiledGrammar>> {
        let compiler = Compiler::new(tokenizer);
        let options = self.options(cancel);
        match self {
            Source::Regex(pattern) => Ok(compiler.compile_regex(pattern, &options)?),
            Source::Gbnf { file, text } => {
                compiler.compile_gbnf(text, &options).map_err(|error| named(error, file))
            }
            Source::Lark { text, options: lark } => Ok(compiler.compile_lark(text, lark, &options)?),
            Source::Builtin(name) => Ok(compiler.compile_builtin(name, &options)?),
            Source::Choice(choices) => Ok(compiler.compile_choice(choices, &options)?),
            Source::JsonSchema { origin, text, config, .. } => {
                let compiled = compiler.compile_json_schema(text, config, &options);
                let compiled = compiled.map_err(|error| of_schema(error, origin))?;
                tell(origin, &compiled.report);
                Ok(compiled.grammar)
            }
        }
    }

    /// The LALR(1) table of the rules.
    pub(crate) fn lr_table(&self) -> anyhow::Result<NamedTable> {
        let options = self.options(None);
        let of_lark = |grammar: &LarkGrammar| -> anyhow::Result<NamedTable> {
            let table = parse::lr_table(&grammar.lexed.rules, &options)?;
            Ok(NamedTable { table, terminals: grammar.names().map(str::to_owned).collect() })
        };
        match self {
            Source::Gbnf { file, text } => {
                let grammar = parse::gbnf(text, &options).map_err(|error| named(error, file))?;
                let terminals = grammar.terminals().iter().map(|regex| format!("{regex:?}")).collect();
                Ok(NamedTable { table: parse::lr_table(&grammar, &options)?, terminals })
            }
            Source::Lark { text, options: lark } => of_lark(&parse::lark(text, lark, &options)?),
            Source::Builtin(name) => of_lark(&parse::builtin(name, &options)?),
            Source::Regex(_) | Source::Choice(_) | Source::JsonSchema { .. } => {
                bail!("there are no rules to make a table of: lr goes with --lark, --grammar and --gbnf")
            }
        }
    }

    /// The grammar as the front end makes it, printed.
    pub(crate) fn ir(&self) -> anyhow::Result<String> {
        let options = self.options(None);
        Ok(match self {
            Source::Regex(pattern) => parse::regex(pattern, &options)?.to_string(),
            Source::Gbnf { file, text } => {
                parse::gbnf(text, &options).map_err(|error| named(error, file))?.to_string()
            }
            Source::Lark { text, options: lark } => parse::lark(text, lark, &options)?.to_string(),
            Source::Builtin(name) => parse::builtin(name, &options)?.to_string(),
            Source::Choice(choices) => parse::choice(choices)?.to_string(),
            Source::JsonSchema { origin, text, config, .. } => {
                let read = parse::json_schema(text, config, &options);
                let (grammar, report) = read.map_err(|error| of_schema(error, origin))?;
                tell(origin, &report);
                grammar.to_string()
            }
        })
    }
}

/// Reads a schema, and says from where.
fn read_schema(argument: &SchemaArgument) -> anyhow::Result<(Origin, String)> {
    Ok(match argument {
        SchemaArgument::File(path) => (Origin::File(path.clone()), read_text(path)?),
        SchemaArgument::StandardInput => {
            (Origin::StandardInput, utf8(input::read_stdin("schema")?, &Origin::StandardInput)?)
        }
        SchemaArgument::Text(text) => (Origin::Argument, text.clone()),
    })
}

/// Reads a text file; the error names it.
fn read_text(path: &Path) -> anyhow::Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    utf8(bytes, &path.display())
}

fn utf8(bytes: Vec<u8>, name: &dyn fmt::Display) -> anyhow::Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let position = error.utf8_error().valid_up_to();
        anyhow!("{name}: not UTF-8 text from byte {position} on")
    })
}

/// The error with the file's name before it, unless its source frame has the name. An error in a schema's pattern has a
/// pointer, and its frame shows the pattern without the file.
fn named(error: maskwright::Error, file: &Path) -> anyhow::Error {
    let is_named = error.line().is_some() && error.pointer().is_none();
    let error = anyhow::Error::from(error);
    if is_named { error } else { error.context(file.display().to_string()) }
}

/// As [`named`]; only files have a name in source frames.
fn of_schema(error: maskwright::Error, origin: &Origin) -> anyhow::Error {
    match origin {
        Origin::File(path) => named(error, path),
        Origin::StandardInput | Origin::Argument => anyhow::Error::from(error).context(origin.to_string()),
    }
}

/// What of a schema has no effect: what a lenient compilation lets pass, and what is probably a mistake.
fn tell(name: &Origin, report: &Report) {
    for entry in report.entries() {
        if let Status::NotEnforced { reason } = entry.status {
            let place = if entry.pointer.is_empty() { "the root" } else { &entry.pointer };
            note(format_args!("{name}: `{}` at {place} is not enforced: {reason}", entry.keyword));
        }
    }
    for told in report.warnings() {
        warning(format_args!("{name}: {told}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file called `a` was not named, since every message has that letter.
    #[test]
    fn every_error_names_the_file_once() {
        let told = |schema: &str| {
            let options = CompileOptions { file: Some("a".into()), ..CompileOptions::default() };
            let read = parse::json_schema(schema, &SchemaConfig::default(), &options);
            format!("{:#}", named(read.expect_err("the schema is wrong"), Path::new("a")))
        };
        for schema in [r#"{"type": "text"}"#, r#"{"pattern": "a("}"#] {
            let told = told(schema);
            assert!(told.starts_with("a: `") && !told.contains("[a:"), "{told}");
        }
        let told = told("{");
        assert!(!told.starts_with("a: ") && told.contains("a:1:2"), "{told}");
        let options = CompileOptions { file: Some("a".into()), ..CompileOptions::default() };
        let told = format!("{:#}", named(parse::gbnf("root ::= b", &options).unwrap_err(), Path::new("a")));
        assert!(!told.starts_with("a: ") && told.contains("a:1:10"), "{told}");
    }
}
