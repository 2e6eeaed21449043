//! The arguments, as clap reads them. Help texts are for users, so they stand here in full: each comment on
//! an argument, a value or a command is one.

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use maskwright::json_schema::Numbers;
use maskwright::lark::{Indentation, LexerKind, Tabs};
use maskwright::tool_calls::Reasons;
use maskwright_decode::SamplerConfig;

use crate::examples;

/// Constrained decoding: a language model that can only write what the grammar allows.
#[derive(Parser)]
#[command(name = "maskwright", version, arg_required_else_help = true, max_term_width = 100)]
#[command(after_help = examples::COMMAND_LINE)]
pub(crate) struct CommandLine {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    Generate(Generate),
    Check(Check),
    Mask(Mask),
    Infill(Infill),
    Tokenize(Tokenize),
    Pull(Pull),
    Completions(Completions),
    Debug(Debug),
}

impl Command {
    /// Whether `--tool-format` stands without a name, which lists them whatever else is asked.
    pub(crate) fn asks_for_tool_formats(&self) -> bool {
        let grammar = match self {
            Command::Generate(arguments) => &arguments.grammar,
            Command::Check(arguments) => &arguments.grammar,
            Command::Mask(arguments) => &arguments.grammar,
            Command::Infill(arguments) => &arguments.grammar,
            Command::Debug(arguments) => &arguments.grammar,
            Command::Tokenize(_) | Command::Pull(_) | Command::Completions(_) => return false,
        };
        grammar.tool_format.as_deref() == Some("")
    }
}

/// The heading of the arguments that name a grammar.
const GRAMMAR: &str = "Grammar (one of)";
const DIFFUSION: &str = "With --model builtin-diffusion";

