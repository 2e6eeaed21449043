//! Completions that people want: known code stays code, and no blanks where none are needed.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

use maskwright_automata::Fuel;
use maskwright_infill::{Hole, Infiller, Part, Template};
use maskwright_lark::{LarkConfig, builtin, parse_lark};
use maskwright_vocabulary::Vocabulary;

/// The template's text, of which the parts of `source` between `…` are fixed.
fn completed(grammar: &str, source: &str) -> String {
    let tokens: Vec<Option<Vec<u8>>> = (b' '..=b'~').chain([b'\n']).map(|byte| Some(vec![byte])).collect();
    let vocabulary = Vocabulary::from_tokens(tokens, &[], None).unwrap().shared();
    let known = builtin(grammar).unwrap();
    let config = LarkConfig { lexer: known.lexer, indentation: known.indentation, ..LarkConfig::default() };
    let read = parse_lark(known.text, grammar, &config, &Fuel::unlimited()).unwrap();
    let infiller = Infiller::lexed(
        &read.lexed,
        read.indentation.as_ref(),
        vocabulary,
        Default::default(),
        &Fuel::unlimited(),
    )
    .unwrap();
    let mut parts = Vec::new();
    for (index, text) in source.split('…').enumerate() {
        parts.extend((index > 0).then_some(Part::Hole(Hole::Any)));
        parts.push(Part::Text(text.as_bytes().to_vec()));
    }
    String::from_utf8(Template::new(&infiller, parts).unwrap().complete().unwrap().unwrap()).unwrap()
}

#[test]
fn known_code_stays_code() {
    for source in [
        "int f(int x) { … y = …; return … }",
        "int f(int x) {\n  for (…; i < x; …) {\n    … += i;\n  }\n  return …;\n}\n",
        "#include <vector>\nint f(…) { if (x > …) return 1; … }",
    ] {
        let text = completed("cpp", source);
        assert!(!text.contains("/*") && !text.contains("//"), "{text:?}");
        let mut before = 0;
        for known in source.split('…') {
            before += text[before..].find(known).unwrap();
            assert_eq!(text[..before].matches('"').count() % 2, 0, "in a string: {known:?} of {text:?}");
            before += known.len();
        }
        assert!(!text.contains(" \n ") && !text.contains("  \n"), "{text:?}");
    }
}

#[test]
fn a_comment_that_is_known_goes_on() {
    let text = completed("cpp", "int x; // … of all\nint y;");
    assert_eq!(text, "int x; //  of all\nint y;");
}

#[test]
fn nothing_where_nothing_is_needed() {
    assert_eq!(completed("cpp", "int f() { return… 1; }"), "int f() { return 1; }");
    assert_eq!(completed("sql", "SELECT a, b …FROM t"), "SELECT a, b FROM t");
}
