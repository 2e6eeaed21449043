//! Random small schemas in every style of arguments, against a plain writer, a plain reader and a plain
//! validator.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod elements;
mod instances;
mod judge;
mod support;

use std::collections::BTreeMap;
use std::sync::Mutex;

use elements::changes::{changed, changes};
use elements::listed::{has_listed_names, has_unlisted_names, listing};
use elements::{Reading, STYLES, Unread, read, text};
use judge::{is_valid, orders, schemas, values};
use maskwright_automata::Fuel;
use maskwright_grammar::Grammar;
use maskwright_json_schema::{Numbers, PropertyOrder, SchemaConfig, Style, Whitespace, compile};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Map, Value, json};
use support::{Automata, Recogniser};

/// How many schemas, each with a dozen values.
fn cases() -> u32 {
    maskwright_oracle::cases(2_500)
}

/// Enough for all but a few of the schemas, which contain themselves below `not`.
const FUEL: u64 = 200_000;

/// The grammar; `Ok(None)` if no object satisfies the schema; `Err` if the schema is not taken.
fn grammar(root: &Value, style: Style, order: PropertyOrder) -> Result<Option<Grammar>, TestCaseError> {
    let mut config = SchemaConfig::default();
    config.style = style;
    config.property_order = order;
    config.numbers = Numbers::Any;
    config.whitespace = Whitespace::Any;
    match compile(root, &config, &Fuel::new(FUEL)) {
        Ok(compiled) => Ok(Some(compiled.grammar)),
        Err(error) if error.is_unsatisfiable() => Ok(None),
        Err(error) => {
            prop_assert!(error.is_unsupported() || error.is_limit(), "{}", error);
            Err(TestCaseError::reject("not taken"))
        }
    }
}

/// What is compiled: schema, style, and whether the schema is known to list all names that the style needs it
/// to list.
#[derive(Clone, Debug)]
struct Case {
    root: Value,
    style: Style,
    has_all_names: bool,
}

fn cases_of_all_styles() -> impl Strategy<Value = Case> {
    let style = prop::sample::select(STYLES);
    (object_schemas(), schemas(false), style, prop::bool::weighted(0.8)).prop_map(
        |(schema, definition, style, lists)| {
            let root = json!({"$defs": {"d": definition}, "allOf": [schema], "type": "object"});
            let needs_names = style == Style::MinimaxM3Xml;
            let root = if needs_names && lists { listing(&root) } else { root };
            Case { root, style, has_all_names: lists || !needs_names }
        },
    )
}

impl Case {
    /// Whether a text must be in the language, and whether it may be.
    fn expected(&self, reading: &Reading) -> (bool, bool) {
        let Case { root, style, has_all_names } = self;
        let valid: Vec<&Value> = reading.objects.iter().filter(|value| is_valid(root, root, value)).collect();
        if *style == Style::MinimaxM3Xml {
            let must = *has_all_names && valid.iter().any(|value| has_listed_names(value));
            return (must, valid.iter().any(|value| !has_unlisted_names(root, value)));
        }
        (reading.is_canonical && !valid.is_empty(), !valid.is_empty())
    }
}

/// How often each of some things happened, by style.
struct Counts<const N: usize>(Mutex<BTreeMap<&'static str, [u32; N]>>);

impl<const N: usize> Counts<N> {
    fn new() -> Counts<N> {
        Counts(Mutex::new(STYLES.iter().map(|style| (style.name(), [0; N])).collect()))
    }

    fn add(&self, style: Style, has_happened: [bool; N]) {
        let mut counts = self.0.lock().unwrap();
        let counts = counts.get_mut(style.name()).unwrap();
        for (count, has_happened) in counts.iter_mut().zip(has_happened) {
            *count += u32::from(has_happened);
        }
    }

    fn assert_at_least(self, floors: [u32; N]) {
        let counts = self.0.into_inner().unwrap();
        let is_enough = |counts: &[u32; N]| counts.iter().zip(floors).all(|(&count, floor)| count >= floor);
        assert!(counts.values().all(is_enough), "fewer than {floors:?}: {counts:?}");
    }
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(),
        failure_persistence: None,
        max_global_rejects: cases() * 4,
        ..ProptestConfig::default()
    }
}

/// An object, mostly of other values.
fn objects() -> impl Strategy<Value = Map<String, Value>> {
    let name = prop_oneof![3 => "[xyz]", 1 => "[xyz]{2}"];
    prop::collection::vec((name, values()), 0..3).prop_map(|members| members.into_iter().collect())
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
    // Values; those that are written; others.
    let counts = Counts::new();
    let strategy = (cases_of_all_styles(), any::<bool>(), prop::collection::vec(objects(), 12));
    let result = TestRunner::new(config()).run(&strategy, |(case, is_any_order, objects)| {
        let style = case.style;
        let order = if is_any_order { PropertyOrder::Any } else { PropertyOrder::Schema };
        let grammar = grammar(&case.root, style, order)?;
        let mut recogniser = grammar.as_ref().map(Recogniser::new);
        let mut automata = Automata::default();
        for object in &objects {
            let value = Value::Object(object.clone());
            let is_in = recogniser.as_mut().is_some_and(|recogniser| {
                let mut is_read = |value: &Value| {
                    recogniser.read(&text(style, value.as_object().unwrap()), &mut automata).1
                };
                let orders = orders(&value);
                let is_in = orders.iter().any(&mut is_read);
                let all_or_none = !is_any_order || is_in == orders.iter().all(is_read);
                assert!(all_or_none, "all orders or none: {value}");
                is_in
            });
            let (must_be_in, may_be_in) = case.expected(&read(style, &text(style, object)).unwrap());
            prop_assert!(is_in || !must_be_in, "refused: {:?} {}", style, text(style, object));
            prop_assert!(may_be_in || !is_in, "taken: {:?} {}", style, text(style, object));
            counts.add(style, [true, is_in, !may_be_in]);
        }
        Ok(())
    });
    result.unwrap();
    let enough = cases() / STYLES.len() as u32;
    counts.assert_at_least([enough * 6, enough, enough * 2]);
}

#[test]
fn a_changed_text_is_in_the_language_iff_a_plain_reader_finds_a_valid_value() {
    // Texts that the reader reads; others; those in the language.
    let counts = Counts::new();
    let strategy =
        (cases_of_all_styles(), prop::collection::vec(objects(), 12), prop::collection::vec(changes(), 12));
    let result = TestRunner::new(config()).run(&strategy, |(case, objects, changes)| {
        let style = case.style;
        let Some(grammar) = grammar(&case.root, style, PropertyOrder::Any)? else { return Ok(()) };
        let mut recogniser = Recogniser::new(&grammar);
        let mut automata = Automata::default();
        for (object, (change, at)) in objects.iter().zip(&changes) {
            let Some(text) = changed(style, &text(style, object), change, at) else { continue };
            let reading = read(style, &text);
            if reading == Err(Unread::Names) {
                continue;
            }
            let expected = reading.as_ref().map(|reading| case.expected(reading));
            let (must_be_in, may_be_in) = expected.unwrap_or_default();
            let is_in = recogniser.read(&text, &mut automata).1;
            prop_assert!(is_in || !must_be_in, "refused: {:?} {}", style, text);
            prop_assert!(may_be_in || !is_in, "taken: {:?} {}", style, text);
            counts.add(style, [reading.is_ok(), reading.is_err(), is_in]);
        }
        Ok(())
    });
    result.unwrap();
    let enough = cases() / STYLES.len() as u32;
    counts.assert_at_least([enough, enough, enough / 3]);
}
