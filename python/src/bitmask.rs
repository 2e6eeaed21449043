//! Mask arguments: int32 arrays of one row a sequence, 32 tokens to a word, least significant bit first.
//!
//! A numpy array is checked and borrowed in place. A CPU tensor of torch is first asked for the numpy array
//! that shares its memory, which costs about a microsecond more.

use maskwright::mask_words;
use numpy::{
    BorrowError, PyArray2, PyArrayDescrMethods, PyArrayMethods, PyReadwriteArray2, PyUntypedArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyIndexError, PyRuntimeError, PyTypeError};
use pyo3::prelude::*;

use crate::arguments::{Count, Int};
use crate::errors::invalid;

/// A mask for each of `batch` sequences: an int32 array of shape (batch, ceil(vocab_size / 32)), all zero.
///
/// Token `i` of row `r` is bit `i % 32` of `mask[r, i // 32]`; set means allowed.
#[pyfunction]
pub(crate) fn allocate_token_bitmask(
    py: Python<'_>,
    batch: Count,
    vocab_size: Count,
) -> PyResult<Bound<'_, PyAny>> {
    let (Count(batch), Count(vocab_size)) = (batch, vocab_size);
    // Through numpy's own function, which raises MemoryError for absurd sizes.
    let numpy = py.import("numpy")?;
    numpy.call_method1("zeros", ((batch, mask_words(vocab_size)), "int32"))
}

/// Borrows a mask argument for writing.
///
/// # Errors
/// TypeError if it is no int32 array (or CPU tensor), ValueError if it is not two-dimensional, contiguous and
/// writeable, RuntimeError if another call is using it.
pub(crate) fn borrow<'py>(mask: &Bound<'py, PyAny>) -> PyResult<PyReadwriteArray2<'py, i32>> {
    let array = match mask.cast::<PyArray2<i32>>() {
        Ok(array) => array.clone(),
        Err(_) => from_other(mask)?,
    };
    if !array.is_c_contiguous() {
        return Err(invalid("the mask is not contiguous: make it with allocate_token_bitmask"));
    }
    array.try_readwrite().map_err(|error| match error {
        BorrowError::NotWriteable => invalid("the mask is a read-only array"),
        _ => PyRuntimeError::new_err("the mask is in use by another call"),
    })
}

/// One row of a borrowed mask, as words.
///
/// # Errors
/// IndexError if there is no such row.
pub(crate) fn row<'a>(mask: &'a mut PyReadwriteArray2<'_, i32>, row: Int) -> PyResult<&'a mut [u32]> {
    let Int(row) = row;
    let (n_rows, n_words) = (mask.shape()[0], mask.shape()[1]);
    let words = words(mask)?;
    match usize::try_from(row) {
        Ok(row) if row < n_rows => Ok(&mut words[row * n_words..][..n_words]),
        _ => Err(PyIndexError::new_err(format!("row {row} is not in a mask of {n_rows} rows"))),
    }
}

/// All rows of a borrowed mask, each of the width of the mask.
pub(crate) fn rows<'a>(mask: &'a mut PyReadwriteArray2<'_, i32>) -> PyResult<Vec<&'a mut [u32]>> {
    let (n_rows, n_words) = (mask.shape()[0], mask.shape()[1]);
    if n_words == 0 {
        return Ok((0..n_rows).map(|_| Default::default()).collect());
    }
    Ok(words(mask)?.chunks_exact_mut(n_words).collect())
}

fn words<'a>(mask: &'a mut PyReadwriteArray2<'_, i32>) -> PyResult<&'a mut [u32]> {
    let words = mask.as_slice_mut().map_err(|error| invalid(error.to_string()))?;
    Ok(bytemuck::cast_slice_mut(words))
}

/// Not a two-dimensional int32 array: a tensor that shares its memory with one, or an error that says what
/// is wrong.
fn from_other<'py>(mask: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<i32>>> {
    if let Ok(array) = mask.cast::<PyUntypedArray>() {
        return Err(wrong_array(array));
    }
    if !is_tensor(mask)? {
        return Err(PyTypeError::new_err(format!(
            "expected a mask as a numpy int32 array or a torch CPU tensor, not {}",
            mask.get_type().name()?
        )));
    }
    // Raises TypeError for a tensor on another device, saying so.
    let array = mask.call_method0("numpy")?;
    match array.cast_into::<PyArray2<i32>>() {
        Ok(array) => Ok(array),
        Err(error) => Err(wrong_array(error.into_inner().cast::<PyUntypedArray>()?)),
    }
}

fn wrong_array(array: &Bound<'_, PyUntypedArray>) -> PyErr {
    if array.dtype().is_equiv_to(&numpy::dtype::<i32>(array.py())) {
        invalid(format!("the mask has {} dimensions, expected 2: (batch, words)", array.ndim()))
    } else {
        PyTypeError::new_err(format!("the mask has dtype {}, expected int32", array.dtype()))
    }
}

/// Whether an object is a tensor of torch. Never imports torch: who has a tensor has done so.
fn is_tensor(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = object.py().import("sys")?.getattr("modules")?;
    let torch = modules.call_method1("get", ("torch",))?;
    match torch.getattr_opt("Tensor")? {
        Some(tensor) => object.is_instance(&tensor),
        None => Ok(false),
    }
}
