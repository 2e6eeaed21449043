//! Work that Ctrl-C ends.
//!
//! Python runs signal handlers on its main thread only, and only when that thread asks for them. There are
//! three kinds of work:
//!
//! * Compilation ([`run`]) asks itself, through its [`CancelToken`]: every 10 ms it takes the interpreter for
//!   a moment and looks for signals. When a handler raises, the work is cancelled, and what was raised comes
//!   out once it has ended. Work that ends between two looks asks once more at its end, so whatever was
//!   raised during it has cancelled its token.
//! * Calls of sessions and canvases ([`stoppable`]) hold locks while they work, so no handler may run. They
//!   only look whether Ctrl-C was pressed ([`maskwright::stop::watched`]), stop, and let the handler run when
//!   the locks are free. If it does not raise, the work begins again; what was learnt before makes it
//!   shorter. A search with the caller's model cannot begin again ([`unless_interrupted`]).
//! * Reading of files ([`aside`]) asks nobody. It has a thread of its own while the caller waits.
//!
//! On other threads than the main one there never are any signals.
//!
//! Rejected: a thread of its own for all work. Starting one takes some 20 us on an idle machine, a fifth of a
//! usual compilation, and on a busy one the two hand-overs took milliseconds (the median of compiling a
//! schema and its first mask was 4.0 ms, of which 0.1 ms was work). Rejected: one worker thread kept for the
//! process. It would be gone after `os.fork`, and the first compilation in the child would wait for ever.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use maskwright::CancelToken;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use crate::errors;
use crate::work::{Guarded, WorkAside, detached, is_main_thread, outside};

/// How long a signal may wait.
const INTERVAL: Duration = Duration::from_millis(10);
/// The same while locks are held: to take the interpreter can take as long as other threads keep it.
const INTERVAL_OF_CALLS: Duration = Duration::from_millis(40);

/// Runs `work` without the interpreter, with the token that it has to carry: `cancel`, which is also
/// cancelled when a signal handler raises.
///
/// # Errors
/// What a signal handler raised.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    cancel: &CancelToken,
    work: impl FnOnce(CancelToken) -> T + Send,
) -> PyResult<T> {
    let raised: Arc<Mutex<Option<PyErr>>> = Arc::default();
    let (outcome, last_look) = (raised.clone(), Mutex::new(Instant::now()));
    let token = cancel.watching(move || {
        if lock(&last_look).elapsed() < INTERVAL {
            return false;
        }
        *lock(&last_look) = Instant::now();
        // A handler may run here, and do whatever Python code does: no lock is held.
        let signals = outside(|| Python::attach(|py| py.check_signals()));
        let is_interrupted = signals.is_err();
        *lock(&outcome) = signals.err();
        is_interrupted
    });
    let result = detached(py, || work(token))?;
    let error = lock(&raised).take();
    // A signal that came after the last look came during the work all the same.
    match error.or_else(|| py.check_signals().err()) {
        Some(error) => {
            cancel.cancel();
            Err(error)
        }
        None => Ok(result),
    }
}

/// Runs `work` without the interpreter, again if Ctrl-C stops it and no handler raises.
///
/// # Errors
/// What a signal handler raised; InternalError if `work` panics.
pub(crate) fn stoppable<T: Send>(py: Python<'_>, mut work: impl FnMut() -> T + Send) -> PyResult<T> {
    unless_stopped(py, |watch| detached(py, || watch.over(&mut work)))
}

/// Runs `work` without the interpreter until Ctrl-C stops it, for work that cannot begin again.
///
/// # Errors
/// What a signal handler raised, KeyboardInterrupt if it raised nothing; InternalError if `work` panics.
pub(crate) fn unless_interrupted<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> PyResult<T> {
    let watch = Watch::new(py);
    let (result, is_stopped) = detached(py, || watch.over(work))?;
    if is_stopped {
        handle_interrupt(py)?;
        return Err(PyKeyboardInterrupt::new_err(()));
    }
    Ok(result)
}

