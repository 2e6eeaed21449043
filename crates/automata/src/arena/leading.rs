//! What a residue can see of its next byte.
//!
//! Bytes that no leading set tells apart have the same derivative (Owens, Reppy, Turon, *Regular-expression
//! derivatives re-examined*, 2009, section 4.2). So a state needs a transition for each class of its own
//! leading sets only, whatever else the expression that brought it contains, and equal residues of different
//! expressions have equal rows.
//!
//! Cost: the node visits of one derivative, and a look into a memo of partitions; few different ones occur.
//!
//! Rejected: the classes of a whole expression (rows several times wider, and a state that two expressions
//! share would have two kinds of rows).

use std::sync::Arc;

use super::{Arena, Leading, Node, NodeId};
use crate::classes::Classes;
use crate::meter;
use crate::{AutomatonError, ByteSet};

/// Units of work that a set of bytes takes.
const UNITS_PER_SET: u64 = 1;

impl Arena {
    /// A partition of the bytes such that the derivatives of `node` by two bytes of a class are the same.
    ///
    /// # Errors
    /// If the limit on memory is reached.
    pub(crate) fn classes(&mut self, node: NodeId) -> Result<Arc<Classes>, AutomatonError> {
        let mut leading = Leading::default();
        self.collect_leading(node, &mut leading);
        meter::charge(UNITS_PER_SET * (1 + leading.sets.len() as u64));
        leading.sets.sort_unstable();
        leading.sets.dedup();
        if let Some(known) = self.partitions.get(&leading) {
            return Ok(known.clone());
        }
        let sets: Vec<ByteSet> = leading.sets.iter().map(|&set| *self.set(set)).collect();
        let classes = Arc::new(Classes::new(&sets, &leading.singles));
        let key = 2 * size_of::<(Leading, Arc<Classes>)>() + size_of_val(&*leading.sets);
        self.charge(key + classes.memory())?;
        self.partitions.insert(leading, classes.clone());
        Ok(classes)
    }

    /// The bytes by which the derivative of `node`, which has no complement inside, may be other than ∅.
    pub(super) fn leading_bytes(&self, node: NodeId) -> ByteSet {
        let mut leading = Leading::default();
        self.collect_leading(node, &mut leading);
        leading.sets.iter().fold(leading.singles, |bytes, &set| bytes.union(self.set(set)))
    }

    /// Recursion is over nesting, as in [`derivative`](Arena::derivative).
    fn collect_leading(&self, node: NodeId, leading: &mut Leading) {
        match self.node(node) {
            Node::Empty | Node::Epsilon => {}
            &Node::Bytes(set) => match self.set(set).as_singleton() {
                Some(byte) => leading.singles.insert(byte),
                None => leading.sets.push(set),
            },
            &Node::Words { list, low, high, depth } => {
                let bytes = self.lists[list as usize].bytes_at(low, high, depth);
                leading.singles = leading.singles.union(&bytes);
            }
            Node::Cons(..) => {
                let mut part = node;
                while let &Node::Cons(head, tail) = self.node(part) {
                    self.collect_leading(head, leading);
                    if !self.is_nullable(head) {
                        return;
                    }
                    part = tail;
                }
                self.collect_leading(part, leading);
            }
            Node::Union(list) | Node::Intersection(list) => {
                for &member in &**list {
                    self.collect_leading(member, leading);
                }
            }
            &Node::Complement(inner) | &Node::Repeat { inner, .. } => self.collect_leading(inner, leading),
        }
    }
}
