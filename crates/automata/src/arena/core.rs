//! The loop that a residue may stay in for ever.

use super::{Arena, Node, NodeId};
use crate::{AutomatonError, ByteSet};

/// Of longer lists of words no last bytes are looked up.
const MAX_WORDS: u32 = 64;

impl Arena {
    /// `x*e`, with e the bytes that words of the residue may end with, such that the residue goes on after
    /// every word of `x*`; and e. `None` if there is no such loop at its front, or nothing is known of how it
    /// ends.
    ///
    /// A loop at the front of one member of a union will do: what the other members are in the middle of may
    /// fail. Members with intersections or complements are left out, as they may be empty. Of several loops
    /// the one that the most bytes begin is taken.
    ///
    /// # Errors
    /// If a limit on nodes is reached.
    pub(crate) fn core(&mut self, node: NodeId) -> Result<Option<(NodeId, ByteSet)>, AutomatonError> {
        let Some((head, _)) = self.front_loop(node) else { return Ok(None) };
        let last = self.last_bytes(node);
        if last.is_empty() || last == ByteSet::FULL {
            return Ok(None);
        }
        let ends = self.bytes(last)?;
        Ok(Some((self.concat(head, ends)?, last)))
    }

    /// Bytes such that the residue goes on after any string of them.
    pub(crate) fn looping_bytes(&self, node: NodeId) -> ByteSet {
        let Some((head, _)) = self.front_loop(node) else { return ByteSet::EMPTY };
        let &Node::Repeat { inner, .. } = self.node(head) else { return ByteSet::EMPTY };
        let single = |node: NodeId| match self.node(node) {
            &Node::Bytes(set) => *self.set(set),
            _ => ByteSet::EMPTY,
        };
        match self.node(inner) {
            Node::Union(list) => list.iter().fold(ByteSet::EMPTY, |all, &member| all.union(&single(member))),
            _ => single(inner),
        }
    }

    /// Whether the first `n_bytes` of words are certainly all in `bytes`.
    pub(crate) fn begins_within(&self, node: NodeId, n_bytes: u64, bytes: &ByteSet) -> bool {
        let (mut part, mut length) = (node, 0u64);
        while let &Node::Cons(head, tail) = self.node(part)
            && length < n_bytes
        {
            if !self.is_within(head, bytes) {
                return false;
            }
            length = length.saturating_add(self.entry(head).min_length);
            part = tail;
        }
        length >= n_bytes || self.is_within(part, bytes)
    }

    /// Whether words are certainly of `bytes` alone. Recursion is over nesting.
    fn is_within(&self, node: NodeId, bytes: &ByteSet) -> bool {
        match self.node(node) {
            Node::Empty | Node::Epsilon => true,
            &Node::Bytes(set) => self.set(set).is_subset(bytes),
            &Node::Words { list, low, high, .. } if high - low <= MAX_WORDS => {
                let words = (low..high).map(|word| self.lists[list as usize].word(word));
                { words }.all(|word| word.iter().all(|&byte| bytes.contains(byte)))
            }
            Node::Words { .. } | Node::Complement(_) => false,
            Node::Cons(..) => {
                let mut part = node;
                while let &Node::Cons(head, tail) = self.node(part) {
                    if !self.is_within(head, bytes) {
                        return false;
                    }
                    part = tail;
                }
                self.is_within(part, bytes)
            }
            Node::Union(list) => list.iter().all(|&member| self.is_within(member, bytes)),
            Node::Intersection(list) => list.iter().any(|&member| self.is_within(member, bytes)),
            &Node::Repeat { inner, .. } => self.is_within(inner, bytes),
        }
    }

    /// The loop, and how many bytes begin it. Recursion is over nesting.
    fn front_loop(&self, node: NodeId) -> Option<(NodeId, usize)> {
        match self.node(node) {
            &Node::Repeat { inner, min: 0, max: None } if !self.entry(inner).extended => {
                Some((node, self.leading_bytes(inner).len()))
            }
            // Without intersections and complements all parts have words.
            Node::Cons(..) if !self.entry(node).extended => {
                let (mut part, mut best) = (node, None);
                while let &Node::Cons(head, tail) = self.node(part) {
                    best = wider(best, self.front_loop(head));
                    if !self.is_nullable(head) {
                        return best;
                    }
                    part = tail;
                }
                wider(best, self.front_loop(part))
            }
            Node::Union(list) => list.iter().fold(None, |best, &member| wider(best, self.front_loop(member))),
            _ => None,
        }
    }

    /// The bytes that non-empty words may end with, and maybe others. Recursion is over nesting.
    pub(crate) fn last_bytes(&self, node: NodeId) -> ByteSet {
        match self.node(node) {
            Node::Empty | Node::Epsilon => ByteSet::EMPTY,
            &Node::Bytes(set) => *self.set(set),
            &Node::Words { list, low, high, .. } if high - low <= MAX_WORDS => {
                let words = (low..high).map(|word| self.lists[list as usize].word(word));
                words.filter_map(|word| word.last().copied()).collect()
            }
            Node::Words { .. } => ByteSet::FULL,
            Node::Cons(..) => {
                let mut parts = Vec::new();
                let mut part = node;
                while let &Node::Cons(head, tail) = self.node(part) {
                    parts.push(head);
                    part = tail;
                }
                let mut last = self.last_bytes(part);
                while self.is_nullable(part)
                    && let Some(before) = parts.pop()
                {
                    last = last.union(&self.last_bytes(before));
                    part = before;
                }
                last
            }
            Node::Union(list) => {
                list.iter().fold(ByteSet::EMPTY, |last, &member| last.union(&self.last_bytes(member)))
            }
            Node::Intersection(list) => {
                list.iter().fold(ByteSet::FULL, |last, &member| last.intersection(&self.last_bytes(member)))
            }
            Node::Complement(_) => ByteSet::FULL,
            &Node::Repeat { inner, .. } => self.last_bytes(inner),
        }
    }
}

/// Of two loops the one that more bytes begin.
fn wider(a: Option<(NodeId, usize)>, b: Option<(NodeId, usize)>) -> Option<(NodeId, usize)> {
    a.into_iter().chain(b).max_by_key(|&(_, n_bytes)| n_bytes)
}
