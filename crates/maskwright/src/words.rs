//! Where a text is, in the words of the JSON Schema, structural tag or list of tools that its grammar was
//! compiled from.
//!
//! Tags and calls are found by what stands before and after them. Sessions ask only where the grammar is not
//! in free text, which may hold the same marks. Of tags that begin alike nothing is said.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

use maskwright_engine::{StateKeyword, TextRegion, Words, WordsPlace};
use maskwright_json_schema::{KeywordLimit, PropertyOrder, SchemaWords};
use serde_json::{Value, json};

/// In longer texts of tags and tools no value is looked for.
const MAX_TEXT: usize = 1 << 17;

/// What the rules are called that the compiler of structural tags makes.
const RULES_OF_TAGS: &[&str] = &["start", "text", "tokens", "schema"];

/// See the module. The source is read when words are first needed.
#[derive(Debug)]
pub(crate) struct SourceWords {
    source: Arc<dyn HasSchemas>,
    kind: Schemas,
    /// The tools whose schemas are not enforced in full.
    unsure: Vec<String>,
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
    /// Whether nothing is said of it: others begin alike, or not all of its schema is enforced.
    is_mute: bool,
}

/// A tag in a text.
struct Found<'p> {
    part: &'p Part,
    start: usize,
    /// Where its content begins, if it has.
    value: Option<usize>,
    /// Where its content ends.
    end: Option<usize>,
}

impl SourceWords {
    /// The words of a source; `None` if it has no schema. `unsure` names the tools whose schemas are not
    /// enforced in full.
    pub(crate) fn of(source: Arc<dyn HasSchemas>, unsure: Vec<String>) -> Option<SourceWords> {
        let kind = source.schemas()?;
        Some(SourceWords { source, kind, unsure, parts: OnceLock::new() })
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
                    is_mute: false,
                }),
                (Schemas::OfTags | Schemas::OfTools, Some((tag, order))) => {
                    add_tags(&tag, order, &mut parts);
                    let begins: Vec<String> = parts.iter().map(|part| part.begin.clone()).collect();
                    for part in &mut parts {
                        let n_alike = begins.iter().filter(|begin| **begin == part.begin).count();
                        part.is_mute = n_alike > 1 || part.is_tool && self.unsure.contains(&part.name);
                    }
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
                let last = self.found(text).pop().filter(|last| last.end.is_none() && !last.part.is_mute)?;
                // A name may go on as long as nothing has begun after it.
                (last.part, last.value.filter(|&value| last.part.is_next || value < text.len())?)
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
        let mut marks = Marks::default();
        let mut from = 0;
        loop {
            let begun =
                self.parts().iter().filter_map(|part| Some((part, marks.next(text, &part.begin, from)?)));
            // Of marks that begin at one place the longest is meant.
            let first = begun.min_by_key(|(part, start)| (*start, Reverse(part.begin.len())));
            let Some((part, start)) = first else { break };
            let after = start + part.begin.len();
            let gap = text[after..].iter().position(|&byte| byte == b'{');
            let value = if part.is_next { Some(after) } else { gap.map(|gap| after + gap) };
            let end = value.and_then(|value| end_of(part, text, value, &mut marks));
            // A mark that nothing ends may be text, as long as others follow.
            if found.last().is_some_and(|last| last.end.is_none()) {
                found.pop();
            }
            found.push(Found { part, start, value, end });
            // What is within a tag begins no other.
            from = match (end, &part.words) {
                (Some(end), _) => end,
                (None, Some(_)) => break,
                (None, None) => after,
            };
        }
        found
    }
}

/// Where marks stand next in a text that is read from left to right.
#[derive(Default)]
struct Marks<'m>(HashMap<&'m str, Option<usize>>);

impl<'m> Marks<'m> {
    /// Where a mark first stands after byte `from`, which is never less than before.
    fn next(&mut self, text: &[u8], mark: &'m str, from: usize) -> Option<usize> {
        match self.0.get(mark) {
            Some(None) => None,
            Some(&Some(at)) if at >= from => Some(at),
            _ => {
                let at = find(text, mark, from);
                self.0.insert(mark, at);
                at
            }
        }
    }
}

/// Where the content of a tag ends that begins at byte `value` of a text.
fn end_of<'p>(part: &'p Part, text: &[u8], value: usize, marks: &mut Marks<'p>) -> Option<usize> {
    let at = value + text[value..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match text.get(at)? {
        b'"' | b'{' | b'[' if part.words.is_some() => {
            SchemaWords::value_length(&text[at..]).map(|length| at + length)
        }
        _ => part.ends.iter().filter_map(|end| marks.next(text, end, value)).min(),
    }
}

