//! A second decision of words and prefixes, to convict Earley's: intersection with a finite automaton.
//!
//! Bar-Hillel, Perles and Shamir (1961): let the text of n bytes be an automaton with states 0 to n, and for
//! prefixes a loop on every byte at state n. Then each expression *is* a relation on those states, (p, q)
//! such that some word of it leads from p to q, and the relations of rules are the least solution of their
//! equations. No column, no prediction, no removal of unproductive parts. Only the automata of intersections
//! and complements are shared with the oracle; those are held against enumeration.

use maskwright_automata::{ByteSet, Node, Regex};
use maskwright_grammar::{Expr, ExprId, Grammar};
use rustc_hash::FxHashMap;

use crate::derivative::Dfa;

/// Row p holds bit q iff (p, q) is in the relation.
type Relation = Vec<u64>;

/// The second decision, for one grammar.
pub(crate) struct Referee<'a> {
    grammar: &'a Grammar,
    /// The automata of the intersections and complements in it.
    automata: FxHashMap<Regex, Dfa>,
}

impl<'a> Referee<'a> {
    pub(crate) fn new(grammar: &'a Grammar) -> Referee<'a> {
        let mut automata = FxHashMap::default();
        let mut stack: Vec<&Regex> = grammar.terminals().iter().collect();
        while let Some(regex) = stack.pop() {
            match regex.node() {
                Node::Intersection(_) | Node::Complement(_) => {
                    automata.entry(regex.clone()).or_insert_with(|| Dfa::new(regex));
                }
                Node::Concat(parts) | Node::Union(parts) => stack.extend(parts),
                Node::Repeat { inner, .. } => stack.push(inner),
                Node::Empty | Node::Epsilon | Node::Bytes(_) | Node::Literal(_) | Node::Words(_) => {}
            }
        }
        Referee { grammar, automata }
    }

    /// Whether `text` is in the language.
    pub(crate) fn is_word(&self, text: &[u8]) -> bool {
        decide(self.grammar, &Text { bytes: text, has_loop: false, automata: &self.automata })
    }

    /// Whether some word of the language starts with `text`.
    pub(crate) fn is_prefix(&self, text: &[u8]) -> bool {
        decide(self.grammar, &Text { bytes: text, has_loop: true, automata: &self.automata })
    }
}

struct Text<'a> {
    bytes: &'a [u8],
    has_loop: bool,
    automata: &'a FxHashMap<Regex, Dfa>,
}

fn decide(grammar: &Grammar, text: &Text<'_>) -> bool {
    assert!(text.bytes.len() < 64, "a row has 64 bits");
    let terminals: Vec<Relation> = grammar.terminals().iter().map(|regex| text.regex(regex)).collect();
    let pool = grammar.pool();
    let mut exprs = vec![text.nothing(); pool.len()];
    let mut rules = vec![text.nothing(); grammar.rules().len()];
    loop {
        let before = (exprs.clone(), rules.clone());
        for id in (0..pool.len()).map(ExprId::from_index) {
            exprs[id.index()] = match pool.get(id) {
                Expr::Never => text.nothing(),
                Expr::Epsilon => text.identity(),
                Expr::Terminal(terminal) => terminals[terminal.index()].clone(),
                Expr::Rule(rule) => rules[rule.index()].clone(),
                Expr::Seq(head, tail) => compose(&exprs[head.index()], &exprs[tail.index()]),
                Expr::Alt(parts) => {
                    parts.iter().fold(text.nothing(), |sum, part| union(&sum, &exprs[part.index()]))
                }
                &Expr::Repeat { inner, min, max } => text.repeat(&exprs[inner.index()], min, max),
                Expr::Shuffle(_) => unreachable!("lists in any order are unfolded before"),
            };
        }
        for rule in grammar.rules() {
            rules[rule.index()] = exprs[grammar.body(rule).index()].clone();
        }
        if (&exprs, &rules) == (&before.0, &before.1) {
            let n = text.bytes.len();
            return rules[grammar.start().index()][0] >> n & 1 != 0;
        }
    }
}

