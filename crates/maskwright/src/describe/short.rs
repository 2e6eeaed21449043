//! A JSON Schema in short: a type as TypeScript writes it, with what else is asked of values as comments.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::{Map, Value};

/// A schema as a type. Types that are referred to follow after `where`. Says what matters to a writer and
/// leaves out the rest (`not`, `if`, …), which masks see to.
pub(super) fn short(schema: &Value) -> String {
    let mut writer = Writer::default();
    let mut text = writer.commented(schema, 0).0;
    let mut i = 0;
    while let Some((name, reference)) = writer.types.get(i).cloned() {
        i += 1;
        let target = reference.strip_prefix('#').and_then(|pointer| schema.pointer(pointer));
        let Some(target) = target else { continue };
        let (inner, about) = writer.commented(target, 0);
        let about = if about.is_empty() { about } else { format!(" // {about}") };
        let _ = write!(text, "\n\nwhere {name} is {inner}{about}");
    }
    text
}

/// The value of a JSON text that was compiled before.
pub(super) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

#[derive(Default)]
struct Writer {
    /// The types that are referred to, by name, with the reference; in the order in which they are met.
    types: Vec<(String, String)>,
    /// The names of types, by reference.
    names: HashMap<String, String>,
    /// How many types were called after the same word.
    n_called: HashMap<String, usize>,
}

impl Writer {
    /// The type of a schema, and what is said about it: constraints and description, on one line.
    fn commented(&mut self, schema: &Value, depth: usize) -> (String, String) {
        let written = self.written(schema, depth);
        let Value::Object(keywords) = schema else { return (written, String::new()) };
        let mut said = constraints(keywords);
        let about = keywords.get("description").and_then(Value::as_str).unwrap_or_default();
        let about = about.lines().next().unwrap_or_default().trim();
        if !about.is_empty() {
            said.push(about.to_owned());
        }
        (written, said.join("; "))
    }

    /// The type of a schema.
    fn written(&mut self, schema: &Value, depth: usize) -> String {
        let Value::Object(keywords) = schema else { return "any".to_owned() };
        if let Some(Value::String(reference)) = keywords.get("$ref") {
            return self.named(reference);
        }
        if let Some(only) = keywords.get("const") {
            return only.to_string();
        }
        if let Some(Value::Array(values)) = keywords.get("enum") {
            return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
        }
        let combined = [("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")]
            .into_iter()
            .find_map(|(keyword, sign)| Some((keywords.get(keyword)?.as_array()?, sign)));
        let is_plain = keywords.contains_key("properties") || keywords.contains_key("type");
        match (combined, is_plain) {
            (Some((branches, sign)), false) => {
                let branches: Vec<String> =
                    branches.iter().map(|branch| self.written(branch, depth)).collect();
                return branches.join(sign);
            }
            (Some((branches, sign)), true) => {
                let branches: Vec<String> = branches
                    .iter()
                    .map(|branch| self.written(branch, depth))
                    .filter(|branch| branch != "any")
                    .collect();
                let own = self.of_types(keywords, depth);
                return match branches.is_empty() {
                    true => own,
                    false => format!("{own} & ({})", branches.join(sign)),
                };
            }
            (None, _) => {}
        }
        self.of_types(keywords, depth)
    }

    /// The type that `type` says, or else the other keywords.
    fn of_types(&mut self, keywords: &Map<String, Value>, depth: usize) -> String {
        let types: Vec<&str> = match keywords.get("type") {
            Some(Value::String(one)) => vec![one],
            Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
            _ if keywords.contains_key("properties") => vec!["object"],
            _ if keywords.contains_key("items") || keywords.contains_key("prefixItems") => vec!["array"],
            _ => vec!["any"],
        };
        let types = types.into_iter().map(|name| match name {
            "object" => self.object(keywords, depth),
            "array" => self.array(keywords, depth),
            name => name.to_owned(),
        });
        types.collect::<Vec<_>>().join(" | ")
    }