/// The language. One of these.
#[derive(Args, Debug, Default)]
pub(crate) struct GrammarArguments {
    /// A JSON Schema: texts are the JSON that it allows. A file, `-` (standard input), or the schema itself:
    /// what begins with `{`, or is `true` or `false`
    #[arg(long, value_name = "FILE|-|JSON", group = "grammar", help_heading = GRAMMAR)]
    pub(crate) json_schema: Option<JsonArgument>,
    /// A structural tag (xgrammar's JSON): free text, tags and calls of tools. A file, `-` (standard input),
    /// or the tag itself: what begins with `{`
    #[arg(long, value_name = "FILE|-|JSON", group = "grammar", help_heading = GRAMMAR)]
    pub(crate) structural_tag: Option<JsonArgument>,
    /// A list of tools that a model may call, in OpenAI's, Anthropic's or MCP's form; texts are its messages
    /// with calls. A file, `-` (standard input), or the list itself: what begins with `[` or `{`
    #[arg(long, value_name = "FILE|-|JSON", group = "grammar", help_heading = GRAMMAR)]
    pub(crate) tools: Option<JsonArgument>,
    /// A regular expression that the whole text matches. The syntax is that of Rust's regex crate, but \d,
    /// \w, \s and \b are ASCII-only: see --unicode and --dialect
    #[arg(long, value_name = "PATTERN", group = "grammar", help_heading = GRAMMAR, allow_hyphen_values = true)]
    pub(crate) regex: Option<String>,
    /// A GBNF grammar (llama.cpp's notation, start rule `root`)
    #[arg(long, value_name = "FILE", group = "grammar", help_heading = GRAMMAR)]
    pub(crate) gbnf: Option<PathBuf>,
    /// A grammar in Lark's language
    #[arg(long, value_name = "FILE", group = "grammar", help_heading = GRAMMAR)]
    pub(crate) lark: Option<PathBuf>,
    /// A built-in grammar: arithmetic, cpp, json, python, smiles or sql
    #[arg(long = "grammar", value_name = "NAME", group = "grammar", help_heading = GRAMMAR)]
    pub(crate) builtin: Option<String>,
    /// One of these texts
    #[arg(long, value_name = "TEXT", num_args = 1.., group = "grammar", help_heading = GRAMMAR)]
    pub(crate) choice: Option<Vec<String>>,
    /// The dialect of the regular expression: Rust's regex crate, JavaScript, or Python's re
    #[arg(long, value_name = "OF", help_heading = "Regular expressions")]
    pub(crate) dialect: Option<DialectArgument>,
    /// Let \d, \w, \s and \b match all of Unicode, as (?u) at the start of the expression does
    #[arg(long, help_heading = "Regular expressions")]
    pub(crate) unicode: bool,
    /// A folder of other schemas (*.json), which references find by their $id or by file name. Besides these,
    /// only files in the folder of the schema itself are read, by the file names in its references
    #[arg(long, value_name = "DIR", help_heading = "JSON Schema")]
    pub(crate) schema_dir: Vec<PathBuf>,
    /// White space in the JSON of a schema, also in structural tags and Lark grammars [default: flexible]
    #[arg(long, value_name = "HOW", help_heading = "JSON Schema")]
    pub(crate) whitespace: Option<WhitespaceArgument>,
    /// At most N characters of white space at each place where JSON allows it, instead of flexible white
    /// space
    #[arg(long, value_name = "N", help_heading = "JSON Schema")]
    pub(crate) max_whitespace: Option<u32>,
    /// Numbers in the JSON of a schema, also in structural tags and Lark grammars
    #[arg(long, value_name = "HOW", default_value = "plain", help_heading = "JSON Schema")]
    pub(crate) numbers: NumbersArgument,
    /// Leave out what of a schema or structural tag cannot be enforced, and list it, instead of failing
    #[arg(long, help_heading = "JSON Schema")]
    pub(crate) lenient: bool,
    /// Let strings of a structural tag, GBNF or Lark grammar match the special tokens they name, as well as
    /// the text
    #[arg(long, help_heading = "Structural tags, GBNF and Lark")]
    pub(crate) special_tokens_in_text: bool,
    /// The format in which the model writes calls of tools, such as qwen_3 or llama. Without a name, the
    /// formats are listed on standard output, and nothing else is done
    #[arg(long, value_name = "NAME", num_args = 0..=1, default_missing_value = "", help_heading = "Tools")]
    pub(crate) tool_format: Option<String>,
    /// auto (text or calls), none, required, the name of a tool, or JSON of OpenAI's or Anthropic's interface
    #[arg(long, value_name = "CHOICE", default_value = "auto", help_heading = "Tools")]
    pub(crate) tool_choice: String,
    /// Whether the model reasons before it answers or calls tools
    #[arg(long, value_name = "WHEN", default_value = "never", help_heading = "Tools")]
    pub(crate) reasoning: ReasoningArgument,
    /// How a text is split into the tokens of a Lark grammar [default: contextual]
    #[arg(long, value_name = "HOW", help_heading = "Lark")]
    pub(crate) lexer: Option<LexerArgument>,
    /// Make indentation part of a Lark grammar. `python`: the blanks after `_NEWLINE` (or `_NL`), outside of
    /// brackets, produce `_INDENT` and `_DEDENT`. For other names, JSON with any of the keys newline, indent,
    /// dedent, open, close (both lists of brackets) and tab_len
    #[arg(long, value_name = "NAMES", help_heading = "Lark")]
    pub(crate) indentation: Option<IndentationArgument>,
    /// The start rule of a Lark grammar [default: start]
    #[arg(long, value_name = "RULE", help_heading = "Lark")]
    pub(crate) start: Option<String>,
    /// A folder with the grammars and schemas that a Lark grammar imports; relative imports are found beside
    /// its file
    #[arg(long, value_name = "DIR", help_heading = "Lark")]
    pub(crate) import_path: Vec<PathBuf>,
}

/// Whether a model reasons.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReasoningArgument {
    /// It does not
    #[default]
    Never,
    /// It does
    Always,
    /// It may
    Auto,
    /// It does, and the prompt has opened the reasoning: the text begins within
    Open,
}

impl From<ReasoningArgument> for Reasons {
    fn from(argument: ReasoningArgument) -> Reasons {
        match argument {
            ReasoningArgument::Never => Reasons::Never,
            ReasoningArgument::Always => Reasons::Always,
            ReasoningArgument::Auto => Reasons::Maybe,
            ReasoningArgument::Open => Reasons::Open,
        }
    }
}

