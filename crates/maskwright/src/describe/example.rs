//! A short text of a grammar, for a prompt.

use std::sync::Arc;

use maskwright_json_schema::Style;
use maskwright_tags::{Reasons, callable_tools};
use maskwright_vocabulary::{TokenId, Tokenizer};
use serde_json::{Map, Value, json as value};

use crate::describe::short::json;
use crate::source::{GrammarSource, Notation};
use crate::{CompileOptions, CompiledGrammar, Compiler, Error};

/// A longer text is no example.
const MAX_LEN: usize = 2000;
/// How many schemas are looked at for a value.
const MAX_SCHEMAS: usize = 500;
/// For how many patterns a word is looked for.
const MAX_PATTERNS: usize = 20;

/// A text that a source allows: of a schema, all members with values of their types; else a shortest one.
/// `None` if it is empty, long, or not text.
pub(super) fn example(source: &GrammarSource) -> Result<Option<String>, Error> {
    let mut source = source.clone();
    if let Notation::ToolCalls { options, .. } = &mut source.notation {
        // A message with a call and nothing else.
        if matches!(options.tool_choice.as_str(), "auto" | "any") {
            options.tool_choice = "required".to_owned();
        }
        (options.reasoning, options.has_text) = (Reasons::Never, false);
    }
    let grammar = compiled(&source)?;
    let is_text =
        |text: &String| grammar.check(text.as_bytes(), &Default::default()).is_ok_and(|check| check.is_valid);
    let filled = match &source.notation {
        Notation::JsonSchema { text, config } if config.style == Style::Json => {
            Some(Filler::fill(&json(text)).to_string())
        }
        Notation::ToolCalls { tools, options, config } => {
            let first = callable_tools(tools, options)?.into_iter().find(|tool| tool.grammar.is_none());
            first.and_then(|tool| {
                let tools = value!([{"name": tool.name, "parameters": narrowed(&tool.parameters)}]);
                let narrow = GrammarSource::tool_calls(tools.to_string(), options.clone(), *config);
                shortest(&*compiled(&narrow).ok()?)
            })
        }
        _ => None,
    };
    let text = filled.filter(is_text).or_else(|| shortest(&grammar));
    Ok(text.filter(|text| !text.trim().is_empty() && text.len() <= MAX_LEN))
}

/// Compiles a source for a vocabulary in which each byte is a token.
fn compiled(source: &GrammarSource) -> Result<Arc<CompiledGrammar>, Error> {
    let tokens = (0..=u8::MAX).map(|byte| vec![byte]).chain([Vec::new()]);
    let tokenizer = Tokenizer::from_tokens(tokens.collect(), &[TokenId(256)])?;
    Compiler::new(&tokenizer).compile(source, &CompileOptions::default())
}

/// A shortest text of a grammar.
fn shortest(grammar: &CompiledGrammar) -> Option<String> {
    let matcher = grammar.matcher();
    let tokens = matcher.finish().ok()?;
    let bytes = tokens.iter().filter_map(|token| u8::try_from(token.0).ok());
    String::from_utf8(bytes.collect()).ok()
}

/// A schema of the one value that an example has.
fn narrowed(schema: &Value) -> Value {
    let Value::Object(members) = Filler::fill(schema) else { return schema.clone() };
    let names: Vec<&String> = members.keys().collect();
    let properties = members.iter().map(|(name, value)| (name.clone(), value!({"const": value})));
    value!({
        "type": "object",
        "properties": properties.collect::<Map<String, Value>>(),
        "required": names,
        "additionalProperties": false,
    })
}

/// Makes a value that probably satisfies a schema.
struct Filler<'s> {
    whole: &'s Value,
    /// How many more schemas are looked at.
    left: usize,
    /// For how many more patterns a word is looked for.
    n_patterns: usize,
}

