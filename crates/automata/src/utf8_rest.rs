//! How a character goes on behind its first byte.

use std::ops::RangeInclusive;

/// What is left of a character in UTF-8: the range of its next byte, and how many bytes come behind.
///
/// ```
/// use maskwright_automata::Utf8Rest;
/// // The euro sign, E2 82 AC.
/// let rest = Utf8Rest::after(0xE2).unwrap();
/// assert!(rest.range().contains(&0x82));
/// let rest = rest.next().unwrap();
/// assert!(rest.range().contains(&0xAC) && rest.next().is_none());
/// assert!(Utf8Rest::after(b'a').is_none() && Utf8Rest::after(0xC0).is_none());
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Utf8Rest {
    low: u8,
    high: u8,
    n_more: u8,
}

impl Utf8Rest {
    /// What follows `lead`; `None` if no character of several bytes begins with it.
    pub fn after(lead: u8) -> Option<Utf8Rest> {
        let (low, high, n_more) = match lead {
            0xC2..=0xDF => (0x80, 0xBF, 0),
            0xE0 => (0xA0, 0xBF, 1),
            0xED => (0x80, 0x9F, 1),
            0xE1..=0xEF => (0x80, 0xBF, 1),
            0xF0 => (0x90, 0xBF, 2),
            0xF1..=0xF3 => (0x80, 0xBF, 2),
            0xF4 => (0x80, 0x8F, 2),
            _ => return None,
        };
        Some(Utf8Rest { low, high, n_more })
    }

    /// The bytes that may come next.
    pub fn range(self) -> RangeInclusive<u8> {
        self.low..=self.high
    }

    /// What is left behind the next byte; `None` if the character ends with it.
    #[allow(clippy::should_implement_trait, reason = "a value is read from, not used up")]
    pub fn next(self) -> Option<Utf8Rest> {
        let n_more = self.n_more.checked_sub(1)?;
        Some(Utf8Rest { low: 0x80, high: 0xBF, n_more })
    }
}
