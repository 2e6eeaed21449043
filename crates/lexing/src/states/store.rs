//! Append-only storage that is read without locks while it grows.
//!
//! Elements lie in chunks of doubling size, each allocated once and never moved, so a reader needs one atomic
//! load to find the chunk, and references to elements stay good.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Elements in the first chunk; chunk k has `FIRST << k`.
const FIRST: usize = 64;
/// Enough chunks for `u32` numbers.
const N_CHUNKS: usize = 27;

/// Elements of `T`, each set at most once.
pub(crate) struct Slots<T> {
    chunks: [OnceLock<Box<[OnceLock<T>]>>; N_CHUNKS],
}

impl<T> Slots<T> {
    pub(crate) fn new() -> Slots<T> {
        Slots { chunks: [const { OnceLock::new() }; N_CHUNKS] }
    }

    /// The element, if it was set. O(1), lock-free.
    pub(crate) fn get(&self, index: usize) -> Option<&T> {
        let (chunk, offset) = locate(index);
        self.chunks.get(chunk)?.get()?.get(offset)?.get()
    }

    /// The place of the element.
    pub(crate) fn slot(&self, index: usize) -> &OnceLock<T> {
        let (chunk, offset) = locate(index);
        let cells = self.chunks[chunk].get_or_init(|| (0..FIRST << chunk).map(|_| OnceLock::new()).collect());
        &cells[offset]
    }
}

/// Rows of `width` numbers, 0 at first.
pub(crate) struct Cells {
    chunks: [OnceLock<Box<[AtomicU32]>>; N_CHUNKS],
    width: usize,
}

impl Cells {
    pub(crate) fn new(width: usize) -> Cells {
        Cells { chunks: [const { OnceLock::new() }; N_CHUNKS], width }
    }

    /// The number; 0 if it was never set. O(1), lock-free.
    #[inline]
    pub(crate) fn get(&self, row: usize, column: usize) -> u32 {
        let (chunk, offset) = locate(row);
        let Some(cells) = self.chunks.get(chunk).and_then(OnceLock::get) else { return 0 };
        cells.get(offset * self.width + column).map_or(0, |cell| cell.load(Ordering::Acquire))
    }

    /// The numbers of a row; 0 where one was never set. Lock-free.
    pub(crate) fn copy_row(&self, row: usize, to: &mut [u32]) {
        let (chunk, offset) = locate(row);
        let Some(cells) = self.chunks.get(chunk).and_then(OnceLock::get) else { return to.fill(0) };
        for (to, cell) in to.iter_mut().zip(&cells[offset * self.width..]) {
            *to = cell.load(Ordering::Acquire);
        }
    }

    pub(crate) fn set(&self, row: usize, column: usize, value: u32) {
        let (chunk, offset) = locate(row);
        let cells = self.chunks[chunk]
            .get_or_init(|| (0..(FIRST << chunk) * self.width).map(|_| AtomicU32::new(0)).collect());
        cells[offset * self.width + column].store(value, Ordering::Release);
    }

    /// The bytes that the first `n_rows` rows take.
    pub(crate) fn memory_of(&self, n_rows: usize) -> usize {
        n_rows * self.width * size_of::<AtomicU32>()
    }
}

#[inline]
fn locate(index: usize) -> (usize, usize) {
    let shifted = index + FIRST;
    let chunk = (shifted.ilog2() - FIRST.ilog2()) as usize;
    (chunk, shifted - (FIRST << chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_have_places_of_their_own() {
        let (slots, cells) = (Slots::new(), Cells::new(3));
        for index in 0..1_000 {
            assert!(slots.get(index).is_none());
            slots.slot(index).set(index).unwrap();
            for column in 0..3 {
                assert_eq!(cells.get(index, column), 0);
                cells.set(index, column, (index * 3 + column + 1) as u32);
            }
        }
        for index in 0..1_000 {
            assert_eq!(slots.get(index), Some(&index));
            assert!((0..3).all(|column| cells.get(index, column) == (index * 3 + column + 1) as u32));
            let mut row = [0; 3];
            cells.copy_row(index, &mut row);
            assert_eq!(row, [1, 2, 3].map(|column| (index * 3) as u32 + column));
        }
        assert!(locate(u32::MAX as usize).0 < N_CHUNKS);
    }
}
