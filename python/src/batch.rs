//! Many masks at once, in parallel and without the interpreter.
//!
//! Warm masks take a microsecond, less than starting a thread. So the calling thread starts alone, and calls
//! for help once it has worked for [`ALONE`] and rows are left: a batch of warm masks never pays for threads,
//! and from the second cold mask on they are made in parallel, of one grammar or of several. Threads take the
//! next row when they are done with one.
//!
//! Rejected: a pool of threads kept for the process (as rayon has). Its threads are gone after `os.fork`,
//! and the next call in the child would wait for ever.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use maskwright::debug::counted;
use maskwright::mask_words;
use pyo3::exceptions::{PyIndexError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arguments::{Count, Int, Item, List, wrong_type};
use crate::errors::{BatchError, invalid};
use crate::interrupt::stoppable;
use crate::matcher::Matcher;
use crate::{bitmask, errors, raw_rows};

/// How long the calling thread works alone.
const ALONE: Duration = Duration::from_micros(50);

/// How often the calling thread looks for Ctrl-C while it waits for the others.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// A matcher of a batch.
pub(crate) struct OneMatcher(Py<Matcher>);

impl OneMatcher {
    pub(crate) fn get(&self) -> &Matcher {
        self.0.get()
    }
}

impl Item for OneMatcher {
    const LIST: &'static str = "a list of matchers";
}

impl<'py> FromPyObject<'_, 'py> for OneMatcher {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<OneMatcher> {
        match object.cast::<Matcher>() {
            Ok(matcher) => Ok(OneMatcher(matcher.to_owned().unbind())),
            Err(_) => Err(wrong_type(&object, "each matcher as a Matcher")),
        }
    }
}

/// A row to be filled, by its index in the mask.
struct Job<'a> {
    row: usize,
    matcher: &'a Matcher,
    words: &'a mut [u32],
}

/// Why a row failed.
pub(crate) enum Failure {
    Error(maskwright::Error),
    Panic(Box<dyn std::any::Any + Send>),
}

/// Writes the mask of `matchers[i]` into row `rows[i]` of `mask` (row `i` by default), in parallel, with the
/// interpreter released. Other rows do not change.
///
/// `mask`: an int32 array or torch CPU tensor that has these rows. Or the address of such memory, as an int,
/// with `stride`, the number of bytes from one row to the next; then the caller is responsible for the memory
/// being valid and not in use by others.
///
/// `work`: the work units (some 20 ns each) that each mask may take, instead of the compilers' limit
/// `mask_work`.
///
/// Fills all rows that it can. If some fail, it then raises BatchError, whose `errors` is a dict from row to
/// the exception that `fill_next_token_bitmask` would have raised. Failed rows allow no token.
#[pyfunction]
#[pyo3(signature = (matchers, mask, rows=None, *, stride=None, work=None))]
pub(crate) fn fill_next_token_bitmask_batch(
    py: Python<'_>,
    matchers: List<OneMatcher>,
    mask: &Bound<'_, PyAny>,
    rows: Option<List<Int>>,
    stride: Option<Count>,
    work: Option<Count>,
) -> PyResult<()> {
    let work = work.map(|Count(work)| work as u64);
    let matchers: Vec<&Matcher> = matchers.0.iter().map(OneMatcher::get).collect();
    let rows = row_indices(rows, matchers.len())?;
    let n_needed = rows.iter().max().map_or(0, |last| last + 1);
    let failed = if mask.is_exact_instance_of::<pyo3::types::PyInt>() {
        let Count(stride) = stride.ok_or_else(|| {
            PyTypeError::new_err("a mask given as a pointer needs its stride, the bytes from row to row")
        })?;
        let n_words = matchers.iter().map(|matcher| mask_words(matcher.n_vocab())).max().unwrap_or(0);
        let all = raw_rows::rows(mask.extract::<Count>()?.0, stride, n_needed, n_words)?;
        let mut jobs = jobs(&matchers, &rows, all);
        stoppable(py, || fill(&mut jobs, work))?
    } else if stride.is_some() {
        return Err(PyTypeError::new_err("a stride goes with a pointer; an array knows its own"));
    } else {
        let mut mask = bitmask::borrow(mask)?;
        let all = bitmask::rows(&mut mask)?;
        if all.len() < n_needed {
            let rows = counted(all.len(), "row");
            return Err(invalid(match n_needed == matchers.len() {
                true => format!("the mask has {rows} for {}", counted(matchers.len(), "matcher")),
                false => format!("the mask has {rows}, but row {} is asked for", n_needed - 1),
            }));
        }
        let mut jobs = jobs(&matchers, &rows, all);
        stoppable(py, || fill(&mut jobs, work))?
    };
    if failed.is_empty() { Ok(()) } else { Err(batch_error(py, failed)?) }
}

/// The rows as indices, each once.
fn row_indices(rows: Option<List<Int>>, n_matchers: usize) -> PyResult<Vec<usize>> {
    let Some(List(rows)) = rows else { return Ok((0..n_matchers).collect()) };
    if rows.len() != n_matchers {
        let (rows, matchers) = (counted(rows.len(), "row"), counted(n_matchers, "matcher"));
        return Err(invalid(format!("{rows} for {matchers}")));
    }
    let negative = |row: i64| PyIndexError::new_err(format!("row {row} is negative, expected 0 or more"));
    let rows = rows.into_iter().map(|Int(row)| usize::try_from(row).map_err(|_| negative(row)));
    let rows: Vec<usize> = rows.collect::<PyResult<_>>()?;
    let mut sorted = rows.clone();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(invalid(format!("row {} is asked for twice", pair[0]))),
        None => Ok(rows),
    }
}

