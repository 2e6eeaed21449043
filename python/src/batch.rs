//! Many masks at once, in parallel and without the interpreter.
//!
//! Warm masks take a microsecond, less than starting a thread. So the calling thread starts alone, and calls
//! for help once it has worked for [`ALONE`] and rows are left: a batch of warm masks never pays for
//! threads, and one cold mask does not keep the others waiting. Threads take the next row when they are done
//! with one.
//!
//! Rejected: a pool of threads kept for the process (as rayon has). Its threads are gone after `os.fork`,
//! and the next call in the child would wait for ever.

use std::num::NonZero;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use maskwright::{Error, mask_words};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::matcher::Matcher;
use crate::{bitmask, errors, raw_rows};

/// How long the calling thread works alone.
const ALONE: Duration = Duration::from_micros(50);

/// Writes the mask of `matchers[i]` into row `i` of `mask`, in parallel, without holding the interpreter.
///
/// `mask`: an int32 array (or torch CPU tensor) of at least as many rows; further rows are left as they are.
/// Or the address of such memory, with `stride`, the bytes from one row to the next; then the caller answers
/// for the memory being there and unused by others.
///
/// Returns a list with None for each row that was written, and for others the exception that
/// `fill_next_token_bitmask` would have raised; those rows are as before.
#[pyfunction]
#[pyo3(signature = (matchers, mask, stride=None))]
pub(crate) fn fill_next_token_bitmask_batch(
    py: Python<'_>,
    matchers: Vec<Py<Matcher>>,
    mask: &Bound<'_, PyAny>,
    stride: Option<usize>,
) -> PyResult<Vec<Option<Py<PyAny>>>> {
    let matchers: Vec<&Matcher> = matchers.iter().map(Py::get).collect();
    let mut failed = if mask.is_exact_instance_of::<pyo3::types::PyInt>() {
        let stride = stride.ok_or_else(|| {
            PyTypeError::new_err("a mask given as a pointer needs its stride, the bytes from row to row")
        })?;
        let n_words = matchers.iter().map(|matcher| mask_words(matcher.n_vocab())).max().unwrap_or(0);
        let rows = raw_rows::rows(mask.extract()?, stride, matchers.len(), n_words)?;
        py.detach(|| fill(&matchers, rows))
    } else if stride.is_some() {
        return Err(PyTypeError::new_err("a stride goes with a pointer; an array knows its own"));
    } else {
        let mut mask = bitmask::borrow(mask)?;
        let rows = bitmask::rows(&mut mask)?;
        if rows.len() < matchers.len() {
            return Err(PyValueError::new_err(format!(
                "the mask has {} rows for {} matchers",
                rows.len(),
                matchers.len()
            )));
        }
        py.detach(|| fill(&matchers, rows))
    };
    failed.sort_unstable_by_key(|&(row, _)| row);
    let mut outcome: Vec<Option<Py<PyAny>>> = matchers.iter().map(|_| None).collect();
    for (row, error) in failed {
        outcome[row] = Some(errors::exception(&error).into_value(py).into_any());
    }
    Ok(outcome)
}

/// Fills one row a matcher; the rows that failed, in no order.
fn fill(matchers: &[&Matcher], rows: Vec<&mut [u32]>) -> Vec<(usize, Error)> {
    let n_threads = matchers.iter().map(|matcher| matcher.n_threads()).max().map_or(1, NonZero::get);
    let mut jobs = matchers.iter().copied().zip(rows).enumerate();
    let mut failed = Vec::new();
    let start = Instant::now();
    for (row, (matcher, words)) in jobs.by_ref() {
        failed.extend(matcher.fill(words).err().map(|error| (row, error)));
        if n_threads > 1 && start.elapsed() > ALONE {
            break;
        }
    }
    let n_helpers = jobs.len().saturating_sub(1).min(n_threads - 1);
    let (jobs, failed) = (Mutex::new(jobs), Mutex::new(failed));
    let work = || {
        // A statement of its own, so that the queue is free while the row is filled.
        while let Some((row, (matcher, words))) = { lock(&jobs).next() } {
            if let Err(error) = matcher.fill(words) {
                lock(&failed).push((row, error));
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..n_helpers {
            // Without a helper the others do its work.
            let _ = thread::Builder::new().spawn_scoped(scope, work);
        }
        work();
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Locks; a queue and a list are in order whatever a panicking thread did.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
