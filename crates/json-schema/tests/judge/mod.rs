//! Random small schemas and values, and a plain validator that shares no code with the compiler.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

/// Whether `value` satisfies `schema`, a part of `root`.
pub(crate) fn is_valid(root: &Value, schema: &Value, value: &Value) -> bool {
    let Value::Object(schema) = schema else { return schema == &Value::Bool(true) };
    let list = |key: &str| schema.get(key).and_then(Value::as_array);
    let number = |key: &str| schema.get(key).and_then(Value::as_f64);
    let holds = |branch: &Value| is_valid(root, branch, value);
    let general = schema.get("type").is_none_or(|names| match names {
        Value::Array(names) => names.iter().any(|name| has_type(name.as_str().unwrap(), value)),
        name => has_type(name.as_str().unwrap(), value),
    }) && list("enum").is_none_or(|values| values.iter().any(|known| same(known, value)))
        && list("allOf").is_none_or(|branches| branches.iter().all(holds))
        && schema.get("not").is_none_or(|denied| !holds(denied))
        && list("anyOf").is_none_or(|branches| branches.iter().any(holds))
        && list("oneOf").is_none_or(|branches| branches.iter().filter(|branch| holds(branch)).count() == 1)
        && schema.get("if").is_none_or(|condition| {
            schema.get(if holds(condition) { "then" } else { "else" }).is_none_or(holds)
        })
        && schema.get("$ref").is_none_or(|reference| {
            let target = root.pointer(reference.as_str().unwrap().trim_start_matches('#')).unwrap();
            is_valid(root, target, value)
        });
    general
        && match value {
            Value::Number(_) => {
                let value = value.as_f64().unwrap();
                number("minimum").is_none_or(|bound| value >= bound)
                    && number("exclusiveMaximum").is_none_or(|bound| value < bound)
                    && number("multipleOf").is_none_or(|divisor| (value / divisor).fract() == 0.0)
            }
            Value::String(text) => {
                let length = text.chars().count() as f64;
                number("minLength").is_none_or(|bound| length >= bound)
                    && number("maxLength").is_none_or(|bound| length <= bound)
                    && schema.get("pattern").is_none_or(|pattern| matches(pattern.as_str().unwrap(), text))
            }
            Value::Array(items) => {
                let prefix = list("prefixItems").map_or(&[][..], Vec::as_slice);
                (schema.get("uniqueItems") != Some(&Value::Bool(true))
                    || (1..items.len()).all(|i| items[..i].iter().all(|other| !same(other, &items[i]))))
                    && number("minItems").is_none_or(|bound| items.len() as f64 >= bound)
                    && number("maxItems").is_none_or(|bound| items.len() as f64 <= bound)
                    && items.iter().enumerate().all(|(i, item)| {
                        let schema = prefix.get(i).or(schema.get("items"));
                        schema.is_none_or(|schema| is_valid(root, schema, item))
                    })
                    && schema.get("contains").is_none_or(|contained| {
                        let n = items.iter().filter(|item| is_valid(root, contained, item)).count() as f64;
                        n >= number("minContains").unwrap_or(1.0)
                            && number("maxContains").is_none_or(|bound| n <= bound)
                    })
            }
            Value::Object(members) => {
                let declared = schema.get("properties").and_then(Value::as_object);
                list("required")
                    .is_none_or(|names| names.iter().all(|name| members.contains_key(name.as_str().unwrap())))
                    && number("minProperties").is_none_or(|bound| members.len() as f64 >= bound)
                    && number("maxProperties").is_none_or(|bound| members.len() as f64 <= bound)
                    && members.iter().all(|(name, value)| {
                        let mut schemas: Vec<&Value> =
                            declared.and_then(|known| known.get(name)).into_iter().collect();
                        let patterns = schema.get("patternProperties").and_then(Value::as_object);
                        for (pattern, schema) in patterns.into_iter().flatten() {
                            if matches(pattern, name) {
                                schemas.push(schema);
                            }
                        }
                        if schemas.is_empty() {
                            schemas.extend(schema.get("additionalProperties"));
                        }
                        schemas.iter().all(|schema| is_valid(root, schema, value))
                            && schema
                                .get("propertyNames")
                                .is_none_or(|names| is_valid(root, names, &json!(name)))
                    })
                    && schema.get("dependencies").and_then(Value::as_object).into_iter().flatten().all(
                        |(name, needed)| {
                            !members.contains_key(name)
                                || match needed {
                                    Value::Array(names) => {
                                        names.iter().all(|name| members.contains_key(name.as_str().unwrap()))
                                    }
                                    schema => holds(schema),
                                }
                        },
                    )
            }
            _ => true,
        }
}

