//! Append-only storage that is read without locks while it grows.
//!
//! Rows lie in chunks of doubling size, each allocated once and never moved, so a reader needs one atomic
//! load to find the chunk and none of its references dies. Rejected: one growing vector behind a
//! reader-writer lock (readers contend on its counter), a pointer swapped on growth (needs `unsafe`), a
//! sharded hash map (a warm step is a handful of instructions here, a hash alone costs as much).

use std::sync::OnceLock;

/// Rows in the first chunk; chunk k has `FIRST << k`.
const FIRST: usize = 8;
/// Enough chunks for `u32` row numbers.
const N_CHUNKS: usize = 30;

/// Rows, numbered from 0.
pub(crate) struct Rows<T> {
    chunks: [OnceLock<Box<[T]>>; N_CHUNKS],
}

impl<T: Default> Rows<T> {
    pub(crate) fn new() -> Rows<T> {
        Rows { chunks: [const { OnceLock::new() }; N_CHUNKS] }
    }

    /// The row, if its chunk exists. O(1), lock-free.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&T> {
        let (chunk, offset) = locate(row);
        self.chunks.get(chunk)?.get()?.get(offset)
    }

    /// The row; makes its chunk, of default rows, if need be.
    pub(crate) fn get_or_grow(&self, row: usize) -> &T {
        let (chunk, offset) = locate(row);
        let rows = self.chunks[chunk]
            .get_or_init(|| std::iter::repeat_with(T::default).take(FIRST << chunk).collect());
        &rows[offset]
    }
}

#[inline]
fn locate(row: usize) -> (usize, usize) {
    let shifted = row + FIRST;
    let chunk = (shifted.ilog2() - FIRST.ilog2()) as usize;
    (chunk, shifted - (FIRST << chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_places_of_their_own() {
        let mut next = (0, 0);
        for row in 0..10_000 {
            assert_eq!(locate(row), next);
            next.1 += 1;
            if next.1 == FIRST << next.0 {
                next = (next.0 + 1, 0);
            }
        }
        assert!(locate(u32::MAX as usize).0 < N_CHUNKS);
    }

    #[test]
    fn rows_keep_what_was_stored() {
        let rows: Rows<OnceLock<usize>> = Rows::new();
        assert!(rows.get(5).is_none());
        for row in 0..100 {
            rows.get_or_grow(row).set(row * 3).unwrap();
        }
        for row in 0..100 {
            assert_eq!(rows.get(row).unwrap().get(), Some(&(row * 3)));
        }
    }
}
