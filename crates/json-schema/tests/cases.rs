//! The behaviour cases of `testdata/json-schema`: schemas with texts that are and are not in the language,
//! or with the error they get.
//!
//! A case has a `name`, a `schema`, and
//! * `yes` and `no`: texts that are in the language, and that are not; or `error`: its `pointer`, `keyword`
//!   and a part of its text, `says`; with `"limit": true` or `"unsatisfiable": true` if it is of that kind;
//! * `lenient`: `true` leaves out what can't be enforced; `not_enforced` then says what, as `"POINTER
//!   KEYWORD": "a part of the reason"`;
//! * options: `whitespace` (`compact`, `any` or a number), `property_order` (`any`), `numbers` (`any`),
//!   `style`, `max_number_digits`, `max_indent`, `max_alternatives`.

mod support;

use std::collections::BTreeMap;
use std::path::Path;

use maskwright_automata::Fuel;
use maskwright_json_schema::{
    Numbers, PropertyOrder, SchemaConfig, SchemaLimits, Status, Style, Whitespace, compile,
};
use serde::Deserialize;
use serde_json::Value;
use support::{Automata, Recogniser};

fn texts<'v>(case: &'v Value, key: &str) -> impl Iterator<Item = &'v str> {
    case[key].as_array().into_iter().flatten().map(|text| text.as_str().expect("texts are strings"))
}

#[test]
fn every_case_is_as_told() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../testdata/json-schema"));
    let mut automata = Automata::default();
    let mut n_cases = 0;
    let mut wrong = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "jsonl") {
            continue;
        }
        for line in std::fs::read_to_string(&path).unwrap().lines() {
            let case: Value = serde_json::from_str(line).unwrap();
            let name = format!("{}: {}", path.file_stem().unwrap().display(), case["name"]);
            n_cases += 1;
            let whitespace = match &case["whitespace"] {
                Value::String(name) if name == "compact" => Whitespace::Compact,
                Value::String(name) if name == "any" => Whitespace::Any,
                Value::Number(most) => Whitespace::AtMost(most.as_u64().unwrap().try_into().unwrap()),
                _ => Whitespace::Flexible,
            };
            let property_order = match case["property_order"].as_str() {
                Some("any") => PropertyOrder::Any,
                _ => PropertyOrder::Schema,
            };
            let number = |key: &str| case[key].as_u64().map(|number| u32::try_from(number).unwrap());
            let default = SchemaLimits::default();
            let mut limits = default;
            limits.max_number_digits = number("max_number_digits");
            limits.max_indent = number("max_indent").unwrap_or(default.max_indent);
            limits.max_alternatives =
                number("max_alternatives").map_or(default.max_alternatives, |n| n as usize);
            let strict = case["lenient"] != true;
            let mut config = SchemaConfig::default();
            config.whitespace = whitespace;
            if case["numbers"] == "any" {
                config.numbers = Numbers::Any;
            }
            if let Some(style) = case.get("style") {
                config.style = Style::deserialize(style).unwrap();
            }
            config.property_order = property_order;
            config.limits = limits;
            config.strict = strict;
            let result = compile(&case["schema"], &config, &Fuel::new(10_000_000));
            match (&case["error"], result) {
                (Value::Null, Ok(compiled)) => {
                    let mut recogniser = Recogniser::new(&compiled.grammar);
                    for (key, is_word) in [("yes", true), ("no", false)] {
                        for text in texts(&case, key) {
                            if recogniser.read(text, &mut automata).1 != is_word {
                                wrong.push(format!("{name}: {text} should be a `{key}`"));
                            }
                        }
                    }
                    let refused = compiled.report.entries().filter_map(|entry| match entry.status {
                        Status::NotEnforced { reason } => {
                            Some((format!("{} {}", entry.pointer, entry.keyword), reason.to_string()))
                        }
                        _ => None,
                    });
                    let refused: BTreeMap<String, String> = refused.collect();
                    let told = case["not_enforced"].as_object().into_iter().flatten();
                    let told: BTreeMap<&str, &str> =
                        told.map(|(entry, says)| (entry.as_str(), says.as_str().unwrap())).collect();
                    let is_told = refused.keys().eq(told.keys())
                        && refused.values().zip(told.values()).all(|(reason, says)| reason.contains(says));
                    if !is_told {
                        wrong.push(format!("{name}: not enforced are {refused:?}, not {told:?}"));
                    }
                }
                (Value::Null, Err(error)) => wrong.push(format!("{name}: {error}")),
                (_, Ok(_)) => wrong.push(format!("{name}: no error")),
                (told, Err(error)) => {
                    let is_told = told["pointer"] == error.pointer()
                        && told["keyword"].as_str() == error.keyword()
                        && error.to_string().contains(told["says"].as_str().unwrap())
                        && error.is_unsatisfiable() == (case["unsatisfiable"] == true)
                        && error.is_limit() == (case["limit"] == true);
                    if !is_told {
                        wrong.push(format!(
                            "{name}: another error: {error} ({:?} {:?})",
                            error.pointer(),
                            error.keyword()
                        ));
                    }
                }
            }
        }
    }
    assert!(n_cases > 100, "only {n_cases} cases");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
