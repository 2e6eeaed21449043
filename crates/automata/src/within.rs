//! Restricts an expression to the words over a set of bytes.
//!
//! For grammars over a vocabulary that lacks some bytes. Works on the structure of the expression, so it
//! takes linear time, and returns an expression without other bytes unchanged. Only complements are
//! intersected.

use crate::{ByteSet, Node, Regex};

/// The byte before and after a description that stands for words to be filled in later (see
/// [`Regex::is_marked`]).
const MARK: u8 = 0xFF;

impl Regex {
    /// The words of this language whose bytes are all in `bytes`. A description between two bytes 0xFF is not
    /// text, and is kept.
    ///
    /// ```
    /// # mod maskwright { pub use maskwright_automata as grammar; }
    /// use maskwright::grammar::{ByteSet, Regex};
    /// let list = Regex::concat([Regex::byte(b'a'), Regex::words([b"b".as_slice(), b"\n"]).star()]);
    /// let within = list.within(&ByteSet::range(b'a', b'z'));
    /// assert_eq!(within, Regex::concat([Regex::byte(b'a'), Regex::byte(b'b').star()]));
    /// assert_eq!(list.within(&ByteSet::range(b'b', b'z')), Regex::empty());
    /// ```
    #[must_use]
    pub fn within(&self, bytes: &ByteSet) -> Regex {
        let all = |parts: &[Regex]| parts.iter().map(|part| part.within(bytes)).collect::<Vec<_>>();
        match self.node() {
            Node::Empty | Node::Epsilon => self.clone(),
            Node::Bytes(set) if set.is_subset(bytes) => self.clone(),
            Node::Bytes(set) => Regex::bytes(set.intersection(bytes)),
            Node::Literal(word) if is_spelled(word, bytes) => self.clone(),
            Node::Literal(_) => Regex::empty(),
            Node::Words(words) if words.iter().all(|word| is_spelled(word, bytes)) => self.clone(),
            Node::Words(words) => Regex::words(words.iter().filter(|word| is_spelled(word, bytes)).cloned()),
            Node::Concat(parts) => Regex::concat(all(parts)),
            Node::Union(parts) => Regex::union(all(parts)),
            Node::Intersection(parts) => Regex::intersection(all(parts)),
            // Not the complement of the restricted expression: that would add words.
            Node::Complement(_) if *bytes == ByteSet::FULL => self.clone(),
            Node::Complement(_) => Regex::intersection([self.clone(), Regex::bytes(*bytes).star()]),
            Node::Repeat { inner, min, max } => inner.within(bytes).repeat(*min, *max),
        }
    }

    /// Whether some word may contain one of `bytes`. `false` is always right; every complement gives `true`.
    pub fn may_read(&self, bytes: &ByteSet) -> bool {
        match self.node() {
            Node::Empty | Node::Epsilon => false,
            Node::Bytes(set) => set.intersects(bytes),
            Node::Literal(word) => word.iter().any(|&byte| bytes.contains(byte)),
            Node::Words(words) => words.iter().flatten().any(|&byte| bytes.contains(byte)),
            Node::Concat(parts) | Node::Union(parts) => parts.iter().any(|part| part.may_read(bytes)),
            Node::Intersection(parts) => parts.iter().all(|part| part.may_read(bytes)),
            Node::Complement(_) => true,
            Node::Repeat { inner, .. } => inner.may_read(bytes),
        }
    }

    /// The bytes outside of `bytes` without which no end of a word is left after some bytes, though other
    /// words are. Empty if that is not seen: complements are not looked into.
    #[must_use]
    pub fn dead_ends(&self, bytes: &ByteSet) -> ByteSet {
        let optional = |part: &Regex| match *part.within(bytes).node() {
            Node::Empty if part.begins_within(bytes) => part.written_out(&bytes.complement()),
            Node::Empty => ByteSet::EMPTY,
            _ => part.dead_ends(bytes),
        };
        match self.node() {
            Node::Words(words) => all_of(&mut words.iter().map(|word| optional(&Regex::literal(word)))),
            Node::Union(parts) => all_of(&mut parts.iter().map(optional)),
            Node::Concat(parts) | Node::Intersection(parts) => {
                all_of(&mut parts.iter().map(|part| part.dead_ends(bytes)))
            }
            Node::Repeat { inner, .. } => optional(inner),
            Node::Empty | Node::Epsilon | Node::Bytes(_) | Node::Literal(_) | Node::Complement(_) => {
                ByteSet::EMPTY
            }
        }
    }

