//! Profiles: the tokens that a configuration allows, by the number of tokens that complete the text after
//! each.
//!
//! Tokens that stay inside a terminal are grouped by the residue that they end at (its [`Partition`], shared
//! by all grammars of a compiler), so one number per group is needed; tokens that leave it are walked as a
//! trie with what stands after it, as in plain masks. Where nearly all tokens can leave it at nearly all
//! places, as a name can where another may follow without a blank, grouping saves nothing, and all tokens are
//! walked.

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_automata::{Automaton, ByteSet, StateId, meter};
use maskwright_vocabulary::{Trie, Vocabulary};
use rustc_hash::FxHashMap;

use super::{ByteLimits, end_cost};
use crate::EngineError;
use crate::budget::{Profile, Ways};
use crate::bytes::BytesReader;
use crate::ground::{MaskBuilder, NEVER, plus};
use crate::parser::{ConfigId, Thread};
use crate::shared::Shared;
use crate::spelling::{Partition, Partitioning, visit_known};

/// Units of work that a residue takes of which all is known.
const UNITS_PER_LOOK: u64 = 4;

/// With more places where tokens may leave a terminal, each token is read from its beginning.
const MANY_EXITS: usize = 1 << 15;

/// The profiles that were made.
#[derive(Default)]
pub(super) struct Profiles {
    known: FxHashMap<ConfigId, Arc<Profile>>,
    /// What tokens read after residues, by the bytes that may follow there.
    exits: FxHashMap<((u64, StateId), ByteSet), Arc<Trie>>,
    n_bytes: usize,
}

impl Profiles {
    fn keep(&mut self, config: ConfigId, profile: Arc<Profile>, max_bytes: usize) {
        self.n_bytes += profile.memory_usage();
        if self.n_bytes > max_bytes {
            *self = Profiles::default();
        }
        self.known.insert(config, profile);
    }

    /// What the tokens read after a residue; its key has the bytes that may follow.
    fn exits(
        &mut self,
        vocabulary: &Vocabulary,
        partition: &Partition,
        key: ((u64, StateId), ByteSet),
    ) -> Arc<Trie> {
        if let Some(known) = self.exits.get(&key) {
            return known.clone();
        }
        let exits = Arc::new(partition.exits(vocabulary, key.1));
        self.n_bytes += exits.memory_usage();
        self.exits.insert(key, exits.clone());
        exits
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.n_bytes
    }
}

impl ByteLimits {
    /// The profile of `config` by some of the completions, EOS included.
    ///
    /// # Errors
    /// If the call is out of work, or must be made again.
    pub(crate) fn profile(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        config: ConfigId,
    ) -> Result<Arc<Profile>, EngineError> {
        if let Some(known) = self.profiles[ways as usize].known.get(&config) {
            return Ok(known.clone());
        }
        let shared = reader.parser.shared.clone();
        let vocabulary = &shared.vocabulary;
        let mut groups: BTreeMap<u32, MaskBuilder> = BTreeMap::new();
        let fresh = || MaskBuilder::new(vocabulary.n_words());
        if reader.parser.configs.is_accepting(config) {
            groups.entry(0).or_insert_with(fresh).insert_all(vocabulary.eos_token_ids());
        }
        let threads = reader.parser.configs.threads(config).to_vec();
        let mut grouped = Vec::new();
        for same in threads.chunk_by(Thread::reads_alike) {
            let automaton = reader.parser.automaton(same[0].terminal).clone();
            let partition = partition(&shared, &automaton, same[0].residue)?;
            let Some(after) = behind(reader, same)? else { continue };
            let follow = reader.next_bytes(after)?;
            if partition.n_exits(vocabulary, follow) > MANY_EXITS {
                let Some(alone) = reader.parser.intern(&mut same.to_vec(), false)? else { continue };
                for (next, tokens) in self.groups(reader, alone)?.iter() {
                    let least = self.upper_least(reader, ways, *next)?;
                    groups.entry(least).or_insert_with(fresh).union(tokens);
                }
                grouped.push(alone);
                continue;
            }
            meter::spend(UNITS_PER_LOOK * partition.inside.len() as u64)?;
            for (residue, tokens) in &partition.inside {
                let least = self.after_token_inside(reader, ways, (same, after), *residue)?;
                groups.entry(least).or_insert_with(fresh).union(tokens);
            }
            if partition.places.is_empty() {
                continue;
            }
            let key = (automaton.residue_key(same[0].residue), follow);
            let exits = self.profiles[ways as usize].exits(vocabulary, &partition, key);
            reader.visit_ends(&exits, after, |reader, tokens, next| {
                let least = self.upper_least(reader, ways, next)?;
                groups.entry(least).or_insert_with(fresh).insert_all(tokens);
                Ok(true)
            })?;
        }
        // The profile stands for them.
        grouped.into_iter().for_each(|config| self.drop_groups(config));
        let groups = groups.into_iter().map(|(cost, mask)| (cost, mask.finish())).collect();
        let profile = Arc::new(Profile::new(groups));
        if shared.options.use_memo {
            self.profiles[ways as usize].keep(config, profile.clone(), shared.limits.table_bytes());
        }
        Ok(profile)
    }

