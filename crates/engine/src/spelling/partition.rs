//! What the tokens of a vocabulary do to one residue of a terminal.
//!
//! Tokens that stay inside the terminal are grouped by the residue that they end at, so a limit on tokens needs one number
//! for each group. For the others, the places in the token trie are listed at which the terminal can be left.

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};
use rustc_hash::FxHashMap;

use crate::ground::{MaskBuilder, MaskForm};

/// What the tokens do to one residue.
pub(crate) struct Partition {
    /// Tokens that keep it alive, by the residue after them.
    pub(crate) inside: Vec<(StateId, MaskForm)>,
    /// Places in the token trie where it accepts and tokens go on.
    pub(crate) places: Vec<(TrieNodeId, u32)>,
}

impl Partition {
    pub(crate) fn new(
        vocabulary: &Vocabulary,
        automaton: &Automaton,
        residue: StateId,
    ) -> Result<Partition, AutomatonError> {
        let trie = vocabulary.trie();
        let mut inside: FxHashMap<StateId, MaskBuilder> = FxHashMap::default();
        let mut places = Vec::new();
        let mut stack = vec![(Trie::ROOT, residue, 0u32)];
        while let Some((node, residue, depth)) = stack.pop() {
            for (byte, child) in trie.children(node) {
                let Some(next) = automaton.step(residue, byte)? else { continue };
                let tokens = trie.tokens(child);
                if !tokens.is_empty() {
                    let fresh = || MaskBuilder::new(vocabulary.n_words());
                    inside.entry(next).or_insert_with(fresh).insert_all(tokens);
                }
                if trie.n_children(child) > 0 {
                    if automaton.is_accepting(next) {
                        places.push((child, depth + 1));
                    }
                    stack.push((child, next, depth + 1));
                }
            }
        }
        let mut inside: Vec<(StateId, MaskForm)> =
            inside.into_iter().map(|(state, mask)| (state, mask.finish())).collect();
        inside.sort_unstable_by_key(|&(state, _)| state);
        Ok(Partition { inside, places })
    }

    /// The remainders of tokens after places where the residue accepts, that begin with a byte of `follow`.
    pub(crate) fn exits(&self, vocabulary: &Vocabulary, follow: ByteSet) -> Trie {
        let trie = vocabulary.trie();
        let mut found: Vec<(TokenId, u32)> = Vec::new();
        for &(place, depth) in &self.places {
            for (byte, child) in trie.children(place) {
                if follow.contains(byte) {
                    found.extend(trie.subtree_tokens(child).iter().map(|&token| (token, depth)));
                }
            }
        }
        let remainder = |(token, depth): &(TokenId, u32)| {
            vocabulary.text(*token).map(|bytes| (&bytes[*depth as usize..], *token))
        };
        Trie::new(found.iter().filter_map(remainder))
    }

    pub(crate) fn memory_usage(&self) -> usize {
        let inside: usize = self.inside.iter().map(|(_, mask)| mask.memory_usage() + 24).sum();
        inside + self.places.len() * 8 + 128
    }
}
