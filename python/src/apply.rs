//! Masks onto logits: the loop over a row, for the two types that numpy shares with Rust. Shapes, other
//! types and other devices are handled in `maskwright/_apply.py`.

use crate::errors::invalid;
use numpy::{Element, PyArray2, PyArrayMethods, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Sets the logits of tokens that are not allowed to minus infinity. `logits`: float32 or float64, `mask`:
/// int32, both two-dimensional and contiguous, with as many rows. Tokens beyond the mask are not allowed.
#[pyfunction]
#[pyo3(name = "_apply_rows")]
pub(crate) fn apply_rows(logits: &Bound<'_, PyAny>, mask: PyReadonlyArray2<'_, i32>) -> PyResult<()> {
    if let Ok(logits) = logits.cast::<PyArray2<f32>>() {
        apply(logits, &mask, f32::NEG_INFINITY)
    } else if let Ok(logits) = logits.cast::<PyArray2<f64>>() {
        apply(logits, &mask, f64::NEG_INFINITY)
    } else {
        Err(PyTypeError::new_err("expected logits as a two-dimensional array of float32 or float64"))
    }
}

fn apply<F: Element + Copy + Send>(
    logits: &Bound<'_, PyArray2<F>>,
    mask: &PyReadonlyArray2<'_, i32>,
    refused: F,
) -> PyResult<()> {
    let py = logits.py();
    let (n_rows, n_logits) = (logits.shape()[0], logits.shape()[1]);
    let n_words = mask.shape()[1];
    if mask.shape()[0] != n_rows {
        return Err(invalid(format!("{} rows of mask for {n_rows} of logits", mask.shape()[0])));
    }
    if n_rows == 0 || n_logits == 0 {
        return Ok(());
    }
    if !logits.is_c_contiguous() || !mask.is_c_contiguous() {
        return Err(invalid("the arrays are not contiguous"));
    }
    let mut logits = logits.try_readwrite().map_err(|error| invalid(error.to_string()))?;
    let logits = logits.as_slice_mut().map_err(|error| invalid(error.to_string()))?;
    let words: &[u32] = bytemuck::cast_slice(mask.as_slice().map_err(|error| invalid(error.to_string()))?);
    py.detach(|| {
        for (row, logits) in logits.chunks_exact_mut(n_logits).enumerate() {
            apply_row(logits, &words[row * n_words..][..n_words], refused);
        }
    });
    Ok(())
}

/// Most words are all ones or all zeros; those take no loop over bits. The loop over the others has no branch
/// and a known length, so that it compiles to vector instructions.
fn apply_row<F: Copy>(logits: &mut [F], words: &[u32], refused: F) {
    let n_covered = logits.len().min(words.len() * 32);
    let (covered, beyond) = logits.split_at_mut(n_covered);
    let (chunks, last) = covered.as_chunks_mut::<32>();
    for (chunk, &word) in chunks.iter_mut().zip(words) {
        match word {
            u32::MAX => {}
            0 => chunk.fill(refused),
            _ => mask_logits(chunk, word, refused),
        }
    }
    if let Some(&word) = words.get(chunks.len()) {
        mask_logits(last, word, refused);
    }
    beyond.fill(refused);
}

#[inline]
fn mask_logits<F: Copy>(logits: &mut [F], word: u32, refused: F) {
    for (bit, logit) in logits.iter_mut().enumerate() {
        *logit = if word >> bit & 1 == 0 { refused } else { *logit };
    }
}