/// Where a JSON Schema, structural tag or list of tools comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum JsonArgument {
    File(PathBuf),
    StandardInput,
    Text(String),
}

impl From<OsString> for JsonArgument {
    fn from(argument: OsString) -> JsonArgument {
        let is_json = |text: &str| text.starts_with(['{', '[']) || ["true", "false"].contains(&text);
        match argument.to_str() {
            Some("-") => JsonArgument::StandardInput,
            Some(text) if is_json(text.trim()) => JsonArgument::Text(text.to_owned()),
            _ => JsonArgument::File(argument.into()),
        }
    }
}

/// The dialect of a regular expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DialectArgument {
    /// Rust's regex crate: \d, \w, \s and \b match all of Unicode; no look-around
    Rust,
    /// JavaScript with the flag u, as in JSON Schemas
    Ecma,
    /// Python's re: \d, \w, \s and \b match all of Unicode
    Python,
}

/// How a text is split into tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LexerArgument {
    /// By the terminals that the parser can accept at that point
    Contextual,
    /// By all terminals, as Lark's basic lexer does
    Basic,
    /// In any way that the rules allow. JSON Schemas in a grammar (%json) need it
    #[value(name = "dynamic_complete")]
    DynamicComplete,
}

impl From<LexerArgument> for LexerKind {
    fn from(argument: LexerArgument) -> LexerKind {
        match argument {
            LexerArgument::Contextual => LexerKind::Contextual,
            LexerArgument::Basic => LexerKind::Basic,
            LexerArgument::DynamicComplete => LexerKind::DynamicComplete,
        }
    }
}

/// The names of the terminals of indentation: `python`, or JSON that sets some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct IndentationArgument(pub(crate) Indentation);

impl FromStr for IndentationArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<IndentationArgument, String> {
        const KEYS: [&str; 6] = ["newline", "indent", "dedent", "open", "close", "tab_len"];
        let mut names = Indentation::python();
        if text == "python" {
            return Ok(IndentationArgument(names));
        }
        if !text.trim_start().starts_with('{') {
            let example = r#"{"newline": "_NL", "indent": "_INDENT"}"#;
            return Err(format!("expected `python`, or names in JSON such as {example}"));
        }
        let given: serde_json::Map<String, serde_json::Value> =
            serde_json::from_str(text).map_err(|error| error.to_string())?;
        for (key, value) in given {
            let name = || {
                value
                    .as_str()
                    .map(str::to_owned)
                    .ok_or_else(|| format!("{key} is {value}, expected the name of a terminal"))
            };
            let brackets = || {
                let names = value
                    .as_array()
                    .and_then(|names| names.iter().map(|name| Some(name.as_str()?.to_owned())).collect());
                names.ok_or_else(|| format!("{key} is {value}, expected a list of names of terminals"))
            };
            match key.as_str() {
                "newline" => names.newline = vec![name()?],
                "indent" => names.indent = name()?,
                "dedent" => names.dedent = name()?,
                "open" => names.open = brackets()?,
                "close" => names.close = brackets()?,
                "tab_len" => {
                    let width = value.as_u64().filter(|width| (1..=1000).contains(width));
                    let width =
                        width.ok_or_else(|| format!("tab_len is {value}, expected 1 to 1000 spaces"))?;
                    names.tabs = Tabs::Spaces(width as u32);
                }
                _ => return Err(format!("no key {key:?}, expected one of {}", KEYS.join(", "))),
            }
        }
        Ok(IndentationArgument(names))
    }
}

/// White space between JSON's symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WhitespaceArgument {
    /// None
    Compact,
    /// As common JSON writers produce it, indented or not; brackets are padded on both sides or on neither
    Flexible,
    /// Any amount, wherever JSON allows it
    Any,
}

/// How numbers are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum NumbersArgument {
    /// Integers in digits only, other numbers with at most 17 digits and exponents as Python or JavaScript
    /// writes them
    #[default]
    Plain,
    /// In any way that the schema allows: 1.0 as an integer, 1E5
    Any,
}

