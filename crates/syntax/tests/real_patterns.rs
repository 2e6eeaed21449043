//! Every pattern found in published schemas: taken or refused for a good reason, and, against an independent
//! ECMA-262 engine, of the same meaning.

#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at what it did not expect, and says what it did"
)]

mod common;

use common::{Random, matches, shared, texts};
use maskwright_automata::Fuel;
use maskwright_syntax::regex::{Dialect, parse, parse_search};

/// A few patterns of the kinds that schemas have, for where the data is not.
const OWN: &[&str] = &[
    r"^[a-zA-Z][a-zA-Z0-9-]*[a-zA-Z0-9]?$",
    r"^(?!x$)\w+",
    r"(\+)\d+",
    r"^$|^[A-Z]\s*$",
    r"\b\d{3}\b",
    r"^((?!ab)(?!Ab).)*$",
    r"^([^,]+(,|$)){3,}$",
    r"^([\da-z](?:(?!.*--)[\da-z-]*[\da-z])?)$",
];

fn patterns() -> Vec<String> {
    let mut patterns: Vec<String> = OWN.iter().map(|pattern| (*pattern).to_owned()).collect();
    if let Some(path) = shared("data/regexes.jsonl") {
        for line in std::fs::read_to_string(path).unwrap().lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            patterns.push(line["pattern"].as_str().unwrap().to_owned());
        }
    }
    patterns
}

#[test]
fn nearly_all_are_taken() {
    let patterns = patterns();
    let mut refused = Vec::new();
    for pattern in &patterns {
        if let Err(error) = parse_search(pattern, Dialect::Ecma, &Fuel::new(1 << 20)) {
            refused.push((pattern, error));
        }
    }
    for (pattern, error) in &refused {
        eprintln!("refused: {pattern}: {}", error.message());
    }
    eprintln!("{} of {} patterns refused", refused.len(), patterns.len());
    assert!(refused.len() * 100 < patterns.len());
}

#[test]
fn meaning_is_that_of_an_independent_engine() {
    let mut n_checked = 0;
    let mut wrong = Vec::new();
    for (seed, pattern) in patterns().iter().enumerate() {
        let Ok(found) = parse_search(pattern, Dialect::Ecma, &Fuel::new(1 << 20)) else { continue };
        let whole = parse(pattern, Dialect::Ecma, &Fuel::new(1 << 20)).unwrap();
        let strict = regress::Regex::with_flags(pattern, "u");
        // Many published patterns escape what the `u` flag wants bare.
        let Ok(engine) = strict.or_else(|_| regress::Regex::new(pattern)) else {
            eprintln!("the other engine refuses {pattern}");
            continue;
        };
        for text in texts(pattern, &[&found, &whole], 8, &mut Random::new(seed as u64)) {
            if text.len() > 120 {
                continue;
            }
            n_checked += 1;
            if matches(&found, text.as_bytes()) != engine.find(&text).is_some() {
                wrong.push((pattern.clone(), text));
            }
        }
    }
    eprintln!("{n_checked} texts checked");
    assert!(wrong.is_empty(), "{} differ: {:#?}", wrong.len(), &wrong[..wrong.len().min(20)]);
    assert!(n_checked > 50);
}
