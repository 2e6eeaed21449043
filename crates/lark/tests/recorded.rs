//! Grammars of testdata/lark against what Lark itself makes of them, recorded beside them: the terminals of
//! its basic lexer in their order, and which sequences of tokens its Earley parser accepts.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod common;

use common::{Recognizer, load, testdata};
use serde_json::{Value, json};

#[test]
fn operators() {
    check("operators");
}

#[test]
fn terminals() {
    check("terminals");
}

#[test]
fn templates() {
    check("templates");
}

#[test]
fn imports() {
    check("imports");
}

fn check(name: &str) {
    let grammar = load(&testdata().join(format!("{name}.lark")), None).unwrap();
    let recorded = std::fs::read_to_string(testdata().join(format!("{name}.json"))).unwrap();
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    let terminals = grammar.lexed.terminals.iter().zip(&grammar.regexps);
    let ours: Vec<Value> = terminals
        .map(|(terminal, regexp)| {
            let (min, max) = (terminal.pattern.min_width(), terminal.pattern.max_width());
            json!([terminal.name, terminal.priority, regexp, min, max, terminal.string.is_some()])
        })
        .collect();
    assert_eq!(ours, *recorded["terminals"].as_array().unwrap());
    let mut ignored: Vec<&str> =
        grammar.lexed.ignored.iter().map(|id| &*grammar.lexed.terminals[id.index()].name).collect();
    ignored.sort_unstable();
    assert_eq!(json!(ignored), recorded["ignored"]);

    let recognizer = Recognizer::new(&grammar.lexed);
    let sequences = recorded["sequences"].as_array().unwrap();
    assert!(sequences.iter().any(|case| case[0] == true) && sequences.iter().any(|case| case[0] == false));
    for case in sequences {
        let tokens: Vec<&str> = case[1].as_str().unwrap().split_whitespace().collect();
        assert_eq!(json!(recognizer.accepts(&tokens)), case[0], "{name}: {tokens:?}");
    }
}
