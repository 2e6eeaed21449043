//! What the tokens of a vocabulary do to one residue of a terminal.
//!
//! Tokens that stay inside the terminal are grouped by the residue that they end at, so a limit on tokens
//! needs one number for each group. For the others, the places in the token trie are listed at which the
//! terminal can be left.

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId, meter};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};
use rustc_hash::FxHashMap;

use crate::ground::{MaskBuilder, MaskForm};

/// Units of work that a node of the trie takes.
const UNITS_PER_NODE: u64 = 3;
/// Units of work that an exit takes.
const UNITS_PER_EXIT: u64 = 16;
/// Around fewer nodes it is not worth knowing which bytes lead back to a residue.
const MIN_SUBTREE: usize = 256;

/// What the tokens do to one residue.
pub(crate) struct Partition {
    /// Tokens that keep it alive, by the residue after them.
    pub(crate) inside: Vec<(StateId, MaskForm)>,
    /// Places in the token trie where it accepts and tokens go on.
    pub(crate) places: Vec<(TrieNodeId, u32)>,
}

/// A partition in the making. What a call leaves unfinished, another one finishes.
pub(crate) struct Partitioning {
    inside: FxHashMap<StateId, MaskBuilder>,
    places: Vec<(TrieNodeId, u32)>,
    /// Nodes of the trie, with the residue and the number of bytes there, whose children are to be looked at.
    left: Vec<(TrieNodeId, StateId, u32)>,
}

impl Partitioning {
    pub(crate) fn new(residue: StateId) -> Partitioning {
        Partitioning {
            inside: FxHashMap::default(),
            places: Vec::new(),
            left: vec![(Trie::ROOT, residue, 0)],
        }
    }

    /// Goes on to the end.
    ///
    /// # Errors
    /// If a limit is reached, or the call is out of work; what was found so far is kept.
    pub(crate) fn go_on(
        &mut self,
        vocabulary: &Vocabulary,
        automaton: &Automaton,
    ) -> Result<(), AutomatonError> {
        let trie = vocabulary.trie();
        let fresh = || MaskBuilder::new(vocabulary.n_words());
        // Children with the residues there, and whether these hold for all that is below them.
        let mut next: Vec<(TrieNodeId, StateId, bool)> = Vec::new();
        while let Some(&(node, residue, depth)) = self.left.last() {
            meter::spend(UNITS_PER_NODE * trie.n_children(node) as u64)?;
            next.clear();
            let is_worth_it = trie.subtree_nodes(node) >= MIN_SUBTREE && !automaton.is_accepting(residue);
            let loops = if is_worth_it { automaton.loop_bytes(residue)? } else { ByteSet::EMPTY };
            let steps = automaton.steps(residue);
            for (byte, child) in trie.children(node) {
                if loops.contains(byte) && trie.bytes_below(child).is_subset(&loops) {
                    next.push((child, residue, true));
                } else if let Some((residue, _)) = steps.next(byte)? {
                    next.push((child, residue, false));
                }
            }
            self.left.pop();
            for &(child, residue, is_all) in &next {
                let tokens = if is_all { trie.subtree_tokens(child) } else { trie.tokens(child) };
                if !tokens.is_empty() {
                    self.inside.entry(residue).or_insert_with(fresh).insert_all(tokens);
                }
                if !is_all && trie.n_children(child) > 0 {
                    if automaton.is_accepting(residue) {
                        self.places.push((child, depth + 1));
                    }
                    self.left.push((child, residue, depth + 1));
                }
            }
        }
        Ok(())
    }

    /// The partition, if there is nothing left to do.
    pub(crate) fn finish(self) -> Partition {
        let mut inside: Vec<(StateId, MaskForm)> =
            self.inside.into_iter().map(|(state, mask)| (state, mask.finish())).collect();
        inside.sort_unstable_by_key(|&(state, _)| state);
        Partition { inside, places: self.places }
    }
}

impl Partition {
    /// The places where tokens go on with a byte of `follow` after the residue accepts, each with the bytes
    /// before it.
    fn exit_places<'a>(
        &'a self,
        trie: &'a Trie,
        follow: ByteSet,
    ) -> impl Iterator<Item = (TrieNodeId, u32)> + 'a {
        self.places.iter().flat_map(move |&(place, depth)| {
            let goes_on = trie.children(place).filter(move |(byte, _)| follow.contains(*byte));
            goes_on.map(move |(_, child)| (child, depth))
        })
    }

    /// How many remainders [`exits`](Partition::exits) has.
    pub(crate) fn n_exits(&self, vocabulary: &Vocabulary, follow: ByteSet) -> usize {
        let trie = vocabulary.trie();
        self.exit_places(trie, follow).map(|(child, _)| trie.subtree_tokens(child).len()).sum()
    }

    /// The remainders of tokens after places where the residue accepts, that begin with a byte of `follow`.
    pub(crate) fn exits(&self, vocabulary: &Vocabulary, follow: ByteSet) -> Trie {
        let trie = vocabulary.trie();
        let mut found: Vec<(TokenId, u32)> = Vec::new();
        for (child, depth) in self.exit_places(trie, follow) {
            found.extend(trie.subtree_tokens(child).iter().map(|&token| (token, depth)));
        }
        meter::charge(UNITS_PER_EXIT * found.len() as u64);
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
