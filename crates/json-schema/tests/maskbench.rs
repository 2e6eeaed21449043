//! Real schemas with valid and invalid instances (MaskBench), replayed on the compiled grammars.
//!
//! The data lies outside the project ([`maskwright_oracle::shared`]); without it, a made-up case stands in. Every twentieth
//! schema is tried. Of all but two, exactly the valid instances are accepted, as all usual writers write them.

mod instances;
mod support;

use std::path::PathBuf;

use instances::{spellings, written};
use maskwright_automata::Fuel;
use maskwright_json_schema::{PropertyOrder, SchemaConfig, compile};
use serde_json::Value;
use support::{Automata, Recogniser};

const EVERY: usize = 20;

/// The schemas that are declined: an expression beyond the limit, and a `$ref` to itself.
const DECLINED: [&str; 2] = ["Github_hard---o12337.json", "JsonSchemaStore---cloudify.json"];

/// What a line of the data looks like.
const MADE_UP: &str = r#"{"id": "made-up", "schema": {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}, "required": ["id"], "additionalProperties": false}, "tests": [{"valid": true, "data": {"id": 7, "tags": ["a"]}}, {"valid": true, "data": {"id": 1}}, {"valid": false, "data": {"id": 0}}, {"valid": false, "data": {"id": 1, "tags": ["c"]}}, {"valid": false, "data": {"tags": []}}]}"#;

#[test]
fn invalid_instances_of_real_schemas_are_refused() {
    let mut lines: Vec<String> = Vec::new();
    match maskwright_oracle::shared("data/maskbench") {
        Some(folder) => {
            let mut files: Vec<PathBuf> =
                std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
            files.sort();
            for file in files {
                lines.extend(std::fs::read_to_string(file).unwrap().lines().map(String::from));
            }
            lines = lines.into_iter().step_by(EVERY).collect();
        }
        None => lines.push(MADE_UP.into()),
    }
    let mut automata = Automata::default();
    let (mut n_schemas, mut n_declined, mut n_instances) = (0, 0, 0);
    let mut refused = Vec::new();
    for line in lines {
        let case: Value = serde_json::from_str(&line).unwrap();
        n_schemas += 1;
        let fuel = Fuel::new(16_000_000);
        let mut config = SchemaConfig::default();
        config.property_order = PropertyOrder::Any;
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
