//! Tools and the choice among them, as requests write them.
//!
//! The tools of OpenAI's two interfaces, of Anthropic's, and of MCP's `tools/list` differ in the names of a few fields.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::OnError;
use crate::TagError;
use crate::fields::{listed, shown};

/// A function that a model may call.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    /// Where the request has it.
    pub(crate) at: String,
    /// A JSON Schema of its arguments, which are an object.
    parameters: Value,
    /// Where the request has the schema.
    pub(crate) schema_at: String,
    /// Whether the arguments keep to the schema; else they are any object.
    pub(crate) is_strict: bool,
}

/// The place of what is no tool in a list, and why.
pub(crate) type LeftOut = (String, TagError);

impl Tool {
    /// What its arguments keep to.
    pub(crate) fn schema(&self) -> Value {
        if self.is_strict { self.parameters.clone() } else { any_object() }
    }

    /// Whether a place of the request is in it.
    pub(crate) fn has(&self, pointer: &str) -> bool {
        pointer.strip_prefix(&self.at).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// Which tools a model may call, and whether it has to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Choice {
    /// The tools that may be called; `None`: all.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) how: HowOften,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HowOften {
    Never,
    Maybe,
    /// At least once.
    Required,
}

/// The fields that hold a schema of the arguments, by the interface.
const SCHEMAS: [&str; 3] = ["parameters", "input_schema", "inputSchema"];

/// Reads a list of tools, or an object that has one under `tools`. What is no tool is an error, unless `on_error`
/// says otherwise: then it is returned with its place.
pub(crate) fn read_tools(document: &Value, on_error: OnError) -> Result<(Vec<Tool>, Vec<LeftOut>), TagError> {
    let (tools, at) = match document {
        Value::Object(fields) if fields.contains_key("tools") => (&fields["tools"], "/tools"),
        _ => (document, ""),
    };
    let Value::Array(tools) = tools else {
        return Err(TagError::malformed(at, format!("{}, expected a list of tools", shown(tools))));
    };
    let mut read: Vec<Tool> = Vec::with_capacity(tools.len());
    let mut left_out = Vec::new();
    let mut names = HashMap::new();
    for (index, tool) in tools.iter().enumerate() {
        let at = format!("{at}/{index}");
        let tool = read_tool(tool, &at, on_error).and_then(|(tool, fault)| {
            if let Some(first) = names.insert(tool.name.clone(), index) {
                let message = format!("the tools {first} and {index} have the same name; names must differ");
                return Err(TagError::malformed(&at, message).in_tool(&tool.name, &tool.schema_at));
            }
            Ok((tool, fault))
        });
        match tool {
            Ok((tool, fault)) => {
                left_out.extend(fault.map(|fault| (at, fault)));
                read.push(tool);
            }
            Err(error) if on_error != OnError::Raise => left_out.push((at, error.in_tools())),
            Err(error) => return Err(error),
        }
    }
    Ok((read, left_out))
}

/// A tool; with what is wrong with its schema, if it takes any object instead.
fn read_tool(tool: &Value, tool_at: &str, on_error: OnError) -> Result<(Tool, Option<TagError>), TagError> {
    let at = tool_at;
    let fields = tool
        .as_object()
        .ok_or_else(|| TagError::malformed(at, format!("{}, expected a tool as an object", shown(tool))))?;
    let type_name = fields.get("type").and_then(Value::as_str);
    let (fields, at) = match (fields.get("function"), type_name) {
        (Some(Value::Object(function)), None | Some("function")) => (function, format!("{at}/function")),
        (None, None | Some("function" | "custom")) => (fields, at.to_owned()),
        _ => {
            let given =
                type_name.map_or_else(|| "without a type".to_owned(), |name| format!("of the type {name:?}"));
            let message = format!(
                "a tool {given} is not a function that the model calls by its arguments; leave it out"
            );
            return Err(TagError::malformed(at, message));
        }
    };
    let name = match fields.get("name") {
        Some(Value::String(name)) if !name.is_empty() => name.clone(),
        Some(Value::String(_)) | None => {
            return Err(TagError::malformed(at, "the tool has no name".to_owned()));
        }
        Some(other) => {
            let message = format!("{}, expected a name as a string", shown(other));
            return Err(TagError::malformed(format!("{at}/name"), message));
        }
    };
    let is_strict = match fields.get("strict") {
        None | Some(Value::Null | Value::Bool(true)) => true,
        Some(Value::Bool(false)) => false,
        Some(other) => {
            let message = format!("{}, expected true or false", shown(other));
            return Err(TagError::malformed(format!("{at}/strict"), message).in_tool(&name, &at));
        }
    };
    let field = SCHEMAS.into_iter().find(|field| fields.get(*field).is_some_and(|schema| !schema.is_null()));
    let Some(field) = field else {
        let tool = Tool { name, at: tool_at.to_owned(), parameters: any_object(), schema_at: at, is_strict };
        return Ok((tool, None));
    };
    let schema_at = format!("{at}/{field}");
    let tool = |parameters, is_strict| Tool {
        name: name.clone(),
        at: tool_at.to_owned(),
        parameters,
        schema_at: schema_at.clone(),
        is_strict,
    };
    match of_objects(&fields[field], &schema_at) {
        Ok(parameters) => Ok((tool(parameters, is_strict), None)),
        Err(error) => {
            let error = error.in_tool(&name, &schema_at);
            if on_error == OnError::AnyJson {
                Ok((tool(any_object(), false), Some(error)))
            } else {
                Err(error)
            }
        }
    }
}

/// The schema of any arguments.
pub(crate) fn any_object() -> Value {
    json!({"type": "object"})
}

/// `schema` without the values that are not objects: arguments always are.
fn of_objects(schema: &Value, at: &str) -> Result<Value, TagError> {
    let fields: &Map<String, Value> = match schema {
        Value::Bool(true) => return Ok(any_object()),
        Value::Object(fields) => fields,
        other => {
            let message = format!("{}, expected a JSON Schema of the arguments", shown(other));
            let error = TagError::malformed(at, message);
            return Err(match other {
                Value::String(_) => error.with_hint("parse it first: with json.loads in Python"),
                _ => error,
            });
        }
    };
    let has_object = match fields.get("type") {
        None => {
            let mut fields = fields.clone();
            fields.insert("type".to_owned(), json!("object"));
            return Ok(Value::Object(fields));
        }
        Some(Value::Array(types)) => types.contains(&json!("object")),
        Some(only) => only == "object",
    };
    if !has_object {
        let message = format!("arguments are an object, but the schema has the type {}", fields["type"]);
        return Err(TagError::malformed(format!("{at}/type"), message));
    }
    let mut fields = fields.clone();
    fields.insert("type".to_owned(), json!("object"));
    Ok(Value::Object(fields))
}

/// Reads a choice: `auto`, `none`, `required` or `any`, the name of a tool, or an object of one of the interfaces.
pub(crate) fn read_choice(choice: &Value, tools: &[Tool]) -> Result<Choice, TagError> {
    let malformed = |message: String| TagError::malformed("/tool_choice", message);
    let all = |how| Choice { names: None, how };
    let choice = match choice {
        Value::Null => all(HowOften::Maybe),
        Value::String(word) => match (word.as_str(), tools.iter().any(|tool| tool.name == *word)) {
            ("auto", _) => all(HowOften::Maybe),
            ("none", _) => all(HowOften::Never),
            ("required" | "any", _) => all(HowOften::Required),
            (_, true) => one(word),
            _ => return Err(unknown_tool(word, tools)),
        },
        Value::Object(fields) => match fields.get("type").and_then(Value::as_str) {
            Some("auto") => all(HowOften::Maybe),
            Some("none") => all(HowOften::Never),
            Some("any" | "required") => all(HowOften::Required),
            Some("function" | "tool" | "custom") => match name_in(fields) {
                Some(name) => one(name),
                None => return Err(malformed("the choice of one tool has no name".to_owned())),
            },
            Some("allowed_tools") => {
                let inner = fields.get("allowed_tools").and_then(Value::as_object).unwrap_or(fields);
                let how = match inner.get("mode").and_then(Value::as_str) {
                    None | Some("auto") => HowOften::Maybe,
                    Some("required") => HowOften::Required,
                    Some(other) => {
                        return Err(malformed(format!(
                            "the mode is \"auto\" or \"required\", not {other:?}"
                        )));
                    }
                };
                let names = inner.get("tools").and_then(Value::as_array).and_then(|tools| {
                    tools
                        .iter()
                        .map(|tool| tool.as_str().or_else(|| name_in(tool.as_object()?)).map(str::to_owned))
                        .collect()
                });
                let Some(names) = names else {
                    return Err(malformed("allowed_tools has no list of tools with names".to_owned()));
                };
                Choice { names: Some(names), how }
            }
            other => {
                let given = other.map_or_else(|| "no type".to_owned(), |name| format!("the type {name:?}"));
                return Err(malformed(format!(
                    "the choice has {given}; expected \"auto\", \"none\", \"required\", \"function\" or \"allowed_tools\""
                )));
            }
        },
        other => return Err(malformed(format!("{}, expected a string or an object", shown(other)))),
    };
    for name in choice.names.iter().flatten() {
        if !tools.iter().any(|tool| tool.name == *name) {
            return Err(unknown_tool(name, tools));
        }
    }
    if choice.how == HowOften::Required && tools.is_empty() {
        return Err(malformed("a call is required, but there are no tools".to_owned()));
    }
    Ok(choice)
}

fn one(name: &str) -> Choice {
    Choice { names: Some(vec![name.to_owned()]), how: HowOften::Required }
}

/// The name in an object, or in its `function`.
fn name_in(fields: &Map<String, Value>) -> Option<&str> {
    let function = fields.get("function").and_then(Value::as_object).unwrap_or(fields);
    function.get("name").and_then(Value::as_str)
}

fn unknown_tool(name: &str, tools: &[Tool]) -> TagError {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    unknown("/tool_choice", format!("no tool has the name {name:?}"), name, &names)
}

/// The error of a name that is none of `known`. Its hint is the one that is near, or else the first of them.
pub(crate) fn unknown(at: &str, message: String, name: &str, known: &[&str]) -> TagError {
    const MAX_LISTED: usize = 50;
    let error = TagError::malformed(at, message);
    let error = match known {
        [] => error,
        _ => error.with_hint(format!("known are {}", listed(&known[..known.len().min(MAX_LISTED)]))),
    };
    error.suggesting(name, known.iter().copied())
}
