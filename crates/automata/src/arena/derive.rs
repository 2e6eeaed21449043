//! Derivatives: what is left of a residue after one byte.

use super::{Arena, EMPTY, EPSILON, MemberRow, Node, NodeId, UNSEEN};
use crate::AutomatonError;

impl Arena {
    /// The words w with `byte · w` in the language of `node`.
    ///
    /// Recursion is over nesting; a concatenation whose parts have ε is a loop.
    ///
    /// # Errors
    /// If a limit on nodes is reached.
    pub(crate) fn derivative(&mut self, node: NodeId, byte: u8) -> Result<NodeId, AutomatonError> {
        match self.node(node).clone() {
            Node::Empty | Node::Epsilon => Ok(EMPTY),
            Node::Bytes(set) => Ok(if self.set(set).contains(byte) { EPSILON } else { EMPTY }),
            Node::Words { list, low, high, depth } => self.words_derivative((list, low, high, depth), byte),
            Node::Cons(..) => self.concat_derivative(node, byte),
            Node::Union(list) => {
                let mut members = Vec::with_capacity(list.len());
                for &member in &*list {
                    match self.derivative(member, byte)? {
                        EMPTY => {}
                        derivative => members.push(derivative),
                    }
                }
                self.union(members)
            }
            Node::Intersection(list) => {
                let mut members = Vec::with_capacity(list.len());
                for &member in &*list {
                    match self.member_derivative(member, byte)? {
                        EMPTY => return Ok(EMPTY),
                        derivative => members.push(derivative),
                    }
                }
                self.intersection(members)
            }
            Node::Complement(inner) => {
                let derivative = self.member_derivative(inner, byte)?;
                self.complement(derivative)
            }
            Node::Repeat { inner, min, max } => {
                // Also right if `inner` has ε (then min is 0): a copy that is ε may be left out, so the
                // byte is of the first copy, and any number up to max - 1 may follow.
                let first = self.derivative(inner, byte)?;
                if first == EMPTY {
                    return Ok(EMPTY);
                }
                let rest = self.repeat(inner, min.saturating_sub(1), max.map(|max| max.saturating_sub(1)))?;
                self.concat(first, rest)
            }
        }
    }

    /// The derivative of a member of an intersection or of what a complement leaves out, with a memo where
    /// one pays.
    fn member_derivative(&mut self, node: NodeId, byte: u8) -> Result<NodeId, AutomatonError> {
        let entry = self.entry(node);
        if entry.extended || entry.cost == 1 {
            return self.derivative(node, byte);
        }
        let mut member = entry.member as usize;
        match self.members.get(member) {
            Some(row) => match row.next[usize::from(row.classes.of(byte))] {
                UNSEEN => {}
                known => return Ok(known),
            },
            None => {
                let classes = self.classes(node)?;
                let next = vec![UNSEEN; classes.len()].into_boxed_slice();
                self.charge(2 * size_of::<MemberRow>() + size_of_val(&*next))?;
                member = self.members.len();
                self.entries[node].member = member as u32;
                self.members.push(MemberRow { classes, next });
            }
        }
        let derivative = self.derivative(node, byte)?;
        let row = &mut self.members[member];
        row.next[usize::from(row.classes.of(byte))] = derivative;
        Ok(derivative)
    }

    fn concat_derivative(&mut self, node: NodeId, byte: u8) -> Result<NodeId, AutomatonError> {
        let mut members = Vec::new();
        let mut part = node;
        loop {
            let &Node::Cons(head, tail) = self.node(part) else {
                members.push(self.derivative(part, byte)?);
                break;
            };
            match self.derivative(head, byte)? {
                EMPTY => {}
                derivative => members.push(self.concat(derivative, tail)?),
            }
            if !self.is_nullable(head) {
                break;
            }
            part = tail;
        }
        match *members {
            [] => Ok(EMPTY),
            [member] => Ok(member),
            _ => self.union(members),
        }
    }
}
