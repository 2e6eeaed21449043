//! From the grammar arguments to a grammar: reading files, calling front ends, naming the file in errors.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use maskwright::debug::Parsed;
use maskwright::json_schema::{Report, SchemaConfig, SchemaDocuments, Status, Whitespace};
use maskwright::lark::LarkOptions;
use maskwright::tool_calls::{ToolCallOptions, tool_formats};
use maskwright::{CancelToken, CompileOptions, CompiledGrammar, Compiler, GrammarSource, Limits, Tokenizer};

use crate::arguments::{DialectArgument, GrammarArguments, JsonArgument, WhitespaceArgument};
use crate::input;
use crate::outcome::{Outcome, note, warning};

/// A grammar's source, read.
pub(crate) struct Source {
    source: GrammarSource,
    origin: Origin,
}

/// Where a source was read from, which messages say.
enum Origin {
    File(PathBuf),
    StandardInput,
    Json,
    /// A name, pattern or choices, which messages need no name for.
    Argument,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Origin::File(path) => path.display().fmt(f),
            Origin::StandardInput => f.write_str(input::STDIN),
            Origin::Json => f.write_str("<json>"),
            Origin::Argument => Ok(()),
        }
    }
}

impl Source {
    /// Reads the grammar that the user named; `None` if there is none.
    pub(crate) fn read(arguments: &GrammarArguments) -> anyhow::Result<Option<Source>> {
        if (arguments.dialect.is_some() || arguments.unicode) && arguments.regex.is_none() {
            bail!("--dialect and --unicode go with --regex PATTERN");
        }
        let is_for_lark = arguments.lexer.is_some()
            || arguments.start.is_some()
            || arguments.indentation.is_some()
            || !arguments.import_path.is_empty();
        if is_for_lark && arguments.lark.is_none() {
            bail!("--lexer, --indentation, --start and --import-path go with --lark FILE");
        }
        let is_special = arguments.special_tokens_in_text;
        let has_strings =
            arguments.structural_tag.is_some() || arguments.gbnf.is_some() || arguments.lark.is_some();
        if is_special && !has_strings {
            bail!("--special-tokens-in-text goes with --structural-tag, --gbnf or --lark");
        }
        if arguments.tool_format.is_some() && arguments.tools.is_none() {
            bail!("--tool-format goes with --tools FILE");
        }
        if !arguments.schema_dir.is_empty() && arguments.json_schema.is_none() {
            bail!("--schema-dir goes with --json-schema FILE");
        }
        Ok(if let Some(schema) = &arguments.json_schema {
            let mut documents = SchemaDocuments::default();
            for folder in &arguments.schema_dir {
                documents.add_folder(folder)?;
            }
            let (origin, text) = read_json(schema, "schema")?;
            let source = GrammarSource::json_schema(text, schema_config(arguments)?).documents(documents);
            Some(Source { source: origin.of(source), origin })
        } else if let Some(tag) = &arguments.structural_tag {
            let (origin, text) = read_json(tag, "structural tag")?;
            let source = GrammarSource::structural_tag(text, schema_config(arguments)?);
            let source = source.special_tokens_in_text(is_special);
            Some(Source { source: origin.of(source), origin })
        } else if let Some(tools) = &arguments.tools {
            let (origin, text) = read_json(tools, "tools")?;
            let known = || tool_formats().map(|format| format.name).collect::<Vec<&str>>().join(", ");
            let format = arguments.tool_format.as_deref();
            let format =
                format.ok_or_else(|| anyhow!("--tools goes with --tool-format NAME, one of {}", known()))?;
            let mut options = ToolCallOptions::new(format);
            options.tool_choice = arguments.tool_choice.clone();
            options.reasoning = arguments.reasoning.into();
            let source = GrammarSource::tool_calls(text, options, schema_config(arguments)?);
            Some(Source { source: origin.of(source), origin })
        } else if let Some(path) = &arguments.gbnf {
            let source = GrammarSource::gbnf(read_text(path)?).special_tokens_in_text(is_special);
            Some(Source::in_file(source, path))
        } else if let Some(path) = &arguments.lark {
            let mut options = LarkOptions::default();
            if let Some(start) = &arguments.start {
                options.start = start.clone();
            }
            if let Some(lexer) = arguments.lexer {
                options.lexer = lexer.into();
            }
            options.indentation = arguments.indentation.clone().map(|names| names.0);
            options.schemas.whitespace = whitespace(arguments)?;
            options.schemas.numbers = arguments.numbers.into();
            options.import_paths = arguments.import_path.clone();
            let source = GrammarSource::lark(read_text(path)?, options).special_tokens_in_text(is_special);
            Some(Source::in_file(source, path))
        } else if let Some(name) = &arguments.builtin {
            Some(Source::of_argument(GrammarSource::builtin(name)))
        } else if let Some(pattern) = &arguments.regex {
            let source = match arguments.dialect {
                Some(DialectArgument::Ecma) if arguments.unicode => bail!(
                    "--unicode with --dialect ecma: JavaScript's \\d, \\w and \\b are ASCII-only; leave --dialect away, or write \
                     \\p{{Nd}} for \\d and [\\p{{L}}\\p{{N}}_] for \\w"
                ),
                Some(_) if arguments.unicode => bail!(
                    "--unicode with --dialect: \\d, \\w, \\s and \\b match all of Unicode in this dialect; leave --unicode away"
                ),
                None if arguments.unicode => GrammarSource::rust_regex(pattern),
                None => GrammarSource::regex(pattern),
                Some(DialectArgument::Rust) => GrammarSource::rust_regex(pattern),
                Some(DialectArgument::Ecma) => GrammarSource::ecma_regex(pattern),
                Some(DialectArgument::Python) => GrammarSource::python_regex(pattern),
            };
            Some(Source::of_argument(source))
        } else {
            arguments.choice.clone().map(|choices| Source::of_argument(GrammarSource::choice(choices)))
        })
    }

