//! Terminals with a limit on tokens: masks and acceptance equal the definition's.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, inside of macros too")]

use std::sync::Arc;

use maskwright_automata::{Fuel, Regex};
use maskwright_engine::{Compiler, Matcher, MatcherConfig, Options};
use maskwright_grammar::{Grammar, GrammarBuilder, at_most_tokens};
use maskwright_vocabulary::{TokenId, Vocabulary};
use proptest::collection::vec;
use proptest::prelude::*;

/// `<`, any text in at most `limit` tokens, `>`, all of it up to twice.
fn grammar(limit: u32) -> Grammar {
    let mut builder = GrammarBuilder::new();
    let start = builder.declare("start");
    let (open, close) = (builder.literal("<"), builder.literal(">"));
    let text = builder.terminal(at_most_tokens(Regex::any_text(), limit));
    let part = builder.seq(&[open, text, close]);
    let body = builder.repeat(part, 1, Some(2));
    builder.define(start, body);
    builder.finish(start).unwrap()
}

/// Where a reading of the text stands.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
enum Place {
    /// Before the `<` of a part.
    Before(u32),
    /// In the text of a part, with so many tokens counted, and so many bytes of a character to come.
    Within(u32, u32, u32),
    /// After the last part.
    Done,
}

/// The places after one more token.
fn after(places: &[Place], token: &[u8], limit: u32) -> Vec<Place> {
    let mut places: Vec<Place> = places
        .iter()
        .filter_map(|&place| match place {
            // A token begins.
            Place::Within(_, n, 0) if n == limit => None,
            // A character is completed.
            Place::Within(part, n, left) => Some(Place::Within(part, limit.min(n + 1), left)),
            place => Some(place),
        })
        .chain(places.iter().filter_map(|&place| match place {
            // The text may be over before the token, which then is none of it.
            Place::Within(part, _, 0) if token[0] == b'>' => Some(Place::Within(part, u32::MAX, 0)),
            _ => None,
        }))
        .collect();
    for &byte in token {
        let mut next = Vec::new();
        for place in places {
            match place {
                Place::Before(part) if byte == b'<' => next.push(Place::Within(part, 0, 0)),
                Place::Within(part, n, left) => {
                    if left == 0 && byte == b'>' {
                        next.push(if part == 0 { Place::Before(1) } else { Place::Done });
                    }
                    if n == u32::MAX {
                        continue;
                    }
                    match (byte, left) {
                        (0..=0x7F, 0) => next.push(Place::Within(part, n, 0)),
                        (0xC3, 0) => next.push(Place::Within(part, n, 1)),
                        (0xA9, 1) => next.push(Place::Within(part, n, 0)),
                        _ => {}
                    }
                }
                _ => {}
            }
        }
        next.sort_unstable();
        next.dedup();
        places = next;
    }
    places
}

fn vocabulary() -> Arc<Vocabulary> {
    let tokens: [&[u8]; 12] =
        [b"<", b">", b"a", b"ab", b"\xC3", b"\xA9", b"\xC3\xA9", b"a>", b"<a", b"><a", b"\xA9>", b"</s>"];
    Vocabulary::from_tokens(tokens.map(|token| Some(token.to_vec())).to_vec(), &[TokenId(11)], None)
        .unwrap()
        .shared()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: maskwright_oracle::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn masks_equal_the_definition(limit in 1u32..=3, walk in vec(any::<u16>(), 1..=14)) {
        let vocabulary = vocabulary();
        let on = Options::default();
        for options in [on, Options { use_rows: false, use_memo: false, ..on }, Options { light_nodes: 0, ..on }] {
            let compiler = Compiler::with_options(vocabulary.clone(), Default::default(), options);
            let compiled = compiler.compile(grammar(limit), &Fuel::unlimited()).unwrap();
            let mut matcher = Matcher::new(&compiled);
            let mut places = vec![Place::Before(0)];
            for choice in &walk {
                let is_complete = places.iter().any(|place| matches!(place, Place::Before(1) | Place::Done));
                prop_assert_eq!(matcher.is_accepting(), is_complete);
                let mask = matcher.mask().unwrap();
                prop_assert_eq!(mask.contains(TokenId(11)), is_complete);
                let mut allowed = Vec::new();
                for id in 0..11 {
                    let next = after(&places, vocabulary.token_bytes(TokenId(id)).unwrap(), limit);
                    prop_assert_eq!(mask.contains(TokenId(id)), !next.is_empty(), "{} at {:?}", id, places);
                    prop_assert_eq!(matcher.validate_tokens(&[TokenId(id)]).unwrap() == 1, !next.is_empty());
                    if !next.is_empty() {
                        allowed.push((id, next));
                    }
                }
                if allowed.is_empty() {
                    prop_assert!(is_complete, "a dead end");
                    break;
                }
                let (id, next) = allowed.swap_remove(usize::from(*choice) % allowed.len());
                prop_assert!(matcher.accept_token(TokenId(id)).unwrap());
                places = next;
            }
        }
    }
}

