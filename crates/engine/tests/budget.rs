//! Budgets equal the naive reference's: the least number of tokens, masks within a limit, sessions that end in time.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-engine --test budget` runs the full campaign.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::cell::Cell;
use std::sync::Arc;

use maskwright_automata::{ByteSet, Fuel, Regex};
use maskwright_engine::{
    Compiler, EngineGrammar, Error, ErrorKind, Limits, MaskStatus, Matcher, Options, TokenCountStatus,
};
use maskwright_grammar::{Grammar, GrammarBuilder, ShuffleItem, ShuffleList, collapse_regular};
use maskwright_oracle::{Oracle, TextWalk, arb_grammar, arb_text_walk, arb_vocabulary};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn cases() -> ProptestConfig {
    let mut config = ProptestConfig::default();
    if std::env::var_os("PROPTEST_MAX_SHRINK_ITERS").is_none() {
        config.max_shrink_iters = 500;
    }
    if std::env::var_os("PROPTEST_CASES").is_some() {
        config
    } else {
        ProptestConfig { cases: 300, ..config }
    }
}

/// Some random grammars are so ambiguous that a byte takes tenths of a second until it is refused: they say nothing here.
fn limits() -> Limits {
    Limits { max_calls: 5_000, ..Limits::default() }
}

/// Whether a text has too many readings to be followed, which no limit on tokens brings about.
fn is_too_ambiguous(error: &Error) -> bool {
    error.is_limit() && error.to_string().contains("so ambiguous")
}

/// A case whose text has too many readings does not count.
fn done<T>(result: Result<T, Error>) -> Result<T, TestCaseError> {
    result.map_err(|error| match is_too_ambiguous(&error) {
        true => TestCaseError::reject(error.to_string()),
        false => TestCaseError::fail(error.to_string()),
    })
}

/// The grammar as it is and collapsed, with optimisations on and off; none if it has no words.
fn compiled(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
) -> Result<Vec<Arc<EngineGrammar>>, TestCaseError> {
    let fuel = Fuel::unlimited();
    let mut all = Vec::new();
    for options in [Options::default(), Options { use_memo: false, ..Options::default() }] {
        let compiler = Compiler::with_options(vocabulary.clone(), limits(), options);
        for grammar in [grammar.clone(), collapse_regular(grammar, &fuel).unwrap()] {
            match compiler.compile(grammar, &fuel) {
                Ok(compiled) => all.push(compiled),
                Err(error) => prop_assert!(error.kind() == ErrorKind::Grammar, "{}", error),
            }
        }
    }
    Ok(all)
}

/// Checks the least number of tokens at each place of a walk, and the masks around it at the last.
fn check(grammar: &Grammar, vocabulary: &Arc<Vocabulary>, walk: &TextWalk) -> Result<(), TestCaseError> {
    let oracle = Oracle::new(grammar);
    let tokens = walk.tokens(&oracle, vocabulary);
    let mut expected = Vec::new();
    let mut text = Vec::new();
    for position in 0..=tokens.len() {
        expected.push(oracle.tokens_to_finish(vocabulary, &text));
        if let Some(&token) = tokens.get(position) {
            text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
        }
    }
    // The limits at which the walk itself is possible, and the first at which it is not; then limits that are far.
    let spares = [0, 1, 30];
    let masks: Vec<Vec<bool>> = match expected[tokens.len()] {
        Some(least) => {
            spares.iter().map(|spare| oracle.mask_within(vocabulary, &text, least + spare)).collect()
        }
        None => Vec::new(),
    };
    for compiled in compiled(grammar, vocabulary)? {
        let mut matcher = Matcher::new(&compiled);
        for (position, &expected) in expected.iter().enumerate() {
            match (matcher.tokens_to_finish(), expected) {
                (Ok(least), Some(expected)) => {
                    prop_assert_eq!(least.n_tokens, expected, "after {:?}", &tokens[..position]);
                    prop_assert_eq!(least.status, TokenCountStatus::Exact);
                    let mut rest = matcher.fork();
                    let completion = done(matcher.finish())?;
                    prop_assert_eq!(completion.len(), expected);
                    prop_assert_eq!(done(rest.accept_tokens(&completion))?, expected);
                    prop_assert!(rest.is_terminated());
                }
                (Err(error), _) if is_too_ambiguous(&error) => done(Err(error))?,
                (Err(_), None) => {}
                (found, expected) => {
                    prop_assert!(false, "{:?} instead of {:?}", found, expected);
                }
            }
            if let Some(&token) = tokens.get(position) {
                prop_assert!(done(matcher.accept_token(token))?);
            }
        }
        let Some(least) = expected[tokens.len()] else { continue };
        for (spare, expected_mask) in spares.into_iter().zip(&masks) {
            let limit = tokens.len() + least + spare;
            let start = expected[0].expect("the walk can be completed");
            prop_assert!(Matcher::with_max_tokens(&compiled, Some(start - 1)).is_err());
            let mut matcher = done(Matcher::with_max_tokens(&compiled, Some(limit)))?;
            prop_assert_eq!(done(matcher.validate_tokens(&tokens))?, tokens.len());
            prop_assert_eq!(done(matcher.accept_tokens(&tokens))?, tokens.len());
            let mask = done(matcher.mask())?;
            for (id, &is_allowed) in expected_mask.iter().enumerate() {
                let token = TokenId(id as u32);
                let bytes = vocabulary.token_bytes(token);
                prop_assert_eq!(mask.contains(token), is_allowed, "{:?} within {}", bytes, limit);
                prop_assert_eq!(done(matcher.validate_tokens(&[token]))? == 1, is_allowed);
            }
        }
    }
    Ok(())
}

