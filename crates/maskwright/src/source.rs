//! What a grammar is compiled from: its text, the notation of the text, and what goes with it.

use std::borrow::Cow;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use maskwright_automata::{ByteSet, Fuel, Regex};
use maskwright_error::ErrorKind;
use maskwright_grammar::{Grammar, GrammarError, SpecialNames, TerminalFacts, TerminalId, reduce};
use maskwright_infill::Relation;
use maskwright_json_schema::{
    Documents, Numbers, PropertyOrder, Report, SchemaConfig, SchemaError, Style, Whitespace, parse_document,
};
use maskwright_lark::LarkGrammar;
use maskwright_lark::lark_strings;
use maskwright_syntax::gbnf_literals;
use maskwright_syntax::regex::{self, Dialect};
use maskwright_tags::{Region, Regions, ToolCallOptions};
use maskwright_vocabulary::Vocabulary;
use maskwright_vocabulary::saved::{self, Magic, Refused};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::events::whole;
use crate::json_schema::{SchemaDocuments, SchemaText};
use crate::lark::Imports;
use crate::special_text::spelled;
use crate::words::Schemas;
use crate::{CompileOptions, Error, GrammarWarning, Limits, lark, named_tokens};

/// What a GBNF grammar without a file is called in messages.
const NAMELESS: &str = "grammar.gbnf";

/// What a grammar is compiled from, for [`Compiler::compile`](crate::Compiler::compile).
///
/// # Example: the same language in four notations
///
/// ```
/// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
/// let tokens = ["yes", "no", "1", "</s>"].map(|token| token.as_bytes().to_vec());
/// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(3)])?);
/// for source in [
///     GrammarSource::choice(["yes", "no"]),
///     GrammarSource::regex("yes|no"),
///     GrammarSource::gbnf(r#"root ::= "yes" | "no""#),
///     GrammarSource::lark(r#"start: "yes" | "no""#, Default::default()),
/// ] {
///     let compiled = compiler.compile(&source, &CompileOptions::default())?;
///     assert_eq!(Matcher::new(&compiled).mask()?.len(), 2);
/// }
/// # Ok::<(), maskwright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct GrammarSource {
    pub(crate) notation: Notation,
    file: Option<PathBuf>,
    pub(crate) documents: SchemaDocuments,
    /// What the files have that the source refers to, so that none is read; `None` if that is not known yet.
    /// Of a schema that is in `documents`, and this is empty.
    pub(crate) imports: Option<Arc<Imports>>,
    /// Whether strings are also read with the special tokens that they name.
    pub(crate) has_special_tokens: bool,
    /// The rules whose texts sessions tell.
    pub(crate) captures: Vec<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Notation {
    Regex {
        pattern: String,
        dialect: Dialect,
    },
    Gbnf(String),
    Choice(Vec<String>),
    JsonSchema {
        text: String,
        config: SchemaConfig,
    },
    Lark {
        text: String,
        options: lark::LarkOptions,
    },
    Builtin(String),
    StructuralTag {
        text: String,
        config: SchemaConfig,
    },
    ToolCalls {
        tools: String,
        options: ToolCallOptions,
        config: SchemaConfig,
    },
    /// It has no text, so it cannot be saved.
    #[serde(skip)]
    Built(Box<Grammar>),
}

impl Notation {
    /// About how many bytes its text takes once it is read.
    fn bytes_to_read(&self) -> usize {
        const BY_OBJECT: usize = 320;
        const BY_MEMBER: usize = 112;
        const BY_ITEM: usize = 100;
        match self {
            Notation::JsonSchema { text, .. }
            | Notation::StructuralTag { text, .. }
            | Notation::ToolCalls { tools: text, .. } => {
                let by_mark = text.bytes().map(|byte| match byte {
                    b'{' => BY_OBJECT,
                    b':' => BY_MEMBER,
                    b',' | b'[' => BY_ITEM,
                    _ => 0,
                });
                text.len() + by_mark.sum::<usize>()
            }
            Notation::Choice(choices) => choices.iter().map(|choice| 2 * choice.len() + 64).sum(),
            // These are counted as they are read.
            Notation::Regex { .. }
            | Notation::Gbnf(_)
            | Notation::Lark { .. }
            | Notation::Builtin(_)
            | Notation::Built(_) => 0,
        }
    }
}

/// What saved grammars begin with.
const MAGIC: Magic = *b"mwgramm\x04";

/// A source, written down with all that it refers to.
#[derive(Serialize, Deserialize)]
struct SavedSource {
    notation: Notation,
    file: Option<PathBuf>,
    documents: Documents,
    imports: Imports,
    has_special_tokens: bool,
    captures: Vec<String>,
}

