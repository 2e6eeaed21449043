//! Long lists of values share what they begin with: they have the texts that their parts have, which do not.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod support;

use maskwright_automata::Fuel;
use maskwright_json_schema::{CompiledSchema, PropertyOrder, SchemaConfig, Style, Whitespace, compile};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Automata, Recogniser};

/// Fewer values than a long list has.
const FEW: usize = 50;

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..30i32).prop_map(Value::from),
        "[ab\"]{0,2}".prop_map(Value::from),
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(3, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
            prop::collection::vec(("[ab]{1,2}", inner), 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn config() -> impl Strategy<Value = SchemaConfig> {
    let orders = prop_oneof![Just(PropertyOrder::Schema), Just(PropertyOrder::Any)];
    let spaces = prop_oneof![Just(Whitespace::Flexible), Just(Whitespace::Compact), Just(Whitespace::Any)];
    let styles = prop_oneof![3 => Just(Style::Json), 1 => Just(Style::Gemma)];
    (orders, spaces, styles).prop_map(|(order, space, style)| {
        let mut config = SchemaConfig::default();
        (config.property_order, config.whitespace, config.style) = (order, space, style);
        config
    })
}

/// The value as JSON, in several ways.
fn texts(value: &Value) -> [String; 4] {
    let mut reversed = value.clone();
    reverse(&mut reversed);
    let compact = value.to_string();
    let pretty = serde_json::to_string_pretty(value).unwrap();
    [pretty.replacen("\n}", "}", 1), compact, pretty, reversed.to_string()]
}

/// The members of all objects in the other order.
fn reverse(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(reverse),
        Value::Object(members) => {
            members.values_mut().for_each(reverse);
            *members = std::mem::take(members).into_iter().rev().collect();
        }
        _ => {}
    }
}

/// The values with at least so many members and items; with one more value, so that there is some.
fn compiled(values: &[Value], least: usize, config: &SchemaConfig) -> CompiledSchema {
    let values = [values, &[json!("any")]].concat();
    let schema = json!({ "enum": values, "minProperties": least, "minItems": least });
    compile(&schema, config, &Fuel::new(100_000_000)).unwrap()
}

proptest! {
    #[test]
    fn long_lists_have_the_texts_of_their_parts(
        config in config(),
        values in prop::collection::vec(value(), 150..300),
        least in 0..3usize,
        others in prop::collection::vec(value(), 10),
    ) {
        let mut automata = Automata::default();
        let whole = compiled(&values, least, &config);
        let parts: Vec<CompiledSchema> = values.chunks(FEW).map(|values| compiled(values, least, &config)).collect();
        let mut whole = Recogniser::new(&whole.grammar);
        let mut parts: Vec<Recogniser<'_>> = parts.iter().map(|part| Recogniser::new(&part.grammar)).collect();
        for value in values.iter().step_by(7).chain(&others) {
            for mut text in texts(value) {
                if config.style == Style::Gemma {
                    text = text.replace("\\\"", "'").replace('"', "<|\"|>");
                }
                let is_text = parts.iter_mut().any(|part| part.read(&text, &mut automata).1);
                prop_assert_eq!(whole.read(&text, &mut automata).1, is_text, "{}", text);
            }
        }
    }
}

/// As many as strings can be: no place has many readings.
#[test]
fn objects_that_all_differ_are_compiled_as_a_tree() {
    let values: Vec<Value> =
        (0..20_001).map(|i| json!({ "a": i, "b": { "c": format!("x{}", i * 7919 % 20_011) } })).collect();
    let compiled = compiled(&values, 0, &SchemaConfig::default());
    let mut automata = Automata::default();
    let mut recogniser = Recogniser::new(&compiled.grammar);
    for (text, is_text) in [
        (r#"{"a":0,"b":{"c":"x0"}}"#, true),
        (r#"{"a": 20000, "b": {"c": "x12046"}}"#, 20_000 * 7919 % 20_011 == 12_046),
        (r#"{"a":1,"b":{"c":"x0"}}"#, false),
    ] {
        assert_eq!(recogniser.read(text, &mut automata).1, is_text, "{text}");
    }
}
