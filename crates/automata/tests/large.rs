//! Large and hostile expressions: right, and bounded.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

use std::collections::HashSet;
use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonLimits, ByteSet, CancelToken, Fuel, Regex, StateId};

fn automaton(regex: &Regex) -> Automaton {
    Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap()
}

fn run(automaton: &Automaton, word: impl IntoIterator<Item = u8>) -> Option<StateId> {
    let mut state = automaton.start()?;
    for byte in word {
        state = automaton.step(state, byte).unwrap()?;
    }
    Some(state)
}

fn accepts(automaton: &Automaton, word: impl IntoIterator<Item = u8>) -> bool {
    run(automaton, word).is_some_and(|state| automaton.is_accepting(state))
}

fn set(bytes: &[u8]) -> Regex {
    Regex::bytes(bytes.iter().copied().collect())
}

#[test]
fn a_hundred_thousand_words() {
    let words: Vec<String> = (0..100_000).map(|i| format!("a common beginning, then {}", i * 7919)).collect();
    let regex = Regex::words(words.iter().map(|word| word.as_bytes()));
    let automaton = automaton(&Regex::concat([Regex::byte(b'"'), regex.clone(), Regex::byte(b'"')]));
    for word in words.iter().step_by(97) {
        assert!(accepts(&automaton, format!("\"{word}\"").bytes()), "{word}");
        assert!(!accepts(&automaton, format!("\"{word}x\"").bytes()), "{word}");
    }
    assert!(!accepts(&automaton, *b"\"a common beginning, then 1\""));
    let start = automaton.start().unwrap();
    assert_eq!(automaton.shortest_word(start).unwrap(), b"\"a common beginning, then 0\"");

    let without = self::automaton(&Regex::any_text().difference(&regex));
    for word in words.iter().step_by(997) {
        assert!(!accepts(&without, word.bytes()));
        assert!(accepts(&without, format!("{word}!").bytes()));
        assert!(accepts(&without, word.bytes().take(word.len() - 20)));
    }
}

#[test]
fn a_count_of_a_million() {
    let any = Regex::any_char();
    let upto = automaton(&Regex::concat([any.repeat(0, Some(1_000_000)), Regex::byte(b'"')]));
    let mut state = upto.start().unwrap();
    let mut keys = HashSet::new();
    for _ in 0..20_000 {
        state = upto.step(state, b'x').unwrap().unwrap();
        keys.insert(upto.row_key(state, 64).unwrap());
    }
    assert_eq!(keys.len(), 1, "states that differ in large counts only share a row");
    assert!(upto.n_states() < 30_000);

    let least = automaton(&any.repeat(1_000_000, None));
    assert_eq!(least.shortest_word(least.start().unwrap()).unwrap(), vec![0; 1_000_000]);

    let exact = automaton(&set(b"ab").repeat(3_000, Some(3_000)));
    assert!(!accepts(&exact, vec![b'a'; 2_999]));
    assert!(accepts(&exact, vec![b'a'; 3_000]));
    assert!(!accepts(&exact, vec![b'a'; 3_001]));
    assert!(exact.n_states() <= 3_001);
}

#[test]
fn nested_repeats_stay_small() {
    // (a+)+, ((a*)*)*, (a?){50}a{50}, ((a{1,3}){1,3}){1,3}
    let a = Regex::byte(b'a');
    let nested = automaton(&Regex::concat([a.plus().plus(), Regex::byte(b'$')]));
    assert!(accepts(&nested, [vec![b'a'; 1_000], b"$".to_vec()].concat()));
    assert!(nested.n_states() < 5);
    let stars = automaton(&Regex::concat([a.star(), Regex::byte(b'b').optional()]).star().star());
    assert!(accepts(&stars, *b"aaabbaab"));
    assert!(stars.n_states() < 5);
    let optional = automaton(&Regex::concat([a.optional().repeat(50, Some(50)), a.repeat(50, Some(50))]));
    assert!(accepts(&optional, vec![b'a'; 50]) && accepts(&optional, vec![b'a'; 100]));
    assert!(!accepts(&optional, vec![b'a'; 49]) && !accepts(&optional, vec![b'a'; 101]));
    let cube = automaton(&a.repeat(1, Some(3)).repeat(1, Some(3)).repeat(1, Some(3)));
    assert!(accepts(&cube, vec![b'a'; 27]) && !accepts(&cube, vec![b'a'; 28]) && !accepts(&cube, []));
    assert!(cube.n_states() < 60);
}

