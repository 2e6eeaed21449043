//! Limits on tokens beside the naive reference: sessions that end in time, numbers that are those of
//! completions, masks that say what they lack.
//!
//! `PROPTEST_CASES=10000 cargo test --release -p maskwright-engine --test budget` runs the full campaign.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::cell::Cell;
use std::sync::Arc;

use maskwright_automata::{ByteSet, Fuel, Regex};
use maskwright_engine::{
    Compiler, EngineGrammar, Error, ErrorKind, Limits, MaskStatus, Matcher, MatcherConfig, Options,
    TokenCountStatus,
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
    ProptestConfig { cases: maskwright_oracle::cases(300), ..config }
}

/// Some random grammars are so ambiguous that a byte takes tenths of a second until it is refused: they say
/// nothing here.
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

/// The grammar as it is and collapsed, with optimisations on, and with them off and tables within
/// `memory_bytes`; none if it has no words.
fn compiled(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    memory_bytes: usize,
) -> Result<Vec<Arc<EngineGrammar>>, TestCaseError> {
    let fuel = Fuel::unlimited();
    let mut all = Vec::new();
    let without_memo = Options { use_memo: false, ..Options::default() };
    let little = Limits { memory_bytes, ..limits() };
    for (limits, options) in [(limits(), Options::default()), (little, without_memo)] {
        let compiler = Compiler::with_options(vocabulary.clone(), limits, options);
        for grammar in [grammar.clone(), collapse_regular(grammar, &fuel).unwrap()] {
            match compiler.compile(grammar, &fuel) {
                Ok(compiled) => all.push(compiled),
                Err(error) => prop_assert!(error.kind() == ErrorKind::Grammar, "{}", error),
            }
        }
    }
    Ok(all)
}

/// Checks how many tokens complete the text at each place of a walk.
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
    // Tables are dropped whenever something was added.
    for compiled in compiled(grammar, vocabulary, 0)? {
        let mut matcher = Matcher::new(&compiled);
        for (position, &least) in expected.iter().enumerate() {
            match (matcher.tokens_to_finish(), least) {
                (Ok(found), Some(least)) => {
                    prop_assert!(found.n_tokens >= least, "{found:?} after {:?}", &tokens[..position]);
                    prop_assert!(found.status == TokenCountStatus::Upper || found.n_tokens == least);
                    let mut rest = matcher.fork();
                    let completion = done(matcher.finish())?;
                    prop_assert!(completion.len() <= found.n_tokens);
                    prop_assert_eq!(done(rest.accept_tokens(&completion))?, completion.len());
                    prop_assert!(rest.is_terminated());
                }
                (Err(error), _) if is_too_ambiguous(&error) => done(Err(error))?,
                (Err(error), least) => {
                    prop_assert!(error.is_limit() || least.is_none(), "{error} instead of {least:?}");
                }
                (Ok(found), None) => prop_assert!(false, "{found:?} although nothing completes the text"),
            }
            if let Some(&token) = tokens.get(position) {
                prop_assert!(done(matcher.accept_token(token))?);
            }
        }
    }
    Ok(())
}

/// What walks under a limit came to.
#[derive(Default)]
struct Counts {
    exact: Cell<u32>,
    bound: Cell<u32>,
    allowed: Cell<u64>,
    lost: Cell<u64>,
}

