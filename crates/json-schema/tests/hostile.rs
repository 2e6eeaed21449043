//! Schemas made to exhaust: a located error or a correct run. (Time and memory are measured elsewhere.)

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod support;

use maskwright_automata::{CancelToken, Fuel};
use maskwright_json_schema::{CompiledSchema, SchemaConfig, SchemaError, Status, compile, compile_str};
use serde_json::{Value, json};
use support::{Automata, Recogniser};

const FUEL: u64 = 16_000_000;

fn compiled(schema: &Value) -> Result<CompiledSchema, SchemaError> {
    compile(schema, &SchemaConfig::default(), &Fuel::new(FUEL))
}

fn accepts(schema: &Value, text: &str) -> bool {
    let compiled = compiled(schema).unwrap();
    Recogniser::new(&compiled.grammar).read(text, &mut Automata::default()).1
}

#[test]
fn deeply_nested_documents_are_refused() {
    let schema = r#"{"items":"#.repeat(10_000) + "true" + &"}".repeat(10_000);
    let error = compile_str(&schema, &SchemaConfig::default(), &Fuel::new(FUEL)).unwrap_err();
    assert!(error.to_string().contains("recursion limit exceeded at line 1"), "{error}");
}

#[test]
fn an_enum_of_many_strings() {
    let words: Vec<String> = (0..100_000).map(|i| format!("word {i}")).collect();
    let schema = json!({"enum": words});
    assert!(accepts(&schema, "\"word 99999\""));
    assert!(!accepts(&schema, "\"word 100000\""));
    let filtered = json!({"enum": words, "type": "string", "minLength": 10, "pattern": "9$"});
    assert!(accepts(&filtered, "\"word 99999\"") && !accepts(&filtered, "\"word 9999\""));
}

