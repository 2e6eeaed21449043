//! Work without the interpreter, and what a process that forks needs to know of it.
//!
//! **Locks.** A call that holds the interpreter lock takes a lock of the engine only if it is free, and keeps it for as long as it
//! takes to look something up. To wait or to work it gives the interpreter up first ([`detached`]). Work calls no
//! Python while it holds a lock; where it looks for signals ([`interrupt`](crate::interrupt)), it holds none. So nobody who
//! has the interpreter waits for anybody who needs it.
//!
//! **Forks.** A child of `os.fork` has the thread that forked and no other. A lock that another thread held then would stay
//! locked in it for ever. So a fork waits until no thread is at work ([`before_fork`], which `os.register_at_fork` calls), and
//! work that comes waits until the fork is over. Work that looks for signals counts as none, so compilations of
//! seconds do not keep a fork waiting.
//!
//! **Panics.** A panic is a bug of ours. It ends the call with `InternalError`, not the server.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The mutable part of an object. A panic leaves no trace on the mutex: the library marks what it may have left half-done.
pub(crate) use parking_lot::Mutex as Guarded;
use pyo3::prelude::*;

use crate::errors;

/// Twice the number of threads at work, plus 1 while a process forks.
static STATE: AtomicUsize = AtomicUsize::new(0);
const AT_WORK: usize = 2;
const FORKING: usize = 1;

// The standard library's: those of parking_lot share tables of the process, which other threads may have locked when it forks.
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Held by a thread that forks from before to after, so that no other thread holds it in between.
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

/// Runs `work` without the interpreter.
///
/// # Errors
/// InternalError if `work` panics.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    caught(|| {
        py.detach(|| {
            let _at_work = AtWork::begin();
            work()
        })
    })
}

/// Runs `call`, which may hold the interpreter.
///
/// # Errors
/// InternalError if it panics.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> PyResult<T> {
    // What is left behind is marked (sessions are broken then) or whole (caches).
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| errors::internal(&*panic))
}

/// Runs `call`, on a thread that is at work, as one that is not: it may take the interpreter, and the process may fork.
pub(crate) fn outside<T>(call: impl FnOnce() -> T) -> T {
    leave();
    let result = call();
    enter();
    result
}

/// Runs `call`, which only looks something up, on what a mutex guards: with the interpreter held, if nobody has the
/// mutex.
///
/// # Errors
/// InternalError if `call` panics.
pub(crate) fn with<T: Send, R: Send>(
    py: Python<'_>,
    guarded: &Guarded<T>,
    call: impl FnOnce(&mut T) -> R + Send,
) -> PyResult<R> {
    match guarded.try_lock() {
        Some(mut value) => caught(|| call(&mut value)),
        None => detached(py, || call(&mut guarded.lock())),
    }
}

/// Runs `work`, which may take long, on what a mutex guards.
///
/// # Errors
/// InternalError if `work` panics.
pub(crate) fn work_on<T: Send, R: Send>(
    py: Python<'_>,
    guarded: &Guarded<T>,
    work: impl FnOnce(&mut T) -> R + Send,
) -> PyResult<R> {
    detached(py, || work(&mut guarded.lock()))
}

struct AtWork;

impl AtWork {
    fn begin() -> AtWork {
        enter();
        AtWork
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        leave();
    }
}

fn enter() {
    while STATE.fetch_add(AT_WORK, Ordering::AcqRel) & FORKING != 0 {
        leave();
        let mut lock = lock();
        while STATE.load(Ordering::Acquire) & FORKING != 0 {
            lock = CHANGED.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

fn leave() {
    if STATE.fetch_sub(AT_WORK, Ordering::AcqRel) == AT_WORK + FORKING {
        drop(lock());
        CHANGED.notify_all();
    }
}

fn lock() -> MutexGuard<'static, ()> {
    LOCK.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Called before the process forks: waits until no thread is at work.
#[pyfunction]
pub(crate) fn before_fork(py: Python<'_>) {
    py.detach(|| {
        let mut lock = lock();
        // Another thread may be forking.
        while STATE.fetch_or(FORKING, Ordering::AcqRel) & FORKING != 0 {
            lock = CHANGED.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        while STATE.load(Ordering::Acquire) != FORKING {
            lock = CHANGED.wait(lock).unwrap_or_else(PoisonError::into_inner);
        }
        HELD.set(Some(lock));
    });
}

/// Called after a fork, in both processes.
#[pyfunction]
pub(crate) fn after_fork() {
    // Nothing to do where the package was imported between the two.
    if let Some(lock) = HELD.take() {
        STATE.fetch_and(!FORKING, Ordering::AcqRel);
        drop(lock);
        CHANGED.notify_all();
    }
}
