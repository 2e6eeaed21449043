//! Two naive references for regular languages over a small alphabet, written from the definitions:
//! [`language`] lists the words up to a length, and [`Dfa`] is the textbook construction (products, subsets,
//! Moore's minimisation) that knows nothing of derivatives.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use maskwright_automata::{ByteSet, Node, Regex};
use proptest::prelude::*;

/// Two letters, the two bytes of `é`, and one byte that is in no text.
pub(crate) const ALPHABET: [u8; 5] = [b'a', b'b', 0xA9, 0xC3, 0xFF];

/// All words over [`ALPHABET`] of at most `max_length` bytes.
pub(crate) fn all_words(max_length: usize) -> BTreeSet<Vec<u8>> {
    let mut words = BTreeSet::from([Vec::new()]);
    let mut last = words.clone();
    for _ in 0..max_length {
        last =
            last.iter().flat_map(|word| ALPHABET.map(|byte| [word.as_slice(), &[byte]].concat())).collect();
        words.extend(last.iter().cloned());
    }
    words
}

/// The words of `regex` over [`ALPHABET`] of at most `max_length` bytes.
pub(crate) fn language(regex: &Regex, max_length: usize) -> BTreeSet<Vec<u8>> {
    let concat = |a: &BTreeSet<Vec<u8>>, b: &BTreeSet<Vec<u8>>| -> BTreeSet<Vec<u8>> {
        a.iter()
            .flat_map(|u| b.iter().map(move |v| [u.as_slice(), v].concat()))
            .filter(|word| word.len() <= max_length)
            .collect()
    };
    let parts = |parts: &[Regex]| -> Vec<BTreeSet<Vec<u8>>> {
        parts.iter().map(|part| language(part, max_length)).collect()
    };
    match regex.node() {
        Node::Empty => BTreeSet::new(),
        Node::Epsilon => BTreeSet::from([Vec::new()]),
        Node::Bytes(set) => {
            ALPHABET.iter().filter(|&&byte| set.contains(byte)).map(|&byte| vec![byte]).collect()
        }
        Node::Literal(word) => BTreeSet::from([word.to_vec()]),
        Node::Words(words) => words.iter().map(|word| word.to_vec()).collect(),
        Node::Concat(list) => {
            parts(list).iter().fold(BTreeSet::from([Vec::new()]), |all, part| concat(&all, part))
        }
        Node::Union(list) => parts(list).into_iter().flatten().collect(),
        Node::Intersection(list) => parts(list)
            .into_iter()
            .reduce(|a, b| a.intersection(&b).cloned().collect())
            .expect("an intersection has members"),
        Node::Complement(inner) => {
            let inner = language(inner, max_length);
            all_words(max_length)
                .into_iter()
                .filter(|word| std::str::from_utf8(word).is_ok() && !inner.contains(word))
                .collect()
        }
        Node::Repeat { inner, min, max } => {
            let inner = language(inner, max_length);
            let max = max.unwrap_or(min + max_length as u32);
            let mut power = BTreeSet::from([Vec::new()]);
            let mut all = BTreeSet::new();
            for copies in 0..=max {
                if copies >= *min {
                    all.extend(power.iter().cloned());
                }
                power = concat(&power, &inner);
            }
            all
        }
    }
    .into_iter()
    .filter(|word| word.len() <= max_length)
    .collect()
}

/// The part of `regex` whose words have bytes of [`ALPHABET`] only.
pub(crate) fn over_alphabet(regex: &Regex) -> Regex {
    fn is_over_alphabet(regex: &Regex) -> bool {
        match regex.node() {
            Node::Bytes(set) => set.iter().all(|byte| ALPHABET.contains(&byte)),
            Node::Concat(parts) | Node::Union(parts) => parts.iter().all(is_over_alphabet),
            Node::Intersection(parts) => parts.iter().any(is_over_alphabet),
            Node::Complement(_) => false,
            Node::Repeat { inner, .. } => is_over_alphabet(inner),
            Node::Empty | Node::Epsilon | Node::Literal(_) | Node::Words(_) => true,
        }
    }
    match is_over_alphabet(regex) {
        true => regex.clone(),
        false => Regex::intersection([regex.clone(), Regex::bytes(ALPHABET.into_iter().collect()).star()]),
    }
}

/// A complete minimal automaton over [`ALPHABET`]; state 0 is the start.
#[derive(Clone, Debug)]
pub(crate) struct Dfa {
    next: Vec<[usize; ALPHABET.len()]>,
    accepting: Vec<bool>,
}

/// More states than this are not worth a test case.
const MAX_STATES: usize = 300;

