//! Making profiles: the walk over the tokens that a configuration allows, with the least number of tokens after each.
//!
//! Tokens that stay inside a terminal are grouped by the residue that they end at (its [`Partition`], shared by all
//! grammars of a compiler), so one number per group is needed; tokens that leave it are walked as a trie with what stands after it,
//! as in plain masks.

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_automata::{Automaton, ByteSet, StateId, meter};
use maskwright_vocabulary::{Trie, Vocabulary};
use rustc_hash::FxHashMap;

use super::super::profile::Profile;
use super::Budget;
use crate::EngineError;
use crate::bytes::BytesReader;
use crate::ground::{MaskBuilder, NEVER};
use crate::parser::{ConfigId, Thread};
use crate::spelling::{Partition, Partitioning};

/// Bytes that profiles may take before they are dropped.
const MAX_BYTES: usize = 64 << 20;

/// Units of work that a residue takes of which all is known.
const UNITS_PER_LOOK: u64 = 4;

impl Budget {
    /// The profile of `config`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn profile(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
    ) -> Result<Arc<Profile>, EngineError> {
        if let Some(known) = self.profiles.get(&config) {
            return Ok(known.clone());
        }
        let vocabulary = reader.parser.shared.vocabulary.clone();
        let mut groups: BTreeMap<u32, MaskBuilder> = BTreeMap::new();
        let n_words = vocabulary.n_words();
        if reader.parser.configs.is_accepting(config) {
            let group = groups.entry(0).or_insert_with(|| MaskBuilder::new(n_words));
            group.insert_all(vocabulary.eos_token_ids());
        }
        let threads = reader.parser.configs.threads(config).to_vec();
        for same in threads.chunk_by(|a, b| (a.terminal, a.residue) == (b.terminal, b.residue)) {
            let automaton = reader.parser.automaton(same[0].terminal).clone();
            let partition = self.partition(&vocabulary, &automaton, same[0].residue)?;
            meter::spend(UNITS_PER_LOOK * partition.inside.len() as u64)?;
            for (residue, tokens) in &partition.inside {
                let least = self.after_token_inside(reader, same, *residue)?;
                groups.entry(least).or_insert_with(|| MaskBuilder::new(n_words)).union(tokens);
            }
            if partition.places.is_empty() {
                continue;
            }
            let mut seeds = same.iter().map(|thread| (thread.next, thread.node)).collect();
            let mut threads = Vec::new();
            reader.parser.close(&mut seeds, &mut threads)?;
            let Some(after) = reader.parser.intern(&mut threads, false)? else { continue };
            let follow = reader.next_bytes(after)?;
            let key = (automaton.residue_key(same[0].residue), follow);
            let exits = self.partition_exits(&vocabulary, &partition, key);
            reader.visit_ends(&exits, after, |reader, tokens, next| {
                let least = self.least(&mut reader.parser, next)?;
                groups.entry(least).or_insert_with(|| MaskBuilder::new(n_words)).insert_all(tokens);
                Ok(true)
            })?;
        }
        let groups = groups.into_iter().map(|(cost, mask)| (cost, mask.finish())).collect();
        let profile = Arc::new(Profile::new(groups));
        if reader.parser.shared.options.use_memo {
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

    /// The least number of tokens after a token that leads threads, which read alike, to `residue`.
    pub(super) fn after_token_inside(
        &mut self,
        reader: &mut BytesReader,
        threads: &[Thread],
        residue: StateId,
    ) -> Result<u32, EngineError> {
        let automaton = reader.parser.automaton(threads[0].terminal).clone();
        let goes_on =
            !automaton.next_bytes(residue).map_err(EngineError::in_terminal(&automaton))?.is_empty();
        let mut least = NEVER;
        for &thread in threads {
            if goes_on {
                least = least.min(self.thread(&mut reader.parser, Thread { residue, ..thread })?);
            }
            if automaton.is_accepting(residue) {
                let root = self.spelling.lock().futures.root();
                least = least.min(self.place(&mut reader.parser, (thread.next, thread.node, root))?);
            }
        }
        Ok(least)
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
        let unfinished = self.spelling.lock().unfinished(automaton, residue);
        let mut partitioning = unfinished.unwrap_or_else(|| Partitioning::new(residue));
        if let Err(error) = partitioning.go_on(vocabulary, automaton) {
            if error.is_out_of_work() {
                self.spelling.lock().keep_unfinished(automaton, residue, partitioning);
            }
            return Err(EngineError::in_terminal(automaton)(error));
        }
        let partition = Arc::new(partitioning.finish());
        self.spelling.lock().keep_partition(automaton, residue, partition.clone());
        Ok(partition)
    }

    /// What the tokens read after a residue; its key has the bytes that may follow.
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
