//! Indentation as tokens: the stack of blocks, brackets that suspend it, and the width of the line begun.
//!
//! As Lark's `PythonIndenter` has it: after each `newline` token outside of brackets, the blanks behind the
//! token's last newline character are counted (a tab is `tab_width`). More than the innermost block has makes
//! an `indent` token; less makes a `dedent` for each block that is wider, and the width must be that of a
//! block. Inside of brackets `newline` tokens are dropped. The end of the text closes all blocks. A text is not
//! in the language if a `newline` token outside of brackets has no newline character, or a bracket is closed
//! that was not opened.

use maskwright_grammar::TerminalId;
use rustc_hash::FxHashMap;

/// Which terminals make indentation part of a lexed grammar.
///
/// ```
/// use maskwright_engine::Layout;
/// use maskwright_grammar::TerminalId;
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

/// Where a thread stands in its layout, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LayoutId(pub(crate) u32);

impl LayoutId {
    /// The layout at the beginning of a text; the only one of grammars without indentation.
    pub(crate) const START: LayoutId = LayoutId(0);
}

/// Where a thread stands in its layout.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LayoutState {
    /// The widths of the blocks around, outermost (0) first, ascending.
    pub(crate) widths: Box<[u32]>,
    /// How many brackets are open.
    pub(crate) depth: u32,
    /// The blanks since the last newline character of the token in progress, if it has one.
    pub(crate) line: Option<u32>,
}

/// All layouts met so far.
pub(crate) struct Layouts {
    list: Vec<LayoutState>,
    ids: FxHashMap<LayoutState, LayoutId>,
}

impl Layouts {
    pub(crate) fn new() -> Layouts {
        let mut layouts = Layouts { list: Vec::new(), ids: FxHashMap::default() };
        layouts.intern(LayoutState { widths: [0].into(), depth: 0, line: None });
        layouts
    }

    pub(crate) fn get(&self, id: LayoutId) -> &LayoutState {
        &self.list[id.0 as usize]
    }

    pub(crate) fn intern(&mut self, layout: LayoutState) -> LayoutId {
        if let Some(&known) = self.ids.get(&layout) {
            return known;
        }
        let id = LayoutId(self.list.len() as u32);
        self.list.push(layout.clone());
        self.ids.insert(layout, id);
        id
    }

    /// The same layout with the given line.
    pub(crate) fn with_line(&mut self, id: LayoutId, line: Option<u32>) -> LayoutId {
        if self.get(id).line == line {
            return id;
        }
        let layout = LayoutState { line, ..self.get(id).clone() };
        self.intern(layout)
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.list.iter().map(|layout| 2 * (size_of::<LayoutState>() + layout.widths.len() * 4) + 8).sum()
    }
}

/// The line of a token after one more byte.
pub(crate) fn line_after(line: Option<u32>, byte: u8, tab_width: u32) -> Option<u32> {
    match (line, byte) {
        (_, b'\n') => Some(0),
        (Some(width), b' ') => Some(width.saturating_add(1)),
        (Some(width), b'\t') => Some(width.saturating_add(tab_width)),
        (line, _) => line,
    }
}
