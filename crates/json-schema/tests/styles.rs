//! Random small schemas in every style of arguments, against a plain writer, a plain reader and a plain validator.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod elements;
mod instances;
mod judge;
mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use elements::{Read, STYLES, Unread, elements, mark, read};
use judge::{is_valid, orders, schemas, values};
use maskwright_automata::Fuel;
use maskwright_grammar::Grammar;
use maskwright_json_schema::{Numbers, PropertyOrder, SchemaConfig, Style, Whitespace, compile};
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use support::{Automata, Recogniser};

/// How many schemas, each with a dozen values.
fn cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(1_500)
}

/// The grammar; `Ok(None)` if no object satisfies the schema; `Err` if the schema is not taken.
fn grammar(root: &Value, style: Style, order: PropertyOrder) -> Result<Option<Grammar>, TestCaseError> {
    let mut config = SchemaConfig::default();
    config.style = style;
    config.property_order = order;
    config.numbers = Numbers::Any;
    config.whitespace = Whitespace::AtMost(u32::MAX);
    match compile(root, &config, &Fuel::new(1_000_000)) {
        Ok(compiled) => Ok(Some(compiled.grammar)),
        Err(error) if error.is_unsatisfiable() => Ok(None),
        Err(error) => {
            prop_assert!(error.is_unsupported() || error.is_limit(), "{}", error);
            Err(TestCaseError::reject("not taken"))
        }
    }
}

fn root(schema: Value, definition: Value) -> Value {
    json!({"$defs": {"d": definition}, "allOf": [schema], "type": "object"})
}

/// An object, mostly of other values.
fn objects() -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec(("[xyz]{1,2}", values()), 0..3).prop_map(|members| members.into_iter().collect())
}

/// Schemas that say something about objects.
fn object_schemas() -> impl Strategy<Value = Value> {
    let named = prop::collection::vec(("[xyz]", schemas(false)), 1..3);
    let names = prop::collection::vec("[xyz]", 0..2);
    (
        named,
        names,
        prop_oneof![Just(json!(true)), Just(json!(false)), schemas(false)],
        schemas(false),
        any::<bool>(),
    )
        .prop_map(|(named, required, additional, other, has_other)| {
            let properties: Map<String, Value> = named.into_iter().collect();
            let schema =
                json!({"properties": properties, "required": required, "additionalProperties": additional});
            if has_other { json!({"allOf": [schema, other]}) } else { schema }
        })
}

#[test]
fn a_value_is_valid_iff_some_order_of_it_is_in_the_language() {
    let n_judged = AtomicU32::new(0);
    let n_valid = AtomicU32::new(0);
    let strategy = (
        object_schemas(),
        schemas(false),
        prop::sample::select(&STYLES[..]),
        any::<bool>(),
        prop::collection::vec(objects(), 12),
    );
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_global_rejects: cases() * 4,
        ..ProptestConfig::default()
    };
    let result =
        TestRunner::new(config).run(&strategy, |(schema, definition, style, is_any_order, objects)| {
            let root = root(schema, definition);
            let order = if is_any_order { PropertyOrder::Any } else { PropertyOrder::Schema };
            let grammar = grammar(&root, style, order)?;
            let mut recogniser = grammar.as_ref().map(Recogniser::new);
            let mut automata = Automata::default();
            for object in &objects {
                let value = Value::Object(object.clone());
                let is_in = recogniser.as_mut().is_some_and(|recogniser| {
                    let mut is_read = |value: &Value| {
                        let text = elements(style, value.as_object().unwrap());
                        recogniser.read(&text, &mut automata).1
                    };
                    let orders = orders(&value);
                    let is_in = orders.iter().any(&mut is_read);
                    assert!(
                        !is_any_order || is_in == orders.iter().all(is_read),
                        "all orders or none: {value}"
                    );
                    is_in
                });
                let expected = could_be_valid(&root, &read(style, &elements(style, object)).unwrap());
                prop_assert_eq!(is_in, expected, "{:?} {}", style, value);
                n_judged.fetch_add(1, Ordering::Relaxed);
                n_valid.fetch_add(u32::from(expected), Ordering::Relaxed);
            }
            Ok(())
        });
    result.unwrap();
    let (n_judged, n_valid) = (n_judged.into_inner(), n_valid.into_inner());
    assert!(n_judged >= cases() * 12 && n_valid >= cases(), "only {n_valid} of {n_judged}");
}