    fn object(&mut self, keywords: &Map<String, Value>, depth: usize) -> String {
        let required: Vec<&str> = match keywords.get("required") {
            Some(Value::Array(names)) => names.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
        let mut members = Vec::new();
        for (name, schema) in keywords.get("properties").and_then(Value::as_object).into_iter().flatten() {
            let (written, about) = self.commented(schema, depth + 1);
            let mark = if required.contains(&name.as_str()) { "" } else { "?" };
            members.push((format!("{}{mark}: {written}", Value::from(name.as_str())), about));
        }
        let others = keywords
            .get("additionalProperties")
            .or_else(|| keywords.get("patternProperties")?.as_object()?.values().next());
        match others {
            Some(schema @ Value::Object(_)) => {
                let (written, about) = self.commented(schema, depth + 1);
                members.push((format!("[other names]: {written}"), about));
            }
            _ if members.is_empty() => return "object".to_owned(),
            _ => {}
        }
        let indent = "  ".repeat(depth);
        let n_members = members.len();
        let lines = members.into_iter().enumerate().map(|(i, (member, about))| {
            let comma = if i + 1 < n_members { "," } else { "" };
            let about = if about.is_empty() { about } else { format!(" // {about}") };
            format!("{indent}  {member}{comma}{about}\n")
        });
        format!("{{\n{}{indent}}}", lines.collect::<String>())
    }

    fn array(&mut self, keywords: &Map<String, Value>, depth: usize) -> String {
        let first =
            keywords.get("prefixItems").or_else(|| keywords.get("items").filter(|items| items.is_array()));
        if let Some(Value::Array(items)) = first {
            let items: Vec<String> = items.iter().map(|item| self.written(item, depth)).collect();
            return format!("[{}]", items.join(", "));
        }
        let item = match keywords.get("items") {
            Some(item) => self.written(item, depth),
            None => "any".to_owned(),
        };
        if item.contains(" | ") && !item.starts_with('{') {
            format!("({item})[]")
        } else {
            format!("{item}[]")
        }
    }

    /// The name of the type that a reference leads to.
    fn named(&mut self, reference: &str) -> String {
        if let Some(name) = self.names.get(reference) {
            return name.clone();
        }
        let word = reference.rsplit(['/', '#']).next().filter(|word| !word.is_empty()).unwrap_or("Whole");
        let n_called = self.n_called.entry(word.to_owned()).or_default();
        *n_called += 1;
        let name = if *n_called == 1 { word.to_owned() } else { format!("{word}_{n_called}") };
        self.names.insert(reference.to_owned(), name.clone());
        self.types.push((name.clone(), reference.to_owned()));
        name
    }
}

/// What keywords ask of values, in a few words each.
fn constraints(keywords: &Map<String, Value>) -> Vec<String> {
    let of = |name: &str| keywords.get(name).filter(|value| !value.is_null() && !value.is_boolean());
    let between = |least: &str, most: &str, what: &str| match (of(least), of(most)) {
        (Some(least), Some(most)) if least == most => Some(format!("{least}{what}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{what}")),
        (Some(least), None) => Some(format!("at least {least}{what}")),
        (None, Some(most)) => Some(format!("at most {most}{what}")),
        (None, None) => None,
    };
    let said = |name: &str, before: &str| {
        let value = of(name)?;
        Some(format!("{before}{}", value.as_str().map_or_else(|| value.to_string(), str::to_owned)))
    };
    let is_unique = keywords.get("uniqueItems") == Some(&Value::Bool(true));
    [
        said("format", ""),
        said("pattern", "matching "),
        between("minLength", "maxLength", " characters"),
        between("minimum", "maximum", ""),
        said("exclusiveMinimum", "more than "),
        said("exclusiveMaximum", "less than "),
        said("multipleOf", "a multiple of "),
        between("minItems", "maxItems", " items"),
        is_unique.then(|| "all different".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
