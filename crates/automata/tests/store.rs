//! Many automata in one store: shared states, separate limits.

#![allow(clippy::unwrap_used, reason = "a failure is a failed test, in helper functions too")]

#[allow(dead_code, reason = "other tests use the rest")]
mod reference;

use std::collections::HashSet;

use maskwright_automata::{
    Automaton, AutomatonError, AutomatonLimits, AutomatonStore, ByteSet, Fuel, Regex, StateId,
};
use proptest::prelude::*;

use reference::{ALPHABET, any_regex};

fn store() -> AutomatonStore {
    AutomatonStore::new(AutomatonLimits::default())
}

fn automaton(store: &AutomatonStore, regex: &Regex) -> Automaton {
    store.automaton(regex, &Fuel::unlimited()).unwrap()
}

fn run(automaton: &Automaton, word: impl AsRef<[u8]>) -> Option<StateId> {
    word.as_ref().iter().try_fold(automaton.start()?, |state, &byte| automaton.step(state, byte).unwrap())
}

fn quote(body: Regex) -> Regex {
    Regex::concat([Regex::byte(b'"'), body, Regex::byte(b'"')])
}

/// One character of a JSON string.
fn char_of_string() -> Regex {
    let plain = Regex::char_class(&[(' ', '!'), ('#', '['), (']', char::MAX)]);
    let escapes = Regex::bytes(b"\"\\/bfnrt".iter().copied().collect());
    Regex::union([plain, Regex::concat([Regex::byte(b'\\'), escapes])])
}

fn string() -> Regex {
    quote(char_of_string().star())
}

fn string_but<const N: usize>(names: [&str; N]) -> Regex {
    string().difference(&Regex::words(names.map(|name| format!("\"{name}\"").into_bytes())))
}

/// The states that can be reached from `start`, up to `max`.
fn reachable(automaton: &Automaton, start: Option<StateId>, max: usize) -> Vec<StateId> {
    let mut states: Vec<StateId> = start.into_iter().collect();
    let mut seen: HashSet<StateId> = states.iter().copied().collect();
    for i in 0..max {
        let Some(&state) = states.get(i) else { break };
        for byte in automaton.next_bytes(state).unwrap().iter() {
            let next = automaton.step(state, byte).unwrap().unwrap();
            if seen.insert(next) {
                states.push(next);
            }
        }
    }
    states
}

#[test]
fn a_count_is_where_it_got_to() {
    let store = store();
    let strings = |max| automaton(&store, &quote(char_of_string().repeat(0, Some(max))));
    let (fifty, seven) = (strings(50), strings(7));
    for text in ["x".repeat(43), "é".repeat(43), "\\n日".repeat(21) + "😀"] {
        let state = run(&fifty, format!("\"{text}")).unwrap();
        assert_eq!(Some(state), run(&seven, "\""));
        assert_eq!(fifty.residue_key(state), seven.residue_key(state));
    }
    // In the middle of a character, too.
    let a = run(&fifty, [b"\"", "é".repeat(43).as_bytes(), &[0xE6, 0x97]].concat());
    assert_eq!(a, run(&seven, [b"\"".as_slice(), &[0xE6, 0x97]].concat()));
    assert!(a.is_some());
    let (fifty, seven) = (strings(50), strings(8));
    assert_ne!(run(&fifty, format!("\"{}", "x".repeat(43))), run(&seven, "\""));
}

