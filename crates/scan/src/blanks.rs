//! How wide the line in progress is, seen from a place within it.
//!
//! A token of the line's end may have begun before the bytes in hand. So its blanks are counted from where
//! they begin ([`Blanks::More`]), and whoever knows what was before adds that ([`Blanks::line`],
//! [`Blanks::after_bytes`]).
//!
//! ```
//! use maskwright_grammar::Tabs;
//! use maskwright_scan::Blanks;
//! let mut blanks = Blanks::More(0);
//! for byte in *b"  " {
//!     blanks = blanks.after(byte, Tabs::Apart);
//! }
//! assert_eq!(blanks, Blanks::More(2));
//! assert_eq!(blanks.line(Some(4)), Some(6));
//! assert_eq!(blanks.after(b'\n', Tabs::Apart), Blanks::Known(0));
//! ```

use maskwright_grammar::{Tabs, blanks_after};

/// The blanks since the last newline character of the lexer's token in progress.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Blanks {
    /// There is no newline character in it.
    None,
    /// So many columns; the newline character is among the bytes in hand.
    Known(u32),
    /// So many columns more than before the bytes in hand, if there was a newline character.
    More(u32),
}

impl Blanks {
    /// The same after one more byte of the token.
    #[inline]
    pub fn after(self, byte: u8, tabs: Tabs) -> Blanks {
        match self {
            Blanks::More(width) if byte != b'\n' => {
                Blanks::More(blanks_after(Some(width), byte, tabs).unwrap_or(width))
            }
            Blanks::Known(width) => blanks_after(Some(width), byte, tabs).map_or(self, Blanks::Known),
            _ if byte == b'\n' => Blanks::Known(0),
            _ => self,
        }
    }

    /// The line of a thread that had `before`.
    #[inline]
    pub fn line(self, before: Option<u32>) -> Option<u32> {
        match self {
            Blanks::None => None,
            Blanks::Known(width) => Some(width),
            Blanks::More(width) => before.map(|before| before.saturating_add(width)),
        }
    }

    /// The same over more bytes, with `before` as what the bytes before them made.
    #[inline]
    pub fn after_bytes(self, before: Blanks) -> Blanks {
        match (self, before) {
            (Blanks::More(_), Blanks::None) => Blanks::None,
            (Blanks::More(width), Blanks::Known(before)) => Blanks::Known(before.saturating_add(width)),
            (Blanks::More(width), Blanks::More(before)) => Blanks::More(before.saturating_add(width)),
            (Blanks::None | Blanks::Known(_), _) => self,
        }
    }
}
