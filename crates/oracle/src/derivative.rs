//! Complete automata of regular expressions with intersection and complement, by derivatives.
//!
//! Brzozowski, "Derivatives of regular expressions" (1964): the states of the automaton of r are its
//! derivatives, of which there are finitely many once unions and intersections are treated as sets.
//! Concatenation is distributed over a union on its left (Antimirov 1996), which keeps them few. Nothing is
//! minimised or trimmed: dead states go with the unproductive nonterminals of the grammar built from this.
//! Exponential in the worst case, and recursive in the nesting of the expression: for small ones.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use maskwright_automata::{ByteSet, Node, Regex};

/// A regular expression over bytes; unlike `Regex`, its complement is relative to all byte strings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Term {
    Epsilon,
    Byte(ByteSet),
    Concat(Rc<Term>, Rc<Term>),
    /// The empty set is the language without words.
    AnyOf(BTreeSet<Rc<Term>>),
    AllOf(BTreeSet<Rc<Term>>),
    Not(Rc<Term>),
    Star(Rc<Term>),
}

/// A complete deterministic automaton: every state has a successor for each of the 256 bytes.
pub(crate) struct Dfa {
    /// By state, the start first: whether it accepts.
    pub(crate) is_accepting: Vec<bool>,
    /// By state: disjoint sets of bytes that together are all bytes, and the successor on each.
    pub(crate) successors: Vec<Vec<(ByteSet, usize)>>,
}

impl Dfa {
    pub(crate) fn new(regex: &Regex) -> Dfa {
        let start = translate(regex);
        let classes = byte_classes(&start);
        let mut numbers = BTreeMap::from([(start.clone(), 0)]);
        let mut terms = vec![start];
        let mut dfa = Dfa { is_accepting: Vec::new(), successors: Vec::new() };
        while let Some(term) = terms.get(dfa.is_accepting.len()).cloned() {
            dfa.is_accepting.push(term.is_nullable());
            let mut successors = Vec::new();
            for class in &classes {
                let byte = class.first().expect("a class has a byte");
                let next = derivative(&term, byte);
                let number = *numbers.entry(next.clone()).or_insert(terms.len());
                if number == terms.len() {
                    terms.push(next);
                }
                successors.push((*class, number));
            }
            dfa.successors.push(successors);
        }
        dfa
    }
}

impl Term {
    fn is_nullable(&self) -> bool {
        match self {
            Term::Epsilon | Term::Star(_) => true,
            Term::Byte(_) => false,
            Term::Concat(head, tail) => head.is_nullable() && tail.is_nullable(),
            Term::AnyOf(parts) => parts.iter().any(|part| part.is_nullable()),
            Term::AllOf(parts) => parts.iter().all(|part| part.is_nullable()),
            Term::Not(inner) => !inner.is_nullable(),
        }
    }

    fn is_never(&self) -> bool {
        matches!(self, Term::AnyOf(parts) if parts.is_empty())
    }

    fn is_everything(&self) -> bool {
        matches!(self, Term::Not(inner) if inner.is_never())
    }
}

fn never() -> Rc<Term> {
    Rc::new(Term::AnyOf(BTreeSet::new()))
}

fn byte(set: ByteSet) -> Rc<Term> {
    if set.is_empty() { never() } else { Rc::new(Term::Byte(set)) }
}

fn concat(head: &Rc<Term>, tail: &Rc<Term>) -> Rc<Term> {
    match &**head {
        _ if head.is_never() || tail.is_never() => never(),
        _ if **tail == Term::Epsilon => head.clone(),
        Term::Epsilon => tail.clone(),
        Term::Concat(first, second) => concat(first, &concat(second, tail)),
        Term::AnyOf(parts) => any_of(parts.iter().map(|part| concat(part, tail))),
        _ => Rc::new(Term::Concat(head.clone(), tail.clone())),
    }
}

