//! The nodes of an arena by number, and the numbers by node.
//!
//! A server's store comes to hold hundreds of thousands of nodes, and a mask may be what makes the next one.
//! So nothing here grows by moving all that there is: entries lie in blocks that stay where they are, and the
//! numbers in many small hash tables, of which one at a time grows. Rejected: one vector and one hash map
//! (each time that they doubled, one mask took 80 ms, nearly all of it for fresh pages).

use std::hash::BuildHasher;
use std::ops::{Index, IndexMut};

use hashbrown::HashTable;
use rustc_hash::FxBuildHasher;

use super::{Entry, Node, NodeId};

/// Entries in a block.
const BLOCK: usize = 128;
const N_TABLES: usize = 256;

/// See the [module](self).
pub(super) struct Nodes {
    /// All are full but the last.
    blocks: Vec<Vec<Entry>>,
    /// The numbers, by hash, in tables by other bits of the hash.
    ids: Vec<HashTable<(u32, NodeId)>>,
}

impl Nodes {
    pub(super) fn new() -> Nodes {
        Nodes { blocks: Vec::new(), ids: (0..N_TABLES).map(|_| HashTable::new()).collect() }
    }

    pub(super) fn len(&self) -> usize {
        self.blocks.last().map_or(0, |last| (self.blocks.len() - 1) * BLOCK + last.len())
    }

    /// The number of a node that is there already.
    pub(super) fn id(&self, node: &Node) -> Option<NodeId> {
        let (table, hash) = place(node);
        let is_same = |&(other, id): &(u32, NodeId)| other == hash && self[id].node == *node;
        self.ids[table].find(spread(hash), is_same).map(|&(_, id)| id)
    }

    /// Appends a node that is not there yet, as number `id`.
    pub(super) fn push(&mut self, id: NodeId, entry: Entry) {
        debug_assert_eq!(self.len(), id.0 as usize);
        let (table, hash) = place(&entry.node);
        self.ids[table].insert_unique(spread(hash), (hash, id), |&(hash, _)| spread(hash));
        match self.blocks.last_mut().filter(|last| last.len() < BLOCK) {
            Some(last) => last.push(entry),
            None => {
                let mut block = Vec::with_capacity(BLOCK);
                block.push(entry);
                self.blocks.push(block);
            }
        }
    }
}

impl Index<NodeId> for Nodes {
    type Output = Entry;

    #[inline]
    fn index(&self, NodeId(id): NodeId) -> &Entry {
        &self.blocks[id as usize / BLOCK][id as usize % BLOCK]
    }
}

impl IndexMut<NodeId> for Nodes {
    #[inline]
    fn index_mut(&mut self, NodeId(id): NodeId) -> &mut Entry {
        &mut self.blocks[id as usize / BLOCK][id as usize % BLOCK]
    }
}

/// The table of a node, and what it is found by there.
fn place(node: &Node) -> (usize, u32) {
    let hash = FxBuildHasher.hash_one(node);
    ((hash >> 32) as usize % N_TABLES, hash as u32)
}

/// A hash with all 64 bits, as hash tables want it.
fn spread(hash: u32) -> u64 {
    u64::from(hash).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}
