//! A residue without its exceptions.

use super::{Arena, Node, NodeId};
use crate::{AutomatonError, ByteSet};

/// More words than this are no exceptions but a language of their own.
const MAX_EXCEPTIONS: u32 = 1 << 20;
/// How many parts of a sequence are looked at.
const MAX_PARTS: usize = 16;

impl Arena {
    /// A residue whose language contains that of `node`: the same expression, where intersections have lost
    /// the members that are complements of few words. `None` if there are none.
    ///
    /// Looks through unions, and through sequences where few words can follow (else what differs would
    /// differ along everything that follows).
    ///
    /// Proof of containment: an intersection without some of its members contains it, and concatenation and
    /// union are monotonic. ∎
    ///
    /// # Errors
    /// If a limit on nodes is reached.
    pub(crate) fn base(&mut self, node: NodeId) -> Result<Option<NodeId>, AutomatonError> {
        if !self.entry(node).extended {
            return Ok(None);
        }
        let base = match self.node(node).clone() {
            Node::Intersection(list) => {
                let rest: Vec<NodeId> =
                    list.iter().copied().filter(|&member| !self.is_exception(member)).collect();
                match rest.len() {
                    0 => None,
                    n if n == list.len() => None,
                    _ => Some(self.intersection(rest)?),
                }
            }
            Node::Union(list) => {
                let mut members = list.to_vec();
                let mut has_changed = false;
                for member in &mut members {
                    if let Some(base) = self.base(*member)? {
                        (*member, has_changed) = (base, true);
                    }
                }
                if has_changed { Some(self.union(members)?) } else { None }
            }
            Node::Cons(..) => self.sequence_base(node)?,
            _ => None,
        };
        Ok(base.filter(|&base| base != node))
    }

    fn sequence_base(&mut self, node: NodeId) -> Result<Option<NodeId>, AutomatonError> {
        let mut heads = Vec::new();
        let mut rest = node;
        let mut has_changed = false;
        while let &Node::Cons(head, tail) = self.node(rest)
            && heads.len() < MAX_PARTS
            && self.entry(rest).extended
        {
            let base = if self.entry(tail).n_words <= MAX_EXCEPTIONS { self.base(head)? } else { None };
            has_changed = has_changed || base.is_some();
            heads.push(base.unwrap_or(head));
            rest = tail;
        }
        if !matches!(self.node(rest), Node::Cons(..))
            && let Some(base) = self.base(rest)?
        {
            (rest, has_changed) = (base, true);
        }
        if !has_changed {
            return Ok(None);
        }
        for &head in heads.iter().rev() {
            rest = self.concat(head, rest)?;
        }
        Ok(Some(rest))
    }

    /// For an intersection with exceptions: the bytes that an exception can begin with. By any other byte the
    /// derivative is that of [`base`](Arena::base), node for node: an exception's is ∅, its complement's is
    /// all byte strings, and those an intersection leaves out.
    pub(crate) fn exception_bytes(&self, node: NodeId) -> Option<ByteSet> {
        let Node::Intersection(list) = self.node(node) else { return None };
        let mut exceptions = list.iter().filter(|&&member| self.is_exception(member)).peekable();
        exceptions.peek()?;
        // What an exception with a complement inside can read is not in its leading sets.
        exceptions.try_fold(ByteSet::EMPTY, |bytes, &member| match *self.node(member) {
            Node::Complement(inner) if !self.entry(inner).extended => {
                Some(bytes.union(&self.leading_bytes(inner)))
            }
            _ => None,
        })
    }

    fn is_exception(&self, member: NodeId) -> bool {
        match *self.node(member) {
            Node::Complement(inner) => self.entry(inner).n_words <= MAX_EXCEPTIONS,
            _ => false,
        }
    }
}
