//! Bad and hostile input through the front door: a clear located error, or a correct run.
//!
//! The cases are data (`testdata/hostile/cases.jsonl`). The vocabulary is the bytes, so every mask is decided
//! byte by byte. What the cases cost with a real vocabulary is measured by `cargo xtask experiment hostile`.

#[path = "support/hostile.rs"]
mod cases;

use cases::Case;
use maskwright::{TokenId, Tokenizer};

#[test]
fn every_case_ends_as_it_should() {
    let mut tokens: Vec<Vec<u8>> = (0..=u8::MAX).map(|byte| vec![byte]).collect();
    tokens.push(Vec::new());
    let tokenizer = Tokenizer::from_tokens(tokens, &[TokenId(256)]).unwrap();
    let mut failures = Vec::new();
    for case in cases::read() {
        let case = Case::new(&case);
        if let Err(failure) = case.run(&tokenizer) {
            failures.push(format!("{}: {failure}", case.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_wrong_outcome_is_noticed() {
    let tokenizer =
        Tokenizer::from_tokens(vec![b"a".to_vec(), b"b".to_vec(), Vec::new()], &[TokenId(2)]).unwrap();
    let run = |case| Case::new(&case).run(&tokenizer);
    let case = |expected: (&str, serde_json::Value)| {
        let mut case =
            serde_json::json!({"name": "x", "kind": "regex", "source": [{"repeat": "a", "times": 2}]});
        case[expected.0] = expected.1;
        case
    };
    assert!(run(case(("accepts", serde_json::json!(["aa"])))).is_ok());
    assert!(run(case(("accepts", serde_json::json!(["a"])))).is_err());
    assert!(run(case(("refuses", serde_json::json!(["aa"])))).is_err());
    assert!(run(case(("error", serde_json::json!(["place"])))).is_err());
}