#[test]
fn ambiguous_counted_groups_are_right() {
    // (a|ab|abc){0,500}b
    let group = Regex::words([&b"a"[..], b"ab", b"abc"]);
    let ambiguous = automaton(&Regex::concat([group.repeat(0, Some(500)), Regex::byte(b'b')]));
    assert!(accepts(&ambiguous, b"abc".repeat(500).into_iter().chain(*b"b")));
    assert!(accepts(&ambiguous, b"ab".repeat(500)));
    assert!(
        accepts(&ambiguous, b"ab".repeat(501))
            == accepts(&ambiguous, b"ab".repeat(500).into_iter().chain(*b"ab"))
    );
    assert!(!accepts(&ambiguous, b"ab".repeat(502)));
    assert!(ambiguous.n_states() < 2_100, "{}", ambiguous.n_states());

    // (.*x){20}
    let counted = automaton(&Regex::concat([Regex::any_text(), Regex::byte(b'x')]).repeat(20, Some(20)));
    assert!(!accepts(&counted, b"-x".repeat(19)));
    assert!(accepts(&counted, b"-x".repeat(20)));
    assert!(accepts(&counted, b"-x".repeat(200)));
    assert!(counted.n_states() < 100, "{}", counted.n_states());
}

#[test]
fn an_exponential_expression_ends_in_a_limit() {
    // The textbook worst case: the 40th symbol from the end is a. A text of random letters makes a new state
    // nearly each step.
    let regex = Regex::concat([set(b"ab").star(), Regex::byte(b'a'), set(b"ab").repeat(40, Some(40))]);
    let limits = AutomatonLimits { max_states: 10_000, ..AutomatonLimits::default() };
    let automaton = Automaton::new(&regex, &limits, &Fuel::unlimited()).unwrap();
    let mut state = automaton.start().unwrap();
    let mut random = 1u64;
    for step in 0.. {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        match automaton.step(state, if random >> 63 == 0 { b'a' } else { b'b' }) {
            Ok(next) => state = next.expect("every text can go on"),
            Err(error) => {
                assert!(error.is_limit(), "{error}");
                assert_eq!(error.to_string(), "the expression needs more than the 10000 states allowed");
                assert!(step >= 9_000);
                break;
            }
        }
    }
    assert_eq!(automaton.n_states(), 10_000);
}

#[test]
fn contradictions_are_empty_and_undecided_ones_are_errors() {
    let any = Regex::any_char();
    let short = any.repeat(0, Some(10));
    let long = any.repeat(11, None);
    let both = Regex::intersection([short.clone(), long]);
    assert_eq!(automaton(&both).start(), None);
    let exact = automaton(&Regex::intersection([short, any.repeat(10, None)]));
    assert!(accepts(&exact, "ä".repeat(10).bytes()) && !accepts(&exact, "ä".repeat(9).bytes()));
    // A word that both repeats can make has a length that 30030 = 2·3·5·7·11·13 divides.
    let cycles = [2, 3, 5, 7, 11, 13].map(|n| Regex::byte(b'a').repeat(n, Some(n)).star());
    let all = Regex::concat([
        Regex::byte(b'b'),
        Regex::intersection(
            cycles.clone().map(|cycle| Regex::intersection([cycle, Regex::byte(b'a').plus()])),
        ),
    ]);
    let cycle = automaton(&all);
    assert_eq!(cycle.shortest_word(cycle.start().unwrap()).unwrap().len(), 30_031);
    let limits = AutomatonLimits { liveness_fuel: 10_000, ..AutomatonLimits::default() };
    let error = Automaton::new(&all, &limits, &Fuel::unlimited()).unwrap_err();
    assert!(error.is_limit() && error.to_string().contains("10000"), "{error}");
}

#[test]
fn work_can_be_cancelled() {
    let token = CancelToken::new();
    token.cancel();
    let fuel = Fuel::unlimited().with_cancel(token);
    let error = Automaton::new(&Regex::any_text(), &AutomatonLimits::default(), &fuel).unwrap_err();
    assert!(error.is_cancelled() && !error.is_limit());
}