fn any_of(parts: impl IntoIterator<Item = Rc<Term>>) -> Rc<Term> {
    let mut members = BTreeSet::new();
    for part in parts {
        match &*part {
            Term::AnyOf(inner) => members.extend(inner.iter().cloned()),
            _ if part.is_everything() => return part,
            _ => {
                members.insert(part);
            }
        }
    }
    if members.len() == 1 {
        return members.pop_first().expect("it has one");
    }
    Rc::new(Term::AnyOf(members))
}

fn all_of(parts: impl IntoIterator<Item = Rc<Term>>) -> Rc<Term> {
    let mut members = BTreeSet::new();
    for part in parts {
        match &*part {
            Term::AllOf(inner) => members.extend(inner.iter().cloned()),
            _ if part.is_never() => return part,
            _ if part.is_everything() => {}
            _ => {
                members.insert(part);
            }
        }
    }
    match members.len() {
        0 => not(&never()),
        1 => members.pop_first().expect("it has one"),
        _ => Rc::new(Term::AllOf(members)),
    }
}

fn not(inner: &Rc<Term>) -> Rc<Term> {
    match &**inner {
        Term::Not(inner) => inner.clone(),
        _ => Rc::new(Term::Not(inner.clone())),
    }
}

fn star(inner: &Rc<Term>) -> Rc<Term> {
    match &**inner {
        Term::Epsilon | Term::Star(_) => inner.clone(),
        _ if inner.is_never() => Rc::new(Term::Epsilon),
        _ => Rc::new(Term::Star(inner.clone())),
    }
}

fn derivative(term: &Rc<Term>, by: u8) -> Rc<Term> {
    match &**term {
        Term::Epsilon => never(),
        Term::Byte(set) => {
            if set.contains(by) {
                Rc::new(Term::Epsilon)
            } else {
                never()
            }
        }
        Term::Concat(head, tail) => {
            let in_head = concat(&derivative(head, by), tail);
            if head.is_nullable() { any_of([in_head, derivative(tail, by)]) } else { in_head }
        }
        Term::AnyOf(parts) => any_of(parts.iter().map(|part| derivative(part, by))),
        Term::AllOf(parts) => all_of(parts.iter().map(|part| derivative(part, by))),
        Term::Not(inner) => not(&derivative(inner, by)),
        Term::Star(inner) => concat(&derivative(inner, by), term),
    }
}

fn word(bytes: &[u8]) -> Rc<Term> {
    bytes.iter().rev().fold(Rc::new(Term::Epsilon), |tail, &next| {
        let head = byte(ByteSet::singleton(next));
        concat(&head, &tail)
    })
}

