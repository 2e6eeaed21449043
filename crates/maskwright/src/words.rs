//! Where a text is, in the words of the JSON Schema, structural tag or list of tools that its grammar was compiled from.

use std::fmt;
use std::sync::{Arc, OnceLock};

use maskwright_engine::{Keyword, TextRegion, Words, WordsPlace};
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

/// A tag, or a tool of a list: its schema, and where the value begins in a text.
#[derive(Debug)]
struct Part {
    /// What stands before the value, not always next to it; empty if the value is the whole text.
    begin: String,
    /// What the value is of: a tool's name, or what stands before it.
    name: String,
    /// What may stand after the value, for a tag.
    ends: Vec<String>,
    /// `None` for a tag whose content is no JSON value.
    words: Option<SchemaWords>,
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
                    let (begin, name) = (String::new(), String::new());
                    parts.push(Part { begin, name, ends: Vec::new(), words: Some(words) });
                }
                Schemas::OfTags => add_tags(&source, order, &mut parts),
                Schemas::OfTools => add_tools(&source, order, &mut parts),
            }
            parts
        })
    }

    /// The schema whose value is being written at the end of a text, and that value so far.
    fn at<'t>(&self, text: &'t [u8]) -> Option<(&Part, &SchemaWords, &'t [u8])> {
        let (part, begin) = match self.kind {
            Schemas::Whole => (self.parts().first()?, 0),
            Schemas::OfTags | Schemas::OfTools => {
                let last = self.found(text).pop()?;
                if last.end.is_some() {
                    return None;
                }
                (last.part, last.value)
            }
        };
        Some((part, part.words.as_ref()?, &text[begin..]))
    }

    /// The tags and tools of a text, in order; only the last may have no end.
    fn found(&self, text: &[u8]) -> Vec<Found<'_>> {
        let mut found: Vec<Found<'_>> = Vec::new();
        if text.len() > MAX_TEXT {
            return found;
        }
        let mut from = Some(0);
        while let Some(at) = from {
            let begun = self.parts().iter().filter_map(|part| self.first(part, text, at));
            // Of names that begin at one place the longest is meant.
            let first = begun.min_by_key(|found| (found.value, std::cmp::Reverse(found.part.begin.len())));
            from = first.as_ref().and_then(|first| first.end);
            found.extend(first);
        }
        found
    }

    /// Where a part first stands after byte `from` of a text.
    fn first<'p>(&self, part: &'p Part, text: &[u8], from: usize) -> Option<Found<'p>> {
        let (start, value) = self.begins(part, text, from)?;
        // What is within a value begins no other.
        let end = match part.words {
            Some(_) => SchemaWords::value_length(&text[value..]).map(|length| value + length),
            None => part.ends.iter().filter_map(|end| find(text, end, value)).min(),
        };
        Some(Found { part, start, value, end })
    }

    /// Where a part first begins after byte `from` of a text, and its value.
    fn begins(&self, part: &Part, text: &[u8], from: usize) -> Option<(usize, usize)> {
        let is_name = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'))
        };
        let mut from = from;
        loop {
            let at = find(text, &part.begin, from)?;
            let end = at + part.begin.len();
            if self.kind == Schemas::OfTags {
                return Some((at, end));
            }
            let is_whole = !is_name(text.get(end)) && !is_name(at.checked_sub(1).and_then(|at| text.get(at)));
            // The parameters are the first object after the tool's name, if nothing but a mark is between.
            let gap = text[end..].iter().position(|&byte| byte == b'{').filter(|_| is_whole);
            if let Some(gap) = gap
                && !text[end..end + gap].iter().any(|byte| matches!(byte, b'=' | b'(' | b'}'))
            {
                return Some((at, end + gap));
            }
            from = end;
        }
    }
}

