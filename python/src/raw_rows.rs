//! A mask given as the address of its memory, for callers whose buffer is no array (pinned memory, a buffer
//! shared with another process).
//!
//! The one module with unsafe code: an address from Python becomes a slice. What can be checked is checked
//! here; that the memory is there, and used by nobody else during the call, is the promise of the Python
//! caller, as with `ctypes`.

use crate::errors::invalid;
use pyo3::prelude::*;

/// The rows of a mask at `address`: `n_rows` rows, `stride` bytes from one to the next, `n_words` 32-bit
/// words each.
///
/// The Python caller promises that the memory from `address` to the end of the last row's words is
/// initialised, writeable, and used by nobody else until the rows are dropped.
///
/// # Errors
/// ValueError if the address is null or not a multiple of 4, if the stride is not a multiple of 4 or is less
/// than a row, or if the rows reach beyond the address space.
#[allow(unsafe_code, reason = "an address handed over by Python has to become a slice somewhere")]
pub(crate) fn rows<'a>(
    address: usize,
    stride: usize,
    n_rows: usize,
    n_words: usize,
) -> PyResult<Vec<&'a mut [u32]>> {
    const WORD: usize = size_of::<u32>();
    if address == 0 || !address.is_multiple_of(WORD) {
        return Err(invalid(format!("the pointer is {address:#x}, expected a multiple of {WORD} and not 0")));
    }
    if !stride.is_multiple_of(WORD) || stride / WORD < n_words {
        return Err(invalid(format!(
            "the stride is {stride} bytes, expected a multiple of {WORD} and at least {} for the vocabulary",
            n_words * WORD
        )));
    }
    let Some(n_gaps) = n_rows.checked_sub(1).filter(|_| n_words > 0) else {
        return Ok((0..n_rows).map(|_| Default::default()).collect());
    };
    let n_bytes = n_gaps
        .checked_mul(stride)
        .and_then(|n_bytes| n_bytes.checked_add(n_words * WORD))
        .filter(|&n_bytes| n_bytes <= isize::MAX as usize && address.checked_add(n_bytes).is_some())
        .ok_or_else(|| invalid(format!("{n_rows} rows of {stride} bytes reach beyond the address space")))?;
    // SAFETY: the pointer is not null and aligned for u32 (checked above), the slice takes at most
    // isize::MAX bytes and does not wrap around the address space (checked above); every bit pattern is a
    // u32. That the memory is there, initialised and not aliased for the lifetime of the slice is the
    // documented promise of the Python caller.
    let all: &'a mut [u32] = unsafe { std::slice::from_raw_parts_mut(address as *mut u32, n_bytes / WORD) };
    Ok(all.chunks_mut(stride / WORD).map(|row| &mut row[..n_words]).collect())
}