/// Counts beyond what a few tokens can see are told apart where a completion takes more tokens than that: within
/// one text, and between grammars of one compiler.
#[test]
fn large_counts_are_told_apart() {
    let tokens = ["x", "xx", "\"", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap().shared();
    let [two, quote] = [1, 2].map(TokenId);
    let letters = || Regex::bytes(ByteSet::range(b'x', b'y'));
    let long = Regex::concat([Regex::byte(b'"'), letters().repeat(20, None), Regex::byte(b'"')]);
    let compiler = Compiler::new(vocabulary, Limits::default());
    let compile =
        |regex: &Regex| compiler.compile(Grammar::from_regex(regex.clone()), &Fuel::unlimited()).unwrap();
    let mut matcher = Matcher::with_max_tokens(&compile(&long), Some(13)).unwrap();
    for (token, left) in [quote].into_iter().chain([two; 10]).chain([quote]).zip((1..=13).rev()) {
        assert_eq!(matcher.tokens_to_finish().unwrap().n_tokens, left);
        assert!(matcher.mask().unwrap().contains(token) && matcher.accept_token(token).unwrap());
    }
    let exactly = letters().repeat(20, Some(20));
    let mut matcher = Matcher::new(&compile(&exactly));
    for _ in 0..10 {
        matcher.accept_token(two).unwrap();
        matcher.tokens_to_finish().unwrap();
    }
    assert_eq!(Matcher::new(&compile(&exactly)).tokens_to_finish().unwrap().n_tokens, 11);
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn budgets_equal_the_naive_reference(
        grammar in arb_grammar(), vocabulary in arb_vocabulary(), walk in arb_text_walk()
    ) {
        check(&grammar, &vocabulary, &walk)?;
    }

    /// Whatever is drawn from the masks, the text is complete within the limit; rollback gives tokens back.
    #[test]
    fn random_walks_end_in_time(
        grammar in arb_grammar(),
        vocabulary in arb_vocabulary(),
        choices in proptest::collection::vec(any::<u16>(), 1..40),
        spare in 0usize..12,
    ) {
        let oracle = Oracle::new(&grammar);
        for compiled in compiled(&grammar, &vocabulary)? {
            let Ok(least) = Matcher::new(&compiled).tokens_to_finish() else { continue };
            let limit = least.n_tokens + spare;
            let mut matcher = done(Matcher::with_max_tokens(&compiled, Some(limit)))?;
            let mut text = Vec::new();
            let mut n_tokens = 0;
            let mut choices = choices.iter().cycle();
            while !matcher.is_terminated() {
                prop_assert!(n_tokens < limit, "the text is not complete in time");
                let allowed: Vec<TokenId> = done(matcher.mask())?.iter().collect();
                prop_assert!(!allowed.is_empty(), "dead end after {:?}", text);
                let token = allowed[usize::from(*choices.next().unwrap()) % allowed.len()];
                prop_assert!(done(matcher.accept_token(token))?);
                if n_tokens % 3 == 2 {
                    let before = matcher.fork().mask().ok();
                    matcher.rollback(1).unwrap();
                    prop_assert!(done(matcher.accept_token(token))?);
                    prop_assert_eq!(matcher.fork().mask().ok(), before);
                }
                n_tokens += 1;
                text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
            }
            prop_assert!(oracle.is_word(&text));
        }
    }
}

/// Exact searches are given up now and then, so some answers are upper bounds. A session that was accepted is never
/// left without a token, what an answer promises can be done, and a mask says whether tokens may be missing.
#[test]
fn searches_that_are_given_up() {
    let (n_exact, n_bound) = (Cell::new(0), Cell::new(0));
    let strategy = (
        arb_grammar(),
        arb_vocabulary(),
        proptest::collection::vec(any::<u16>(), 1..40),
        0usize..6,
        0u64..60,
    );
    let judge = |(grammar, vocabulary, choices, spare, budget_items): (Grammar, _, Vec<u16>, _, _)| {
        let limits = Limits { budget_items, ..limits() };
        let compiler = Compiler::new(Arc::clone(&vocabulary), limits);
        let Ok(compiled) = compiler.compile(grammar.clone(), &Fuel::unlimited()) else {
            return Err(TestCaseError::reject("the grammar has no text"));
        };
        let oracle = Oracle::new(&grammar);
        let exact = oracle.tokens_to_finish(&vocabulary, &[]);
        let least = match Matcher::new(&compiled).tokens_to_finish() {
            Ok(least) => least,
            Err(error) => {
                prop_assert!(exact.is_none() || error.is_limit(), "{} instead of {:?}", error, exact);
                return Err(TestCaseError::reject("no least number"));
            }
        };
        let is_right = exact.is_some_and(|exact| match least.status {
            TokenCountStatus::Exact => least.n_tokens == exact,
            TokenCountStatus::Upper => least.n_tokens >= exact,
        });
        prop_assert!(is_right, "{:?} instead of {:?}", least, exact);
        let limit = least.n_tokens + spare;
        let mut matcher = done(Matcher::with_max_tokens(&compiled, Some(limit)))?;
        let mut text = Vec::new();
        for n_tokens in 0..=limit {
            if matcher.is_terminated() {
                break;
            }
            prop_assert!(n_tokens < limit, "the text is not complete in time");
            let mask = done(matcher.mask())?;
            let expected = oracle.mask_within(&vocabulary, &text, limit - n_tokens);
            match matcher.mask_status() {
                MaskStatus::Exact => n_exact.set(n_exact.get() + 1),
                MaskStatus::Bound => n_bound.set(n_bound.get() + 1),
            }
            for (id, &is_allowed) in expected.iter().enumerate() {
                let is_given = mask.contains(TokenId(id as u32));
                let is_missing = is_allowed && !is_given;
                prop_assert!(is_allowed || !is_given, "token {} cannot be completed in time", id);
                prop_assert!(
                    !is_missing || matcher.mask_status() == MaskStatus::Bound,
                    "token {} is missing",
                    id
                );
            }
            let allowed: Vec<TokenId> = mask.iter().collect();
            prop_assert!(!allowed.is_empty(), "dead end within {} of {} tokens", n_tokens, limit);
            let token = allowed[usize::from(choices[n_tokens % choices.len()]) % allowed.len()];
            prop_assert!(done(matcher.accept_token(token))?);
            text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
        }
        Ok(())
    };
    TestRunner::new(cases()).run(&strategy, judge).unwrap();
    let (n_exact, n_bound) = (n_exact.get(), n_bound.get());
    assert!(n_exact >= 200 && n_bound >= 20, "{n_exact} exact masks and {n_bound} bounds were judged");
}

/// A member of a list may be empty. Then a token can reach from the text before the list over that member: "bb" ends the word, and
/// is the separator too.
#[test]
fn separators_behind_empty_members_are_counted() {
    let mut builder = GrammarBuilder::new();
    let separator = builder.terminal(Regex::literal("b"));
    let word = builder.terminal(Regex::concat([Regex::literal("a"), Regex::any_char().plus()]));
    let others = builder.epsilon();
    let list = ShuffleList { items: [].into(), others, separator, min: 2, max: None };
    let list = builder.shuffle(list);
    let rule = builder.declare("start");
    let body = builder.seq(&[word, list]);
    builder.define(rule, body);
    let grammar = builder.finish(rule).unwrap();
    let tokens = ["a", "b", "bb", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(3)], None).unwrap().shared();
    assert_eq!(Oracle::new(&grammar).tokens_to_finish(&vocabulary, &[]), Some(3));
    for compiled in compiled(&grammar, &vocabulary).unwrap() {
        let least = Matcher::new(&compiled).tokens_to_finish().unwrap();
        assert_eq!((least.n_tokens, least.status), (3, TokenCountStatus::Exact));
    }
}

