//! The masks of `testdata/masks`, which are the same in every language, by the three C interfaces.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]
#![cfg(unix)]

mod support;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use maskwright::bindings;
use serde_json::Value;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/masks").join(name)
}

fn hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}

/// Runs a program on all pairs; returns what it prints for each, and what the record has.
fn run(name: &str, arguments: &[PathBuf]) -> Vec<(String, Value)> {
    let folder = tempfile::tempdir().unwrap();
    let source = support::source(&format!("{name}.c"));
    // dlopen is not of C99.
    let Some(program) = support::program(folder.path(), "cc", "-std=gnu99", &source) else {
        return Vec::new();
    };
    let pairs: Vec<Value> = std::fs::read_to_string(data("pairs.jsonl"))
        .unwrap()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let mut lines = String::new();
    for pair in &pairs {
        let [kind, source] = ["kind", "source"].map(|name| pair[name].as_str().unwrap());
        let options = pair["options"].to_string();
        let exported = bindings::exported(&bindings::source(kind, source, &options).unwrap()).unwrap();
        let tokens: Vec<String> =
            pair["tokens"].as_array().unwrap().iter().map(ToString::to_string).collect();
        let (source, options, exported) = (hex(source), hex(&options), hex(&exported));
        writeln!(lines, "{kind}\n{source}\n{options}\n{exported}\n{}", tokens.join(" ")).unwrap();
    }
    let given = folder.path().join("pairs.txt");
    std::fs::write(&given, lines).unwrap();
    let printed =
        support::output(Command::new(program).arg(data("vocabulary.txt")).arg(&given).args(arguments));
    let printed: Vec<String> = printed.lines().map(str::to_owned).collect();
    assert_eq!(printed.len(), pairs.len());
    printed.into_iter().zip(pairs).collect()
}

#[test]
fn of_maskwright_h() {
    for (masks, pair) in run("pairs_native", &[]) {
        assert_eq!(masks, pair["masks"], "{pair}");
    }
}

#[test]
fn of_llguidance_h() {
    for (masks, pair) in run("pairs_llguidance", &[]) {
        assert_eq!(masks, pair["masks"], "{pair}");
    }
}

/// JSON Schemas, which is all that Ollama has, by a library that is opened as Ollama does.
#[test]
fn of_ollama() {
    let all = run("pairs_ollama", &[support::library()]);
    let judged: Vec<_> = all.iter().filter(|(masks, _)| !masks.is_empty()).collect();
    assert!(all.is_empty() || judged.len() > 150, "{}", judged.len());
    for (masks, pair) in judged {
        assert_eq!(*masks, pair["masks"], "{pair}");
    }
}
