//! The token trie, laid out for walking.
//!
//! Siblings lie side by side, sorted by their byte, and a node's children follow closely, so that a walk
//! reads memory nearly in order. The tokens of a whole subtree are one slice, in preorder.
//!
//! Rejected: a first-child/next-sibling array in preorder (one byte and a skip per node) walks a little
//! faster where everything is visited, but finding one child means scanning its siblings' subtrees, and most
//! of our walks follow a literal.

use std::ops::Range;
use std::sync::OnceLock;

use maskwright_automata::ByteSet;

use crate::TokenId;
use crate::text_below::TextBelow;

/// A node of a [`Trie`]: a prefix of some token.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TrieNodeId(u32);

impl TrieNodeId {
    /// The node as an index, below [`Trie::n_nodes`].
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Node {
    first_child: u32,
    n_children: u32,
    /// Where this node's own tokens begin in `tokens`; the subtree's tokens begin here as well.
    tokens_start: u32,
    tokens_end: u32,
    subtree_tokens_end: u32,
    subtree_nodes: u32,
}

/// A trie of byte strings with token ids at its nodes; several tokens may have the same bytes.
///
/// ```
/// use maskwright_vocabulary::{TokenId, Trie};
/// let trie = Trie::new([(&b"a"[..], TokenId(0)), (b"ab", TokenId(1))].into_iter());
/// let a = trie.child(Trie::ROOT, b'a').unwrap();
/// assert_eq!(trie.tokens(a), &[TokenId(0)]);
/// assert_eq!(trie.subtree_tokens(a), &[TokenId(0), TokenId(1)]);
/// ```
#[derive(Clone, Debug)]
pub struct Trie {
    nodes: Vec<Node>,
    labels: Vec<u8>,
    tokens: Vec<TokenId>,
    /// The bytes below each node, itself left out.
    bytes_below: Vec<ByteSet>,
    heights: Vec<u8>,
    /// Made when first asked for.
    text_below: OnceLock<TextBelow>,
}

impl Trie {
    /// The empty prefix.
    pub const ROOT: TrieNodeId = TrieNodeId(0);

