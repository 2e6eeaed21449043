//! Tags made to exhaust: a located error or a correct run, within the fuel.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

mod support;

use maskwright_automata::{CancelToken, Fuel};
use maskwright_grammar::SpecialNames;
use maskwright_json_schema::SchemaConfig;
use maskwright_tags::{CompiledTag, TagError, compile, compile_str};
use serde_json::{Value, json};
use support::Session;

const FUEL: u64 = 16_000_000;

fn compiled(format: &Value) -> Result<CompiledTag, TagError> {
    compile(&json!({"format": format}), &SchemaConfig::default(), &SpecialNames::default(), &Fuel::new(FUEL))
}

fn accepts(format: &Value, text: &str) -> bool {
    let session = Session::new(&[]);
    session.is_text(&session.compile(compiled(format).unwrap().grammar), &json!(text))
}

#[test]
fn deep_nesting_is_refused() {
    let nested = |depth: usize| {
        (0..depth).fold(
            json!({"type": "const_string", "value": "a"}),
            |inner, _| json!({"type": "optional", "content": inner}),
        )
    };
    assert!(accepts(&nested(99), "a"));
    let error = compiled(&nested(100)).unwrap_err();
    assert!(error.is_limit() && error.pointer().matches("/content").count() == 100, "{error}");
    let text = r#"{"type":"star","content":"#.repeat(10_000) + "1" + &"}".repeat(10_000);
    let text = format!(r#"{{"format":{text}}}"#);
    let error =
        compile_str(&text, "tag", &SchemaConfig::default(), &SpecialNames::default(), &Fuel::new(FUEL))
            .unwrap_err();
    assert!(error.is_syntax() && error.to_string().contains("recursion limit exceeded at line 1"), "{error}");
}

/// Each level doubles what a tree of its parts would have.
#[test]
fn sequences_of_choices_stay_small() {
    let format = (0..40).fold(json!({"type": "const_string", "value": "a"}), |inner, _| {
        json!({"type": "or", "elements": [
            {"type": "sequence", "elements": [inner, {"type": "const_string", "value": "b"}]},
            {"type": "const_string", "value": "c"}
        ]})
    });
    assert!(accepts(&format, &format!("a{}", "b".repeat(40))) && !accepts(&format, "ab"));
    // Free text with calls after free text with calls: each has what comes after it in two places.
    let calls =
        json!({"type": "dispatch", "rules": [["<", {"type": "const_string", "value": ">"}]], "loop": false});
    let format = json!({"type": "sequence", "elements": vec![calls; 2_000]});
    let grammar = compiled(&format).unwrap().grammar;
    assert!(grammar.pool().len() < 20_000, "{} expressions", grammar.pool().len());
}

#[test]
fn many_triggers_and_tags() {
    let tags: Vec<Value> = (0..5_000)
        .map(|i| json!({"begin": format!("<f={i}>"), "content": {"type": "any_text"}, "end": "</f>"}))
        .collect();
    let format = json!({"type": "triggered_tags", "triggers": ["<f="], "tags": tags});
    assert!(accepts(&format, "x<f=4999>y</f>z") && !accepts(&format, "x<f=5000>y</f>z"));
    let rules: Vec<Value> =
        (0..5_000).map(|i| json!([format!("<{i}>"), {"type": "const_string", "value": "!"}])).collect();
    let format = json!({"type": "dispatch", "rules": rules});
    assert!(accepts(&format, "<17>!<5000><4999>!") && !accepts(&format, "<17>"));
    let triggers: Vec<String> = (0..2_000).map(|i| format!("<{i}>")).collect();
    let tags: Vec<Value> = (0..2_000)
        .map(|i| json!({"begin": format!("<{i}>"), "content": {"type": "any_text"}, "end": "."}))
        .collect();
    let format = json!({"type": "triggered_tags", "triggers": triggers, "tags": tags});
    assert!(accepts(&format, "<1999>x."));
}

/// All suffixes of such needles are prefixes of others.
#[test]
fn needles_that_overlap_everywhere_are_paid_for() {
    let long = "a".repeat(60);
    let format = json!({"type": "dispatch", "rules": [[long, {"type": "const_string", "value": "!"}]], "excludes": [format!("{long}b")]});
    assert!(accepts(&format, &format!("{long}!")) && !accepts(&format, &format!("a{long}!")));
    for format in [
        json!({"type": "dispatch", "rules": [["a".repeat(1_025), {"type": "any_text"}]]}),
        json!({"type": "any_text", "excludes": ["b", "a".repeat(1_025)]}),
    ] {
        let error = compiled(&format).unwrap_err();
        assert!(error.is_limit() && error.to_string().contains("1024"), "{error}");
    }
    let rules: Vec<Value> =
        (0..100).map(|i| json!([format!("{}{i:03}", "a".repeat(1_000)), {"type": "any_text"}])).collect();
    assert!(compiled(&json!({"type": "dispatch", "rules": rules})).unwrap_err().is_limit());
}

#[test]
fn huge_counts() {
    let most = i32::MAX;
    for format in [
        json!({"type": "any_text", "max_chars": most, "excludes": ["ab"]}),
        json!({"type": "repeat", "min": 0, "max": most, "content": {"type": "const_string", "value": "x"}}),
        json!({"type": "repeat", "min": 0, "max": most, "content": {"type": "json_schema", "json_schema": {"const": "x"}}}),
        json!({"type": "any_tokens", "max_tokens": most}),
    ] {
        compiled(&format).unwrap();
    }
    assert!(accepts(
        &json!({"type": "any_text", "max_chars": most, "excludes": ["ab"]}),
        "aab".get(..2).unwrap()
    ));
    let error = compiled(&json!({"type": "any_text", "max_chars": u64::from(u32::MAX)})).unwrap_err();
    assert_eq!(error.pointer(), "/format/max_chars");
}

#[test]
fn work_is_limited_and_can_be_cancelled() {
    let schema = json!({"type": "json_schema", "json_schema": {"type": "object", "properties": {"a": {"type": "string"}}}});
    let document = json!({"format": {"type": "sequence", "elements": vec![schema; 100]}});
    let config = SchemaConfig::default();
    let error = compile(&document, &config, &SpecialNames::default(), &Fuel::new(500)).unwrap_err();
    assert!(error.is_limit() && error.pointer().starts_with("/format/elements/"), "{error}");
    let token = CancelToken::new();
    token.cancel();
    let error = compile(&document, &config, &SpecialNames::default(), &Fuel::unlimited().with_cancel(token))
        .unwrap_err();
    assert!(error.is_cancelled(), "{error}");
}
