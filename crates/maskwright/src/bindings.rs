//! For bindings to other languages: options, grammars and answers as JSON text, with the names that Python
//! has for them.
//!
//! ```
//! use maskwright::{CompileOptions, Compiler, TokenId, Tokenizer, bindings};
//! let compiler = Compiler::new(&Tokenizer::from_tokens(vec![b"</s>".to_vec()], &[TokenId(0)])?);
//! let source = bindings::source("json_schema", r#"{"type": "null"}"#, r#"{"whitespace": "compact"}"#)?;
//! let mut matcher = compiler.compile(&source, &CompileOptions::default())?.matcher();
//! assert!(!matcher.accept_bytes(b" null")? && matcher.accept_bytes(b"nu")?);
//! assert_eq!(bindings::state(&matcher.state()?)["next"][0]["words"], "`ll`");
//! let error = bindings::source("regex", "a", r#"{"dialekt": "ecma"}"#).unwrap_err();
//! assert_eq!(error.to_string(), "a regex has no option dialekt, did you mean dialect?");
//! # Ok::<(), maskwright::Error>(())
//! ```

mod options;

use maskwright_engine::{MatcherConfig, MatcherState, StateKeyword, StateNext};
use maskwright_json_schema::{Numbers, PropertyOrder, Report, SchemaConfig, Status, Whitespace};
use maskwright_lark::{Indentation, LarkDialect, LexerKind};
use maskwright_syntax::regex::Dialect;
use maskwright_tags::{OnError, Reasons, ToolCallOptions};
use serde_json::{Map, Value, json};

use crate::json_schema::SchemaDocuments;
use crate::lark::LarkOptions;
use crate::source::Notation;
use crate::special_text::shortened;
use crate::{
    Capture, Check, CheckReason, CompiledGrammar, Error, ErrorKind, Event, GrammarSource, Limits, Message,
    PathPart, TokenizerOptions, ToolCall,
};
use options::{Given, argument};

/// The kinds of grammars that [`source`] reads.
pub const KINDS: [&str; 8] =
    ["json_schema", "regex", "choice", "lark", "gbnf", "structural_tag", "tool_calls", "builtin"];

/// What starts a Lark text that [`exported`] made. The rest of its first line is the grammar.
pub const EXPORTED: &str = "%llguidance {\"maskwright\":";

const ORDERS: [(&str, PropertyOrder); 2] = [("schema", PropertyOrder::Schema), ("any", PropertyOrder::Any)];
const WHITESPACE: [(&str, Whitespace); 3] =
    [("flexible", Whitespace::Flexible), ("compact", Whitespace::Compact), ("any", Whitespace::Any)];
const NUMBERS: [(&str, Numbers); 2] = [("plain", Numbers::Plain), ("any", Numbers::Any)];
const DIALECTS: [(&str, Dialect); 4] = [
    ("rust_ascii", Dialect::RustAscii),
    ("rust", Dialect::Rust),
    ("ecma", Dialect::Ecma),
    ("python", Dialect::Python),
];
const LEXERS: [(&str, LexerKind); 3] = [
    ("contextual", LexerKind::Contextual),
    ("basic", LexerKind::Basic),
    ("dynamic_complete", LexerKind::DynamicComplete),
];
const LARK_DIALECTS: [(&str, LarkDialect); 2] =
    [("lark", LarkDialect::Lark), ("llguidance", LarkDialect::Llguidance)];
const REASONING: [(&str, Reasons); 4] = [
    ("never", Reasons::Never),
    ("always", Reasons::Always),
    ("auto", Reasons::Maybe),
    ("open", Reasons::Open),
];
const ON_ERROR: [(&str, OnError); 3] =
    [("raise", OnError::Raise), ("leave_out", OnError::LeaveOut), ("any_json", OnError::AnyJson)];

