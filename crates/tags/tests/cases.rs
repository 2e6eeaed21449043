//! The cases of `testdata/tags`: structural tags with texts that are complete and texts that are not, or with
//! the error they get. A text is a string, read byte by byte, or a list in which `["<think>"]` is the one
//! token of that spelling.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod support;

use std::collections::BTreeMap;

use maskwright_automata::Fuel;
use maskwright_grammar::SpecialNames;
use maskwright_json_schema::{SchemaConfig, Status, Whitespace};
use maskwright_tags::{CompiledTag, TagError, compile_str};
use serde_json::{Value, json};
use support::Session;

#[test]
fn every_case_is_as_told() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/tags/cases.jsonl");
    let session = Session::new(&["<think>", "</think>", "<tool>"]);
    let mut wrong = Vec::new();
    let mut n_cases = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let case: Value = serde_json::from_str(line).unwrap();
        n_cases += 1;
        let mut document = case["document"].clone();
        if document.is_null() {
            document = json!({"type": "structural_tag", "format": case["format"]});
        }
        let mut config = SchemaConfig::default();
        config.strict = case["lenient"] != true;
        if case["whitespace"] == "any" {
            config.whitespace = Whitespace::Any;
        }
        let compiled = compile_str(
            &document.to_string(),
            "tag",
            &config,
            &SpecialNames::default(),
            &Fuel::new(1_000_000),
        );
        let found = match (compiled, &case["error"]) {
            (Ok(compiled), Value::Null) => judge(&compiled, &case, &session),
            (Ok(_), _) => vec!["no error".to_owned()],
            (Err(error), Value::Null) => vec![error.to_string()],
            (Err(error), told) if is_told(&error, told) => Vec::new(),
            (Err(error), _) => vec![format!("another error: {error:?}")],
        };
        wrong.extend(found.into_iter().map(|found| format!("{}: {found}", case["name"])));
    }
    assert!(n_cases >= 45, "only {n_cases} cases");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is wrong with a tag that compiles.
fn judge(compiled: &CompiledTag, case: &Value, session: &Session) -> Vec<String> {
    let mut wrong = Vec::new();
    let grammar = session.compile(compiled.grammar.clone());
    for (key, is_text) in [("yes", true), ("no", false)] {
        for text in case[key].as_array().into_iter().flatten() {
            if session.is_text(&grammar, text) != is_text {
                wrong.push(format!("{text} should be a `{key}`"));
            }
        }
    }
    let entry = |pointer: &str, keyword: &str| format!("{pointer} {keyword}");
    if let Some(told) = case["report"].as_array() {
        let entries: Vec<String> =
            compiled.report.entries().map(|found| entry(&found.pointer, found.keyword)).collect();
        if told.iter().map(|told| told.as_str().unwrap()).ne(&entries) {
            wrong.push(format!("the report has {entries:?}"));
        }
    }
    let refused = compiled.report.entries().filter_map(|found| match found.status {
        Status::NotEnforced { reason } => Some((entry(&found.pointer, found.keyword), reason.to_string())),
        _ => None,
    });
    let refused: BTreeMap<String, String> = refused.collect();
    let told: Vec<(&String, &Value)> = case["not_enforced"].as_object().into_iter().flatten().collect();
    let is_told = |(key, says): &(&String, &Value)| {
        refused.get(*key).is_some_and(|reason| reason.contains(says.as_str().unwrap()))
    };
    if refused.len() != told.len() || !told.iter().all(is_told) {
        wrong.push(format!("not enforced are {refused:?}"));
    }
    wrong
}

fn is_told(error: &TagError, told: &Value) -> bool {
    let number = |key: &str| told[key].as_u64().map(|number| number as usize);
    told["pointer"] == error.pointer()
        && told["keyword"].as_str() == error.keyword()
        && error.to_string().contains(told["says"].as_str().unwrap())
        && told["hint"].as_str().is_none_or(|hint| error.hint().is_some_and(|given| given.contains(hint)))
        && (number("line"), number("column")) == (error.line(), error.column())
        && !error.is_limit()
}

#[test]
fn a_wrong_outcome_is_noticed() {
    let session = Session::new(&[]);
    let tag = r#"{"format": {"type": "const_string", "value": "a"}}"#;
    let compiled =
        compile_str(tag, "tag", &SchemaConfig::default(), &SpecialNames::default(), &Fuel::unlimited())
            .unwrap();
    for case in [json!({"yes": ["b"]}), json!({"no": ["a"]}), json!({"report": ["/format x"]})] {
        assert_eq!(judge(&compiled, &case, &session).len(), 1, "{case}");
    }
    assert_eq!(judge(&compiled, &json!({"yes": ["a"], "no": ["", "ab"], "report": []}), &session), [""; 0]);
    let error =
        compile_str("{}", "tag", &SchemaConfig::default(), &SpecialNames::default(), &Fuel::unlimited())
            .unwrap_err();
    assert!(is_told(&error, &json!({"pointer": "", "says": "`format`"})));
    for told in [
        json!({"pointer": "/format", "says": "`format`"}),
        json!({"pointer": "", "says": "`fromat`"}),
        json!({"pointer": "", "says": "`format`", "line": 1, "column": 1}),
    ] {
        assert!(!is_told(&error, &told), "{told}");
    }
}
