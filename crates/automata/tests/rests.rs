//! Bounds on what completes words against the automata that the expressions make.

#![allow(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[allow(dead_code, reason = "its other parts are for another test")]
mod reference;

use std::collections::BTreeMap;

use maskwright_automata::{Automaton, AutomatonLimits, ByteSet, Fuel, Regex, StateId};
use proptest::prelude::*;
use reference::any_regex;

/// Residues are looked at up to so many.
const MAX_STATES: usize = 300;

fn automaton(regex: &Regex) -> Automaton {
    Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap()
}

/// The states that prefixes of words lead to.
fn residues(automaton: &Automaton) -> Vec<StateId> {
    let mut states: Vec<StateId> = automaton.start().into_iter().collect();
    let mut at = 0;
    while let Some(&state) = states.get(at).filter(|_| states.len() < MAX_STATES) {
        for byte in automaton.next_bytes(state).unwrap().iter() {
            let next = automaton.step(state, byte).unwrap().unwrap();
            if !states.contains(&next) {
                states.push(next);
            }
        }
        at += 1;
    }
    states
}

/// How many words of `bytes` complete `state`, of at most `longest` bytes and of some more; counted up to a
/// million.
fn count(automaton: &Automaton, state: StateId, bytes: &ByteSet, longest: u64) -> (u64, u64) {
    let mut layer = BTreeMap::from([(state, 1u64)]);
    let (mut within, mut beyond) = (0, 0);
    for length in 0..=longest + 8 {
        let here =
            layer.iter().filter(|(state, _)| automaton.is_accepting(**state)).map(|(_, n)| n).sum::<u64>();
        if length <= longest {
            within += here
        } else {
            beyond += here
        }
        let mut next: BTreeMap<StateId, u64> = BTreeMap::new();
        for (state, n) in layer {
            for byte in automaton.next_bytes(state).unwrap().intersection(bytes).iter() {
                let n_next = next.entry(automaton.step(state, byte).unwrap().unwrap()).or_default();
                *n_next = (*n_next + n).min(1_000_000);
            }
        }
        layer = next;
    }
    (within, beyond)
}

/// Of a residue that has few rests all but one may be forbidden, and that one may have other bytes.
#[test]
fn the_rest_that_is_left_has_the_given_bytes() {
    let letter = Regex::bytes(ByteSet::range(b'a', b'z'));
    let end = Regex::bytes([b'x', b'y'].into_iter().collect());
    let regex = Regex::concat([letter.star(), Regex::byte(b'-'), end]).difference(&Regex::literal("-x"));
    assert!(regex.rests(&ByteSet::FULL).is_some());
    let mut bytes = ByteSet::FULL;
    bytes.remove(b'y');
    assert_eq!(regex.rests(&bytes), None);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2_000) })]

    #[test]
    fn rests_are_within_their_bounds(regex in any_regex(), without in "[a-c]?") {
        let mut bytes = ByteSet::FULL;
        without.bytes().for_each(|byte| bytes.remove(byte));
        let automaton = automaton(&regex);
        if let Some(rests) = regex.rests(&bytes) {
            for state in residues(&automaton) {
                prop_assert!(count(&automaton, state, &bytes, rests.longest).0 > 0, "{:?} of {:?}", rests, regex);
            }
            if let Some(start) = automaton.start() {
                prop_assert!(count(&automaton, start, &bytes, rests.shortest).0 > 0);
                prop_assert!(automaton.next_bytes(start).unwrap().is_subset(&rests.first));
            }
        }
        for bits in 0..3 {
            let Some(rests) = regex.rests_but(bits, &bytes, &ByteSet::FULL) else { continue };
            for state in residues(&automaton) {
                let (within, beyond) = count(&automaton, state, &bytes, rests.longest);
                prop_assert!(within > 1 << bits || within > 0 && beyond == 0, "{} {:?} of {:?}", bits, rests, regex);
            }
            if let Some(start) = automaton.start() {
                let (within, _) = count(&automaton, start, &bytes, rests.shortest);
                prop_assert!(within > 1 << bits, "{} from the start {:?} of {:?}", bits, rests, regex);
            }
        }
    }
}