impl Words for SourceWords {
    fn place(&self, text: &[u8]) -> Option<WordsPlace> {
        let (part, words, value) = self.at(text)?;
        let keyword =
            |KeywordLimit { keyword: name, value, pointer }| StateKeyword::new(name, value, pointer);
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

    fn has_marks(&self) -> bool {
        self.kind != Schemas::Whole
    }

    fn own_rules(&self) -> Option<&'static [&'static str]> {
        (self.kind == Schemas::OfTags).then_some(RULES_OF_TAGS)
    }

    fn regions(&self, text: &[u8]) -> Vec<TextRegion> {
        if self.kind == Schemas::Whole {
            return Vec::new();
        }
        let mut regions = Vec::new();
        let found = self.found(text);
        for Found { part, start, value, end } in found.into_iter().filter(|found| !found.part.is_mute) {
            let after = |end: usize| {
                let mark = part.ends.iter().filter(|mark| text[end..].starts_with(mark.as_bytes()));
                end + mark.map(String::len).max().unwrap_or(0)
            };
            let kind = if part.is_tool { "tool" } else { "tag" };
            let json = value.filter(|_| part.words.is_some());
            regions.push(TextRegion { kind, name: part.name.clone(), start, end: end.map(after), json });
            if let Some(value) = json {
                let members = SchemaWords::members(&text[value..end.unwrap_or(text.len())]);
                regions.extend(members.into_iter().map(|(name, start, end)| TextRegion {
                    kind: "argument",
                    name,
                    start: value + start,
                    end: end.map(|end| value + end),
                    json,
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
            // An older form has a schema, or the text of one.
            let old = members.get("schema").map(|schema| match schema {
                Value::String(text) => json!({"json_schema": serde_json::from_str::<Value>(text).ok()}),
                schema => json!({"json_schema": schema}),
            });
            if let (Some(Value::String(begin)), Some(content)) =
                (members.get("begin"), members.get("content").or(old.as_ref()))
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
    let is_sequence = content.get("type").is_some_and(|kind| kind == "sequence");
    let elements = content.get("elements").and_then(Value::as_array).filter(|_| is_sequence);
    let elements = elements.map_or(std::slice::from_ref(content), Vec::as_slice);
    let schemas: Vec<(usize, &Value)> =
        elements.iter().enumerate().filter(|(_, element)| element.get("json_schema").is_some()).collect();
    let schema = if let [only] = schemas[..] { Some(only) } else { None };
    let tool = schema.and_then(|(_, schema)| schema.get("tool")?.as_str());
    let style = schema.and_then(|(_, schema)| schema.get("style")?.as_str()).unwrap_or("json");
    if style.starts_with("python") {
        // No mark says where such a call ends.
        return None;
    }
    // Texts before the schema are a part of the mark. Other things must not look like the beginning of the
    // value.
    let before = &elements[..schema.map_or(0, |(at, _)| at)];
    let is_constant = |part: &&Value| part.get("type").is_some_and(|kind| kind == "const_string");
    let n_constant = before.iter().take_while(|part| is_constant(part)).count();
    let constants: String =
        before[..n_constant].iter().filter_map(|part| part.get("value")?.as_str()).collect();
    let is_next = n_constant == before.len();
    let document = schema.and_then(|(_, schema)| schema.get("json_schema")).filter(|_| style == "json");
    let is_object = document.is_some_and(|schema| schema.get("type").is_some_and(|kind| kind == "object"));
    let is_found = is_next || is_object && !before[n_constant..].iter().any(has_brace);
    // A number, which nothing but a mark ends, may go on as text.
    let has_end = !ends.is_empty() || is_object;
    let words =
        document.filter(|_| is_found && has_end).map(|schema| SchemaWords::new(schema.clone(), order));
    let is_known = words.is_some() || !ends.is_empty();
    is_known.then(|| Part {
        begin: format!("{begin}{constants}"),
        name: tool.map_or_else(|| name_in(begin), str::to_owned),
        is_tool: tool.is_some(),
        ends,
        is_next: is_next || words.is_none(),
        is_mute: false,
        words,
    })
}

/// Whether a part of a tag has a text or pattern with a brace.
fn has_brace(part: &Value) -> bool {
    match part {
        Value::String(text) => text.contains('{'),
        Value::Array(items) => items.iter().any(has_brace),
        Value::Object(members) => members.iter().any(|(name, member)| match (&**name, member.as_str()) {
            // Those of a repetition are none.
            ("pattern", Some(pattern)) => pattern.contains("\\{") || pattern.contains("[{"),
            _ => has_brace(member),
        }),
        _ => false,
    }
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
