//! Where a text is, in the words of the JSON Schema, structural tag or list of tools that its grammar was compiled from.
//!
//! Tags and calls are found by what stands before and after them; the grammar says what may come, this only names it.

use std::cmp::Reverse;
use std::fmt;
use std::sync::{Arc, OnceLock};

use maskwright_engine::{Keyword, TextRegion, Words, WordsPlace};
use maskwright_json_schema::{KeywordLimit, PropertyOrder, SchemaWords};
use serde_json::Value;

/// In longer texts of tags and tools no value is looked for.
const MAX_TEXT: usize = 1 << 17;

/// What the rules are called that the compiler of structural tags makes.
const RULES_OF_TAGS: &[&str] = &["start", "text", "tokens", "schema"];

/// See the module. The source is read when words are first needed.
#[derive(Debug)]
pub(crate) struct SourceWords {
    source: Arc<dyn HasSchemas>,
    kind: Schemas,
    parts: OnceLock<Vec<Part>>,
}

/// A source of grammars that may have JSON Schemas.
pub(crate) trait HasSchemas: Send + Sync + fmt::Debug {
    /// How it has them; `None` if it has none.
    fn schemas(&self) -> Option<Schemas>;

    /// The schema, or the structural tag, and the order of properties.
    fn document(&self) -> Option<(Value, PropertyOrder)>;
}

/// How a source has schemas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Schemas {
    /// It is one.
    Whole,
    /// They are the contents of tags.
    OfTags,
    /// They are the parameters of tools, which are called in tags.
    OfTools,
}

/// A tag.
#[derive(Debug)]
struct Part {
    /// What stands before it; empty if the value is the whole text.
    begin: String,
    /// What it is called: the tool's name, or a name in its beginning.
    name: String,
    is_tool: bool,
    /// What may stand after it.
    ends: Vec<String>,
    /// Of its JSON value; `None` if it has none.
    words: Option<SchemaWords>,
    /// Whether the value begins where `begin` ends, and not at the first brace after it.
    is_next: bool,
}

/// A tag in a text.
struct Found<'p> {
    part: &'p Part,
    start: usize,
    /// Where its content begins.
    value: usize,
    /// Where its content ends.
    end: Option<usize>,
}

impl SourceWords {
    /// The words of a source; `None` if it has no schema.
    pub(crate) fn of(source: Arc<dyn HasSchemas>) -> Option<SourceWords> {
        let kind = source.schemas()?;
        Some(SourceWords { source, kind, parts: OnceLock::new() })
    }

    fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| {
            let mut parts = Vec::new();
            match (self.kind, self.source.document()) {
                (_, None) => {}
                (Schemas::Whole, Some((schema, order))) => parts.push(Part {
                    begin: String::new(),
                    name: String::new(),
                    is_tool: false,
                    ends: Vec::new(),
                    words: Some(SchemaWords::new(schema, order)),
                    is_next: true,
                }),
                (Schemas::OfTags | Schemas::OfTools, Some((tag, order))) => {
                    add_tags(&tag, order, &mut parts);
                }
            }
            parts
        })
    }

    /// The schema whose value is being written at the end of a text, and that value so far.
    fn at<'t>(&self, text: &'t [u8]) -> Option<(&Part, &SchemaWords, &'t [u8])> {
        let (part, value) = match self.kind {
            Schemas::Whole => (self.parts().first()?, 0),
            Schemas::OfTags | Schemas::OfTools => {
                let last = self.found(text).pop().filter(|last| last.end.is_none())?;
                (last.part, last.value)
            }
        };
        Some((part, part.words.as_ref()?, &text[value..]))
    }

    /// The tags of a text, in order; only the last may have no end.
    fn found(&self, text: &[u8]) -> Vec<Found<'_>> {
        let mut found: Vec<Found<'_>> = Vec::new();
        if text.len() > MAX_TEXT {
            return found;
        }
        let first = |part, from| Some((part, begins(part, text, from)?));
        let mut next: Vec<(&Part, (usize, usize))> =
            self.parts().iter().filter_map(|part| first(part, 0)).collect();
        // Of marks that begin at one place the longest is meant.
        while let Some(&(part, (start, value))) =
            next.iter().min_by_key(|(part, (start, _))| (*start, Reverse(part.begin.len())))
        {
            let end = end_of(part, text, value);
            // A mark that nothing ends may be text, as long as others follow.
            if found.last().is_some_and(|last| last.end.is_none()) {
                found.pop();
            }
            found.push(Found { part, start, value, end });
            // What is within a tag begins no other.
            let from = match (end, &part.words) {
                (Some(end), _) => end,
                (None, Some(_)) => break,
                (None, None) => value,
            };
            next = next
                .into_iter()
                .filter_map(|(part, at)| if at.0 < from { first(part, from) } else { Some((part, at)) })
                .collect();
        }
        found
    }
}

