//! What the grammars of a compiler take, and who gives up what can be made again.
//!
//! Each grammar measures itself now and then while its machine is at work, so the sum is at hand, though not quite up to
//! date. When all of a compiler's grammars and caches together take more than
//! [`Limits::memory_bytes`](crate::Limits), the grammars used longest ago drop what they have memoised, then the shared
//! caches are emptied. What a living grammar or session needs (rules, configurations) stays.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use crate::EngineGrammar;
use crate::session::Shared;

/// The counts of one compiler.
#[derive(Default)]
pub(crate) struct Memory {
    /// Of all grammars, in bytes.
    grammars: AtomicUsize,
    /// When all together last took too much: what was left then, and a quarter. No less is looked at again.
    threshold: AtomicUsize,
    clock: AtomicU64,
    known: Mutex<Known>,
    /// Held by the thread that makes room.
    making_room: Mutex<()>,
}

/// The grammars there are.
#[derive(Default)]
struct Known {
    grammars: Vec<Weak<EngineGrammar>>,
    /// The number at which those that are gone are left out.
    n_next: usize,
}

/// Bytes that are counted as long as this lives.
pub(crate) struct Counted {
    shared: Arc<Shared>,
    n_bytes: usize,
}

impl Counted {
    pub(crate) fn new(shared: Arc<Shared>) -> Counted {
        Counted { shared, n_bytes: 0 }
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Counts `n_bytes` instead of what was counted before.
    pub(crate) fn set(&mut self, n_bytes: usize) {
        let grammars = &self.shared.memory.grammars;
        if n_bytes >= self.n_bytes {
            grammars.fetch_add(n_bytes - self.n_bytes, Ordering::Relaxed);
        } else {
            grammars.fetch_sub(self.n_bytes - n_bytes, Ordering::Relaxed);
        }
        self.n_bytes = n_bytes;
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.set(0);
    }
}

impl Memory {
    /// What all grammars take, in bytes.
    pub(crate) fn of_grammars(&self) -> usize {
        self.grammars.load(Ordering::Relaxed)
    }

    /// A number greater than all before.
    pub(crate) fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::Relaxed)
    }

    /// Remembers a grammar, as long as it lives.
    pub(crate) fn add(&self, grammar: &Arc<EngineGrammar>) {
        let mut known = self.known.lock();
        if known.grammars.len() >= known.n_next {
            known.grammars.retain(|grammar| grammar.strong_count() > 0);
            known.n_next = 2 * known.grammars.len() + 64;
        }
        known.grammars.push(Arc::downgrade(grammar));
    }

    fn living(&self) -> Vec<Arc<EngineGrammar>> {
        let mut living: Vec<_> = self.known.lock().grammars.iter().filter_map(Weak::upgrade).collect();
        living.sort_by_cached_key(|grammar| grammar.last_use());
        living
    }
}

impl Shared {
    /// What all grammars and caches of the compiler take, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.memory.of_grammars() + self.cache_bytes()
    }

    /// Makes room if all together take more than they may. Waits for no grammar. Call it without a lock.
    pub(crate) fn keep_within_limit(&self) {
        let limit = self.limits.memory_bytes;
        // What the caches take is not at hand; at most this.
        let at_most = self.memory.of_grammars() + self.limits.row_cache_bytes + self.limits.automaton_bytes;
        if at_most <= limit {
            return;
        }
        let usage = self.memory_usage();
        if usage <= limit {
            self.memory.threshold.store(0, Ordering::Relaxed);
            return;
        }
        if usage <= self.memory.threshold.load(Ordering::Relaxed) {
            return;
        }
        let Some(_alone) = self.memory.making_room.try_lock() else { return };
        // More than just enough, so that this is not called again at once.
        let goal = limit / 4 * 3;
        // Grammars free nothing of the caches, which take their locks to be measured.
        let caches = self.cache_bytes();
        for grammar in self.memory.living() {
            if self.memory.of_grammars() + caches <= goal {
                break;
            }
            grammar.give_up();
        }
        if self.memory.of_grammars() + caches > goal {
            self.clear_caches();
        }
        let left = self.memory_usage();
        self.memory.threshold.store(left + left / 4, Ordering::Relaxed);
    }
}
