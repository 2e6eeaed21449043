//! Random schemas of draft 2020-12 and random values, small enough to meet each other.

use rand::Rng;
use rand::seq::IndexedRandom;
use rand_chacha::ChaCha8Rng;
use serde_json::{Map, Value, json};

const NAMES: [&str; 4] = ["x", "y", "xy", "é"];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const PATTERNS: [&str; 14] = [
    "a",
    "^b",
    "b$",
    "^[ab]*$",
    "^a?b{1,2}$",
    "[^a]",
    "^(ab|ba)+$",
    "\\d",
    "^\\w+$",
    "^$",
    "^.{2}$",
    "\\s",
    "a.b",
    "^(?!ab)",
];
const FORMATS: [&str; 6] = ["date", "time", "ipv4", "uuid", "email", "json-pointer"];
/// Strings that formats and patterns are about.
const TEXTS: [&str; 14] = [
    "2024-02-29",
    "2023-02-29",
    "12:30:00Z",
    "127.0.0.1",
    "256.1.1.1",
    "a@b.de",
    "/a/0",
    "a",
    "ab",
    "abba",
    "b2",
    "a b",
    "é\n",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
];

fn one_of<'a, T>(rng: &mut ChaCha8Rng, choices: &'a [T]) -> &'a T {
    choices.choose(rng).expect("the lists are not empty")
}

/// A schema with a definition that it may refer to, also recursively.
pub(crate) fn any_schema(rng: &mut ChaCha8Rng) -> Value {
    let mut root = Map::new();
    let definition = schema(rng, 2);
    root.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
    root.insert("$defs".to_owned(), json!({"d": definition}));
    let branch = schema(rng, 3);
    root.insert("allOf".to_owned(), json!([branch]));
    if rng.random_bool(0.2) {
        root.insert("$ref".to_owned(), json!("#/$defs/d"));
    }
    Value::Object(root)
}

fn schema(rng: &mut ChaCha8Rng, depth: u32) -> Value {
    if rng.random_bool(0.06) {
        return Value::Bool(rng.random());
    }
    let mut keywords = Map::new();
    for _ in 0..rng.random_range(1..4) {
        let (keyword, value) = match depth {
            0 => assertion(rng),
            _ if rng.random_bool(0.4) => assertion(rng),
            _ => applicator(rng, depth - 1),
        };
        keywords.insert(keyword.to_owned(), value);
    }
    // Most real schemas say the type.
    if rng.random_bool(0.3) {
        keywords.insert("type".to_owned(), json!(one_of(rng, &TYPES)));
    }
    Value::Object(keywords)
}

fn schemas(rng: &mut ChaCha8Rng, depth: u32) -> Value {
    (0..rng.random_range(1..3)).map(|_| schema(rng, depth)).collect()
}

fn named(rng: &mut ChaCha8Rng, depth: u32) -> Value {
    let member = |rng: &mut ChaCha8Rng| (one_of(rng, &NAMES).to_string(), below(rng, depth));
    Value::Object((0..rng.random_range(1..4)).map(|_| member(rng)).collect())
}

/// A schema of a part, which may be the definition again.
fn below(rng: &mut ChaCha8Rng, depth: u32) -> Value {
    if rng.random_bool(0.2) { json!({"$ref": "#/$defs/d"}) } else { schema(rng, depth) }
}

fn names(rng: &mut ChaCha8Rng) -> Value {
    let mut names: Vec<&str> = (0..rng.random_range(1..3)).map(|_| *one_of(rng, &NAMES)).collect();
    names.sort_unstable();
    names.dedup();
    json!(names)
}

fn assertion(rng: &mut ChaCha8Rng) -> (&'static str, Value) {
    let small = rng.random_range(0..4u32);
    match rng.random_range(0..19) {
        0 => ("type", json!(one_of(rng, &TYPES))),
        1 => {
            let first = rng.random_range(0..TYPES.len() - 2);
            ("type", json!(&TYPES[first..first + 2]))
        }
        2 => ("enum", (0..rng.random_range(1..4)).map(|_| any_value(rng, 1)).collect()),
        3 => ("const", any_value(rng, 1)),
        4 => ("minimum", number(rng)),
        5 => ("exclusiveMinimum", number(rng)),
        6 => ("maximum", number(rng)),
        7 => ("exclusiveMaximum", number(rng)),
        8 => (
            "multipleOf",
            one_of(rng, &[json!(1), json!(2), json!(0.5), json!(0.1), json!(0.25), json!(3)]).clone(),
        ),
        9 => ("minLength", json!(small)),
        10 => ("maxLength", json!(small)),
        11 => ("pattern", json!(one_of(rng, &PATTERNS))),
        12 => ("format", json!(one_of(rng, &FORMATS))),
        13 => ("minItems", json!(small)),
        14 => ("maxItems", json!(small)),
        15 => ("uniqueItems", json!(true)),
        16 => ("required", names(rng)),
        17 => ("minProperties", json!(small)),
        _ => ("maxProperties", json!(small)),
    }
}

