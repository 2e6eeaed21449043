//! What the next token of a `maskwright.Trace` is chosen from.
//!
//! Arrays and tensors become contiguous rows in Python (`maskwright/_trace.py`).

use maskwright_decode::{Candidates, asked_step};
use maskwright_trace::{N_CANDIDATES, Step};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::matcher::Matcher;
use crate::tokenizer::Tokenizer;
use crate::trace::TraceSteps;

/// Notes the model's logits for the next token, and the mask that it will be taken with: packed words, or
/// None if all are allowed. `mask_us` is what the mask took, in microseconds.
#[pyfunction(name = "_trace_ask")]
#[pyo3(signature = (steps, logits, mask, matcher=None, tokenizer=None, mask_us=None))]
pub(crate) fn trace_ask(
    py: Python<'_>,
    steps: &Bound<'_, TraceSteps>,
    logits: PyReadonlyArray1<'_, f32>,
    mask: Option<PyReadonlyArray1<'_, u32>>,
    matcher: Option<&Bound<'_, Matcher>>,
    tokenizer: Option<&Bound<'_, Tokenizer>>,
    mask_us: Option<f64>,
) -> PyResult<()> {
    let logits = logits.as_slice()?;
    let all = vec![u32::MAX; logits.len().div_ceil(32)];
    let mask = mask.as_ref().map_or(Ok(&all[..]), PyReadonlyArray1::as_slice)?;
    let candidates = Candidates::of(logits, mask, N_CANDIDATES);
    let tokenizer = tokenizer.map(|tokenizer| tokenizer.get().0.clone());
    let start = match matcher.filter(|_| steps.try_borrow().is_ok_and(|steps| steps.is_empty())) {
        Some(matcher) => Some(matcher.get().copied(py)?),
        None => None,
    };
    let step = match matcher {
        Some(matcher) => matcher.get().asked_step(py, &candidates, tokenizer.as_ref())?,
        None => asked_step(Some(&candidates), None, tokenizer.as_ref()).unwrap_or_default(),
    };
    steps.try_borrow_mut()?.ask(Step { mask_us, ..step }, start, tokenizer);
    Ok(())
}
