//! What one vocabulary says about terminals; shared by the grammars of a compiler.
//!
//! * `partition`: the tokens that stay inside of a terminal, by the residue that they end at;
//! * `known`: the same of what is known of them already.

mod known;
mod partition;

use std::sync::Arc;

use maskwright_automata::{Automaton, StateId};
use rustc_hash::FxHashMap;

pub(crate) use known::visit_known;
pub(crate) use partition::{Partition, Partitioning};

/// The most partitions that are kept unfinished.
const MAX_UNFINISHED: usize = 16;

/// What one vocabulary says about terminals; shared by the grammars of a compiler.
pub(crate) struct Spelling {
    /// What the tokens do to residues.
    partitions: FxHashMap<(u64, StateId), Arc<Partition>>,
    partition_bytes: usize,
    /// Bytes that partitions may take before they are dropped.
    max_bytes: usize,
    /// Partitions that a call has left unfinished, the last one last.
    unfinished: Vec<((u64, StateId), Partitioning)>,
}

impl Spelling {
    /// Nothing is known yet; partitions may take so many bytes.
    pub(crate) fn new(max_bytes: usize) -> Spelling {
        Spelling { partitions: FxHashMap::default(), partition_bytes: 0, max_bytes, unfinished: Vec::new() }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.partition_bytes
    }

    /// The partition of a residue, if it is known.
    pub(crate) fn partition(&self, automaton: &Automaton, residue: StateId) -> Option<Arc<Partition>> {
        self.partitions.get(&automaton.residue_key(residue)).cloned()
    }

    /// Takes the partition of a residue that a call has left unfinished.
    pub(crate) fn unfinished(&mut self, automaton: &Automaton, residue: StateId) -> Option<Partitioning> {
        let key = automaton.residue_key(residue);
        let at = self.unfinished.iter().position(|&(known, _)| known == key)?;
        Some(self.unfinished.remove(at).1)
    }

    /// Keeps an unfinished partition, if there are not too many.
    pub(crate) fn keep_unfinished(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        unfinished: Partitioning,
    ) {
        self.unfinished.push((automaton.residue_key(residue), unfinished));
        let n_beyond = self.unfinished.len().saturating_sub(MAX_UNFINISHED);
        self.unfinished.drain(..n_beyond);
    }

    /// Keeps the partition of a residue.
    pub(crate) fn keep_partition(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        partition: Arc<Partition>,
    ) {
        if self.partition_bytes > self.max_bytes {
            self.partition_bytes = 0;
            self.partitions = FxHashMap::default();
        }
        let n_bytes = partition.memory_usage();
        if self.partitions.insert(automaton.residue_key(residue), partition).is_none() {
            self.partition_bytes += n_bytes;
        }
    }
}
