//! Sets of trie nodes, by number.

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_vocabulary::{Trie, TrieNodeId};
use rustc_hash::FxHashMap;

/// A set of trie nodes below the root, each with tokens below it; 0 is the root alone.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub(crate) struct NodeSetId(pub(crate) u32);

impl NodeSetId {
    pub(crate) const ROOT: NodeSetId = NodeSetId(0);
}

/// All sets met so far; equal sets have one number.
pub(crate) struct NodeSets {
    list: Vec<(Arc<[TrieNodeId]>, ByteSet)>,
    ids: FxHashMap<Arc<[TrieNodeId]>, NodeSetId>,
}

impl NodeSets {
    pub(crate) fn new(trie: &Trie) -> NodeSets {
        let root: Arc<[TrieNodeId]> = Arc::new([Trie::ROOT]);
        let first = first_bytes(trie, &root);
        NodeSets { list: vec![(root.clone(), first)], ids: FxHashMap::from_iter([(root, NodeSetId::ROOT)]) }
    }

    /// The number of a set of nodes, given in any order.
    pub(crate) fn intern(&mut self, trie: &Trie, mut nodes: Vec<TrieNodeId>) -> NodeSetId {
        nodes.sort_unstable();
        nodes.dedup();
        if let Some(&known) = self.ids.get(&nodes[..]) {
            return known;
        }
        let nodes: Arc<[TrieNodeId]> = nodes.into();
        let id = NodeSetId(self.list.len() as u32);
        self.list.push((nodes.clone(), first_bytes(trie, &nodes)));
        self.ids.insert(nodes, id);
        id
    }

    /// The nodes, ascending.
    pub(crate) fn nodes(&self, id: NodeSetId) -> &Arc<[TrieNodeId]> {
        &self.list[id.0 as usize].0
    }

    /// The bytes by which tokens continue from any of the nodes.
    pub(crate) fn first_bytes(&self, id: NodeSetId) -> ByteSet {
        self.list[id.0 as usize].1
    }
}

fn first_bytes(trie: &Trie, nodes: &[TrieNodeId]) -> ByteSet {
    nodes.iter().flat_map(|&node| trie.children(node)).map(|(byte, _)| byte).collect()
}