fn applicator(rng: &mut ChaCha8Rng, depth: u32) -> (&'static str, Value) {
    match rng.random_range(0..21) {
        0 => ("allOf", schemas(rng, depth)),
        1 | 2 => ("anyOf", schemas(rng, depth)),
        3 => ("oneOf", schemas(rng, depth)),
        4 => ("not", schema(rng, depth)),
        5 => ("if", schema(rng, depth)),
        6 => ("then", schema(rng, depth)),
        7 => ("else", schema(rng, depth)),
        8 => ("items", below(rng, depth)),
        9 => ("prefixItems", schemas(rng, depth)),
        10 => ("contains", schema(rng, depth)),
        11 => ("minContains", json!(rng.random_range(0..3u32))),
        12 | 13 => ("properties", named(rng, depth)),
        14 => ("additionalProperties", below(rng, depth)),
        15 => ("propertyNames", schema(rng, depth)),
        16 => {
            let member =
                |rng: &mut ChaCha8Rng| (one_of(rng, &["x", "^y", "é", "y$"]).to_string(), below(rng, depth));
            ("patternProperties", Value::Object((0..rng.random_range(1..3)).map(|_| member(rng)).collect()))
        }
        17 => ("dependentRequired", json!({*one_of(rng, &NAMES): names(rng)})),
        18 => ("dependentSchemas", json!({*one_of(rng, &NAMES): schema(rng, depth)})),
        19 => ("unevaluatedProperties", schema(rng, depth)),
        _ => ("unevaluatedItems", schema(rng, depth)),
    }
}

fn number(rng: &mut ChaCha8Rng) -> Value {
    let tenths = rng.random_range(-30..60i32);
    match tenths % 10 {
        0 => json!(tenths / 10),
        _ => json!(f64::from(tenths) / 10.0),
    }
}

/// A value nested at most `depth` deep.
pub(crate) fn any_value(rng: &mut ChaCha8Rng, depth: u32) -> Value {
    let n_kinds = if depth == 0 { 6 } else { 8 };
    match rng.random_range(0..n_kinds) {
        0 => Value::Null,
        1 => Value::Bool(rng.random()),
        2 => json!(rng.random_range(-3..6i32)),
        3 => number(rng),
        4 => json!(one_of(rng, &TEXTS)),
        5 => json!(
            (0..rng.random_range(0..4)).map(|_| *one_of(rng, &['a', 'b', 'é', '1'])).collect::<String>()
        ),
        6 => (0..rng.random_range(0..4)).map(|_| any_value(rng, depth - 1)).collect(),
        _ => {
            let member = |rng: &mut ChaCha8Rng| (one_of(rng, &NAMES).to_string(), any_value(rng, depth - 1));
            Value::Object((0..rng.random_range(0..4)).map(|_| member(rng)).collect())
        }
    }
}

/// The value with a part of it, or all of it, replaced, left out or added.
pub(crate) fn with_a_part_replaced(value: &Value, rng: &mut ChaCha8Rng) -> Value {
    match value {
        Value::Array(items) if !items.is_empty() && rng.random_bool(0.8) => {
            let mut items = items.clone();
            let at = rng.random_range(0..items.len());
            match rng.random_range(0..4) {
                0 => drop(items.remove(at)),
                1 => items.insert(at, any_value(rng, 1)),
                2 => items.push(items[at].clone()),
                _ => items[at] = with_a_part_replaced(&items[at], rng),
            }
            Value::Array(items)
        }
        Value::Object(members) if !members.is_empty() && rng.random_bool(0.8) => {
            let mut members = members.clone();
            let at = rng.random_range(0..members.len());
            let name = members.keys().nth(at).cloned().unwrap_or_default();
            match rng.random_range(0..3) {
                0 => drop(members.shift_remove(&name)),
                1 => drop(members.insert(one_of(rng, &NAMES).to_string(), any_value(rng, 1))),
                _ => {
                    let part = with_a_part_replaced(&members[&name], rng);
                    members.insert(name, part);
                }
            }
            Value::Object(members)
        }
        _ => any_value(rng, 1),
    }
}
