//! `maskwright.CancelToken`: ends compilations from another thread.

use pyo3::prelude::*;

use crate::arguments::{Count, wrong_type};

/// Ends compilations from another thread: give it to `compile_*` as `cancel`, and call `cancel()`.
///
/// * `work`: the work units of compilations after which it cancels itself, about; None for any number.
///
/// A cancelled token stays cancelled. An exception raised by a signal handler during a compilation (Ctrl-C,
/// for example) cancels its token too.
#[pyclass(frozen, module = "maskwright")]
#[derive(Default)]
pub(crate) struct CancelToken(maskwright::CancelToken);

#[pymethods]
impl CancelToken {
    #[new]
    #[pyo3(signature = (*, work = None))]
    fn new(work: Option<Count>) -> CancelToken {
        CancelToken(match work {
            Some(Count(work)) => maskwright::CancelToken::after(work as u64),
            None => maskwright::CancelToken::new(),
        })
    }

    /// Ends every compilation that uses this token, soon after, with WorkCancelled.
    fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether it is cancelled: `cancel()` was called, or the `work` is spent.
    #[getter]
    fn is_cancelled(&self) -> bool {
        self.0.is_cancelled()
    }
}

/// The token of an argument `cancel`.
pub(crate) struct Cancel(pub(crate) maskwright::CancelToken);

impl<'py> FromPyObject<'_, 'py> for Cancel {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Cancel> {
        match object.cast::<CancelToken>() {
            Ok(token) => Ok(Cancel(token.get().0.clone())),
            Err(_) => Err(wrong_type(&object, "a CancelToken (or None)")),
        }
    }
}