#[test]
fn a_string_that_left_all_names_is_any_string() {
    let store = store();
    let any = automaton(&store, &string());
    let names = ["name", "naïve", "nombre", "日本", "é", "a\\\"b", ""];
    for regex in [
        string_but(names),
        // The names excluded inside the quotes; and more than once.
        quote(char_of_string().star().difference(&Regex::words(names.map(str::as_bytes)))),
        string_but(["name", "é"]).difference(&Regex::words(["\"naïve\"", "\"日本\""].map(str::as_bytes))),
    ] {
        let but = automaton(&store, &regex);
        for prefix in ["\"x", "\"namé", "\"names", "\"日月", "\"\\", "\"a\\\\", "\"ë", "\"日本語"] {
            let state = run(&but, prefix);
            assert!(
                state.is_some() && state == run(&any, prefix),
                "{prefix:?} {}",
                but.describe(state.unwrap())
            );
            assert_eq!(but.base(state.unwrap()).unwrap(), None);
        }
        // Between the bytes of a character that no name has there.
        for prefix in [&b"\"\xC4"[..], b"\"\xE6\x98", b"\"na\xC3\xA9", b"\"nam\xF0\x9F", b"\"\xE6\x97\xA6"] {
            let state = run(&but, prefix);
            assert!(state.is_some() && state == run(&any, prefix), "{prefix:?}");
        }
        for prefix in ["", "\"", "\"n", "\"nam", "\"name", "\"é", "\"日"] {
            let state = run(&but, prefix).unwrap();
            assert_ne!(Some(state), run(&any, prefix), "{prefix:?}");
            assert_eq!(but.base(state).unwrap(), run(&any, prefix), "{}", but.describe(state));
            assert_eq!(any.base(run(&any, prefix).unwrap()).unwrap(), None);
        }
        assert_eq!(run(&but, "\"name\""), None);
        assert_eq!(run(&but, "\"names\""), run(&any, "\"\""));
    }
}

#[test]
fn text_without_names_is_text_again() {
    let store = store();
    let any = automaton(&store, &Regex::any_text());
    let but = automaton(&store, &Regex::words(["één", "two"].map(str::as_bytes)).complement());
    for prefix in [&b"x"[..], b"t\xC3", b"\xE6", b"\xC3\xA9x", b"twos", b"\xC3\xA8"] {
        assert_eq!(run(&but, prefix), run(&any, prefix));
    }
    assert_eq!(but.base(but.start().unwrap()).unwrap(), any.start());
}

#[test]
fn a_string_that_has_what_it_must_is_any_string() {
    let store = store();
    let any = automaton(&store, &string());
    let inside = run(&any, "\"");
    let characters = || char_of_string().star();
    for parts in
        [vec![Regex::literal(b"sound")], vec![Regex::words([&b"a"[..], b"b\\n"]), Regex::literal(b"c")]]
    {
        let found = Regex::concat([characters(), Regex::concat(parts), characters()]);
        let search = automaton(&store, &quote(found));
        assert_ne!(run(&search, "\"so"), inside);
        for text in ["\"sound", "\"a sound so so", "\"xac", "\"b\\nc \\n", "\"acacbb"] {
            if run(&search, text.to_owned() + "\"").is_some() {
                assert_eq!(run(&search, text), inside, "{text}");
            }
        }
        assert!(["sound", "b\\nc"].iter().any(|word| run(&search, format!("\"{word}\"")).is_some()));
    }
}

#[test]
fn a_line_without_a_word_is_dead_behind_it() {
    let any = || Regex::any_char().star();
    let line = || {
        let but_ends = [('\0', '\t'), ('\u{b}', '\u{c}'), ('\u{e}', '\u{2027}'), ('\u{202a}', char::MAX)];
        Regex::char_class(&but_ends).star()
    };
    let with_word = Regex::concat([line(), Regex::literal(b"://"), any()]);
    let limits = AutomatonLimits { liveness_fuel: 2_000, ..AutomatonLimits::default() };
    let store = AutomatonStore::new(limits);
    let automaton = automaton(&store, &Regex::intersection([any(), with_word.complement()]));
    assert!(run(&automaton, "a:/").is_some());
    assert_eq!(run(&automaton, "a://"), None);
    assert!(run(&automaton, "é:\u{2028}://").is_some());
}

#[test]
fn the_same_expression_costs_nothing_twice() {
    let store = store();
    let first = automaton(&store, &string_but(["name", "id"]));
    let n_states = reachable(&first, first.start(), 1_000).len();
    assert_eq!((store.n_states(), first.n_states()), (n_states, n_states));
    // Made anew, so equal by value only; pays with the fuel for one look.
    let second = store.automaton(&string_but(["name", "id"]), &Fuel::new(1)).unwrap();
    assert_eq!(reachable(&second, second.start(), 1_000).len(), n_states);
    assert_eq!((store.n_states(), second.n_states()), (n_states, 0));
    assert_eq!(second.start(), first.start());
    assert_ne!(second.id(), first.id());
    assert_eq!((second.store_id(), first.store_id()), (store.id(), store.id()));
    let other = automaton(&self::store(), &string());
    assert_ne!(other.store_id(), first.store_id());
    let third = automaton(&store, &string_but(["name", "ip", "x"]));
    reachable(&third, third.start(), 1_000);
    assert!(third.n_states() < 15, "{}", third.n_states());
    assert!(store.memory_usage() > first.memory_usage());
}

