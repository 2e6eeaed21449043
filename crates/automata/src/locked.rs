//! The lock of a store, held for a slice of work at a time.
//!
//! One caller at a time has the residues ([`Locked`]). In a [pause](Access::pause) others may, and foreign
//! code may be called. A search for a word is claimed, so that whoever needs the same word waits for it
//! instead of searching too.
//!
//! Invariant: every claim of the present process is of a thread that is in
//! [`is_alive`](crate::liveness::is_alive), and is given up however that ends. A claim of another process was
//! copied by a fork, and nobody holds it. A thread does not wait for its own claim: foreign code that runs in
//! a pause may ask for the same word.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::Duration;

use parking_lot::{Condvar, MutexGuard};
use rustc_hash::FxHashMap;

use crate::arena::NodeId;
use crate::residues::{Access, Residues};
use crate::{ByteSet, Fuel, FuelError};

/// How often a caller that waits for another thread's search looks for signals.
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
    /// The residues whose word some thread is searching for.
    searching: FxHashMap<NodeId, Owner>,
}

/// A process and a thread of it.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Owner(u32, ThreadId);

impl Owner {
    fn present() -> Owner {
        // Processes have no numbers there, and there is one.
        let process = if cfg!(target_family = "wasm") { 0 } else { std::process::id() };
        Owner(process, thread::current().id())
    }

    /// Whether the present thread has to wait for this one.
    fn is_another(self) -> bool {
        let Owner(process, thread) = Owner::present();
        self.0 == process && self.1 != thread
    }
}

impl Shared {
    pub(crate) fn new(residues: Residues) -> Shared {
        Shared { residues, n_states: 0, byte_set_ids: FxHashMap::default(), searching: FxHashMap::default() }
    }
}

/// The lock of a store, held on behalf of one automaton.
pub(crate) struct Locked<'a> {
    pub(crate) shared: MutexGuard<'a, Shared>,
    /// Notified when a search ends.
    searched: &'a Condvar,
    pub(crate) account: &'a Account,
    /// The arena's memory when the account was opened, unless it is closed.
    memory_before: Option<usize>,
    claimed: Option<NodeId>,
}

impl<'a> Locked<'a> {
    pub(crate) fn new(
        shared: MutexGuard<'a, Shared>,
        searched: &'a Condvar,
        account: &'a Account,
    ) -> Locked<'a> {
        let mut locked = Locked { shared, searched, account, memory_before: None, claimed: None };
        locked.open_account();
        locked
    }

    /// Whether another thread searches for a word of `node`.
    fn is_claimed(&self, node: NodeId) -> bool {
        self.shared.searching.get(&node).is_some_and(|owner| owner.is_another())
    }

    /// Begins to charge the account for what is added.
    fn open_account(&mut self) {
        let arena = &mut self.shared.residues.arena;
        arena.allow(self.account.memory());
        self.memory_before = Some(arena.memory());
    }

    /// Charges the account, before others have the lock.
    fn close_account(&mut self) {
        if let Some(before) = self.memory_before.take() {
            let added = self.shared.residues.arena.memory() - before;
            self.account.memory.fetch_add(added, Ordering::Relaxed);
        }
    }
}

