//! Where a text stands in its indentation ([`Layout`](maskwright_grammar::Layout)): the stack of blocks,
//! brackets that suspend it, and the width of the line begun.

use rustc_hash::FxHashMap;

/// Where a thread stands in its layout, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct LayoutId(u32);

impl LayoutId {
    /// The layout at the beginning of a text; the only one of grammars without indentation.
    pub const START: LayoutId = LayoutId(0);
}

/// The blocks around, by number: the innermost, in those around it. Layouts are many where blocks are few.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct BlockStackId(u32);

impl BlockStackId {
    /// No block but the text itself.
    const TEXT: BlockStackId = BlockStackId(0);
}

/// The innermost of some blocks.
#[derive(Clone, Copy, Debug)]
struct Block {
    width: u32,
    /// `None` of the text.
    around: Option<BlockStackId>,
    /// How many blocks there are besides the text.
    n_blocks: u32,
}

/// Where a thread stands in its layout.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct LayoutState {
    /// The blocks around.
    pub blocks: BlockStackId,
    /// How many brackets are open.
    pub depth: u32,
    /// The blanks since the last newline character of the token in progress, if it has one.
    pub line: Option<u32>,
}

/// All layouts met so far.
pub struct Layouts {
    blocks: Vec<Block>,
    block_ids: FxHashMap<(BlockStackId, u32), BlockStackId>,
    list: Vec<LayoutState>,
    ids: FxHashMap<LayoutState, LayoutId>,
}

impl Default for Layouts {
    /// Only the layout before any text.
    fn default() -> Layouts {
        let mut layouts = Layouts {
            blocks: vec![Block { width: 0, around: None, n_blocks: 0 }],
            block_ids: FxHashMap::default(),
            list: Vec::new(),
            ids: FxHashMap::default(),
        };
        layouts.intern(LayoutState { blocks: BlockStackId::TEXT, depth: 0, line: None });
        layouts
    }
}

impl Layouts {
    /// A layout.
    #[inline]
    pub fn get(&self, id: LayoutId) -> &LayoutState {
        &self.list[id.0 as usize]
    }

    /// The number of a layout.
    pub fn intern(&mut self, layout: LayoutState) -> LayoutId {
        if let Some(&known) = self.ids.get(&layout) {
            return known;
        }
        let id = LayoutId(self.list.len() as u32);
        self.list.push(layout);
        self.ids.insert(layout, id);
        id
    }

    /// The same layout with the given line.
    pub fn with_line(&mut self, id: LayoutId, line: Option<u32>) -> LayoutId {
        if self.get(id).line == line {
            return id;
        }
        self.intern(LayoutState { line, ..*self.get(id) })
    }

    /// How wide the innermost block is; the text is 0 wide.
    pub fn width(&self, blocks: BlockStackId) -> u32 {
        self.blocks[blocks.0 as usize].width
    }

    /// The blocks around the innermost; `None` if that is the text.
    pub fn around(&self, blocks: BlockStackId) -> Option<BlockStackId> {
        self.blocks[blocks.0 as usize].around
    }

    /// How many blocks there are besides the text.
    pub fn n_blocks(&self, blocks: BlockStackId) -> u32 {
        self.blocks[blocks.0 as usize].n_blocks
    }

    /// The same blocks with one more in them, which is wider.
    pub fn within(&mut self, around: BlockStackId, width: u32) -> BlockStackId {
        let next = BlockStackId(self.blocks.len() as u32);
        let id = *self.block_ids.entry((around, width)).or_insert(next);
        if id == next {
            let n_blocks = self.n_blocks(around) + 1;
            self.blocks.push(Block { width, around: Some(around), n_blocks });
        }
        id
    }

    /// The widths of the blocks, outermost (0) first, ascending.
    pub fn widths(&self, blocks: BlockStackId) -> Box<[u32]> {
        let all = std::iter::successors(Some(blocks), |&blocks| self.around(blocks));
        let mut widths: Vec<u32> = all.map(|blocks| self.width(blocks)).collect();
        widths.reverse();
        widths.into()
    }

    /// Approximate memory, in bytes.
    pub fn memory_usage(&self) -> usize {
        self.list.len() * (2 * size_of::<LayoutState>() + 8) + self.blocks.len() * (size_of::<Block>() + 16)
    }
}