/// Whether at most `n_left` tokens, EOS included, complete the text.
fn can_end(places: &[Place], n_left: usize, limit: u32, tokens: &[&[u8]]) -> bool {
    let is_complete = places.iter().any(|place| matches!(place, Place::Before(1) | Place::Done));
    n_left > 0
        && (is_complete
            || tokens.iter().any(|token| {
                let next = after(places, token, limit);
                !next.is_empty() && can_end(&next, n_left - 1, limit, tokens)
            }))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: maskwright_oracle::cases(200), ..ProptestConfig::default() })]

    /// Beside a limit on the tokens of the whole text.
    #[test]
    fn both_limits_hold(
        limit in 1u32..=2, most in 3usize..=5, walk in vec(any::<u16>(), 1..=5), is_light in any::<bool>()
    ) {
        let vocabulary = vocabulary();
        let tokens: Vec<&[u8]> = (0..11).filter_map(|id| vocabulary.token_bytes(TokenId(id))).collect();
        let options = Options { light_nodes: usize::from(is_light) * 1_000, ..Options::default() };
        let compiler = Compiler::with_options(vocabulary.clone(), Default::default(), options);
        let compiled = compiler.compile(grammar(limit), &Fuel::unlimited()).unwrap();
        let mut matcher = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(most)).unwrap();
        let mut places = vec![Place::Before(0)];
        for (n_before, choice) in walk.iter().enumerate().take_while(|(n_before, _)| *n_before < most) {
            let mask = matcher.mask().unwrap();
            let mut allowed = Vec::new();
            for (id, token) in tokens.iter().enumerate() {
                let next = after(&places, token, limit);
                let expected = !next.is_empty() && can_end(&next, most - n_before - 1, limit, &tokens);
                let token = TokenId(id as u32);
                prop_assert_eq!(mask.contains(token), expected, "{} at {:?}, {} of {}", id, places, n_before, most);
                prop_assert_eq!(matcher.validate_tokens(&[token]).unwrap() == 1, expected);
                if expected {
                    allowed.push((token, next));
                }
            }
            if allowed.is_empty() {
                break;
            }
            let (token, next) = allowed.swap_remove(usize::from(*choice) % allowed.len());
            prop_assert!(matcher.accept_token(token).unwrap());
            places = next;
        }
        let rest = matcher.finish().unwrap();
        prop_assert_eq!(matcher.accept_tokens(&rest).unwrap(), rest.len());
    }
}

#[test]
fn bytes_are_not_counted() {
    let compiler = Compiler::new(vocabulary(), Default::default());
    let compiled = compiler.compile(grammar(1), &Fuel::unlimited()).unwrap();
    let mut matcher = Matcher::new(&compiled);
    assert!(matcher.accept_bytes(b"<aaaa").unwrap() && matcher.accept_bytes(b"aaa").unwrap());
    assert!(matcher.accept_token(TokenId(2)).unwrap(), "the first token");
    assert!(!matcher.accept_token(TokenId(2)).unwrap());
    assert!(matcher.accept_bytes(b"a").unwrap(), "no token");
    assert!(!matcher.accept_token(TokenId(2)).unwrap());
    assert!(matcher.accept_token(TokenId(1)).unwrap() && matcher.is_accepting());
    let mut limited = Matcher::with_config(&compiled, &MatcherConfig::with_max_tokens(4)).unwrap();
    assert_eq!(limited.accept_tokens(&[0, 2].map(TokenId)).unwrap(), 2);
    assert_eq!(limited.finish().unwrap(), [1, 11].map(TokenId));
}