#[test]
fn an_object_of_many_properties() {
    let properties: serde_json::Map<String, Value> =
        (0..10_000).map(|i| (format!("p{i}"), json!({"type": "null"}))).collect();
    let schema = json!({"type": "object", "properties": properties, "required": ["p9999"]});
    let grammar = compiled(&schema).unwrap().grammar;
    assert!(grammar.pool().len() < 100_000, "{} expressions", grammar.pool().len());
    assert!(accepts(&schema, r#"{"p5": null, "p77": null, "p9999": null, "q": 1}"#));
    assert!(!accepts(&schema, r#"{"p77": null, "p5": null, "p9999": null}"#));
}

#[test]
fn huge_lengths() {
    let schema = json!({"type": "string", "maxLength": 1_000_000});
    assert!(accepts(&schema, "\"abc\""));
    let error = compiled(&json!({"type": "string", "minLength": 5_000_000_000u64})).unwrap_err();
    assert!(error.is_limit() && error.keyword() == Some("minLength"), "{error}");
}

#[test]
fn patterns_that_ruin_backtracking() {
    let schema = json!({"type": "string", "pattern": "^(a+)+$"});
    assert!(accepts(&schema, &format!("\"{}\"", "a".repeat(5_000))));
    assert!(!accepts(&schema, &format!("\"{}!\"", "a".repeat(5_000))));
}

#[test]
fn a_long_chain_of_references() {
    let mut definitions = serde_json::Map::new();
    for i in 0..20_000 {
        let next = format!("#/definitions/d{}", i + 1);
        definitions.insert(format!("d{i}"), json!({"type": "array", "items": {"$ref": next}}));
    }
    definitions.insert("d20000".into(), json!({"type": "null"}));
    let schema = json!({"definitions": definitions, "$ref": "#/definitions/d0"});
    assert!(accepts(&schema, "[[[[]], []]]"));
    assert!(!accepts(&schema, "[[[null]]]"));
}

#[test]
fn a_long_chain_without_a_step_into_the_instance_is_refused() {
    let mut definitions = serde_json::Map::new();
    for i in 0..10_000 {
        definitions
            .insert(format!("d{i}"), json!({"allOf": [{"$ref": format!("#/definitions/d{}", i + 1)}]}));
    }
    definitions.insert("d10000".into(), json!({"type": "null"}));
    let error = compiled(&json!({"definitions": definitions, "$ref": "#/definitions/d0"})).unwrap_err();
    assert!(error.is_limit() && error.to_string().contains("deep"), "{error}");
}

#[test]
fn multiplied_alternatives_are_limited() {
    let choice = |name: &str| json!({"anyOf": [{"required": [format!("{name}1")]}, {"required": [format!("{name}2")]}]});
    let branches: Vec<Value> = (0..40).map(|i| choice(&format!("n{i}"))).collect();
    let error = compiled(&json!({"type": "object", "allOf": branches})).unwrap_err();
    assert!(error.is_limit() && error.to_string().contains("alternatives"), "{error}");
}

#[test]
fn work_ends_with_the_fuel_and_on_request() {
    let schema = json!({"type": "object", "properties": {"a": {"enum": vec!["x"; 1_000]}}});
    let error = compile(&schema, &SchemaConfig::default(), &Fuel::new(100)).unwrap_err();
    assert!(error.is_limit() && !error.is_cancelled());
    let token = CancelToken::new();
    token.cancel();
    let error = compile(&schema, &SchemaConfig::default(), &Fuel::new(FUEL).with_cancel(token)).unwrap_err();
    assert!(error.is_cancelled() && !error.is_limit());
}

#[test]
fn what_is_not_enforced_is_reported() {
    let schema = json!({"type": ["string", "array"], "format": "colour", "uniqueItems": true, "minItems": 2, "items": {"type": "string", "pattern": "x"}, "hint": 1});
    let error = compiled(&schema).unwrap_err();
    assert!(error.is_unsupported() && error.keyword() == Some("uniqueItems"));
    let mut config = SchemaConfig::default();
    config.strict = false;
    let report = compile(&schema, &config, &Fuel::new(FUEL)).unwrap().report;
    let told: Vec<String> = report
        .entries()
        .map(|entry| {
            let status = match entry.status {
                Status::Enforced => "enforced",
                Status::Annotation => "annotation",
                _ => "not enforced",
            };
            format!("{} {} {status}", entry.pointer, entry.keyword)
        })
        .collect();
    let expected = [
        " type enforced",
        " format annotation",
        " uniqueItems not enforced",
        " minItems enforced",
        " items enforced",
        "/items type enforced",
        "/items pattern enforced",
        " hint annotation",
    ];
    assert_eq!(told, expected);
    assert!(!report.is_complete());
}

#[test]
fn combinations_that_multiply_end_in_a_located_limit() {
    let overlapping: Vec<Value> =
        (0..10_000).map(|i| json!({"properties": {format!("p{i}"): {"type": "null"}}})).collect();
    let all_of: Vec<Value> = (0..50)
        .map(|i| json!({"anyOf": [{"required": [format!("a{i}")]}, {"minProperties": i}, {"maxProperties": i}]}))
        .collect();
    let denied: Vec<Value> = (0..40)
        .map(|i| json!({"not": {"properties": {format!("a{i}"): {"type": "null"}}, "additionalProperties": {"type": "string"}}}))
        .collect();
    let patterns: serde_json::Map<String, Value> =
        (0..40).map(|i| (format!("a.{{{i}}}b"), json!({"minimum": i}))).collect();
    for schema in [
        json!({"oneOf": overlapping}),
        json!({"allOf": all_of}),
        json!({"allOf": denied}),
        json!({"patternProperties": patterns}),
        json!({"type": "array", "contains": {"const": 1}, "minContains": 1_000_000}),
        json!({"type": "object", "minProperties": 1_000_000, "maxProperties": 2_000_000, "properties": {"a": true}}),
    ] {
        if let Err(error) = compiled(&schema) {
            assert!(error.is_limit(), "{error}");
        }
    }
}

#[test]
fn complements_of_recursive_schemas_end() {
    let schema = json!({
        "$defs": {"d": {
            "properties": {"a": {"$ref": "#/$defs/d"}, "b": {"not": {"$ref": "#/$defs/d"}}},
            "oneOf": [{"required": ["a"]}, {"properties": {"b": {"not": {"$ref": "#/$defs/d"}}}}],
        }},
        "not": {"$ref": "#/$defs/d"},
    });
    match compiled(&schema) {
        Ok(compiled) => assert!(compiled.grammar.rules().len() > 0),
        Err(error) => assert!(error.is_limit(), "{error}"),
    }
}

/// Without being strict a schema is read again and again, each time without what failed: all of that is paid
/// for by one supply of fuel, and ends in an answer or in the error that it is spent.
#[test]
fn what_is_not_strict_ends_with_the_fuel() {
    let choice = |i: usize, n: usize| {
        let branches: Vec<Value> = (0..n).map(|j| json!({"required": [format!("k{i}_{j}")]})).collect();
        json!({"anyOf": branches})
    };
    let patterns: serde_json::Map<String, Value> =
        (0..3_000).map(|i| (format!("p{i}"), json!({"pattern": format!("(a{i})\\1")}))).collect();
    let unions: Vec<Value> = (0..400).map(|i| choice(i, 3)).collect();
    let exclusive: Vec<Value> = (0..40).map(|i| json!({"properties": {format!("a{i}"): {"pattern": "(a)\\1"}, format!("b{i}"): {"type": "null"}}})).collect();
    let chain = (0..100).fold(json!({"type": "null"}), |inner, _| json!({"not": {"not": inner}}));
    let mut config = SchemaConfig::default();
    config.strict = false;
    let mut n_taken = 0;
    for schema in [
        json!({"properties": patterns}),
        json!({"allOf": unions}),
        json!({"oneOf": exclusive}),
        json!({"not": {"allOf": unions}}),
        chain,
    ] {
        match compile(&schema, &config, &Fuel::new(FUEL)) {
            Ok(compiled) => {
                assert!(!compiled.report.is_complete());
                n_taken += 1;
            }
            Err(error) => assert!(error.to_string().contains("more work than the limit"), "{error}"),
        }
    }
    assert!(n_taken >= 3, "only {n_taken} were taken");
}
