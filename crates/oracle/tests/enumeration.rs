//! The oracle against the enumeration of all words up to a length, which shares no code with it.

use std::collections::BTreeSet;

use maskwright_automata::Regex;
use maskwright_grammar::{Grammar, GrammarBuilder};
use maskwright_oracle::{ALPHABET, Oracle, arb_grammar, arb_regex, arb_text_walk, arb_vocabulary};
use maskwright_vocabulary::TokenId;
use proptest::prelude::*;

/// The words of at most `max_len` bytes of the alphabet, found by following `next_bytes`.
fn words_by_walk(oracle: &Oracle, max_len: usize) -> Result<BTreeSet<Vec<u8>>, TestCaseError> {
    let mut words = BTreeSet::new();
    let mut texts = if oracle.is_prefix(b"") { vec![Vec::new()] } else { Vec::new() };
    while let Some(text) = texts.pop() {
        let next_bytes = oracle.next_bytes(&text);
        // A viable text is a word or goes on.
        prop_assert!(oracle.is_word(&text) || !next_bytes.is_empty(), "dead end {text:?}");
        if oracle.is_word(&text) {
            words.insert(text.clone());
        }
        for &byte in ALPHABET.iter().filter(|_| text.len() < max_len) {
            let longer = [&text[..], &[byte]].concat();
            prop_assert_eq!(oracle.is_prefix(&longer), next_bytes.contains(byte), "{:?}", longer);
            if next_bytes.contains(byte) {
                texts.push(longer);
            }
        }
    }
    Ok(words)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Words agree on all strings up to length 4; in particular every prefix of an enumerated word is
    /// viable, or the walk would not have come to the word.
    #[test]
    fn words_of_grammars(grammar in arb_grammar()) {
        let oracle = Oracle::new(&grammar);
        prop_assert_eq!(words_by_walk(&oracle, 4)?, oracle.words_up_to(4, ALPHABET), "\n{}", grammar);
    }

    #[test]
    fn words_of_expressions(regex in arb_regex()) {
        let oracle = Oracle::new(&Grammar::from_regex(regex));
        prop_assert_eq!(words_by_walk(&oracle, 4)?, oracle.words_up_to(4, ALPHABET));
    }

    /// Where no word is longer than what is enumerated, the viable texts are exactly the prefixes of words.
    #[test]
    fn prefixes_of_finite_languages(parts in proptest::collection::vec("[abcé]{0,2}", 1..4)) {
        let mut builder = GrammarBuilder::new();
        let start = builder.declare("start");
        let never = builder.rule(start);
        let parts: Vec<_> = parts.iter().map(|part| builder.literal(part)).collect();
        // One to two of: all parts in order, any of them, nothing but what never ends.
        let all = builder.seq(&parts);
        let any = builder.alt(&parts);
        let dead = builder.seq(&[any, never]);
        let choice = builder.alt(&[all, any, dead]);
        let body = builder.repeat(choice, 1, Some(1));
        let bounded = builder.declare("bounded");
        builder.define(bounded, body);
        builder.define(start, dead);
        let oracle = Oracle::new(&builder.finish(bounded).expect("both rules are defined"));
        let words = oracle.words_up_to(12, ALPHABET);
        let mut prefixes = BTreeSet::new();
        for word in &words {
            prefixes.extend((0..=word.len()).map(|len| word[..len].to_vec()));
        }
        for prefix in &prefixes {
            let next: BTreeSet<u8> = oracle.next_bytes(prefix).iter().collect();
            let expected: BTreeSet<u8> = prefixes
                .iter()
                .filter(|longer| longer.len() == prefix.len() + 1 && longer.starts_with(prefix))
                .map(|longer| longer[prefix.len()])
                .collect();
            prop_assert_eq!(next, expected);
        }
        prop_assert_eq!(oracle.is_prefix(b""), !words.is_empty());
    }

    #[test]
    fn masks_are_prefixes(grammar in arb_grammar(), vocabulary in arb_vocabulary(), walk in arb_text_walk()) {
        let oracle = Oracle::new(&grammar);
        let text = walk.text(&oracle, &vocabulary);
        let Some(mask) = oracle.mask(&vocabulary, &text) else {
            prop_assert!(text.is_empty() && !oracle.is_prefix(b""));
            return Ok(());
        };
        prop_assert_eq!(mask.len(), vocabulary.n_vocab());
        for (id, is_allowed) in (0u32..).zip(mask) {
            let expected = match vocabulary.token_bytes(TokenId(id)) {
                Some(bytes) => oracle.is_prefix(&[&text[..], bytes].concat()),
                None => vocabulary.eos_token_ids().contains(&TokenId(id)) && oracle.is_word(&text),
            };
            prop_assert_eq!(is_allowed, expected, "token {}", id);
        }
    }
}

/// S → S S | a | ε beside S → N S, N → ε: ambiguous without bound, hidden left recursion, ε cycles.
#[test]
fn the_worst_of_parsing() {
    let mut builder = GrammarBuilder::new();
    let (s, n) = (builder.declare("s"), builder.declare("n"));
    let (a, s_ref, n_ref) = (builder.literal("a"), builder.rule(s), builder.rule(n));
    let twice = builder.seq(&[s_ref, s_ref]);
    let hidden = builder.seq(&[n_ref, s_ref]);
    let epsilon = builder.epsilon();
    let body = builder.alt(&[twice, hidden, a, epsilon, s_ref]);
    builder.define(s, body);
    let body = builder.alt(&[epsilon, n_ref]);
    builder.define(n, body);
    let oracle = Oracle::new(&builder.finish(s).expect("both rules are defined"));
    for n in 0..8 {
        assert!(oracle.is_word(&vec![b'a'; n]));
    }
    assert!(!oracle.is_prefix(b"ab"));
    assert_eq!(oracle.next_bytes(b"aa").iter().collect::<Vec<_>>(), b"a");
}

/// No bit may be set on the strength of a rule or terminal that can never be finished.
#[test]
fn dead_ends_are_no_prefixes() {
    let mut builder = GrammarBuilder::new();
    let (start, endless) = (builder.declare("start"), builder.declare("endless"));
    let (a, b, c) = (builder.literal("a"), builder.literal("b"), builder.literal("c"));
    // "é" and not "é", written so that nothing but search finds it empty.
    let empty = Regex::literal("é").difference(&Regex::words(["é".as_bytes(), b"a"]));
    let empty = builder.terminal(empty);
    let endless_ref = builder.rule(endless);
    let body = builder.seq(&[a, endless_ref]);
    builder.define(endless, body);
    let (into_endless, into_empty) = (builder.seq(&[b, endless_ref]), builder.seq(&[c, empty]));
    let body = builder.alt(&[a, into_endless, into_empty]);
    builder.define(start, body);
    let oracle = Oracle::new(&builder.finish(start).expect("both rules are defined"));
    assert_eq!(oracle.next_bytes(b"").iter().collect::<Vec<_>>(), b"a");
    assert!(oracle.is_word(b"a") && oracle.next_bytes(b"a").is_empty());
}
