//! Where a text is, in the words of the JSON Schema, structural tag or list of tools that its grammar was compiled from.

use std::fmt;
use std::sync::{Arc, OnceLock};

use maskwright_engine::{Keyword, Words, WordsPlace};
use maskwright_json_schema::{KeywordLimit, PropertyOrder, SchemaWords};
use serde_json::Value;

/// In longer texts of tags and tools no value is looked for.
const MAX_TEXT: usize = 1 << 17;

/// See the module. The source is read when words are first needed.
#[derive(Debug)]
pub(crate) struct SourceWords {
    source: Arc<dyn HasSchemas>,
    kind: Schemas,
    parts: OnceLock<Vec<Part>>,
}

/// A source of grammars that may have JSON Schemas.
pub(crate) trait HasSchemas: Send + Sync + fmt::Debug {
    /// How it has them, its text, and the order of properties; `None` if it has none.
    fn schemas(&self) -> Option<(Schemas, &str, PropertyOrder)>;
}

/// How a source has schemas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Schemas {
    /// It is one.
    Whole,
    /// They are the contents of tags.
    OfTags,
    /// They are the parameters of tools.
    OfTools,
}

/// A schema, and where its value begins in a text.
#[derive(Debug)]
struct Part {
    /// What stands before the value, not always next to it; empty if the value is the whole text.
    begin: String,
    /// What the value is of: a tool's name, or what stands before it.
    name: String,
    words: SchemaWords,
}

impl SourceWords {
    /// The words of a source; `None` if it has no schema.
    pub(crate) fn of(source: Arc<dyn HasSchemas>) -> Option<SourceWords> {
        let (kind, ..) = source.schemas()?;
        Some(SourceWords { source, kind, parts: OnceLock::new() })
    }

    fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| {
            let mut parts = Vec::new();
            let Some((kind, text, order)) = self.source.schemas() else { return parts };
            let Ok(source) = serde_json::from_str::<Value>(text) else { return parts };
            match kind {
                Schemas::Whole => {
                    let words = SchemaWords::new(source, order);
                    parts.push(Part { begin: String::new(), name: String::new(), words });
                }
                Schemas::OfTags => add_tags(&source, order, &mut parts),
                Schemas::OfTools => add_tools(&source, order, &mut parts),
            }
            parts
        })
    }

    /// The schema whose value is being written at the end of a text, and that value so far.
    fn at<'t>(&self, text: &'t [u8]) -> Option<(&Part, &'t [u8])> {
        if self.kind == Schemas::Whole {
            return Some((self.parts().first()?, text));
        }
        if text.len() > MAX_TEXT {
            return None;
        }
        let mut from = 0;
        loop {
            let begun = self.parts().iter().filter_map(|part| Some((self.begins(part, text, from)?, part)));
            // Of names that begin at one place the longest is meant.
            let (begin, part) =
                begun.min_by_key(|&(begin, part)| (begin, std::cmp::Reverse(part.begin.len())))?;
            match SchemaWords::value_length(&text[begin..]) {
                // What is within a value begins no other.
                Some(length) => from = begin + length,
                None => return Some((part, &text[begin..])),
            }
        }
    }

    /// Where the value of a part first begins after byte `from` of a text.
    fn begins(&self, part: &Part, text: &[u8], from: usize) -> Option<usize> {
        let marker = part.begin.as_bytes();
        let is_name = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        };
        let mut from = from;
        loop {
            let at = from + text.get(from..)?.windows(marker.len()).position(|window| window == marker)?;
            let end = at + marker.len();
            if self.kind == Schemas::OfTags {
                return Some(end);
            }
            let is_whole = !is_name(text.get(end)) && !is_name(at.checked_sub(1).and_then(|at| text.get(at)));
            // The parameters are the first object after the tool's name, if nothing but a mark is between.
            let gap = text[end..].iter().position(|&byte| byte == b'{').filter(|_| is_whole);
            if let Some(gap) = gap
                && !text[end..end + gap].iter().any(|byte| matches!(byte, b'=' | b'(' | b'}'))
            {
                return Some(end + gap);
            }
            from = end;
        }
    }
}

impl Words for SourceWords {
    fn place(&self, text: &[u8]) -> Option<WordsPlace> {
        let (part, value) = self.at(text)?;
        let keyword = |KeywordLimit { keyword: name, value, pointer }| Keyword { name, value, pointer };
        Some(WordsPlace {
            within: Some(part.name.clone()).filter(|name| !name.is_empty()),
            path: part.words.path(value),
            keywords: part.words.limits(value).into_iter().map(keyword).collect(),
            hint: part.words.hint(value),
        })
    }

    fn refusal(&self, text: &[u8], next: &[u8]) -> Option<String> {
        let (part, value) = self.at(text)?;
        let why = part.words.refusal(value, next)?;
        Some(if part.name.is_empty() { why } else { format!("in {}, {why}", part.name) })
    }
}

/// Adds the tags of a structural tag whose content is a JSON Schema, wherever they stand in it.
fn add_tags(tag: &Value, order: PropertyOrder, parts: &mut Vec<Part>) {
    match tag {
        Value::Object(members) => {
            if let (Some(Value::String(begin)), Some(content)) =
                (members.get("begin"), members.get("content"))
                && content.get("type").is_some_and(|kind| kind == "json_schema")
                && content.get("style").is_none_or(|style| style == "json")
                && let Some(schema) = content.get("json_schema")
            {
                let words = SchemaWords::new(schema.clone(), order);
                parts.push(Part { begin: begin.clone(), name: name_in(begin), words });
                return;
            }
            members.values().for_each(|member| add_tags(member, order, parts));
        }
        Value::Array(items) => items.iter().for_each(|item| add_tags(item, order, parts)),
        _ => {}
    }
}

/// What a tag is called: the name in its beginning if it has one as JSON or as `=name>`, else the beginning.
fn name_in(begin: &str) -> String {
    let quoted = begin.split_once("\"name\"").and_then(|(_, rest)| rest.split('"').nth(1));
    let tagged = begin.split_once('=').and_then(|(_, rest)| rest.split('>').next());
    quoted.or(tagged).filter(|name| !name.is_empty()).unwrap_or(begin).trim().to_owned()
}

/// Adds the tools of a list, as OpenAI, Anthropic or MCP write them.
fn add_tools(tools: &Value, order: PropertyOrder, parts: &mut Vec<Part>) {
    for tool in tools.as_array().into_iter().flatten() {
        let tool = tool.get("function").unwrap_or(tool);
        let keywords = ["parameters", "input_schema", "inputSchema"];
        let schema = keywords.iter().find_map(|keyword| tool.get(*keyword));
        if let (Some(name), Some(schema)) = (tool.get("name").and_then(Value::as_str), schema) {
            let words = SchemaWords::new(schema.clone(), order);
            parts.push(Part { begin: name.to_owned(), name: name.to_owned(), words });
        }
    }
}