/// The grammar of one of the [`KINDS`] that is written as `text` (choices as a JSON array, tools as JSON, a
/// built-in grammar by its name). `options`: a JSON object with the options that Python's `compile_…` has for
/// the kind; the empty text for none. Also `file`, the name of the file that the text is from.
///
/// # Errors
/// If there is no such kind, or an option is not one of the kind or has a wrong value.
pub fn source(kind: &str, text: &str, options: &str) -> Result<GrammarSource, Error> {
    let Some(kind) = KINDS.iter().find(|known| **known == kind) else {
        let (kind, known) = (shortened(kind), KINDS.join(", "));
        let message = format!("no kind of grammar is called {kind:?}, there are {known}");
        return Err(argument(message));
    };
    let mut given = Given::read(kind, options)?;
    let source = match *kind {
        "json_schema" => {
            GrammarSource::json_schema(text, schema(&mut given)?).documents(documents(&mut given)?)
        }
        "regex" => {
            let dialect = given.one_of("dialect", &DIALECTS)?.unwrap_or(Dialect::RustAscii);
            GrammarSource::from(Notation::Regex { pattern: text.to_owned(), dialect })
        }
        "choice" => {
            let choices: Vec<String> = serde_json::from_str(text)
                .map_err(|error| argument(format!("choices are a JSON array of texts: {error}")))?;
            GrammarSource::choice(choices)
        }
        "lark" => GrammarSource::lark(text, lark(&mut given)?),
        "gbnf" => GrammarSource::gbnf(text),
        "structural_tag" => GrammarSource::structural_tag(text, schema(&mut given)?),
        "tool_calls" => GrammarSource::tool_calls(text, tool_calls(&mut given)?, schema(&mut given)?),
        _ => GrammarSource::builtin(text),
    };
    let source = match *kind {
        "lark" | "gbnf" => source
            .special_tokens_in_text(given.flag("special_tokens_in_text")?.unwrap_or_default())
            .capture(given.texts("capture")?.unwrap_or_default()),
        _ => source,
    };
    let source = match given.text("file")? {
        Some(file) => source.file(file),
        None => source,
    };
    given.end()?;
    Ok(source)
}

fn schema(given: &mut Given) -> Result<SchemaConfig, Error> {
    let mut config = SchemaConfig::default();
    config.property_order = given.one_of("property_order", &ORDERS)?.unwrap_or_default();
    config.numbers = given.one_of("numbers", &NUMBERS)?.unwrap_or_default();
    config.strict = given.flag("strict")?.unwrap_or(config.strict);
    let whitespace = given.one_of("whitespace", &WHITESPACE)?;
    config.whitespace = match (whitespace, given.count("max_whitespace")?) {
        (None | Some(Whitespace::Any), Some(most)) => {
            Whitespace::AtMost(u32::try_from(most).unwrap_or(u32::MAX))
        }
        (Some(_), Some(_)) => {
            return Err(argument("max_whitespace goes with whitespace \"any\" alone".to_owned()));
        }
        (whitespace, None) => whitespace.unwrap_or_default(),
    };
    Ok(config)
}

fn documents(given: &mut Given) -> Result<SchemaDocuments, Error> {
    let mut documents = SchemaDocuments::default();
    for (uri, schema) in given.object("documents")?.unwrap_or_default() {
        documents.insert(&uri, &schema.to_string())?;
    }
    Ok(documents)
}

fn lark(given: &mut Given) -> Result<LarkOptions, Error> {
    let mut options = LarkOptions { schemas: schema(given)?, ..LarkOptions::default() };
    if let Some(start) = given.text("start")? {
        options.start = start;
    }
    options.dialect = given.one_of("dialect", &LARK_DIALECTS)?.unwrap_or_default();
    options.lexer = match given.one_of("lexer", &LEXERS)? {
        Some(lexer) => lexer,
        None if options.dialect == LarkDialect::Llguidance => LexerKind::DynamicComplete,
        None => options.lexer,
    };
    options.indentation = given.one_of("indentation", &[("python", Indentation::python())])?;
    let paths = given.texts("import_paths")?.unwrap_or_default();
    options.import_paths = paths.into_iter().map(Into::into).collect();
    for (name, text) in given.object("grammars")?.unwrap_or_default() {
        let Value::String(text) = text else {
            return Err(argument(format!("the grammar {name:?} is no text")));
        };
        options.grammars.insert(name, text);
    }
    Ok(options)
}

fn tool_calls(given: &mut Given) -> Result<ToolCallOptions, Error> {
    let Some(format) = given.text("format")? else {
        return Err(argument("tool calls need the option format: how the model writes them".to_owned()));
    };
    let mut options = ToolCallOptions::new(format);
    if let Some(choice) = given.value("tool_choice") {
        options.tool_choice = choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
    }
    options.is_parallel = given.flag("parallel")?.unwrap_or(options.is_parallel);
    options.has_text = given.flag("text")?.unwrap_or(options.has_text);
    options.reasoning = given.one_of("reasoning", &REASONING)?.unwrap_or_default();
    options.on_error = given.one_of("on_error", &ON_ERROR)?.unwrap_or_default();
    Ok(options)
}