/// How a text is changed.
#[derive(Clone, Debug)]
enum Change {
    Drop,
    Insert(&'static str),
    /// Another value for one element.
    Value(&'static str),
    Space(&'static str),
}

fn changes() -> impl Strategy<Value = Change> {
    let values = ["3", "null", " true\n", "a", " b", "", "[]", "{}", "1.5", "a<", "é", "\t", "[1 ]"];
    prop_oneof![
        Just(Change::Drop),
        prop::sample::select(vec![" ", "\n", "<", "a", "1", "\"", "}"]).prop_map(Change::Insert),
        prop::sample::select(values.to_vec()).prop_map(Change::Value),
        prop::sample::select(vec![" ", "\n\n", "\r\n\t"]).prop_map(Change::Space),
    ]
}

fn changed(style: Style, text: &str, change: &Change, at: &Index) -> Option<String> {
    let mark = mark(style);
    let marks: Vec<usize> = text.match_indices(mark).map(|(at, _)| at).collect();
    let chars: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
    if chars.is_empty() {
        return None;
    }
    let position = chars[at.index(chars.len())];
    let with = |from: usize, to: usize, part: &str| Some([&text[..from], part, &text[to..]].concat());
    match change {
        Change::Drop => with(position, position + text[position..].chars().next()?.len_utf8(), ""),
        Change::Insert(part) => with(position, position, part),
        Change::Value(value) => {
            let end = marks[at.index(marks.len())];
            let start = text[..end].rfind('>')? + 1;
            with(start, end, value)
        }
        Change::Space(space) => {
            let end = marks[at.index(marks.len())];
            with(end + mark.len(), end + mark.len(), space)
        }
    }
}

/// Whether some value that the text could be of is valid.
fn could_be_valid(root: &Value, members: &[Read]) -> bool {
    let mut objects = vec![Map::new()];
    for (name, values) in members {
        objects = objects
            .iter()
            .flat_map(|object| {
                values.iter().map(|value| {
                    let mut object = object.clone();
                    object.insert(name.clone(), value.clone());
                    object
                })
            })
            .collect();
    }
    objects.into_iter().any(|object| is_valid(root, root, &Value::Object(object)))
}

#[test]
fn a_changed_text_is_in_the_language_iff_a_plain_reader_finds_a_valid_value() {
    let (n_read, n_broken, n_valid) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let changes = prop::collection::vec((changes(), any::<Index>()), 12);
    let strategy = (
        object_schemas(),
        schemas(false),
        prop::sample::select(&STYLES[..]),
        prop::collection::vec(objects(), 12),
        changes,
    );
    let config = ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_global_rejects: cases() * 4,
        ..ProptestConfig::default()
    };
    let result = TestRunner::new(config).run(&strategy, |(schema, definition, style, objects, changes)| {
        let root = root(schema, definition);
        let Some(grammar) = grammar(&root, style, PropertyOrder::Any)? else { return Ok(()) };
        let mut recogniser = Recogniser::new(&grammar);
        let mut automata = Automata::default();
        for (object, (change, at)) in objects.iter().zip(&changes) {
            let Some(text) = changed(style, &elements(style, object), change, at) else { continue };
            let members = read(style, &text);
            if members == Err(Unread::Names) {
                continue;
            }
            let expected = members.as_ref().is_ok_and(|members| could_be_valid(&root, members));
            let is_in = recogniser.read(&text, &mut automata).1;
            prop_assert_eq!(is_in, expected, "{:?} {}", style, text);
            let count = if members.is_ok() { &n_read } else { &n_broken };
            count.fetch_add(1, Ordering::Relaxed);
            n_valid.fetch_add(u32::from(expected), Ordering::Relaxed);
        }
        Ok(())
    });
    result.unwrap();
    let (n_read, n_broken, n_valid) = (n_read.into_inner(), n_broken.into_inner(), n_valid.into_inner());
    let enough = n_read >= cases() && n_broken >= cases() && n_valid >= cases() / 2;
    assert!(enough, "only {n_read} read, {n_broken} broken, {n_valid} valid");
}