/// A source as its front end reads it.
#[derive(Debug)]
pub enum Parsed {
    /// A grammar over bytes; with a report if it is a JSON Schema or a structural tag.
    OverBytes(Box<Grammar>, Option<Report>),
    /// A grammar in Lark's language.
    Lark(Box<LarkGrammar>),
}

impl Parsed {
    /// The bytes that its terminals need in some place and no token has.
    pub(crate) fn unspelled(&self, vocabulary: &Vocabulary, fuel: &Fuel) -> ByteSet {
        let bytes = vocabulary.bytes();
        let never_in_text = ByteSet::range(0xc0, 0xc1).union(&ByteSet::range(0xf5, 0xff));
        if bytes.complement().is_subset(&never_in_text) {
            return ByteSet::EMPTY;
        }
        let needed = |rules: &Grammar, language: &dyn Fn(TerminalId) -> Option<Regex>| {
            let (mut needed, mut unwritable) = (ByteSet::EMPTY, ByteSet::EMPTY);
            let mut never = HashSet::new();
            for terminal in rules.terminals_in_use() {
                let Some(regex) = language(terminal) else { continue };
                if regex.within(&bytes) == Regex::empty() {
                    never.insert(terminal);
                    unwritable = unwritable.union(&regex.written_out(&bytes.complement()));
                } else {
                    needed = needed.union(&regex.dead_ends(&bytes));
                }
            }
            // The rules may do without a terminal that cannot be written.
            let facts = |terminal| {
                let is_nullable = language(terminal).is_some_and(|regex| regex.is_nullable());
                TerminalFacts { is_nullable, has_proper_words: !never.contains(&terminal) }
            };
            let is_needed = !never.is_empty() && reduce(rules.clone(), facts, fuel).is_err();
            if is_needed { needed.union(&unwritable) } else { needed }
        };
        let over_bytes = |grammar: &Grammar| {
            needed(grammar, &|terminal| Some(grammar.terminals()[terminal.index()].clone()))
        };
        match self {
            Parsed::OverBytes(grammar, _) => over_bytes(grammar),
            Parsed::Lark(lark) => match &lark.over_bytes {
                Some(grammar) => over_bytes(grammar),
                None => needed(&lark.lexed.rules, &|terminal| {
                    lark.lexed.terminals.get(terminal.index())?.pattern.language()
                }),
            },
        }
    }
}

impl GrammarSource {
    /// The kind of source: "regex", "gbnf", "choice", "json_schema", "lark", "structural_tag", "tool_calls",
    /// "built" (by hand), or the name of a built-in grammar.
    pub fn kind(&self) -> &str {
        match &self.notation {
            Notation::Regex { .. } => "regex",
            Notation::Gbnf(_) => "gbnf",
            Notation::Choice(_) => "choice",
            Notation::JsonSchema { .. } => "json_schema",
            Notation::Lark { .. } => "lark",
            Notation::Builtin(name) => name,
            Notation::StructuralTag { .. } => "structural_tag",
            Notation::ToolCalls { .. } => "tool_calls",
            Notation::Built(_) => "built",
        }
    }

    /// The texts that the whole of `pattern` matches, in the syntax of Rust's `regex` crate.
    ///
    /// `\d`, `\w`, `\s`, `\b` and their negations are ASCII-only, unless the pattern says `(?u)`. Everything
    /// else, such as `.` and `\p{L}`, covers all of Unicode.
    ///
    /// ```
    /// use maskwright::{Compiler, GrammarSource, Tokenizer};
    /// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
    /// let reads = |source: GrammarSource, text: &str| -> Result<bool, maskwright::Error> {
    ///     let grammar = Compiler::new(&tokenizer).compile(&source, &Default::default())?;
    ///     Ok(maskwright::Matcher::new(&grammar).accept_bytes(text.as_bytes())?)
    /// };
    /// assert!(!reads(GrammarSource::regex(r"\d"), "٣")?);
    /// assert!(reads(GrammarSource::regex(r"(?u)\d"), "٣")? && reads(GrammarSource::rust_regex(r"\d"), "٣")?);
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn regex(pattern: impl Into<String>) -> GrammarSource {
        Notation::Regex { pattern: pattern.into(), dialect: Dialect::RustAscii }.into()
    }

    /// The texts that the whole of `pattern` matches, exactly as in Rust's `regex` crate: `\d`, `\w`, `\s`
    /// and `\b` cover all of Unicode.
    pub fn rust_regex(pattern: impl Into<String>) -> GrammarSource {
        Notation::Regex { pattern: pattern.into(), dialect: Dialect::Rust }.into()
    }