    fn in_file(source: GrammarSource, path: &Path) -> Source {
        Source { source: source.file(path), origin: Origin::File(path.to_owned()) }
    }

    fn of_argument(source: GrammarSource) -> Source {
        Source { source, origin: Origin::Argument }
    }

    /// As [`read`](Source::read), where there must be one.
    pub(crate) fn require(arguments: &GrammarArguments) -> anyhow::Result<Source> {
        let missing = "no grammar is given: one of --json-schema, --structural-tag, --tools, --regex, --gbnf, --lark, --grammar, \
                       --choice is needed";
        Source::read(arguments)?.ok_or_else(|| anyhow!(missing))
    }

    /// The kind of the grammar, and its file if it has one.
    pub(crate) fn title(&self) -> String {
        let kind = self.source.kind().replace('_', " ");
        match &self.origin {
            Origin::File(path) => format!("{kind} {}", path.display()),
            Origin::StandardInput | Origin::Json | Origin::Argument => kind,
        }
    }

    /// What to tell a model of it in a prompt.
    pub(crate) fn describe(&self) -> anyhow::Result<String> {
        maskwright::describe(&self.source, None).map_err(|error| self.origin.name(error))
    }

    /// Compiles for the tokens of `tokenizer`, and tells of keywords that are not enforced or probably
    /// misspelt.
    pub(crate) fn compile(
        &self,
        tokenizer: &Tokenizer,
        cancel: Option<CancelToken>,
    ) -> anyhow::Result<Arc<CompiledGrammar>> {
        self.compile_within(Limits::default(), tokenizer, cancel)
    }

    /// The same, with these limits.
    pub(crate) fn compile_within(
        &self,
        limits: Limits,
        tokenizer: &Tokenizer,
        cancel: Option<CancelToken>,
    ) -> anyhow::Result<Arc<CompiledGrammar>> {
        let mut options = CompileOptions::default();
        options.cancel = cancel;
        let compiled = Compiler::with_limits(tokenizer, limits).compile(&self.source, &options);
        let compiled = compiled.map_err(|error| self.origin.name(error))?;
        if let Some(report) = compiled.report() {
            tell(&self.origin, report);
        }
        for told in compiled.warnings() {
            let space = if told.line.is_some() { "" } else { " " };
            warning(format_args!("{}:{space}{told}", self.origin));
        }
        Ok(compiled)
    }

