//! Flexible white space, against a simple reference reader; and the output of common writers, which must be
//! in the language.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod instances;
mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use instances::spellings;
use maskwright_automata::Fuel;
use maskwright_grammar::Grammar;
use maskwright_json_schema::{Numbers, PropertyOrder, SchemaConfig, compile};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use support::{Automata, Recogniser};

/// How many values, each with a dozen texts.
fn cases() -> u32 {
    maskwright_oracle::cases(500)
}

fn grammar(schema: &Value, property_order: PropertyOrder, numbers: Numbers) -> Grammar {
    let mut config = SchemaConfig::default();
    config.property_order = property_order;
    config.numbers = numbers;
    compile(schema, &config, &Fuel::new(10_000_000)).unwrap().grammar
}

/// The kinds of flexible white space between two symbols of JSON.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Gap {
    None,
    Blank,
    Line,
}

impl Gap {
    fn of(space: &str) -> Option<Gap> {
        match space.as_bytes() {
            [] => Some(Gap::None),
            b" " => Some(Gap::Blank),
            [b'\n', indent @ ..] => {
                let is_one = indent.iter().all(|&byte| byte == b' ') && indent.len() <= 64
                    || indent.iter().all(|&byte| byte == b'\t') && indent.len() <= 32;
                is_one.then_some(Gap::Line)
            }
            _ => None,
        }
    }
}

/// Whether the white space of a JSON text is flexible, by the definition, with a stack of brackets.
fn is_flexible(text: &str) -> bool {
    let mut pads: Vec<Gap> = Vec::new();
    let mut last = None;
    let mut rest = text;
    while !rest.is_empty() {
        let symbol = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let space = &rest[..rest.len() - symbol.len()];
        let Some(gap) = Gap::of(space) else { return false };
        let next = symbol.chars().next();
        let is_right = match (last, next) {
            // Nothing around the whole text, or before a comma or colon.
            (None, _) | (_, None | Some(',' | ':')) => gap == Gap::None,
            // Empty brackets have one pad.
            (Some('{' | '['), Some('}' | ']')) => true,
            (Some('{' | '['), _) => {
                pads.push(gap);
                true
            }
            (_, Some('}' | ']')) => pads.pop().is_some_and(|open| (open == Gap::None) == (gap == Gap::None)),
            (Some(','), _) => true,
            (Some(':'), _) => gap != Gap::Line,
            _ => false,
        };
        if !is_right {
            return false;
        }
        let n_bytes = match next {
            None => 0,
            Some('"') => symbol[1..].find('"').unwrap() + 2,
            Some('{' | '}' | '[' | ']' | ',' | ':') => 1,
            Some(_) => symbol.find([' ', '\t', '\n', '\r', ',', ']', '}']).unwrap_or(symbol.len()),
        };
        last = next;
        rest = &symbol[n_bytes..];
    }
    true
}

