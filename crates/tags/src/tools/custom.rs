//! Custom tools: what a call gives them is a text, perhaps one of a grammar, where other tools get an object.
//!
//! OpenAI's two interfaces write them in two ways. Their grammars are Rust's regular expressions and
//! llguidance's dialect of Lark. Of the dialect, what Lark has is read, `%json`, and terminals that may match
//! nothing; the rest is an error at its place.

use maskwright_automata::{FuelError, Regex};
use maskwright_grammar::Item;
use maskwright_json_schema::json_strings;
use maskwright_lark::{LarkConfig, LarkDialect, LexerKind, parse_lark};
use maskwright_syntax::regex::{self, Dialect};
use maskwright_syntax::{SyntaxError, nearest_name};
use serde_json::{Map, Value};

use crate::TagError;
use crate::fields::Fields;
use crate::lower::{Ends, Lowering};
use crate::needles::{free_text, overlaps};

/// The grammar of the texts that a custom tool takes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct TextGrammar {
    syntax: Syntax,
    pub(crate) definition: String,
    /// Where the request has it.
    pub(crate) at: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Syntax {
    Regex,
    Lark,
}

/// The text of a custom tool in a call.
#[derive(Debug)]
pub(crate) struct ToolText<'a> {
    pub(crate) grammar: TextGrammar,
    /// If it is a string of JSON, the marks at which readers end the call; else it stands as it is.
    pub(crate) ends_in_json: Option<Vec<&'a str>>,
}

/// The fields of a custom tool and their pointer; `None` if the tool is none.
pub(crate) fn custom_fields<'t>(
    tool: &'t Map<String, Value>,
    at: &str,
) -> Option<(&'t Map<String, Value>, String)> {
    let inner = tool.get("custom").and_then(Value::as_object);
    match (tool.get("type").and_then(Value::as_str), inner) {
        (Some("custom") | None, Some(inner)) => Some((inner, format!("{at}/custom"))),
        (Some("custom"), None) => Some((tool, at.to_owned())),
        _ => None,
    }
}

/// The grammar of a custom tool whose fields are at `at`; `None` if it takes any text. `schemas`: the fields
/// of other tools that hold a schema.
///
/// # Errors
/// If the format is none that is known or has another name, or the tool has a schema.
pub(crate) fn read_format(
    fields: &Map<String, Value>,
    at: &str,
    schemas: &[&str],
) -> Result<Option<TextGrammar>, TagError> {
    let is_there = |field: &str| fields.get(field).is_some_and(|value| !value.is_null());
    if let Some(field) = schemas.iter().chain(&["strict"]).find(|field| is_there(field)) {
        let message = format!("a custom tool takes a text and has no `{field}`");
        let error = TagError::malformed(format!("{at}/{field}"), message);
        return Err(error.with_hint("leave it out, or make the tool one of the type \"function\""));
    }
    // A grammar that is not where it is looked for would else leave any text.
    const OTHER_PLACES: [&str; 3] = ["grammar", "syntax", "definition"];
    let is_misplaced = |key: &&String| {
        OTHER_PLACES.contains(&key.as_str())
            || key.as_str() != "format" && nearest_name(key, ["format"]).is_some()
    };
    if let Some(key) = fields.keys().find(is_misplaced) {
        let error = TagError::malformed(format!("{at}/{key}"), format!("a custom tool has no `{key}`"));
        return Err(
            error.with_hint("write {\"format\": {\"type\": \"grammar\", \"syntax\": …, \"definition\": …}}")
        );
    }
    let format = match fields.get("format") {
        None | Some(Value::Null) => return Ok(None),
        Some(format) => format,
    };
    let at = format!("{at}/format");
    let what = "the format of a custom tool";
    let outer = Fields::new(format, &at, what, &["type", "syntax", "definition", "grammar"])?;
    match outer.text("type")? {
        "text" => return Fields::new(format, &at, what, &["type"]).map(|_| None),
        "grammar" => {}
        other => {
            let message = format!("the type is \"text\" or \"grammar\", not {other:?}");
            return Err(
                TagError::malformed(outer.below("type"), message).suggesting(other, ["text", "grammar"])
            );
        }
    }
    // Chat completions have the grammar one step further down than responses.
    let inner = match outer.get("grammar") {
        Some(grammar) => {
            Fields::new(grammar, &outer.below("grammar"), "the grammar", &["syntax", "definition"])?
        }
        None => outer,
    };
    let syntax = match inner.text("syntax")? {
        "regex" => Syntax::Regex,
        "lark" => Syntax::Lark,
        other => {
            let message = format!("the syntax is \"lark\" or \"regex\", not {other:?}");
            return Err(
                TagError::malformed(inner.below("syntax"), message).suggesting(other, ["lark", "regex"])
            );
        }
    };
    let definition = inner.text("definition")?.to_owned();
    Ok(Some(TextGrammar { syntax, definition, at: inner.below("definition") }))
}

/// The texts of a custom tool. `ends`: what ends the nearest tag around them.
pub(crate) fn tool_text(
    lowering: &mut Lowering<'_>,
    text: &ToolText<'_>,
    ends: Ends<'_>,
) -> Result<Item, TagError> {
    let TextGrammar { syntax, definition, at } = &text.grammar;
    let is_json = text.ends_in_json.is_some();
    let marks = text.ends_in_json.clone().unwrap_or_else(|| ends.and(&[]));
    let overlaps: Vec<&[u8]> = marks.iter().flat_map(|mark| overlaps(mark)).collect();
    let free = free_text(&marks, &overlaps);
    let written = |words: &Regex| match is_json {
        true => json_strings(words, &marks),
        false => Regex::intersection([words.clone(), free.clone()]),
    };
    let item = match syntax {
        Syntax::Regex => {
            let words = regex::parse(definition, Dialect::Rust, lowering.fuel);
            Item::Regular(written(&words.map_err(|error| TagError::syntax(at, error))?))
        }
        Syntax::Lark => {
            let config = LarkConfig {
                lexer: LexerKind::DynamicComplete,
                dialect: LarkDialect::Llguidance,
                special: if is_json { Default::default() } else { lowering.special.clone() },
                ..LarkConfig::default()
            };
            let read = parse_lark(definition, "definition", &config, lowering.fuel);
            let read = read.map_err(|error| of_lark(at, definition, &error))?;
            let grammar = read.over_bytes.expect("grammars without a lexer are over bytes");
            if let Some(set) = grammar.token_sets().first().filter(|_| is_json) {
                let message = format!("{set} is a token, which no string of JSON holds");
                return Err(TagError::malformed(at, message).with_hint("write its text, as a string"));
            }
            lowering.embed_as(at, &grammar, &written)?
        }
    };
    let quote = || Item::Regular(Regex::literal("\""));
    Ok(if is_json { lowering.seq([quote(), item, quote()]) } else { item })
}

/// An error in a grammar of Lark, at `at`.
fn of_lark(at: &str, definition: &str, error: &SyntaxError) -> TagError {
    let placed = || format!("line {} column {}: {}", error.line(), error.column(), error.message());
    match (error.is_cancelled(), error.is_limit()) {
        (true, _) => TagError::fuel(at, FuelError::Cancelled),
        (false, true) => TagError::limit(at, placed()),
        (false, false) => {
            let span = error.offset()..error.offset() + 1;
            TagError::syntax(
                at,
                SyntaxError::new(definition, "definition", span, error.message(), error.hint()),
            )
        }
    }
}
