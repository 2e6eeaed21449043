//! Plain numbers under random schemas, against exact arithmetic that shares no code with the compiler.

#![allow(clippy::unwrap_used, reason = "helpers of tests may panic as tests do")]

mod support;

use maskwright_automata::Fuel;
use maskwright_json_schema::{Numbers, SchemaConfig, compile};
use proptest::prelude::*;
use serde_json::{Value, json};
use support::{Automata, Recogniser};

/// How many decimals are represented.
const SCALE: u32 = 24;

/// A number in units of 10^-24; `None` if it is not a whole number of them, or too large.
fn scaled(text: &str) -> Option<i128> {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let power = exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()? + SCALE as i32;
    if digits == 0 {
        return Some(0);
    }
    match u32::try_from(power) {
        Ok(power) => digits.checked_mul(10i128.checked_pow(power)?),
        Err(_) => {
            let divisor = 10i128.checked_pow(power.unsigned_abs())?;
            (digits % divisor == 0).then_some(digits / divisor)
        }
    }
}

/// Whether a number is valid, by exact arithmetic. Bounds and divisors are small.
fn is_valid(schema: &Value, value: i128) -> bool {
    schema.as_object().unwrap().iter().all(|(keyword, given)| {
        let number = || scaled(&given.to_string()).unwrap();
        let parts = || given.as_array().unwrap().iter().filter(|part| is_valid(part, value)).count();
        match keyword.as_str() {
            "type" => given == "number" || value % 10i128.pow(SCALE) == 0,
            "minimum" => value >= number(),
            "maximum" => value <= number(),
            "exclusiveMinimum" => value > number(),
            "exclusiveMaximum" => value < number(),
            "multipleOf" => value % number() == 0,
            "enum" => given.as_array().unwrap().iter().any(|given| scaled(&given.to_string()) == Some(value)),
            "allOf" => parts() == given.as_array().unwrap().len(),
            "anyOf" => parts() > 0,
            "oneOf" => parts() == 1,
            "not" => !is_valid(given, value),
            other => unreachable!("{other}"),
        }
    })
}

fn json_numbers() -> impl Strategy<Value = Value> {
    prop_oneof!["-?[0-9]", "-?[1-9][0-9]", "-?[0-9]\\.[0-9]{1,2}", "-?[0-9]\\.0", "-?[1-9]e-?[1-3]"]
        .prop_map(|text| serde_json::from_str(&text).unwrap())
}

fn simple() -> impl Strategy<Value = Value> {
    let divisors = prop_oneof![
        Just("1"),
        Just("2"),
        Just("7"),
        Just("10"),
        Just("0.5"),
        Just("0.25"),
        Just("0.1"),
        Just("0.01"),
        Just("1.5"),
        Just("1e-3")
    ];
    let divisors = divisors.prop_map(|text| serde_json::from_str::<Value>(text).unwrap());
    let bound = || prop::option::weighted(0.3, json_numbers());
    (
        any::<bool>(),
        (bound(), bound(), bound(), bound()),
        prop::option::weighted(0.3, divisors),
        prop::option::weighted(0.15, prop::collection::vec(json_numbers(), 1..4)),
    )
        .prop_map(|(is_integer, (low, high, above, below), divisor, given)| {
            let mut schema = json!({"type": if is_integer { "integer" } else { "number" }});
            let keywords = [
                ("minimum", low),
                ("maximum", high),
                ("exclusiveMinimum", above),
                ("exclusiveMaximum", below),
            ];
            for (keyword, value) in keywords.into_iter().chain([("multipleOf", divisor)]) {
                if let Some(value) = value {
                    schema[keyword] = value;
                }
            }
            if let Some(given) = given {
                schema["enum"] = given.into();
            }
            schema
        })
}

fn schemas() -> impl Strategy<Value = Value> {
    let pair = |keyword: &'static str| {
        (simple(), simple()).prop_map(move |(left, right)| json!({"type": "number", keyword: [left, right]}))
    };
    let denied = (simple(), simple()).prop_map(|(mut schema, denied)| {
        schema["not"] = denied;
        schema
    });
    prop_oneof![4 => simple(), 1 => pair("allOf"), 1 => pair("anyOf"), 1 => pair("oneOf"), 1 => denied]
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => "-?[0-9](\\.[0-9]{1,3})?",
        2 => "-?[1-9][0-9]{1,2}(\\.[05]{1,2})?",
        1 => "-?[1-9](\\.[1-9])?[eE][+-]?0?[0-9]",
        1 => "-?[0-9]{1,2}\\.[09]{14,18}[0-9]",
        1 => "-?0(\\.0{1,3})?",
    ]
    .prop_filter("no zero in front", |text| {
        let digits = text.trim_start_matches('-').as_bytes();
        digits[0] != b'0' || !digits.get(1).is_some_and(u8::is_ascii_digit)
    })
}