impl Dfa {
    /// The automaton of `regex`; `None` if it grows too large.
    pub(crate) fn new(regex: &Regex) -> Option<Dfa> {
        match regex.node() {
            Node::Empty => Some(Dfa { next: vec![[0; 5]], accepting: vec![false] }),
            Node::Epsilon => Some(Dfa::word(&[])),
            Node::Bytes(set) => Dfa::any_of(
                ALPHABET.iter().filter(|&&byte| set.contains(byte)).map(|&byte| Dfa::word(&[byte])).collect(),
            ),
            Node::Literal(word) => Some(Dfa::word(word)),
            Node::Words(words) => Dfa::any_of(words.iter().map(|word| Dfa::word(word)).collect()),
            Node::Concat(parts) => {
                parts.iter().try_fold(Dfa::word(&[]), |all, part| all.then(&Dfa::new(part)?))
            }
            Node::Union(parts) => Dfa::any_of(parts.iter().map(Dfa::new).collect::<Option<_>>()?),
            Node::Intersection(parts) => {
                let mut parts = parts.iter().map(Dfa::new).collect::<Option<Vec<_>>>()?.into_iter();
                let first = parts.next().expect("an intersection has members");
                parts.try_fold(first, |all, part| all.product(&part, |a, b| a && b))
            }
            Node::Complement(inner) => Dfa::text().product(&Dfa::new(inner)?, |text, inner| text && !inner),
            Node::Repeat { inner, min, max } => {
                let inner = Dfa::new(inner)?;
                let mut all = Dfa::word(&[]);
                for _ in 0..*min {
                    all = all.then(&inner)?;
                }
                match max {
                    None => all.then(&inner.star()?),
                    Some(max) => {
                        let optional = Dfa::any_of(vec![Dfa::word(&[]), inner])?;
                        (*min..*max).try_fold(all, |all, _| all.then(&optional))
                    }
                }
            }
        }
    }

    pub(crate) fn step(&self, state: usize, byte: u8) -> usize {
        let symbol = ALPHABET.iter().position(|&known| known == byte).expect("a byte of the alphabet");
        self.next[state][symbol]
    }

    pub(crate) fn is_accepting(&self, state: usize) -> bool {
        self.accepting[state]
    }

    /// The shortest, then least, word from `state`: breadth-first, in byte order.
    pub(crate) fn shortest_word(&self, state: usize) -> Option<Vec<u8>> {
        let mut seen = BTreeSet::from([state]);
        let mut queue = VecDeque::from([(state, Vec::new())]);
        while let Some((state, word)) = queue.pop_front() {
            if self.accepting[state] {
                return Some(word);
            }
            for (symbol, &next) in self.next[state].iter().enumerate() {
                if seen.insert(next) {
                    queue.push_back((next, [word.as_slice(), &[ALPHABET[symbol]]].concat()));
                }
            }
        }
        None
    }

    pub(crate) fn is_alive(&self, state: usize) -> bool {
        self.shortest_word(state).is_some()
    }

    fn word(word: &[u8]) -> Dfa {
        let dead = word.len() + 1;
        let mut dfa = Dfa { next: vec![[dead; 5]; dead + 1], accepting: vec![false; dead + 1] };
        dfa.accepting[word.len()] = true;
        for (state, byte) in word.iter().enumerate() {
            if let Some(symbol) = ALPHABET.iter().position(|known| known == byte) {
                dfa.next[state][symbol] = state + 1;
            }
        }
        dfa
    }

    /// Valid UTF-8: a, b and é.
    fn text() -> Dfa {
        Dfa { next: vec![[0, 0, 2, 1, 2], [2, 2, 0, 2, 2], [2; 5]], accepting: vec![true, false, false] }
    }

    fn any_of(parts: Vec<Dfa>) -> Option<Dfa> {
        let nothing = Dfa { next: vec![[0; 5]], accepting: vec![false] };
        parts.iter().try_fold(nothing, |all, part| all.product(part, |a, b| a || b))
    }

    fn product(&self, other: &Dfa, accepts: impl Fn(bool, bool) -> bool) -> Option<Dfa> {
        Dfa::explore(
            (0, 0),
            |&(a, b), symbol| (self.next[a][symbol], other.next[b][symbol]),
            |&(a, b)| accepts(self.accepting[a], other.accepting[b]),
        )
    }

    fn then(&self, other: &Dfa) -> Option<Dfa> {
        let enter = |a: usize, mut rest: BTreeSet<usize>| {
            if self.accepting[a] {
                rest.insert(0);
            }
            (a, rest)
        };
        Dfa::explore(
            enter(0, BTreeSet::new()),
            |(a, rest), symbol| {
                enter(self.next[*a][symbol], rest.iter().map(|&b| other.next[b][symbol]).collect())
            },
            |(_, rest)| rest.iter().any(|&b| other.accepting[b]),
        )
    }