#[test]
fn short_rests_of_words_are_one_residue() {
    let store = store();
    let a = automaton(&store, &string_but(["name", "id", "length"]));
    let b = automaton(&store, &string_but(["type", "name", "idle", "nest"]));
    assert_ne!(a.start(), b.start());
    assert_ne!(run(&a, "\"n"), run(&b, "\"n"));
    assert_ne!(run(&a, "\"id"), run(&b, "\"id"));
    assert_eq!(run(&a, "\"na"), run(&b, "\"na"));
    assert_eq!(run(&b, "\"idl"), run(&automaton(&store, &string_but(["idle"])), "\"idl"));
    // A byte less in one word and one more in the next is another rest.
    let rests = |words: [&str; 2]| {
        let words = Regex::words(words.map(str::as_bytes));
        run(&automaton(&store, &Regex::concat([words, Regex::byte(b'.')])), "").unwrap()
    };
    assert_ne!(rests(["ab", "c"]), rests(["a", "bc"]));
    assert_eq!(rests(["ab", "c"]), rests(["c", "ab"]));
}

#[test]
fn words_and_sets_keep_to_themselves() {
    let store = store();
    let word = automaton(&store, &Regex::literal("true"));
    let set = automaton(&store, &Regex::bytes(ByteSet::range(b'0', b'9')));
    assert_eq!(store.n_states(), 0);
    for automaton in [&word, &set] {
        let start = automaton.start().unwrap();
        assert_eq!(automaton.residue_key(start), (automaton.id(), start));
        assert_eq!(automaton.base(start).unwrap(), None);
    }
    let ids: HashSet<u64> = [word.id(), set.id(), store.id(), self::store().id()].into();
    assert_eq!(ids.len(), 4);
}

/// The textbook worst case: the 40th symbol from the end is a.
fn hostile() -> Regex {
    let set = Regex::bytes([b'a', b'b'].into_iter().collect());
    Regex::concat([set.star(), Regex::byte(b'a'), set.repeat(40, Some(40))])
}

/// Steps by pseudorandom letters until an error, or the end of `n_steps`.
fn exhaust(automaton: &Automaton, n_steps: usize) -> Result<(), AutomatonError> {
    let mut state = automaton.start().unwrap();
    let mut random = 1u64;
    for _ in 0..n_steps {
        random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        state = automaton.step(state, if random >> 63 == 0 { b'a' } else { b'b' })?.unwrap();
    }
    Ok(())
}

#[test]
fn one_that_reaches_its_limit_leaves_the_others_alone() {
    let limits = AutomatonLimits { max_states: 1_000, ..AutomatonLimits::default() };
    let store = AutomatonStore::new(limits);
    let hostile = automaton(&store, &hostile());
    let error = exhaust(&hostile, 100_000).unwrap_err();
    assert_eq!(error.to_string(), "the expression needs more than the 1000 states allowed");
    assert_eq!(hostile.n_states(), 1_000);
    // Others go on, past the store's sum too.
    for n in 0..5 {
        let letters =
            automaton(&store, &Regex::bytes([b'x', b'0' + n].into_iter().collect()).repeat(0, Some(900)));
        assert_eq!(reachable(&letters, letters.start(), 1_000).len(), 901);
    }
    assert!(store.n_states() > 5_000);
    // What others made it may use; what nobody made it may not make.
    assert_eq!(exhaust(&hostile, 100_000).unwrap_err(), error);
    let string = automaton(&store, &string_but(["name"]));
    assert!(run(&string, "\"names\"").is_some());
}

#[test]
fn memory_is_counted_for_each_alone() {
    // Room for one state beside the 16 MiB for an expression.
    let store = AutomatonStore::new(AutomatonLimits { max_states: 1, ..AutomatonLimits::default() });
    let words = |seed: u32| {
        Regex::words(
            (0..120_000u32).map(|i| (i ^ seed << 20).wrapping_mul(2_654_435_761).to_be_bytes().repeat(8)),
        )
    };
    for seed in 0..4 {
        let automaton = automaton(&store, &words(seed));
        assert!(automaton.start().is_some());
        assert!(automaton.memory_usage() > 5 << 20 && automaton.memory_usage() < 17 << 20);
    }
    assert!(store.memory_usage() > 20 << 20);
}

