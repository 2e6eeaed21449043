//! Schemas that list all names, for a style that can write no others.

use serde_json::{Map, Value, json};

/// The names that schemas list.
const NAMES: [&str; 3] = ["x", "y", "z"];

/// The same schema of values with the names `x`, `y` and `z` only, where each object lists the three.
///
/// What it says of additional properties and of those with a pattern it says of these.
pub(crate) fn listing(root: &Value) -> Value {
    let mut root = closed(root);
    let items = json!({"$ref": "#/$defs/any"});
    root["$defs"]["any"] = json!({"properties": {"x": items, "y": items, "z": items}, "items": items});
    root
}

fn closed(schema: &Value) -> Value {
    let any = || json!({"$ref": "#/$defs/any"});
    let Value::Object(keywords) = schema else {
        return if schema == &json!(true) { any() } else { schema.clone() };
    };
    let closed_all = |map: &Map<String, Value>| {
        Value::Object(map.iter().map(|(name, schema)| (name.clone(), closed(schema))).collect())
    };
    let mut all = Map::new();
    for (keyword, value) in keywords {
        let value = match (&keyword[..], value) {
            ("patternProperties", _) => continue,
            ("additionalProperties", other) => Value::Bool(other == &json!(true)),
            ("$defs" | "properties", Value::Object(map)) => closed_all(map),
            ("dependencies", Value::Object(map)) => {
                let needed = |value: &Value| if value.is_array() { value.clone() } else { closed(value) };
                Value::Object(map.iter().map(|(name, value)| (name.clone(), needed(value))).collect())
            }
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(list)) => {
                list.iter().map(closed).collect()
            }
            ("not" | "if" | "then" | "else" | "items" | "contains", schema) => closed(schema),
            _ => value.clone(),
        };
        all.insert(keyword.clone(), value);
    }
    let patterns = keywords.get("patternProperties").and_then(Value::as_object);
    let mut properties = Map::new();
    for name in NAMES {
        let mut schemas: Vec<Value> = Vec::new();
        schemas.extend(keywords.get("properties").and_then(|known| known.get(name)).map(closed));
        schemas.extend(patterns.and_then(|known| known.get(name)).map(closed));
        if schemas.is_empty() {
            schemas.push(keywords.get("additionalProperties").map_or_else(any, closed));
        }
        let schema = if schemas.len() == 1 { schemas.remove(0) } else { json!({"allOf": schemas}) };
        properties.insert(name.into(), schema);
    }
    all.insert("properties".into(), properties.into());
    all.entry("items").or_insert_with(any);
    all.into()
}

/// Whether all names in a value are those that schemas list.
pub(crate) fn has_listed_names(value: &Value) -> bool {
    names(value).iter().all(|name| NAMES.contains(name))
}

/// Whether some name in a value is nowhere in the schema and not one of a pattern.
pub(crate) fn has_unlisted_names(root: &Value, value: &Value) -> bool {
    let schema = root.to_string();
    !schema.contains("propertyNames")
        && names(value).iter().any(|name| !schema.contains(&format!("\"{name}\"")))
}

fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::Array(items) => items.iter().flat_map(names).collect(),
        Value::Object(members) => {
            members.iter().flat_map(|(name, value)| [vec![&name[..]], names(value)].concat()).collect()
        }
        _ => Vec::new(),
    }
}
