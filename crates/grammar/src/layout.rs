//! Indentation as tokens, as Lark's `PythonIndenter` makes them.
//!
//! After each `newline` token outside of brackets, the blanks behind the
//! token's last newline character are counted (a tab is `tab_width`). More than the innermost block has makes
//! an `indent` token; less makes a `dedent` for each block that is wider, and the width must be that of a
//! block. Inside of brackets `newline` tokens are dropped. The end of the text closes all blocks. A text is not
//! in the language if a `newline` token outside of brackets has no newline character, or a bracket is closed
//! that was not opened.

use crate::TerminalId;

/// Which terminals make indentation part of a lexed grammar.
///
/// ```
/// use maskwright_grammar::{Layout, TerminalId};
/// let id = TerminalId::from_index;
/// let layout = Layout {
///     newline: id(0), indent: id(5), dedent: id(6), open: vec![id(1)], close: vec![id(2)], tab_width: 8,
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
    /// How many spaces a tab stands for.
    pub tab_width: u32,
}

/// The blanks since the last newline character of a token, if it has one, after one more byte.
///
/// ```
/// use maskwright_grammar::blanks_after;
/// assert_eq!(blanks_after(None, b' ', 8), None);
/// assert_eq!(blanks_after(None, b'\n', 8), Some(0));
/// assert_eq!(blanks_after(Some(1), b'\t', 8), Some(9));
/// ```
pub fn blanks_after(blanks: Option<u32>, byte: u8, tab_width: u32) -> Option<u32> {
    match (blanks, byte) {
        (_, b'\n') => Some(0),
        (Some(width), b' ') => Some(width.saturating_add(1)),
        (Some(width), b'\t') => Some(width.saturating_add(tab_width)),
        (blanks, _) => blanks,
    }
}
