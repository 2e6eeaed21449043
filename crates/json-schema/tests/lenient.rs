//! Random schemas with keywords that cannot be enforced, and small limits: what is not strict lets every
//! valid value pass, and says what it leaves out.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod instances;
mod judge;
mod support;

use std::cell::Cell;
use std::collections::BTreeSet;

use instances::written;
use judge::{is_valid, orders, schemas, values};
use maskwright_automata::Fuel;
use maskwright_json_schema::{Numbers, PropertyOrder, SchemaConfig, SchemaLimits, Status, compile};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use support::{Automata, Recogniser};

/// Whether a keyword is one that cannot be enforced anywhere.
fn is_poison(keyword: &str, value: &Value) -> bool {
    match keyword {
        "pattern" => value.as_str().is_some_and(|pattern| pattern.starts_with('(')),
        "multipleOf" => *value == json!(999_983) || *value == json!(0.000_071_31),
        "patternProperties" => value.get(r"([xyz])\1").is_some(),
        _ => false,
    }
}

/// The schema without its poison: a part that is left out counts as true.
fn without_poison(schema: &Value) -> Value {
    match schema {
        Value::Array(items) => Value::Array(items.iter().map(without_poison).collect()),
        Value::Object(members) => {
            let kept = members.iter().filter(|(keyword, value)| !is_poison(keyword, value));
            Value::Object(kept.map(|(keyword, value)| (keyword.clone(), without_poison(value))).collect())
        }
        scalar => scalar.clone(),
    }
}

#[test]
fn what_is_not_strict_lets_every_valid_value_pass() {
    let cases = maskwright_oracle::cases(1_000);
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let (n_loose, n_named, n_valid, n_refused) = (Cell::new(0), Cell::new(0), Cell::new(0), Cell::new(0));
    let n_equal = Cell::new(0);
    let add = |count: &Cell<u32>| count.set(count.get() + 1);
    let inputs = (
        (schemas(true), schemas(true), any::<bool>(), any::<bool>()),
        prop::sample::select(vec![2, 5, 1024]),
        prop::collection::vec(values(), 12),
    );
    let result = TestRunner::new(config).run(
        &inputs,
        |((schema, definition, refers, is_any_order), max_alternatives, values)| {
            let mut root = json!({"$defs": {"d": definition}});
            if refers {
                root["$ref"] = json!("#/$defs/d");
            }
            root["allOf"] = json!([schema]);
            let property_order = if is_any_order { PropertyOrder::Any } else { PropertyOrder::Schema };
            let mut limits = SchemaLimits::default();
            limits.max_alternatives = max_alternatives;
            let mut config = SchemaConfig::default();
            config.property_order = property_order;
            config.numbers = Numbers::Any;
            config.strict = false;
            config.limits = limits;
            let compiled = match compile(&root, &config, &Fuel::new(1_000_000)) {
                Ok(compiled) => compiled,
                Err(error) if error.is_unsatisfiable() => {
                    for value in &values {
                        prop_assert!(
                            !is_valid(&root, &root, value),
                            "no text at all, but {} is valid",
                            value
                        );
                    }
                    return Ok(());
                }
                // Nothing but the work is limited.
                Err(error) => {
                    prop_assert!(error.to_string().contains("more work than the limit"), "{}", error);
                    return Err(TestCaseError::reject("more work than the limit"));
                }
            };
            let mut named = BTreeSet::new();
            // Whether only the poison is not enforced.
            let mut is_poison_alone = true;
            for entry in compiled.report.entries() {
                let value = root.pointer(&entry.pointer).and_then(|schema| schema.get(entry.keyword));
                prop_assert!(value.is_some(), "no {} at {}", entry.keyword, entry.pointer);
                let is_lost = matches!(entry.status, Status::NotEnforced { .. });
                let is_one = is_poison(entry.keyword, value.unwrap()) && entry.keyword != "patternProperties";
                is_poison_alone &= !is_lost || is_one;
                let is_first = named.insert((entry.pointer.clone(), entry.keyword.to_string()));
                prop_assert!(is_first, "{} at {} is named twice", entry.keyword, entry.pointer);
                // In a complete report it is enforced in truth: on numbers where only texts may stand, say.
                if !compiled.report.is_complete() && is_poison(entry.keyword, value.unwrap()) {
                    let is_told = matches!(entry.status, Status::NotEnforced { .. });
                    prop_assert!(is_told, "{} at {} is said to be enforced", entry.keyword, entry.pointer);
                    add(&n_named);
                }
            }
            let is_complete = compiled.report.is_complete();
            if !is_complete {
                add(&n_loose);
            }
            let rest = without_poison(&root);
            let mut automata = Automata::default();
            let mut recogniser = Recogniser::new(&compiled.grammar);
            for value in &values {
                let is_in =
                    orders(value).iter().any(|value| recogniser.read(&written(value), &mut automata).1);
                if !is_complete && is_poison_alone {
                    add(&n_equal);
                    prop_assert_eq!(is_in, is_valid(&rest, &rest, value), "{} without its poison", value);
                }
                if is_valid(&root, &root, value) {
                    add(&n_valid);
                    prop_assert!(is_in, "{} is valid, but refused", value);
                } else if is_complete {
                    prop_assert!(!is_in, "{} is invalid and everything enforced, but accepted", value);
                } else if !is_in {
                    add(&n_refused);
                }
            }
            Ok(())
        },
    );
    if let Err(error) = result {
        panic!("{error}");
    }
    println!(
        "{} loose ({} values as without the poison), {} keywords named, {} values valid, {} refused although something is not enforced",
        n_loose.get(),
        n_equal.get(),
        n_named.get(),
        n_valid.get(),
        n_refused.get()
    );
    assert!(n_loose.get() * 5 > cases, "few schemas were compiled loosely: {}", n_loose.get());
    // 620 of 1,000 on average, once in a hundred runs less than half.
    assert!(n_equal.get() * 3 > cases, "few values were judged by the report: {}", n_equal.get());
    assert!(n_named.get() * 5 > cases, "few keywords were named: {}", n_named.get());
    assert!(n_valid.get() > cases, "few values were valid: {}", n_valid.get());
    assert!(n_refused.get() * 3 > cases, "what is left is hardly enforced: {}", n_refused.get());
}
