//! The profile of a configuration: its allowed tokens by the least number of tokens that complete the text after each.
//!
//! Every mask under every budget is read off it: with N tokens left, the tokens whose number is below N. Tokens that stay
//! inside a terminal are grouped by the residue that they end at (the *partition* of a residue, shared by all
//! grammars of a compiler), so one number per group is needed; tokens that leave it are walked as a trie with what stands behind,
//! as in plain masks.

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_automata::{Automaton, ByteSet, StateId};
use maskwright_vocabulary::{TokenId, Trie, Vocabulary};
use rustc_hash::FxHashMap;

use super::completions::Budget;
use crate::EngineError;
use crate::ground::{MaskBuilder, MaskForm, NEVER};
use crate::parser::{ConfigId, Thread};
use crate::session::Machine;
use crate::spelling::Partition;

/// Bytes that profiles may take before they are dropped.
const MAX_BYTES: usize = 64 << 20;

/// Allowed tokens by what completing the text after them takes; ascending, disjoint or not.
#[derive(Default, Debug)]
pub(crate) struct Profile {
    groups: Vec<(u32, MaskForm)>,
}

impl Profile {
    /// The profile of groups that are ascending.
    pub(crate) fn new(groups: Vec<(u32, MaskForm)>) -> Profile {
        Profile { groups }
    }

    /// The number of tokens that completes the text whichever allowed token comes next; `None` if some cannot be
    /// completed.
    pub(crate) fn most(&self) -> Option<u32> {
        self.groups.last().map_or(Some(0), |&(cost, _)| (cost != NEVER).then_some(cost))
    }

    /// The same of those tokens behind which the text can be completed; 0 if there are none.
    pub(crate) fn most_of_completed(&self) -> u32 {
        self.groups.iter().rev().map(|&(cost, _)| cost).find(|&cost| cost != NEVER).unwrap_or(0)
    }

    /// The number of tokens that completes the text after the best of the allowed tokens.
    pub(crate) fn least(&self) -> Option<u32> {
        self.groups.first().map(|&(cost, _)| cost)
    }

    /// The tokens after which fewer than `n_left` tokens complete the text.
    pub(crate) fn mask(&self, n_left: u32, n_words: usize) -> MaskForm {
        let mut mask = MaskBuilder::new(n_words);
        for (_, group) in self.groups.iter().take_while(|&&(cost, _)| cost < n_left) {
            mask.union(group);
        }
        mask.finish()
    }

    /// The same, those first that leave the most over; at most `most` of them.
    pub(crate) fn tokens_within(&self, n_left: u32, most: usize) -> Vec<TokenId> {
        let mut tokens = Vec::new();
        for (_, group) in self.groups.iter().take_while(|&&(cost, _)| cost < n_left) {
            tokens.extend(group.tokens().into_iter().take(most - tokens.len()));
            if tokens.len() == most {
                break;
            }
        }
        tokens
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.groups.iter().map(|(_, mask)| mask.memory_usage() + 24).sum::<usize>() + 64
    }
}

impl Budget {
    /// The profile of `config`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn profile(
        &mut self,
        machine: &mut Machine,
        config: ConfigId,
    ) -> Result<Arc<Profile>, EngineError> {
        if let Some(known) = self.profiles.get(&config) {
            return Ok(known.clone());
        }
        let vocabulary = machine.parser.shared.vocabulary.clone();
        let mut groups: BTreeMap<u32, MaskBuilder> = BTreeMap::new();
        let n_words = vocabulary.n_words();
        if machine.parser.configs.is_accepting(config) {
            let group = groups.entry(0).or_insert_with(|| MaskBuilder::new(n_words));
            group.insert_all(vocabulary.eos_token_ids());
        }
        let threads = machine.parser.configs.threads(config).to_vec();
        for same in threads.chunk_by(|a, b| (a.terminal, a.residue) == (b.terminal, b.residue)) {
            let automaton = machine.parser.automaton(same[0].terminal).clone();
            let partition = self.partition(&vocabulary, &automaton, same[0].residue)?;
            for (residue, tokens) in &partition.inside {
                let goes_on =
                    !automaton.next_bytes(*residue).map_err(EngineError::in_terminal(&automaton))?.is_empty();
                let mut least = NEVER;
                for thread in same {
                    if goes_on {
                        least = least.min(self.thread(machine, Thread { residue: *residue, ..*thread })?);
                    }
                    if automaton.is_accepting(*residue) {
                        let root = self.spelling.lock().futures.root();
                        least = least.min(self.place(machine, (thread.next, thread.node, root))?);
                    }
                }
                groups.entry(least).or_insert_with(|| MaskBuilder::new(n_words)).union(tokens);
            }
            if partition.places.is_empty() {
                continue;
            }
            let mut seeds = same.iter().map(|thread| (thread.next, thread.node)).collect();
            let mut behind = Vec::new();
            machine.parser.close(&mut seeds, &mut behind)?;
            let Some(behind) = machine.parser.intern(&mut behind, false)? else { continue };
            let follow = machine.next_bytes(behind)?;
            let key = (automaton.residue_key(same[0].residue), follow);
            let exits = self.partition_exits(&vocabulary, &partition, key);
            let mut stack = vec![(Trie::ROOT, behind)];
            while let Some((node, config)) = stack.pop() {
                let bytes = machine.next_bytes(config)?;
                for (byte, child) in exits.children(node) {
                    if !bytes.contains(byte) {
                        continue;
                    }
                    let Some(next) = machine.step(config, byte)? else { continue };
                    if !exits.tokens(child).is_empty() {
                        let least = self.least(machine, next)?;
                        let group = groups.entry(least).or_insert_with(|| MaskBuilder::new(n_words));
                        group.insert_all(exits.tokens(child));
                    }
                    if exits.n_children(child) > 0 {
                        stack.push((child, next));
                    }
                }
            }
        }
        let groups = groups.into_iter().map(|(cost, mask)| (cost, mask.finish())).collect();
        let profile = Arc::new(Profile::new(groups));
        if machine.parser.shared.options.use_memo {
            self.profile_bytes += profile.memory_usage();
            if self.profile_bytes > MAX_BYTES {
                self.profile_bytes = 0;
                self.profiles = FxHashMap::default();
                self.partition_exits = FxHashMap::default();
            }
            self.profiles.insert(config, profile.clone());
        }
        Ok(profile)
    }

    fn partition(
        &mut self,
        vocabulary: &Vocabulary,
        automaton: &Automaton,
        residue: StateId,
    ) -> Result<Arc<Partition>, EngineError> {
        if let Some(known) = self.spelling.lock().partition(automaton, residue) {
            return Ok(known);
        }
        let partition = Partition::new(vocabulary, automaton, residue);
        let partition = Arc::new(partition.map_err(EngineError::in_terminal(automaton))?);
        self.spelling.lock().keep_partition(automaton, residue, partition.clone());
        Ok(partition)
    }

    /// What the tokens read behind a residue of which the bytes that may follow are given with its name.
    fn partition_exits(
        &mut self,
        vocabulary: &Vocabulary,
        partition: &Partition,
        key: ((u64, StateId), ByteSet),
    ) -> Arc<Trie> {
        if let Some(known) = self.partition_exits.get(&key) {
            return known.clone();
        }
        let exits = Arc::new(partition.exits(vocabulary, key.1));
        self.profile_bytes += exits.memory_usage();
        self.partition_exits.insert(key, exits.clone());
        exits
    }
}
