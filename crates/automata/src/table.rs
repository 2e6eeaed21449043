//! Append-only storage that is read without locks while it grows.
//!
//! Rows lie in blocks that are allocated once and never move, and the blocks in chunks of doubling size, so a
//! reader needs two loads to find a row and none of its references dies. A block is small: whoever makes a
//! state may be waiting for a mask, and a fresh page costs microseconds. Rejected: one growing vector behind
//! a reader-writer lock (readers contend on its counter), a pointer swapped on growth (needs `unsafe`), a
//! sharded hash map (a warm step is a handful of instructions here, a hash alone costs as much), chunks of
//! rows without blocks (one load less, and pauses of 10 ms where a store with 100,000 states grows).

use std::sync::OnceLock;

/// Rows in a block.
const BLOCK: usize = 64;
/// Blocks in the first chunk; chunk k has `FIRST << k`.
const FIRST: usize = 8;
/// Enough chunks for `u32` row numbers.
const N_CHUNKS: usize = 24;

type Block<T> = OnceLock<Box<[T]>>;

/// Rows, numbered from 0.
pub(crate) struct Rows<T> {
    chunks: [OnceLock<Box<[Block<T>]>>; N_CHUNKS],
}

impl<T: Default> Rows<T> {
    pub(crate) fn new() -> Rows<T> {
        Rows { chunks: [const { OnceLock::new() }; N_CHUNKS] }
    }

    /// The row, if its block exists. O(1), lock-free.
    #[inline]
    pub(crate) fn get(&self, row: usize) -> Option<&T> {
        let (chunk, offset) = locate(row / BLOCK);
        self.chunks.get(chunk)?.get()?.get(offset)?.get()?.get(row % BLOCK)
    }

    /// The row; makes its block, of default rows, if need be.
    pub(crate) fn get_or_grow(&self, row: usize) -> &T {
        let (chunk, offset) = locate(row / BLOCK);
        let blocks = self.chunks[chunk].get_or_init(|| defaults(FIRST << chunk));
        &blocks[offset].get_or_init(|| defaults(BLOCK))[row % BLOCK]
    }
}

fn defaults<T: Default>(n: usize) -> Box<[T]> {
    std::iter::repeat_with(T::default).take(n).collect()
}

/// The chunk of a block and its place there.
#[inline]
fn locate(block: usize) -> (usize, usize) {
    let shifted = block + FIRST;
    let chunk = (shifted.ilog2() - FIRST.ilog2()) as usize;
    (chunk, shifted - (FIRST << chunk))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_have_places_of_their_own() {
        let mut next = (0, 0);
        for block in 0..10_000 {
            assert_eq!(locate(block), next);
            next.1 += 1;
            if next.1 == FIRST << next.0 {
                next = (next.0 + 1, 0);
            }
        }
        assert!(locate(u32::MAX as usize / BLOCK).0 < N_CHUNKS);
    }

    #[test]
    fn rows_keep_what_was_stored() {
        let rows: Rows<OnceLock<usize>> = Rows::new();
        assert!(rows.get(5).is_none());
        for row in 0..1_000 {
            rows.get_or_grow(row).set(row * 3).unwrap();
        }
        for row in 0..1_000 {
            assert_eq!(rows.get(row).unwrap().get(), Some(&(row * 3)));
        }
    }
}