impl From<NumbersArgument> for Numbers {
    fn from(argument: NumbersArgument) -> Numbers {
        match argument {
            NumbersArgument::Plain => Numbers::Plain,
            NumbersArgument::Any => Numbers::Any,
        }
    }
}

/// Let a model write a text that the grammar allows
///
/// The text goes to standard output as it is written, and nothing else does. Without a grammar the model
/// writes freely. Ctrl-C ends the text where it is.
#[derive(Args)]
#[command(after_help = examples::GENERATE)]
pub(crate) struct Generate {
    /// A GGUF file, a name that `pull` knows, or a Hugging Face id (organisation/repository[:file.gguf]);
    /// fetched first if it is not there
    #[arg(long, short, value_name = "PATH|NAME", default_value = "smollm2")]
    pub(crate) model: String,
    #[command(flatten)]
    pub(crate) grammar: GrammarArguments,
    /// What the model is asked; read from standard input if it is not given
    #[arg(long, short, value_name = "TEXT", help_heading = "Prompt", allow_hyphen_values = true)]
    pub(crate) prompt: Option<String>,
    /// Instructions before the prompt, in the chat template's place for them
    #[arg(long, value_name = "TEXT", help_heading = "Prompt", conflicts_with = "raw")]
    pub(crate) system: Option<String>,
    /// Give the prompt to the model as it is, without its chat template, to be continued
    #[arg(long, visible_alias = "no-chat-template", help_heading = "Prompt")]
    pub(crate) raw: bool,
    /// Disable token healing: the model then does not choose anew how the end of a raw prompt is cut into
    /// tokens
    #[arg(long, help_heading = "Prompt")]
    pub(crate) no_heal: bool,
    /// Add to the prompt what the answer shall be: the schema in short, the grammar, or the tools and how to
    /// call them
    #[arg(long, visible_alias = "show-schema", help_heading = "Prompt")]
    pub(crate) describe: bool,
    /// The most tokens to generate, the end included; under a grammar the text is complete within them
    #[arg(long, value_name = "N", default_value_t = 512, help_heading = "Decoding")]
    pub(crate) max_tokens: usize,
    /// Cut the text off at --max-tokens instead of completing it within them
    #[arg(long, help_heading = "Decoding")]
    pub(crate) no_guarantee: bool,
    /// How the text is found. Options that a strategy has no use for are refused
    #[arg(long, value_name = "HOW", default_value = "sample", help_heading = "Decoding")]
    pub(crate) strategy: StrategyArgument,
    /// How many texts or steps --strategy tries [default: best-of, beam 10; smc 16; mcts 20 for each
    /// token; likeliest 1000 beginnings]. More tries find better texts and take longer
    #[arg(long, value_name = "N", help_heading = "Decoding")]
    pub(crate) tries: Option<NonZeroUsize>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArguments,
    /// Ask the model for every token, even where the grammar leaves no choice
    #[arg(long, help_heading = "Decoding")]
    pub(crate) no_jump_forward: bool,
    /// Print speed, mask times, forced tokens, and how much of the model's probability the allowed tokens had
    #[arg(long)]
    pub(crate) stats: bool,
    /// Write a page that shows the text token by token: what the model wanted, what was refused and why. With
    /// a --strategy that tries many texts, the page shows their tree
    #[arg(long, value_name = "FILE.html")]
    pub(crate) trace: Option<PathBuf>,
    /// Show the text once more on standard error, coloured by how much of the model's probability was allowed
    #[arg(long, conflicts_with = "json")]
    pub(crate) color: bool,
    /// Print one JSON object instead of the text; with --stats it lists every step
    #[arg(long)]
    pub(crate) json: bool,
}

