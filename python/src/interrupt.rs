//! Work that Ctrl-C ends.
//!
//! Python runs signal handlers on its main thread only, and only when that thread asks for them. So work
//! started there moves to a thread of its own, while the main thread, not holding the interpreter, looks for
//! signals every 50 ms. Starting the thread costs some 20 us. On other threads Python delivers no signals,
//! and the work stays where it is.
//!
//! When a handler raises, the work is cancelled and left to end by itself; it owns all that it uses.
//!
//! Rejected: one worker thread kept for the process. It would be gone after `os.fork`, and the first
//! compilation in the child would wait for ever.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use maskwright::CancelToken;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyModule;

/// How long a signal may wait.
const POLL: Duration = Duration::from_millis(50);

/// Stack of the thread that works, in bytes: what a main thread usually has.
const STACK: usize = 8 << 20;

/// Runs `work` without the interpreter. `cancel` is cancelled when a signal handler raises.
///
/// # Errors
/// What a signal handler raised, or that no thread could be started.
pub(crate) fn run<T: Send + 'static>(
    py: Python<'_>,
    cancel: &CancelToken,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    if !is_main_thread(py)? {
        return Ok(py.detach(work));
    }
    let (sender, mut receiver) = sync_channel(1);
    let worker = thread::Builder::new().name("maskwright".to_owned()).stack_size(STACK).spawn(move || {
        // Nobody receives after an interruption; the result is dropped then.
        let _ = sender.send(work());
    })?;
    loop {
        let (result, returned) = py.detach(move || (receiver.recv_timeout(POLL), receiver));
        receiver = returned;
        match result {
            Ok(value) => return Ok(value),
            Err(RecvTimeoutError::Timeout) => {
                if let Err(raised) = py.check_signals() {
                    cancel.cancel();
                    return Err(raised);
                }
            }
            Err(RecvTimeoutError::Disconnected) => match py.detach(|| worker.join()) {
                Err(panic) => std::panic::resume_unwind(panic),
                Ok(()) => unreachable!("a worker that ends without a panic has sent its result"),
            },
        }
    }
}

fn is_main_thread(py: Python<'_>) -> PyResult<bool> {
    static THREADING: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
    let threading = THREADING.get_or_try_init(py, || py.import("threading").map(Bound::unbind))?.bind(py);
    let main = threading.call_method0("main_thread")?.getattr("ident")?;
    threading.call_method0("get_ident")?.eq(main)
}
