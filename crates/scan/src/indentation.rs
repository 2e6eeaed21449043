//! Where a reading is in the indentation of a text ([`Layout`]).
//!
//! A token of the line's end has a width: the number of blanks after its last newline character. What it does
//! to the blocks around depends on widths of lines far before it. The parser knows those. The lexer's part is
//! to count, and to stop: after such a token it continues only when the parser has got the indents and
//! dedents that are due.
//!
//! A newline token may continue after the blanks, as Python's does through comments. If another newline
//! character follows, the count is void. Whether one follows is guessed at the first such byte:
//! [`Indent::None`] if one does, [`Indent::Last`] if none does. Otherwise each comment would have one reading
//! for each number of blanks in it.
//!
//! Tabs that count apart ([`Tabs::Apart`]) do not indent here: widths are compared as numbers, and theirs are
//! not. So no line outside of brackets begins with one.
//!
//! Widths in hypotheses are relative to the place where a step begins, so there is one hypothesis for all
//! widths; who steps it knows the rest.

use maskwright_grammar::{Layout, Tabs, TerminalId, blanks_after};

use crate::carry::Carry;

/// A width that fits every width. No text is that wide.
pub const ANY_WIDTH: u32 = u32::MAX;

/// A width greater than those that are counted.
pub const WIDE: u32 = u32::MAX - 1;

/// The greatest width.
pub const MAX_WIDTH: u32 = u32::MAX - 2;

/// The blanks after a newline character.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Width {
    /// So many more than where one came from.
    More(u32),
    /// So many.
    Known(u32),
    /// More than are counted.
    Wide,
    /// Some number.
    Any,
}

impl Width {
    /// Where one comes from.
    pub const HERE: Width = Width::More(0);

    /// The width itself, for one who comes from `base`.
    pub fn from(self, base: u32) -> u32 {
        match self {
            Width::More(_) if base > MAX_WIDTH => base,
            Width::More(more) => base.saturating_add(more).min(MAX_WIDTH),
            Width::Known(width) => width.min(MAX_WIDTH),
            Width::Wide => WIDE,
            Width::Any => ANY_WIDTH,
        }
    }

    /// The width where those up to `counted` are counted, or none are.
    fn counted(self, counted: Option<u32>) -> Width {
        match (self, counted) {
            (_, None) => Width::Any,
            (Width::More(width) | Width::Known(width), Some(counted)) if width > counted => Width::Wide,
            _ => self,
        }
    }

    /// After one more byte, which is a blank.
    fn wider(self, byte: u8, tabs: Tabs) -> Width {
        let wider = |width| blanks_after(Some(width), byte, tabs).unwrap_or(width);
        match self {
            Width::More(more) => Width::More(wider(more)),
            Width::Known(width) => Width::Known(wider(width)),
            Width::Wide | Width::Any => self,
        }
    }
}

/// Where a reading is in the indentation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Indent {
    /// Nothing is counted.
    None,
    /// The token in progress may become one of the line's end, with so many blanks since its last newline
    /// character.
    Blanks(Width),
    /// The same, and no newline character comes any more.
    Last(Width),
    /// Such a token has ended, and the parser has not got what that does to the blocks.
    Ended(Width),
    /// The same, and it has ended some blocks.
    Fell(Width),
    /// Such a token has ended within brackets.
    Within,
    /// The text has ended, but not all blocks.
    TextEnded,
    /// The text has ended.
    Over,
}

impl Indent {
    /// The width that counts here, if one does.
    pub fn width(self) -> Option<Width> {
        match self {
            Indent::Blanks(width) | Indent::Last(width) | Indent::Ended(width) | Indent::Fell(width) => {
                Some(width)
            }
            Indent::None | Indent::Within | Indent::TextEnded | Indent::Over => None,
        }
    }