/// How tokens are drawn.
#[derive(Args, Clone, Copy)]
pub(crate) struct SamplingArguments {
    /// How freely tokens are drawn: logits are divided by it; 0 always takes the likeliest [default: 0.8;
    /// with the strategy smc: 1]. The defaults of --temperature, --top-k and --top-p suit small
    /// models; with `--temperature 1 --top-k 0 --top-p 1` tokens are drawn by the model's own probabilities
    #[arg(long, value_name = "T", help_heading = "Decoding", allow_negative_numbers = true)]
    pub(crate) temperature: Option<f32>,
    /// Sample among the N likeliest tokens; 0: all [default: 40]
    #[arg(long, value_name = "N", help_heading = "Decoding")]
    pub(crate) top_k: Option<usize>,
    /// Sample among the fewest likeliest tokens with this probability together; 1: all [default: 0.95]
    #[arg(long, value_name = "P", help_heading = "Decoding", allow_negative_numbers = true)]
    pub(crate) top_p: Option<f32>,
    /// Sample among the tokens at least P times as likely as the likeliest [default: 0]
    #[arg(long, value_name = "P", help_heading = "Decoding", allow_negative_numbers = true)]
    pub(crate) min_p: Option<f32>,
    /// Start of the random draws: the same seed gives the same text [default: 0]
    #[arg(long, value_name = "N", help_heading = "Decoding")]
    pub(crate) seed: Option<u64>,
}

impl SamplingArguments {
    /// The options that the user gave.
    pub(crate) fn given(self) -> impl Iterator<Item = &'static str> {
        let SamplingArguments { temperature, top_k, top_p, min_p, seed } = self;
        let options = [
            (temperature.is_some(), "--temperature"),
            (top_k.is_some(), "--top-k"),
            (top_p.is_some(), "--top-p"),
            (min_p.is_some(), "--min-p"),
            (seed.is_some(), "--seed"),
        ];
        options.into_iter().filter_map(|(is_given, option)| is_given.then_some(option))
    }
}

impl From<SamplingArguments> for SamplerConfig {
    /// With defaults that suit small models.
    fn from(arguments: SamplingArguments) -> SamplerConfig {
        let SamplingArguments { temperature, top_k, top_p, min_p, seed } = arguments;
        SamplerConfig {
            temperature: temperature.unwrap_or(0.8),
            top_k: top_k.unwrap_or(40),
            top_p: top_p.unwrap_or(0.95),
            min_p: min_p.unwrap_or(0.0),
            seed: seed.unwrap_or(0),
        }
    }
}

/// How tokens are picked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArgument {
    /// The likeliest allowed token
    Greedy,
    /// At random by the model's probabilities among the allowed tokens (--temperature, --top-k, --top-p,
    /// --min-p, --seed)
    Sample,
    /// Several texts as by `sample`, with its options; the one that is likeliest per token. A cheap way to
    /// avoid a bad sample
    BestOf,
    /// Several texts side by side. The likeliest are extended; the one that is likeliest per token is written
    Beam,
    /// Monte Carlo tree search: some hundred model tokens for each token of the text, never worse than greedy
    Mcts,
    /// The likeliest text of all. For short texts: names, dates, labels. A note says if a likelier one may
    /// exist
    Likeliest,
    /// Draw a text as if the model wrote freely and only valid texts were kept. (`sample` can end in texts
    /// that the model finds unlikely.) Uses several texts side by side (--temperature, --seed)
    Smc,
}

/// Check a text, and show where it goes wrong and what was expected there; or check a schema, and list what
/// would not be enforced
///
/// The verdict goes to standard error and into the exit code. If the grammar has no place for the line end at
/// the end of the file, it is ignored.
#[derive(Args)]
#[command(after_help = examples::CHECK)]
pub(crate) struct Check {
    /// The file with the text; standard input if neither it nor --text is given
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The text itself
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    /// Check this JSON Schema instead of a text: which keywords would not be enforced, and why. A file, `-`
    /// (standard input), or the schema itself
    #[arg(
        long, value_name = "FILE|-|JSON", help_heading = "JSON Schema",
        conflicts_with_all = ["grammar", "text", "file", "tokenizer", "lenient"],
    )]
    pub(crate) schema: Option<JsonArgument>,
    #[command(flatten)]
    pub(crate) grammar: GrammarArguments,
    /// Check token by token with this tokenizer (tokenizer.json, .gguf, or a name such as o200k_base) instead
    /// of byte by byte
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) tokenizer: Option<String>,
    /// Read the names of the tokenizer's special tokens in the text as these tokens, not as text
    #[arg(long, requires = "tokenizer")]
    pub(crate) special: bool,
    /// Print the verdict as a JSON object on standard output
    #[arg(long)]
    pub(crate) json: bool,
}