/// All valid UTF-8, by table 3-7 of the Unicode standard.
fn utf8_text() -> Rc<Term> {
    let sequences: [&[(u8, u8)]; 9] = [
        &[(0x00, 0x7F)],
        &[(0xC2, 0xDF), (0x80, 0xBF)],
        &[(0xE0, 0xE0), (0xA0, 0xBF), (0x80, 0xBF)],
        &[(0xE1, 0xEC), (0x80, 0xBF), (0x80, 0xBF)],
        &[(0xED, 0xED), (0x80, 0x9F), (0x80, 0xBF)],
        &[(0xEE, 0xEF), (0x80, 0xBF), (0x80, 0xBF)],
        &[(0xF0, 0xF0), (0x90, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
        &[(0xF1, 0xF3), (0x80, 0xBF), (0x80, 0xBF), (0x80, 0xBF)],
        &[(0xF4, 0xF4), (0x80, 0x8F), (0x80, 0xBF), (0x80, 0xBF)],
    ];
    star(&any_of(sequences.map(|sequence| {
        sequence.iter().rev().fold(Rc::new(Term::Epsilon), |tail, &(low, high)| {
            let head = byte(ByteSet::range(low, high));
            concat(&head, &tail)
        })
    })))
}

fn translate(regex: &Regex) -> Rc<Term> {
    match regex.node() {
        Node::Empty => never(),
        Node::Epsilon => Rc::new(Term::Epsilon),
        Node::Bytes(set) => byte(*set),
        Node::Literal(bytes) => word(bytes),
        Node::Words(words) => any_of(words.iter().map(|bytes| word(bytes))),
        Node::Concat(parts) => {
            parts.iter().rev().fold(Rc::new(Term::Epsilon), |tail, part| concat(&translate(part), &tail))
        }
        Node::Union(parts) => any_of(parts.iter().map(translate)),
        Node::Intersection(parts) => all_of(parts.iter().map(translate)),
        Node::Complement(inner) => all_of([utf8_text(), not(&translate(inner))]),
        &Node::Repeat { ref inner, min, max } => {
            let inner = translate(inner);
            // {m,n} is m copies, then up to n - m nested optional ones: (r (r (r)?)?)?
            let rest = match max {
                None => star(&inner),
                Some(max) => (min..max).fold(Rc::new(Term::Epsilon), |tail, _| {
                    any_of([Rc::new(Term::Epsilon), concat(&inner, &tail)])
                }),
            };
            (0..min).fold(rest, |tail, _| concat(&inner, &tail))
        }
    }
}

/// The coarsest partition of the bytes such that each set in `term` is a union of its members: bytes of one
/// class have the same derivatives.
fn byte_classes(term: &Rc<Term>) -> Vec<ByteSet> {
    let mut sets = BTreeSet::new();
    let mut stack = vec![term];
    while let Some(term) = stack.pop() {
        match &**term {
            Term::Epsilon => {}
            Term::Byte(set) => {
                sets.insert(*set);
            }
            Term::Concat(head, tail) => stack.extend([head, tail]),
            Term::AnyOf(parts) | Term::AllOf(parts) => stack.extend(parts),
            Term::Not(inner) | Term::Star(inner) => stack.push(inner),
        }
    }
    let mut classes: BTreeMap<Vec<bool>, ByteSet> = BTreeMap::new();
    for byte in 0..=255 {
        let signature = sets.iter().map(|set| set.contains(byte)).collect();
        classes.entry(signature).or_default().insert(byte);
    }
    classes.into_values().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::enumerate::{enumerate_words, strings};
    use crate::{ALPHABET, arb_regex};

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The automaton of any expression, not only of those that need one, has its enumerated words.
        #[test]
        fn automata_agree_with_enumeration(regex in arb_regex()) {
            for regex in [regex.clone(), regex.complement()] {
                let dfa = Dfa::new(&regex);
                let words = enumerate_words(&regex, 4, ALPHABET);
                for text in strings(4, ALPHABET) {
                    prop_assert_eq!(accepts(&dfa, &text), words.contains(&text), "{:?} {:?}", regex, text);
                }
            }
        }
    }

    fn accepts(dfa: &Dfa, text: &[u8]) -> bool {
        let end = text.iter().fold(0, |state, byte| {
            let (_, next) = dfa.successors[state]
                .iter()
                .find(|(bytes, _)| bytes.contains(*byte))
                .expect("the automaton is complete");
            *next
        });
        dfa.is_accepting[end]
    }

    /// The standard library decides what valid UTF-8 is, around every boundary of every byte position.
    #[test]
    fn the_text_automaton_is_utf8() {
        let dfa = Dfa::new(&Regex::empty().complement());
        let written = Dfa::new(&Regex::literal("zz").complement());
        let edges = [
            0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED,
            0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
        ];
        for text in strings(3, &edges) {
            let is_text = std::str::from_utf8(&text).is_ok();
            assert_eq!(accepts(&dfa, &text), is_text, "{text:x?}");
            assert_eq!(accepts(&written, &text), is_text, "{text:x?}");
            for last in edges.iter().filter(|_| text.len() == 3) {
                let text = [&text[..], &[*last]].concat();
                assert_eq!(accepts(&written, &text), std::str::from_utf8(&text).is_ok(), "{text:x?}");
            }
        }
    }

    #[test]
    fn there_are_few_derivatives() {
        let ab = Regex::bytes(ByteSet::range(b'a', b'b'));
        // The third byte from the end is an a: the least automaton has 2^3 states.
        let third = Regex::concat([ab.star(), Regex::byte(b'a'), ab.repeat(2, Some(2))]);
        assert!(Dfa::new(&third).is_accepting.len() <= 9);
        assert!(Dfa::new(&third.complement()).is_accepting.len() <= 30);
    }
}
