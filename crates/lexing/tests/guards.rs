//! Guards taken together say what they say one by one, in fewer states.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use maskwright_automata::Fuel;
use maskwright_lexing::{
    Discipline, Fate, Flags, Guards, LexState, Lexer, LexerLimits, LexerTerminal, parse_python,
};
use proptest::prelude::*;
use proptest::sample::select;

const PATTERNS: [&str; 14] = [
    r"/",
    r"/\*[^*]*\*+(?:[^*/][^*]*\*+)*/",
    r"/\*(?:\*+[^*/\n]|[^*\n])*\*+/",
    r"\*",
    r"[a-b]+",
    r"a",
    r"ab",
    r"a(?=b|$)",
    r"b(?!a)",
    r"a+\.b+",
    r"a{1,3}b",
    r"\.",
    r"a(?:ab)*\*",
    r"\n",
];

fn lexer(patterns: &[&str], discipline: Discipline) -> Lexer {
    let fuel = Fuel::unlimited();
    let terminals: Vec<LexerTerminal> = (0..)
        .zip(patterns)
        .map(|(id, source)| LexerTerminal::new(id, parse_python(source, Flags::default(), &fuel).unwrap()))
        .collect();
    Lexer::new(&terminals, discipline, LexerLimits::default(), &fuel).unwrap()
}

/// The guards that can refute behind the matches in `text`, each followed along what is left of it.
fn guards_behind(lexer: &Lexer, text: &[u8]) -> Vec<LexState> {
    let mut guards = Vec::new();
    let mut state = Some(lexer.start());
    for (at, &byte) in text.iter().enumerate() {
        state = state.and_then(|state| lexer.step(state, byte).unwrap());
        let Some(state) = state else { break };
        for accept in lexer.accepts(state) {
            let mut guard = Some(accept.guard).filter(|&guard| lexer.can_accept_again(guard).unwrap());
            for &byte in &text[at + 1..] {
                guard = guard.and_then(|guard| match lexer.fate(guard, byte).unwrap() {
                    Fate::Watched(next) => Some(next),
                    _ => None,
                });
            }
            guards.extend(guard);
        }
    }
    guards
}

/// After how many bytes of `text` some guard refutes, the end counted as one more; `None` if none does.
fn refuted_at(lexer: &Lexer, guards: &[LexState], text: &[u8]) -> Option<usize> {
    let mut guards = guards.to_vec();
    for (at, &byte) in text.iter().enumerate() {
        let mut next = Vec::new();
        for guard in guards {
            match lexer.fate(guard, byte).unwrap() {
                Fate::Stands => {}
                Fate::Refuted => return Some(at + 1),
                Fate::Watched(guard) => next.push(guard),
            }
        }
        guards = next;
    }
    guards.iter().any(|&guard| lexer.refutes_at_end(guard)).then_some(text.len() + 1)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn guards_together_refute_what_they_refute_one_by_one(
        patterns in prop::collection::vec(select(PATTERNS.to_vec()), 2..6),
        is_munch in any::<bool>(),
        texts in prop::collection::vec("[ab*/.\n]{1,6}", 1..5),
        after in prop::collection::vec("[ab*/.\n]{0,6}", 12),
    ) {
        let discipline = if is_munch { Discipline::LongestMatch } else { Discipline::LeftmostFirst };
        let lexer = lexer(&patterns, discipline);
        let guards: Vec<LexState> =
            texts.iter().flat_map(|text| guards_behind(&lexer, text.as_bytes())).collect();
        let mut known = Guards::default();
        let together = known.together(&lexer, guards.clone()).unwrap();
        prop_assert!(together.len() <= guards.len());
        prop_assert_eq!(&known.together(&lexer, guards.clone()).unwrap(), &together);
        for text in &after {
            let one_by_one = refuted_at(&lexer, &guards, text.as_bytes());
            prop_assert_eq!(refuted_at(&lexer, &together, text.as_bytes()), one_by_one, "{:?}", text);
        }
    }
}

/// A comment within a comment that is none forbids nothing more, wherever both are.
#[test]
fn a_guard_that_says_nothing_more_is_dropped() {
    let lexer = lexer(&[r"/\*[^*]*\*+(?:[^*/][^*]*\*+)*/", "/"], Discipline::LeftmostFirst);
    let behind = |text: &str| guards_behind(&lexer, text.as_bytes());
    let (early, late) = (behind("/* "), behind("/**"));
    assert_eq!((early.len(), late.len()), (1, 1));
    let mut known = Guards::default();
    let needed = known.canonical(&lexer, late[0]).unwrap();
    assert_ne!(known.canonical(&lexer, early[0]).unwrap(), needed);
    assert_eq!(known.together(&lexer, [early.clone(), late].concat()).unwrap()[..], [needed]);
    assert_eq!(known.together(&lexer, [early.clone(), behind("/* x ")].concat()).unwrap().len(), 1);
}

/// Work is linear in the guards that follow one, none of which are alike.
#[test]
fn long_chains_of_guards_end() {
    let lexer = lexer(&["ax{20000}b", "x+", "a"], Discipline::LeftmostFirst);
    let after_a = lexer.step(lexer.start(), b'a').unwrap().unwrap();
    let guards: Vec<LexState> = lexer.accepts(after_a).iter().map(|accept| accept.guard).collect();
    assert_eq!(Guards::default().together(&lexer, guards).unwrap().len(), 1);
}