    /// The texts that the whole of `pattern` matches, in the dialect of ECMA-262 (JavaScript) with the flag
    /// `u`, which JSON Schema uses. ([`regex`](GrammarSource::regex) takes look-around only where this
    /// dialect and Python's agree.)
    ///
    /// ```
    /// use maskwright::GrammarSource;
    /// assert!(GrammarSource::ecma_regex(r"(?=.*\d).{4}").grammar(&Default::default()).is_ok());
    /// assert!(GrammarSource::regex(r"(?=.*\d).{4}").grammar(&Default::default()).is_err());
    /// ```
    pub fn ecma_regex(pattern: impl Into<String>) -> GrammarSource {
        Notation::Regex { pattern: pattern.into(), dialect: Dialect::Ecma }.into()
    }

    /// The texts that `re.fullmatch` of Python matches, for `str` patterns. Flags stand in front: `(?i)`.
    ///
    /// ```
    /// use maskwright::GrammarSource;
    /// assert!(GrammarSource::python_regex(r"(?ix) (?P<sign> [+-] )? [0-9a-f]+ \Z").grammar(&Default::default()).is_ok());
    /// assert!(GrammarSource::python_regex(r"(a|b)\1").grammar(&Default::default()).is_err());
    /// ```
    pub fn python_regex(pattern: impl Into<String>) -> GrammarSource {
        Notation::Regex { pattern: pattern.into(), dialect: Dialect::Python }.into()
    }

    /// A grammar in GBNF, llama.cpp's notation; the start rule is `root`.
    pub fn gbnf(text: impl Into<String>) -> GrammarSource {
        Notation::Gbnf(text.into()).into()
    }

    /// Exactly one of some texts.
    pub fn choice(choices: impl IntoIterator<Item = impl AsRef<str>>) -> GrammarSource {
        Notation::Choice(choices.into_iter().map(|choice| choice.as_ref().to_owned()).collect()).into()
    }

    /// The JSON texts that a JSON Schema allows. Its references may lead to
    /// [documents](GrammarSource::documents), and to files beside its [file](GrammarSource::file).
    ///
    /// ```
    /// use maskwright::GrammarSource;
    /// use serde_json::json;
    /// let schema = GrammarSource::json_schema(json!({"type": "array", "maxItems": 3}), Default::default());
    /// assert!(schema.grammar(&Default::default()).is_ok());
    /// let schema = GrammarSource::json_schema(r#"{"type": "text"}"#, Default::default());
    /// assert_eq!(schema.grammar(&Default::default()).unwrap_err().keyword(), Some("type"));
    /// ```
    pub fn json_schema(schema: impl Into<SchemaText>, config: SchemaConfig) -> GrammarSource {
        Notation::JsonSchema { text: schema.into().0, config }.into()
    }

