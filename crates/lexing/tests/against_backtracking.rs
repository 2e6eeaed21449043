//! The lexer against the definition: random ordered patterns with assertions, random texts, and for each
//! prefix of each text what can still come.

use std::collections::{BTreeSet, VecDeque};

use maskwright_automata::{Automaton, AutomatonLimits, ByteSet, Fuel};
use maskwright_lexing::{
    Discipline, Keyword, LexError, LexState, Lexer, LexerLimits, LexerTerminal, Pattern, Token, find_prefix,
    tokenize,
};
use proptest::prelude::*;

/// Steps that the backtracking matcher may take before a case is given up.
const STEPS: u64 = 200_000;
/// Why a lexer does not fail.
const SMALL: &str = "small lexers stay within the limits";

fn leaf() -> impl Strategy<Value = Pattern> {
    prop_oneof![
        4 => "[ab]".prop_map(|text| Pattern::literal(text.as_bytes())),
        2 => "[ab]{2,3}".prop_map(|text| Pattern::literal(text.as_bytes())),
        2 => Just(Pattern::char_class(&[('a', 'b')])),
        1 => Just(Pattern::char_class(&[('b', 'é')])),
        1 => Just(Pattern::literal("é".as_bytes())),
        1 => Just(Pattern::bytes(ByteSet::range(b'a', b'b'))),
        1 => Just(Pattern::empty()),
        1 => Just(Pattern::never()),
    ]
}

/// A pattern, with assertions if `looks`.
fn pattern(looks: bool) -> impl Strategy<Value = Pattern> {
    leaf().prop_recursive(4, 12, 3, move |inner| {
        let copies = (inner.clone(), 0..3u32, prop::option::of(0..3u32), any::<bool>());
        let repeat = copies
            .prop_map(|(inner, min, more, greedy)| inner.repeat(min, more.map(|more| min + more), greedy));
        let concat = prop::collection::vec(inner.clone(), 2..4).prop_map(Pattern::concat);
        let alternation = prop::collection::vec(inner.clone(), 2..4).prop_map(Pattern::alternation);
        if !looks {
            return prop_oneof![3 => concat, 3 => alternation, 3 => repeat].boxed();
        }
        let ahead = (inner.clone(), any::<bool>()).prop_map(|(inner, negated)| inner.look_ahead(negated));
        let behind =
            (leaf(), leaf(), any::<bool>(), any::<bool>()).prop_map(|(first, second, both, negated)| {
                let word = if both { Pattern::concat([first, second]) } else { first };
                // A lookbehind inside of a lookbehind now and then.
                let word = if negated {
                    word
                } else {
                    Pattern::concat([Pattern::literal(b"a").look_behind(true), word])
                };
                word.look_behind(negated)
            });
        prop_oneof![3 => concat, 3 => alternation, 3 => repeat, 2 => ahead, 2 => behind].boxed()
    })
}

fn terminals(looks: bool) -> impl Strategy<Value = Vec<LexerTerminal>> {
    let keywords = prop::collection::vec("[ab]{1,3}", 0..3);
    let one = (pattern(looks), -1..2i32, keywords).prop_map(|(pattern, priority, keywords)| {
        // A terminal reads at least one character.
        let pattern = if pattern.min_width() == 0 {
            Pattern::concat([pattern, Pattern::char_class(&[('a', 'b')])])
        } else {
            pattern
        };
        (pattern, priority, keywords)
    });
    prop::collection::vec(one, 1..4).prop_map(|list| {
        let n_terminals = list.len() as u32;
        let make = |(index, (pattern, priority, keywords)): (usize, (Pattern, i32, Vec<String>))| {
            let keywords = keywords.into_iter().enumerate().map(|(offset, text)| Keyword {
                pattern: Pattern::literal(text.as_bytes()),
                terminal: n_terminals + 4 * index as u32 + offset as u32,
            });
            LexerTerminal::new(index as u32, pattern).with_priority(priority).with_keywords(keywords)
        };
        list.into_iter().enumerate().map(make).collect()
    })
}

