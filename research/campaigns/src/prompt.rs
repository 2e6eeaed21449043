//! What a model is asked for: a JSON value of a schema, with the facts that it records.

use std::fmt::Write;

use serde_json::Value;

/// The schema, and the facts of `gold` one by one.
pub(crate) fn of_facts(schema: &Value, gold: &Value) -> String {
    let mut prompt =
        format!("Write a JSON value that fits this schema:\n{schema}\n\nIt records the following:\n");
    facts(gold, "", &mut prompt);
    prompt.push_str("\nAnswer with the JSON value and nothing else.");
    prompt
}

/// A line for each scalar: the way to it, and its text.
fn facts(value: &Value, way: &str, text: &mut String) {
    let inside = |step: &str| if way.is_empty() { step.to_owned() } else { format!("{way}, {step}") };
    match value {
        Value::Object(members) if !members.is_empty() => {
            members.iter().for_each(|(key, value)| facts(value, &inside(key), text));
        }
        Value::Array(items) if !items.is_empty() => {
            for (index, item) in items.iter().enumerate() {
                facts(item, &inside(&format!("item {}", index + 1)), text);
            }
        }
        scalar => {
            let scalar = scalar.as_str().map_or_else(|| scalar.to_string(), str::to_owned);
            let way = if way.is_empty() { "the value" } else { way };
            writeln!(text, "- {way}: {scalar}").expect("writing to a string cannot fail");
        }
    }
}