/// What is to be done, in the order of the matchers. All rows are in `all`, each once.
fn jobs<'a>(matchers: &[&'a Matcher], rows: &[usize], all: Vec<&'a mut [u32]>) -> Vec<Job<'a>> {
    let mut all: Vec<Option<&mut [u32]>> = all.into_iter().map(Some).collect();
    let jobs = matchers.iter().zip(rows);
    jobs.filter_map(|(&matcher, &row)| Some(Job { row, matcher, words: all[row].take()? })).collect()
}

/// The exception for jobs that failed, by their number.
pub(crate) fn batch_error(py: Python<'_>, mut failed: Vec<(usize, Failure)>) -> PyResult<PyErr> {
    failed.sort_unstable_by_key(|&(row, _)| row);
    let errors = PyDict::new(py);
    let mut first = String::new();
    for (row, failure) in &failed {
        let exception = match failure {
            Failure::Error(error) => errors::exception(py, error),
            Failure::Panic(panic) => errors::internal(&**panic),
        };
        if first.is_empty() {
            first = format!("row {row}: {}", exception.value(py));
        }
        errors.set_item(row, exception.into_value(py))?;
    }
    let more = match failed.len() {
        1 => String::new(),
        n => format!(" (and {} more; see `errors`)", n - 1),
    };
    let error = BatchError::new_err(format!("{first}{more}"));
    error.value(py).setattr("errors", errors)?;
    Ok(error)
}

/// Fills all rows. Returns those that failed, in no particular order.
fn fill(jobs: &mut [Job<'_>], work: Option<u64>) -> Vec<(usize, Failure)> {
    let n_threads = n_threads(jobs.iter().map(|job| job.matcher));
    in_parallel(jobs, n_threads, |job| fill_row(job, work))
}

/// The most threads that a batch of these matchers uses.
pub(crate) fn n_threads<'a>(matchers: impl Iterator<Item = &'a Matcher>) -> usize {
    matchers.map(Matcher::n_threads).max().map_or(1, NonZero::get)
}

/// Does all jobs, until Ctrl-C stops this thread. Returns what failed, in no particular order.
pub(crate) fn in_parallel<J: Send>(
    jobs: &mut [J],
    n_threads: usize,
    work: impl Fn(&mut J) -> Option<(usize, Failure)> + Sync,
) -> Vec<(usize, Failure)> {
    let mut jobs = jobs.iter_mut();
    let mut failed = Vec::new();
    let start = Instant::now();
    for job in jobs.by_ref() {
        failed.extend(work(job));
        if maskwright::stop::is_stopped() {
            return failed;
        }
        if n_threads > 1 && start.elapsed() > ALONE {
            break;
        }
    }
    let n_helpers = jobs.len().saturating_sub(1).min(n_threads - 1);
    let (jobs, failed) = (Mutex::new(jobs), Mutex::new(failed));
    let is_stopped = Arc::new(AtomicBool::new(false));
    let do_jobs = || {
        // A statement of its own, so that the queue is free while the job is done.
        while !maskwright::stop::is_stopped()
            && let Some(job) = { lock(&jobs).next() }
        {
            if let Some(failure) = work(job) {
                lock(&failed).push(failure);
            }
        }
    };
    let caller = thread::current();
    let n_working = AtomicUsize::new(0);
    let help = || {
        let is_stopped = is_stopped.clone();
        maskwright::stop::watched(move || is_stopped.load(Ordering::Relaxed), do_jobs);
        n_working.fetch_sub(1, Ordering::AcqRel);
        caller.unpark();
    };
    thread::scope(|scope| {
        for _ in 0..n_helpers {
            n_working.fetch_add(1, Ordering::AcqRel);
            if thread::Builder::new().spawn_scoped(scope, help).is_err() {
                // Without a helper the others do its work.
                n_working.fetch_sub(1, Ordering::AcqRel);
            }
        }
        do_jobs();
        while n_working.load(Ordering::Acquire) > 0 {
            is_stopped.store(maskwright::stop::look(), Ordering::Relaxed);
            thread::park_timeout(LOOK_EVERY);
        }
    });
    failed.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn fill_row(job: &mut Job<'_>, work: Option<u64>) -> Option<(usize, Failure)> {
    let Job { row, matcher, words } = job;
    let failure = caught(|| matcher.fill(words, work)).err()?;
    words.fill(0);
    Some((*row, failure))
}

/// What `call` returns; a panic is a failure too.
pub(crate) fn caught<T>(call: impl FnOnce() -> Result<T, maskwright::Error>) -> Result<T, Failure> {
    match catch_unwind(AssertUnwindSafe(call)) {
        Ok(result) => result.map_err(Failure::Error),
        Err(panic) => Err(Failure::Panic(panic)),
    }
}

/// Locks; a queue and a list are in order whatever a panicking thread did.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
