//! Free text with triggers and excluded strings against its definition: a walk over the text that looks for
//! the first needle at every place.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

mod support;

use std::cell::Cell;

use maskwright_automata::Fuel;
use maskwright_grammar::SpecialNames;
use maskwright_json_schema::SchemaConfig;
use maskwright_tags::compile;
use proptest::prelude::*;
use serde_json::json;
use support::Session;

/// What comes after the trigger of some number.
fn content(number: usize) -> String {
    format!("{number};")
}

/// Whether `text` is free text in which each trigger is followed by its content, by searching.
fn is_text(triggers: &[String], excludes: &[String], is_loop: bool, text: &str) -> bool {
    let mut start = 0;
    let mut end = 0;
    while end < text.len() {
        end += text[end..].chars().next().unwrap().len_utf8();
        let free = &text[start..end];
        let needles = triggers.iter().chain(excludes).filter(|needle| free.ends_with(needle.as_str()));
        let Some(length) = needles.map(String::len).max() else { continue };
        if excludes.iter().any(|exclude| free.ends_with(exclude.as_str())) {
            return false;
        }
        let number =
            triggers.iter().position(|trigger| trigger.len() == length && free.ends_with(trigger.as_str()));
        let content = content(number.unwrap());
        if !text[end..].starts_with(&content) {
            return false;
        }
        start = end + content.len();
        if !is_loop {
            return start == text.len();
        }
        end = start;
    }
    true
}

fn needles() -> impl Strategy<Value = Vec<String>> {
    prop::collection::btree_set("[abé]{1,4}", 0..4).prop_map(|needles| needles.into_iter().collect())
}

#[test]
fn free_text_is_what_searching_says() {
    let session = Session::new(&[]);
    let (n_refused, n_texts, n_yes) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let text = || "([abé]|[abé]|0;|1;|2;|c){0,9}";
    let case = (needles(), needles(), any::<bool>(), prop::collection::vec(text(), 40));
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(400));
    let result = runner.run(&case, |(triggers, excludes, is_loop, mut texts)| {
        // Every needle by itself, with its content, and after each other one.
        for (number, trigger) in triggers.iter().enumerate() {
            texts.push(format!("{trigger}{}", content(number)));
            for other in triggers.iter().chain(&excludes) {
                texts.extend(
                    (1..=other.len())
                        .filter(|&cut| other.is_char_boundary(cut))
                        .map(|cut| format!("{}{trigger}{}", &other[..cut], content(number))),
                );
            }
        }
        let rules = triggers.iter().enumerate();
        let rules: Vec<_> = rules
            .map(|(number, trigger)| json!([trigger, {"type": "const_string", "value": content(number)}]))
            .collect();
        let format = match rules.is_empty() {
            true => json!({"type": "any_text", "excludes": excludes}),
            false => json!({"type": "dispatch", "rules": rules, "excludes": excludes, "loop": is_loop}),
        };
        let compiled = compile(
            &json!({"format": format}),
            &SchemaConfig::default(),
            &SpecialNames::default(),
            &Fuel::new(1_000_000),
        );
        let is_ambiguous = triggers.iter().any(|trigger| {
            let inside = trigger.char_indices().flat_map(|(at, _)| {
                triggers
                    .iter()
                    .filter(move |other| trigger[at..].starts_with(other.as_str()))
                    .map(move |other| (at, other))
            });
            inside.into_iter().any(|(at, other)| other != trigger && at + other.len() < trigger.len())
        });
        let compiled = match compiled {
            Err(error) => {
                prop_assert!(is_ambiguous, "{format}: {error}");
                n_refused.set(n_refused.get() + 1);
                return Ok(());
            }
            Ok(compiled) => compiled,
        };
        prop_assert!(!is_ambiguous, "{format}");
        let grammar = session.compile(compiled.grammar);
        for text in texts {
            let expected = is_text(&triggers, &excludes, is_loop, &text);
            prop_assert_eq!(session.is_text(&grammar, &json!(text)), expected, "{} on {:?}", format, text);
            n_texts.set(n_texts.get() + 1);
            n_yes.set(n_yes.get() + usize::from(expected));
        }
        Ok(())
    });
    result.unwrap();
    let counts = (n_refused.get(), n_texts.get(), n_yes.get());
    assert!(counts.0 > 40 && counts.1 > 8_000 && counts.2 > 1_000, "{counts:?}");
}