impl Words for SourceWords {
    fn place(&self, text: &[u8]) -> Option<WordsPlace> {
        let (part, words, value) = self.at(text)?;
        let keyword = |KeywordLimit { keyword: name, value, pointer }| Keyword { name, value, pointer };
        Some(WordsPlace {
            within: Some(part.name.clone()).filter(|name| !name.is_empty()),
            path: words.path(value),
            keywords: words.limits(value).into_iter().map(keyword).collect(),
            hint: words.hint(value),
        })
    }

    fn refusal(&self, text: &[u8], next: &[u8]) -> Option<String> {
        let (part, words, value) = self.at(text)?;
        let why = words.refusal(value, next)?;
        Some(if part.name.is_empty() { why } else { format!("in {}, {why}", part.name) })
    }

    fn regions(&self, text: &[u8]) -> Vec<TextRegion> {
        if self.kind == Schemas::Whole {
            return Vec::new();
        }
        let mut regions = Vec::new();
        for Found { part, start, value, end } in self.found(text) {
            let after = |end: usize| {
                let mark = part.ends.iter().filter(|mark| text[end..].starts_with(mark.as_bytes()));
                end + mark.map(String::len).max().unwrap_or(0)
            };
            let kind = if self.kind == Schemas::OfTools { "tool" } else { "tag" };
            regions.push(TextRegion { kind, name: part.name.clone(), start, end: end.map(after) });
            if part.words.is_some() {
                let members = SchemaWords::members(&text[value..end.unwrap_or(text.len())]);
                regions.extend(members.into_iter().map(|(name, start, end)| TextRegion {
                    kind: "argument",
                    name,
                    start: value + start,
                    end: end.map(|end| value + end),
                }));
            }
        }
        regions
    }
}

/// A tag or tool in a text.
struct Found<'p> {
    part: &'p Part,
    start: usize,
    /// Where its value begins.
    value: usize,
    /// Where its value ends.
    end: Option<usize>,
}

/// Where a marker stands in a text after byte `from`.
fn find(text: &[u8], marker: &str, from: usize) -> Option<usize> {
    if marker.is_empty() {
        return None;
    }
    let place = text.get(from..)?.windows(marker.len()).position(|window| window == marker.as_bytes())?;
    Some(from + place)
}

/// Adds the tags of a structural tag, wherever they stand in it, but those with others in them.
fn add_tags(tag: &Value, order: PropertyOrder, parts: &mut Vec<Part>) {
    match tag {
        Value::Object(members) => {
            if let (Some(Value::String(begin)), Some(content)) =
                (members.get("begin"), members.get("content"))
                && !begin.is_empty()
            {
                let is_json = content.get("type").is_some_and(|kind| kind == "json_schema")
                    && content.get("style").is_none_or(|style| style == "json");
                let schema = content.get("json_schema").filter(|_| is_json);
                let words = schema.map(|schema| SchemaWords::new(schema.clone(), order));
                let is_mark = |end: &Value| end.as_str().is_some_and(|end| !end.is_empty());
                let ends = members.get("end").map_or(&[][..], |end| match end {
                    Value::Array(ends) => ends,
                    end => std::slice::from_ref(end),
                });
                let ends = ends.iter().filter(|end| is_mark(end)).filter_map(Value::as_str);
                let ends: Vec<String> = ends.map(str::to_owned).collect();
                if words.is_some() || !ends.is_empty() && !has_tags(content) {
                    parts.push(Part { begin: begin.clone(), name: name_in(begin), ends, words });
                    return;
                }
            }
            members.values().for_each(|member| add_tags(member, order, parts));
        }
        Value::Array(items) => items.iter().for_each(|item| add_tags(item, order, parts)),
        _ => {}
    }
}

/// Whether tags stand in a structural tag.
fn has_tags(tag: &Value) -> bool {
    match tag {
        Value::Object(members) => members.contains_key("begin") || members.values().any(has_tags),
        Value::Array(items) => items.iter().any(has_tags),
        _ => false,
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
            let name = name.to_owned();
            parts.push(Part { begin: name.clone(), name, ends: Vec::new(), words: Some(words) });
        }
    }
}
