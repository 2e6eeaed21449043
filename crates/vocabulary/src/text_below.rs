//! Which parts of a token trie are UTF-8 text.
//!
//! Most tokens of most vocabularies are. A walk that is in a state where every character leads back to can
//! then take a whole subtree at once, characters of several bytes included.

use std::ops::Range;

use maskwright_automata::Utf8Rest;

/// For each node of a trie, whether everything from its byte on is UTF-8 text.
#[derive(Clone, Debug)]
pub(crate) struct TextBelow {
    /// One bit a node.
    bits: Box<[u64]>,
}

impl TextBelow {
    /// For the trie whose node `n` is reached by the byte `labels[n]` and has the children `children(n)`,
    /// which have larger numbers than `n`.
    pub(crate) fn new(labels: &[u8], children: impl Fn(usize) -> Range<usize>) -> TextBelow {
        let mut text = TextBelow { bits: vec![0; labels.len().div_ceil(64)].into() };
        for node in (0..labels.len()).rev() {
            let is_text = match (labels[node], Utf8Rest::after(labels[node])) {
                (..0x80, _) => text.begins_at_all(children(node)),
                (_, Some(rest)) => text.continues(labels, &children, node, rest),
                (_, None) => false,
            };
            if is_text {
                text.bits[node / 64] |= 1 << (node % 64);
            }
        }
        text
    }

    pub(crate) fn is_text_from(&self, node: usize) -> bool {
        self.bits[node / 64] >> (node % 64) & 1 == 1
    }

    /// Whether characters begin at all of `nodes`, and all that follows is text.
    fn begins_at_all(&self, mut nodes: Range<usize>) -> bool {
        nodes.all(|node| self.is_text_from(node))
    }

    /// Whether everything below `node` goes on with a character, and then with text.
    fn continues(
        &self,
        labels: &[u8],
        children: &impl Fn(usize) -> Range<usize>,
        node: usize,
        rest: Utf8Rest,
    ) -> bool {
        children(node).all(|child| {
            rest.range().contains(&labels[child])
                && match rest.next() {
                    Some(more) => self.continues(labels, children, child, more),
                    None => self.begins_at_all(children(child)),
                }
        })
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.bits.len() * size_of::<u64>()
    }
}

#[cfg(test)]
mod tests {
    use crate::{TokenId, Trie};

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