/// The patterns that the schemas have, those that are not supported among them.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern {
        "a" | "x" | "y" | "z" => text.contains(pattern),
        "^b" => text.starts_with('b'),
        r"(a)\1" => text.contains("aa"),
        "(?<=ab+)a" => {
            let parts: Vec<&str> = text.split('a').collect();
            let between = parts.get(1..parts.len() - 1).unwrap_or_default();
            between.iter().any(|part| !part.is_empty() && part.bytes().all(|byte| byte == b'b'))
        }
        r"([xyz])\1" => text.as_bytes().windows(2).any(|pair| pair[0] == pair[1]),
        other => panic!("unknown pattern {other}"),
    }
}

fn has_type(name: &str, value: &Value) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.as_f64().is_some_and(|value| value.fract() == 0.0),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("unknown type {other}"),
    }
}

/// Equality as JSON Schema has it: numbers by value, objects without order.
fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => left.as_f64() == right.as_f64(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(name, left)| right.get(name).is_some_and(|right| same(left, right)))
        }
        _ => left == right,
    }
}

/// The value with its keys in every order.
pub(crate) fn orders(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(items) => items.iter().fold(vec![json!([])], |done, item| {
            let items = orders(item);
            done.iter()
                .flat_map(|done| {
                    items.iter().map(move |item| {
                        let mut done = done.as_array().unwrap().clone();
                        done.push(item.clone());
                        Value::Array(done)
                    })
                })
                .collect()
        }),
        Value::Object(members) if members.is_empty() => vec![value.clone()],
        Value::Object(members) => {
            let mut all = Vec::new();
            for (name, first) in members {
                let mut rest = members.clone();
                rest.shift_remove(name);
                for rest in orders(&Value::Object(rest)) {
                    for first in orders(first) {
                        let mut ordered = Map::from_iter([(name.clone(), first)]);
                        ordered.extend(rest.as_object().unwrap().clone());
                        all.push(Value::Object(ordered));
                    }
                }
            }
            all
        }
        _ => vec![value.clone()],
    }
}

/// Small values.
pub(crate) fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (-3..6i32).prop_map(Value::from),
        (-3..6i32).prop_map(|half| json!(f64::from(half) + 0.5)),
        "[ab]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::vec(("[xyz]{1,2}", inner), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Schemas; with keywords that are not supported, if asked.
