//! Whether every word of an expression is valid UTF-8, decided conservatively.
//!
//! Complement is relative to valid UTF-8, so `¬r` means `any_text ∩ (all bytes − r)`. Where it is intersected
//! with an expression of which this pass shows that it is valid text anyway, the `any_text` factor can go,
//! and with it the product of the automaton with UTF-8's.
//!
//! The pass runs the expression over sets of states of the UTF-8 automaton (9 of them, so a set is a
//! `u16`). It is exact for what `char_class` makes, and errs to "not known" elsewhere. Cost: one visit per
//! distinct (shared value, state set).

use rustc_hash::FxHashMap;

use crate::{ByteSet, Node, Regex};

/// Between characters.
const START: u16 = 1;
/// Some word may be no prefix of valid text.
const INVALID: u16 = 1 << 8;

/// For each state, what bytes lead where: 1 to 3 need that many continuation bytes; 4 to 7 are after E0, ED,
/// F0 and F4, whose next byte is restricted (Unicode 15, table 3-7).
const STEPS: [&[(u8, u8, u16)]; 8] = [
    &[
        (0x00, 0x7F, 0),
        (0xC2, 0xDF, 1),
        (0xE0, 0xE0, 4),
        (0xE1, 0xEC, 2),
        (0xED, 0xED, 5),
        (0xEE, 0xEF, 2),
        (0xF0, 0xF0, 6),
        (0xF1, 0xF3, 3),
        (0xF4, 0xF4, 7),
    ],
    &[(0x80, 0xBF, 0)],
    &[(0x80, 0xBF, 1)],
    &[(0x80, 0xBF, 2)],
    &[(0xA0, 0xBF, 1)],
    &[(0x80, 0x9F, 1)],
    &[(0x90, 0xBF, 2)],
    &[(0x80, 0x8F, 2)],
];

/// Whether every word of `regex` is valid UTF-8; `false` may also mean that this is not known.
pub(crate) fn is_text(regex: &Regex) -> bool {
    image(regex, START, &mut FxHashMap::default()) & !START == 0
}

/// A superset of the states that the words of `regex` lead to from `states`.
fn image(regex: &Regex, states: u16, memo: &mut FxHashMap<(usize, u16), u16>) -> u16 {
    if states & INVALID != 0 {
        return INVALID;
    }
    match regex.node() {
        Node::Empty => return 0,
        Node::Epsilon => return states,
        Node::Bytes(set) => return step(states, set),
        Node::Literal(word) => return run(states, word),
        Node::Words(words) => return words.iter().fold(0, |union, word| union | run(states, word)),
        _ => {}
    }
    let key = (regex.address(), states);
    if let Some(&known) = memo.get(&key) {
        return known;
    }
    let result = match regex.node() {
        Node::Concat(parts) => parts.iter().fold(states, |states, part| image(part, states, memo)),
        Node::Union(parts) => parts.iter().fold(0, |union, part| union | image(part, states, memo)),
        // A word leads to one state, which is in the image of every part.
        Node::Intersection(parts) => parts.iter().fold(!0, |common, part| common & image(part, states, memo)),
        Node::Complement(_) if states == START => START,
        Node::Complement(_) => INVALID,
        Node::Repeat { inner, .. } => {
            let mut reached = states;
            loop {
                let more = reached | image(inner, reached, memo);
                if more == reached || more & INVALID != 0 {
                    break more;
                }
                reached = more;
            }
        }
        // The leaves were answered above.
        _ => INVALID,
    };
    memo.insert(key, result);
    result
}

fn run(states: u16, word: &[u8]) -> u16 {
    word.iter().fold(states, |states, &byte| step(states, &ByteSet::singleton(byte)))
}

fn step(states: u16, set: &ByteSet) -> u16 {
    if states & INVALID != 0 {
        return INVALID;
    }
    let mut result = 0;
    for (state, steps) in STEPS.iter().enumerate() {
        if states >> state & 1 == 0 {
            continue;
        }
        let mut allowed = ByteSet::EMPTY;
        for &(low, high, to) in *steps {
            let range = ByteSet::range(low, high);
            allowed = allowed.union(&range);
            if set.intersects(&range) {
                result |= 1 << to;
            }
        }
        if !set.is_subset(&allowed) {
            result |= INVALID;
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_text_and_their_parts_are_not() {
        assert!(is_text(&Regex::any_text()));
        assert!(is_text(
            &Regex::char_class(&[('é', 'ü'), ('a', 'z'), ('\u{10000}', '\u{10FFF0}')]).repeat(2, Some(5))
        ));
        assert!(is_text(&Regex::words(["é", "abc", ""].map(str::as_bytes))));
        assert!(is_text(&Regex::literal(b"\xff").complement()));
        assert!(is_text(&Regex::concat([Regex::byte(0xC3), Regex::bytes(ByteSet::range(0x80, 0xBF))])));
        for bad in [&b"\xff"[..], b"\xC0\x80", b"\xED\xA0\x80", b"\xF4\x90\x80\x80", b"\xC3", b"\x80"] {
            assert!(!is_text(&Regex::literal(bad)), "{bad:x?}");
            assert!(!is_text(&Regex::union([Regex::literal(bad), Regex::any_text()])));
            let rest = Regex::concat([Regex::literal(bad), Regex::any_text().complement()]);
            assert!(!is_text(&rest));
        }
    }
}