#[test]
fn threads_share_one_store() {
    let regexes = [
        string(),
        string_but(["name", "näme"]),
        string_but(["name", "value", "日本"]),
        quote(char_of_string().repeat(0, Some(20))),
        quote(char_of_string().repeat(2, Some(12))).difference(&Regex::literal("\"value\"")),
        Regex::words(["\"name\"", "\"value\"", "\"zz\""].map(str::as_bytes)),
    ];
    let text = r#""näm" "näme" "name" "names" "value""zz" "日本語 text" "é" "\n" ""x"#.as_bytes();
    let trace = |automaton: &Automaton| -> Vec<Vec<(bool, ByteSet, Option<ByteSet>)>> {
        (0..text.len())
            .map(|from| {
                let mut seen = Vec::new();
                let mut state = automaton.start();
                for &byte in &text[from..] {
                    let Some(here) = state else { break };
                    let base = automaton.base(here).unwrap();
                    let of_base = base.map(|base| automaton.next_bytes(base).unwrap());
                    let key = automaton.row_key(here, 8).unwrap();
                    assert_eq!(automaton.next_bytes(key).unwrap(), automaton.next_bytes(here).unwrap());
                    seen.push((automaton.is_accepting(here), automaton.next_bytes(here).unwrap(), of_base));
                    let next = automaton.steps(here).next(byte).unwrap();
                    assert!(next.is_none_or(|(next, accepts)| automaton.is_accepting(next) == accepts));
                    state = next.map(|(next, _)| next);
                }
                seen
            })
            .collect()
    };
    let expected = regexes.each_ref().map(|regex| trace(&automaton(&store(), regex)));
    assert!(expected.iter().flatten().flatten().any(|(_, _, base)| base.is_some()));
    for _ in 0..20 {
        let store = store();
        std::thread::scope(|scope| {
            for thread in 0..12 {
                let (store, regexes, trace, expected) = (store.clone(), &regexes, &trace, &expected);
                scope.spawn(move || {
                    for i in (0..regexes.len()).map(|i| (i + thread) % regexes.len()) {
                        assert_eq!(trace(&automaton(&store, &regexes[i])), expected[i]);
                    }
                });
            }
        });
    }
}

/// 1,000 random cases, or as many as `PROPTEST_CASES` says.
fn n_cases() -> u32 {
    std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(1_000)
}

