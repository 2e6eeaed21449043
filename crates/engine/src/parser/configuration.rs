//! Configurations: all readings of the text so far, hash-consed.
//!
//! A *thread* is one reading: a terminal being read, its residue, the state after the terminal and the
//! stack. A *configuration* is the set of all threads after some bytes, together with whether the text could
//! end here. Interned, it is the state of a deterministic automaton over bytes, built as it is needed; a
//! session holds nothing but a [`ConfigId`].

use std::hash::Hash;

use hashbrown::HashTable;
use maskwright_automata::{ByteSet, StateId};
use maskwright_grammar::{ExprId, Marks, TerminalId};

use super::stack::{NodeId, hash_of, slice};

/// One reading of the text so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Thread {
    /// The terminal being read (or about to be: then `residue` is its start).
    pub(crate) terminal: TerminalId,
    /// What is left of it. Some byte leads on from it.
    pub(crate) residue: StateId,
    /// The state of the rule after the terminal.
    pub(crate) next: ExprId,
    /// Where that rule returns to.
    pub(crate) node: NodeId,
    /// How many tokens may still begin in the terminal; 0 if that is not limited.
    pub(crate) n_left: u32,
}

impl Thread {
    /// Whether both are at the same place of the same terminal.
    pub(crate) fn reads_alike(&self, other: &Thread) -> bool {
        (self.terminal, self.residue) == (other.terminal, other.residue)
    }
}

/// A set of threads, and whether the text may end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct ConfigId(pub(crate) u32);

/// All configurations of one grammar seen so far, of threads of type `T`.
#[derive(Clone, Debug)]
pub(crate) struct Configurations<T = Thread> {
    threads: Vec<T>,
    ends: Vec<u32>,
    facts: Vec<Facts>,
    ids: HashTable<ConfigId>,
}

#[derive(Clone, Debug)]
struct Facts {
    is_accepting: bool,
    /// The bytes that some thread can read; computed when first asked for.
    next_bytes: Option<ByteSet>,
    /// The configuration with all residues cut to their row keys, which has the same mask.
    mask_key: Option<ConfigId>,
    /// The marks of its terminals, of a grammar with a watch; computed when first asked for.
    marks: Option<Marks>,
}

impl<T: Copy + Eq + Hash> Configurations<T> {
    pub(crate) fn new() -> Configurations<T> {
        Configurations { threads: Vec::new(), ends: Vec::new(), facts: Vec::new(), ids: HashTable::new() }
    }

    /// The threads, sorted.
    pub(crate) fn threads(&self, config: ConfigId) -> &[T] {
        slice(&self.threads, &self.ends, config.0)
    }

    /// Whether the text may end here.
    pub(crate) fn is_accepting(&self, config: ConfigId) -> bool {
        self.facts[config.0 as usize].is_accepting
    }

    pub(crate) fn next_bytes(&self, config: ConfigId) -> Option<ByteSet> {
        self.facts[config.0 as usize].next_bytes
    }

    pub(crate) fn set_next_bytes(&mut self, config: ConfigId, bytes: ByteSet) {
        self.facts[config.0 as usize].next_bytes = Some(bytes);
    }

    pub(crate) fn mask_key(&self, config: ConfigId) -> Option<ConfigId> {
        self.facts[config.0 as usize].mask_key
    }

    pub(crate) fn set_mask_key(&mut self, config: ConfigId, key: ConfigId) {
        self.facts[config.0 as usize].mask_key = Some(key);
    }

    pub(crate) fn marks(&self, config: ConfigId) -> Option<Marks> {
        self.facts[config.0 as usize].marks
    }

    pub(crate) fn set_marks(&mut self, config: ConfigId, marks: Marks) {
        self.facts[config.0 as usize].marks = Some(marks);
    }

    /// The configuration of `threads`, which are sorted and distinct.
    pub(crate) fn intern(&mut self, threads: &[T], is_accepting: bool) -> ConfigId {
        let Configurations { threads: all, ends, facts, ids } = self;
        let entry = ids.entry(
            hash_of((threads, is_accepting)),
            |config| {
                facts[config.0 as usize].is_accepting == is_accepting && slice(all, ends, config.0) == threads
            },
            |config| hash_of((slice(all, ends, config.0), facts[config.0 as usize].is_accepting)),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let config = ConfigId(ends.len() as u32);
                entry.insert(config);
                all.extend_from_slice(threads);
                ends.push(all.len() as u32);
                facts.push(Facts { is_accepting, next_bytes: None, mask_key: None, marks: None });
                config
            }
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.threads.capacity() * size_of::<T>()
            + self.facts.capacity() * (size_of::<Facts>() + 4)
            + self.ids.capacity() * 5
    }
}
