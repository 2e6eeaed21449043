//! Which parts of a token trie are UTF-8 text.
//!
//! Most tokens of most vocabularies are. A walk that is in a state where every character leads back to can then take a
//! whole subtree at once, characters of several bytes included.

use maskwright_automata::Utf8Rest;

use crate::trie::{Trie, TrieNodeId};

/// For each node of a trie, whether everything from its byte on is UTF-8 text.
#[derive(Clone, Debug)]
pub(crate) struct TextBelow {
    /// One bit a node.
    bits: Box<[u64]>,
}

impl TextBelow {
    pub(crate) fn new(trie: &Trie) -> TextBelow {
        let mut text = TextBelow { bits: vec![0; trie.n_nodes().div_ceil(64)].into() };
        // Children have larger numbers than their parent.
        for index in (0..trie.n_nodes()).rev() {
            let node = TrieNodeId(index as u32);
            let is_text = match (trie.label(node), Utf8Rest::after(trie.label(node))) {
                (..0x80, _) => text.begins_below(trie, node),
                (_, Some(rest)) => text.continues(trie, node, rest),
                (_, None) => false,
            };
            if is_text {
                text.bits[index / 64] |= 1 << (index % 64);
            }
        }
        text
    }

    pub(crate) fn is_text_from(&self, node: TrieNodeId) -> bool {
        self.bits[node.index() / 64] >> (node.index() % 64) & 1 == 1
    }

    /// Whether characters begin at all children of `node`, and all that follows is text.
    fn begins_below(&self, trie: &Trie, node: TrieNodeId) -> bool {
        trie.children(node).all(|(_, child)| self.is_text_from(child))
    }

    /// Whether everything below `node` goes on with a character, and then with text.
    fn continues(&self, trie: &Trie, node: TrieNodeId, rest: Utf8Rest) -> bool {
        trie.children(node).all(|(byte, child)| {
            rest.range().contains(&byte)
                && match rest.next() {
                    Some(more) => self.continues(trie, child, more),
                    None => self.begins_below(trie, child),
                }
        })
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.bits.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TokenId;

    /// Against `str`'s own judgement, on strings of all kinds of bytes.
    #[test]
    fn text_is_what_utf8_says() {
        let parts: [&[u8]; 12] = [
            b"a",
            b"\xC3\xA9",
            b"\xE2\x82\xAC",
            b"\xF0\x9F\x98\x80",
            b"\xC3",
            b"\xE2\x82",
            b"\xF0\x9F\x98",
            b"\xA9",
            b"\xC0\x80",
            b"\xED\xA0\x80",
            b"\xF4\x90\x80\x80",
            b"\xE0\x80\x80",
        ];
        let mut strings: Vec<Vec<u8>> = parts.iter().map(|part| part.to_vec()).collect();
        for a in parts {
            for b in parts {
                strings.push([a, b].concat());
                strings.push([a, b, b"z"].concat());
            }
        }
        let trie = Trie::new(strings.iter().enumerate().map(|(i, s)| (s.as_slice(), TokenId(i as u32))));
        let is_text = |bytes: &[u8]| {
            std::str::from_utf8(bytes).map_or_else(|error| error.error_len().is_none(), |_| true)
        };
        let mut n_text = 0;
        for string in &strings {
            for length in 1..=string.len() {
                let prefix = &string[..length];
                let node = prefix.iter().try_fold(Trie::ROOT, |node, &byte| trie.child(node, byte)).unwrap();
                let below = trie.subtree_tokens(node);
                let expected = below.iter().all(|&TokenId(id)| is_text(&strings[id as usize][length - 1..]));
                assert_eq!(trie.is_text_from(node), expected, "{prefix:02X?}");
                n_text += u32::from(expected);
            }
        }
        assert!(n_text > 100);
    }
}
