//! Smart constructors: everything but unions.
//!
//! Each returns the canonical node of the language named in its summary; the rewriting rules are identities
//! of regular languages, stated where they are used.

use super::{ALL, Arena, EMPTY, EPSILON, Node, NodeId};
use crate::{AutomatonError, ByteSet};

type Result = std::result::Result<NodeId, AutomatonError>;

impl Arena {
    /// One byte of `set`.
    pub(crate) fn bytes(&mut self, set: ByteSet) -> Result {
        if set.is_empty() {
            return Ok(EMPTY);
        }
        let set = self.set_id(set);
        self.intern(Node::Bytes(set))
    }

    /// `a` and then `b`. O(length of `a`'s own spine).
    pub(crate) fn concat(&mut self, a: NodeId, b: NodeId) -> Result {
        if a == EMPTY || b == EMPTY {
            return Ok(EMPTY);
        }
        if a == EPSILON {
            return Ok(b);
        }
        if b == EPSILON {
            return Ok(a);
        }
        let mut heads = Vec::new();
        let mut last = a;
        while let &Node::Cons(head, tail) = self.node(last) {
            heads.push(head);
            last = tail;
        }
        let mut result = self.cons(last, b)?;
        for &head in heads.iter().rev() {
            result = self.cons(head, result)?;
        }
        Ok(result)
    }

    /// `head · tail`, where `head` is no `Cons` and neither is ∅ or ε.
    ///
    /// Counts of one thing are added up, `x{a,b}·x{c,d} = x{a+c,b+d}` with x as x{1,1}, so that ways of
    /// writing and of reaching the same count are one residue.
    fn cons(&mut self, head: NodeId, tail: NodeId) -> Result {
        let (next, rest) = match *self.node(tail) {
            Node::Cons(next, rest) => (next, rest),
            _ => (tail, EPSILON),
        };
        let inner = match (self.node(head), self.node(next)) {
            (Node::Repeat { inner: a, .. }, Node::Repeat { inner: b, .. }) if a == b => Some(*a),
            (Node::Repeat { inner, .. }, _) if *inner == next => Some(next),
            (_, Node::Repeat { inner, .. }) if *inner == head => Some(head),
            (Node::Bytes(_), _) if head == next => Some(head),
            _ => None,
        };
        if let Some(inner) = inner {
            let ((a, b), (c, d)) = (self.counts(head, inner), self.counts(next, inner));
            let max = match (b, d) {
                (Some(b), Some(d)) => b.checked_add(d).map(Some),
                _ => Some(None),
            };
            if let (Some(min), Some(max)) = (a.checked_add(c), max) {
                let counted = self.repeat(inner, min, max)?;
                return self.concat(counted, rest);
            }
        }
        self.intern(Node::Cons(head, tail))
    }

    /// The counts of a node that is `inner` or a repeat of it.
    pub(crate) fn counts(&self, node: NodeId, inner: NodeId) -> (u32, Option<u32>) {
        match *self.node(node) {
            Node::Repeat { inner: repeated, min, max } if repeated == inner => (min, max),
            _ => (1, Some(1)),
        }
    }

    /// From `min` to `max` copies of `inner`; `min <= max`.
    pub(crate) fn repeat(&mut self, inner: NodeId, min: u32, max: Option<u32>) -> Result {
        if inner == EPSILON || max == Some(0) {
            return Ok(EPSILON);
        }
        if inner == EMPTY {
            return Ok(if min == 0 { EPSILON } else { EMPTY });
        }
        // x^i is within x^j for i <= j if x has ε: the least count says nothing.
        let min = if self.is_nullable(inner) { 0 } else { min };
        match *self.node(inner) {
            // (x{a,b}){c,d} = x{a·c,b·d} for a <= 1: the counts of k copies, [a·k, b·k], leave no gaps.
            Node::Repeat { inner: innermost, min: a @ (0 | 1), max: b } => {
                let least = a.checked_mul(min);
                let most = match (b, max) {
                    (Some(b), Some(d)) => b.checked_mul(d).map(Some),
                    _ => Some(None),
                };
                if let (Some(least), Some(most)) = (least, most) {
                    return self.repeat(innermost, least, most);
                }
            }
            // (ε ∪ x){0,d} = x{0,d}
            Node::Union(ref list) if list.contains(&EPSILON) => {
                let rest = list.iter().copied().filter(|&member| member != EPSILON).collect();
                let inner = self.union(rest)?;
                return self.repeat(inner, 0, max);
            }
            _ => {}
        }
        match (min, max) {
            (1, Some(1)) => Ok(inner),
            // One spelling of "at most one", which unions understand.
            (0, Some(1)) => self.union(vec![EPSILON, inner]),
            _ => self.intern(Node::Repeat { inner, min, max }),
        }
    }

    /// All byte strings but those of `inner`.
    pub(crate) fn complement(&mut self, inner: NodeId) -> Result {
        match *self.node(inner) {
            Node::Empty => Ok(ALL),
            Node::Complement(inner) => Ok(inner),
            _ if inner == ALL => Ok(EMPTY),
            _ => self.intern(Node::Complement(inner)),
        }
    }

    /// What is in all of `members`; all byte strings if there are none.
    pub(crate) fn intersection(&mut self, members: Vec<NodeId>) -> Result {
        let mut flat = Vec::with_capacity(members.len());
        let mut set: Option<ByteSet> = None;
        for member in members {
            match self.node(member) {
                Node::Empty => return Ok(EMPTY),
                Node::Intersection(list) => flat.extend_from_slice(list),
                _ => flat.push(member),
            }
        }
        flat.retain(|&member| match *self.node(member) {
            Node::Bytes(id) => {
                let bytes = *self.set(id);
                set = Some(set.map_or(bytes, |known| known.intersection(&bytes)));
                false
            }
            _ => member != ALL,
        });
        if let Some(set) = set {
            match self.bytes(set)? {
                EMPTY => return Ok(EMPTY),
                bytes => flat.push(bytes),
            }
        }
        if flat.contains(&EPSILON) {
            let has_epsilon = flat.iter().all(|&member| self.is_nullable(member));
            return Ok(if has_epsilon { EPSILON } else { EMPTY });
        }
        flat.sort_unstable();
        flat.dedup();
        if self.has_opposites(&flat) || self.has_excluded(&flat) {
            return Ok(EMPTY);
        }
        let shortest = flat.iter().map(|&member| self.entry(member).min_length).max();
        let longest = flat.iter().map(|&member| self.entry(member).max_length).min();
        if shortest > longest {
            return Ok(EMPTY);
        }
        match *flat {
            [] => Ok(ALL),
            [member] => Ok(member),
            _ => self.intern(Node::Intersection(flat.into())),
        }
    }

    /// Whether some member of the sorted list is the complement of another.
    pub(crate) fn has_opposites(&self, members: &[NodeId]) -> bool {
        members.iter().any(|&member| match self.node(member) {
            Node::Complement(inner) => members.binary_search(inner).is_ok(),
            _ => false,
        })
    }

    /// Whether some member of the sorted list is the complement of a union with another.
    fn has_excluded(&self, members: &[NodeId]) -> bool {
        members.iter().any(|&member| match *self.node(member) {
            Node::Complement(inner) => match self.node(inner) {
                Node::Union(list) => list.iter().any(|excluded| members.binary_search(excluded).is_ok()),
                _ => false,
            },
            _ => false,
        })
    }
}
