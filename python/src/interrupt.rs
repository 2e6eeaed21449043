//! Work that Ctrl-C ends.
//!
//! Python runs signal handlers on its main thread only, and only when that thread asks for them. So work
//! asks itself, through its [`CancelToken`]: every 10 ms it takes the interpreter for a moment and looks for signals.
//! On other threads than the main one there never are any.
//!
//! When a handler raises, the work is cancelled, and what was raised comes out once it has ended. Work that ends between
//! two looks asks once more at its end, so whatever was raised during it has cancelled its token.
//!
//! Rejected: work on a thread of its own while the main thread waits. Starting one takes some 20 us on an idle
//! machine, a fifth of a usual compilation, and on a busy one the two hand-overs took milliseconds (the median of compiling a schema
//! and its first mask was 4.0 ms, of which 0.1 ms was work). Rejected: one worker thread kept for the process. It would be
//! gone after `os.fork`, and the first compilation in the child would wait for ever.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use maskwright::CancelToken;
use pyo3::prelude::*;

use crate::work::{detached, outside};

/// How long a signal may wait.
const INTERVAL: Duration = Duration::from_millis(10);

/// Runs `work` without the interpreter, with the token that it has to carry: `cancel`, which is also cancelled
/// when a signal handler raises.
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

/// Locks for a moment; the value is whole even after a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
