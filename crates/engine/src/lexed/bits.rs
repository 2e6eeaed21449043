//! Sets of terminals as bits.

/// Sets of terminals as bits; the bit after the last terminal's stands for the end of the text.
pub(crate) type Bits = Box<[u64]>;

/// Adds `other` to `set`; whether that changed anything.
pub(crate) fn unite(set: &mut [u64], other: &[u64]) -> bool {
    let mut has_grown = false;
    for (word, other) in set.iter_mut().zip(other) {
        has_grown |= other & !*word != 0;
        *word |= other;
    }
    has_grown
}

pub(crate) fn insert(set: &mut [u64], bit: usize) {
    set[bit / 64] |= 1 << (bit % 64);
}

pub(crate) fn remove(set: &mut [u64], bit: usize) {
    set[bit / 64] &= !(1 << (bit % 64));
}

/// Takes `other` out of `set`.
pub(crate) fn subtract(set: &mut [u64], other: &[u64]) {
    for (word, other) in set.iter_mut().zip(other) {
        *word &= !other;
    }
}

pub(crate) fn contains(set: &[u64], bit: usize) -> bool {
    set[bit / 64] >> (bit % 64) & 1 == 1
}

pub(crate) fn intersects(set: &[u64], other: &[u64]) -> bool {
    set.iter().zip(other).any(|(word, other)| word & other != 0)
}

/// Whether both have something that is not in `excluded`.
pub(crate) fn intersects_outside(set: &[u64], other: &[u64], excluded: &[u64]) -> bool {
    set.iter().zip(other).zip(excluded).any(|((word, other), excluded)| word & other & !excluded != 0)
}

pub(crate) fn is_subset(set: &[u64], other: &[u64]) -> bool {
    set.iter().zip(other).all(|(word, other)| word & !other == 0)
}

/// The set bits.
pub(crate) fn ones(set: &[u64]) -> impl Iterator<Item = usize> + '_ {
    set.iter().enumerate().flat_map(|(index, &word)| {
        (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| index * 64 + bit)
    })
}
