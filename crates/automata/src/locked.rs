//! The lock of a store, held for a slice of work at a time.
//!
//! One caller at a time has the residues ([`Locked`]). In a [pause](Access::pause) others may, and foreign code may be
//! called. A search for a word is claimed, so that whoever needs the same word waits for it instead of searching too.
//!
//! Invariant: while the lock is free or foreign code runs, every node in `searching` belongs to a thread that is
//! in a pause without foreign code, so a process that forks leaves no claim behind.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::{Condvar, MutexGuard};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::Access;
use crate::arena::NodeId;
use crate::liveness::Residues;
use crate::{ByteSet, Fuel, FuelError};

/// How often a caller who waits for another's search looks for signals.
const WAIT: Duration = Duration::from_millis(10);

/// What one automaton has added to its store.
#[derive(Default)]
pub(crate) struct Account {
    pub(crate) n_states: AtomicU32,
    memory: AtomicUsize,
}

impl Account {
    pub(crate) fn n_states(&self) -> usize {
        self.n_states.load(Ordering::Relaxed) as usize
    }

    pub(crate) fn memory(&self) -> usize {
        self.memory.load(Ordering::Relaxed)
    }
}

/// What the lock of a store guards.
pub(crate) struct Shared {
    pub(crate) residues: Residues,
    pub(crate) n_states: u32,
    pub(crate) byte_set_ids: FxHashMap<ByteSet, u32>,
    /// The residues of which somebody searches for a word.
    searching: FxHashSet<NodeId>,
}

impl Shared {
    pub(crate) fn new(residues: Residues) -> Shared {
        Shared { residues, n_states: 0, byte_set_ids: FxHashMap::default(), searching: FxHashSet::default() }
    }
}

/// The lock of a store, held on behalf of one automaton.
pub(crate) struct Locked<'a> {
    pub(crate) shared: MutexGuard<'a, Shared>,
    /// Notified when a search ends.
    searched: &'a Condvar,
    pub(crate) account: &'a Account,
    memory_before: usize,
    claimed: Option<NodeId>,
}

impl<'a> Locked<'a> {
    pub(crate) fn new(
        shared: MutexGuard<'a, Shared>,
        searched: &'a Condvar,
        account: &'a Account,
    ) -> Locked<'a> {
        let mut locked = Locked { shared, searched, account, memory_before: 0, claimed: None };
        locked.open_account();
        locked
    }

    /// Begins to charge the account for what is added.
    fn open_account(&mut self) {
        let arena = &mut self.shared.residues.arena;
        arena.allow(self.account.memory());
        self.memory_before = arena.memory();
    }

    /// Charges the account, before others have the lock.
    fn close_account(&mut self) {
        let added = self.shared.residues.arena.memory() - self.memory_before;
        self.account.memory.fetch_add(added, Ordering::Relaxed);
    }
}

impl Access for Locked<'_> {
    fn residues(&mut self) -> &mut Residues {
        &mut self.shared.residues
    }

    fn pause(&mut self, fuel: Option<&Fuel>) -> Result<(), FuelError> {
        self.close_account();
        let looked = match fuel.filter(|fuel| fuel.is_look_due()) {
            Some(fuel) => {
                // The process may fork while foreign code runs: nothing may be left that this thread alone can end.
                let claimed = self.claimed;
                self.release();
                let looked = MutexGuard::unlocked_fair(&mut self.shared, || fuel.look());
                self.claimed = claimed;
                self.shared.searching.extend(claimed);
                looked
            }
            None => {
                MutexGuard::bump(&mut self.shared);
                Ok(())
            }
        };
        self.open_account();
        looked
    }

    fn claim(&mut self, node: NodeId, fuel: Option<&Fuel>) -> Result<(), FuelError> {
        let mut looked = Ok(());
        if self.shared.searching.contains(&node) {
            self.close_account();
            while looked.is_ok() && self.shared.searching.contains(&node) {
                let waited = self.searched.wait_for(&mut self.shared, WAIT);
                if let Some(fuel) = fuel.filter(|_| waited.timed_out()) {
                    looked = MutexGuard::unlocked(&mut self.shared, || fuel.look_now());
                }
            }
            self.open_account();
        }
        looked?;
        self.shared.searching.insert(node);
        self.claimed = Some(node);
        Ok(())
    }

    fn release(&mut self) {
        if let Some(node) = self.claimed.take() {
            self.shared.searching.remove(&node);
            self.searched.notify_all();
        }
    }
}

