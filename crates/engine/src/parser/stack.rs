//! The graph-structured stack, hash-consed.
//!
//! A stack node stands for a *set* of stacks: its frames, each a state to return to and the node below.
//! Nodes are immutable and interned, so equal sets are one node: rollback and fork are a copy of an id, and
//! configurations that differ only in how they came about are one. That is possible because the network has
//! no left recursion: all callers of a rule at one place in the text are known before the rule is entered
//! (they are processed by rank), so a node is complete when it is made and the graph has no cycles.
//!
//! Nodes as in generalised LL parsing (Scott and Johnstone 2010), keyed by content instead of by position.

use std::hash::{Hash, Hasher};

use hashbrown::HashTable;
use maskwright_grammar::{ExprId, ExprPool};
use rustc_hash::FxHasher;

/// A node of the stack: a set of frames.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeId(pub(crate) u32);

/// One way down from a node.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Frame {
    /// The state to go on in when the rule above has been read.
    pub(crate) ret: ExprId,
    /// The stack below that state.
    pub(crate) parent: NodeId,
}

impl Frame {
    /// The frame below everything: returning to it means that the whole text has been read.
    pub(crate) const BOTTOM: Frame = Frame { ret: ExprPool::EPSILON, parent: NodeId::BOTTOM };

    /// Stands for frames that were cut off (`lexed/masks/horizon.rs`). No other frame returns to ε: calls at
    /// the last position push nothing.
    pub(crate) const HOLE: Frame = Frame { ret: ExprPool::EPSILON, parent: NodeId(u32::MAX) };
}

impl NodeId {
    /// The node whose one frame is [`Frame::BOTTOM`].
    pub(crate) const BOTTOM: NodeId = NodeId(0);
}

/// All stack nodes of one grammar.
#[derive(Clone, Debug)]
pub(crate) struct Stacks {
    frames: Vec<Frame>,
    /// Node `i` has the frames `frames[ends[i - 1]..ends[i]]`.
    ends: Vec<u32>,
    ids: HashTable<NodeId>,
}

impl Stacks {
    pub(crate) fn new() -> Stacks {
        let mut stacks = Stacks { frames: Vec::new(), ends: Vec::new(), ids: HashTable::new() };
        let bottom = stacks.intern(&[Frame::BOTTOM]);
        debug_assert_eq!(bottom, NodeId::BOTTOM);
        stacks
    }

    /// The frames of `node`, sorted.
    pub(crate) fn frames(&self, node: NodeId) -> &[Frame] {
        slice(&self.frames, &self.ends, node.0)
    }

    /// Whether a frame of `node` returns to `state`.
    pub(crate) fn returns_to(&self, node: NodeId, state: ExprId) -> bool {
        self.frames(node).iter().any(|frame| frame.ret == state)
    }

    /// The node of `frames`, which are sorted and distinct.
    pub(crate) fn intern(&mut self, frames: &[Frame]) -> NodeId {
        let Stacks { frames: all, ends, ids } = self;
        let hash = hash_of(frames);
        let entry = ids.entry(
            hash,
            |node| slice(all, ends, node.0) == frames,
            |node| hash_of(slice(all, ends, node.0)),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let node = NodeId(ends.len() as u32);
                entry.insert(node);
                all.extend_from_slice(frames);
                ends.push(all.len() as u32);
                node
            }
        }
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.frames.capacity() * size_of::<Frame>() + self.ends.capacity() * 4 + self.ids.capacity() * 5
    }
}

/// Item `index` of a list of slices laid end to end.
pub(crate) fn slice<'a, T>(all: &'a [T], ends: &[u32], index: u32) -> &'a [T] {
    let index = index as usize;
    let start = if index == 0 { 0 } else { ends[index - 1] as usize };
    &all[start..ends[index] as usize]
}

pub(crate) fn hash_of<T: Hash>(value: T) -> u64 {
    let mut hasher = FxHasher::default();
    value.hash(&mut hasher);
    hasher.finish()
}
