//! Controls: what a text is in the middle of, between two tokens of its lexer.
//!
//! The control state of the pushdown system (`super`). Mostly it is the hypothesis, the rest of the vocabulary's token in progress, and
//! the blocks around ([`InText`]). Otherwise there are tokens without text that the parser has yet to get: those of a line that opens or
//! closes blocks, or of the end of the text.
//!
//! An example: a line that closes two blocks of Python makes `Dedents(text, 2)`. The parser reads a dedent to `Dedents(text, 1)` and
//! another one to `Text(text)`.

use maskwright_scan::HypothesisId;
use rustc_hash::FxHashMap;

use super::blocks::BlocksId;
use crate::spelling::FutureId;

/// A control, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct ControlId(u32);

/// The middle of a text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct InText {
    pub(super) hypothesis: HypothesisId,
    pub(super) future: FutureId,
    pub(super) blocks: BlocksId,
}

/// What a text is in the middle of.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Control {
    /// Nothing is due.
    Text(InText),
    /// A line opens a block.
    Indent(InText),
    /// A line closes so many blocks, at least one.
    Dedents(InText, u32),
    /// The text has ended, and closes so many blocks.
    End(u32),
}

/// All controls met so far.
#[derive(Default)]
pub(super) struct Controls {
    list: Vec<Control>,
    ids: FxHashMap<Control, ControlId>,
}

impl Controls {
    pub(super) fn intern(&mut self, control: Control) -> ControlId {
        let fresh = ControlId(self.list.len() as u32);
        let id = *self.ids.entry(control).or_insert(fresh);
        if id == fresh {
            self.list.push(control);
        }
        id
    }

    pub(super) fn get(&self, id: ControlId) -> Control {
        self.list[id.0 as usize]
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.list.len() * (2 * size_of::<Control>() + 8)
    }
}
