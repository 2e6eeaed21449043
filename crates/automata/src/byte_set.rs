//! A set of bytes as 256 bits.

use std::fmt;

/// A set of bytes.
///
/// # Example: a range
///
/// ```
/// # mod maskwright { pub use maskwright_automata as grammar; }
/// use maskwright::grammar::ByteSet;
/// let digits = ByteSet::range(b'0', b'9');
/// assert!(digits.contains(b'7') && !digits.contains(b'a'));
/// assert_eq!(digits.len(), 10);
/// ```
///
/// # Example: sets of sets
///
/// ```
/// # mod maskwright { pub use maskwright_automata as grammar; }
/// use maskwright::grammar::ByteSet;
/// let letters = ByteSet::range(b'a', b'z').union(&ByteSet::range(b'A', b'Z'));
/// let vowels = b"aeiou".iter().fold(ByteSet::EMPTY, |set, &vowel| set.union(&ByteSet::singleton(vowel)));
/// let consonants = letters.intersection(&vowels.complement());
/// assert!(consonants.contains(b'b') && !consonants.contains(b'e') && !consonants.contains(b'1'));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const EMPTY: ByteSet = ByteSet([0; 4]);
    /// All 256 bytes.
    pub const FULL: ByteSet = ByteSet([u64::MAX; 4]);

    /// Just `byte`.
    pub const fn singleton(byte: u8) -> ByteSet {
        let mut words = [0; 4];
        words[(byte >> 6) as usize] = 1 << (byte & 63);
        ByteSet(words)
    }

    /// The bytes from `low` to `high`, both included; empty if `low > high`.
    pub fn range(low: u8, high: u8) -> ByteSet {
        if low > high {
            return ByteSet::EMPTY;
        }
        // Of each word, the bits not below `low` and not above `high`.
        ByteSet(std::array::from_fn(|i| {
            let first = i as u32 * 64;
            let (low, high) = (u32::from(low), u32::from(high));
            if high < first || low > first + 63 {
                return 0;
            }
            u64::MAX << low.saturating_sub(first) & u64::MAX >> (first + 63).saturating_sub(high)
        }))
    }

    /// Whether `byte` is in the set.
    #[inline]
    pub const fn contains(&self, byte: u8) -> bool {
        self.0[(byte >> 6) as usize] >> (byte & 63) & 1 != 0
    }

    /// Adds `byte`.
    #[inline]
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Takes `byte` away.
    pub fn remove(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] &= !(1 << (byte & 63));
    }

    /// The bytes in either set.
    #[must_use]
    pub fn union(&self, other: &ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    /// The bytes in both sets.
    #[must_use]
    pub fn intersection(&self, other: &ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }

    /// The bytes not in the set.
    #[must_use]
    pub fn complement(&self) -> ByteSet {
        ByteSet(self.0.map(|word| !word))
    }

    /// Whether the sets share a byte.
    pub fn intersects(&self, other: &ByteSet) -> bool {
        (0..4).any(|i| self.0[i] & other.0[i] != 0)
    }

    /// Whether every byte of this set is in `other`.
    pub fn is_subset(&self, other: &ByteSet) -> bool {
        (0..4).all(|i| self.0[i] & !other.0[i] == 0)
    }

    /// Whether no byte is in the set.
    pub fn is_empty(&self) -> bool {
        self.0 == [0; 4]
    }

    /// How many bytes are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// The least byte of the set.
    pub fn first(&self) -> Option<u8> {
        self.iter().next()
    }

    /// The bytes `b` with exactly one of `b - 1` and `b` in the set; 0 if it is in the set.
    pub(crate) fn changes(&self) -> ByteSet {
        let mut carry = 0;
        ByteSet(self.0.map(|word| {
            let shifted = word << 1 | carry;
            carry = word >> 63;
            word ^ shifted
        }))
    }

    /// The byte of a set with one byte.
    pub fn as_singleton(&self) -> Option<u8> {
        if self.len() == 1 { self.first() } else { None }
    }

    /// The bytes in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u8> + use<> {
        let words = self.0;
        (0..4u8).flat_map(move |i| {
            let mut word = words[usize::from(i)];
            std::iter::from_fn(move || {
                if word == 0 {
                    return None;
                }
                let bit = word.trailing_zeros() as u8;
                word &= word - 1;
                Some(i * 64 + bit)
            })
        })
    }
}

impl Extend<u8> for ByteSet {
    fn extend<I: IntoIterator<Item = u8>>(&mut self, bytes: I) {
        for byte in bytes {
            self.insert(byte);
        }
    }
}

impl FromIterator<u8> for ByteSet {
    fn from_iter<I: IntoIterator<Item = u8>>(bytes: I) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        for byte in bytes {
            set.insert(byte);
        }
        set
    }
}

impl fmt::Debug for ByteSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = self.iter().peekable();
        write!(f, "[")?;
        while let Some(low) = bytes.next() {
            let mut high = low;
            while bytes.peek() == Some(&(high.wrapping_add(1))) && high != 255 {
                high = bytes.next().expect("peeked");
            }
            write!(f, "{}", std::ascii::escape_default(low))?;
            if high > low {
                write!(f, "-{}", std::ascii::escape_default(high))?;
            }
        }
        write!(f, "]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_the_bytes_between() {
        for low in 0..=255 {
            for high in 0..=255 {
                let range = ByteSet::range(low, high);
                assert!((0..=255).all(|byte| range.contains(byte) == (low <= byte && byte <= high)));
                assert_eq!(range.len(), (low..=high).count());
            }
        }
    }

    #[test]
    fn changes_are_where_membership_flips() {
        let set: ByteSet = [0, 1, 5, 63, 64, 127, 200, 255].into_iter().collect();
        for byte in 0..=255u8 {
            let before = byte.checked_sub(1).is_some_and(|before| set.contains(before));
            assert_eq!(set.changes().contains(byte), before != set.contains(byte));
        }
    }
}