#[test]
fn nesting_is_right_up_to_its_limit_on_a_small_stack() {
    let nest = |depth: u32, wrap: &dyn Fn(Regex) -> Regex| {
        let mut regex = Regex::words([&b"a"[..], b"bcd"]);
        while regex.depth() < depth {
            regex = wrap(regex);
        }
        regex
    };
    let wraps: [&(dyn Fn(Regex) -> Regex + Sync); 4] = [
        &|regex| Regex::concat([regex.repeat(1, Some(2)), Regex::byte(b'x').optional()]),
        &|regex| Regex::union([Regex::concat([regex, Regex::literal("yy")]), Regex::literal("zz")]),
        &|regex| Regex::concat([regex.star(), Regex::byte(b'x').plus()]),
        &|regex| Regex::concat([Regex::byte(b'x'), regex.complement()]),
    ];
    std::thread::scope(|scope| {
        for wrap in wraps {
            let steps = move || {
                let automaton =
                    Automaton::new(&nest(399, wrap), &AutomatonLimits::default(), &Fuel::unlimited());
                let Ok(automaton) = automaton else { return };
                let mut state = automaton.start().unwrap();
                for &byte in b"xxxaabcdxyyzz".iter().cycle().take(500) {
                    if let Ok(Some(next)) = automaton.step(state, byte) {
                        state = next;
                    }
                }
                assert!(automaton.shortest_word(state).is_ok());
                let too_deep =
                    Automaton::new(&nest(410, wrap), &AutomatonLimits::default(), &Fuel::unlimited());
                assert!(too_deep.is_err_and(|error| error.is_limit()));
            };
            std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, steps).unwrap();
        }
    });
}

#[test]
fn a_long_sequence_is_no_deep_one() {
    let part = Regex::union([Regex::literal("ab"), Regex::byte(b'c')]);
    let long = Regex::concat((0..50_000).map(|i| if i % 2 == 0 { part.clone() } else { set(b"xy") }));
    let automaton = automaton(&long);
    assert!(accepts(&automaton, b"abxcy".repeat(12_500)));
    assert!(!accepts(&automaton, b"abxcy".repeat(12_499)));
    // All of it optional: then one byte can touch all of it, which is more than the limit.
    let optional = Regex::concat((0..50_000u32).map(|i| Regex::literal(i.to_be_bytes()).optional()));
    let error = Automaton::new(&optional, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap_err();
    assert!(error.is_limit(), "{error}");
}

#[test]
fn threads_see_one_language() {
    let string = Regex::char_class(&[(' ', '!'), ('#', '['), (']', char::MAX)]).repeat(2, Some(60));
    let regex = Regex::concat([
        Regex::byte(b'"'),
        string.difference(&Regex::words(["name", "näme", "value"].map(str::as_bytes))),
        Regex::byte(b'"'),
    ]);
    let text = r#""näm" "näme" "name" "names" "value""zz" "日本語 text" "é" "\n" ""x"#.as_bytes();
    // What each start offset of the text can read, and where it accepts.
    let trace = |automaton: &Automaton| -> Vec<Vec<(bool, ByteSet)>> {
        (0..text.len())
            .map(|from| {
                let mut seen = Vec::new();
                let mut state = automaton.start();
                for &byte in &text[from..] {
                    let Some(here) = state else { break };
                    let key = automaton.row_key(here, 8).unwrap();
                    assert_eq!(automaton.next_bytes(key).unwrap(), automaton.next_bytes(here).unwrap());
                    seen.push((automaton.is_accepting(here), automaton.next_bytes(here).unwrap()));
                    state = automaton.step(here, byte).unwrap();
                }
                seen
            })
            .collect()
    };
    let expected = trace(&automaton(&regex));
    assert!(expected.iter().flatten().any(|&(accepts, _)| accepts));
    for _ in 0..20 {
        let shared = Arc::new(automaton(&regex));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let (shared, trace, expected) = (Arc::clone(&shared), &trace, &expected);
                scope.spawn(move || assert_eq!(trace(&shared), *expected));
            }
        });
    }
}

#[test]
fn words_and_single_bytes_are_literal_like() {
    for (regex, expected) in [
        (Regex::literal("true"), true),
        (Regex::byte(b','), true),
        (Regex::words(["a", "bc"].map(str::as_bytes)), true),
        (Regex::epsilon(), true),
        (set(b"ab"), false),
        (Regex::any_text(), false),
    ] {
        assert_eq!(automaton(&regex).is_literal_like(), expected, "{regex:?}");
    }
}

