//! Random small schemas against a plain validator that shares no code with the compiler.
//!
//! A value is valid iff some order of its keys is in the language; values are small enough to try all.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod instances;
mod judge;
mod support;

use instances::written;
use judge::{is_valid, orders, schemas, values};
use maskwright_automata::Fuel;
use maskwright_json_schema::{Numbers, PropertyOrder, SchemaConfig, compile};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Automata, Recogniser};

/// How many schemas, each with a dozen values; `PROPTEST_CASES=8400` makes 100,000 pairs.
fn cases() -> u32 {
    maskwright_oracle::cases(1_500)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn a_value_is_valid_iff_some_order_of_it_is_in_the_language(
        schema in schemas(false), definition in schemas(false), refers: bool, is_any_order: bool, values in prop::collection::vec(values(), 12),
    ) {
        let mut root = json!({"$defs": {"d": definition}});
        if refers {
            root["$ref"] = json!("#/$defs/d");
        }
        root["allOf"] = json!([schema]);
        check(&root, is_any_order, &values)?;
    }

    /// Where a schema meets its own negation below itself, in any way to say so, what is left is known by
    /// logic alone. Without that, most of these never end.
    #[test]
    fn a_schema_and_its_own_negation_end(own in recursive(), is_any_order: bool, values in prop::collection::vec(values(), 12)) {
        check(&json!({"$defs": {"d": own}, "$ref": "#/$defs/d"}), is_any_order, &values)?;
    }
}

/// A schema that refers to itself where it denies or excludes parts of itself.
fn recursive() -> impl Strategy<Value = Value> {
    let itself = json!({"$ref": "#/$defs/d"});
    let reference = prop::sample::select(vec![
        itself.clone(),
        itself.clone(),
        json!({"allOf": [itself]}),
        json!({"$ref": "#/$defs/d", "type": "object"}),
        json!({"$ref": "#/$defs/d", "minProperties": 1}),
    ]);
    let part = ("[xy]", reference, 0..6).prop_map(|(name, reference, kind)| match kind {
        0 => json!({"properties": {name: reference}}),
        1 => json!({"properties": {"x": reference, "y": reference}}),
        2 => json!({"properties": {name.clone(): reference}, "required": [name]}),
        3 => json!({"prefixItems": [reference]}),
        4 => json!({"items": reference}),
        _ => json!({"type": "object", "properties": {name: reference}}),
    });
    (part.clone(), part.clone(), part, 0..7).prop_map(|(base, one, two, kind)| {
        let more = match kind {
            0 => json!({"not": one}),
            1 => json!({"oneOf": [one, two]}),
            2 => json!({"anyOf": [{"not": one}, two]}),
            3 => json!({"if": one, "then": two, "else": false}),
            4 => json!({"if": one, "then": false, "else": two}),
            5 => json!({"dependencies": {"x": {"not": one}}}),
            _ => json!({"allOf": [{"not": one}, {"oneOf": [one, two]}]}),
        };
        let mut own = base;
        own.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        own
    })
}

/// Each of `values` is valid iff it is in the language of `root`.
fn check(root: &Value, is_any_order: bool, values: &[Value]) -> Result<(), TestCaseError> {
    let property_order = if is_any_order { PropertyOrder::Any } else { PropertyOrder::Schema };
    let mut config = SchemaConfig::default();
    config.property_order = property_order;
    config.numbers = Numbers::Any;
    let grammar = match compile(root, &config, &Fuel::new(1_000_000)) {
        Ok(compiled) => Some(compiled.grammar),
        Err(error) if error.is_unsatisfiable() => None,
        // `oneOf` whose branches overlap, or a product of alternatives.
        Err(error) => {
            prop_assert!(error.is_unsupported() || error.is_limit(), "{}", error);
            return Err(TestCaseError::reject("not taken"));
        }
    };
    let mut automata = Automata::default();
    let mut recogniser = grammar.as_ref().map(Recogniser::new);
    for value in values {
        let is_in = recogniser.as_mut().is_some_and(|recogniser| {
            let mut is_read = |value: &Value| recogniser.read(&written(value), &mut automata).1;
            let is_in = orders(value).iter().any(&mut is_read);
            if is_any_order {
                assert_eq!(is_in, orders(value).iter().all(is_read), "all orders or none: {value}");
            }
            is_in
        });
        // A constant is written as the schema has it, not `1.0` for `1`: no value here is a whole float.
        prop_assert_eq!(is_in, is_valid(root, root, value), "{}", value);
    }
    Ok(())
}
