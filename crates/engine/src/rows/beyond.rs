//! What a residue says about the exits of a row.
//!
//! After a string comes a comma and white space, or white space and a brace, in every grammar. What those
//! read of the string's exits is a row again, over a trie of remainders instead of the vocabulary's: the
//! tokens whose remainder stays inside, and those that go on after it, by what they go on with. So a mask
//! asks once for every terminal that may follow, and not once for every byte; the parser is needed between
//! terminals only.

use std::sync::{Arc, Weak};

use maskwright_automata::{Automaton, AutomatonError, StateId};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};

use super::walk::{Found, walk};

/// What one residue says about the tokens of a trie of remainders.
pub(crate) struct BeyondRow {
    /// The tokens with a remainder that the residue can read to its end, ascending.
    pub(crate) tokens: Box<[TokenId]>,
    pub(crate) exits: BeyondExits,
    /// Keeps the address of the trie that it is a row of, by which it is found, from being another's.
    _remainders: Weak<Trie>,
}

/// The tokens that go on after the residue.
pub(crate) enum BeyondExits {
    Nothing,
    /// By what they go on with.
    Listed(Arc<Trie>),
    TooMany,
}

impl BeyondRow {
    /// The row of `residue` over `remainders`, with at most `max_exits` exits.
    ///
    /// # Errors
    /// If a limit of the automaton is reached.
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        remainders: &Arc<Trie>,
        automaton: &Automaton,
        residue: StateId,
        max_exits: usize,
    ) -> Result<BeyondRow, AutomatonError> {
        let mut tokens: Vec<TokenId> = Vec::new();
        let mut exits: Vec<(&[u8], TokenId)> = Vec::new();
        walk(remainders, automaton, residue, |found| match found {
            Found::Subtree(node) => tokens.extend(remainders.subtree_tokens(node)),
            Found::Node(node, _, is_accepting) => {
                tokens.extend(remainders.tokens(node));
                if is_accepting && exits.len() <= max_exits {
                    add_exits(remainders, node, vocabulary, &mut exits);
                }
            }
        })?;
        tokens.sort_unstable();
        tokens.dedup();
        let exits = match exits.len() {
            0 => BeyondExits::Nothing,
            n if n > max_exits => BeyondExits::TooMany,
            _ => BeyondExits::Listed(Arc::new(Trie::new(exits.into_iter()))),
        };
        Ok(BeyondRow { tokens: tokens.into(), exits, _remainders: Arc::downgrade(remainders) })
    }

    /// Approximate memory, in bytes, the trie that it is a row of left out.
    pub(crate) fn memory_usage(&self) -> usize {
        let exits = match &self.exits {
            BeyondExits::Listed(trie) => trie.memory_usage(),
            BeyondExits::Nothing | BeyondExits::TooMany => 0,
        };
        self.tokens.len() * 4 + exits + 128
    }
}

/// Adds the tokens of `trie` that go on from `node`, each with what it goes on with.
fn add_exits<'v>(
    trie: &Trie,
    node: TrieNodeId,
    vocabulary: &'v Vocabulary,
    exits: &mut Vec<(&'v [u8], TokenId)>,
) {
    let mut stack: Vec<(TrieNodeId, usize)> = trie.children(node).map(|(_, child)| (child, 1)).collect();
    while let Some((node, length)) = stack.pop() {
        // The last bytes of a token, whatever it had before it came into this trie.
        let rest = |token: TokenId| {
            let bytes = vocabulary.text(token)?;
            Some((&bytes[bytes.len().checked_sub(length)?..], token))
        };
        exits.extend(trie.tokens(node).iter().filter_map(|&token| rest(token)));
        stack.extend(trie.children(node).map(|(_, child)| (child, length + 1)));
    }
}