#[test]
fn a_literal_is_walked_by_offset() {
    let literal = automaton(&Regex::literal("true"));
    let state = run(&literal, *b"tr").unwrap();
    assert_eq!(literal.next_bytes(state).unwrap(), ByteSet::singleton(b'u'));
    assert_eq!(literal.describe(state), "\"ue\"");
    assert_eq!(literal.shortest_word(state).unwrap(), b"ue");
    let end = run(&literal, *b"true").unwrap();
    assert!(literal.is_accepting(end) && !literal.is_accepting(state));
    assert!(literal.next_bytes(end).unwrap().is_empty());
    assert_eq!(literal.step(end, b'e').unwrap(), None);
    assert_eq!((literal.n_states(), literal.describe(end).as_str()), (5, "ε"));
    assert_ne!(literal.id(), automaton(&Regex::literal("true")).id());
}

#[test]
fn a_byte_set_has_two_states() {
    let digit = automaton(&Regex::bytes(ByteSet::range(b'0', b'9')));
    let start = digit.start().unwrap();
    let end = digit.step(start, b'7').unwrap().unwrap();
    assert_eq!(digit.step(start, b'a').unwrap(), None);
    assert_eq!(digit.step(end, b'7').unwrap(), None);
    assert!(digit.is_accepting(end) && !digit.is_accepting(start));
    assert_eq!(digit.next_bytes(start).unwrap(), ByteSet::range(b'0', b'9'));
    assert!(digit.next_bytes(end).unwrap().is_empty());
    assert_eq!(digit.shortest_word(start).unwrap(), b"0");
    assert!(digit.shortest_word(end).unwrap().is_empty());
    assert_eq!((digit.describe(start).as_str(), digit.describe(end).as_str()), ("[0-9]", "ε"));
    assert_eq!((digit.n_states(), digit.row_key(start, 3).unwrap()), (2, start));
}

#[test]
fn counts_inside_intersections_are_kept() {
    // Cut to two copies each, a would lead on.
    let branch = |n: u32| Regex::union([Regex::byte(b'a').repeat(n, Some(n)), Regex::byte(b'b')]);
    let automaton = automaton(&Regex::intersection([branch(9), branch(8)]));
    let start = automaton.start().unwrap();
    let key = automaton.row_key(start, 1).unwrap();
    assert_eq!(automaton.next_bytes(start).unwrap(), ByteSet::singleton(b'b'));
    assert_eq!(automaton.next_bytes(key).unwrap(), ByteSet::singleton(b'b'));
}

#[test]
fn descriptions_are_readable_and_bounded() {
    let automaton = automaton(&Regex::concat([
        Regex::byte(b'"'),
        Regex::bytes(ByteSet::range(b'a', b'z')).repeat(2, Some(9)),
        Regex::byte(b'"'),
    ]));
    assert_eq!(automaton.describe(automaton.start().unwrap()), "(\"\\\"\" ([a-z]){2,9} \"\\\"\")");
    let state = run(&automaton, *b"\"a").unwrap();
    assert_eq!(automaton.describe(state), "(([a-z]){1,8} \"\\\"\")");
    let words = Regex::words((0..1_000u32).map(|i| format!("{i:0>500}").into_bytes()));
    let many = self::automaton(&Regex::concat(std::iter::repeat_n(words.star(), 40)));
    assert!(many.describe(many.start().unwrap()).len() < 600);
}

/// Words beside a bound on characters: far from the bound, all counts have one row; near it, each its own.
#[test]
fn a_far_bound_beside_a_pattern_has_one_row() {
    let text = Regex::any_char();
    let word = Regex::concat([Regex::bytes(ByteSet::range(b'a', b'z')).plus(), Regex::byte(b' ').plus()]);
    let words = Regex::concat([word.repeat(0, Some(400)), Regex::bytes(ByteSet::range(b'a', b'z')).plus()]);
    let automaton = automaton(&Regex::intersection([words, text.repeat(0, Some(1_000))]));
    let mut state = automaton.start().unwrap();
    let mut keys = Vec::new();
    for byte in b"ab cd ".iter().cycle().take(996) {
        state = automaton.step(state, *byte).unwrap().unwrap();
        keys.push(automaton.row_key(state, 16).unwrap());
    }
    let distinct = |keys: &[StateId]| keys.iter().collect::<std::collections::HashSet<_>>().len();
    assert!(distinct(&keys[..900]) <= 20, "{}", distinct(&keys[..900]));
    assert!(distinct(&keys[980..]) == 16);
}
