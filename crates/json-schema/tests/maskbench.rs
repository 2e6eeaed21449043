//! Real schemas with valid and invalid instances (MaskBench), replayed on the compiled grammars.
//!
//! The data lies outside the project (`MASKWRIGHT_SHARED`); without it, one line says so and a made-up case
//! stands in. Every twentieth
//! schema is tried. Of schemas that are taken, no invalid instance may be accepted; a valid one may be
//! refused only for its written form: its keys are in another order than the schema's.

mod instances;
mod support;

use std::path::PathBuf;

use instances::written;
use maskwright_automata::Fuel;
use maskwright_json_schema::{SchemaConfig, compile};
use serde_json::Value;
use support::{Automata, Recogniser};

const EVERY: usize = 20;

/// What a line of the data looks like.
const MADE_UP: &str = r#"{"id": "made-up", "schema": {"type": "object", "properties": {"id": {"type": "integer", "minimum": 1}, "tags": {"type": "array", "items": {"enum": ["a", "b"]}}}, "required": ["id"], "additionalProperties": false}, "tests": [{"valid": true, "data": {"id": 7, "tags": ["a"]}}, {"valid": true, "data": {"id": 1}}, {"valid": false, "data": {"id": 0}}, {"valid": false, "data": {"id": 1, "tags": ["c"]}}, {"valid": false, "data": {"tags": []}}]}"#;

#[test]
fn invalid_instances_of_real_schemas_are_refused() {
    let shared = std::env::var_os("MASKWRIGHT_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = shared.join("data/maskbench");
    let mut lines: Vec<String> = Vec::new();
    match std::fs::read_dir(&folder) {
        Ok(files) => {
            let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
            files.sort();
            for file in files {
                lines.extend(std::fs::read_to_string(file).unwrap().lines().map(String::from));
            }
            lines = lines.into_iter().step_by(EVERY).collect();
        }
        Err(_) => {
            println!("no data at {}: a made-up schema stands in for the real ones", folder.display());
            lines.push(MADE_UP.into());
        }
    }
    let mut automata = Automata::default();
    let (mut n_schemas, mut n_taken, mut n_valid, mut n_accepted) = (0, 0, 0, 0);
    for line in lines {
        let case: Value = serde_json::from_str(&line).unwrap();
        n_schemas += 1;
        let fuel = Fuel::new(16_000_000);
        let Ok(compiled) = compile(&case["schema"], &SchemaConfig::default(), &fuel) else { continue };
        n_taken += 1;
        let mut recogniser = Recogniser::new(&compiled.grammar);
        for test in case["tests"].as_array().unwrap() {
            let text = written(&test["data"]);
            let (_, is_accepted) = recogniser.read(&text, &mut automata);
            if test["valid"] == true {
                n_valid += 1;
                n_accepted += usize::from(is_accepted);
            } else {
                assert!(!is_accepted, "{}: {text} is invalid, but accepted", case["id"]);
            }
        }
    }
    println!("{n_taken} of {n_schemas} schemas taken, {n_accepted} of {n_valid} valid instances accepted");
    assert!(n_taken * 2 > n_schemas, "most real schemas are taken: {n_taken} of {n_schemas}");
    assert!(n_accepted * 10 > n_valid * 8, "most valid instances are accepted: {n_accepted} of {n_valid}");
}