/// Where a tag first begins after byte `from` of a text, and its content.
fn begins(part: &Part, text: &[u8], from: usize) -> Option<(usize, usize)> {
    let start = find(text, &part.begin, from)?;
    let after = start + part.begin.len();
    if part.is_next {
        return Some((start, after));
    }
    let gap = text[after..].iter().position(|&byte| byte == b'{');
    Some((start, gap.map_or(text.len(), |gap| after + gap)))
}

/// Where the content of a tag ends that begins at byte `value` of a text.
fn end_of(part: &Part, text: &[u8], value: usize) -> Option<usize> {
    let mark = |from| part.ends.iter().filter_map(|end| find(text, end, from)).min();
    if part.words.is_none() {
        return mark(value);
    }
    let value = value + text[value..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match text.get(value)? {
        b'"' | b'{' | b'[' => SchemaWords::value_length(&text[value..]).map(|length| value + length),
        _ => mark(value),
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

    fn own_rules(&self) -> Option<&'static [&'static str]> {
        (self.kind == Schemas::OfTags).then_some(RULES_OF_TAGS)
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
            let kind = if part.is_tool { "tool" } else { "tag" };
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

/// Where a mark, which is not empty, stands in a text after byte `from`.
fn find(text: &[u8], mark: &str, from: usize) -> Option<usize> {
    let place = text.get(from..)?.windows(mark.len()).position(|window| window == mark.as_bytes())?;
    Some(from + place)
}

/// Adds the tags of a structural tag, wherever they stand in it, but those with others in them.
fn add_tags(tag: &Value, order: PropertyOrder, parts: &mut Vec<Part>) {
    match tag {
        Value::Object(members) => {
            if let (Some(Value::String(begin)), Some(content)) =
                (members.get("begin"), members.get("content"))
                && !begin.is_empty()
                && !has_tags(content)
            {
                parts.extend(part(begin, content, members.get("end"), order));
                return;
            }
            members.values().for_each(|member| add_tags(member, order, parts));
        }
        Value::Array(items) => items.iter().for_each(|item| add_tags(item, order, parts)),
        _ => {}
    }
}

/// A tag without others in it; `None` if nothing says where it ends.
fn part(begin: &str, content: &Value, end: Option<&Value>, order: PropertyOrder) -> Option<Part> {
    let ends = end.map_or(&[][..], |end| match end {
        Value::Array(ends) => ends,
        end => std::slice::from_ref(end),
    });
    let ends = ends.iter().filter_map(Value::as_str).filter(|end| !end.is_empty());
    let ends: Vec<String> = ends.map(str::to_owned).collect();
    // The only schema of the content, and whether nothing stands before it.
    let elements = content.get("elements").and_then(Value::as_array);
    let elements = elements.map_or(std::slice::from_ref(content), Vec::as_slice);
    let schemas: Vec<(usize, &Value)> =
        elements.iter().enumerate().filter(|(_, element)| element.get("json_schema").is_some()).collect();
    let schema = if let [only] = schemas[..] { Some(only) } else { None };
    let tool = schema.and_then(|(_, schema)| schema.get("tool")?.as_str());
    let json = schema.filter(|(_, schema)| schema.get("style").is_none_or(|style| style == "json"));
    let words = json.and_then(|(_, schema)| schema.get("json_schema"));
    let words = words.map(|schema| SchemaWords::new(schema.clone(), order));
    let is_known = words.is_some() || !ends.is_empty();
    is_known.then(|| Part {
        begin: begin.to_owned(),
        name: tool.map_or_else(|| name_in(begin), str::to_owned),
        is_tool: tool.is_some(),
        ends,
        words,
        is_next: json.is_none_or(|(at, _)| at == 0),
    })
}

/// Whether tags stand in a part of a structural tag. What stands in a schema is none.
fn has_tags(tag: &Value) -> bool {
    match tag {
        Value::Object(members) => {
            let is_schema = |name: &str| matches!(name, "json_schema" | "schema");
            members.contains_key("begin") && members.contains_key("content")
                || members.iter().any(|(name, member)| !is_schema(name) && has_tags(member))
        }
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