    /// The trie of the given strings. Takes O(n log n) for n bytes in all.
    pub fn new<'a>(strings: impl Iterator<Item = (&'a [u8], TokenId)>) -> Trie {
        let mut strings: Vec<(&[u8], TokenId)> = strings.collect();
        strings.sort_unstable();
        let mut trie = Trie {
            nodes: vec![Node::default()],
            labels: vec![0],
            tokens: strings.iter().map(|&(_, token)| token).collect(),
            bytes_below: Vec::new(),
            heights: Vec::new(),
            text_below: OnceLock::new(),
        };
        // (node, its strings, their common length); children are pushed in reverse, so that the first is
        // laid out next.
        let mut stack = vec![(0usize, 0..strings.len(), 0usize)];
        while let Some((index, range, depth)) = stack.pop() {
            let mut position = range.start;
            while position < range.end && strings[position].0.len() == depth {
                position += 1;
            }
            let first_child = trie.nodes.len();
            let own_end = position;
            while position < range.end {
                let byte = strings[position].0[depth];
                let n_same = strings[position..range.end].partition_point(|string| string.0[depth] == byte);
                stack.push((trie.nodes.len(), position..position + n_same, depth + 1));
                trie.nodes.push(Node::default());
                trie.labels.push(byte);
                position += n_same;
            }
            let n_children = trie.nodes.len() - first_child;
            let n_stacked = stack.len();
            stack[n_stacked - n_children..].reverse();
            trie.nodes[index] = Node {
                first_child: first_child as u32,
                n_children: n_children as u32,
                tokens_start: range.start as u32,
                tokens_end: own_end as u32,
                subtree_tokens_end: range.end as u32,
                subtree_nodes: 1,
            };
        }
        // Children have larger indices than their parent.
        trie.bytes_below = vec![ByteSet::EMPTY; trie.nodes.len()];
        trie.heights = vec![0; trie.nodes.len()];
        for index in (0..trie.nodes.len()).rev() {
            let node = trie.nodes[index];
            let mut bytes = ByteSet::EMPTY;
            let (mut n_nodes, mut height) = (1, 0);
            for child in node.first_child as usize..(node.first_child + node.n_children) as usize {
                bytes = bytes.union(&trie.bytes_below[child]);
                bytes.insert(trie.labels[child]);
                n_nodes += trie.nodes[child].subtree_nodes;
                height = height.max(trie.heights[child].saturating_add(1));
            }
            trie.nodes[index].subtree_nodes = n_nodes;
            trie.bytes_below[index] = bytes;
            trie.heights[index] = height;
        }
        trie
    }

    /// How many nodes there are, the root included.
    pub fn n_nodes(&self) -> usize {
        self.nodes.len()
    }

    /// The node of `node`'s prefix followed by `byte`.
    #[inline]
    pub fn child(&self, node: TrieNodeId, byte: u8) -> Option<TrieNodeId> {
        let Node { first_child, n_children, .. } = self.nodes[node.index()];
        let first = first_child as usize;
        let labels = &self.labels[first..first + n_children as usize];
        let position = match labels.len() {
            0 => return None,
            256 => usize::from(byte),
            1..=8 => labels.iter().position(|&label| label == byte)?,
            _ => labels.binary_search(&byte).ok()?,
        };
        Some(TrieNodeId(first_child + position as u32))
    }

    /// The children with their bytes, in ascending order.
    #[inline]
    pub fn children(&self, node: TrieNodeId) -> impl ExactSizeIterator<Item = (u8, TrieNodeId)> + '_ {
        let Node { first_child, n_children, .. } = self.nodes[node.index()];
        let first = first_child as usize;
        self.labels[first..first + n_children as usize]
            .iter()
            .enumerate()
            .map(move |(i, &label)| (label, TrieNodeId(first_child + i as u32)))
    }

    /// How many children `node` has.
    #[inline]
    pub fn n_children(&self, node: TrieNodeId) -> usize {
        self.nodes[node.index()].n_children as usize
    }

    /// The tokens whose bytes are exactly this node's prefix.
    #[inline]
    pub fn tokens(&self, node: TrieNodeId) -> &[TokenId] {
        let node = self.nodes[node.index()];
        &self.tokens[node.tokens_start as usize..node.tokens_end as usize]
    }

    /// The tokens whose bytes begin with this node's prefix, in the order of their bytes.
    #[inline]
    pub fn subtree_tokens(&self, node: TrieNodeId) -> &[TokenId] {
        let node = self.nodes[node.index()];
        &self.tokens[node.tokens_start as usize..node.subtree_tokens_end as usize]
    }

    /// Where [`tokens`](Trie::tokens) lie among the tokens of the whole trie, in the order of their bytes.
    #[inline]
    pub fn token_places(&self, node: TrieNodeId) -> Range<u32> {
        let node = self.nodes[node.index()];
        node.tokens_start..node.tokens_end
    }

    /// Where [`subtree_tokens`](Trie::subtree_tokens) lie among the tokens of the whole trie, in the order of
    /// their bytes.
    #[inline]
    pub fn subtree_places(&self, node: TrieNodeId) -> Range<u32> {
        let node = self.nodes[node.index()];
        node.tokens_start..node.subtree_tokens_end
    }

    /// How many nodes begin with this node's prefix, itself included.
    #[inline]
    pub fn subtree_nodes(&self, node: TrieNodeId) -> usize {
        self.nodes[node.index()].subtree_nodes as usize
    }

    /// The bytes that occur in the strings below this node's prefix, behind the prefix.
    #[inline]
    pub fn bytes_below(&self, node: TrieNodeId) -> &ByteSet {
        &self.bytes_below[node.index()]
    }

    /// How many bytes the longest string below this node's prefix has behind the prefix; `None` if they are
    /// many.
    #[inline]
    pub fn height(&self, node: TrieNodeId) -> Option<usize> {
        match self.heights[node.index()] {
            u8::MAX => None,
            height => Some(usize::from(height)),
        }
    }

    /// Whether everything from `node` on (its own byte included) is UTF-8 text that begins with a whole
    /// character there; the last character of a string may be cut off.
    #[inline]
    pub fn is_text_from(&self, node: TrieNodeId) -> bool {
        let children = |node: usize| {
            let Node { first_child, n_children, .. } = self.nodes[node];
            first_child as usize..(first_child + n_children) as usize
        };
        self.text_below.get_or_init(|| TextBelow::new(&self.labels, children)).is_text_from(node.index())
    }

    /// Approximate memory, in bytes.
    pub fn memory_usage(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + size_of::<ByteSet>() + 2)
            + self.tokens.len() * size_of::<TokenId>()
            + self.text_below.get().map_or(0, TextBelow::memory_usage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every string is found under its path, and the subtree slices hold what begins with the prefix.
    #[test]
    fn holds_exactly_its_strings() {
        let strings: Vec<Vec<u8>> = (0u32..500)
            .map(|i| i.wrapping_mul(2_654_435_761).to_be_bytes()[..(i as usize % 4)].to_vec())
            .collect();
        let trie =
            Trie::new(strings.iter().enumerate().map(|(i, string)| (string.as_slice(), TokenId(i as u32))));
        for (i, string) in strings.iter().enumerate() {
            let node = string.iter().try_fold(Trie::ROOT, |node, &byte| trie.child(node, byte)).unwrap();
            assert!(trie.tokens(node).contains(&TokenId(i as u32)));
            let mut below: Vec<TokenId> = trie.subtree_tokens(node).to_vec();
            below.sort_unstable();
            let expected: Vec<TokenId> = (0..strings.len())
                .filter(|&other| strings[other].starts_with(string))
                .map(|other| TokenId(other as u32))
                .collect();
            assert_eq!(below, expected);
            let all = trie.subtree_tokens(Trie::ROOT);
            let at = |places: Range<u32>| &all[places.start as usize..places.end as usize];
            assert_eq!(at(trie.token_places(node)), trie.tokens(node));
            assert_eq!(at(trie.subtree_places(node)), trie.subtree_tokens(node));
            let n_children: usize = trie.children(node).map(|(_, child)| trie.subtree_nodes(child)).sum();
            assert_eq!(trie.subtree_nodes(node), 1 + n_children);
            let rests = || strings.iter().filter_map(|other| other.strip_prefix(string.as_slice()));
            assert_eq!(*trie.bytes_below(node), rests().flatten().copied().collect());
            assert_eq!(trie.height(node), rests().map(<[u8]>::len).max());
        }
        assert_eq!(trie.subtree_nodes(Trie::ROOT), trie.n_nodes());
    }
}
