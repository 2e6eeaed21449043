//! Real schemas with valid and invalid instances (MaskBench), replayed on the compiled grammars.
//!
//! The data lies outside the project (`MASKWRIGHT_SHARED`); without it, one line says so. Every twentieth
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

#[test]
fn invalid_instances_of_real_schemas_are_refused() {
    let shared = std::env::var_os("MASKWRIGHT_SHARED").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let folder = shared.join("data/maskbench");
    let Ok(files) = std::fs::read_dir(&folder) else {
        println!("no data at {}: the replay of real schemas is left out", folder.display());
        return;
    };
    let mut automata = Automata::default();
    let (mut n_schemas, mut n_taken, mut n_valid, mut n_accepted) = (0, 0, 0, 0);
    let mut files: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    let lines = files.iter().flat_map(|file| {
        let text = std::fs::read_to_string(file).unwrap();
        text.lines().map(String::from).collect::<Vec<_>>()
    });
    for line in lines.step_by(EVERY) {
        let case: Value = serde_json::from_str(&line).unwrap();
        n_schemas += 1;
        let fuel = Fuel::new(50_000_000);
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
