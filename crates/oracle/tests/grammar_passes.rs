//! The passes of `maskwright-grammar` leave the language as it was.

use std::collections::{BTreeMap, BTreeSet};

use maskwright_automata::Fuel;
use maskwright_grammar::{
    ExprId, Grammar, Network, ReducedGrammar, RuleId, Symbol, TerminalFacts, TerminalId, collapse_regular,
    reduce,
};
use maskwright_oracle::{ALPHABET, Oracle, arb_grammar, enumerate_words};
use proptest::prelude::*;

/// Whether both languages have the same prefixes and words up to `max_len` bytes, and if not, a text that
/// tells them apart. Every byte that either can read is followed, not only those of the alphabet.
fn difference(left: &Oracle, right: &Oracle, max_len: usize) -> Option<Vec<u8>> {
    let mut texts = vec![Vec::new()];
    while let Some(text) = texts.pop() {
        let bytes = left.next_bytes(&text);
        if left.is_prefix(&text) != right.is_prefix(&text)
            || left.is_word(&text) != right.is_word(&text)
            || bytes != right.next_bytes(&text)
        {
            return Some(text);
        }
        // Bytes outside the alphabet differ from one another little: the first of them stands for all.
        let is_known = |byte: &u8| ALPHABET.contains(byte);
        let other = bytes.iter().find(|byte| !is_known(byte));
        let next = bytes.iter().filter(is_known).chain(other).filter(|_| text.len() < max_len);
        texts.extend(next.map(|byte| [&text[..], &[byte]].concat()));
    }
    None
}

/// What `reduce` asks of its caller, by the oracle.
fn facts(grammar: &Grammar) -> impl Fn(TerminalId) -> TerminalFacts + use<> {
    let facts: Vec<TerminalFacts> = grammar
        .terminals()
        .iter()
        .map(|regex| {
            let oracle = Oracle::new(&Grammar::from_regex(regex.clone()));
            TerminalFacts {
                is_nullable: oracle.is_word(b""),
                has_proper_words: !oracle.next_bytes(b"").is_empty(),
            }
        })
        .collect();
    move |terminal| facts[terminal.index()]
}

/// The words of a network by its convention: a move reads at least one byte, then its next state goes on.
struct NetworkWords {
    network: Network,
    max_len: usize,
    terminals: Vec<BTreeSet<Vec<u8>>>,
    known: BTreeMap<(ExprId, usize), BTreeSet<Vec<u8>>>,
}

impl NetworkWords {
    fn new(network: Network, max_len: usize) -> NetworkWords {
        let of = |regex| enumerate_words(regex, max_len, ALPHABET);
        let terminals = network.terminals().iter().map(of).collect();
        NetworkWords { network, max_len, terminals, known: BTreeMap::new() }
    }

    fn of_start(&mut self) -> BTreeSet<Vec<u8>> {
        let start = self.network.start();
        let mut words = self.of_state(self.network.body(start), self.max_len);
        // The body of a rule stands for its words of at least one byte only.
        words.remove(&Vec::new());
        words.extend(self.network.is_rule_nullable(start).then(Vec::new));
        words
    }

    /// The words of at most `max_len` bytes read from `state` on. Following moves into rules ends because
    /// the ranks of rules rise.
    fn of_state(&mut self, state: ExprId, max_len: usize) -> BTreeSet<Vec<u8>> {
        if let Some(words) = self.known.get(&(state, max_len)) {
            return words.clone();
        }
        let mut words = BTreeSet::new();
        if self.network.is_nullable(state) {
            words.insert(Vec::new());
        }
        for index in self.network.moves(state) {
            let way = self.network.move_at(index);
            let heads = match way.symbol {
                Symbol::Terminal(terminal) => self.terminals[terminal.index()].clone(),
                Symbol::Rule(rule) => self.of_state(self.network.body(rule), max_len),
            };
            for head in heads.iter().filter(|head| !head.is_empty() && head.len() <= max_len) {
                for tail in self.of_state(way.next, max_len - head.len()) {
                    words.insert([&head[..], &tail].concat());
                }
            }
        }
        self.known.insert((state, max_len), words.clone());
        words
    }

    /// The rules that a rule's first moves go into have higher ranks, so that following them ends.
    fn ranks_rise(&mut self) -> bool {
        (0..self.network.n_rules()).map(RuleId::from_index).all(|rule| {
            self.network.moves(self.network.body(rule)).all(|index| {
                match self.network.move_at(index).symbol {
                    Symbol::Rule(callee) => self.network.rank(callee) > self.network.rank(rule),
                    Symbol::Terminal(_) => true,
                }
            })
        })
    }
}

fn reduced(grammar: &Grammar) -> Option<ReducedGrammar> {
    match reduce(grammar.clone(), facts(grammar), &Fuel::unlimited()) {
        Ok(reduced) => Some(reduced),
        Err(error) => {
            assert!(error.is_unproductive(), "{error}");
            None
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn collapse_keeps_the_language(grammar in arb_grammar()) {
        let collapsed = collapse_regular(&grammar, &Fuel::unlimited()).expect("fuel is unlimited");
        let told_apart = difference(&Oracle::new(&grammar), &Oracle::new(&collapsed), 4);
        prop_assert_eq!(told_apart, None, "\n{}\ncollapsed:\n{}", grammar, collapsed);
    }

    /// A grammar is refused iff it has no word, and ε is in the language iff the start rule says so.
    #[test]
    fn reduce_refuses_empty_languages(grammar in arb_grammar()) {
        let oracle = Oracle::new(&grammar);
        let reduced = reduced(&grammar);
        prop_assert_eq!(reduced.is_some(), oracle.is_prefix(b""), "\n{}", grammar);
        if let Some(reduced) = reduced {
            prop_assert_eq!(reduced.is_nullable(grammar.start()), oracle.is_word(b""), "\n{}", grammar);
        }
    }

    /// The network, left recursion turned into repetition, has the grammar's words; collapsed first or not.
    #[test]
    fn the_network_keeps_the_language(grammar in arb_grammar()) {
        let words = Oracle::new(&grammar).words_up_to(4, ALPHABET);
        let collapsed = collapse_regular(&grammar, &Fuel::unlimited()).expect("fuel is unlimited");
        for (name, grammar) in [("as written", &grammar), ("collapsed", &collapsed)] {
            let Some(reduced) = reduced(grammar) else { continue };
            let network = Network::new(reduced, &Fuel::unlimited()).expect("fuel is unlimited");
            let mut network = NetworkWords::new(network, 4);
            prop_assert!(network.ranks_rise(), "{}\n{}", name, grammar);
            prop_assert_eq!(&network.of_start(), &words, "{}\n{}", name, grammar);
        }
    }
}