/// The token at `at` by definition.
fn defined_token(
    terminals: &[LexerTerminal],
    discipline: Discipline,
    text: &[u8],
    at: usize,
) -> Result<Option<Token>, LexError> {
    let fuel = Fuel::new(STEPS);
    let mut best: Option<(usize, i32, &LexerTerminal)> = None;
    for terminal in terminals {
        let Some(end) = find_prefix(&terminal.pattern, text, at, &fuel)? else { continue };
        let rank = (end, terminal.priority);
        match (discipline, &best) {
            (Discipline::LeftmostFirst, Some(_)) => {}
            (Discipline::LongestMatch, &Some((end, priority, _))) if (end, priority) >= rank => {}
            _ => best = Some((end, terminal.priority, terminal)),
        }
    }
    let Some((end, _, terminal)) = best else { return Ok(None) };
    let mut id = terminal.id;
    for keyword in terminal.keywords.iter().rev() {
        if find_prefix(&keyword.pattern, &text[at..end], 0, &fuel)? == Some(end - at) {
            id = keyword.terminal;
        }
    }
    Ok(Some(Token { terminal: id, range: at..end }))
}

fn defined_tokens(
    terminals: &[LexerTerminal],
    discipline: Discipline,
    text: &[u8],
) -> Result<(Vec<Token>, Option<usize>), LexError> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while at < text.len() {
        let Some(token) = defined_token(terminals, discipline, text, at)? else {
            return Ok((tokens, Some(at)));
        };
        at = token.range.end;
        tokens.push(token);
    }
    Ok((tokens, None))
}

fn discipline() -> impl Strategy<Value = Discipline> {
    prop_oneof![Just(Discipline::LeftmostFirst), Just(Discipline::LongestMatch)]
}

fn lexer(terminals: &[LexerTerminal], discipline: Discipline) -> Lexer {
    Lexer::new(terminals, discipline, LexerLimits::default(), &Fuel::unlimited())
        .expect("the terminals read a character")
}

/// All texts of `a`, `b`, `c`, `é` with at most `length` letters, the empty one first.
fn texts(length: usize) -> Vec<Vec<u8>> {
    let mut texts = vec![Vec::new()];
    let mut begin = 0;
    for _ in 0..length {
        let end = texts.len();
        for index in begin..end {
            for letter in ["a", "b", "c", "é"] {
                texts.push([texts[index].as_slice(), letter.as_bytes()].concat());
            }
        }
        begin = end;
    }
    texts
}

/// The bytes from `from` to the nearest state that `is_goal`, `least` bytes on or more, and that state.
fn path_to(
    lexer: &Lexer,
    from: LexState,
    least: usize,
    is_goal: impl Fn(LexState) -> bool,
) -> Option<(Vec<u8>, LexState)> {
    let mut seen = BTreeSet::from([from]);
    let mut queue = VecDeque::from([(Vec::new(), from)]);
    if least == 0 && is_goal(from) {
        return queue.pop_front();
    }
    while let Some((path, state)) = queue.pop_front() {
        for byte in lexer.next_bytes(state).expect(SMALL).iter() {
            let next = lexer.step(state, byte).expect(SMALL)?;
            let path = [path.as_slice(), &[byte]].concat();
            if is_goal(next) {
                return Some((path, next));
            }
            if seen.insert(next) {
                queue.push_back((path, next));
            }
        }
    }
    None
}