/// A grammar as an object with the members `kind`, `source` and `options`: what [`source`] makes it from.
///
/// # Errors
/// For a grammar that was built by hand, and for what is not written: other documents, files, indentation
/// other than Python's.
pub fn described(source: &GrammarSource) -> Result<Value, Error> {
    if !source.is_all_in_text() {
        return Err(no_words("needs other documents or files"));
    }
    let mut options = Map::new();
    let mut put = |name: &str, value: Value| {
        options.insert(name.to_owned(), value);
    };
    let text = match &source.notation {
        Notation::Regex { pattern, dialect } => {
            put("dialect", name_of(dialect, &DIALECTS)?.into());
            pattern.clone()
        }
        Notation::Choice(choices) => json!(choices).to_string(),
        Notation::Gbnf(text) => text.clone(),
        Notation::Builtin(name) => name.clone(),
        Notation::JsonSchema { text, config } | Notation::StructuralTag { text, config } => {
            put_schema(config, &mut put)?;
            text.clone()
        }
        Notation::Lark { text, options } => {
            put_schema(&options.schemas, &mut put)?;
            put("start", options.start.clone().into());
            put("lexer", name_of(&options.lexer, &LEXERS)?.into());
            put("dialect", name_of(&options.dialect, &LARK_DIALECTS)?.into());
            if let Some(indentation) = &options.indentation {
                put("indentation", name_of(indentation, &[("python", Indentation::python())])?.into());
            }
            if !options.grammars.is_empty() {
                put("grammars", json!(options.grammars));
            }
            text.clone()
        }
        Notation::ToolCalls { tools, options, config } => {
            put_schema(config, &mut put)?;
            put("format", options.format.clone().into());
            put("tool_choice", options.tool_choice.clone().into());
            put("parallel", options.is_parallel.into());
            put("text", options.has_text.into());
            put("reasoning", name_of(&options.reasoning, &REASONING)?.into());
            put("on_error", name_of(&options.on_error, &ON_ERROR)?.into());
            tools.clone()
        }
        Notation::Built(_) => return Err(no_words("was built by hand")),
    };
    if matches!(source.notation, Notation::Gbnf(_) | Notation::Lark { .. }) {
        put("special_tokens_in_text", source.has_special_tokens.into());
        put("capture", json!(source.captures));
    }
    let kind = match &source.notation {
        Notation::Builtin(_) => "builtin",
        _ => source.kind(),
    };
    Ok(json!({"kind": kind, "source": text, "options": options}))
}

fn put_schema(config: &SchemaConfig, put: &mut impl FnMut(&str, Value)) -> Result<(), Error> {
    let default = SchemaConfig::default();
    if (config.style, config.limits) != (default.style, default.limits) {
        return Err(no_words("has a style or limits of schemas that no option gives"));
    }
    put("property_order", name_of(&config.property_order, &ORDERS)?.into());
    put("numbers", name_of(&config.numbers, &NUMBERS)?.into());
    put("strict", config.strict.into());
    match config.whitespace {
        Whitespace::AtMost(most) => put("max_whitespace", most.into()),
        whitespace => put("whitespace", name_of(&whitespace, &WHITESPACE)?.into()),
    }
    Ok(())
}

