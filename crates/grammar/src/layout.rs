//! Indentation as tokens, as Lark's `PythonIndenter` makes them.
//!
//! After each `newline` token outside of brackets, the blanks after the token's last newline character are
//! counted ([`Tabs`] says how). More than the innermost block has makes an `indent` token; less makes a
//! `dedent` for each block that is wider, and the width must be that of a block. Inside of brackets `newline`
//! tokens are dropped. The end of the text closes all blocks. A text is not in the language if a `newline`
//! token outside of brackets has no newline character, or a bracket is closed that was not opened.

use serde::{Deserialize, Serialize};

use crate::TerminalId;

/// Which terminals make indentation part of a lexed grammar.
///
/// ```
/// use maskwright_grammar::{Layout, Tabs, TerminalId};
/// let id = TerminalId::from_index;
/// let layout = Layout {
///     newline: id(0), indent: id(5), dedent: id(6), open: vec![id(1)], close: vec![id(2)],
///     tabs: Tabs::Spaces(8),
/// };
/// assert_eq!(layout.clone(), layout);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Layout {
    /// The terminal of the end of a line and the blanks after it.
    pub newline: TerminalId,
    /// The declared terminal of a block's start.
    pub indent: TerminalId,
    /// The declared terminal of a block's end.
    pub dedent: TerminalId,
    /// The terminals that suspend indentation until they are closed.
    pub open: Vec<TerminalId>,
    /// The terminals that close.
    pub close: Vec<TerminalId>,
    /// How tabs count.
    pub tabs: Tabs,
}

/// How the tabs among the blanks of a line count.
///
/// # Example: widths
///
/// ```
/// # mod maskwright { pub use maskwright_grammar as lark; }
/// use maskwright::lark::Tabs;
/// let width = |line: &[u8], tabs: Tabs| line.iter().fold(0, |width, &blank| tabs.wider(width, blank));
/// let (tab, spaces) = (&b"\t"[..], &[b' '; 8][..]);
/// assert_eq!(width(tab, Tabs::Spaces(8)), width(spaces, Tabs::Spaces(8)));
/// assert_ne!(width(tab, Tabs::Apart), width(spaces, Tabs::Apart));
/// assert!(!Tabs::Apart.is_deeper(width(tab, Tabs::Apart), width(b" ", Tabs::Apart)));
/// assert_eq!(Tabs::Apart.blanks(width(b"\t  ", Tabs::Apart), 10).unwrap(), b"\t  ");
/// assert_eq!(Tabs::Spaces(8).blanks(width(tab, Tabs::Spaces(8)), 10).unwrap(), spaces);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Tabs {
    /// Each is as wide as so many spaces.
    Spaces(u32),
    /// They are not compared with spaces, for lines whose tabs stand before their spaces. A line is deeper
    /// than a block if it has at least as many tabs and as many spaces, and more of one. Python then finds
    /// the same order, however wide it takes a tab to be.
    Apart,
}

impl Tabs {
    /// The width of a tab under [`Tabs::Apart`]: wider than all spaces of a line together.
    const APART: u32 = 1 << 24;
    /// The most spaces of a line under [`Tabs::Apart`]. Twice as many are no wider than a tab.
    const MAX_SPACES: u32 = 1 << 23;

    /// The width of a line's blanks after one more. Widths add up; equal blanks have equal widths.
    pub fn wider(self, width: u32, blank: u8) -> u32 {
        let more = match (blank, self) {
            (b'\t', Tabs::Spaces(n_spaces)) => n_spaces,
            (b'\t', Tabs::Apart) => Tabs::APART,
            // What is too wide stays that.
            (_, Tabs::Apart) if width % Tabs::APART >= Tabs::MAX_SPACES => u32::MAX,
            _ => 1,
        };
        width.saturating_add(more)
    }

    /// Whether a line so wide is deeper than a block so wide.
    pub fn is_deeper(self, line: u32, block: u32) -> bool {
        match self {
            Tabs::Spaces(_) => line > block,
            Tabs::Apart => {
                let (line_spaces, block_spaces) = (line % Tabs::APART, block % Tabs::APART);
                line > block && (block_spaces..Tabs::MAX_SPACES).contains(&line_spaces)
            }
        }
    }

    /// Blanks so wide, at most `most`: spaces, and tabs before them where no spaces are as wide as a tab.
    /// `None` if it takes more.
    pub fn blanks(self, width: u32, most: u32) -> Option<Vec<u8>> {
        let (n_tabs, n_spaces) = match self {
            Tabs::Spaces(_) => (0, width),
            Tabs::Apart => (width / Tabs::APART, width % Tabs::APART),
        };
        let blank = |blank: u8, n: u32| std::iter::repeat_n(blank, n as usize);
        (n_tabs + n_spaces <= most).then(|| blank(b'\t', n_tabs).chain(blank(b' ', n_spaces)).collect())
    }
}

/// The blanks since the last newline character of a token, if it has one, after one more byte.
///
/// ```
/// use maskwright_grammar::{Tabs, blanks_after};
/// assert_eq!(blanks_after(None, b' ', Tabs::Spaces(8)), None);
/// assert_eq!(blanks_after(None, b'\n', Tabs::Spaces(8)), Some(0));
/// assert_eq!(blanks_after(Some(1), b'\t', Tabs::Spaces(8)), Some(9));
/// ```
pub fn blanks_after(blanks: Option<u32>, byte: u8, tabs: Tabs) -> Option<u32> {
    match (blanks, byte) {
        (_, b'\n') => Some(0),
        (Some(width), b' ' | b'\t') => Some(tabs.wider(width, byte)),
        (blanks, _) => blanks,
    }
}