/// Walks by `choices` along the masks under a limit of `spare` more tokens than are needed. The text is never
/// stuck, and complete in time; no mask has a token after which no completion fits, and one that says that it
/// is exact lacks none.
fn walk_in_time(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    compiled: &Arc<EngineGrammar>,
    (choices, spare): (&[u16], usize),
    counts: &Counts,
) -> Result<(), TestCaseError> {
    let oracle = Oracle::new(grammar);
    let Ok(needed) = Matcher::new(compiled).tokens_to_finish() else { return Ok(()) };
    let limit = needed.n_tokens + spare;
    let mut matcher = done(Matcher::with_config(compiled, &MatcherConfig::with_max_tokens(limit)))?;
    let mut text = Vec::new();
    for n_tokens in 0..=limit {
        if matcher.is_terminated() {
            break;
        }
        prop_assert!(n_tokens < limit, "the text is not complete in time");
        let mask = done(matcher.mask())?;
        let left = limit - n_tokens;
        let expected = oracle.mask_within(vocabulary, &text, left);
        let is_exact = matcher.mask_status() == MaskStatus::Exact;
        let count = if is_exact { &counts.exact } else { &counts.bound };
        count.set(count.get() + 1);
        for (id, &is_allowed) in expected.iter().enumerate() {
            let token = TokenId(id as u32);
            let is_given = mask.contains(token);
            prop_assert!(is_allowed || !is_given, "token {} with {} left after {:?}", id, left, text);
            prop_assert!(!is_allowed || is_given || !is_exact, "token {} is missing with {} left", id, left);
            prop_assert_eq!(done(matcher.validate_tokens(&[token]))? == 1, is_given, "token {}", id);
            counts.allowed.set(counts.allowed.get() + u64::from(is_allowed));
            counts.lost.set(counts.lost.get() + u64::from(is_allowed && !is_given));
        }
        let least = done(matcher.tokens_to_finish())?;
        prop_assert!(least.n_tokens <= left, "{least:?} of {left} after {text:?}");
        let completion = done(matcher.finish())?;
        prop_assert!(completion.len() <= least.n_tokens);
        prop_assert_eq!(done(matcher.validate_tokens(&completion))?, completion.len());
        let allowed: Vec<TokenId> = mask.iter().collect();
        prop_assert!(!allowed.is_empty(), "dead end after {:?} with {} left", text, left);
        let token = allowed[usize::from(choices[n_tokens % choices.len()]) % allowed.len()];
        if n_tokens % 3 == 2 {
            prop_assert!(done(matcher.accept_token(allowed[0]))?);
            matcher.rollback(1).unwrap();
            prop_assert_eq!(done(matcher.mask())?, mask, "after rollback");
        }
        prop_assert!(done(matcher.accept_token(token))?);
        text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
    }
    prop_assert!(oracle.is_word(&text));
    Ok(())
}

/// Counts beyond what a few tokens can see are told apart where a completion takes more tokens than that:
/// within one text, and between grammars of one compiler.
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
    let mut matcher = Matcher::with_config(&compile(&long), &MatcherConfig::with_max_tokens(13)).unwrap();
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
    fn numbers_are_those_of_completions(
        grammar in arb_grammar(), vocabulary in arb_vocabulary(), walk in arb_text_walk()
    ) {
        check(&grammar, &vocabulary, &walk)?;
    }
}

/// Texts that follow masks under a limit are complete in time, whatever is drawn from them, from the least
/// limit that is taken on.
#[test]
fn texts_end_in_time() {
    let counts = Counts::default();
    let strategy =
        (arb_grammar(), arb_vocabulary(), proptest::collection::vec(any::<u16>(), 1..40), 0usize..9);
    let judge = |(grammar, vocabulary, choices, spare): (Grammar, _, Vec<u16>, _)| {
        for compiled in compiled(&grammar, &vocabulary, Limits::default().memory_bytes)? {
            walk_in_time(&grammar, &vocabulary, &compiled, (&choices, spare), &counts)?;
        }
        Ok(())
    };
    TestRunner::new(cases()).run(&strategy, judge).unwrap();
    let Counts { exact, bound, allowed, lost } = &counts;
    let share = lost.get() as f64 / allowed.get() as f64;
    println!("{} exact masks, {} bounds, {share:.4} of the allowed tokens lost", exact.get(), bound.get());
    assert!(
        exact.get() >= 200 && bound.get() >= 20,
        "{} exact masks and {} bounds",
        exact.get(),
        bound.get()
    );
    assert!(share < 0.1, "{share} of the allowed tokens are lost");
}

/// A member of a list may be empty.
#[test]
fn texts_end_behind_empty_members() {
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
    for compiled in compiled(&grammar, &vocabulary, 0).unwrap() {
        for spare in 0..3 {
            walk_in_time(&grammar, &vocabulary, &compiled, (&[1], spare), &Counts::default()).unwrap();
        }
    }
}

/// A list seems to begin with itself where members are counted that no text can have there. What it can begin
/// with was looked for without an end.
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
    for compiled in compiled(&grammar, &vocabulary, 0).unwrap() {
        let mut matcher = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(3)).unwrap();
        assert!(matcher.accept_token(TokenId(0)).unwrap());
        assert_eq!(matcher.tokens_to_finish().unwrap().n_tokens, 1);
        let mask: Vec<u32> = matcher.mask().unwrap().iter().map(|token| token.0).collect();
        assert_eq!(mask, [0, 2]);
    }
}
