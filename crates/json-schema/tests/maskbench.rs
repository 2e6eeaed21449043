//! Real schemas with valid and invalid instances (MaskBench), replayed on the compiled grammars.
//!
//! The data lies outside the project ([`maskwright_oracle::shared`]); without it, a made-up case stands in.
//! Every twentieth schema is tried. For all but two, exactly the valid instances are accepted, in the
//! spellings of all common writers. For every fortieth, the valid instances are also accepted under the
//! defaults.

mod instances;
mod support;

use std::path::PathBuf;

use instances::{spellings, written};
use maskwright_automata::Fuel;
use maskwright_json_schema::{Numbers, PropertyOrder, SchemaConfig, compile};
use serde_json::Value;
use support::{Automata, Recogniser};

const EVERY: usize = 20;

/// The schemas that are declined: an expression beyond the limit, and a `$ref` to itself.
const DECLINED: [&str; 2] = ["Github_hard---o12337.json", "JsonSchemaStore---cloudify.json"];

/// What a line of the data looks like.
const MADE_UP: &str = r#"{"id": "made-up", "schema": {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}, "required": ["id"], "additionalProperties": false}, "tests": [{"valid": true, "data": {"id": 7, "tags": ["a"]}}, {"valid": true, "data": {"id": 1}}, {"valid": false, "data": {"id": 0}}, {"valid": false, "data": {"id": 1, "tags": ["c"]}}, {"valid": false, "data": {"tags": []}}]}"#;

/// Every n-th line of the data; without the data, the made-up case.
fn lines(every: usize) -> Vec<String> {
    let Some(folder) = maskwright_oracle::shared("data/maskbench") else { return vec![MADE_UP.into()] };
    let mut files: Vec<PathBuf> =
        std::fs::read_dir(folder).expect("a folder").map(|file| file.expect("an entry").path()).collect();
    files.sort();
    let mut lines: Vec<String> = Vec::new();
    for file in files {
        lines.extend(std::fs::read_to_string(file).expect("a file of text").lines().map(String::from));
    }
    lines.into_iter().step_by(every).collect()
}

#[test]
fn invalid_instances_of_real_schemas_are_refused() {
    let lines = lines(EVERY);
    let mut automata = Automata::default();
    let (mut n_schemas, mut n_declined, mut n_instances) = (0, 0, 0);
    let mut refused = Vec::new();
    for line in lines {
        let case: Value = serde_json::from_str(&line).unwrap();
        n_schemas += 1;
        let fuel = Fuel::new(16_000_000);
        let mut config = SchemaConfig::default();
        config.property_order = PropertyOrder::Any;
        config.numbers = Numbers::Any;
        let compiled = match compile(&case["schema"], &config, &fuel) {
            Ok(compiled) => compiled,
            Err(error) => {
                let id = case["id"].as_str().unwrap();
                assert!(DECLINED.contains(&id), "{id} is declined: {error}");
                n_declined += 1;
                continue;
            }
        };
        let mut recogniser = Recogniser::new(&compiled.grammar);
        for test in case["tests"].as_array().unwrap() {
            n_instances += 1;
            if test["valid"] == true {
                for text in spellings(&test["data"]) {
                    if !recogniser.read(&text, &mut automata).1 {
                        refused.push(format!("{}: {text}", case["id"]));
                    }
                }
            } else {
                let text = written(&test["data"]);
                let (_, is_accepted) = recogniser.read(&text, &mut automata);
                assert!(!is_accepted, "{}: {text} is invalid, but accepted", case["id"]);
            }
        }
    }
    println!("{n_schemas} schemas, {n_declined} declined, {n_instances} instances");
    assert!(refused.is_empty(), "valid, but refused:\n{}", refused.join("\n"));
}

/// The instance with `1` for `1.0`; counts the changes.
fn with_whole_numbers(value: &Value, n_changed: &mut usize) -> Value {
    match value {
        Value::Number(number) => match number.as_str().strip_suffix(".0") {
            Some(whole) => {
                *n_changed += 1;
                serde_json::from_str(whole).expect("digits alone")
            }
            None => value.clone(),
        },
        Value::Array(items) => items.iter().map(|item| with_whole_numbers(item, n_changed)).collect(),
        Value::Object(members) => members
            .iter()
            .map(|(name, value)| (name.clone(), with_whole_numbers(value, n_changed)))
            .collect::<serde_json::Map<_, _>>()
            .into(),
        _ => value.clone(),
    }
}

#[test]
fn valid_instances_pass_the_defaults_as_usual_writers_write_them() {
    let every =
        std::env::var("MASKBENCH_EVERY").ok().and_then(|every| every.parse().ok()).unwrap_or(2 * EVERY);
    let mut automata = Automata::default();
    let (mut n_schemas, mut n_texts, mut n_whole) = (0, 0, 0);
    let mut refused = Vec::new();
    for line in lines(every) {
        let case: Value = serde_json::from_str(&line).unwrap();
        let mut config = SchemaConfig::default();
        // The instances have their own order.
        config.property_order = PropertyOrder::Any;
        let Ok(compiled) = compile(&case["schema"], &config, &Fuel::new(16_000_000)) else { continue };
        n_schemas += 1;
        let mut recogniser = Recogniser::new(&compiled.grammar);
        for test in case["tests"].as_array().unwrap().iter().filter(|test| test["valid"] == true) {
            for text in spellings(&test["data"]) {
                n_texts += 1;
                if recogniser.read(&text, &mut automata).1 {
                    continue;
                }
                let mut n_changed = 0;
                let other = with_whole_numbers(&test["data"], &mut n_changed);
                if n_changed > 0 && recogniser.read(&written(&other), &mut automata).1 {
                    n_whole += 1;
                } else {
                    refused.push(format!("{}: {text}", case["id"]));
                }
            }
        }
    }
    println!("{n_schemas} schemas, {n_texts} texts, {n_whole} of them with an integer as 1.0");
    assert!(n_texts > 0 && n_whole * 100 <= n_texts, "{n_whole} texts with an integer as 1.0 of {n_texts}");
    assert!(refused.is_empty(), "valid, but refused:\n{}", refused.join("\n"));
}
