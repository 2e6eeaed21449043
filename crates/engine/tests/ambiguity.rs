//! Ambiguous grammars are followed for long texts in bounded work.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, EngineError, Limits, Matcher};
use maskwright_grammar::{Grammar, GrammarBuilder};
use maskwright_vocabulary::{TokenId, Vocabulary};

/// `s: s s | "a"`, with as many readings of a text as there are binary trees over it.
fn pairs() -> Grammar {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("s");
    let (inner, letter) = (builder.rule(start), builder.literal("a"));
    let pair = builder.seq(&[inner, inner]);
    let body = builder.alt(&[pair, letter]);
    builder.define(start, body);
    builder.finish(start).unwrap()
}

fn read(n_letters: usize, limits: Limits) -> Result<Matcher, EngineError> {
    let tokens = ["a", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[1], None).unwrap().shared();
    let compiled = Compiler::new(vocabulary, limits).compile(pairs(), &Fuel::unlimited()).unwrap();
    let mut matcher = Matcher::new(&compiled);
    for _ in 0..n_letters {
        assert!(matcher.accept_token(TokenId(0))?);
        assert_eq!(matcher.mask()?.len(), 2);
    }
    Ok(matcher)
}

/// Readings that differ only in how they came about are one: a limit on readings is not met by a text of
/// as many letters.
#[test]
fn readings_are_shared() {
    assert!(read(400, Limits { max_threads: 2_000, ..Limits::default() }).unwrap().is_accepting());
}

#[test]
fn too_many_readings_are_an_error_and_change_nothing() {
    let error = read(400, Limits { max_threads: 100, ..Limits::default() }).err().unwrap();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn the_work_of_a_byte_is_bounded() {
    let error = read(400, Limits { max_calls: 10_000, ..Limits::default() }).err().unwrap();
    assert!(error.is_limit() && error.to_string().contains("10000"), "{error}");
}
