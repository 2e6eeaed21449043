//! Tools and the choice among them, as requests write them.
//!
//! The tools of OpenAI's two interfaces, of Anthropic's, and of MCP's `tools/list` differ in the names of a
//! few fields.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use maskwright_json_schema::is_keyword;
use maskwright_syntax::nearest_name;

use super::OnError;
use super::custom::{TextGrammar, custom_fields, read_format};
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
    /// Whether the arguments keep to the schema, or the text of a custom tool to its grammar; else they are
    /// any object, or any text.
    pub(crate) is_strict: bool,
    /// What a custom tool takes instead of arguments.
    pub(crate) custom: Option<Custom>,
}

/// The text that a custom tool takes.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Custom {
    /// `None`: it is any text.
    grammar: Option<TextGrammar>,
}

/// The place of what is no tool in a list, and why.
pub(crate) type LeftOut = (String, TagError);

impl Tool {
    /// What its arguments keep to.
    pub(crate) fn schema(&self) -> Value {
        if self.is_strict || self.custom.is_some() { self.parameters.clone() } else { any_object() }
    }

    /// The grammar that the text of a custom tool keeps to.
    pub(crate) fn grammar(&self) -> Option<&TextGrammar> {
        self.custom.as_ref()?.grammar.as_ref().filter(|_| self.is_strict)
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
    /// Whether only one call may be made.
    pub(crate) is_one: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum HowOften {
    Never,
    Maybe,
    /// At least once.
    Required,
}

/// The fields that hold a schema of the arguments, by the interface.
const SCHEMAS: [&str; 5] =
    ["parameters", "input_schema", "inputSchema", "parametersJsonSchema", "parameters_json_schema"];

/// Names that people give to such a field, in small letters and without `_` and `-`.
const OTHER_NAMES: [&str; 14] = [
    "args",
    "argsschema",
    "arguments",
    "argumentsschema",
    "inputs",
    "inputschema",
    "jsonschema",
    "parameter",
    "parameterdefinitions",
    "parameters",
    "parametersschema",
    "params",
    "paramsschema",
    "schema",
];

/// Reads a list of tools, or an object that has one under `tools`. What is no tool is an error, unless
/// `on_error` says otherwise: then it is returned with its place.
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
    if let Some((custom, custom_at)) = custom_fields(fields, at) {
        if custom_at != at && fields.contains_key("format") {
            let message = "`format` stands beside `custom`, and must stand in it".to_owned();
            return Err(TagError::malformed(format!("{at}/format"), message));
        }
        return read_custom(custom, &custom_at, tool_at, on_error);
    }
    let type_name = fields.get("type").and_then(Value::as_str);
    let around = fields;
    let (fields, at) = match (fields.get("function"), type_name) {
        (Some(Value::Object(function)), None | Some("function")) => (function, format!("{at}/function")),
        (None, None | Some("function")) => (fields, at.to_owned()),
        _ => {
            let given =
                type_name.map_or_else(|| "without a type".to_owned(), |name| format!("of the type {name:?}"));
            let message = format!(
                "a tool {given} is not a function that the model calls by its arguments; leave it out"
            );
            return Err(
                TagError::malformed(at, message).suggesting(type_name.unwrap_or_default(), ["function"])
            );
        }
    };
    let name = name_of(fields, &at)?;
    let is_strict = strict([(fields, &at), (around, tool_at)], &name)?;
    let field =
        schema_field([(fields, &at), (around, tool_at)]).map_err(|error| error.in_tool(&name, &at))?;
    let Some(field) = field else {
        let (parameters, custom) = (any_object(), None);
        let tool = Tool { name, at: tool_at.to_owned(), parameters, schema_at: at, is_strict, custom };
        return Ok((tool, None));
    };
    let schema_at = format!("{at}/{field}");
    let (schema, schema_at) = match &fields[field] {
        // Bedrock has it one step further down.
        Value::Object(schema) if schema.len() == 1 && schema.get("json").is_some_and(Value::is_object) => {
            (&schema["json"], format!("{schema_at}/json"))
        }
        schema => (schema, schema_at),
    };
    let tool = |parameters, is_strict| Tool {
        name: name.clone(),
        at: tool_at.to_owned(),
        parameters,
        schema_at: schema_at.clone(),
        is_strict,
        custom: None,
    };
    match of_objects(schema, &schema_at) {
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

/// A custom tool whose fields are at `at`; with what is wrong with its format, if it takes any text instead.
fn read_custom(
    fields: &Map<String, Value>,
    at: &str,
    tool_at: &str,
    on_error: OnError,
) -> Result<(Tool, Option<TagError>), TagError> {
    let name = name_of(fields, at)?;
    let (grammar, fault) = match read_format(fields, at, &SCHEMAS).map_err(|error| error.in_tool(&name, at)) {
        Ok(grammar) => (grammar, None),
        Err(error) if on_error == OnError::AnyJson => (None, Some(error)),
        Err(error) => return Err(error),
    };
    let schema_at = grammar.as_ref().map_or_else(|| at.to_owned(), |grammar| grammar.at.clone());
    let (parameters, custom) = (json!({"type": "string"}), Some(Custom { grammar }));
    let at = tool_at.to_owned();
    Ok((Tool { name, at, parameters, schema_at, is_strict: true, custom }, fault))
}

/// The name of a tool whose fields are at `at`.
fn name_of(fields: &Map<String, Value>, at: &str) -> Result<String, TagError> {
    match fields.get("name") {
        Some(Value::String(name)) if !name.is_empty() => Ok(name.clone()),
        Some(Value::String(_)) | None => Err(TagError::malformed(at, "the tool has no name".to_owned())),
        Some(other) => {
            let message = format!("{}, expected a name as a string", shown(other));
            Err(TagError::malformed(format!("{at}/name"), message))
        }
    }
}

/// The fields of a tool that its interface has in an object of their own, and those around it, each with its
/// place.
type Places<'a> = [(&'a Map<String, Value>, &'a str); 2];

/// Whether the arguments keep to the schema.
fn strict(places: Places<'_>, name: &str) -> Result<bool, TagError> {
    let mut given = None;
    for (fields, at) in places {
        match (fields.get("strict"), given) {
            (None | Some(Value::Null), _) => {}
            (Some(Value::Bool(flag)), None) => given = Some(*flag),
            (Some(Value::Bool(flag)), Some(known)) if *flag == known => {}
            (Some(other), _) => {
                let message = match other {
                    Value::Bool(_) => "the tool is strict in one place and not in the other".to_owned(),
                    _ => format!("{}, expected true or false", shown(other)),
                };
                return Err(TagError::malformed(format!("{at}/strict"), message).in_tool(name, at));
            }
        }
    }
    Ok(given.unwrap_or(true))
}

/// The field with the schema of the arguments. That it stands elsewhere, or has another name, is an error:
/// else any arguments would be taken.
fn schema_field([inner, around]: Places<'_>) -> Result<Option<&'static str>, TagError> {
    let is_there =
        |fields: &Map<String, Value>, field: &str| fields.get(field).is_some_and(|schema| !schema.is_null());
    let (fields, at) = inner;
    let mut found = SCHEMAS.into_iter().filter(|field| is_there(fields, field));
    let field = found.next();
    if let (Some(first), Some(second)) = (field, found.next()) {
        let message = format!("the tool has two schemas of its arguments, `{first}` and `{second}`");
        return Err(TagError::malformed(format!("{at}/{second}"), message));
    }
    let is_within = !std::ptr::eq(fields, around.0);
    if is_within && let Some(beside) = SCHEMAS.into_iter().find(|field| is_there(around.0, field)) {
        let message = format!("`{beside}` stands beside `function`, and must stand in it");
        return Err(TagError::malformed(format!("{}/{beside}", around.1), message));
    }
    if field.is_some() {
        return Ok(field);
    }
    for (fields, at) in [inner, around] {
        for key in fields.keys().filter(|key| is_there(fields, key)) {
            let bare = key.to_lowercase().replace(['_', '-'], "");
            let is_about_answers = bare.starts_with("output") || bare.starts_with("response");
            let near = || nearest_name(key, SCHEMAS).filter(|_| !is_about_answers).map(|(_, meant)| meant);
            let meant = match &*bare {
                "properties" | "required" => {
                    let message =
                        format!("`{key}` stands in the tool, and must stand in the schema of its arguments");
                    let error = TagError::malformed(format!("{at}/{key}"), message);
                    return Err(
                        error.with_hint("write {\"parameters\": {\"type\": \"object\", \"properties\": …}}")
                    );
                }
                bare if OTHER_NAMES.contains(&bare) => "parameters",
                _ => match near() {
                    Some(meant) => meant,
                    None => continue,
                },
            };
            let message = format!("`{key}` is not where the schema of the arguments is looked for");
            let error = TagError::malformed(format!("{at}/{key}"), message);
            return Err(error.with_hint(format!("did you mean `{meant}`, with a JSON Schema?")));
        }
    }
    Ok(None)
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
    let is_name = |name: &String| !is_keyword(name) && !name.starts_with("x-") && !name.starts_with('$');
    if !fields.is_empty() && fields.iter().all(|(name, value)| is_name(name) && value.is_object()) {
        let names: Vec<&str> = fields.keys().map(String::as_str).take(5).collect();
        let message =
            format!("a schema has no keyword {}: these look like the properties themselves", listed(&names));
        let error = TagError::malformed(at, message);
        return Err(error.with_hint("write {\"type\": \"object\", \"properties\": …} around them"));
    }
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

/// Reads a choice: `auto`, `none`, `required` or `any`, the name of a tool, or an object of one of the
/// interfaces.
pub(crate) fn read_choice(choice: &Value, tools: &[Tool]) -> Result<Choice, TagError> {
    let malformed = |message: String| TagError::malformed("/tool_choice", message);
    let all = |how| Choice { names: None, how, is_one: false };
    let mut read = match choice {
        Value::Null => all(HowOften::Maybe),
        Value::String(word) => match (word.as_str(), tools.iter().any(|tool| tool.name == *word)) {
            // A request that says nothing has this too.
            ("auto", _) => all(HowOften::Maybe),
            ("none" | "required" | "any", true) => {
                let error = malformed(format!("{word:?} is the name of a tool as well as a choice"));
                let object = json!({"type": "function", "function": {"name": word}});
                return Err(error.with_hint(format!("for the tool, write {object}")));
            }
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
                Choice { names: Some(names), how, is_one: false }
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
    match choice.get("disable_parallel_tool_use") {
        None | Some(Value::Null) => {}
        Some(Value::Bool(is_one)) => read.is_one = *is_one,
        Some(other) => return Err(malformed(format!("{}, expected true or false", shown(other)))),
    }
    let choice = read;
    for name in choice.names.iter().flatten() {
        if !tools.iter().any(|tool| tool.name == *name) {
            return Err(unknown_tool(name, tools));
        }
    }
    let has_none = tools.is_empty() || choice.names.as_ref().is_some_and(Vec::is_empty);
    if choice.how == HowOften::Required && has_none {
        return Err(malformed("a call is required, but there are no tools".to_owned()));
    }
    Ok(choice)
}

fn one(name: &str) -> Choice {
    Choice { names: Some(vec![name.to_owned()]), how: HowOften::Required, is_one: false }
}

/// The name in an object, or in its `function` or `custom`.
fn name_in(fields: &Map<String, Value>) -> Option<&str> {
    let inner = ["function", "custom"].into_iter().find_map(|field| fields.get(field)?.as_object());
    inner.unwrap_or(fields).get("name").and_then(Value::as_str)
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
