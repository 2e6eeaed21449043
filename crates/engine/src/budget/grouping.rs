//! The tokens of a configuration's mask, grouped by the configuration after them.
//!
//! Texts that lead to the same configuration have the same completions, so a mask of some thousand tokens
//! takes some hundred questions. An example: after `x = ` in Python, all tokens that are a whole name lead to
//! one configuration and are one group.
//!
//! One walk over the token trie finds the groups. Where a call's work ends before the walk does, the next
//! call goes on from there. Otherwise a server, which limits the work of a mask, would begin the same walk at
//! each mask and finish none.

use maskwright_automata::{ByteSet, meter};
use maskwright_vocabulary::{Trie, TrieNodeId};
use rustc_hash::FxHashMap;

use super::by_tokens::TokenGroups;
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm};
use crate::parser::ConfigId;

/// The most walks that are kept unfinished. With more, all are begun anew.
const MAX_UNFINISHED: usize = 64;

/// What a reader says to a walk.
pub(super) trait Steps {
    /// No other bytes can come next.
    fn next_bytes(&mut self, config: ConfigId) -> Result<ByteSet, EngineError>;

    /// The configuration after a byte, if it can come next.
    fn step(&mut self, config: ConfigId, byte: u8) -> Result<Option<ConfigId>, EngineError>;

    /// The configuration where a token has ended; `None` if nothing completes the text there, or that is not
    /// known (then it is noted).
    fn end(&mut self, config: ConfigId, is_exact: &mut bool) -> Result<Option<ConfigId>, EngineError>;
}

/// A walk in the making.
struct Grouping {
    /// Nodes of the trie, with the configuration there, whose children are to be looked at.
    left: Vec<(TrieNodeId, ConfigId)>,
    groups: FxHashMap<ConfigId, MaskBuilder>,
    is_exact: bool,
}

impl Grouping {
    fn new(config: ConfigId) -> Grouping {
        Grouping { left: vec![(Trie::ROOT, config)], groups: FxHashMap::default(), is_exact: true }
    }

    /// Goes on to the end.
    ///
    /// # Errors
    /// If a limit is reached, or the call is out of work; what was found so far is kept.
    fn go_on(&mut self, trie: &Trie, n_words: usize, steps: &mut dyn Steps) -> Result<(), EngineError> {
        // The children of a node, with the configurations there, and where tokens have ended.
        let mut next: Vec<(TrieNodeId, ConfigId, Option<ConfigId>)> = Vec::new();
        while let Some(&(node, config)) = self.left.last() {
            meter::spend(trie.n_children(node) as u64)?;
            next.clear();
            let bytes = steps.next_bytes(config)?;
            for (byte, child) in trie.children(node).filter(|(byte, _)| bytes.contains(*byte)) {
                let Some(after) = steps.step(config, byte)? else { continue };
                let ended = match trie.tokens(child).is_empty() {
                    true => None,
                    false => steps.end(after, &mut self.is_exact)?,
                };
                next.push((child, after, ended));
            }
            self.left.pop();
            for &(child, after, ended) in &next {
                if let Some(ended) = ended {
                    let group = self.groups.entry(ended).or_insert_with(|| MaskBuilder::new(n_words));
                    group.insert_all(trie.tokens(child));
                }
                if trie.n_children(child) > 0 {
                    self.left.push((child, after));
                }
            }
        }
        Ok(())
    }

    /// The groups in order of their first tokens, since numbers of configurations depend on what was asked
    /// before.
    fn finish(self) -> (TokenGroups, bool) {
        let groups = self.groups.into_iter().map(|(config, tokens)| (config, tokens.finish()));
        let mut groups: Vec<(ConfigId, MaskForm)> = groups.collect();
        groups.sort_unstable_by_key(|(_, tokens)| tokens.first());
        (groups.into(), self.is_exact)
    }
}

/// The walks that work has ended.
#[derive(Default)]
pub(super) struct Groupings {
    unfinished: FxHashMap<ConfigId, Grouping>,
}

impl Groupings {
    /// The groups of a configuration; and whether these are all, since nothing was given up.
    ///
    /// # Errors
    /// If a limit is reached, or the call is out of work.
    pub(super) fn of(
        &mut self,
        trie: &Trie,
        n_words: usize,
        config: ConfigId,
        steps: &mut dyn Steps,
    ) -> Result<(TokenGroups, bool), EngineError> {
        let mut grouping = self.unfinished.remove(&config).unwrap_or_else(|| Grouping::new(config));
        match grouping.go_on(trie, n_words, steps) {
            Ok(()) => Ok(grouping.finish()),
            Err(error) => {
                if error.is_out_of_work() || error.is_postponed() {
                    if self.unfinished.len() >= MAX_UNFINISHED {
                        self.unfinished.clear();
                    }
                    self.unfinished.insert(config, grouping);
                }
                Err(error)
            }
        }
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let of = |grouping: &Grouping| grouping.left.len() * 8 + grouping.groups.len() * 128 + 256;
        self.unfinished.values().map(of).sum()
    }
}
