//! Classes of characters against plain iteration over characters.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

use maskwright_automata::{Automaton, AutomatonLimits, Fuel, Regex};
use proptest::prelude::*;

fn accepts(automaton: &Automaton, word: &[u8]) -> bool {
    let mut state = automaton.start();
    for &byte in word {
        state = state.and_then(|state| automaton.step(state, byte).unwrap());
    }
    state.is_some_and(|state| automaton.is_accepting(state))
}

fn check_every_char(ranges: &[(char, char)]) {
    let regex = Regex::char_class(ranges);
    let automaton = Automaton::new(&regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
    for char in '\0'..=char::MAX {
        let expected = ranges.iter().any(|&(low, high)| low <= char && char <= high);
        let word = char.encode_utf8(&mut [0; 4]).as_bytes().to_vec();
        assert_eq!(accepts(&automaton, &word), expected, "{char:?} in {ranges:x?}");
    }
}

#[test]
fn handpicked_classes_have_exactly_their_characters() {
    check_every_char(&[('\0', char::MAX)]);
    check_every_char(&[]);
    check_every_char(&[('\u{7F}', '\u{80}'), ('\u{7FF}', '\u{800}'), ('\u{FFFF}', '\u{10000}')]);
    check_every_char(&[('\u{D7FF}', '\u{E000}')]);
    check_every_char(&[('z', 'a'), ('c', 'c')]);
    // Every other character of a plane: thousands of ranges.
    let many: Vec<(char, char)> =
        (0x4E00..0x9FFF).step_by(2).filter_map(char::from_u32).map(|char| (char, char)).collect();
    check_every_char(&many);
}

#[test]
fn any_text_is_what_std_says_is_utf8() {
    let automaton =
        Automaton::new(&Regex::any_text(), &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
    // All strings of up to three bytes, from bytes at the borders of UTF-8's table.
    let borders = [
        0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
        0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ];
    let mut words = vec![Vec::new()];
    for i in 0.. {
        let Some(word) = words.get(i).cloned() else { break };
        assert_eq!(accepts(&automaton, &word), std::str::from_utf8(&word).is_ok(), "{word:x?}");
        if word.len() < 3 {
            words.extend(borders.map(|byte| [word.as_slice(), &[byte]].concat()));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn random_classes_have_exactly_their_characters(
        ranges in proptest::collection::vec((any::<char>(), 0u32..3_000), 0..40),
    ) {
        let ranges: Vec<(char, char)> = ranges
            .into_iter()
            .map(|(low, n)| (low, char::from_u32(low as u32 + n).unwrap_or(low)))
            .collect();
        check_every_char(&ranges);
    }
}
