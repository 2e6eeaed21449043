//! Schemas and values out of bytes: most keywords, meaningful mostly, small.

use arbitrary::{Result, Unstructured};
use serde_json::{Map, Value, json};

const DRAFTS: [&str; 5] = [
    "http://json-schema.org/draft-04/schema#",
    "http://json-schema.org/draft-06/schema#",
    "http://json-schema.org/draft-07/schema#",
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
];
const TYPES: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
const NAMES: [&str; 6] = ["a", "b", "ab", "c", "é", "x-1"];
const TEXTS: [&str; 12] = ["", "a", "b", "ab", "aab", "é", "\"", "\\", "a\nb", "12", "2024-02-29", "𝄞"];
const PATTERNS: [&str; 14] = [
    "a", "^b", "b$", "^a+$", "^[ab]*$", "a|b", "^.{2}$", "^\\d+$", "\\w", "[^a]", "^(ab)?$", "x{2,3}", "^$",
    "\\u00e9",
];
const FORMATS: [&str; 5] = ["date", "time", "ipv4", "uuid", "no-such-format"];
const NUMBERS: [&str; 18] = [
    "0",
    "1",
    "2",
    "3",
    "-1",
    "10",
    "0.5",
    "1.5",
    "-2.25",
    "1e2",
    "1.0",
    "100",
    "0.1",
    "1e400",
    "9007199254740993",
    "-0.0",
    "1e-7",
    "12345678901234567890",
];

/// A schema document.
pub fn schema(data: &mut Unstructured<'_>) -> Result<Value> {
    let mut root = keywords(data, 3)?;
    let (one, two) = (below(data, 2)?, below(data, 1)?);
    let Value::Object(members) = &mut root else { return Ok(root) };
    members.insert("$defs".into(), json!({"a": one, "b": two}));
    if data.ratio(1, 3)? {
        members.insert("$schema".into(), json!(data.choose(&DRAFTS)?));
    }
    Ok(root)
}

/// Whether a schema refers to itself without going into a value: what it says then is nobody's business.
pub fn has_loop(root: &Value) -> bool {
    /// Follows what applies to the same value; `path` has the references on the way.
    fn leads_back<'s>(root: &'s Value, at: &'s Value, path: &mut Vec<&'s str>, n_left: &mut u32) -> bool {
        *n_left = n_left.saturating_sub(1);
        let Value::Object(members) = at else { return false };
        *n_left == 0
            || members.iter().any(|(keyword, value)| match (keyword.as_str(), value) {
                ("$ref", Value::String(name)) => {
                    let Some(target) = name.strip_prefix('#').and_then(|pointer| root.pointer(pointer))
                    else {
                        return true;
                    };
                    if path.contains(&name.as_str()) {
                        return true;
                    }
                    path.push(name);
                    let leads = leads_back(root, target, path, n_left);
                    path.pop();
                    leads
                }
                ("$dynamicRef" | "$recursiveRef", _) => true,
                ("not" | "if" | "then" | "else", part) => leads_back(root, part, path, n_left),
                ("allOf" | "anyOf" | "oneOf", Value::Array(parts)) => {
                    parts.iter().any(|part| leads_back(root, part, path, n_left))
                }
                ("dependentSchemas" | "dependencies", Value::Object(parts)) => {
                    parts.values().any(|part| leads_back(root, part, path, n_left))
                }
                _ => false,
            })
    }
    let mut work = vec![root];
    while let Some(at) = work.pop() {
        if leads_back(root, at, &mut Vec::new(), &mut 2_000) {
            return true;
        }
        match at {
            Value::Object(members) => work.extend(members.values()),
            Value::Array(items) => work.extend(items),
            _ => {}
        }
    }
    false
}

/// A value, nested so deep at most.
pub fn value(data: &mut Unstructured<'_>, depth: u32) -> Result<Value> {
    Ok(match data.int_in_range(0..=if depth == 0 { 5 } else { 8 })? {
        0 => Value::Null,
        1 => json!(data.arbitrary::<bool>()?),
        2 => json!(data.int_in_range(-3..=12)?),
        3 => number(data)?,
        4 | 5 => json!(data.choose(&TEXTS)?),
        6 => {
            let n = data.int_in_range(0..=3)?;
            Value::Array((0..n).map(|_| value(data, depth - 1)).collect::<Result<_>>()?)
        }
        _ => {
            let n = data.int_in_range(0..=3)?;
            let member = |_| Ok((data.choose(&NAMES)?.to_string(), value(data, depth - 1)?));
            Value::Object((0..n).map(member).collect::<Result<_>>()?)
        }
    })
}

fn number(data: &mut Unstructured<'_>) -> Result<Value> {
    Ok(serde_json::from_str(data.choose(&NUMBERS)?).expect("these are numbers"))
}

fn count(data: &mut Unstructured<'_>) -> Result<Value> {
    Ok(json!(data.int_in_range(0..=4)?))
}