/// Runs `run`, which gives what [`Watch::over`] does, again if Ctrl-C stops it and no handler raises.
///
/// # Errors
/// What a signal handler raised; those of `run`.
pub(crate) fn unless_stopped<T>(
    py: Python<'_>,
    mut run: impl FnMut(Watch) -> PyResult<(T, bool)>,
) -> PyResult<T> {
    let watch = Watch::new(py);
    loop {
        let (result, is_stopped) = run(watch)?;
        if !is_stopped {
            return Ok(result);
        }
        handle_interrupt(py)?;
    }
}

/// Runs `work`, which may take long, on what a mutex guards; again if Ctrl-C stops it and no handler raises.
///
/// # Errors
/// What a signal handler raised, InternalError if `work` panics.
pub(crate) fn work_on<T: Send, R: Send>(
    py: Python<'_>,
    guarded: &Guarded<T>,
    mut work: impl FnMut(&mut T) -> R + Send,
) -> PyResult<R> {
    let mut run = || work(&mut guarded.lock());
    unless_stopped(py, |watch| guarded.unless_broken(|| detached(py, || watch.over(&mut run))))
}

/// Whether work looks for Ctrl-C: on the main thread.
#[derive(Clone, Copy)]
pub(crate) struct Watch {
    is_on_main: bool,
}

impl Watch {
    fn new(py: Python<'_>) -> Watch {
        Watch { is_on_main: is_main_thread(py) }
    }

    /// Runs `work`, on a thread without the interpreter, until Ctrl-C stops it; says also whether it did.
    /// What is returned then is worthless.
    pub(crate) fn over<T>(self, work: impl FnOnce() -> T) -> (T, bool) {
        match self.is_on_main {
            true => maskwright::stop::watched(until_interrupted(), work),
            false => (work(), maskwright::stop::is_stopped()),
        }
    }
}

/// Runs `work` on a thread of its own, and leaves it behind if a signal handler raises.
///
/// # Errors
/// What a signal handler raised; InternalError if `work` panics.
pub(crate) fn aside<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = sync_channel(1);
    let aside = py.detach(|| Arc::new(WorkAside::begin()));
    let on_thread = aside.clone();
    let thread = std::thread::Builder::new().spawn(move || {
        let result = catch_unwind(AssertUnwindSafe(work));
        on_thread.end();
        // The caller may be gone.
        let _ = sender.send(result);
    });
    if let Err(error) = thread {
        aside.end();
        return Err(errors::no_thread(&error));
    }
    loop {
        // By a unique reference: a receiver is for one thread at a time.
        let receiver = &mut receiver;
        match py.detach(move || receiver.recv_timeout(INTERVAL)) {
            Ok(result) => return result.map_err(|panic| errors::internal(&*panic)),
            Err(RecvTimeoutError::Timeout) => py.check_signals().inspect_err(|_| aside.end())?,
            // A thread sends something before it ends.
            Err(RecvTimeoutError::Disconnected) => return Err(errors::broken()),
        }
    }
}

/// Says now and then whether Ctrl-C was pressed. The handler has yet to run.
fn until_interrupted() -> impl Fn() -> bool {
    let last_look = Cell::new(Instant::now());
    move || {
        if last_look.get().elapsed() < INTERVAL_OF_CALLS {
            return false;
        }
        let is_interrupted = Python::attach(is_interrupt_pending);
        last_look.set(Instant::now());
        is_interrupted
    }
}

/// Whether Ctrl-C was pressed since this was asked last; never on another thread than the main one. Its
/// handler does not run by itself any more ([`handle_interrupt`]). No Python code may run here: it would run
/// handlers.
#[allow(unsafe_code, reason = "there is no safe function for it")]
fn is_interrupt_pending(_py: Python<'_>) -> bool {
    // SAFETY: whoever holds the interpreter may call it, and `_py` shows that this thread does.
    unsafe { pyo3::ffi::PyOS_InterruptOccurred() != 0 }
}

/// Runs the handler of a Ctrl-C that was seen, and those of other signals.
///
/// # Errors
/// What they raise.
fn handle_interrupt(py: Python<'_>) -> PyResult<()> {
    let signal = py.import("signal")?;
    let number = signal.getattr("SIGINT")?;
    let handler = signal.call_method1("getsignal", (&number,))?;
    if handler.is_callable() {
        let frame = py.import("sys")?.call_method0("_getframe").ok();
        handler.call1((number, frame))?;
    }
    py.check_signals()
}

/// Locks for a moment; the value is whole even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
