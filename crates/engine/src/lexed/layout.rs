//! Where a text stands in its indentation ([`Layout`](maskwright_grammar::Layout)): the stack of blocks, brackets that suspend
//! it, and the width of the line begun.

use rustc_hash::FxHashMap;

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