/// Fill the holes of a template so that the whole is in the language
///
/// A hole is written {{hole}} (any text), {{hole:8}} (at most 8 tokens) or {{hole=3}} (exactly 3 tokens).
/// Without a model the holes get some text that fits. With --model the model writes them from left to right,
/// and every token leaves a way to complete the whole. With --model builtin-diffusion the holes, each of a
/// given number of tokens, are filled by the diffusion model that comes with the program, in any order. The
/// whole text goes to standard output. If the grammar has no place for the line end at the end of the file,
/// it is ignored.
///
/// Models begin a word with the space before it. So where a word comes next, put the hole right after the
/// last one: 'The capital of{{hole}}'. The options under `Decoding` go with --model.
#[derive(Args)]
#[command(after_help = examples::INFILL)]
pub(crate) struct Infill {
    /// The file with the template; standard input if neither it nor --template is given
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The template itself
    #[arg(long, short = 't', value_name = "TEXT", conflicts_with = "file", allow_hyphen_values = true)]
    pub(crate) template: Option<String>,
    #[command(flatten)]
    pub(crate) grammar: GrammarArguments,
    /// The model that fills the holes, given as for `generate`, or builtin-diffusion
    #[arg(long, short, value_name = "PATH|NAME")]
    pub(crate) model: Option<String>,
    /// Without a model: the tokenizer that counts the tokens of holes: tokenizer.json, a .gguf file, or a
    /// name such as gpt2, cl100k_base, o200k_base
    #[arg(long, value_name = "FILE|NAME", conflicts_with = "model")]
    pub(crate) tokenizer: Option<String>,
    /// The question that the language model reads before the template. With builtin-diffusion: the kind of
    /// text (smiles, person, book, city, event, order, recipe) [default: the name of the schema's file, else
    /// smiles]
    #[arg(long, short, value_name = "TEXT", requires = "model", allow_hyphen_values = true)]
    #[arg(help_heading = "With --model")]
    pub(crate) prompt: Option<String>,
    /// After N tokens, end a {{hole}} as soon as the grammar allows [default: 64]
    #[arg(long, value_name = "N", requires = "model", help_heading = "With --model")]
    pub(crate) max_tokens: Option<usize>,
    /// Let the model read the text after a hole too (fill in the middle). For code models that were trained
    /// for it
    #[arg(long, requires = "model", conflicts_with = "prompt", help_heading = "With --model")]
    pub(crate) fim: bool,
    /// The most work to find out whether the holes can be filled, in units of 10 to 35 ns [default:
    /// 150000000]
    #[arg(long, value_name = "UNITS")]
    pub(crate) infill_work: Option<u64>,
    #[command(flatten)]
    pub(crate) sampling: SamplingArguments,
    /// With the diffusion model and no template: so many tokens, end of the text and padding included
    #[arg(long, value_name = "N", conflicts_with_all = ["file", "template"], help_heading = DIFFUSION)]
    pub(crate) tokens: Option<usize>,
    /// How many positions the diffusion model fills at once
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = DIFFUSION)]
    pub(crate) tokens_per_step: usize,
    /// Show the canvas after every token, on standard error; or, with `=FILE.html`, write a page that shows
    /// each
    #[arg(long, value_name = "FILE.html", num_args = 0..=1, require_equals = true, help_heading = DIFFUSION)]
    pub(crate) trace: Option<Option<PathBuf>>,
    /// Let the diffusion model write without the grammar, and say whether the text is in the language
    #[arg(long, help_heading = DIFFUSION)]
    pub(crate) unconstrained: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// List the tokens that may come after a prefix, or explain why one may or may not