/// What the options call a value.
fn name_of<T: PartialEq>(value: &T, names: &[(&'static str, T)]) -> Result<&'static str, Error> {
    let named = names.iter().find(|(_, named)| named == value);
    named.map(|&(name, _)| name).ok_or_else(|| no_words("has an option without a name"))
}

fn no_words(why: &str) -> Error {
    Error::message(ErrorKind::Grammar, format!("the grammar cannot be written as text: it {why}"))
}

/// A grammar as a text that goes wherever `libmaskwright_llguidance` is given Lark, such as the field
/// `grammar` of llama-server.
///
/// # Errors
/// As [`described`].
///
/// ```
/// use maskwright::{GrammarSource, bindings};
/// let text = bindings::exported(&GrammarSource::choice(["yes", "no"]))?;
/// assert!(text.starts_with("%llguidance {") && !text.contains('\n'));
/// assert_eq!(bindings::imported(&text).transpose()?.map(|source| source.kind().to_owned()).as_deref(), Some("choice"));
/// # Ok::<(), maskwright::Error>(())
/// ```
pub fn exported(source: &GrammarSource) -> Result<String, Error> {
    Ok(format!("{EXPORTED}{}}}", described(source)?))
}

/// The grammar of a text that [`exported`] made; `None` for other texts. Whoever wrote the text may not be
/// who reads it, so options that name files are refused.
pub fn imported(text: &str) -> Option<Result<GrammarSource, Error>> {
    let described = text.trim_start().strip_prefix(EXPORTED)?.trim_end().strip_suffix('}')?;
    let read = || {
        let described: Value = serde_json::from_str(described)
            .map_err(|error| argument(format!("the exported grammar is not JSON: {error}")))?;
        let text = |name: &str| {
            described[name].as_str().ok_or_else(|| argument(format!("the exported grammar has no {name}")))
        };
        let options = &described["options"];
        if let Some(name) = ["file", "import_paths"].iter().find(|name| options.get(name).is_some()) {
            return Err(argument(format!(
                "an exported grammar cannot have the option {name}: it reads no files"
            )));
        }
        source(text("kind")?, text("source")?, &options.to_string())
    };
    Some(read())
}

/// The limits that an object of names and numbers gives: those of Python's `Compiler(limits=…)`, the advanced
/// ones among the others. The empty text: the defaults.
///
/// # Errors
/// If there is no such limit, or a value is no number that fits it.
pub fn limits(given: &str) -> Result<Limits, Error> {
    let mut given = Given::read("compiler", given)?;
    let mut limits = Limits::default();
    let mut is_too_large = None;
    let mut size = |name: &'static str, limit: &mut usize| -> Result<(), Error> {
        *limit = given.size(name)?.unwrap_or(*limit);
        Ok(())
    };
    size("memory_bytes", &mut limits.memory_bytes)?;
    size("max_positions", &mut limits.max_positions)?;
    size("max_threads", &mut limits.max_threads)?;
    size("max_calls", &mut limits.max_calls)?;
    size("row_cache_bytes", &mut limits.row_cache_bytes)?;
    size("automaton_bytes", &mut limits.automaton_bytes)?;
    size("machine_bytes", &mut limits.machine_bytes)?;
    for (name, limit) in [
        ("compile_work", &mut limits.compile_work),
        ("compile_bytes", &mut limits.compile_bytes),
        ("infill_work", &mut limits.infill_work),
        ("max_residue_size", &mut limits.max_residue_size),
        ("liveness_fuel", &mut limits.liveness_fuel),
    ] {
        *limit = given.count(name)?.unwrap_or(*limit);
    }
    limits.mask_work = given.count("mask_work")?.or(limits.mask_work);
    if let Some(count) = given.count("max_states")? {
        match u32::try_from(count) {
            Ok(count) => limits.max_states = count,
            Err(_) => is_too_large = Some(count),
        }
    }
    given.end()?;
    match is_too_large {
        Some(count) => Err(argument(format!("max_states is {count}, expected at most 2**32 - 1"))),
        None => Ok(limits),
    }
}

/// The options of a tokenizer's files: an object with `eos_token_ids` and `vocab_size`. The empty text: none.
///
/// # Errors
/// If there is no such option, or it has a wrong value.
pub fn tokenizer_options(given: &str) -> Result<TokenizerOptions, Error> {
    let mut given = Given::read("tokenizer", given)?;
    let mut options = TokenizerOptions::default();
    options.eos_token_ids = given.ids("eos_token_ids")?;
    options.vocab_size = given.size("vocab_size")?;
    given.end()?;
    Ok(options)
}

/// The options of a session: an object with `max_tokens` and `stop_token_ids`. The empty text: none.
///
/// # Errors
/// As [`tokenizer_options`].
pub fn matcher_config(given: &str) -> Result<MatcherConfig, Error> {
    let mut given = Given::read("session", given)?;
    let mut config = MatcherConfig::with_max_tokens(given.size("max_tokens")?);
    config.stop_tokens = given.ids("stop_token_ids")?.unwrap_or_default();
    given.end()?;
    Ok(config)
}

/// The name of a kind of errors.
pub fn kind(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Grammar => "grammar",
        ErrorKind::Schema => "schema",
        ErrorKind::Tokenizer => "tokenizer",
        ErrorKind::Limit => "limit",
        ErrorKind::Cancelled => "cancelled",
        ErrorKind::MaxTokensTooSmall => "max_tokens_too_small",
        ErrorKind::NoText => "no_text",
        ErrorKind::Argument => "argument",
        ErrorKind::State => "state",
        // A kind that this version does not know is a bug.
        _ => "internal",
    }
}

/// Events as a JSON array of objects, with the fields of Python's `Event` that their kind has.
pub fn events(events: &[Event]) -> Value {
    let step = |part: &PathPart| match part {
        PathPart::Key(key) => json!(key),
        PathPart::Index(index) => json!(index),
    };
    let one = |event: &Event| match event {
        Event::Text { delta, tag } => json!({"kind": "text", "delta": delta, "tag": tag}),
        Event::Reasoning { delta } => json!({"kind": "reasoning", "delta": delta}),
        Event::Tool { index, name, is_custom, id } => {
            json!({"kind": "tool", "index": index, "name": name, "is_custom": is_custom, "id": id})
        }
        Event::Argument { index, path, raw, json } => {
            let path: Vec<Value> = path.iter().map(step).collect();
            json!({"kind": "argument", "index": index, "path": path, "raw": raw, "delta": json})
        }
        Event::Input { index, delta } => json!({"kind": "input", "index": index, "delta": delta}),
        Event::End { index, id } => json!({"kind": "end", "index": index, "id": id}),
    };
    events.iter().map(one).collect()
}

/// A state as an object with the fields of Python's `State`, and `sentence`, which says it in words.
pub fn state(state: &MatcherState) -> Value {
    let keyword = |keyword: &StateKeyword| json!({"name": keyword.name, "value": keyword.value, "pointer": keyword.pointer});
    let next = |next: &StateNext| json!({"words": next.words, "examples": next.examples});
    json!({
        "within": state.within,
        "path": state.path,
        "rules": state.rules,
        "keywords": state.keywords.iter().map(keyword).collect::<Vec<_>>(),
        "next": state.next.iter().map(next).collect::<Vec<_>>(),
        "is_complete": state.is_complete,
        "sentence": state.to_string(),
    })
}

/// What became of each keyword of a schema: a JSON array of objects with the fields of Python's
/// `ReportEntry`. Empty for grammars without a schema.
pub fn report(report: Option<&Report>) -> Value {
    let entries = report.into_iter().flat_map(Report::entries).map(|entry| {
        let (status, reason) = match entry.status {
            Status::Enforced => ("enforced", None),
            Status::EnforcedBySession => ("enforced by the session", None),
            Status::Annotation => ("annotation", None),
            Status::NotEnforced { reason } => ("not enforced", Some(reason.to_string())),
            // A kind that this version does not know: claim nothing.
            other => ("not enforced", Some(format!("{other:?}"))),
        };
        json!({
            "pointer": entry.pointer,
            "keyword": entry.keyword,
            "status": status,
            "reason": reason,
            "suggestion": entry.suggestion,
            "tool": entry.tool,
        })
    });
    entries.collect()
}

/// What users should know about a grammar: what its schema says in vain, then what its vocabulary lacks.
pub fn warnings(grammar: &CompiledGrammar) -> Vec<String> {
    let of_schema =
        grammar.report().into_iter().flat_map(Report::warnings).map(|warning| warning.to_string());
    of_schema.chain(grammar.warnings().iter().map(ToString::to_string)).collect()
}

/// The texts of captured rules: a JSON array of objects with the fields of Python's `Capture`.
pub fn captures(captures: &[Capture]) -> Value {
    let one = |capture: &Capture| json!({"name": capture.name, "text": capture.text, "start": capture.start, "end": capture.end});
    captures.iter().map(one).collect()
}

/// What a whole text says: an object with `text`, `reasoning`, `calls` (each with `name`, `id`, and
/// `arguments` as JSON text or `input`), `value` (JSON text) and `captures`.
pub fn message(message: &Message) -> Value {
    let call = |call: &ToolCall| {
        let arguments = call.input.is_none().then_some(&call.arguments);
        json!({"name": call.name, "id": call.id, "arguments": arguments, "input": call.input})
    };
    json!({
        "text": message.text,
        "reasoning": message.reasoning,
        "calls": message.calls.iter().map(call).collect::<Vec<_>>(),
        "value": message.value,
        "captures": captures(&message.captures),
    })
}

/// How far a text is in the language: an object with the fields of [`Check`], `reason` as a text, and
/// `message`, which says all of it.
pub fn check(check: &Check) -> Value {
    json!({
        "is_valid": check.is_valid,
        "is_prefix": check.is_prefix,
        "offset": check.offset,
        "line": check.line,
        "column": check.column,
        "reason": check.reason.as_ref().map(CheckReason::to_string),
        "path": check.path,
        "expected": check.expected,
        "message": check.to_string(),
    })
}
