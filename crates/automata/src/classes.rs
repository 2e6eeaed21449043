//! The partition of the 256 bytes into those that a residue cannot tell apart.
//!
//! Two bytes of one class step a residue to the same residue, because a derivative only ever tests the byte
//! against the residue's leading sets. Transition rows then have a cell per class (often 2 to 15) instead of
//! 256.
//!
//! Bytes are first cut into intervals where some set changes (a few word operations per set), then intervals
//! in the same sets are joined, 64 sets at a time. Cost: O(sets × intervals) bit tests.

use rustc_hash::{FxBuildHasher, FxHashMap};

use crate::ByteSet;

/// Classes of bytes, numbered by their least byte.
pub(crate) struct Classes {
    class_of: [u8; 256],
    sets: Vec<ByteSet>,
}

impl Classes {
    /// The coarsest partition that every one of `sets`, and every byte of `singles` alone, is a union of.
    pub(crate) fn new(sets: &[ByteSet], singles: &ByteSet) -> Classes {
        let mut starts = ByteSet::singleton(0);
        for set in sets {
            starts = starts.union(&set.changes());
        }
        for byte in singles.iter() {
            starts.insert(byte);
            if let Some(next) = byte.checked_add(1) {
                starts.insert(next);
            }
        }
        let starts: Vec<u8> = starts.iter().collect();
        // Singles are classes already: start them apart, and everything else together.
        let mut class_of_interval: Vec<u32> = starts
            .iter()
            .map(|&start| if singles.contains(start) { u32::from(start) + 1 } else { 0 })
            .collect();
        for sets in sets.chunks(64) {
            let mut known: FxHashMap<(u32, u64), u32> =
                FxHashMap::with_capacity_and_hasher(starts.len(), FxBuildHasher);
            for (class, &start) in class_of_interval.iter_mut().zip(&starts) {
                let signature = sets
                    .iter()
                    .enumerate()
                    .fold(0, |bits, (i, set)| bits | u64::from(set.contains(start)) << i);
                let fresh = known.len() as u32;
                *class = *known.entry((*class, signature)).or_insert(fresh);
            }
        }
        // By first occurrence; the numbers so far are at most 256.
        let mut numbers: [Option<u8>; 257] = [None; 257];
        let mut classes = Classes { class_of: [0; 256], sets: Vec::with_capacity(starts.len()) };
        for (i, &start) in starts.iter().enumerate() {
            let end = starts.get(i + 1).map_or(255, |&next| next - 1);
            let class = *numbers[class_of_interval[i] as usize].get_or_insert_with(|| {
                classes.sets.push(ByteSet::EMPTY);
                (classes.sets.len() - 1) as u8
            });
            classes.class_of[usize::from(start)..=usize::from(end)].fill(class);
            let set = &mut classes.sets[usize::from(class)];
            *set = set.union(&ByteSet::range(start, end));
        }
        classes
    }

    /// By byte, the number of its class.
    #[inline]
    pub(crate) fn class_of(&self) -> &[u8; 256] {
        &self.class_of
    }

    /// The classes, by number.
    pub(crate) fn sets(&self) -> &[ByteSet] {
        &self.sets
    }

    /// How many classes there are, at least 1.
    pub(crate) fn len(&self) -> usize {
        self.sets.len()
    }

    /// The class of `byte`.
    #[inline]
    pub(crate) fn of(&self, byte: u8) -> u8 {
        self.class_of[usize::from(byte)]
    }

    /// About how many bytes this takes.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Classes>() + size_of_val(&*self.sets)
    }

    /// The bytes of `class`.
    pub(crate) fn set(&self, class: u8) -> &ByteSet {
        &self.sets[usize::from(class)]
    }

    /// The least byte of `class`; ascending with the class.
    pub(crate) fn representative(&self, class: u8) -> u8 {
        self.sets[usize::from(class)].first().unwrap_or(0)
    }

    /// All classes, by ascending least byte.
    pub(crate) fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        (0..self.sets.len()).map(|class| class as u8)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_set() -> impl Strategy<Value = ByteSet> {
        proptest::collection::vec((any::<u8>(), 0u8..60), 0..4).prop_map(|ranges| {
            ranges
                .into_iter()
                .fold(ByteSet::EMPTY, |set, (low, n)| set.union(&ByteSet::range(low, low.saturating_add(n))))
        })
    }

    proptest! {
        #[test]
        fn bytes_share_a_class_exactly_if_no_set_tells_them_apart(
            sets in proptest::collection::vec(any_set(), 0..100),
            singles in proptest::collection::vec(any::<u8>(), 0..10),
        ) {
            let singles: ByteSet = singles.into_iter().collect();
            let classes = Classes::new(&sets, &singles);
            let of = |byte: u8| classes.of(byte);
            for a in 0..=255u8 {
                prop_assert!(classes.set(of(a)).contains(a));
                for b in 0..=255u8 {
                    let alike = sets.iter().all(|set| set.contains(a) == set.contains(b))
                        && (a == b || !(singles.contains(a) || singles.contains(b)));
                    prop_assert_eq!(alike, of(a) == of(b), "{} {}", a, b);
                }
            }
            let least: Vec<u8> = classes.iter().map(|class| classes.representative(class)).collect();
            prop_assert!(least.is_sorted());
        }
    }
}