/// Walks both from a pair of states through all pairs that can be reached, up to 200.
fn pairs(
    a: (&Automaton, Option<StateId>),
    b: (&Automaton, Option<StateId>),
    mut check: impl FnMut(Option<StateId>, Option<StateId>),
) {
    let mut queue = vec![(a.1, b.1)];
    let mut seen = HashSet::from([(a.1, b.1)]);
    for i in 0..200 {
        let Some(&pair) = queue.get(i) else { break };
        check(pair.0, pair.1);
        for byte in ALPHABET {
            let step = |automaton: &Automaton, state: Option<StateId>| {
                state.and_then(|state| automaton.step(state, byte).unwrap())
            };
            let next = (step(a.0, pair.0), step(b.0, pair.1));
            if next != (None, None) && seen.insert(next) {
                queue.push(next);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(n_cases()))]

    #[test]
    fn an_automaton_is_the_same_in_a_shared_store(regexes in proptest::collection::vec(any_regex(), 2..6)) {
        let store = store();
        let shared: Vec<Automaton> = regexes.iter().map(|regex| automaton(&store, regex)).collect();
        for (regex, shared) in regexes.iter().zip(&shared) {
            let alone = Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
            let mut failed = None;
            pairs((&alone, alone.start()), (shared, shared.start()), |a, b| {
                let facts = |automaton: &Automaton, state: StateId| {
                    (
                        automaton.is_accepting(state),
                        automaton.next_bytes(state).unwrap(),
                        automaton.shortest_word(state).unwrap(),
                    )
                };
                if a.map(|a| facts(&alone, a)) != b.map(|b| facts(shared, b)) {
                    failed.get_or_insert((a, b));
                }
            });
            prop_assert_eq!(failed, None, "{:?}", regex);
        }
        // Equal states are equal languages, so stepping through any automaton of the store is the same.
        for (a, b) in shared.iter().zip(&shared[1..]) {
            if a.store_id() != b.store_id() {
                continue;
            }
            for state in reachable(a, a.start(), 20) {
                prop_assert_eq!(a.next_bytes(state).unwrap(), b.next_bytes(state).unwrap());
                for byte in ALPHABET {
                    prop_assert_eq!(a.step(state, byte).unwrap(), b.step(state, byte).unwrap());
                }
            }
        }
    }

    #[test]
    fn a_base_contains_its_state(
        regex in any_regex(),
        words in proptest::collection::vec(proptest::collection::vec(proptest::sample::select(&ALPHABET[..4]), 0..4), 1..5),
        ends in 0..4,
    ) {
        let but = regex.difference(&Regex::words(words));
        let regex = match ends {
            0 => but,
            1 => Regex::concat([Regex::byte(b'a'), but, Regex::byte(b'b')]),
            2 => Regex::concat([but, Regex::literal("ab").star()]),
            _ => Regex::union([but, Regex::literal("ab")]),
        };
        let automaton = automaton(&store(), &regex);
        for state in reachable(&automaton, automaton.start(), 30) {
            let Some(base) = automaton.base(state).unwrap() else { continue };
            prop_assert_ne!(base, state);
            prop_assert_eq!(automaton.base(state).unwrap(), Some(base));
            let mut failed = None;
            pairs((&automaton, Some(state)), (&automaton, Some(base)), |a, b| {
                let Some(a) = a else { return };
                let is_within = b.is_some_and(|b| {
                    (!automaton.is_accepting(a) || automaton.is_accepting(b))
                        && automaton.next_bytes(a).unwrap().is_subset(&automaton.next_bytes(b).unwrap())
                });
                if !is_within {
                    failed.get_or_insert((a, b));
                }
            });
            prop_assert_eq!(failed, None, "{} in {}", automaton.describe(state), automaton.describe(base));
        }
    }

    /// Asking for all transitions at once (which takes most of them from the base) finds what steps one by
    /// one find.
    #[test]
    fn all_transitions_at_once_are_those_one_by_one(
        body in any_regex(), excluded in proptest::collection::vec(any_regex(), 1..3), counts in 0u32..3
    ) {
        let excluded: Vec<Regex> = excluded.iter().map(|regex| regex.repeat(0, Some(counts))).collect();
        let regex = body.star().difference(&Regex::union(excluded));
        let (at_once, by_one) = (automaton(&store(), &regex), automaton(&store(), &regex));
        let mut pairs = vec![(at_once.start(), by_one.start())];
        let mut seen = HashSet::new();
        while let Some(pair) = pairs.pop() {
            prop_assert_eq!(pair.0.is_some(), pair.1.is_some());
            let (Some(a), Some(b)) = pair else { continue };
            if seen.len() > 200 || !seen.insert((a, b)) {
                continue;
            }
            prop_assert_eq!(at_once.is_accepting(a), by_one.is_accepting(b));
            // Transitions are taken from a base that is a state already.
            at_once.base(a).unwrap();
            let next = at_once.next_bytes(a).unwrap();
            for byte in 0..=255 {
                let pair = (at_once.step(a, byte).unwrap(), by_one.step(b, byte).unwrap());
                prop_assert_eq!(next.contains(byte), pair.1.is_some());
                pairs.push(pair);
            }
        }
    }

    #[test]
    fn steps_are_steps(regex in any_regex()) {
        let automaton = automaton(&store(), &regex);
        for state in reachable(&automaton, automaton.start(), 20) {
            let steps = automaton.steps(state);
            for byte in 0..=255 {
                let expected = automaton.step(state, byte).unwrap();
                let expected = expected.map(|next| (next, automaton.is_accepting(next)));
                prop_assert_eq!(steps.next(byte).unwrap(), expected);
                let is_loop = expected.is_some_and(|(next, _)| next == state);
                prop_assert_eq!(automaton.loop_bytes(state).unwrap().contains(byte), is_loop);
            }
        }
    }
}