#[test]
fn the_plain_reader_reads_what_the_definition_says() {
    let line = |n, blank: &str| format!("[\n{}1\n]", blank.repeat(n));
    for text in ["{}", "[ ]", "[\n  ]", "1", r#"{ "a": [1,2, 3], "b":[ 1 ] }"#, "[\n1,\n\t2, 3\n]", "[\n1 ]"]
    {
        assert!(is_flexible(text), "{text}");
    }
    for text in [
        "[ 1]",
        "[1 ]",
        "[\n1]",
        "[1 ,2]",
        "[1,  2]",
        r#"{"a" :1}"#,
        "{\"a\":\n1}",
        " 1",
        "[\n \t1\n]",
        "[1, \n2]",
        "[\n\n1\n]",
    ] {
        assert!(!is_flexible(text), "{text}");
    }
    assert!(is_flexible(&line(64, " ")) && is_flexible(&line(32, "\t")));
    assert!(!is_flexible(&line(65, " ")) && !is_flexible(&line(33, "\t")));
}

fn values() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![Just(json!(null)), Just(json!(7)), Just(json!("s")), Just(json!("[ ,"))];
    scalar.prop_recursive(3, 12, 3, |value| {
        prop_oneof![
            prop::collection::vec(value.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec(("[a-c]", value), 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Writes a value. The bytes of `choices` select the white space at each place, mostly as a writer would
/// write it.
fn write(value: &Value, choices: &mut impl Iterator<Item = u8>, text: &mut String) {
    let (open, close, n) = match value {
        Value::Array(items) => ('[', ']', items.len()),
        Value::Object(members) => ('{', '}', members.len()),
        scalar => return text.push_str(&scalar.to_string()),
    };
    let indents = ["\n", "\n  ", "\n\t", "\n    ", "\n \t", "\n\n"];
    let mut choose = |usual: &[&'static str]| -> &'static str {
        let choice = usize::from(choices.next().unwrap_or(0));
        let rare = ["", " ", "\n ", "  ", "\t", "\r\n"];
        if choice >= 225 { rare[choice % rare.len()] } else { usual[choice % usual.len()] }
    };
    let pad = choose(&["", " ", indents[1], indents[0], indents[2]]);
    text.push(open);
    text.push_str(pad);
    let mut parts: Vec<(Option<&str>, &Value, [&str; 4])> = Vec::new();
    for i in 0..n {
        let space =
            [choose(&[""]), choose(&["", " "]), choose(&[""]), choose(&["", " ", indents[3], indents[2]])];
        parts.push(match value {
            Value::Array(items) => (None, &items[i], space),
            _ => {
                let (key, value) = value.as_object().unwrap().iter().nth(i).unwrap();
                (Some(key), value, space)
            }
        });
    }
    let ends: &[&str] = match pad {
        "" => &[""],
        _ => &[" ", indents[0], indents[1], indents[2]],
    };
    let end = if n == 0 { "" } else { choose(ends) };
    for (i, (key, value, [before_colon, after_colon, before_comma, after_comma])) in
        parts.into_iter().enumerate()
    {
        if i > 0 {
            text.push_str(before_comma);
            text.push(',');
            text.push_str(after_comma);
        }
        if let Some(key) = key {
            text.push_str(&json!(key).to_string());
            text.push_str(before_colon);
            text.push(':');
            text.push_str(after_colon);
        }
        write(value, choices, text);
    }
    text.push_str(end);
    text.push(close);
}

/// Schemas that a value satisfies: any value, this value, and others for objects or arrays like it.
fn schemas(value: &Value) -> Vec<Value> {
    let mut schemas = vec![json!({}), json!({"const": value}), json!({"enum": [value, [], {}]})];
    match value {
        Value::Object(members) => {
            let named: Map<String, Value> =
                members.keys().take(1).map(|key| (key.clone(), json!({}))).collect();
            schemas.push(json!({"properties": named, "type": "object"}));
            schemas.push(json!({"properties": members.keys().map(|key| (key.clone(), json!({}))).collect::<Map<_, _>>(),
                "additionalProperties": false, "type": "object"}));
            schemas.push(json!({"type": "object", "patternProperties": {"^[a-z]$": {}}, "unevaluatedProperties": false}));
            schemas.push(
                json!({"type": "object", "minProperties": members.len(), "maxProperties": members.len()}),
            );
        }
        Value::Array(items) => {
            schemas.push(json!({"type": "array", "prefixItems": [{}], "items": {}}));
            schemas.push(json!({"type": "array", "contains": {}, "minContains": items.len(), "maxContains": items.len()}));
            schemas.push(json!({"type": "array", "minItems": items.len(), "maxItems": items.len()}));
            if items.iter().enumerate().all(|(i, item)| !items[..i].contains(item)) {
                schemas.push(json!({"type": "array", "uniqueItems": true}));
            }
        }
        _ => {}
    }
    schemas
}

/// Of the texts of a value, every schema of it has exactly those with flexible white space.
#[test]
fn white_space_is_flexible_iff_the_plain_reader_says_so() {
    let (n_flexible, n_others) = (AtomicU32::new(0), AtomicU32::new(0));
    let strategy = (values(), prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 12));
    let config = ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() };
    let result = TestRunner::new(config).run(&strategy, |(value, choices)| {
        let mut texts = spellings(&value);
        for choices in choices {
            let mut text = String::new();
            write(&value, &mut choices.into_iter(), &mut text);
            texts.push(text);
        }
        let mut automata = Automata::default();
        for schema in schemas(&value) {
            for order in [PropertyOrder::Schema, PropertyOrder::Any] {
                let grammar = grammar(&schema, order, Numbers::Any);
                let mut recogniser = Recogniser::new(&grammar);
                for text in &texts {
                    let is_flexible = is_flexible(text);
                    let (_, is_in) = recogniser.read(text, &mut automata);
                    prop_assert_eq!(is_in, is_flexible, "{} {:?} {}", schema, order, text);
                    let n = if is_flexible { &n_flexible } else { &n_others };
                    n.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    });
    result.unwrap();
    let (n_flexible, n_others) = (n_flexible.into_inner(), n_others.into_inner());
    println!("{n_flexible} texts are flexible, {n_others} are not");
    assert!(n_flexible >= cases() * 50 && n_others >= cases() * 10, "{n_flexible} and {n_others}");
}

/// The value of each accepted text of the test data is also accepted as Python and JavaScript would write it.
#[test]
fn values_may_be_written_as_usual_writers_do() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/json-schema");
    let mut automata = Automata::default();
    let (mut n_texts, mut refused) = (0, Vec::new());
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let has_setting = |key: &str| case.get(key).is_some();
            let settings = [
                "whitespace",
                "style",
                "error",
                "lenient",
                "max_number_digits",
                "max_indent",
                "max_alternatives",
            ];
            if settings.into_iter().any(has_setting) {
                continue;
            }
            let is_any_order = case["property_order"] == "any";
            let grammar = grammar(
                &case["schema"],
                if is_any_order { PropertyOrder::Any } else { PropertyOrder::Schema },
                if case["numbers"] == "any" { Numbers::Any } else { Numbers::Plain },
            );
            let mut recogniser = Recogniser::new(&grammar);
            for text in case["yes"].as_array().into_iter().flatten().map(|text| text.as_str().unwrap()) {
                for text in spellings(&serde_json::from_str(text).unwrap()) {
                    n_texts += 1;
                    if !recogniser.read(&text, &mut automata).1 {
                        refused.push(format!("{}: {}: {text}", path.display(), case["name"]));
                    }
                }
            }
        }
    }
    assert!(n_texts > 2_000, "only {n_texts} texts");
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}
