//! Random expressions: the automaton against two naive references.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

mod reference;

use std::collections::{BTreeSet, HashSet};

use maskwright_automata::{Automaton, AutomatonError, AutomatonLimits, AutomatonStore, Fuel, Regex, StateId};
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use reference::{ALPHABET, Dfa, all_words, any_regex, language, over_alphabet};

/// 3,000 random expressions, or as many as `PROPTEST_CASES` says.
fn n_cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(3_000)
}

fn automaton(regex: &Regex) -> Automaton {
    Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap()
}

/// The state after `word`, if there is one.
fn run(automaton: &Automaton, word: &[u8]) -> Option<StateId> {
    word.iter().try_fold(automaton.start()?, |state, &byte| automaton.step(state, byte).unwrap())
}

/// Some states that can be reached.
fn first_states(automaton: &Automaton, n_states: usize) -> Vec<StateId> {
    let mut states: Vec<StateId> = automaton.start().into_iter().collect();
    for i in 0..n_states {
        let Some(&state) = states.get(i) else { break };
        for byte in ALPHABET {
            states.extend(automaton.step(state, byte).unwrap().filter(|next| !states.contains(next)));
        }
    }
    states
}

/// Walks both in step through everything that can be reached: this decides that they are equal.
fn check_equal(automaton: &Automaton, dfa: &Dfa) -> Result<(), TestCaseError> {
    prop_assert_eq!(automaton.start().is_some(), dfa.is_alive(0));
    let Some(start) = automaton.start() else { return Ok(()) };
    let mut seen = HashSet::from([(start, 0)]);
    let mut queue = vec![(start, 0)];
    while let Some((state, naive)) = queue.pop() {
        prop_assert_eq!(automaton.is_accepting(state), dfa.is_accepting(naive));
        let shortest = automaton.shortest_word(state).unwrap();
        prop_assert_eq!(Some(shortest), dfa.shortest_word(naive));
        let next_bytes = automaton.next_bytes(state).unwrap();
        for byte in ALPHABET {
            let (next, naive_next) = (automaton.step(state, byte).unwrap(), dfa.step(naive, byte));
            prop_assert_eq!(next.is_some(), dfa.is_alive(naive_next), "{}", automaton.describe(state));
            prop_assert_eq!(next.is_some(), next_bytes.contains(byte));
            if let Some(next) = next
                && seen.insert((next, naive_next))
            {
                queue.push((next, naive_next));
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases()))]

    #[test]
    fn accepts_the_words_of_the_expression(regex in any_regex()) {
        const MAX_LENGTH: usize = 4;
        let expected = language(&regex, MAX_LENGTH);
        let automaton = automaton(&regex);
        let accepted: BTreeSet<Vec<u8>> = all_words(MAX_LENGTH)
            .into_iter()
            .filter(|word| run(&automaton, word).is_some_and(|state| automaton.is_accepting(state)))
            .collect();
        prop_assert_eq!(&expected, &accepted);
        prop_assert_eq!(regex.is_nullable(), expected.contains(&[][..]));
    }

    #[test]
    fn is_the_textbook_automaton(regex in any_regex()) {
        let regex = over_alphabet(&regex);
        if let Some(dfa) = Dfa::new(&regex) {
            check_equal(&automaton(&regex), &dfa)?;
        }
    }

    #[test]
    fn row_keys_behave_alike_for_that_many_bytes(regex in any_regex(), kind in 0..3) {
        let any = || Regex::bytes(ALPHABET.into_iter().take(3).collect()).star();
        let regex = match kind {
            0 => Regex::concat([any(), regex, any()]),
            _ => regex,
        };
        let automaton = automaton(&regex);
        for state in first_states(&automaton, 30) {
            for max_bytes in 0..4 {
                let key = automaton.row_key(state, max_bytes).unwrap();
                prop_assert_eq!(key, automaton.row_key(state, max_bytes).unwrap());
                let mut pairs = HashSet::from([(state, key)]);
                for length in 0..=max_bytes {
                    let mut next_pairs = HashSet::new();
                    for (a, b) in pairs {
                        prop_assert_eq!(automaton.is_accepting(a), automaton.is_accepting(b));
                        for byte in ALPHABET {
                            let (a, b) = (automaton.step(a, byte).unwrap(), automaton.step(b, byte).unwrap());
                            prop_assert!(
                                length == max_bytes || a.is_some() == b.is_some(),
                                "{} against {}, {} bytes",
                                automaton.describe(state), automaton.describe(key), max_bytes
                            );
                            next_pairs.extend(a.zip(b));
                        }
                    }
                    pairs = next_pairs;
                }
            }
        }
    }

    /// Of the expression itself, and of searches for its words.
    #[test]
    fn cores_are_as_free_as_they_say(regex in any_regex(), end in any::<bool>()) {
        let any = || Regex::bytes(ALPHABET.into_iter().take(3).collect()).star();
        let end = if end { Regex::byte(ALPHABET[3]) } else { Regex::epsilon() };
        let searches = [
            regex.clone(),
            Regex::concat([any(), regex.clone(), any(), end.clone()]),
            Regex::concat([Regex::union([regex.clone(), any()]), end]),
        ];
        for regex in searches {
            let automaton = automaton(&regex);
            for state in first_states(&automaton, 12) {
                let Some((core, ends)) = automaton.core(state).unwrap() else { continue };
                for word in all_words(4).iter().filter(|word| !word.iter().any(|&byte| ends.contains(byte))) {
                    let after = |state| {
                        word.iter().try_fold(state, |state, &byte| automaton.step(state, byte).unwrap())
                    };
                    if !word.is_empty() && after(core).is_some() {
                        let here = after(state);
                        prop_assert!(here.is_some(), "{} after {:?}", automaton.describe(state), word);
                        prop_assert!(!automaton.is_accepting(here.unwrap()));
                    }
                }
            }
        }
    }

    #[test]
    fn residues_as_expressions_have_their_language(regex in any_regex()) {
        let store = AutomatonStore::new(AutomatonLimits::default());
        let automaton = store.automaton(&regex, &Fuel::unlimited()).unwrap();
        prop_assume!(automaton.store_id() == store.id());
        for state in first_states(&automaton, 20) {
            prop_assert!(store.residue(state, 0).is_none());
            let Some(residue) = store.residue(state, 1_000) else {
                prop_assert!(regex.is_extended());
                continue;
            };
            let again = store.automaton(&residue, &Fuel::unlimited()).unwrap();
            for word in all_words(4) {
                let is_word = |automaton: &Automaton, state| {
                    let step = |state, &byte: &u8| automaton.step(state, byte).unwrap();
                    word.iter().try_fold(state, step).is_some_and(|state| automaton.is_accepting(state))
                };
                let expected = is_word(&automaton, state);
                prop_assert_eq!(again.start().is_some_and(|start| is_word(&again, start)), expected);
            }
        }
    }

    #[test]
    fn small_limits_end_in_the_same_error_or_the_right_answer(regex in any_regex(), max_states in 1u32..6) {
        let limits = AutomatonLimits { max_states, max_residue_size: 60, liveness_fuel: 200 };
        let exact = automaton(&regex);
        let outcome = Automaton::new(&regex, &limits, &Fuel::new(1_000));
        let Ok(limited) = outcome else {
            prop_assert!(outcome.is_err_and(|error| error.is_limit() && !error.is_cancelled()));
            return Ok(());
        };
        for word in all_words(3) {
            let walk = |automaton: &Automaton| -> Result<Option<bool>, AutomatonError> {
                let Some(mut state) = automaton.start() else { return Ok(None) };
                for &byte in &word {
                    match automaton.step(state, byte)? {
                        Some(next) => state = next,
                        None => return Ok(None),
                    }
                }
                Ok(Some(automaton.is_accepting(state)))
            };
            match walk(&limited) {
                Ok(answer) => prop_assert_eq!(answer, walk(&exact).unwrap()),
                Err(error) => prop_assert_eq!(Some(error), walk(&limited).err()),
            }
        }
    }
}
