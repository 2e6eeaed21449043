//! Where single words lie in the trie of the vocabulary, as the keys of an object do.

use maskwright_vocabulary::{TokenId, Trie, TrieNodeId};

/// Where a word lies in the trie of the vocabulary.
pub(crate) struct WordPath {
    /// The tokens that the word begins with.
    pub(crate) tokens: Box<[TokenId]>,
    /// Its last node, if longer tokens begin with it.
    pub(crate) end: Option<TrieNodeId>,
}

impl WordPath {
    pub(super) fn new(trie: &Trie, word: &[u8]) -> WordPath {
        let mut tokens: Vec<TokenId> = Vec::new();
        let end = follow(trie, word, |found| tokens.extend(found));
        tokens.sort_unstable();
        WordPath { tokens: tokens.into(), end }
    }
}

/// Visits the tokens that `word` begins with; its last node, if longer tokens begin with it.
pub(crate) fn follow(trie: &Trie, word: &[u8], mut found: impl FnMut(&[TokenId])) -> Option<TrieNodeId> {
    let end = word.iter().try_fold(Trie::ROOT, |node, &byte| {
        let child = trie.child(node, byte)?;
        found(trie.tokens(child));
        Some(child)
    });
    end.filter(|&end| trie.n_children(end) > 0)
}