impl<'s> Filler<'s> {
    fn fill(schema: &Value) -> Value {
        let (left, n_patterns) = (MAX_SCHEMAS, MAX_PATTERNS);
        Filler { whole: schema, left, n_patterns }.value(schema, 0)
    }

    /// A value of a schema in `depth` objects and arrays.
    fn value(&mut self, schema: &'s Value, depth: usize) -> Value {
        let Value::Object(keywords) = schema else { return Value::Null };
        let Some(left) = self.left.checked_sub(1) else { return Value::Null };
        self.left = left;
        let first = |name: &str| keywords.get(name).and_then(|values| values.get(0));
        let given = keywords.get("const").or_else(|| keywords.get("default"));
        if let Some(value) = given.or_else(|| first("examples")).or_else(|| first("enum")) {
            return value.clone();
        }
        let reference = keywords.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
        let target = reference.and_then(|pointer| self.whole.pointer(pointer));
        let branch = target.or_else(|| first("anyOf")).or_else(|| first("oneOf")).or_else(|| first("allOf"));
        let type_name = match (keywords.get("type"), branch) {
            (Some(Value::String(name)), _) => name.as_str(),
            (Some(Value::Array(names)), _) => names.first().and_then(Value::as_str).unwrap_or_default(),
            _ if keywords.contains_key("properties") => "object",
            (_, Some(branch)) => return self.value(branch, depth),
            _ => "string",
        };
        match type_name {
            "object" => {
                let properties = keywords.get("properties").and_then(Value::as_object);
                let required = keywords.get("required").and_then(Value::as_array);
                let is_required =
                    |name: &str| required.is_some_and(|names| names.iter().any(|one| one == name));
                let members = properties.into_iter().flatten();
                let members = members.filter(|(name, _)| depth < 2 || is_required(name));
                let members = members.map(|(name, schema)| (name.clone(), self.value(schema, depth + 1)));
                Value::Object(members.collect())
            }
            "array" => {
                let listed = keywords.get("prefixItems").and_then(Value::as_array).into_iter().flatten();
                let items = listed.chain(keywords.get("items").filter(|_| depth < 4)).take(10);
                Value::Array(items.map(|item| self.value(item, depth + 1)).collect())
            }
            "integer" | "number" => number(keywords),
            "boolean" => Value::Bool(true),
            "null" => Value::Null,
            _ if keywords.contains_key("pattern") && self.n_patterns > 0 => {
                self.n_patterns -= 1;
                let string = GrammarSource::json_schema(schema.clone(), Default::default());
                let word = compiled(&string).ok().and_then(|grammar| shortest(&grammar));
                word.and_then(|word| serde_json::from_str(&word).ok()).unwrap_or_default()
            }
            _ => Value::from(word(keywords)),
        }
    }
}

/// A number of a schema: 1, or the nearest to it that is within the bounds.
fn number(keywords: &Map<String, Value>) -> Value {
    let bound = |name: &str| keywords.get(name).and_then(Value::as_f64);
    let least =
        bound("minimum").or_else(|| Some(bound("exclusiveMinimum")? + 1.0)).unwrap_or(f64::NEG_INFINITY);
    let most = bound("maximum").or_else(|| Some(bound("exclusiveMaximum")? - 1.0)).unwrap_or(f64::INFINITY);
    let value = least.max(most.min(1.0));
    if value.fract() == 0.0 && value.abs() < 1e15 { Value::from(value as i64) } else { Value::from(value) }
}

/// A string of a schema.
fn word(keywords: &Map<String, Value>) -> String {
    let word = match keywords.get("format").and_then(Value::as_str) {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T12:00:00Z",
        Some("time") => "12:00:00Z",
        Some("email") => "name@example.org",
        Some("uri") => "https://example.org",
        Some("uuid") => "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
        _ => "...",
    };
    let least = keywords.get("minLength").and_then(Value::as_u64).unwrap_or(0);
    let least = usize::try_from(least).unwrap_or(MAX_LEN).min(MAX_LEN);
    format!("{word:.<least$}")
}