pub(crate) fn schemas(is_poisoned: bool) -> impl Strategy<Value = Value> {
    let types =
        prop::sample::select(vec!["null", "boolean", "integer", "number", "string", "array", "object"]);
    let poison = prop_oneof![
        prop::sample::select(vec![r"(a)\1", "(?<=ab+)a"]).prop_map(|pattern| ("pattern", json!(pattern))),
        prop::sample::select(vec![json!(999_983), json!(0.000_071_31)]).prop_map(|by| ("multipleOf", by)),
        values().prop_map(|value| ("patternProperties", json!({r"([xyz])\1": {"const": value}}))),
    ];
    let enforced_keyword = prop_oneof![
        types.clone().prop_map(|name| ("type", json!(name))),
        prop::collection::vec(types, 1..4).prop_map(|names| ("type", json!(names))),
        prop::collection::vec(values(), 1..4).prop_map(|values| ("enum", json!(values))),
        (-2..4i32).prop_map(|bound| ("minimum", json!(bound))),
        (-2..4i32).prop_map(|bound| ("exclusiveMaximum", json!(f64::from(bound) + 0.5))),
        prop::sample::select(vec![json!(0.5), json!(1), json!(2), json!(1.5), json!(3)])
            .prop_map(|by| ("multipleOf", by)),
        (0..3u32).prop_map(|bound| ("minLength", json!(bound))),
        (0..3u32).prop_map(|bound| ("maxLength", json!(bound))),
        prop::sample::select(vec!["a", "^b"]).prop_map(|pattern| ("pattern", json!(pattern))),
        (0..3u32).prop_map(|bound| ("minItems", json!(bound))),
        (0..3u32).prop_map(|bound| ("maxItems", json!(bound))),
        prop::collection::vec("[xyz]", 0..3).prop_map(|names| ("required", json!(names))),
        Just(("uniqueItems", json!(true))),
        (0..3u32).prop_map(|bound| ("minContains", json!(bound))),
        (0..3u32).prop_map(|bound| ("maxContains", json!(bound))),
        (0..3u32).prop_map(|bound| ("minProperties", json!(bound))),
        (0..3u32).prop_map(|bound| ("maxProperties", json!(bound))),
        ("[xyz]", prop::collection::vec("[xyz]", 1..3))
            .prop_map(|(name, needed)| ("dependencies", json!({name: needed}))),
    ];
    let scalar_keyword = prop_oneof![18 => enforced_keyword, u32::from(is_poisoned) * 3 => poison];
    let object = |keywords: Vec<(&str, Value)>| {
        Value::Object(keywords.into_iter().map(|(keyword, value)| (keyword.to_string(), value)).collect())
    };
    let known_keys = prop_oneof![
        Just(false.into()),
        values().prop_map(|value| json!({"const": value})),
        prop::sample::select(vec!["null", "integer", "array"]).prop_map(|name| json!({"type": name})),
    ];
    // Which keys are additional depends on a pattern that is not supported.
    let poisoned_keys = known_keys.prop_map(
        |others| json!({"patternProperties": {r"([xyz])\1": {}}, "additionalProperties": others, "type": "object"}),
    );
    let leaf = prop_oneof![
        u32::from(is_poisoned) => poisoned_keys,
        1 => any::<bool>().prop_map(Value::from),
        8 => prop::collection::vec(scalar_keyword.clone(), 0..3).prop_map(object),
    ];
    leaf.prop_recursive(3, 16, 3, move |inner| {
        let list = prop::collection::vec(inner.clone(), 1..3);
        let below = prop_oneof![3 => inner.clone(), 1 => Just(json!({"$ref": "#/$defs/d"}))];
        let keyword = prop_oneof![
            2 => scalar_keyword.clone(),
            1 => list.clone().prop_map(|branches| ("allOf", json!(branches))),
            1 => list.clone().prop_map(|branches| ("anyOf", json!(branches))),
            1 => list.prop_map(|branches| ("oneOf", json!(branches))),
            1 => inner.clone().prop_map(|schema| ("not", schema)),
            1 => below.clone().prop_map(|schema| ("items", schema)),
            1 => prop::collection::vec(below.clone(), 1..3).prop_map(|schemas| ("prefixItems", json!(schemas))),
            1 => below.clone().prop_map(|schema| ("additionalProperties", schema)),
            1 => below.clone().prop_map(|schema| ("contains", schema)),
            1 => inner.clone().prop_map(|schema| ("if", schema)),
            1 => inner.clone().prop_map(|schema| ("then", schema)),
            1 => inner.clone().prop_map(|schema| ("else", schema)),
            1 => inner.clone().prop_map(|schema| ("propertyNames", schema)),
            1 => ("[xyz]", inner.clone()).prop_map(|(name, schema)| ("dependencies", json!({name: schema}))),
            1 => prop::collection::vec(("[xyz]", below.clone()), 1..3).prop_map(|members| {
                ("patternProperties", Value::Object(members.into_iter().collect()))
            }),
            3 => prop::collection::vec(("[xyz]", below), 1..4).prop_map(|members| {
                ("properties", Value::Object(members.into_iter().collect()))
            }),
        ];
        prop::collection::vec(keyword, 1..4).prop_map(object)
    })
}
