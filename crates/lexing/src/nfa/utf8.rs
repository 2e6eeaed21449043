//! Classes of characters as tries over the bytes of UTF-8.

use maskwright_automata::ByteSet;
use regex_syntax::utf8::Utf8Sequences;

/// A trie: of each node, disjoint sets of bytes and the node after them (`None`: the character ends).
/// The last node is the root. Equal nodes are one.
pub(super) struct Trie(pub(super) Vec<Vec<(ByteSet, Option<usize>)>>);

impl Trie {
    /// The trie of the characters in sorted, disjoint ranges. O(ranges · nodes of the trie).
    pub(super) fn new(ranges: &[(char, char)]) -> Trie {
        let mut sequences: Vec<Vec<(u8, u8)>> = ranges
            .iter()
            .flat_map(|&(low, high)| Utf8Sequences::new(low, high))
            .map(|sequence| sequence.as_slice().iter().map(|range| (range.start, range.end)).collect())
            .collect();
        sequences.sort_unstable();
        let mut trie = Trie(Vec::new());
        trie.group(&sequences, 0, true);
        trie
    }

    /// The node of `sequences`, which agree up to `depth`; `None` if they end there. Lead ranges are equal or
    /// disjoint, since `Utf8Sequences` splits a range where the continuation changes.
    fn group(&mut self, sequences: &[Vec<(u8, u8)>], depth: usize, is_root: bool) -> Option<usize> {
        let mut node: Vec<(ByteSet, Option<usize>)> = Vec::new();
        let mut rest = sequences;
        while let Some(first) = rest.first() {
            let &(low, high) = first.get(depth)?;
            let n_same = rest.iter().take_while(|sequence| sequence[depth] == (low, high)).count();
            let (same, other) = rest.split_at(n_same);
            let next = self.group(same, depth + 1, false);
            let set = ByteSet::range(low, high);
            match node.iter_mut().find(|(_, known)| *known == next) {
                Some((known, _)) => *known = known.union(&set),
                None => node.push((set, next)),
            }
            rest = other;
        }
        if !is_root && let Some(known) = self.0.iter().position(|known| *known == node) {
            return Some(known);
        }
        self.0.push(node);
        Some(self.0.len() - 1)
    }
}
