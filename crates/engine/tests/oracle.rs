//! Every mask equals the naive reference's, whichever optimisations are on.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_engine::{Compiler, ErrorKind, ExitRows, Limits, Matcher, Options};
use maskwright_grammar::{Grammar, collapse_regular};
use maskwright_oracle::{Oracle, arb_grammar, arb_text_walk, arb_vocabulary};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::prelude::*;

/// Combinations of optimisations that must not change any mask.
fn all_options() -> Vec<Options> {
    let on = Options::default();
    vec![
        on,
        Options { use_rows: false, use_memo: false, ..on },
        Options { use_rows: false, ..on },
        Options { light_nodes: 0, ..on },
        Options { light_nodes: 0, use_memo: false, ..on },
        Options { light_nodes: 0, short_bytes: 2, ..on },
        Options { light_nodes: 0, use_differences: false, use_counts: false, ..on },
        Options { light_nodes: 0, exit_rows: ExitRows::Always, ..on },
        Options { light_nodes: 0, exit_rows: ExitRows::Always, max_exits: 3, use_memo: false, ..on },
        Options { light_nodes: 0, exit_rows: ExitRows::Never, ..on },
        Options { light_nodes: 0, max_exits: 3, ..on },
        Options { light_nodes: 0, max_exits: 0, use_memo: false, ..on },
    ]
}

/// Checks masks, acceptance and rollback along `walk`; masks of all options agree with the oracle's.
fn check(
    grammar: &Grammar,
    vocabulary: &Arc<Vocabulary>,
    tokens: &[TokenId],
    limits: &Limits,
) -> Result<(), TestCaseError> {
    let oracle = Oracle::new(grammar);
    let fuel = Fuel::unlimited();
    for options in all_options() {
        let compiler = Compiler::with_options(vocabulary.clone(), limits.clone(), options);
        for grammar in [grammar.clone(), collapse_regular(grammar, &fuel).unwrap()] {
            let compiled = match compiler.compile(grammar, &fuel) {
                Ok(compiled) => compiled,
                Err(error) => {
                    prop_assert!(error.kind() == ErrorKind::Grammar, "{error}");
                    prop_assert!(!oracle.is_prefix(b""), "refused as empty, but it has words");
                    continue;
                }
            };
            let mut matcher = Matcher::new(&compiled);
            let mut text = Vec::new();
            for position in 0..=tokens.len() {
                let expected = oracle.mask(vocabulary, &text);
                let expected = expected.ok_or_else(|| TestCaseError::fail("the walk left the language"))?;
                let mask = matcher.mask().unwrap();
                for (id, &is_allowed) in expected.iter().enumerate() {
                    let token = TokenId(id as u32);
                    prop_assert_eq!(
                        mask.contains(token),
                        is_allowed,
                        "{:?} after {:?}, {:?}",
                        vocabulary.token_bytes(token),
                        text.escape_ascii().to_string(),
                        options
                    );
                    prop_assert_eq!(matcher.validate_tokens(&[token]).unwrap() == 1, is_allowed);
                }
                prop_assert_eq!(matcher.is_accepting(), oracle.is_word(&text));
                let forced = matcher.forced_bytes().unwrap();
                if let Some(&byte) = forced.first() {
                    let next = oracle.next_bytes(&text);
                    prop_assert!(next.len() == 1 && next.contains(byte) && !oracle.is_word(&text));
                }
                if let Some(&token) = tokens.get(position) {
                    prop_assert!(matcher.accept_token(token).unwrap());
                    text.extend_from_slice(vocabulary.token_bytes(token).unwrap_or_default());
                    if vocabulary.is_eos(token) {
                        prop_assert!(matcher.is_terminated());
                        break;
                    }
                }
            }
            let n_steps = matcher.n_steps();
            let fork = matcher.fork();
            matcher.rollback(n_steps).unwrap();
            prop_assert_eq!(matcher.mask().unwrap(), Matcher::new(&compiled).mask().unwrap());
            prop_assert_eq!(fork.n_steps(), n_steps);
            prop_assert!(matcher.rollback(1).is_err());
        }
    }
    Ok(())
}

/// So many cases, if the environment does not say how many.
fn cases(default: u32) -> ProptestConfig {
    let config = ProptestConfig { max_shrink_iters: 20_000, ..ProptestConfig::default() };
    ProptestConfig { cases: maskwright_oracle::cases(default), ..config }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn masks_equal_the_naive_reference(
        grammar in arb_grammar(), vocabulary in arb_vocabulary(), walk in arb_text_walk()
    ) {
        let oracle = Oracle::new(&grammar);
        let tokens = walk.tokens(&oracle, &vocabulary);
        check(&grammar, &vocabulary, &tokens, &Limits::default())?;
    }

    /// Caches that are dropped all the time give the same masks.
    #[test]
    fn eviction_changes_nothing(
        grammar in arb_grammar(), vocabulary in arb_vocabulary(), walk in arb_text_walk()
    ) {
        let oracle = Oracle::new(&grammar);
        let tokens = walk.tokens(&oracle, &vocabulary);
        let limits = Limits { row_cache_bytes: 0, machine_bytes: 0, ..Limits::default() };
        check(&grammar, &vocabulary, &tokens, &limits)?;
    }
}