/// A list seems to begin with itself where members are counted that no text can have there. What it can begin with was looked for
/// without an end.
#[test]
fn lists_that_seem_to_begin_with_themselves() {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let own = builder.rule(start);
    let letters = builder.terminal(Regex::byte(b'a').star());
    let [letter, separator] = [b"a", b"b"].map(|letter| builder.literal(letter));
    let (others, max) = (builder.never(), Some(1));
    let item = |expr, is_required| ShuffleItem { expr, is_required };
    let items = [item(own, false), item(letter, true)].into();
    let inner = builder.shuffle(ShuffleList { items, others, separator, min: 0, max });
    let member = builder.seq(&[letters, inner]);
    let items = [item(member, true)].into();
    let list = builder.shuffle(ShuffleList { items, others, separator, min: 0, max: None });
    let again = builder.seq(&[list, own]);
    let again = builder.optional(again);
    builder.define(start, again);
    let grammar = builder.finish(start).unwrap();
    let tokens = ["a", "b", "</s>"].map(|token| Some(token.as_bytes().to_vec()));
    let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[TokenId(2)], None).unwrap().shared();
    for compiled in compiled(&grammar, &vocabulary).unwrap() {
        let mut matcher = Matcher::with_max_tokens(&compiled, Some(3)).unwrap();
        assert!(matcher.accept_token(TokenId(0)).unwrap());
        assert_eq!(matcher.tokens_to_finish().unwrap().n_tokens, 1);
        let mask: Vec<u32> = matcher.mask().unwrap().iter().map(|token| token.0).collect();
        assert_eq!(mask, [0, 2]);
    }
}