impl Access for Locked<'_> {
    fn residues(&mut self) -> &mut Residues {
        &mut self.shared.residues
    }

    fn pause(&mut self, fuel: Option<&Fuel>) -> Result<(), FuelError> {
        self.close_account();
        let looked = match fuel.filter(|fuel| fuel.is_look_due()) {
            Some(fuel) => MutexGuard::unlocked_fair(&mut self.shared, || fuel.look()),
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
        if self.is_claimed(node) {
            self.close_account();
            while looked.is_ok() && self.is_claimed(node) {
                let waited = self.searched.wait_for(&mut self.shared, WAIT);
                if let Some(fuel) = fuel.filter(|_| waited.timed_out()) {
                    looked = MutexGuard::unlocked(&mut self.shared, || fuel.look_now());
                }
            }
            self.open_account();
        }
        looked?;
        self.shared.searching.insert(node, Owner::present());
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
    /// Also where the work failed or panicked: otherwise the threads that wait for this search would never
    /// wake.
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

    /// An intersection whose emptiness takes a search through some `n` times the next numbers' residues:
    /// lengths that are multiples of coprime numbers, and not of their product.
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
            let enter = || {
                // A token that is watched, as all compilations in Python have.
                let fuel = Fuel::unlimited().with_cancel(CancelToken::new().watching(|| false));
                store.enter(&hard(&[7, 11, 13]), &Account::default(), &fuel).unwrap()
            };
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
                // Long enough that a busy machine gives the other thread its turns.
                let start = store.enter(&hard(&[41, 43, 47]), &Account::default(), &Fuel::unlimited());
                is_over.store(true, Ordering::Release);
                start
            }
        });
        while searching(&store) == 0 && !is_over.load(Ordering::Acquire) {
            thread::yield_now();
        }
        let mut n_during = 0;
        while !is_over.load(Ordering::Acquire) {
            let quick = Regex::literal("x").repeat(2, Some(3 + n_during % 100));
            store.enter(&quick, &Account::default(), &Fuel::unlimited()).unwrap();
            n_during += 1;
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
            let began = Instant::now();
            // Asked while it waits, since what it spends by itself is too little for a look.
            let fuel = Fuel::unlimited().with_cancel(second.watching(|| true));
            let waited = store.enter(&hard(&[29, 31, 37]), &Account::default(), &fuel);
            assert!(waited.unwrap_err().is_cancelled());
            assert!(began.elapsed() < Duration::from_secs(2));
            assert_eq!(searching(&store), 1, "the first goes on");
            first.cancel();
            let _ = searcher.join().unwrap();
        });
    }

    #[test]
    fn a_search_that_panics_is_made_by_a_thread_that_waits() {
        let store = store();
        let regex = hard(&[7, 11, 13]);
        store.shared.lock().residues.panics_at = Some(900);
        thread::scope(|scope| {
            let enter = || store.enter(&regex, &Account::default(), &Fuel::unlimited());
            let threads: Vec<_> = (0..3).map(|_| scope.spawn(enter)).collect();
            let ended: Vec<_> = threads.into_iter().map(|thread| thread.join()).collect();
            assert_eq!(ended.iter().filter(|ended| ended.is_err()).count(), 1);
            assert!(ended.into_iter().flatten().all(|start| start == Ok(None)));
        });
        assert_eq!(searching(&store), 0);
    }

    #[test]
    fn a_watch_that_panics_leaves_no_claim() {
        let store = store();
        let account = Account::default();
        let is_panicking = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let watch = || panic!("in a watch");
            let fuel = Fuel::unlimited().with_cancel(CancelToken::new().watching(watch));
            store.enter(&hard(&[7, 11, 13]), &account, &fuel)
        }));
        assert!(is_panicking.is_err());
        assert_eq!(searching(&store), 0);
        assert_eq!(store.enter(&hard(&[7, 11, 13]), &account, &Fuel::unlimited()), Ok(None));
    }

    /// As a signal handler may, in the middle of a compilation.
    #[test]
    fn a_watch_may_ask_for_the_same_word() {
        let store = Arc::new(store());
        let asked = Arc::new(AtomicU32::new(0));
        let watch = {
            let (store, asked) = (store.clone(), asked.clone());
            move || {
                if asked.fetch_add(1, Ordering::Relaxed) == 0 {
                    let nested = store.enter(&hard(&[7, 11, 13]), &Account::default(), &Fuel::unlimited());
                    assert_eq!(nested, Ok(None));
                }
                false
            }
        };
        let fuel = Fuel::unlimited().with_cancel(CancelToken::new().watching(watch));
        assert_eq!(store.enter(&hard(&[7, 11, 13]), &Account::default(), &fuel), Ok(None));
        assert!(asked.load(Ordering::Relaxed) > 0);
    }

    /// What a watch may do: all that needs the store.
    #[test]
    fn a_watch_is_called_without_the_lock() {
        let store = Arc::new(store());
        let n_looks = Arc::new(AtomicU32::new(0));
        let watch = {
            let (store, n_looks) = (store.clone(), n_looks.clone());
            move || {
                assert!(store.shared.try_lock().is_some());
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
