//! The grammars of `llguidance.h`: kinds, `%llguidance`, and lists.

use std::collections::BTreeMap;
use std::ffi::c_char;
use std::sync::Arc;

use maskwright::lark::{LarkDialect, LarkOptions, LexerKind};
use maskwright::{CompileOptions, CompiledGrammar, Error, GrammarSource, Matcher, MatcherConfig, bindings};
use serde_json::Value;

use super::tokenizer::Shared;
use super::writer::Writer;
use super::{LlgConstraintInit, LlgTokenizer};
use crate::guard::argument;
use crate::pointers::{get, items, text};

/// A grammar, and how many tokens its texts may have.
struct Asked {
    source: GrammarSource,
    max_tokens: Option<usize>,
}

impl From<GrammarSource> for Asked {
    fn from(source: GrammarSource) -> Asked {
        Asked { source, max_tokens: None }
    }
}

/// The grammar of a kind.
fn asked(kind: &str, data: &str) -> Result<Asked, Error> {
    Ok(match kind {
        "regex" => GrammarSource::rust_regex(data).into(),
        "json" | "json_schema" => GrammarSource::json_schema(data, Default::default()).into(),
        "json_object" => GrammarSource::json_schema(r#"{"type": "object"}"#, Default::default()).into(),
        "lark" => lark(data, BTreeMap::new())?.into(),
        "llguidance" | "guidance" if data.trim_start().starts_with('{') => list(data)?,
        "llguidance" | "guidance" => lark(data, BTreeMap::new())?.into(),
        _ => return Err(argument(format!("unknown constraint type: {kind}"))),
    })
}

/// A grammar in llguidance's Lark.
fn lark(text: &str, grammars: BTreeMap<String, String>) -> Result<GrammarSource, Error> {
    if let Some(imported) = bindings::imported(text) {
        return imported;
    }
    // What llama-server makes of a JSON Schema is compiled as one: some keywords are for sessions of a
    // schema.
    if let Some(schema) = only_schema(text) {
        return Ok(GrammarSource::json_schema(schema, Default::default()));
    }
    let mut options = LarkOptions::default();
    options.dialect = LarkDialect::Llguidance;
    options.lexer = LexerKind::DynamicComplete;
    options.grammars = grammars;
    Ok(GrammarSource::lark(text, options))
}

/// The schema of a text that is `start: %json {...}` alone, after a line with `%llguidance {}`.
fn only_schema(text: &str) -> Option<&str> {
    let text = text.trim_start();
    let rest = match text.strip_prefix("%llguidance") {
        Some(options) => options.trim_start().strip_prefix("{}")?.trim_start(),
        None => text,
    };
    let schema = rest.strip_prefix("start:")?.trim_start().strip_prefix("%json")?.trim();
    let is_schema = |value: Value| value.is_object() || value.is_boolean();
    serde_json::from_str(schema).is_ok_and(is_schema).then_some(schema)
}

/// llguidance's list of grammars, of which the first is the whole and may use the others as `@name`.
fn list(data: &str) -> Result<Asked, Error> {
    let wrong = |what: String| argument(format!("the list of grammars: {what}"));
    let list: Value = serde_json::from_str(data).map_err(|error| wrong(error.to_string()))?;
    let max_tokens = match &list["max_tokens"] {
        Value::Null => None,
        count => Some(count.as_u64().ok_or_else(|| wrong(format!("max_tokens is {count}")))? as usize),
    };
    let Some([first, others @ ..]) = list["grammars"].as_array().map(Vec::as_slice) else {
        return Err(wrong("\"grammars\" is no array with a grammar in it".to_owned()));
    };
    let mut named = BTreeMap::new();
    for (index, grammar) in others.iter().enumerate() {
        let Some(name) = grammar["name"].as_str() else { continue };
        let text = match (&grammar["lark_grammar"], &grammar["json_schema"]) {
            (Value::String(text), Value::Null) => text.clone(),
            (Value::Null, Value::Null) => {
                return Err(wrong(format!("grammar {} is none", index + 1)));
            }
            (_, Value::Bool(true)) => "start: %json {}".to_owned(),
            (_, Value::Bool(false)) => "start: %json {\"not\": {}}".to_owned(),
            (_, schema) => format!("start: %json {schema}"),
        };
        if bindings::imported(&text).is_some() {
            return Err(wrong(format!("{name:?} is an exported grammar, which stands alone")));
        }
        if named.insert(name.to_owned(), text).is_some() {
            return Err(wrong(format!("two grammars are called {name:?}")));
        }
    }
    let source = match (&first["lark_grammar"], &first["json_schema"]) {
        (Value::String(text), Value::Null) => lark(text, named)?,
        (Value::Null, schema) if !schema.is_null() => {
            GrammarSource::json_schema(schema.to_string(), Default::default())
        }
        _ => return Err(wrong("the first has neither a lark_grammar nor a json_schema".to_owned())),
    };
    Ok(Asked { source, max_tokens })
}

/// The grammar that a caller asks for, compiled.
pub(super) struct Compiled {
    grammar: Arc<CompiledGrammar>,
    max_tokens: Option<usize>,
    tokenizer: Arc<Shared>,
}

/// Compiles a grammar.
///
/// # Safety
/// `init` is NULL or leads to what its type says, and so does its tokenizer; texts are NULL or end with a
/// NUL.
pub(super) unsafe fn compile(
    init: *const LlgConstraintInit,
    kind: *const c_char,
    data: *const c_char,
) -> Result<Compiled, Error> {
    // SAFETY: the caller's promise.
    let (kind, data) = unsafe { (text(kind, "constraint_type")?, text(data, "data")?) };
    // SAFETY: as above.
    let tokenizer = unsafe { tokenizer(init) }?;
    let asked = asked(kind, data)?;
    let grammar = tokenizer.compiler.compile(&asked.source, &CompileOptions::default())?;
    Ok(Compiled { grammar, max_tokens: asked.max_tokens, tokenizer })
}

/// # Safety
/// As for [`compile`].
unsafe fn tokenizer(init: *const LlgConstraintInit) -> Result<Arc<Shared>, Error> {
    // SAFETY: the caller's promise; `items` refuses NULL.
    let init = unsafe { items(init, 1, "init") }?;
    let tokenizer: *const LlgTokenizer = init[0].tokenizer;
    // SAFETY: as above.
    Ok(unsafe { get(tokenizer) }?.clone())
}

impl Compiled {
    /// A session of it.
    pub(super) fn writer(self) -> Result<Writer, Error> {
        let matcher: Matcher = match self.max_tokens {
            None => self.grammar.matcher(),
            limit => self.grammar.matcher_with(&MatcherConfig::with_max_tokens(limit))?,
        };
        Ok(Writer::new(matcher, self.tokenizer))
    }

    /// What a caller should know about it.
    pub(super) fn warnings(&self) -> Vec<String> {
        bindings::warnings(&self.grammar)
    }
}
