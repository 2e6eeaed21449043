//! What is open around a place of a text: blocks and brackets, as far as the rule that is being read has
//! opened them.
//!
//! Rules open and close blocks in pairs (`rules/pairs.rs`), so of what was open before a rule began, only the
//! innermost matters to it. A call of the chart is begun with one width, or inside brackets, and an item
//! knows what its own call has opened since. Most rules are part of one line outside of brackets: no width
//! matters to them at all. They are begun with [`Around::Line`], the same call for all widths, and end in the
//! line where they began. Of two [`WIDE`] lines either may be the wider one, and [`ANY_WIDTH`] fits every
//! width.
//!
//! Rejected: one call for all widths, whose end says which widths around it may have. It is exact, and
//! headers have one item instead of one for each width. But ends then differ by the width inside, and as many
//! canvases reached the limit.

use maskwright_grammar::{Layout, TerminalId};
use maskwright_scan::{ANY_WIDTH, Carry, Indent, WIDE};
use rustc_hash::FxHashMap;

/// What is open around a place, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct ContextId(u32);

/// What is innermost.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) enum Around {
    /// A block of this width.
    Block(u32),
    /// A line of a block, whatever its width.
    Line,
    /// Brackets, in which indentation does not matter.
    Brackets,
}

/// All contexts of a chart. The first is that of the text as a whole.
#[derive(Debug)]
pub(crate) struct Contexts {
    /// What is innermost, and the context around that, if it was opened by the same call.
    list: Vec<(Around, Option<ContextId>)>,
    ids: FxHashMap<(Around, Option<ContextId>), ContextId>,
}

impl Contexts {
    /// That before any text.
    pub(crate) const START: ContextId = ContextId(0);

    /// The context of a call that is begun within `around`, of a rule that is part of one line if it
    /// `is_in_line`.
    pub(crate) fn begin(&mut self, around: Around, is_in_line: bool) -> ContextId {
        match around {
            Around::Block(_) if is_in_line => self.intern((Around::Line, None)),
            _ => self.intern((around, None)),
        }
    }

    /// What is innermost.
    pub(crate) fn around(&self, context: ContextId) -> Around {
        self.list[context.0 as usize].0
    }

    /// The context after what the parser gets, a terminal or none, where the text is at `indent` and so wide;
    /// `None` if it cannot get that there.
    pub(crate) fn after(
        &mut self,
        context: ContextId,
        (indent, width): (Indent, u32),
        label: Option<TerminalId>,
        layout: &Layout,
    ) -> Option<ContextId> {
        let (around, outer) = self.list[context.0 as usize];
        if indent.is_read_on() {
            return match label {
                Some(terminal) if layout.open.contains(&terminal) => {
                    Some(self.intern((Around::Brackets, Some(context))))
                }
                Some(terminal) if layout.close.contains(&terminal) => {
                    outer.filter(|_| around == Around::Brackets)
                }
                _ => Some(context),
            };
        }
        let block = match around {
            Around::Block(block) => block,
            // A call that is over at a line's end, or the text's, is over before what follows of that; and no
            // other gets there.
            Around::Line => return None,
            Around::Brackets => return (indent == Indent::Within && label.is_none()).then_some(context),
        };
        match label {
            _ if indent == Indent::Within => None,
            None => is_like(width, block).then_some(context),
            Some(terminal) if terminal == layout.indent => {
                is_less(block, width).then(|| self.intern((Around::Block(width), Some(context))))
            }
            // That the width is a block's is asked when no more blocks end.
            Some(_) => outer.filter(|_| is_less(width, block)),
        }
    }

    fn intern(&mut self, context: (Around, Option<ContextId>)) -> ContextId {
        let next = ContextId(self.list.len() as u32);
        let id = *self.ids.entry(context).or_insert(next);
        if id == next {
            self.list.push(context);
        }
        id
    }
}

fn is_less(left: u32, right: u32) -> bool {
    left < right || left == ANY_WIDTH || right == ANY_WIDTH || [left, right] == [WIDE; 2]
}

fn is_like(left: u32, right: u32) -> bool {
    left == right || left == ANY_WIDTH || right == ANY_WIDTH
}

impl Default for Contexts {
    fn default() -> Contexts {
        let mut contexts = Contexts { list: Vec::new(), ids: FxHashMap::default() };
        contexts.intern((Around::Block(0), None));
        contexts
    }
}
