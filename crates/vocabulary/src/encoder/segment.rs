//! Cutting bytes into tokens by the trie alone.
//!
//! The greedy choice, the longest token, can lead into a dead end, so positions from which the end can be
//! reached are marked first, from the back. Both passes take O(n · longest token). This is the encoder of
//! vocabularies that have no other, and the fall-back for what a model's own encoder would change.

use std::cmp::Reverse;

use crate::{TokenId, Trie, Vocabulary};

/// Tokens whose bytes are exactly `bytes`: at each position the longest token after which the rest can still
/// be written, and of tokens with the same bytes the one with the least id.
///
/// # Errors
/// The first position that no sequence of tokens gets past, where there is no such sequence.
pub(crate) fn segment(vocabulary: &Vocabulary, bytes: &[u8]) -> Result<Vec<TokenId>, usize> {
    let unreadable = vocabulary.unreadable().iter().map(|(&id, token)| (token.as_slice(), id));
    let tries = (vocabulary, &Trie::new(unreadable));
    // can_finish[i]: bytes[i..] is a concatenation of tokens.
    let mut can_finish = vec![false; bytes.len() + 1];
    can_finish[bytes.len()] = true;
    for start in (0..bytes.len()).rev() {
        can_finish[start] = tokens_at(tries, bytes, start).any(|(end, _)| can_finish[end]);
    }
    if !can_finish[0] {
        return Err(furthest(tries, bytes));
    }
    let mut ids = Vec::new();
    let mut start = 0;
    while start < bytes.len() {
        let ends = tokens_at(tries, bytes, start).filter(|&(end, _)| can_finish[end]);
        let longest = ends.max_by_key(|&(end, token)| (end, Reverse(token)));
        let Some((end, token)) = longest else { return Err(start) };
        ids.push(token);
        start = end;
    }
    Ok(ids)
}

/// The ends of the tokens that begin at `start`, each with its token of least id; of the vocabulary, and of
/// those that it can't read.
fn tokens_at<'a>(
    (vocabulary, unreadable): (&'a Vocabulary, &'a Trie),
    bytes: &'a [u8],
    start: usize,
) -> impl Iterator<Item = (usize, TokenId)> + 'a {
    let in_trie = move |trie: &'a Trie| {
        let mut node = Some(Trie::ROOT);
        let nodes = bytes[start..].iter().enumerate().map_while(move |(offset, &byte)| {
            node = trie.child(node?, byte);
            node.map(|node| (start + offset + 1, node))
        });
        nodes.filter_map(|(end, node)| trie.tokens(node).iter().min().map(|&token| (end, token)))
    };
    let readable = in_trie(vocabulary.trie()).filter(|&(_, token)| token.index() < vocabulary.n_vocab());
    readable.chain(in_trie(unreadable))
}

/// The furthest position that a sequence of tokens reaches.
fn furthest(tries: (&Vocabulary, &Trie), bytes: &[u8]) -> usize {
    let mut reached = vec![false; bytes.len() + 1];
    reached[0] = true;
    let mut last = 0;
    for start in 0..bytes.len() {
        if reached[start] {
            last = start;
            for (end, _) in tokens_at(tries, bytes, start) {
                reached[end] = true;
            }
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vocabulary(tokens: &[&str]) -> Vocabulary {
        let tokens = tokens.iter().map(|token| Some(token.as_bytes().to_vec())).collect();
        Vocabulary::from_tokens(tokens, &[], None).unwrap()
    }

    #[test]
    fn steps_back_from_a_dead_end() {
        let vocabulary = vocabulary(&["a", "aab", "aa", "bc"]);
        assert_eq!(segment(&vocabulary, b"aabc"), Ok(vec![TokenId(2), TokenId(3)]));
        assert_eq!(segment(&vocabulary, b"aabaab"), Ok(vec![TokenId(1); 2]));
        assert_eq!(segment(&vocabulary, b""), Ok(vec![]));
    }

    #[test]
    fn the_byte_of_symbols_is_cut_by_tokens_alone() {
        let tokens = [&b"a"[..], b"\xFF", b"\x05", b"\xFFa"].map(|token| Some(token.to_vec()));
        let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap();
        assert_eq!(segment(&vocabulary, b"a\xFF\x05\xFFa"), Ok([0, 1, 2, 3].map(TokenId).to_vec()));
        let tokens = [&b"a"[..], b"\x05"].map(|token| Some(token.to_vec()));
        let vocabulary = Vocabulary::from_tokens(tokens.to_vec(), &[], None).unwrap();
        assert_eq!(segment(&vocabulary, b"a\xFF\x05"), Err(1));
    }

    #[test]
    fn names_the_position_it_cannot_pass() {
        assert_eq!(segment(&vocabulary(&["a", "bc"]), b"aabx"), Err(2));
    }

    /// Exponentially many segmentations, none of which fits.
    #[test]
    fn takes_linear_time_on_ambiguous_text() {
        let mut text = vec![b'a'; 100_000];
        text.push(b'x');
        assert_eq!(segment(&vocabulary(&["a", "aa", "aaa"]), &text), Err(100_000));
    }
}
