//! The blocks around a place, as far as a completion must know them, and what the end of a line makes of them.
//!
//! A block that the completion opens itself may have any width that its first line can be spelled with. Nothing depends on which,
//! until a later line returns to it. So the innermost block has a *set* of widths, and a line that returns to it chooses one.
//!
//! An example: after the blocks 0 and 4, a line that can be 2, 6 or 8 wide opens a block of width 6 or 8; both are one
//! [`BlocksId`]. (No block has the width 2.)
//!
//! Only the innermost block has a set: when a line opens another block in it, its width is chosen, because the new block must be
//! wider.

use std::sync::Arc;

use maskwright_grammar::Tabs;
use rustc_hash::FxHashMap;

/// Widths, sorted and distinct.
pub(super) type Widths = Arc<[u32]>;

/// The blocks around a place, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct BlocksId(u32);

/// The blocks around a place.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Blocks {
    /// The widths of the blocks around the innermost, outermost first, ascending.
    around: Arc<[u32]>,
    /// The widths that the innermost may have, each more than the last around it.
    innermost: Widths,
    /// How many brackets are open.
    depth: u32,
}

/// The tokens that a line makes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Made {
    /// One that opens a block.
    Indent,
    /// So many that close one; 0 for a line of the same block.
    Dedents(u32),
}

/// All blocks met so far.
#[derive(Default)]
pub(super) struct BlocksPool {
    list: Vec<Blocks>,
    ids: FxHashMap<Blocks, BlocksId>,
}

impl BlocksPool {
    /// The blocks of a text: their widths, outermost first, and the brackets that are open.
    pub(super) fn of(&mut self, widths: &[u32], depth: u32) -> BlocksId {
        let (innermost, around) = widths.split_last().map_or((0, &[][..]), |(last, rest)| (*last, rest));
        self.intern(Blocks { around: around.into(), innermost: [innermost].into(), depth })
    }

    fn intern(&mut self, blocks: Blocks) -> BlocksId {
        if let Some(&known) = self.ids.get(&blocks) {
            return known;
        }
        let id = BlocksId(self.list.len() as u32);
        self.list.push(blocks.clone());
        self.ids.insert(blocks, id);
        id
    }

    fn get(&self, id: BlocksId) -> &Blocks {
        &self.list[id.0 as usize]
    }

    /// How many blocks the end of the text closes.
    pub(super) fn n_open(&self, id: BlocksId) -> u32 {
        self.get(id).around.len() as u32
    }

    /// Whether a bracket is open.
    pub(super) fn is_nested(&self, id: BlocksId) -> bool {
        self.get(id).depth > 0
    }

    /// The same with one more bracket open, or one fewer; `None` if none is.
    pub(super) fn with_bracket(&mut self, id: BlocksId, opens: bool) -> Option<BlocksId> {
        let blocks = self.get(id).clone();
        let depth = if opens { blocks.depth.checked_add(1) } else { blocks.depth.checked_sub(1) }?;
        Some(self.intern(Blocks { depth, ..blocks }))
    }

    /// What a line that has one of `lines` as its width can make, and the blocks after that.
    pub(super) fn after_line(&mut self, id: BlocksId, lines: &[u32], tabs: Tabs) -> Vec<(Made, BlocksId)> {
        let blocks = self.get(id).clone();
        let mut after = Vec::new();
        for &width in blocks.innermost.iter() {
            let wider: Widths = lines.iter().copied().filter(|&line| tabs.is_deeper(line, width)).collect();
            if !wider.is_empty() {
                let around = blocks.around.iter().copied().chain([width]).collect();
                after.push((Made::Indent, self.intern(Blocks { around, innermost: wider, ..blocks })));
            }
        }
        let same: Widths =
            blocks.innermost.iter().copied().filter(|width| lines.binary_search(width).is_ok()).collect();
        if !same.is_empty() {
            after.push((Made::Dedents(0), self.intern(Blocks { innermost: same, ..blocks.clone() })));
        }
        for (level, &width) in blocks.around.iter().enumerate() {
            if lines.binary_search(&width).is_ok() {
                let around = blocks.around[..level].into();
                let next = self.intern(Blocks { around, innermost: [width].into(), ..blocks });
                after.push((Made::Dedents((blocks.around.len() - level) as u32), next));
            }
        }
        after
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.list.iter().map(|blocks| 160 + 8 * (blocks.around.len() + blocks.innermost.len())).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_opens_goes_on_or_closes() {
        let mut pool = BlocksPool::default();
        let two = pool.of(&[0, 4], 0);
        let after = pool.after_line(two, &[0, 2, 4, 6, 8], Tabs::Spaces(8));
        let shown: Vec<_> = after.iter().map(|&(made, id)| (made, pool.get(id).clone())).collect();
        assert_eq!(shown.len(), 3);
        assert_eq!(
            (shown[0].0, &*shown[0].1.around, &*shown[0].1.innermost),
            (Made::Indent, &[0, 4][..], &[6, 8][..])
        );
        assert_eq!((shown[1].0, &*shown[1].1.innermost), (Made::Dedents(0), &[4][..]));
        assert_eq!((shown[2].0, pool.n_open(after[2].1)), (Made::Dedents(1), 0));
        // The width of a block that the completion opened is open until a line chooses it.
        let open = after[0].1;
        assert_eq!(
            pool.after_line(open, &[8, 9], Tabs::Spaces(8)).len(),
            3,
            "a block in one of 6, one in one of 8, the same of 8"
        );
        assert_eq!(pool.after_line(two, &[3], Tabs::Spaces(8)), [], "no block has this width");
        let nested = pool.with_bracket(two, true).unwrap();
        assert!(pool.is_nested(nested) && pool.with_bracket(nested, false) == Some(two));
        assert_eq!(pool.with_bracket(two, false), None);
    }
}
