//! Masks in a bounded amount of work: what they have is allowed, they are never empty where a text can go on,
//! and what they have shown is accepted.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-engine --test mask_work` runs the full campaign.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::cell::Cell;
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, Error, Limits, MaskStatus, Matcher, MatcherConfig};
use maskwright_grammar::Grammar;
use maskwright_oracle::{Oracle, arb_grammar, arb_vocabulary};
use maskwright_vocabulary::{Mask, TokenId, Vocabulary};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn cases(default: u32) -> ProptestConfig {
    let config = ProptestConfig { max_shrink_iters: 500, ..ProptestConfig::default() };
    ProptestConfig { cases: maskwright_oracle::cases(default), ..config }
}

/// A case whose text has too many readings does not count.
fn done<T>(result: Result<T, Error>) -> Result<T, TestCaseError> {
    result.map_err(|error| match error.is_limit() && error.to_string().contains("so ambiguous") {
        true => TestCaseError::reject(error.to_string()),
        false => TestCaseError::fail(error.to_string()),
    })
}

/// How many masks of each kind were judged.
#[derive(Default)]
struct Judged {
    exact: Cell<u32>,
    bound: Cell<u32>,
}

/// Walks with random tokens of bounded masks, and judges each mask.
fn walk(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    (work, spare, choices): (u64, Option<usize>, &[u16]),
    judged: &Judged,
) -> Result<(), TestCaseError> {
    let oracle = Oracle::new(grammar);
    let limits = Limits { max_calls: 5_000, mask_work: Some(work), ..Limits::default() };
    let compiler = Compiler::new(vocabulary.clone(), limits);
    let Ok(compiled) = compiler.compile(grammar.clone(), &Fuel::unlimited()) else {
        return Err(TestCaseError::reject("the grammar has no text"));
    };
    let needed = spare.and_then(|_| Matcher::new(&compiled).unbounded().tokens_to_finish().ok());
    if spare.is_some() && needed.is_none() {
        return Err(TestCaseError::reject("the tokens spell no text"));
    }
    let limit = needed.and_then(|needed| Some(needed.n_tokens + spare?));
    let mut matcher = done(Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(limit)))?;
    let mut text = Vec::new();
    for n_tokens in 0..limit.unwrap_or(choices.len()) {
        if matcher.is_terminated() {
            return Ok(());
        }
        let mask = done(matcher.mask())?;
        let status = matcher.mask_status();
        let count = match status {
            MaskStatus::Exact => &judged.exact,
            MaskStatus::Bound => &judged.bound,
        };
        count.set(count.get() + 1);
        let expected = match limit {
            Some(limit) => oracle.mask_within(vocabulary, &text, limit - n_tokens),
            None => oracle.mask(vocabulary, &text).unwrap_or_default(),
        };
        for (id, &is_allowed) in expected.iter().enumerate() {
            let token = TokenId(id as u32);
            prop_assert!(is_allowed || !mask.contains(token), "token {} after {:?}", id, text);
            let is_missing = is_allowed && !mask.contains(token);
            prop_assert!(!is_missing || status == MaskStatus::Bound, "no token {} after {:?}", id, text);
        }
        let again = done(matcher.mask())?;
        prop_assert!(mask.iter().all(|token| again.contains(token)), "a mask became smaller");
        // What was broken off is resumed.
        let mut whole = Mask::new(vocabulary.n_vocab());
        let mut resumed = matcher.fork();
        done(resumed.fill_mask_within(whole.words_mut(), None))?;
        let is_exact = resumed.mask_status() == MaskStatus::Exact;
        prop_assert!(is_exact || limit.is_some(), "a bound with all work");
        let is_expected = |id: usize| expected.get(id).is_some_and(|&is_allowed| is_allowed);
        for id in 0..vocabulary.n_vocab() {
            let is_there = whole.contains(TokenId(id as u32));
            let is_right = is_there == is_expected(id) || !is_exact && !is_there;
            prop_assert!(is_right, "token {} after {:?}, with all work", id, text);
        }
        let tokens: Vec<TokenId> = mask.iter().collect();
        if tokens.is_empty() {
            prop_assert!(expected.iter().all(|is_allowed| !is_allowed), "a dead end after {:?}", text);
            return Ok(());
        }
        prop_assert_eq!(done(matcher.validate_tokens(&tokens[..1]))?, 1);
        let token = tokens[usize::from(choices[n_tokens % choices.len()]) % tokens.len()];
        prop_assert!(done(matcher.accept_token(token))?, "{:?} is refused after {:?}", token, text);
        text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
    }
    prop_assert!(limit.is_none() || matcher.is_terminated(), "the text is not complete in time");
    Ok(())
}

#[test]
fn bounded_masks_are_right_and_not_empty() {
    let judged = Judged::default();
    let strategy = (
        arb_grammar(),
        arb_vocabulary(),
        prop_oneof![0u64..300, 0u64..5_000],
        proptest::option::of(0usize..6),
        proptest::collection::vec(any::<u16>(), 1..30),
    );
    let judge = |(grammar, vocabulary, work, spare, choices): (Grammar, _, _, _, Vec<u16>)| {
        walk(&grammar, &vocabulary, (work, spare, &choices), &judged)
    };
    let config = cases(300);
    let enough = config.cases * 2 / 3;
    TestRunner::new(config).run(&strategy, judge).unwrap();
    let (n_exact, n_bound) = (judged.exact.get(), judged.bound.get());
    assert!(n_exact >= enough && n_bound >= enough, "{n_exact} exact masks and {n_bound} bounds were judged");
}

/// Without a limit in [`Limits`], a call may have one of its own.
#[test]
fn a_call_may_have_its_own_limit() {
    let tokens = ["a", "b", "ab", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap().shared();
    let compiler = Compiler::new(vocabulary, Limits::default());
    let pattern = maskwright_automata::Regex::bytes([b'a', b'b'].into_iter().collect()).star();
    let compiled = compiler.compile(Grammar::from_regex(pattern), &Fuel::unlimited()).unwrap();
    let mut matcher = Matcher::new(&compiled);
    let mut mask = Mask::new(4);
    matcher.fill_mask_within(mask.words_mut(), Some(0)).unwrap();
    assert_eq!(matcher.mask_status(), MaskStatus::Bound);
    assert!(mask.contains(TokenId(3)), "the text may end");
    matcher.fill_mask_within(mask.words_mut(), Some(1_000_000)).unwrap();
    assert_eq!((matcher.mask_status(), mask.iter().count()), (MaskStatus::Exact, 4));
    matcher.fill_mask_within(mask.words_mut(), Some(0)).unwrap();
    assert_eq!((matcher.mask_status(), mask.iter().count()), (MaskStatus::Exact, 4), "it is known by now");
}
