//! A plain writer and a plain reader of arguments in each style, which share no code with the compiler.

pub(crate) mod changes;
pub(crate) mod listed;
mod literals;
mod minimax_m3;

use maskwright_json_schema::Style;
use serde_json::{Map, Value};

use crate::instances::written;

/// All styles but the first, JSON.
pub(crate) const STYLES: &[Style] = Style::ALL.split_at(1).1;

/// What a text may stand for.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Reading {
    /// The objects that it could be of.
    pub(crate) objects: Vec<Value>,
    /// Whether all strings have the one spelling that strings with constraints have.
    pub(crate) is_canonical: bool,
}

/// Why a text is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Unread {
    /// It is not in the style.
    Broken,
    /// A name is there twice or is not one of a variable, which the reader leaves to cases written by hand.
    Names,
}

/// The members of an object in a style.
pub(crate) fn text(style: Style, members: &Map<String, Value>) -> String {
    match style {
        Style::MinimaxM3Xml => minimax_m3::text(members),
        Style::Python | Style::PythonJson | Style::Gemma => literals::text(style, members),
        _ => elements(style, members),
    }
}

/// The objects that a text with any white space could be of.
pub(crate) fn read(style: Style, text: &str) -> Result<Reading, Unread> {
    let objects = match style {
        Style::MinimaxM3Xml => minimax_m3::read(text)?,
        Style::Python | Style::PythonJson | Style::Gemma => return literals::read(style, text),
        _ => match read_some(style, text)? {
            (members, "") => objects(&members),
            _ => return Err(Unread::Broken),
        },
    };
    Ok(Reading { objects, is_canonical: true })
}

/// A name, and the values that the text of an element could be of.
type Read = (String, Vec<Value>);

/// All objects with one of the values under each name.
fn objects(members: &[Read]) -> Vec<Value> {
    let mut all = vec![Map::new()];
    for (name, values) in members {
        let with = |object: &Map<String, Value>, value: &Value| {
            let mut object = object.clone();
            object.insert(name.clone(), value.clone());
            object
        };
        all = all.iter().flat_map(|object| values.iter().map(|value| with(object, value))).collect();
    }
    all.into_iter().map(Value::Object).collect()
}

/// All arrays with one of the values at each place.
fn arrays<'v>(items: impl Iterator<Item = &'v Vec<Value>>) -> Vec<Value> {
    let mut all = vec![Vec::new()];
    for values in items {
        let with = |array: &[Value], value: &Value| [array, std::slice::from_ref(value)].concat();
        all = all.iter().flat_map(|array| values.iter().map(|value| with(array, value))).collect();
    }
    all.into_iter().map(Value::Array).collect()
}

/// What closes an element.
fn mark(style: Style) -> &'static str {
    match style {
        Style::QwenXml | Style::MinimaxXml => "</parameter>",
        Style::DeepseekXml => "</｜DSML｜parameter>",
        Style::DeepseekV41Xml => "</｜DSML｜ parameter>",
        Style::GlmXml => "</arg_value>",
        Style::CohereXml => "</cofl:value>",
        Style::KimiK3Xml => "<|close|>argument<|sep|>",
        _ => panic!("no style of elements"),
    }
}

/// The members of an object as elements.
fn elements(style: Style, members: &Map<String, Value>) -> String {
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
        Style::DeepseekV41Xml => {
            format!("<｜DSML｜ parameter{attribute} string=\"{}\">", value.is_string())
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

const SPACE: [char; 4] = [' ', '\t', '\n', '\r'];

fn is_plain(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.chars().all(|c| c.is_ascii_alphanumeric())
}

/// Elements, and what follows them.
fn read_some(style: Style, text: &str) -> Result<(Vec<Read>, &str), Unread> {
    let mut rest = text.trim_start_matches(SPACE);
    let mut all: Vec<Read> = Vec::new();
    let begin = match style {
        Style::QwenXml => "<parameter=",
        Style::MinimaxXml => "<parameter name=\"",
        Style::DeepseekXml => "<｜DSML｜parameter name=\"",
        Style::DeepseekV41Xml => "<｜DSML｜ parameter name=\"",
        Style::GlmXml => "<arg_key>",
        Style::CohereXml => "<cofl:value name=\"",
        _ => "<|open|>argument key=\"",
    };
    while let Some(after) = rest.strip_prefix(begin) {
        let (name, after) = match style {
            Style::QwenXml => after.split_once('>').ok_or(Unread::Broken)?,
            Style::MinimaxXml => after.split_once("\">").ok_or(Unread::Broken)?,
            Style::GlmXml => {
                let (name, after) = after.split_once("</arg_key>").ok_or(Unread::Broken)?;
                (name, after.trim_start_matches(SPACE).strip_prefix("<arg_value>").ok_or(Unread::Broken)?)
            }
            _ => after.split_once('"').ok_or(Unread::Broken)?,
        };
        let (values, after) = read_value(style, after)?;
        if !is_plain(name) || all.iter().any(|(other, _)| other == name) {
            return Err(Unread::Names);
        }
        all.push((name.to_owned(), values));
        rest = after.trim_start_matches(SPACE);
    }
    Ok((all, rest))
}

/// The values that an element could have, and what follows it. `text` begins after the name.
fn read_value(style: Style, text: &str) -> Result<(Vec<Value>, &str), Unread> {
    let (kind, text) = match style {
        Style::DeepseekXml | Style::DeepseekV41Xml => {
            text.strip_prefix(" string=\"").ok_or(Unread::Broken)?.split_once("\">").ok_or(Unread::Broken)?
        }
        Style::CohereXml => {
            text.strip_prefix(" type=\"").ok_or(Unread::Broken)?.split_once("\">").ok_or(Unread::Broken)?
        }
        Style::KimiK3Xml => text
            .strip_prefix(" type=\"")
            .ok_or(Unread::Broken)?
            .split_once("\"<|sep|>")
            .ok_or(Unread::Broken)?,
        _ => ("", text),
    };
    let mark = mark(style);
    if kind == "dict" {
        let (members, rest) = read_some(style, text)?;
        return Ok((objects(&members), rest.strip_prefix(mark).ok_or(Unread::Broken)?));
    }
    if kind == "list" {
        let mut rest = text.trim_start_matches(SPACE);
        let mut items = Vec::new();
        while let Some(after) = rest.strip_prefix("<cofl:value") {
            let (values, after) = read_value(style, after)?;
            items.push(values);
            rest = after;
        }
        let rest = rest.trim_start_matches(SPACE).strip_prefix(mark).ok_or(Unread::Broken)?;
        return Ok((arrays(items.iter()), rest));
    }
    let (body, rest) = text.split_once(mark).ok_or(Unread::Broken)?;
    let mut values = Vec::new();
    if ["", "true", "raw", "string"].contains(&kind) {
        values.extend(strings(style, body).into_iter().map(Value::String));
    }
    let other: Option<Value> = serde_json::from_str(body.trim_matches(SPACE)).ok();
    // The reader of JSON keeps only the last member of a name.
    let n_quotes = |text: &str| text.matches('"').count();
    if other.as_ref().is_some_and(|value| n_quotes(&value.to_string()) != n_quotes(body)) {
        return Err(Unread::Names);
    }
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
    Ok((values, rest))
}

/// The strings that `body` could be of, white space around them or not.
fn strings(style: Style, body: &str) -> Vec<String> {
    let mut all = vec![body.to_owned()];
    if matches!(style, Style::DeepseekXml | Style::DeepseekV41Xml) {
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
