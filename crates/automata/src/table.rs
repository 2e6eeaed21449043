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

/// Rows of `width` cells each, numbered from 0.
pub(crate) struct Rows<T> {
    chunks: [OnceLock<Box<[T]>>; N_CHUNKS],
    width: usize,
}

impl<T: Default> Rows<T> {
    pub(crate) fn new(width: usize) -> Rows<T> {
        Rows { chunks: [const { OnceLock::new() }; N_CHUNKS], width }
    }

    /// The cell, if its row's chunk exists. O(1), lock-free.
    #[inline]
    pub(crate) fn get(&self, row: usize, column: usize) -> Option<&T> {
        debug_assert!(column < self.width);
        let (chunk, offset) = locate(row);
        self.chunks.get(chunk)?.get()?.get(offset * self.width + column)
    }

    /// The cell; makes its row's chunk, of default cells, if need be.
    pub(crate) fn get_or_grow(&self, row: usize, column: usize) -> &T {
        let (chunk, offset) = locate(row);
        let cells = self.chunks[chunk]
            .get_or_init(|| std::iter::repeat_with(T::default).take((FIRST << chunk) * self.width).collect());
        &cells[offset * self.width + column]
    }

    /// The bytes that the cells of the first `n_rows` rows take.
    pub(crate) fn memory_of(&self, n_rows: usize) -> usize {
        n_rows * self.width * size_of::<T>()
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
    fn cells_keep_what_was_stored() {
        let rows: Rows<OnceLock<usize>> = Rows::new(3);
        assert!(rows.get(5, 1).is_none());
        for row in 0..100 {
            for column in 0..3 {
                rows.get_or_grow(row, column).set(row * 3 + column).unwrap();
            }
        }
        for row in 0..100 {
            for column in 0..3 {
                assert_eq!(rows.get(row, column).unwrap().get(), Some(&(row * 3 + column)));
            }
        }
    }
}