    /// The same place with another width.
    pub fn with_width(self, width: Width) -> Indent {
        match self {
            Indent::Blanks(_) => Indent::Blanks(width),
            Indent::Last(_) => Indent::Last(width),
            Indent::Ended(_) => Indent::Ended(width),
            Indent::Fell(_) => Indent::Fell(width),
            Indent::None | Indent::Within | Indent::TextEnded | Indent::Over => self,
        }
    }

    /// The same place, where widths up to `counted` are counted, or none are.
    pub fn counted(self, counted: Option<u32>) -> Indent {
        self.width().map_or(self, |width| self.with_width(width.counted(counted)))
    }

    /// Within a token that may become one of the line's end: the places after one more byte of it.
    fn after_byte(self, byte: u8, layout: &Layout) -> Vec<Indent> {
        let is_blank = matches!(byte, b' ' | b'\t');
        let is_apart = byte == b'\t' && layout.tabs == Tabs::Apart;
        match self {
            Indent::Last(_) if byte == b'\n' => Vec::new(),
            _ if byte == b'\n' => vec![Indent::Blanks(Width::Known(0))],
            Indent::Blanks(_) if is_apart => vec![Indent::None],
            Indent::Last(_) if is_apart => Vec::new(),
            Indent::Blanks(width) if is_blank => vec![Indent::Blanks(width.wider(byte, layout.tabs))],
            Indent::Last(width) if is_blank => vec![Indent::Last(width.wider(byte, layout.tabs))],
            Indent::Blanks(width) => vec![Indent::None, Indent::Last(width)],
            Indent::Last(width) => vec![Indent::Last(width)],
            _ => vec![Indent::None],
        }
    }

    /// Where a token of the line's end leaves a reading, outside of brackets or within.
    fn at_end_of_line(self) -> Vec<Indent> {
        match self {
            Indent::Blanks(width) => vec![Indent::Ended(width), Indent::Within],
            Indent::Last(width) => vec![Indent::Ended(width)],
            _ => vec![Indent::Within],
        }
    }

    /// What the parser may get without any text: a terminal or none, and the place after it.
    pub fn moves(self, layout: &Layout) -> Vec<(Option<TerminalId>, Indent)> {
        match self {
            Indent::Ended(width) => vec![
                (None, Indent::None),
                (Some(layout.indent), Indent::None),
                (Some(layout.dedent), Indent::Fell(width)),
            ],
            Indent::Fell(_) => vec![(None, Indent::None), (Some(layout.dedent), self)],
            Indent::Within => vec![(None, Indent::None)],
            Indent::TextEnded => vec![(None, Indent::Over), (Some(layout.dedent), self)],
            Indent::None | Indent::Blanks(_) | Indent::Last(_) | Indent::Over => Vec::new(),
        }
    }
}

impl Carry for Indent {
    const START: Indent = Indent::None;
    const COUNTS_BLANKS: bool = true;

    fn is_read_on(self) -> bool {
        matches!(self, Indent::None | Indent::Blanks(_) | Indent::Last(_))
    }

    fn may_end(self) -> bool {
        self == Indent::None
    }

    fn within(self, byte: u8, layout: Option<&Layout>, may_end_line: bool) -> Vec<Indent> {
        match (layout, self) {
            // Its only sense is the end of such a token.
            (Some(layout), _) if may_end_line => self.after_byte(byte, layout),
            (_, Indent::Last(_)) => Vec::new(),
            _ => vec![Indent::None],
        }
    }

    fn after(self, byte: u8, layout: Option<&Layout>, ends_line: bool) -> Vec<Indent> {
        match (layout, self) {
            (Some(layout), _) if ends_line => {
                self.after_byte(byte, layout).into_iter().flat_map(Indent::at_end_of_line).collect()
            }
            (_, Indent::Last(_)) => Vec::new(),
            _ => vec![Indent::None],
        }
    }

    fn is_for(self, is_dropped: bool) -> bool {
        (self == Indent::Within) == is_dropped
    }
}
