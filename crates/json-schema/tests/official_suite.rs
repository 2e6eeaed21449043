//! The official JSON Schema test suite: what is taken must be right.
//!
//! The data lies outside the project (`MASKWRIGHT_SHARED`); without it, one line says so and a
//! made-up group stands in.

mod instances;
mod support;

use std::path::{Path, PathBuf};

use instances::written;
use maskwright_automata::Fuel;
use maskwright_json_schema::{Numbers, PropertyOrder, SchemaConfig, compile};
use serde_json::{Value, json};
use support::{Automata, Recogniser};

/// Valid instances that are refused: their keys are in another order than the schema's, their constants are
/// written in another way than the schema's (`1.0` for `1`), or a metaschema of the document's own switches
/// validation off.
const OTHER_FORM: &[&str] = &[
    "\"allOf\": \"allOf\"",
    "\"allOf with base schema\": \"valid\"",
    "\"with dependency\"",
    "\"with dependencies\"",
    "\"quoted quotes\"",
    // Formats are asserted here.
    "is only an annotation by default",
    "same object with different property order is valid",
    "float zero is valid",
    "float one is valid",
    "[0.0] is valid",
    "[1.0] is valid",
    "float and integers are equal up to 64-bit representation limits",
    "no validation: invalid number, but it still validates",
];

/// What a file of the suite looks like.
const MADE_UP: &str = r#"[{"description": "made up", "schema": {"maximum": 3}, "tests": [{"description": "below", "data": 2.5, "valid": true}, {"description": "above", "data": 3.5, "valid": false}]}]"#;

#[test]
fn schemas_of_the_official_suite_are_exact_or_refused() {
    let folder = maskwright_oracle::shared("data/json-schema-test-suite");
    let mut automata = Automata::default();
    let (mut n_groups, mut n_taken, mut n_tests) = (0, 0, 0);
    let mut refused = Vec::new();
    for (draft, uri) in [
        ("draft4", "http://json-schema.org/draft-04/schema#"),
        ("draft6", "http://json-schema.org/draft-06/schema#"),
        ("draft7", "http://json-schema.org/draft-07/schema#"),
        ("draft2019-09", "https://json-schema.org/draft/2019-09/schema"),
        ("draft2020-12", "https://json-schema.org/draft/2020-12/schema"),
    ] {
        let texts = match &folder {
            Some(folder) => {
                files(folder, draft).iter().map(|file| std::fs::read_to_string(file).unwrap()).collect()
            }
            None => vec![MADE_UP.to_string()],
        };
        for text in texts {
            let groups: Value = serde_json::from_str(&text).unwrap();
            for group in groups.as_array().unwrap() {
                n_groups += 1;
                let mut schema = group["schema"].clone();
                if let Value::Object(schema) = &mut schema {
                    schema.entry("$schema").or_insert(json!(uri));
                }
                let mut config = SchemaConfig::default();
                config.property_order = PropertyOrder::Any;
                config.numbers = Numbers::Any;
                let compiled = match compile(&schema, &config, &Fuel::new(10_000_000)) {
                    Ok(compiled) => Some(compiled),
                    Err(error) if error.is_unsatisfiable() => None,
                    Err(_) => continue,
                };
                n_taken += 1;
                let mut recogniser = compiled.as_ref().map(|compiled| Recogniser::new(&compiled.grammar));
                for test in group["tests"].as_array().unwrap() {
                    n_tests += 1;
                    let text = written(&test["data"]);
                    let is_accepted = match &mut recogniser {
                        Some(recogniser) => recogniser.read(&text, &mut automata).1,
                        None => false,
                    };
                    let name = format!("{draft}: {}: {}", group["description"], test["description"]);
                    if test["valid"] == true {
                        if !is_accepted && !OTHER_FORM.iter().any(|known| name.contains(known)) {
                            refused.push(format!("{name}: {text}"));
                        }
                    } else {
                        assert!(!is_accepted, "{name}: {text} is invalid, but accepted; schema {schema}");
                    }
                }
            }
        }
    }
    println!("{n_taken} of {n_groups} groups taken, {n_tests} tests");
    assert!(refused.is_empty(), "valid, but refused:\n{}", refused.join("\n"));
}

fn files(folder: &Path, draft: &str) -> Vec<PathBuf> {
    let folder =
        [folder.join("tests").join(draft), folder.join(draft)].into_iter().find(|folder| folder.is_dir());
    let entries = std::fs::read_dir(folder.expect("the suite has every draft")).expect("readable");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}
