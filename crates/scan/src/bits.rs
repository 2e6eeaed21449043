//! Sets of terminals as bits: what masks and limits unite and compare by the word.
//!
//! The bit after the last terminal's stands for the end of the text; one more is for whoever keeps such sets
//! ([`n_words`]).

/// A set of terminals, 64 to a word.
pub type Bits = Box<[u64]>;

/// The words of a set: a bit for each terminal, one for the end of the text, and one more.
pub fn n_words(n_terminals: usize) -> usize {
    (n_terminals + 2).div_ceil(64)
}

/// Adds `other` to `set`; whether that changed anything.
#[inline]
pub fn unite(set: &mut [u64], other: &[u64]) -> bool {
    let mut has_grown = false;
    for (word, other) in set.iter_mut().zip(other) {
        has_grown |= other & !*word != 0;
        *word |= other;
    }
    has_grown
}

/// Adds a bit.
#[inline]
pub fn insert(set: &mut [u64], bit: usize) {
    set[bit / 64] |= 1 << (bit % 64);
}

/// Removes a bit.
#[inline]
pub fn remove(set: &mut [u64], bit: usize) {
    set[bit / 64] &= !(1 << (bit % 64));
}

/// Removes `other` from `set`.
#[inline]
pub fn subtract(set: &mut [u64], other: &[u64]) {
    for (word, other) in set.iter_mut().zip(other) {
        *word &= !other;
    }
}

/// Whether a bit is set.
#[inline]
pub fn contains(set: &[u64], bit: usize) -> bool {
    set[bit / 64] >> (bit % 64) & 1 == 1
}

/// Whether both have a bit.
#[inline]
pub fn intersects(set: &[u64], other: &[u64]) -> bool {
    set.iter().zip(other).any(|(word, other)| word & other != 0)
}

/// Whether both have something that is not in `excluded`.
#[inline]
pub fn intersects_outside(set: &[u64], other: &[u64], excluded: &[u64]) -> bool {
    set.iter().zip(other).zip(excluded).any(|((word, other), excluded)| word & other & !excluded != 0)
}

/// Whether `other` has all of `set`.
#[inline]
pub fn is_subset(set: &[u64], other: &[u64]) -> bool {
    set.iter().zip(other).all(|(word, other)| word & !other == 0)
}

/// The set bits.
#[inline]
pub fn ones(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(index, &word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit)
    })
}
