//! Counts cut to what a bounded number of bytes can tell apart.

use rustc_hash::FxHashMap;

use super::{Arena, Node, NodeId};
use crate::AutomatonError;

impl Arena {
    /// `node` with every repeat count above `cap` cut to `cap`, but for those inside intersections and
    /// complements; see [`Automaton::row_key`](crate::Automaton::row_key) for what that keeps.
    pub(crate) fn saturate(
        &mut self,
        node: NodeId,
        cap: u32,
        memo: &mut FxHashMap<(NodeId, u32), NodeId>,
    ) -> Result<NodeId, AutomatonError> {
        if self.entry(node).max_count <= cap {
            return Ok(node);
        }
        if let Some(&known) = memo.get(&(node, cap)) {
            return Ok(known);
        }
        let result = match self.node(node).clone() {
            Node::Cons(..) => {
                let mut heads = Vec::new();
                let mut last = node;
                while let &Node::Cons(head, tail) = self.node(last) {
                    // What has no large count needs no visit.
                    if self.entry(last).max_count <= cap {
                        break;
                    }
                    heads.push(head);
                    last = tail;
                }
                let mut result = match self.node(last) {
                    Node::Cons(..) => last,
                    _ => self.saturate(last, cap, memo)?,
                };
                for &head in heads.iter().rev() {
                    let head = self.saturate(head, cap, memo)?;
                    result = self.concat(head, result)?;
                }
                result
            }
            Node::Union(list) => {
                let mut members = Vec::with_capacity(list.len());
                for &member in &*list {
                    members.push(self.saturate(member, cap, memo)?);
                }
                self.union(members)?
            }
            Node::Repeat { inner, min, max } => {
                let inner = self.saturate(inner, cap, memo)?;
                self.repeat(inner, min.min(cap), max.map(|max| max.min(cap)))?
            }
            // These have no counts, or are left as they are.
            _ => node,
        };
        memo.insert((node, cap), result);
        Ok(result)
    }
}