fn names(data: &mut Unstructured<'_>) -> Result<Value> {
    let n = data.int_in_range(1..=3)?;
    let mut names = (0..n).map(|_| Ok(*data.choose(&NAMES)?)).collect::<Result<Vec<_>>>()?;
    names.sort_unstable();
    names.dedup();
    Ok(json!(names))
}

/// A schema inside another one: a reference, a word or keywords.
fn below(data: &mut Unstructured<'_>, depth: u32) -> Result<Value> {
    Ok(match data.int_in_range(0..=9)? {
        0 => json!(data.arbitrary::<bool>()?),
        1 => json!({"$ref": data.choose(&["#/$defs/a", "#/$defs/b", "#"])?}),
        _ => keywords(data, depth)?,
    })
}

fn list(data: &mut Unstructured<'_>, depth: u32) -> Result<Value> {
    let n = data.int_in_range(1..=3)?;
    Ok(Value::Array((0..n).map(|_| below(data, depth)).collect::<Result<_>>()?))
}

fn named(data: &mut Unstructured<'_>, depth: u32, names: &[&str]) -> Result<Value> {
    let n = data.int_in_range(1..=3)?;
    let member = |_| Ok((data.choose(names)?.to_string(), below(data, depth)?));
    Ok(Value::Object((0..n).map(member).collect::<Result<_>>()?))
}

fn keywords(data: &mut Unstructured<'_>, depth: u32) -> Result<Value> {
    let mut members = Map::new();
    for _ in 0..data.int_in_range(1..=4)? {
        let (keyword, value) = keyword(data, depth)?;
        members.insert(keyword.into(), value);
    }
    Ok(Value::Object(members))
}

fn keyword(data: &mut Unstructured<'_>, depth: u32) -> Result<(&'static str, Value)> {
    let last = if depth == 0 { 23 } else { 47 };
    Ok(match data.int_in_range(0..=last)? {
        0..=3 => ("type", json!(data.choose(&TYPES)?)),
        4 => ("type", json!([data.choose(&TYPES[..4])?, data.choose(&TYPES[4..])?])),
        5 => ("const", value(data, 2)?),
        6 => {
            let n = data.int_in_range(1..=3)?;
            let mut values = (0..n).map(|_| value(data, 1)).collect::<Result<Vec<_>>>()?;
            let all = values.clone();
            let mut index = 0;
            values.retain(|value| {
                index += 1;
                !all[..index - 1].contains(value)
            });
            ("enum", json!(values))
        }
        7 => (data.choose(&["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"])?, number(data)?),
        8 => ("minimum", json!(data.int_in_range(-3..=5)?)),
        9 => (
            "multipleOf",
            serde_json::from_str(data.choose(&["1", "2", "3", "0.5", "0.1", "1.5", "7"])?).expect("a number"),
        ),
        10 => ("minLength", count(data)?),
        11 => ("maxLength", count(data)?),
        12 => ("pattern", json!(data.choose(&PATTERNS)?)),
        13 => ("format", json!(data.choose(&FORMATS)?)),
        14 => (data.choose(&["minItems", "maxItems"])?, count(data)?),
        15 => ("uniqueItems", json!(true)),
        16 => (data.choose(&["minContains", "maxContains"])?, count(data)?),
        17 => (data.choose(&["minProperties", "maxProperties"])?, count(data)?),
        18 | 19 => ("required", names(data)?),
        20 => ("dependentRequired", json!({*data.choose(&NAMES)?: names(data)?})),
        21 => (
            data.choose(&["additionalProperties", "unevaluatedProperties", "items", "unevaluatedItems"])?,
            json!(false),
        ),
        22 => ("maximum", json!(data.int_in_range(-1..=9)?)),
        23 => (data.choose(&["title", "description", "$comment"])?, json!("a")),
        24..=29 => ("properties", named(data, depth - 1, &NAMES)?),
        30 | 31 => ("items", below(data, depth - 1)?),
        32 => ("prefixItems", list(data, depth - 1)?),
        33 => ("items", list(data, depth - 1)?),
        34 => ("additionalItems", below(data, depth - 1)?),
        35 => ("contains", below(data, depth - 1)?),
        36 => ("additionalProperties", below(data, depth - 1)?),
        37 => ("patternProperties", named(data, depth - 1, &PATTERNS)?),
        38 => ("propertyNames", below(data, depth - 1)?),
        39 => ("dependentSchemas", named(data, depth - 1, &NAMES)?),
        40 => ("dependencies", named(data, depth - 1, &NAMES)?),
        41 => ("allOf", list(data, depth - 1)?),
        42 => ("anyOf", list(data, depth - 1)?),
        43 => ("oneOf", list(data, depth - 1)?),
        44 => ("not", below(data, depth - 1)?),
        45 => ("if", below(data, depth - 1)?),
        46 => (data.choose(&["then", "else"])?, below(data, depth - 1)?),
        _ => (data.choose(&["unevaluatedProperties", "unevaluatedItems"])?, below(data, depth - 1)?),
    })
}