impl Drop for Locked<'_> {
    /// Also where the work failed or panicked: who waits for its search must not wait for ever.
    fn drop(&mut self) {
        self.release();
        self.close_account();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;
    use std::thread;
    use std::time::Instant;

    use super::*;
    use crate::store::Store;
    use crate::{AutomatonLimits, CancelToken, Regex};

    /// An intersection whose emptiness takes a search through some `n` times the next numbers' residues: lengths that
    /// are multiples of coprime numbers, and not of their product.
    fn hard(factors: &[u32]) -> Regex {
        let letter = Regex::literal("a");
        let multiple = |n: u32| letter.repeat(n, Some(n)).plus();
        let all = factors.iter().map(|&n| multiple(n));
        let product = factors.iter().product();
        Regex::intersection(all).difference(&multiple(product))
    }

    fn store() -> Store {
        Store::new(&AutomatonLimits::default())
    }

    fn searching(store: &Store) -> usize {
        store.shared.lock().searching.len()
    }

    #[test]
    fn a_word_is_searched_for_once() {
        let store = store();
        let alone = {
            let store = Store::new(&AutomatonLimits::default());
            store.enter(&hard(&[7, 11, 13]), &Account::default(), &Fuel::unlimited()).unwrap();
            store.shared.lock().residues.n_visits
        };
        let starts: Vec<Option<u32>> = thread::scope(|scope| {
            let enter = || store.enter(&hard(&[7, 11, 13]), &Account::default(), &Fuel::unlimited()).unwrap();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(enter)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(starts, [None; 4], "no length is a multiple of all, but not of their product");
        assert_eq!(store.shared.lock().residues.n_visits, alone);
        assert_eq!(searching(&store), 0);
    }

    /// While `search` runs on another thread, the lock can be had within a few slices.
    #[test]
    fn others_use_the_store_during_a_search() {
        let store = Arc::new(store());
        let is_over = Arc::new(AtomicBool::new(false));
        let searcher = thread::spawn({
            let (store, is_over) = (store.clone(), is_over.clone());
            move || {
                let start = store.enter(&hard(&[17, 19, 23]), &Account::default(), &Fuel::unlimited());
                is_over.store(true, Ordering::Release);
                start
            }
        });
        let (mut n_during, mut n) = (0, 0);
        while !is_over.load(Ordering::Acquire) {
            let quick = Regex::literal("x").repeat(2, Some(3 + n % 100));
            store.enter(&quick, &Account::default(), &Fuel::unlimited()).unwrap();
            n_during += usize::from(searching(&store) > 0);
            n += 1;
        }
        assert_eq!(searcher.join().unwrap(), Ok(None));
        assert!(n_during >= 5, "the store was used {n_during} times during the search");
    }

    #[test]
    fn a_cancelled_search_wakes_who_waits_for_it() {
        let store = store();
        let cancel = CancelToken::new();
        thread::scope(|scope| {
            let first = scope.spawn(|| {
                let fuel = Fuel::unlimited().with_cancel(cancel.clone());
                store.enter(&hard(&[29, 31, 37]), &Account::default(), &fuel)
            });
            while searching(&store) == 0 {
                thread::yield_now();
            }
            let second = scope
                .spawn(|| store.enter(&hard(&[29, 31, 37]), &Account::default(), &Fuel::new(100_000_000)));
            thread::sleep(Duration::from_millis(20));
            cancel.cancel();
            assert!(first.join().unwrap().unwrap_err().is_cancelled());
            // It makes the search itself, to the end or to its limit.
            let second = second.join().unwrap();
            assert!(second.is_ok() || second.unwrap_err().is_search());
        });
        assert_eq!(searching(&store), 0);
    }

    #[test]
    fn who_waits_can_be_cancelled() {
        let store = store();
        let (first, second) = (CancelToken::new(), CancelToken::new());
        thread::scope(|scope| {
            let searcher = scope.spawn(|| {
                let fuel = Fuel::unlimited().with_cancel(first.clone());
                store.enter(&hard(&[29, 31, 37]), &Account::default(), &fuel)
            });
            while searching(&store) == 0 {
                thread::yield_now();
            }
            let cancelled_at = Instant::now();
            second.cancel();
            let fuel = Fuel::unlimited().with_cancel(second.watching(|| false));
            // Of the whole expression, whose lowering does not look: it is small.
            let waited = store.enter(&hard(&[29, 31, 37]), &Account::default(), &fuel);
            assert!(waited.unwrap_err().is_cancelled());
            assert!(cancelled_at.elapsed() < Duration::from_secs(2));
            first.cancel();
            let _ = searcher.join().unwrap();
        });
    }

    #[test]
    fn a_panicking_search_wakes_who_waits_for_it() {
        let store = store();
        let regex = hard(&[7, 11, 13]);
        let is_panicking = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let watch = || panic!("in a watch");
            let fuel = Fuel::unlimited().with_cancel(CancelToken::new().watching(watch));
            store.enter(&regex, &Account::default(), &fuel)
        }));
        assert!(is_panicking.is_err());
        assert_eq!(searching(&store), 0);
        assert_eq!(store.enter(&regex, &Account::default(), &Fuel::unlimited()), Ok(None));
    }

    /// What a watch may do: all that needs the store.
    #[test]
    fn a_watch_is_called_without_the_lock() {
        let store = Arc::new(store());
        let n_looks = Arc::new(AtomicU32::new(0));
        let watch = {
            let (store, n_looks) = (store.clone(), n_looks.clone());
            move || {
                assert!(store.shared.try_lock().is_some_and(|shared| shared.searching.is_empty()));
                n_looks.fetch_add(1, Ordering::Relaxed);
                false
            }
        };
        let fuel = Fuel::unlimited().with_cancel(CancelToken::new().watching(watch));
        assert_eq!(store.enter(&hard(&[7, 11, 13]), &Account::default(), &fuel), Ok(None));
        let large = Regex::union((0..20_000u32).map(|n| Regex::literal(format!("{n}")).repeat(0, Some(n))));
        store.enter(&large, &Account::default(), &fuel).unwrap();
        assert!(n_looks.load(Ordering::Relaxed) >= 2);
    }
}