    /// How many tokens complete the text after a token that leads threads, which read alike, to `residue`;
    /// `after` is where their terminal has ended.
    fn after_token_inside(
        &mut self,
        reader: &mut BytesReader,
        ways: Ways,
        (threads, after): (&[Thread], ConfigId),
        residue: StateId,
    ) -> Result<u32, EngineError> {
        if reader.parser.automaton(threads[0].terminal).is_accepting(residue) {
            return self.upper_least(reader, ways, after);
        }
        let mut least = NEVER;
        for &thread in threads {
            least = least.min(
                self.rests(&reader.parser, ways).thread(&mut reader.parser, Thread { residue, ..thread })?,
            );
        }
        Ok(plus(least, end_cost(reader)))
    }

    /// Adds tokens that are known to stay inside of the terminals in progress, if a completion after them
    /// fits in `n_left` tokens.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(super) fn add_known(
        &mut self,
        reader: &mut BytesReader,
        config: ConfigId,
        n_left: u32,
        mask: &mut MaskBuilder,
    ) -> Result<(), EngineError> {
        let vocabulary = reader.parser.shared.vocabulary.clone();
        for same in reader.parser.configs.threads(config).to_vec().chunk_by(Thread::reads_alike) {
            let automaton = reader.parser.automaton(same[0].terminal).clone();
            let mut groups = BTreeMap::new();
            let seen = visit_known(vocabulary.trie(), &automaton, same[0].residue, |residue, tokens| {
                let fresh = || MaskBuilder::new(vocabulary.n_words());
                groups.entry(residue).or_insert_with(fresh).insert_all(tokens);
            });
            let Some(after) = behind(reader, same)? else { continue };
            for (residue, tokens) in groups {
                if self.after_token_inside(reader, Ways::All, (same, after), residue)? < n_left {
                    mask.union(&tokens.finish());
                }
            }
            seen?;
        }
        Ok(())
    }
}

/// The configuration behind the terminal of threads that read alike.
fn behind(reader: &mut BytesReader, same: &[Thread]) -> Result<Option<ConfigId>, EngineError> {
    let mut seeds = same.iter().map(|thread| (thread.next, thread.node)).collect();
    let mut threads = Vec::new();
    let closed = reader.parser.close(&mut seeds, &mut threads)?;
    reader.parser.intern(&mut threads, closed.is_accepting)
}

/// The partition of a residue.
fn partition(
    shared: &Shared,
    automaton: &Automaton,
    residue: StateId,
) -> Result<Arc<Partition>, EngineError> {
    let spelling = shared.spelling();
    if let Some(known) = spelling.lock().partition(automaton, residue) {
        return Ok(known);
    }
    let unfinished = spelling.lock().unfinished(automaton, residue);
    let mut partitioning = unfinished.unwrap_or_else(|| Partitioning::new(residue));
    if let Err(error) = partitioning.go_on(&shared.vocabulary, automaton) {
        if error.is_out_of_work() {
            spelling.lock().keep_unfinished(automaton, residue, partitioning);
        }
        return Err(EngineError::in_terminal(automaton)(error));
    }
    let partition = Arc::new(partitioning.finish());
    spelling.lock().keep_partition(automaton, residue, partition.clone());
    Ok(partition)
}