/// How many significant digits a number has.
fn n_digits(text: &str) -> usize {
    let digits: String =
        text.split(['e', 'E']).next().unwrap().chars().filter(char::is_ascii_digit).collect();
    digits.trim_start_matches('0').len()
}

/// Whether some writer writes a nonzero value this way.
fn is_plain(text: &str) -> bool {
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else {
        return !text.contains('.') || n_digits(text) <= 17;
    };
    let power: i32 = exponent.parse().unwrap();
    let is_python = exponent == format!("-{:02}", -power) && power < -4;
    let is_javascript = exponent == format!("-{}", -power) && power < -6;
    !text.contains('E') && !mantissa.ends_with(".0") && n_digits(text) <= 17 && (is_python || is_javascript)
}

/// Whether a text has few digits, no exponent and no needless zero: such a text of a valid number is plain
/// under every schema.
fn is_short(text: &str) -> bool {
    let is_least = !text.contains('.') || !text.ends_with('0');
    !text.contains(['e', 'E']) && text != "-0" && is_least && n_digits(text) <= 15
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn plain_texts_are_those_of_valid_numbers(schema in schemas(), texts in prop::collection::vec(texts(), 16)) {
        let mut grammars = Vec::new();
        for numbers in [Numbers::Plain, Numbers::Any] {
            let mut config = SchemaConfig::default();
            config.numbers = numbers;
            match compile(&schema, &config, &Fuel::new(10_000_000)) {
                Ok(compiled) => grammars.push(Some(compiled.grammar)),
                Err(error) => {
                    prop_assert!(error.is_unsatisfiable(), "{schema}: {error}");
                    grammars.push(None);
                }
            }
        }
        prop_assert_eq!(grammars[0].is_some(), grammars[1].is_some(), "{}: a plain number where there is any", schema);
        let mut automata = Automata::default();
        let mut readers: Vec<_> = grammars.iter().map(|grammar| grammar.as_ref().map(Recogniser::new)).collect();
        for text in &texts {
            let mut is_read = |i: usize| readers[i].as_mut().is_some_and(|reader| reader.read(text, &mut automata).1);
            let (is_plain_read, is_any_read) = (is_read(0), is_read(1));
            let is_in = scaled(text).is_some_and(|value| is_valid(&schema, value));
            prop_assert!(!is_plain_read || is_in, "{} is accepted under {}", text, schema);
            // Values in the schema may also be spelled as there.
            let is_given = schema.to_string().contains("enum");
            prop_assert!(!is_plain_read || is_given || is_plain(text), "{} is plain under {}", text, schema);
            prop_assert!(!is_plain_read || is_any_read, "{} is plain, but not one of any under {}", text, schema);
            if is_in && is_short(text) {
                prop_assert!(is_plain_read, "{} is refused under {}", text, schema);
            }
            let is_integer = schema["type"] == "integer";
            if is_integer && schema.get("not").is_none() {
                let is_digits = !text.contains(['.', 'e', 'E']) && text != "-0";
                prop_assert_eq!(is_plain_read, is_in && is_digits, "{} under {}", text, schema);
            }
            // Rounding to a bound has a test of its own, so numbers with many digits are skipped here.
            let is_simple = !is_integer && ["allOf", "anyOf", "oneOf", "not", "multipleOf", "enum"].iter().all(|keyword| schema.get(keyword).is_none());
            if is_simple && is_in && is_plain(text) && n_digits(text) <= 15 {
                prop_assert!(is_plain_read, "{} is refused under {}", text, schema);
            }
        }
    }

    #[test]
    fn every_integer_is_plain(number: i64, digits in "[1-9][0-9]{18,60}") {
        let config = SchemaConfig::default();
        let mut automata = Automata::default();
        for schema in [json!({"type": "integer"}), json!({"type": "number"}), json!({})] {
            let grammar = compile(&schema, &config, &Fuel::unlimited()).unwrap().grammar;
            let mut reader = Recogniser::new(&grammar);
            for text in [number.to_string(), digits.clone(), format!("-{digits}")] {
                prop_assert!(reader.read(&text, &mut automata).1, "{} under {}", text, schema);
            }
        }
    }
}
