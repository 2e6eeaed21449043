//! A plain writer and a plain reader of arguments in each style, which share no code with the compiler.

use maskwright_json_schema::Style;
use serde_json::{Map, Value};

use crate::instances::written;

pub(crate) const STYLES: [Style; 6] = [
    Style::QwenXml,
    Style::MinimaxXml,
    Style::DeepseekXml,
    Style::GlmXml,
    Style::CohereXml,
    Style::KimiK3Xml,
];

/// What closes an element.
pub(crate) fn mark(style: Style) -> &'static str {
    match style {
        Style::QwenXml | Style::MinimaxXml => "</parameter>",
        Style::DeepseekXml => "</｜DSML｜parameter>",
        Style::GlmXml => "</arg_value>",
        Style::CohereXml => "</cofl:value>",
        Style::KimiK3Xml => "<|close|>argument<|sep|>",
        _ => panic!("no style of elements"),
    }
}

/// The members of an object as elements.
pub(crate) fn elements(style: Style, members: &Map<String, Value>) -> String {
    members.iter().map(|(name, value)| element(style, Some(name), value)).collect()
}

fn element(style: Style, name: Option<&str>, value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let body = match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if style == Style::CohereXml => {
            items.iter().map(|item| element(style, None, item)).collect()
        }
        Value::Object(members) if style == Style::CohereXml => elements(style, members),
        other => written(other),
    };
    let attribute = name.map(|name| format!(" name=\"{name}\"")).unwrap_or_default();
    let name = name.unwrap_or_default();
    let open = match style {
        Style::QwenXml => format!("<parameter={name}>"),
        Style::MinimaxXml => format!("<parameter{attribute}>"),
        Style::DeepseekXml => {
            format!("<｜DSML｜parameter{attribute} string=\"{}\">", value.is_string())
        }
        Style::GlmXml => format!("<arg_key>{name}</arg_key>\n<arg_value>"),
        Style::CohereXml => {
            let kind = match kind {
                "string" => "raw",
                "array" => "list",
                "object" => "dict",
                _ => "json",
            };
            format!("<cofl:value{attribute} type=\"{kind}\">")
        }
        _ => format!("<|open|>argument key=\"{name}\" type=\"{kind}\"<|sep|>"),
    };
    format!("{open}{body}{}", mark(style))
}

/// A name, and the values that the text of an element could be of.
pub(crate) type Read = (String, Vec<Value>);

const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

/// The elements of a text with any white space; `None` if it is no list of elements.
pub(crate) fn read(style: Style, text: &str) -> Option<Vec<Read>> {
    let (all, rest) = read_some(style, text)?;
    rest.is_empty().then_some(all)
}

/// Elements, and what follows them.
fn read_some(style: Style, text: &str) -> Option<(Vec<Read>, &str)> {
    let mut rest = text.trim_start_matches(SPACE);
    let mut all = Vec::new();
    let begin = match style {
        Style::QwenXml => "<parameter=",
        Style::MinimaxXml => "<parameter name=\"",
        Style::DeepseekXml => "<｜DSML｜parameter name=\"",
        Style::GlmXml => "<arg_key>",
        Style::CohereXml => "<cofl:value name=\"",
        _ => "<|open|>argument key=\"",
    };
    while let Some(after) = rest.strip_prefix(begin) {
        let (name, after) = match style {
            Style::QwenXml => after.split_once('>')?,
            Style::MinimaxXml => after.split_once("\">")?,
            Style::GlmXml => {
                let (name, after) = after.split_once("</arg_key>")?;
                (name, after.trim_start_matches(SPACE).strip_prefix("<arg_value>")?)
            }
            _ => after.split_once('"')?,
        };
        let (values, after) = read_value(style, after)?;
        all.push((name.to_owned(), values));
        rest = after.trim_start_matches(SPACE);
    }
    Some((all, rest))
}

/// The values that an element could have, and what follows it. `text` begins after the name.
fn read_value(style: Style, text: &str) -> Option<(Vec<Value>, &str)> {
    let (kind, text) = match style {
        Style::DeepseekXml => text.strip_prefix(" string=\"")?.split_once("\">")?,
        Style::CohereXml => text.strip_prefix(" type=\"")?.split_once("\">")?,
        Style::KimiK3Xml => text.strip_prefix(" type=\"")?.split_once("\"<|sep|>")?,
        _ => ("", text),
    };
    let mark = mark(style);
    if kind == "dict" {
        let (members, rest) = read_some(style, text)?;
        let mut objects = vec![Map::new()];
        for (name, values) in members {
            objects = objects
                .iter()
                .flat_map(|object| {
                    values.iter().map(|value| {
                        let mut object = object.clone();
                        object.insert(name.clone(), value.clone());
                        object
                    })
                })
                .collect();
        }
        return Some((objects.into_iter().map(Value::Object).collect(), rest.strip_prefix(mark)?));
    }
    if kind == "list" {
        let mut rest = text.trim_start_matches(SPACE);
        let mut lists = vec![Vec::new()];
        while let Some(after) = rest.strip_prefix("<cofl:value") {
            let (values, after) = read_value(style, after)?;
            lists = lists
                .iter()
                .flat_map(|list| {
                    values.iter().map(|value| {
                        let mut list = list.clone();
                        list.push(value.clone());
                        list
                    })
                })
                .collect();
            rest = after;
        }
        let rest = rest.trim_start_matches(SPACE).strip_prefix(mark)?;
        return Some((lists.into_iter().map(Value::Array).collect(), rest));
    }
    let (body, rest) = text.split_once(mark)?;
    let mut values = Vec::new();
    if ["", "true", "raw", "string"].contains(&kind) {
        values.extend(strings(style, body).into_iter().map(Value::String));
    }
    let other: Option<Value> = serde_json::from_str(body.trim_matches(SPACE)).ok();
    values.extend(other.filter(|value| match kind {
        "" | "false" => !value.is_string(),
        "json" => !value.is_string() && !value.is_array() && !value.is_object(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        _ => false,
    }));
    Some((values, rest))
}

/// The strings that `body` could be of, white space around them or not.
fn strings(style: Style, body: &str) -> Vec<String> {
    let mut all = vec![body.to_owned()];
    if style == Style::DeepseekXml {
        return all;
    }
    let mut front = body;
    loop {
        let mut both = front;
        while let Some(shorter) = both.strip_suffix(SPACE) {
            all.push(shorter.to_owned());
            both = shorter;
        }
        let Some(shorter) = front.strip_prefix(SPACE) else { break };
        all.push(shorter.to_owned());
        front = shorter;
    }
    all
}
