//! Work that Ctrl-C ends.
//!
//! Python runs signal handlers on its main thread only, and only when that thread asks for them. So work
//! asks itself, through its [`CancelToken`]: every 50 ms it takes the interpreter for a moment and looks for signals.
//! On other threads than the main one there never are any.
//!
//! When a handler raises, the work is cancelled, and what was raised comes out once it has ended. Work that ends between
//! two looks asks once more at its end, so whatever was raised during it has cancelled its token.
//!
//! Rejected: work on a thread of its own while the main thread waits. Starting one takes some 20 us on an idle
//! machine, a fifth of a usual compilation, and on a busy one the two hand-overs took milliseconds (the median of compiling a schema
//! and its first mask was 4.0 ms, of which 0.1 ms was work). Rejected: one worker thread kept for the process. It would be
//! gone after `os.fork`, and the first compilation in the child would wait for ever.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use maskwright::CancelToken;
use pyo3::prelude::*;

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
        let mut last_look = last_look.lock().unwrap_or_else(PoisonError::into_inner);
        if last_look.elapsed() < INTERVAL {
            return false;
        }
        *last_look = Instant::now();
        let signals = Python::attach(|py| py.check_signals());
        let is_interrupted = signals.is_err();
        *outcome.lock().unwrap_or_else(PoisonError::into_inner) = signals.err();
        is_interrupted
    });
    let result = py.detach(|| work(token));
    let error = raised.lock().unwrap_or_else(PoisonError::into_inner).take();
    // A signal that came after the last look came during the work all the same.
    match error.or_else(|| py.check_signals().err()) {
        Some(error) => {
            cancel.cancel();
            Err(error)
        }
        None => Ok(result),
    }
}