    fn parse(&self) -> anyhow::Result<Parsed> {
        self.source.parse(&CompileOptions::default()).map_err(|error| self.origin.name(error))
    }

    /// The grammar as the front end makes it, printed.
    pub(crate) fn ir(&self) -> anyhow::Result<String> {
        Ok(match self.parse()? {
            Parsed::Lark(grammar) => grammar.to_string(),
            Parsed::OverBytes(grammar, report) => {
                if let Some(report) = report {
                    tell(&self.origin, &report);
                }
                grammar.to_string()
            }
        })
    }
}

/// Lists the formats in which models write calls of tools, one on each line.
pub(crate) fn list_tool_formats() -> anyhow::Result<Outcome> {
    let mut stdout = std::io::BufWriter::new(std::io::stdout().lock());
    for format in tool_formats() {
        writeln!(stdout, "{}", format.name)?;
    }
    stdout.flush()?;
    Ok(Outcome::Done)
}

/// How JSON Schemas are read.
fn schema_config(arguments: &GrammarArguments) -> anyhow::Result<SchemaConfig> {
    let mut config = SchemaConfig::default();
    config.whitespace = whitespace(arguments)?;
    config.numbers = arguments.numbers.into();
    config.strict = !arguments.lenient;
    Ok(config)
}

/// The white space in JSON.
fn whitespace(arguments: &GrammarArguments) -> anyhow::Result<Whitespace> {
    Ok(match (arguments.whitespace, arguments.max_whitespace) {
        (None | Some(WhitespaceArgument::Any), Some(max)) => Whitespace::AtMost(max),
        (Some(_), Some(_)) => {
            bail!(
                "--max-whitespace goes with --whitespace any, or without --whitespace: the other styles have their own limits"
            )
        }
        (None | Some(WhitespaceArgument::Flexible), None) => Whitespace::Flexible,
        (Some(WhitespaceArgument::Compact), None) => Whitespace::Compact,
        (Some(WhitespaceArgument::Any), None) => Whitespace::Any,
    })
}

/// Reads a schema or structural tag, and says from where. `what`: what messages call it.
fn read_json(argument: &JsonArgument, what: &str) -> anyhow::Result<(Origin, String)> {
    Ok(match argument {
        JsonArgument::File(path) => (Origin::File(path.clone()), read_text(path)?),
        JsonArgument::StandardInput => {
            (Origin::StandardInput, utf8(input::read_stdin(what)?, &Origin::StandardInput)?)
        }
        JsonArgument::Text(text) => (Origin::Json, text.clone()),
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

impl Origin {
    /// The source with the file that its text is from.
    fn of(&self, source: GrammarSource) -> GrammarSource {
        if let Origin::File(path) = self { source.file(path) } else { source }
    }

    /// The error with the name of its source before it, unless its source frame has the name. An error in a
    /// schema's pattern has a pointer, and its frame shows the pattern without the file.
    fn name(&self, error: maskwright::Error) -> anyhow::Error {
        let is_named = match self {
            Origin::File(_) => error.path().is_some() && error.line().is_some() && error.pointer().is_none(),
            Origin::StandardInput | Origin::Json => false,
            Origin::Argument => true,
        };
        let error = anyhow::Error::from(error);
        if is_named { error } else { error.context(self.to_string()) }
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
        let told = |source: GrammarSource| {
            let parsed = Source::in_file(source, Path::new("a")).parse();
            format!("{:#}", parsed.expect_err("the source is wrong"))
        };
        let schema = |text: &str| told(GrammarSource::json_schema(text, SchemaConfig::default()));
        for text in [r#"{"type": "text"}"#, r#"{"pattern": "a("}"#] {
            let told = schema(text);
            assert!(told.starts_with("a: `") && !told.contains("[a:"), "{told}");
        }
        let told_of_json = schema("{");
        assert!(!told_of_json.starts_with("a: ") && told_of_json.contains("a:1:2"), "{told_of_json}");
        for source in
            [GrammarSource::gbnf("root ::= b"), GrammarSource::lark("start: bad", Default::default())]
        {
            let told = told(source);
            assert!(!told.starts_with("a: ") && told.contains("a:1:"), "{told}");
        }
    }
}
