//! What a user can do about an error: hints for usual mistakes, from the schema as it is written.
//!
//! Looked for once, when an error is about to be returned and has no hint yet.

use maskwright_syntax::nearest_name;
use serde_json::{Map, Value};

use crate::SchemaError;

/// What to do about a keyword that cannot be enforced.
const LEAVE_OUT: &str = "or leave it unenforced: strict=False in Python, --lenient on the command line";

/// The error with a hint, if there is one for it. `root`: the schema.
pub(crate) fn with_remedy(error: SchemaError, root: &Value) -> SchemaError {
    if error.hint().is_some() {
        return error;
    }
    match remedy(&error, root) {
        Some(hint) => error.hinted(hint),
        None => error,
    }
}

fn remedy(error: &SchemaError, root: &Value) -> Option<String> {
    // An error in another document has its address in front, and no such place here.
    let schema = root.pointer(error.pointer())?.as_object()?;
    let keyword = error.keyword();
    let value = keyword.and_then(|keyword| schema.get(keyword));
    if error.is_unsupported() {
        return Some(of_unsupported(keyword, schema));
    }
    if error.is_unsatisfiable() {
        return of_contradiction(error, schema);
    }
    match (keyword?, value?) {
        ("$ref", Value::String(_)) if error.is_loop() => None,
        ("$ref", Value::String(reference)) => of_reference(reference, root),
        (keyword, value) => of_malformed(keyword, value),
    }
}

fn of_unsupported(keyword: Option<&str>, schema: &Map<String, Value>) -> String {
    let say = match keyword {
        Some("pattern" | "patternProperties" | "propertyNames") => "write the pattern without it",
        Some("properties") => "rename it",
        Some("additionalProperties") => "set it to false",
        Some("uniqueItems") if schema.contains_key("minItems") => {
            "list the values in `enum`, or leave out `minItems`"
        }
        _ => "say it with other keywords",
    };
    format!("{say}, {LEAVE_OUT}")
}

/// A schema of that name that stands elsewhere, or where it should.
fn of_reference(reference: &str, root: &Value) -> Option<String> {
    let (_, name) = reference.strip_prefix('#')?.rsplit_once('/')?;
    let mut known: Vec<String> = Vec::new();
    for holder in ["$defs", "definitions"] {
        let names = root.get(holder).and_then(Value::as_object).into_iter().flat_map(Map::keys);
        known.extend(names.map(|name| format!("#/{holder}/{}", name.replace('~', "~0").replace('/', "~1"))));
    }
    let same = known.iter().find(|known| known.rsplit_once('/').is_some_and(|(_, known)| known == name));
    let near = || near(reference, known.iter().map(String::as_str));
    match same.map(String::as_str).or_else(near) {
        Some(meant) => Some(format!("did you mean \"{meant}\"?")),
        None => Some(format!(
            "put the schema of \"{name}\" into `$defs` and refer to it as \"#/$defs/{name}\"; `#` is the root of this schema"
        )),
    }
}

/// The nearest of some names, if it is hardly another word.
fn near<'n>(given: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let (distance, near) = nearest_name(given, known)?;
    (distance * 3 <= given.len()).then_some(near)
}

/// A value of another type than the keyword has.
fn of_malformed(keyword: &str, value: &Value) -> Option<String> {
    match (keyword, value) {
        ("required", value) if value.is_boolean() || *value == "true" || *value == "false" => Some(
            "`required` stands beside `properties` and lists the names of those that are required, as in \"required\": [\"a\"]"
                .to_owned(),
        ),
        ("required" | "enum" | "allOf" | "anyOf" | "oneOf" | "examples", value) if !value.is_array() => {
            Some(format!("write a list: \"{keyword}\": [{}]", short(value)))
        }
        ("uniqueItems", Value::String(text)) if ["true", "false"].contains(&text.as_str()) => {
            Some(format!("write {text} without quotes"))
        }
        (keyword, Value::String(text))
            if takes_number(keyword) && serde_json::from_str::<serde_json::Number>(text).is_ok() =>
        {
            Some(format!("write {text} without quotes"))
        }
        ("properties" | "$defs" | "definitions" | "patternProperties", Value::Array(_)) => {
            Some(format!("write an object from names to schemas: \"{keyword}\": {{\"a\": {{}}}}"))
        }
        (_, Value::String(text)) if text.trim_start().starts_with('{') => {
            Some("the schema is a string that contains JSON: parse it first".to_owned())
        }
        _ => None,
    }
}

/// Whether the value of a keyword is a number.
fn takes_number(keyword: &str) -> bool {
    keyword.starts_with("min")
        || keyword.starts_with("max")
        || ["exclusiveMinimum", "exclusiveMaximum", "multipleOf"].contains(&keyword)
}

/// Keywords that contradict each other.
fn of_contradiction(error: &SchemaError, schema: &Map<String, Value>) -> Option<String> {
    if error.keyword() == Some("required") {
        let properties = schema.get("properties").and_then(Value::as_object);
        let known = || properties.into_iter().flat_map(Map::keys).map(String::as_str);
        let required = schema.get("required")?.as_array()?.iter().filter_map(Value::as_str);
        // The first is the one that the error is about only if it is the only one.
        let mut missing = required.filter(|name| !known().any(|known| known == *name));
        let (missing, None) = (missing.next()?, missing.next()) else { return None };
        if !error.to_string().contains(&format!("\"{missing}\"")) {
            return None;
        }
        let near = near(missing, known()).map(|near| format!("did you mean \"{near}\"? Or "));
        return Some(format!(
            "{}add \"{missing}\" to `properties`, or remove it from `required`",
            near.unwrap_or_default()
        ));
    }
    let (given, listed) = (schema.get("type")?.as_str()?, schema.get("enum")?.as_array()?);
    let types: Vec<&str> = listed.iter().map(type_of).collect();
    let has_type = |name: &&str| *name == given || given == "number" && *name == "integer";
    let first = types.first()?;
    (!types.iter().any(has_type)).then(|| format!("did you mean \"type\": \"{first}\"?"))
}

/// The type of a value, `integer` if it is whole.
fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.as_f64().is_some_and(|number| number.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A value in a message, cut.
pub(crate) fn short(value: &Value) -> String {
    const MAX_CHARS: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MAX_CHARS) {
        None => text,
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