    /// A grammar in Lark's language. [`LarkOptions::lexer`](lark::LarkOptions::lexer) decides which terminals
    /// are considered at each point: those that the parser can accept there, or all of them. With
    /// `DynamicComplete` there is no lexer.
    ///
    /// With [`LexerKind::DynamicComplete`](lark::LexerKind::DynamicComplete), rules and terminals may be JSON
    /// Schemas: `call: NAME "(" %json {"type": "object"} ")"`, or `%json "call.json"` for one in a file. Keys
    /// that such a schema does not name may occur twice (and count twice for `minProperties`), and a
    /// `uniqueItems` that rules cannot express is an error: both work only if the whole grammar is a JSON
    /// Schema.
    ///
    /// ```
    /// use maskwright::lark::{LarkOptions, LexerKind};
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
    /// let tokens = ["if", "x", " ", "1", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(4)])?);
    /// let text = "start: \"if\" NAME\nNAME: /[a-z]+/\n%ignore \" \"\n";
    /// let mut options = LarkOptions::default();
    /// let contextual = compiler.compile(&GrammarSource::lark(text, options.clone()), &CompileOptions::default())?;
    /// assert!(Matcher::new(&contextual).accept_bytes(b"ifx")?, "no name can be read before the `if`");
    /// assert!(Matcher::new(&contextual).accept_bytes(b"if if")?, "and no `if` after it");
    /// options.lexer = LexerKind::Basic;
    /// let basic = compiler.compile(&GrammarSource::lark(text, options), &CompileOptions::default())?;
    /// let mut matcher = Matcher::new(&basic);
    /// assert!(!matcher.accept_bytes(b"ifx")?, "that is one name");
    /// assert!(matcher.accept_bytes(b"if x")? && matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn lark(text: impl Into<String>, options: lark::LarkOptions) -> GrammarSource {
        Notation::Lark { text: text.into(), options }.into()
    }

    /// A built-in grammar: `arithmetic`, `cpp`, `json`, `python`, `smiles` or `sql`
    /// ([`builtin_names`](lark::builtin_names)). Python's reads lines indented by tabs, except where a text
    /// is filled in.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
    /// let tokens = ["SELECT ", "a", " FROM", " t", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(4)])?);
    /// let sql = compiler.compile(&GrammarSource::builtin("sql"), &CompileOptions::default())?;
    /// let mut matcher = Matcher::new(&sql);
    /// assert!(matcher.accept_bytes(b"SELECT a FROM t")? && matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn builtin(name: impl Into<String>) -> GrammarSource {
        Notation::Builtin(name.into()).into()
    }

    /// The texts of a structural tag, in the JSON of xgrammar: free text, reasoning between tags, calls of
    /// tools with arguments by a JSON Schema. Both envelopes are read, and the old form with `structures` and
    /// `triggers`.
    ///
    /// `config` is for the JSON Schemas in it. Formats may say otherwise (`style`, `any_order`,
    /// `max_whitespace_cnt`), and there is no white space around them. `uniqueItems` and distinct keys are
    /// enforced in schemas that cannot be mistaken for other text of the tag, such as one after a `begin`. In
    /// others, keys that a schema does not name may occur twice. What cannot be enforced is an error, or with
    /// [`strict`](SchemaConfig::strict) off an entry of the [report](crate::CompiledGrammar::report).
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
    /// let tokens = ["<f=add>", "[", "1", "]", "</f>", "ok", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let compiler = Compiler::new(&Tokenizer::from_tokens(tokens.to_vec(), &[TokenId(6)])?);
    /// let tag = r#"{"type": "structural_tag", "format": {"type": "triggered_tags", "triggers": ["<f="], "tags": [{
    ///     "type": "tag", "begin": "<f=add>", "end": "</f>",
    ///     "content": {"type": "json_schema", "json_schema": {"type": "array", "items": {"type": "integer"}}}
    /// }]}}"#;
    /// let compiled = compiler.compile(&GrammarSource::structural_tag(tag, Default::default()), &CompileOptions::default())?;
    /// let mut matcher = Matcher::new(&compiled);
    /// assert!(matcher.accept_bytes(b"ok<f=add>")? && !matcher.is_accepting());
    /// assert_eq!(matcher.mask()?.len(), 1, "only [ begins the arguments");
    /// assert!(matcher.accept_bytes(b"[1]</f>ok")? && matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn structural_tag(text: impl Into<String>, config: SchemaConfig) -> GrammarSource {
        Notation::StructuralTag { text: text.into(), config }.into()
    }

    /// The messages in which a model may call tools, as its family writes them. `tools` is the JSON of a list
    /// of tools in the form of OpenAI's, Anthropic's or MCP's interface, or of an object with such a list
    /// under `tools`.
    ///
    /// `config` is for the schemas of the arguments. The marks of a family match both their text and the
    /// special tokens of these names. The [report](crate::CompiledGrammar::report) names the tool of each
    /// entry.
    ///
    /// ```
    /// use maskwright::tool_calls::ToolCallOptions;
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Tokenizer};
    /// let tokenizer = Tokenizer::from_tokens((0u8..=255).map(|byte| vec![byte]).collect(), &[])?;
    /// let tools = r#"[{"name": "now", "inputSchema": {"type": "object", "additionalProperties": false}}]"#;
    /// let source = GrammarSource::tool_calls(tools, ToolCallOptions::new("qwen_3"), Default::default());
    /// let grammar = Compiler::new(&tokenizer).compile(&source, &CompileOptions::default())?;
    /// let mut matcher = grammar.matcher();
    /// let call = "<tool_call>\n{\"name\": \"now\", \"arguments\": {}}\n</tool_call>";
    /// assert!(matcher.accept_bytes(call.as_bytes())? && matcher.is_accepting());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn tool_calls(
        tools: impl Into<String>,
        options: ToolCallOptions,
        config: SchemaConfig,
    ) -> GrammarSource {
        let source = GrammarSource::from(Notation::ToolCalls { tools: tools.into(), options, config });
        source.special_tokens_in_text(true)
    }

    /// The file that the text was read from. Messages name it, and relative references of a JSON Schema
    /// (`"$ref": "address.json"`) and relative imports of a Lark grammar (`%import .names.NAME`,
    /// `%json "call.json"`) are looked for beside it. For a schema, files outside of its folder are not read,
    /// and no more than 4,096 files of 64 MiB in all. Choices, built-in grammars and grammars built by hand
    /// have no file.
    #[must_use]
    pub fn file(mut self, path: impl Into<PathBuf>) -> GrammarSource {
        self.file = Some(path.into());
        self
    }

    /// The other documents that the references of a JSON Schema may lead to. Other sources have none.
    #[must_use]
    pub fn documents(mut self, documents: SchemaDocuments) -> GrammarSource {
        self.documents = documents;
        self
    }

    /// Whether strings match the special tokens that they name, as well as their text. By default they match
    /// only the text.
    ///
    /// Servers write the marks of a model's format as strings (`"begin": "<|channel|>analysis<|message|>"`),
    /// but the model writes special tokens, which never match as text. With this option a string matches
    /// both. It applies to the strings of a structural tag (`begin`, `end`, triggers, separators,
    /// `const_string`, and the marks that a schema's style writes), of GBNF, and of Lark's rules. Patterns,
    /// schemas and free text still match only text. A token that ends texts matches only at the end: if a
    /// string at the end of the text names it, the text is complete there, and only that token may end it.
    /// With a lexer of Lark, this requires a string that is only the name. Other sources have no such
    /// strings.
    ///
    /// ```
    /// use maskwright::{CompileOptions, Compiler, GrammarSource, Matcher, TokenId, Tokenizer};
    /// let tokens = ["<|call|>", "h", "i", "</s>"].map(|token| token.as_bytes().to_vec());
    /// let [call, end] = [0, 3].map(TokenId);
    /// let tokenizer = Tokenizer::from_tokens_with_special(tokens.to_vec(), &[call, end], &[call])?;
    /// let compiler = Compiler::new(&tokenizer);
    /// let source = GrammarSource::gbnf(r#"root ::= "hi<|call|>""#).special_tokens_in_text(true);
    /// let compiled = compiler.compile(&source, &CompileOptions::default())?;
    /// let mut matcher = Matcher::new(&compiled);
    /// assert_eq!(matcher.accept_tokens(&[1, 2, 3].map(TokenId))?, 2, "</s> is not the end that is named");
    /// assert!(matcher.accept_token(call)? && matcher.is_terminated());
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    #[must_use]
    pub fn special_tokens_in_text(mut self, are_read: bool) -> GrammarSource {
        self.has_special_tokens = are_read;
        self
    }

    /// The rules of a GBNF or Lark grammar whose texts [`CompiledGrammar::captures`] tells; others have no
    /// rules with names. With a lexer, a rule's text begins and ends with tokens that are not ignored. A rule
    /// that can begin with itself cannot be captured. Masks know nothing of it.
    ///
    /// [`CompiledGrammar::captures`]: crate::CompiledGrammar::captures
    #[must_use]
    pub fn capture(mut self, rules: impl IntoIterator<Item = impl Into<String>>) -> GrammarSource {
        for rule in rules.into_iter().map(Into::into) {
            if !self.captures.contains(&rule) {
                self.captures.push(rule);
            }
        }
        self
    }

    /// The rules to be captured.
    ///
    /// # Errors
    /// If there are some, and the source is neither GBNF nor Lark.
    pub(crate) fn captured(&self) -> Result<&[String], Error> {
        match &self.notation {
            Notation::Gbnf(_) | Notation::Lark { .. } => {}
            _ if self.captures.is_empty() => {}
            _ => {
                let message =
                    format!("only rules of GBNF and of Lark can be captured, not those of {}", self.kind());
                return Err(Error::message(ErrorKind::Argument, message));
            }
        }
        Ok(&self.captures)
    }

    /// The grammar alone, without a vocabulary, so strings match only text: to print it, or to
    /// [embed](crate::grammar::GrammarBuilder) it in a larger one. The work is limited by
    /// [`Limits::compile_work`] at its default.
    ///
    /// # Errors
    /// As [`Compiler::compile`](crate::Compiler::compile), and for a Lark grammar with a lexer, whose rules
    /// are not over bytes.
    ///
    /// ```
    /// use maskwright::GrammarSource;
    /// let grammar = GrammarSource::gbnf(r#"root ::= "a" root | "b""#).grammar(&Default::default())?;
    /// assert!(grammar.to_string().contains("root ::="));
    /// # Ok::<(), maskwright::Error>(())
    /// ```
    pub fn grammar(&self, options: &CompileOptions) -> Result<Grammar, Error> {
        self.grammar_within(None, &options.fuel(&Limits::default()))
    }

    fn grammar_within(&self, vocabulary: Option<&Vocabulary>, fuel: &Fuel) -> Result<Grammar, Error> {
        match self.read(vocabulary, fuel)?.0 {
            Parsed::OverBytes(grammar, _) => Ok(*grammar),
            Parsed::Lark(grammar) => grammar.over_bytes.ok_or_else(|| {
                let message =
                    "the rules of a Lark grammar with a lexer are over its terminals, not over bytes";
                let hint =
                    "use the lexer dynamic_complete, which splits the text in any way that the rules allow";
                lark::with_hint(message, hint)
            }),
        }
    }

    /// The source as its front end reads it, for `maskwright debug` and experiments.
    #[doc(hidden)]
    pub fn parse(&self, options: &CompileOptions) -> Result<Parsed, Error> {
        Ok(self.read(None, &options.fuel(&Limits::default()))?.0)
    }

    /// Reads the source, and the files that it refers to. Returned with it is the same source with all that
    /// was read, which reads no file. The names of special tokens are those of `vocabulary`.
    pub(crate) fn read(
        &self,
        vocabulary: Option<&Vocabulary>,
        fuel: &Fuel,
    ) -> Result<(Parsed, GrammarSource), Error> {
        fuel.hold(self.notation.bytes_to_read());
        fuel.spend(1).map_err(GrammarError::from)?;
        let special = self.special(vocabulary);
        let (mut documents, mut imports) = (SchemaDocuments::default(), Imports::new());
        let file = self.file.as_deref();
        let over_bytes = |grammar| Parsed::OverBytes(Box::new(grammar), None);
        let parsed = match &self.notation {
            Notation::Regex { pattern, dialect } => {
                let regex = regex::parse(pattern, *dialect, fuel);
                let regex = regex.map_err(|error| Error::from(error).in_file(file))?;
                over_bytes(Grammar::from_regex(regex))
            }
            Notation::Gbnf(text) => {
                let name = file.map_or(NAMELESS.into(), Path::to_string_lossy);
                let grammar = maskwright_syntax::parse_gbnf_with_names(text, &name, &special, fuel);
                over_bytes(grammar.map_err(|error| Error::from(error).in_file(file))?)
            }
            // There is no text with a place.
            Notation::Choice(choices) => over_bytes(
                maskwright_syntax::choice(choices)
                    .map_err(|error| Error::message(ErrorKind::Grammar, error.message()))?,
            ),
            Notation::JsonSchema { text, config } => {
                let name = file.map_or("schema".into(), Path::to_string_lossy);
                let located = |error: SchemaError| Error::from(error).in_file(file);
                let schema = parse_document(text, &name).map_err(located)?;
                documents = match self.imports.is_some() {
                    true => self.documents.clone(),
                    false => self.documents.gathered(&schema, file),
                };
                let compiled = documents.compile(&schema, config, fuel).map_err(located)?;
                Parsed::OverBytes(Box::new(compiled.grammar), Some(compiled.report))
            }
            Notation::Lark { text, options } => {
                let grammar;
                (grammar, imports) =
                    lark::parse(text, file, options, self.imports.as_deref(), &special, fuel)?;
                Parsed::Lark(Box::new(grammar))
            }
            Notation::Builtin(name) => Parsed::Lark(Box::new(lark::parse_builtin(name, fuel)?)),
            Notation::StructuralTag { text, config } => {
                let name = file.map_or("structural tag".into(), Path::to_string_lossy);
                let compiled = maskwright_tags::compile_str(text, &name, config, &special, fuel);
                let compiled = compiled.map_err(|error| Error::from(error).in_file(file))?;
                Parsed::OverBytes(Box::new(compiled.grammar), Some(compiled.report))
            }
            Notation::ToolCalls { tools, options, config } => {
                let compiled = maskwright_tags::compile_tool_calls(tools, options, config, &special, fuel);
                let compiled = compiled.map_err(|error| Error::from(error).in_file(file))?;
                Parsed::OverBytes(Box::new(compiled.grammar), Some(compiled.report))
            }
            Notation::Built(grammar) => over_bytes((**grammar).clone()),
        };
        let (notation, file) = (self.notation.clone(), self.file.clone());
        let (has_special_tokens, captures) = (self.has_special_tokens, self.captures.clone());
        let imports = Some(Arc::new(imports));
        Ok((parsed, GrammarSource { notation, file, documents, imports, has_special_tokens, captures }))
    }

    /// How it has JSON Schemas; `None` if it has none.
    pub(crate) fn schemas(&self) -> Option<Schemas> {
        match &self.notation {
            Notation::JsonSchema { config, .. } if config.style == Style::Json => Some(Schemas::Whole),
            Notation::StructuralTag { .. } => Some(Schemas::OfTags),
            Notation::ToolCalls { .. } => Some(Schemas::OfTools),
            _ => None,
        }
    }

    /// The schema, the structural tag or the tools, and the order of properties.
    pub(crate) fn document(&self) -> Option<(Value, PropertyOrder)> {
        match &self.notation {
            Notation::JsonSchema { text, config }
            | Notation::StructuralTag { text, config }
            | Notation::ToolCalls { tools: text, config, .. } => {
                Some((serde_json::from_str(text).ok()?, config.property_order))
            }
            _ => None,
        }
    }

    /// The grammar with labels around its regions. Of sources that have no parts, the whole text is one.
    ///
    /// # Errors
    /// As [`read`](GrammarSource::read).
    pub(crate) fn labelled(&self, vocabulary: &Vocabulary, fuel: &Fuel) -> Result<(Grammar, Regions), Error> {
        let special = self.special(Some(vocabulary));
        let tag = match &self.notation {
            Notation::StructuralTag { text, config } => {
                maskwright_tags::compile_labelled(text, "structural tag", config, &special, fuel)?
            }
            Notation::ToolCalls { tools, options, config } => {
                maskwright_tags::compile_labelled_calls(tools, options, config, &special, fuel)?
            }
            Notation::JsonSchema { config, .. } if config.style == Style::Json => {
                return Ok(whole(Region::Arguments(Style::Json)));
            }
            _ => return Ok(whole(Region::Text(None))),
        };
        Ok((tag.grammar, tag.regions))
    }

    /// The special tokens that strings match.
    fn special(&self, vocabulary: Option<&Vocabulary>) -> SpecialNames {
        match vocabulary.filter(|_| self.has_special_tokens) {
            Some(vocabulary) => SpecialNames::new(vocabulary.names().map(|(_, name)| name)),
            None => SpecialNames::default(),
        }
    }

    /// Grammars over bytes of languages near that of this source, in which infilling finds texts faster or
    /// finds plainer ones.
    ///
    /// A JSON Schema is also read without white space, because most people want such texts, and with any
    /// white space and any spelling of numbers, because its chart is smaller than with limits on them.
    pub(crate) fn near(
        &self,
        vocabulary: &Vocabulary,
        fuel: &Fuel,
    ) -> Result<Vec<(Grammar, Relation)>, Error> {
        let Notation::JsonSchema { text, config } = &self.notation else { return Ok(Vec::new()) };
        let spaced = |whitespace| {
            let mut config = *config;
            config.whitespace = whitespace;
            if whitespace == Whitespace::Any {
                config.numbers = Numbers::Any;
            }
            Notation::JsonSchema { text: text.clone(), config }
        };
        let compact = || (spaced(Whitespace::Compact), Relation::Near);
        let notations = match config.whitespace {
            Whitespace::Compact => vec![],
            Whitespace::Flexible | Whitespace::AtMost(_) => {
                vec![compact(), (spaced(Whitespace::Any), Relation::Wider)]
            }
            _ => vec![compact()],
        };
        let mut near = Vec::new();
        for (notation, relation) in notations {
            match (GrammarSource { notation, ..self.clone() }).grammar_within(Some(vocabulary), fuel) {
                Ok(grammar) => near.push((grammar, relation)),
                Err(error) if error.is_cancelled() => return Err(error),
                // It can be done without.
                Err(_) => {}
            }
        }
        Ok(near)
    }

    /// The error of compiling the grammar for `vocabulary`, with the place of a token that the vocabulary
    /// lacks.
    pub(crate) fn located(&self, error: Error, vocabulary: &Vocabulary, fuel: &Fuel) -> Error {
        let file = self.file.as_deref();
        let name = |nameless| file.map_or(Cow::Borrowed(nameless), Path::to_string_lossy);
        let error = match &self.notation {
            Notation::StructuralTag { text, .. } => named_tokens::in_tag(error, text, vocabulary, fuel),
            Notation::Gbnf(text) => named_tokens::in_rules(error, text, &name(NAMELESS), vocabulary),
            Notation::Lark { text, .. } => {
                named_tokens::in_rules(error, text, &name(lark::NAMELESS), vocabulary)
            }
            _ => return error,
        };
        error.in_file(file)
    }

    /// Warnings about strings that contain the name of a special token of `vocabulary`.
    pub(crate) fn warnings(&self, vocabulary: &Vocabulary) -> Vec<GrammarWarning> {
        match &self.notation {
            // Their strings are read with the tokens.
            _ if self.has_special_tokens => Vec::new(),
            Notation::Gbnf(text) => spelled(gbnf_literals(text), text, None, vocabulary),
            Notation::Lark { text, .. } => {
                let mut warnings = spelled(lark_strings(text), text, None, vocabulary);
                let imports = self.imports.iter().flat_map(|imports| imports.values());
                for imported in imports.filter(|imported| imported.name.ends_with(".lark")) {
                    let path = Some(Path::new(&imported.name));
                    warnings.extend(spelled(lark_strings(&imported.text), &imported.text, path, vocabulary));
                }
                warnings
            }
            _ => Vec::new(),
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let text = match &self.notation {
            Notation::Regex { pattern: text, .. }
            | Notation::Gbnf(text)
            | Notation::JsonSchema { text, .. }
            | Notation::Lark { text, .. }
            | Notation::StructuralTag { text, .. }
            | Notation::ToolCalls { tools: text, .. }
            | Notation::Builtin(text) => text.capacity(),
            Notation::Choice(choices) => {
                choices.iter().map(|choice| choice.capacity() + size_of::<String>()).sum()
            }
            Notation::Built(grammar) => grammar.memory_usage(),
        };
        let imports = self.imports.iter().flat_map(|imports| imports.values());
        size_of::<GrammarSource>()
            + text
            + self.documents.known().memory_usage()
            + imports.map(|imported| imported.text.capacity()).sum::<usize>()
    }

    /// The source as bytes, with all that it refers to, if it [was read](GrammarSource::read).
    ///
    /// # Errors
    /// If it is a grammar built by hand.
    pub(crate) fn serialize(&self) -> Result<Vec<u8>, Error> {
        let saved = SavedSource {
            notation: self.notation.clone(),
            file: self.file.clone(),
            documents: self.documents.known().clone(),
            imports: self.imports.as_deref().cloned().unwrap_or_default(),
            has_special_tokens: self.has_special_tokens,
            captures: self.captures.clone(),
        };
        saved::write(&MAGIC, &saved).ok_or_else(|| {
            let message = "a grammar that was built by hand cannot be saved: it has no text";
            Error::message(ErrorKind::Grammar, message)
        })
    }

    /// Reads what [`serialize`](GrammarSource::serialize) wrote.
    ///
    /// # Errors
    /// If the bytes are something else.
    pub(crate) fn deserialize(bytes: &[u8]) -> Result<GrammarSource, Error> {
        let refused = |refused: Refused| Error::message(ErrorKind::Grammar, refused.reason("saved grammars"));
        let saved: SavedSource = saved::read(&MAGIC, bytes).map_err(refused)?;
        let SavedSource { notation, file, documents, imports, has_special_tokens, captures } = saved;
        let (documents, imports) = (documents.into(), Some(Arc::new(imports)));
        Ok(GrammarSource { notation, file, documents, imports, has_special_tokens, captures })
    }

    /// Whether its text and options say all of it: it needs no other documents and no files.
    pub(crate) fn is_all_in_text(&self) -> bool {
        let own = match &self.notation {
            Notation::Lark { options, .. } => Some(options),
            _ => None,
        };
        // What it has not read yet may be in a file.
        let may_read = self.file.is_some() || own.is_some_and(|options| !options.import_paths.is_empty());
        let Some(imports) = &self.imports else { return self.documents.known().is_empty() && !may_read };
        self.documents.known().is_empty()
            && imports.keys().all(|(_, path)| own.is_some_and(|options| options.known(path).is_some()))
    }

    /// Whether the rules were written by a person, and may be regular where a terminal would be faster.
    pub(crate) fn has_written_rules(&self) -> bool {
        matches!(self.notation, Notation::Gbnf(_) | Notation::Built(_))
    }
}

impl From<Notation> for GrammarSource {
    fn from(notation: Notation) -> GrammarSource {
        GrammarSource {
            notation,
            file: None,
            documents: SchemaDocuments::default(),
            imports: None,
            has_special_tokens: false,
            captures: Vec::new(),
        }
    }
}

/// A grammar that was [built](crate::grammar::GrammarBuilder) by hand.
impl From<Grammar> for GrammarSource {
    fn from(grammar: Grammar) -> GrammarSource {
        Notation::Built(Box::new(grammar)).into()
    }
}
