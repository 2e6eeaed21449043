//! Where a text is, in the words of the JSON Schema, structural tag or list of tools that its grammar was compiled from.

use std::sync::OnceLock;

use maskwright_engine::{Keyword, Words};
use maskwright_json_schema::{KeywordLimit, SchemaWords};
use serde_json::Value;

/// See the module. The source is read when words are first needed; they are only about what is read of it then.
#[derive(Debug)]
pub(crate) struct SourceWords {
    kind: Kind,
    text: Box<str>,
    parts: OnceLock<Vec<Part>>,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Schema,
    Tag,
    Tools,
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
    fn new(kind: Kind, text: &str) -> SourceWords {
        SourceWords { kind, text: text.into(), parts: OnceLock::new() }
    }

    /// The words of a JSON Schema.
    pub(crate) fn of_schema(text: &str) -> SourceWords {
        SourceWords::new(Kind::Schema, text)
    }

    /// The words of a structural tag: those of its JSON Schemas.
    pub(crate) fn of_tag(text: &str) -> SourceWords {
        SourceWords::new(Kind::Tag, text)
    }

    /// The words of a list of tools: those of their parameters.
    pub(crate) fn of_tools(text: &str) -> SourceWords {
        SourceWords::new(Kind::Tools, text)
    }

    fn parts(&self) -> &[Part] {
        self.parts.get_or_init(|| {
            let Ok(source) = serde_json::from_str::<Value>(&self.text) else { return Vec::new() };
            let mut parts = Vec::new();
            match self.kind {
                Kind::Schema => {
                    let words = SchemaWords::new(source);
                    parts.push(Part { begin: String::new(), name: String::new(), words });
                }
                Kind::Tag => add_tags(&source, &mut parts),
                Kind::Tools => add_tools(&source, &mut parts),
            }
            parts
        })
    }

    /// The schema whose value is being written at the end of a text, and that value so far. Of several that may have begun, the one that
    /// did so last.
    fn at<'t>(&self, text: &'t [u8]) -> Option<(&Part, &'t [u8])> {
        let begun = self.parts().iter().filter_map(|part| {
            let begin = part.begin.as_bytes();
            let at = match begin {
                [] => 0,
                _ => text.windows(begin.len()).rposition(|window| window == begin)? + begin.len(),
            };
            let at = match self.kind {
                // The parameters are the first object after the tool's name.
                Kind::Tools => at + text[at..].iter().position(|&byte| byte == b'{')?,
                Kind::Schema | Kind::Tag => at,
            };
            Some((part, &text[at..]))
        });
        begun.min_by_key(|(_, value)| value.len()).filter(|(part, value)| {
            // What comes after the value is not the schema's.
            part.begin.is_empty() || !is_closed(value)
        })
    }
}

impl Words for SourceWords {
    fn path(&self, text: &[u8]) -> Option<String> {
        let (part, value) = self.at(text)?;
        let path = part.words.path(value);
        Some(if part.name.is_empty() { path } else { format!("{}{path}", part.name) })
    }

    fn keywords(&self, text: &[u8]) -> Vec<Keyword> {
        let Some((part, value)) = self.at(text) else { return Vec::new() };
        let keyword = |KeywordLimit { keyword: name, value, pointer }| Keyword { name, value, pointer };
        part.words.limits(value).into_iter().map(keyword).collect()
    }

    fn hint(&self, text: &[u8]) -> Option<String> {
        let (part, value) = self.at(text)?;
        part.words.hint(value)
    }

    fn refusal(&self, text: &[u8], next: &[u8]) -> Option<String> {
        let (part, value) = self.at(text)?;
        let why = part.words.refusal(value, next)?;
        Some(if part.name.is_empty() { why } else { format!("in {}, {why}", part.name) })
    }
}

/// Whether a JSON object or array is whole.
fn is_closed(value: &[u8]) -> bool {
    let mut values = serde_json::Deserializer::from_slice(value).into_iter::<Value>();
    matches!(values.next(), Some(Ok(Value::Object(_) | Value::Array(_))))
}

/// Adds the tags of a structural tag whose content is a JSON Schema, wherever they stand in it.
fn add_tags(tag: &Value, parts: &mut Vec<Part>) {
    match tag {
        Value::Object(members) => {
            if let (Some(Value::String(begin)), Some(content)) =
                (members.get("begin"), members.get("content"))
                && content.get("type").is_some_and(|kind| kind == "json_schema")
                && content.get("style").is_none_or(|style| style == "json")
                && let Some(schema) = content.get("json_schema")
            {
                let words = SchemaWords::new(schema.clone());
                parts.push(Part { begin: begin.clone(), name: name_in(begin), words });
                return;
            }
            members.values().for_each(|member| add_tags(member, parts));
        }
        Value::Array(items) => items.iter().for_each(|item| add_tags(item, parts)),
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
fn add_tools(tools: &Value, parts: &mut Vec<Part>) {
    for tool in tools.as_array().into_iter().flatten() {
        let tool = tool.get("function").unwrap_or(tool);
        let keywords = ["parameters", "input_schema", "inputSchema"];
        let schema = keywords.iter().find_map(|keyword| tool.get(*keyword));
        if let (Some(name), Some(schema)) = (tool.get("name").and_then(Value::as_str), schema) {
            let words = SchemaWords::new(schema.clone());
            parts.push(Part { begin: name.to_owned(), name: name.to_owned(), words });
        }
    }
}
