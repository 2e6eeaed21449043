//! Work without the interpreter, and how it behaves when the process forks.
//!
//! **Locks.** A call that holds the interpreter lock takes a lock of the engine only if it is free, and keeps
//! it for as long as it takes to look something up. To wait or to work it releases the interpreter first
//! ([`detached`]). Work runs no Python code while it holds a lock, although it may take the interpreter to
//! see whether there are signals ([`interrupt`](crate::interrupt)). So no thread that holds the interpreter
//! lock waits for one that needs it.
//!
//! **Forks.** A child of `os.fork` has the thread that forked and no other. A lock that another thread held
//! then would stay locked in it for ever. So a fork waits until no thread is at work ([`before_fork`], which
//! `os.register_at_fork` calls), and work that comes waits until the fork is over. Work that looks for
//! signals counts as none, so compilations of seconds do not keep a fork waiting.
//!
//! **Panics.** A panic is a bug of ours. It ends the call with `InternalError`, not the server, and breaks
//! the object that was called: its later calls fail too.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::prelude::*;

use crate::errors;

/// Twice the number of threads at work, plus 1 while a process forks.
static STATE: AtomicUsize = AtomicUsize::new(0);
const AT_WORK: usize = 2;
const FORKING: usize = 1;

// The standard library's: those of parking_lot share tables of the process, which other threads may have
// locked when it forks.
static LOCK: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

thread_local! {
    /// Held by a thread that forks from before to after, so that no other thread holds it in between.
    static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
}

thread_local! {
    /// Whether this thread is the main one, once that was asked.
    static IS_MAIN: Cell<Option<bool>> = const { Cell::new(None) };
}

/// Whether handlers run on this thread. After a fork, the thread that is left is asked again.
pub(crate) fn is_main_thread(py: Python<'_>) -> bool {
    if let Some(is_main) = IS_MAIN.get() {
        return is_main;
    }
    let is_main = || {
        let threading = py.import("threading")?;
        let main = threading.call_method0("main_thread")?;
        PyResult::Ok(threading.call_method0("current_thread")?.is(&main))
    };
    // What a handler raises on the way is raised at the end of the call.
    let is_main = is_main().unwrap_or(true);
    IS_MAIN.set(Some(is_main));
    is_main
}

/// Runs `work` without the interpreter.
///
/// # Errors
/// InternalError if `work` panics.
pub(crate) fn detached<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    caught(|| py.detach(|| at_work(work)))
}

fn at_work<T>(work: impl FnOnce() -> T) -> T {
    let _at_work = AtWork::begin();
    work()
}

/// Work on a thread of its own: a fork waits for it until it ends, or until whoever asked for it is gone.
pub(crate) struct WorkAside {
    is_over: AtomicBool,
}

impl WorkAside {
    pub(crate) fn begin() -> WorkAside {
        enter();
        WorkAside { is_over: AtomicBool::new(false) }
    }

    /// Called on both sides; the first call counts.
    pub(crate) fn end(&self) {
        if !self.is_over.swap(true, Ordering::AcqRel) {
            leave();
        }
    }
}

/// Runs `call`, which may hold the interpreter.
///
/// # Errors
/// InternalError if it panics.
pub(crate) fn caught<T>(call: impl FnOnce() -> T) -> PyResult<T> {
    // After a panic, objects are broken and caches are whole.
    catch_unwind(AssertUnwindSafe(call)).map_err(|panic| errors::internal(&*panic))
}

/// Runs `call`, on a thread that is at work, as one that is not: it may take the interpreter, and the process
/// may fork.
pub(crate) fn outside<T>(call: impl FnOnce() -> T) -> T {
    /// Enters again, also after a panic.
    struct Enters;
    impl Drop for Enters {
        fn drop(&mut self) {
            enter();
        }
    }
    leave();
    let _enters = Enters;
    // What is called may itself wait for Ctrl-C.
    maskwright::stop::unwatched(call)
}

/// The mutable part of an object.
pub(crate) struct Guarded<T> {
    value: parking_lot::Mutex<T>,
    /// Whether a call panicked, and may have left the value half-changed.
    is_broken: AtomicBool,
}

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Guarded<T> {
        Guarded { value: parking_lot::Mutex::new(value), is_broken: AtomicBool::new(false) }
    }

    /// Waits for the value. Not to be called with the interpreter held.
    pub(crate) fn lock(&self) -> parking_lot::MutexGuard<'_, T> {
        self.value.lock()
    }

    /// The value if nobody has it.
    pub(crate) fn try_lock(&self) -> Option<parking_lot::MutexGuard<'_, T>> {
        self.value.try_lock()
    }

    /// Runs `call`, unless an earlier one has panicked.
    pub(crate) fn unless_broken<R>(&self, call: impl FnOnce() -> PyResult<R>) -> PyResult<R> {
        if self.is_broken.load(Ordering::Relaxed) {
            return Err(errors::broken());
        }
        call().inspect_err(|_| self.is_broken.store(true, Ordering::Relaxed))
    }
}

/// Runs `call`, which only looks something up, on what a mutex guards: with the interpreter held, if nobody
/// has the mutex.
///
/// # Errors
/// InternalError if `call` panics.
pub(crate) fn with<T: Send, R: Send>(
    py: Python<'_>,
    guarded: &Guarded<T>,
    call: impl FnOnce(&mut T) -> R + Send,
) -> PyResult<R> {
    guarded.unless_broken(|| match guarded.try_lock() {
        Some(mut value) => caught(|| call(&mut value)),
        None => detached(py, || call(&mut guarded.lock())),
    })
}

/// Runs `work` that makes the value anew, which mends a broken one.
///
/// # Errors
/// InternalError if `work` panics.
pub(crate) fn renew<T: Send, R: Send>(
    py: Python<'_>,
    guarded: &Guarded<T>,
    work: impl FnOnce(&mut T) -> R + Send,
) -> PyResult<R> {
    guarded.is_broken.store(false, Ordering::Relaxed);
    guarded.unless_broken(|| detached(py, || work(&mut guarded.lock())))
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
#[pyfunction(name = "_before_fork")]
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

/// Called after a fork, in the parent.
#[pyfunction(name = "_after_fork_in_parent")]
pub(crate) fn after_fork_in_parent() {
    // There is none if the package was imported after the fork began.
    if let Some(lock) = HELD.take() {
        STATE.fetch_and(!FORKING, Ordering::AcqRel);
        drop(lock);
        CHANGED.notify_all();
    }
}

/// Called after a fork, in the child: its one thread is not at work. Threads of the parent that were about to
/// begin may have been counted.
#[pyfunction(name = "_after_fork_in_child")]
pub(crate) fn after_fork_in_child() {
    // The one thread that is left is the main one.
    IS_MAIN.set(Some(true));
    STATE.store(0, Ordering::Release);
    drop(HELD.take());
}
