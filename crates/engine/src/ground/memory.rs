//! Memory accounting: what each grammar uses, and which caches are dropped first.
//!
//! Each grammar measures itself now and then while its machine is at work, so the sum is at hand, though not
//! quite up to date. When all of a compiler's grammars and caches together take more than
//! [`Limits::memory_bytes`](crate::Limits), the grammars used longest ago drop what they have memoised, then
//! the shared caches are emptied. What a living grammar or session needs (rules, configurations) stays.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

/// What drops what it can make again.
pub(crate) trait GivesUp: Send + Sync {
    /// When it was last used, by the compiler's clock.
    fn last_use(&self) -> u64;
    /// Drops what it can make again, unless it is at work.
    fn give_up(&self);
}

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
    grammars: Vec<Weak<dyn GivesUp>>,
    /// The number at which those that are gone are left out.
    n_next: usize,
}

/// Bytes that are counted as long as this lives.
pub(crate) struct Counted {
    memory: Arc<Memory>,
    n_bytes: usize,
    n_calls: u32,
}

/// Every so many calls that may do work, what they grow is measured, which can take as long as a call.
const CALLS_PER_COUNT: u32 = 64;

impl Counted {
    pub(crate) fn new(memory: Arc<Memory>) -> Counted {
        Counted { memory, n_bytes: 0, n_calls: 0 }
    }

    /// Whether to count after one more call that may do work: now and then, and often while there were few.
    pub(crate) fn is_due(&mut self) -> bool {
        self.n_calls = self.n_calls.wrapping_add(1);
        self.n_calls.is_power_of_two() || self.n_calls.is_multiple_of(CALLS_PER_COUNT)
    }

    pub(crate) fn n_bytes(&self) -> usize {
        self.n_bytes
    }

    /// Counts `n_bytes` instead of what was counted before.
    pub(crate) fn set(&mut self, n_bytes: usize) {
        let grammars = &self.memory.grammars;
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
    pub(crate) fn add(&self, grammar: &Arc<impl GivesUp + 'static>) {
        let mut known = self.known.lock();
        if known.grammars.len() >= known.n_next {
            known.grammars.retain(|grammar| grammar.strong_count() > 0);
            known.n_next = 2 * known.grammars.len() + 64;
        }
        let grammar: Arc<dyn GivesUp> = grammar.clone();
        known.grammars.push(Arc::downgrade(&grammar));
    }

    fn living(&self) -> Vec<Arc<dyn GivesUp>> {
        let mut living: Vec<_> = self.known.lock().grammars.iter().filter_map(Weak::upgrade).collect();
        living.sort_by_cached_key(|grammar| grammar.last_use());
        living
    }

    /// Makes room if the grammars and the compiler's caches together take more than `limit`. The caches take
    /// at most `at_most` bytes; `cache_bytes` tells how many. Waits for no grammar. Call it without a lock.
    pub(crate) fn keep_within(
        &self,
        limit: usize,
        at_most: usize,
        cache_bytes: impl Fn() -> usize,
        clear_caches: impl FnOnce(),
    ) {
        if self.of_grammars() + at_most <= limit {
            return;
        }
        let usage = self.of_grammars() + cache_bytes();
        if usage <= limit {
            self.threshold.store(0, Ordering::Relaxed);
            return;
        }
        if usage <= self.threshold.load(Ordering::Relaxed) {
            return;
        }
        let Some(_alone) = self.making_room.try_lock() else { return };
        // More than just enough, so that this is not called again at once.
        let goal = limit / 4 * 3;
        // Grammars free nothing of the caches, which take their locks to be measured.
        let caches = cache_bytes();
        for grammar in self.living() {
            if self.of_grammars() + caches <= goal {
                break;
            }
            grammar.give_up();
        }
        if self.of_grammars() + caches > goal {
            clear_caches();
        }
        let left = self.of_grammars() + cache_bytes();
        self.threshold.store(left + left / 4, Ordering::Relaxed);
    }
}