/// Bytes after which the match with this guard stands though the text ends there.
fn standing(lexer: &Lexer, guard: LexState) -> Option<Vec<u8>> {
    let mut seen = BTreeSet::from([guard]);
    let mut queue = VecDeque::from([(Vec::new(), guard)]);
    while let Some((path, state)) = queue.pop_front() {
        if !lexer.refutes_at_end(state) {
            return Some(path);
        }
        for byte in 0..=255 {
            let path = [path.as_slice(), &[byte]].concat();
            match lexer.step(state, byte).expect(SMALL) {
                None => return Some(path),
                Some(next) if !lexer.refutes(next) && seen.insert(next) => queue.push_back((path, next)),
                Some(_) => {}
            }
        }
    }
    None
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(4_000) })]

    #[test]
    fn tokens_are_those_of_the_definition(
        terminals in any::<bool>().prop_flat_map(terminals),
        discipline in discipline(),
        texts in prop::collection::vec("[abcé]{0,9}", 8),
    ) {
        let lexer = lexer(&terminals, discipline);
        for text in texts {
            let Ok(expected) = defined_tokens(&terminals, discipline, text.as_bytes()) else { continue };
            let found = tokenize(&lexer, text.as_bytes()).unwrap();
            prop_assert_eq!(found, expected, "{}", text);
        }
    }

    #[test]
    fn words_are_matched_whole(terminals in any::<bool>().prop_flat_map(terminals)) {
        let pattern = &terminals[0].pattern;
        let fuel = Fuel::unlimited();
        let words = pattern.words(0, &fuel).unwrap();
        let automaton = Automaton::new(&words, &AutomatonLimits::default(), &fuel).unwrap();
        for text in texts(5) {
            let Ok(matched) = find_prefix(pattern, &text, 0, &Fuel::new(STEPS)) else { continue };
            let mut state = automaton.start();
            for &byte in &text {
                state = state.and_then(|state| automaton.step(state, byte).unwrap());
            }
            let is_word = state.is_some_and(|state| automaton.is_accepting(state));
            prop_assert_eq!(is_word, matched == Some(text.len()), "{:?} of {:?}: {:?}", text, pattern, words);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(500) })]

    #[test]
    fn states_know_what_can_come(
        terminals in any::<bool>().prop_flat_map(terminals),
        discipline in discipline(),
    ) {
        let lexer = lexer(&terminals, discipline);
        let continuations = texts(4);
        for prefix in texts(2) {
            // What every continuation makes the first token, its end included.
            let mut first_tokens = Vec::new();
            for continuation in &continuations {
                let text = [prefix.as_slice(), continuation].concat();
                let Ok(token) = defined_token(&terminals, discipline, &text, 0) else {
                    return Err(TestCaseError::reject("the reference takes too many steps"));
                };
                first_tokens.push(token);
            }
            let ends_later = |token: &&Token| token.range.end > prefix.len();
            let later: BTreeSet<u32> =
                first_tokens.iter().flatten().filter(ends_later).map(|token| token.terminal).collect();
            let here: BTreeSet<u32> = first_tokens
                .iter()
                .flatten()
                .filter(|token| token.range.end == prefix.len())
                .map(|token| token.terminal)
                .collect();
            let mut state: Option<LexState> = Some(lexer.start());
            for &byte in &prefix {
                state = state.and_then(|state| lexer.step(state, byte).unwrap());
            }
            let Some(state) = state else {
                prop_assert!(later.is_empty() && here.is_empty(), "dead after {:?}", prefix);
                continue;
            };
            let reachable: BTreeSet<u32> = lexer.reachable(state).unwrap().iter().collect();
            prop_assert!(later.is_subset(&reachable), "{:?} of {:?} after {:?}", reachable, later, prefix);
            let accepted: BTreeSet<u32> =
                lexer.accepts(state).iter().map(|accept| accept.terminal).collect();
            prop_assert!(here.is_subset(&accepted), "{:?} of {:?} at {:?}", accepted, here, prefix);
            // Nothing is claimed without a text that shows it.
            let defined = |text: &[u8]| defined_token(&terminals, discipline, text, 0);
            for &terminal in &reachable {
                let is_accepted =
                    |state| lexer.accepts(state).iter().any(|accept| accept.terminal == terminal);
                let (path, end) = path_to(&lexer, state, 1, is_accepted).unwrap();
                let shown = lexer.accepts(end).iter().filter(|accept| accept.terminal == terminal).any(|accept| {
                    let after = standing(&lexer, accept.guard).unwrap();
                    let text = [prefix.as_slice(), &path, &after].concat();
                    let length = prefix.len() + path.len();
                    defined(&text).is_ok_and(|token| token == Some(Token { terminal, range: 0..length }))
                });
                prop_assert!(shown, "{} after {:?}, by {:?}", terminal, prefix, path);
            }
            for accept in lexer.accepts(state) {
                let token = Some(Token { terminal: accept.terminal, range: 0..prefix.len() });
                let after = standing(&lexer, accept.guard).unwrap();
                let text = [prefix.as_slice(), &after].concat();
                prop_assert_eq!(defined(&text), Ok(token.clone()), "{:?}", text);
                let refutable = lexer.can_accept_again(accept.guard).unwrap();
                if first_tokens.iter().any(|first| *first != token) {
                    prop_assert!(refutable, "{:?} at {:?}", accept, prefix);
                }
                // Two matches of one terminal, of different threads, may be the token one for the other.
                let is_only = lexer.accepts(state).iter().filter(|other| other.terminal == accept.terminal).count() == 1;
                if refutable && is_only {
                    let by_bytes = path_to(&lexer, accept.guard, 1, |guard| lexer.refutes(guard));
                    let by_end = path_to(&lexer, accept.guard, 0, |guard| lexer.refutes_at_end(guard));
                    let (after, _) = by_bytes.or(by_end).unwrap();
                    let text = [prefix.as_slice(), &after].concat();
                    prop_assert_ne!(defined(&text), Ok(token.clone()), "{:?}", text);
                }
            }
            prop_assert!(prefix.is_empty() || !reachable.is_empty() || !accepted.is_empty());
            for byte in 0..=255 {
                let steps = lexer.step(state, byte).unwrap().is_some();
                prop_assert_eq!(lexer.next_bytes(state).unwrap().contains(byte), steps);
            }
        }
    }
}