    fn star(&self) -> Option<Dfa> {
        // A set of states of the copy being read; `None` is a fresh start, which accepts.
        Dfa::explore(
            None,
            |states: &Option<BTreeSet<usize>>, symbol| {
                let fresh = BTreeSet::from([0]);
                let states = states.as_ref().unwrap_or(&fresh);
                let mut next: BTreeSet<usize> = states.iter().map(|&a| self.next[a][symbol]).collect();
                if next.iter().any(|&a| self.accepting[a]) {
                    next.insert(0);
                }
                Some(next)
            },
            |states| states.as_ref().is_none_or(|states| states.iter().any(|&a| self.accepting[a])),
        )
    }

    fn explore<S: Ord + Clone>(
        start: S,
        step: impl Fn(&S, usize) -> S,
        accepts: impl Fn(&S) -> bool,
    ) -> Option<Dfa> {
        let mut numbers = BTreeMap::from([(start.clone(), 0)]);
        let mut states = vec![start];
        let mut dfa = Dfa { next: Vec::new(), accepting: Vec::new() };
        while dfa.next.len() < states.len() {
            let state = states[dfa.next.len()].clone();
            dfa.accepting.push(accepts(&state));
            dfa.next.push(std::array::from_fn(|symbol| {
                let next = step(&state, symbol);
                *numbers.entry(next.clone()).or_insert_with(|| {
                    states.push(next);
                    states.len() - 1
                })
            }));
            if states.len() > 50 * MAX_STATES {
                return None;
            }
        }
        let dfa = dfa.minimal();
        (dfa.next.len() <= MAX_STATES).then_some(dfa)
    }

    /// Moore's algorithm.
    fn minimal(&self) -> Dfa {
        let mut class: Vec<usize> = self.accepting.iter().map(|&accepts| usize::from(accepts)).collect();
        let mut n_classes = 0;
        loop {
            let mut numbers = BTreeMap::new();
            let finer: Vec<usize> = (0..class.len())
                .map(|state| {
                    let fresh = numbers.len();
                    *numbers.entry((class[state], self.next[state].map(|next| class[next]))).or_insert(fresh)
                })
                .collect();
            class = finer;
            if numbers.len() == n_classes {
                break;
            }
            n_classes = numbers.len();
        }
        // Classes are numbered by first occurrence, so the start is 0.
        let mut dfa = Dfa { next: vec![[0; 5]; n_classes], accepting: vec![false; n_classes] };
        for (state, &number) in class.iter().enumerate() {
            dfa.next[number] = self.next[state].map(|next| class[next]);
            dfa.accepting[number] = self.accepting[state];
        }
        dfa
    }
}

/// Random expressions of every kind over [`ALPHABET`].
pub(crate) fn any_regex() -> impl Strategy<Value = Regex> {
    let byte =
        || prop_oneof![4 => Just(b'a'), 4 => Just(b'b'), 2 => Just(0xC3), 2 => Just(0xA9), 1 => Just(0xFF)];
    let word = move || {
        prop_oneof![
            3 => proptest::collection::vec(prop_oneof![Just("a"), Just("b"), Just("é")], 0..4)
                .prop_map(|parts| parts.concat().into_bytes()),
            1 => proptest::collection::vec(byte(), 0..4),
        ]
    };
    let leaf = prop_oneof![
        1 => Just(Regex::epsilon()),
        1 => Just(Regex::empty()),
        2 => Just(Regex::any_char()),
        2 => Just(Regex::char_class(&[('a', 'b'), ('é', 'é')])),
        1 => Just(Regex::any_text()),
        6 => proptest::collection::vec(byte(), 1..4)
            .prop_map(|bytes| Regex::bytes(bytes.into_iter().collect::<ByteSet>())),
        3 => word().prop_map(Regex::literal),
        3 => proptest::collection::vec(word(), 1..5).prop_map(Regex::words),
    ];
    leaf.prop_recursive(5, 24, 3, |inner| {
        let several = || proptest::collection::vec(inner.clone(), 2..4);
        prop_oneof![
            4 => several().prop_map(Regex::concat),
            3 => several().prop_map(Regex::union),
            2 => several().prop_map(Regex::intersection),
            1 => inner.clone().prop_map(|inner| inner.complement()),
            1 => (inner.clone(), inner.clone()).prop_map(|(a, b)| a.difference(&b)),
            4 => (inner.clone(), 0u32..4, proptest::option::of(0u32..4))
                .prop_map(|(inner, min, more)| inner.repeat(min, more.map(|more| min + more))),
        ]
    })
}