    /// The bytes of `bytes` that literals, words and classes have, where those have no others.
    #[must_use]
    pub fn written_out(&self, bytes: &ByteSet) -> ByteSet {
        let of_word = |word: &[u8]| {
            let texts = word.split(|&byte| byte == MARK).step_by(2).flatten();
            texts.copied().filter(|&byte| bytes.contains(byte)).collect::<ByteSet>()
        };
        match self.node() {
            Node::Bytes(set) if set.is_subset(bytes) => *set,
            Node::Literal(word) => of_word(word),
            Node::Words(words) => all_of(&mut words.iter().map(|word| of_word(word))),
            Node::Concat(parts) | Node::Union(parts) | Node::Intersection(parts) => {
                all_of(&mut parts.iter().map(|part| part.written_out(bytes)))
            }
            Node::Repeat { inner, .. } => inner.written_out(bytes),
            Node::Empty | Node::Epsilon | Node::Bytes(_) | Node::Complement(_) => ByteSet::EMPTY,
        }
    }

    /// Whether some word is seen to begin with one of `bytes`.
    fn begins_within(&self, bytes: &ByteSet) -> bool {
        match self.node() {
            Node::Empty | Node::Epsilon | Node::Complement(_) => false,
            Node::Bytes(set) => set.intersects(bytes),
            Node::Literal(word) => word.first().is_some_and(|&byte| bytes.contains(byte)),
            Node::Words(words) => {
                words.iter().any(|word| word.first().is_some_and(|&byte| bytes.contains(byte)))
            }
            Node::Concat(parts) => {
                let n_first =
                    parts.iter().position(|part| !part.is_nullable()).map_or(parts.len(), |at| at + 1);
                parts[..n_first].iter().any(|part| part.begins_within(bytes))
            }
            Node::Union(parts) => parts.iter().any(|part| part.begins_within(bytes)),
            Node::Intersection(parts) => parts.iter().all(|part| part.begins_within(bytes)),
            Node::Repeat { inner, .. } => inner.begins_within(bytes),
        }
    }
}

fn all_of(sets: &mut dyn Iterator<Item = ByteSet>) -> ByteSet {
    sets.fold(ByteSet::EMPTY, |all, set| all.union(&set))
}

/// Whether the text in a word has only bytes of the set. Text and descriptions alternate.
fn is_spelled(word: &[u8], bytes: &ByteSet) -> bool {
    let mut texts = word.split(|&byte| byte == MARK).step_by(2);
    texts.all(|text| text.iter().all(|&byte| bytes.contains(byte)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::{Automaton, AutomatonLimits, Fuel};

    fn expressions() -> impl Strategy<Value = Regex> {
        let leaf = prop_oneof![
            prop::collection::vec(0u8..3, 0..3).prop_map(|word| Regex::literal(letters(&word))),
            prop::collection::vec(0u8..3, 1..3)
                .prop_map(|set| Regex::bytes(letters(&set).into_iter().collect())),
            prop::collection::vec(prop::collection::vec(0u8..3, 0..3), 1..4)
                .prop_map(|words| Regex::words(words.iter().map(|word| letters(word)))),
        ];
        leaf.prop_recursive(3, 16, 3, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 1..3).prop_map(Regex::concat),
                prop::collection::vec(inner.clone(), 1..3).prop_map(Regex::union),
                prop::collection::vec(inner.clone(), 1..3).prop_map(Regex::intersection),
                inner.clone().prop_map(|inner| inner.complement()),
                (inner, 0u32..3, 0u32..3).prop_map(|(inner, min, more)| inner.repeat(min, Some(min + more))),
            ]
        })
    }

    fn letters(word: &[u8]) -> Vec<u8> {
        word.iter().map(|letter| b"abc"[usize::from(*letter)]).collect()
    }

    fn matches(regex: &Regex, word: &[u8]) -> bool {
        let automaton = Automaton::new(regex, &AutomatonLimits::default(), &Fuel::unlimited()).unwrap();
        let mut state = automaton.start();
        for &byte in word {
            state = state.and_then(|state| automaton.step(state, byte).unwrap());
        }
        state.is_some_and(|state| automaton.is_accepting(state))
    }

    proptest! {
        /// A word is kept iff the bytes spell it, and no word contains a byte that `may_read` denies.
        #[test]
        fn words_are_left_that_bytes_spell(regex in expressions(), keep in prop::collection::vec(0u8..3, 0..3)) {
            let bytes: ByteSet = letters(&keep).into_iter().collect();
            let within = regex.within(&bytes);
            let mut words = vec![Vec::new()];
            for _ in 0..4 {
                let longer: Vec<Vec<u8>> = words
                    .iter()
                    .flat_map(|word| b"abc".map(|letter| [word.as_slice(), &[letter]].concat()))
                    .collect();
                words.extend(longer);
                words.sort();
                words.dedup();
            }
            for word in words {
                let is_spelled = word.iter().all(|&byte| bytes.contains(byte));
                prop_assert_eq!(matches(&within, &word), is_spelled && matches(&regex, &word), "{:?}", word);
                if matches(&regex, &word) && !regex.may_read(&bytes) {
                    prop_assert!(!word.iter().any(|&byte| bytes.contains(byte)));
                }
            }
        }
    }
}