#[derive(Args)]
#[command(after_help = examples::MASK)]
#[command(group(clap::ArgGroup::new("vocabulary").args(["tokenizer", "model"]).required(true)))]
pub(crate) struct Mask {
    #[command(flatten)]
    pub(crate) vocabulary: VocabularyArguments,
    #[command(flatten)]
    pub(crate) grammar: GrammarArguments,
    /// The text so far
    #[arg(long, short, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    pub(crate) prefix: String,
    /// Read the names of special tokens in the text so far as these tokens, not as text
    #[arg(long)]
    pub(crate) special: bool,
    /// List at most N tokens; 0: all
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Instead of a list, say why a token may or may not come: its id, or its text
    #[arg(long, value_name = "TOKEN", num_args = 1..)]
    pub(crate) explain: Option<Vec<String>>,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Say into which tokens a tokenizer cuts a text
#[derive(Args)]
#[command(after_help = examples::TOKENIZE)]
#[command(group(clap::ArgGroup::new("vocabulary").args(["tokenizer", "model"]).required(true)))]
pub(crate) struct Tokenize {
    /// The file with the text; standard input if neither it nor --text is given
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// The text itself
    #[arg(long, short, value_name = "TEXT", conflicts_with = "file", allow_hyphen_values = true)]
    pub(crate) text: Option<String>,
    #[command(flatten)]
    pub(crate) vocabulary: VocabularyArguments,
    /// Cut it as a model's prompt: special tokens are recognised by their spelling, and the tokenizer may put
    /// a space in front or change to a normal form
    #[arg(long)]
    pub(crate) special: bool,
    /// Print a JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

/// Whose tokens.
#[derive(Args)]
#[group(multiple = false)]
pub(crate) struct VocabularyArguments {
    /// A tokenizer: tokenizer.json, a .gguf file, or a name such as gpt2, cl100k_base, o200k_base
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) tokenizer: Option<String>,
    /// A model, given as for `generate`; only its tokenizer is used
    #[arg(long, short, value_name = "PATH|NAME")]
    pub(crate) model: Option<String>,
}

/// Fetch a model's weights, and print the path of their file
#[derive(Args)]
#[command(after_help = examples::PULL)]
pub(crate) struct Pull {
    /// A known name (smollm2, gemma3), or a Hugging Face id: organisation/repository[:file.gguf]
    pub(crate) name: String,
}

/// Print what a shell needs to complete these commands
#[derive(Args)]
#[command(after_help = examples::COMPLETIONS)]
pub(crate) struct Completions {
    /// Which shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// For developers: print a grammar at one stage of its way through the compiler
#[derive(Args)]
#[command(after_help = examples::DEBUG)]
pub(crate) struct Debug {
    /// Which stage
    #[arg(value_name = "STAGE")]
    pub(crate) stage: Stage,
    #[command(flatten)]
    pub(crate) grammar: GrammarArguments,
    /// For `rows`: the text so far
    #[arg(long, short, value_name = "TEXT", default_value = "", allow_hyphen_values = true)]
    pub(crate) prefix: String,
    /// For `rows`: the tokenizer; single bytes if it is not given
    #[arg(long, value_name = "FILE|NAME")]
    pub(crate) tokenizer: Option<String>,
    /// For `dfa`: only the terminal of this number (as `cfg` lists them)
    #[arg(long, value_name = "N")]
    pub(crate) terminal: Option<usize>,
    /// The most states of one rule or automaton (`cfg`, `dfa`); the most sequences (`rows`)
    #[arg(long, value_name = "N", default_value_t = 200)]
    pub(crate) limit: usize,
}

/// A stage of a grammar on its way through the compiler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Stage {
    /// The grammar as the front end made it
    Ir,
    /// After the passes: rules as networks of states, without left recursion, and the terminals
    Cfg,
    /// The automata of the terminals
    Dfa,
    /// The residues that are alive after a prefix, and what each says about the vocabulary; of a grammar with
    /// a lexer, the sequences of terminals that tokens span there, and what the parser says to them
    Rows,
}