impl Text<'_> {
    fn nothing(&self) -> Relation {
        vec![0; self.bytes.len() + 1]
    }

    fn identity(&self) -> Relation {
        (0..=self.bytes.len()).map(|state| 1 << state).collect()
    }

    fn step(&self, set: &ByteSet) -> Relation {
        let n = self.bytes.len();
        let mut relation: Relation =
            (0..n).map(|state| if set.contains(self.bytes[state]) { 1 << (state + 1) } else { 0 }).collect();
        relation.push(if self.has_loop && !set.is_empty() { 1 << n } else { 0 });
        relation
    }

    fn word(&self, word: &[u8]) -> Relation {
        word.iter().fold(self.identity(), |done, &byte| compose(&done, &self.step(&ByteSet::singleton(byte))))
    }

    fn regex(&self, regex: &Regex) -> Relation {
        match regex.node() {
            Node::Empty => self.nothing(),
            Node::Epsilon => self.identity(),
            Node::Bytes(set) => self.step(set),
            Node::Literal(word) => self.word(word),
            Node::Words(words) => {
                words.iter().fold(self.nothing(), |sum, word| union(&sum, &self.word(word)))
            }
            Node::Concat(parts) => {
                parts.iter().fold(self.identity(), |done, part| compose(&done, &self.regex(part)))
            }
            Node::Union(parts) => {
                parts.iter().fold(self.nothing(), |sum, part| union(&sum, &self.regex(part)))
            }
            &Node::Repeat { ref inner, min, max } => self.repeat(&self.regex(inner), min, max),
            Node::Intersection(_) | Node::Complement(_) => self.automaton(&self.automata[regex]),
        }
    }

    fn automaton(&self, dfa: &Dfa) -> Relation {
        let n = self.bytes.len();
        // Whether some text leads from a state to one that accepts; without the loop, only the empty text.
        let mut can_accept = dfa.is_accepting.clone();
        for _ in 0..if self.has_loop { can_accept.len() } else { 0 } {
            for (state, successors) in dfa.successors.iter().enumerate() {
                can_accept[state] |= successors.iter().any(|&(_, next)| can_accept[next]);
            }
        }
        let mut relation = self.nothing();
        for (from, row) in relation.iter_mut().enumerate() {
            let mut state = 0;
            for to in from..=n {
                if if to == n { can_accept[state] } else { dfa.is_accepting[state] } {
                    *row |= 1 << to;
                }
                if to < n {
                    let is_next = |(bytes, _): &&(ByteSet, usize)| bytes.contains(self.bytes[to]);
                    state = dfa.successors[state].iter().find(is_next).expect("it is complete").1;
                }
            }
        }
        relation
    }

    fn repeat(&self, inner: &Relation, min: u32, max: Option<u32>) -> Relation {
        let mut copies = (0..min).fold(self.identity(), |done, _| compose(&done, inner));
        let mut sum = copies.clone();
        for _ in min..max.unwrap_or(u32::MAX) {
            copies = compose(&copies, inner);
            let next = union(&sum, &copies);
            if next == sum {
                break;
            }
            sum = next;
        }
        sum
    }
}

fn union(left: &Relation, right: &Relation) -> Relation {
    left.iter().zip(right).map(|(left, right)| left | right).collect()
}

fn compose(left: &Relation, right: &Relation) -> Relation {
    let through = |row: &u64| {
        let middles = (0..right.len()).filter(|middle| row >> middle & 1 != 0);
        middles.fold(0, |sum, middle| sum | right[middle])
    };
    left.iter().map(through).collect()
}

mod tests {
    use proptest::prelude::*;

    use crate::enumerate::strings;
    use crate::{ALPHABET, Oracle, arb_grammar};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn earley_agrees_with_intersection(grammar in arb_grammar()) {
            let oracle = Oracle::new(&grammar);
            let grammar = crate::unfold(&grammar);
            let referee = super::Referee::new(&grammar);
            let mut texts: Vec<Vec<u8>> = strings(2, ALPHABET).into_iter().collect();
            // Longer texts: those with a viable prefix, so that some are viable themselves.
            let mut n_seen = 0;
            while n_seen < texts.len().min(60) {
                let text = texts[n_seen].clone();
                n_seen += 1;
                prop_assert_eq!(oracle.is_word(&text), referee.is_word(&text), "{:?}", text);
                let is_prefix = referee.is_prefix(&text);
                prop_assert_eq!(oracle.is_prefix(&text), is_prefix, "{:?}", text);
                if is_prefix && (2..7).contains(&text.len()) {
                    texts.extend(ALPHABET.iter().map(|&byte| [&text[..], &[byte]].concat()));
                }
            }
        }
    }
}
