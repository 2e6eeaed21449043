//! The id of a schema in the graph.
//!
//! Arrays and objects refer to the schemas of their items and members by id; the
//! [`Graph`](crate::graph::Graph) resolves them.

/// A schema in the graph.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct NodeId(u32);

impl NodeId {
    /// The schema of all values.
    pub(crate) const ANY: NodeId = NodeId(0);
    /// The schema of no value.
    pub(crate) const NEVER: NodeId = NodeId(1);

    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }

    pub(crate) fn from_index(index: usize) -> NodeId {
        NodeId(
            u32::try_from(index)
                .expect("every node spends fuel, and a document of 2^32 schemas does not fit memory"),
        )
    }
}
