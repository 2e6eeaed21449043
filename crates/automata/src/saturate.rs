//! Residues cut to what a bounded number of bytes can tell apart.

use rustc_hash::FxHashMap;

use crate::arena::{EPSILON, Node, NodeId};
use crate::liveness::Residues;
use crate::{AutomatonError, ByteSet};

/// What was found before.
#[derive(Default)]
pub(crate) struct Saturated {
    /// Cut residues by residue and number of bytes.
    cut: FxHashMap<(NodeId, u32), NodeId>,
    relaxed: FxHashMap<NodeId, NodeId>,
}

/// Node visits of the search for a word of a pattern that is none of counted units; without an answer the
/// intersection of the two stays as it is.
const INCLUSION_FUEL: u64 = 400_000;

/// As many copies a wider language still counts.
const FEW_COPIES: u32 = 4;

impl Residues {
    /// `node` with what strings of at most `max_bytes` bytes cannot reach cut off; see
    /// [`Automaton::row_key`](crate::Automaton::row_key) for what that is and what it keeps.
    pub(crate) fn saturate(
        &mut self,
        node: NodeId,
        max_bytes: u32,
        memo: &mut Saturated,
    ) -> Result<NodeId, AutomatonError> {
        if self.arena.entry(node).span <= u64::from(max_bytes) {
            return Ok(node);
        }
        if let Some(&known) = memo.cut.get(&(node, max_bytes)) {
            return Ok(known);
        }
        let result = match self.arena.node(node).clone() {
            Node::Cons(..) => self.saturate_sequence(node, max_bytes, memo)?,
            Node::Union(list) => {
                let mut members = Vec::with_capacity(list.len());
                for &member in &*list {
                    members.push(self.saturate(member, max_bytes, memo)?);
                }
                self.drop_hidden(&mut members, max_bytes);
                self.arena.union(members)?
            }
            Node::Repeat { inner, min, max } => {
                let length = self.arena.entry(inner).min_length.max(1);
                let cap = u32::try_from(u64::from(max_bytes) / length + 1).unwrap_or(u32::MAX);
                let inner = self.saturate(inner, max_bytes, memo)?;
                self.arena.repeat(inner, min.min(cap), max.map(|max| max.min(cap)))?
            }
            Node::Intersection(list) => match *list {
                [a, b] if self.is_far_from_bound(a, b, max_bytes, memo)? => {
                    self.saturate(a, max_bytes, memo)?
                }
                [a, b] if self.is_far_from_bound(b, a, max_bytes, memo)? => {
                    self.saturate(b, max_bytes, memo)?
                }
                _ => node,
            },
            _ => node,
        };
        memo.cut.insert((node, max_bytes), result);
        Ok(result)
    }

    fn saturate_sequence(
        &mut self,
        node: NodeId,
        max_bytes: u32,
        memo: &mut Saturated,
    ) -> Result<NodeId, AutomatonError> {
        // Each head with the most bytes that it can see.
        let mut heads = Vec::new();
        let (mut rest, mut left) = (node, max_bytes);
        while let &Node::Cons(head, tail) = self.arena.node(rest) {
            if self.arena.entry(rest).span <= u64::from(left) {
                break;
            }
            heads.push((head, left));
            let length = self.arena.entry(head).min_length;
            if length > u64::from(left) && !self.arena.entry(tail).extended {
                rest = self.ending_of(tail)?;
                break;
            }
            left = left.saturating_sub(u32::try_from(length).unwrap_or(u32::MAX));
            rest = tail;
        }
        let mut result = match self.arena.node(rest) {
            Node::Cons(..) => rest,
            _ => self.saturate(rest, left, memo)?,
        };
        for &(head, left) in heads.iter().rev() {
            let head = self.saturate(head, left, memo)?;
            result = self.arena.concat(head, result)?;
        }
        Ok(result)
    }

    /// Drops members whose words are all longer than `max_bytes`, where another member goes on after any string of the
    /// bytes that they begin with: what a search is in the middle of, far from its end.
    fn drop_hidden(&self, members: &mut Vec<NodeId>, max_bytes: u32) {
        let (arena, max_bytes) = (&self.arena, u64::from(max_bytes));
        let is_long = |member: NodeId| {
            let entry = arena.entry(member);
            entry.min_length > max_bytes && !entry.extended
        };
        if !members.iter().any(|&member| is_long(member)) {
            return;
        }
        let loops = members.iter().map(|&member| (member, arena.looping_bytes(member)));
        let Some((widest, bytes)) = loops.max_by_key(|(_, bytes)| bytes.len()) else { return };
        // What has a loop has words; another member may have none.
        if bytes.is_empty() {
            return;
        }
        members.retain(|&member| {
            member == widest || !is_long(member) || !arena.begins_within(member, max_bytes, &bytes)
        });
    }

    /// The bytes that words of `tail` end with, as an expression, or ε: what ends as before shows where it does not
    /// ([`Automaton::core`](crate::Automaton::core)).
    fn ending_of(&mut self, tail: NodeId) -> Result<NodeId, AutomatonError> {
        let mut last = tail;
        while let &Node::Cons(_, next) = self.arena.node(last) {
            last = next;
        }
        if self.arena.is_nullable(last) {
            return Ok(EPSILON);
        }
        match self.arena.last_bytes(last) {
            ByteSet::FULL => Ok(EPSILON),
            bytes => self.arena.bytes(bytes),
        }
    }

    /// Whether `counted` is m to n units (or m at least) and a suffix, all of `pattern` has at least m units and the
    /// suffix, and n is so great that no string of `max_bytes` bytes comes near it.
    fn is_far_from_bound(
        &mut self,
        pattern: NodeId,
        counted: NodeId,
        max_bytes: u32,
        memo: &mut Saturated,
    ) -> Result<bool, AutomatonError> {
        let (head, suffix) = match *self.arena.node(counted) {
            Node::Cons(head, suffix) => (head, suffix),
            _ => (counted, EPSILON),
        };
        let &Node::Repeat { inner, min, max } = self.arena.node(head) else { return Ok(false) };
        let entry = self.arena.entry(pattern);
        let furthest = entry.completion.max(entry.min_length).saturating_add(u64::from(max_bytes));
        if entry.extended || max.is_some_and(|max| u64::from(max) <= furthest) {
            return Ok(false);
        }
        let units = self.arena.repeat(inner, min, None)?;
        let unbounded = self.arena.concat(units, suffix)?;
        let outside = self.arena.complement(unbounded)?;
        let wider = self.relax(pattern, memo)?;
        let difference = self.arena.intersection(vec![wider, outside])?;
        Ok(!self.is_alive_within(difference, INCLUSION_FUEL).unwrap_or(true))
    }

    /// A language around that of `node`, with fewer residues: of many copies no more is known than that there is one.
    /// Few copies stay, since so are the bytes of one character written.
    fn relax(&mut self, node: NodeId, memo: &mut Saturated) -> Result<NodeId, AutomatonError> {
        if let Some(&known) = memo.relaxed.get(&node) {
            return Ok(known);
        }
        let relaxed = match self.arena.node(node).clone() {
            Node::Cons(..) => {
                let (mut heads, mut rest) = (Vec::new(), node);
                while let &Node::Cons(head, tail) = self.arena.node(rest) {
                    heads.push(head);
                    rest = tail;
                }
                let mut result = self.relax(rest, memo)?;
                for &head in heads.iter().rev() {
                    let head = self.relax(head, memo)?;
                    result = self.arena.concat(head, result)?;
                }
                result
            }
            Node::Union(list) => {
                let members = list.iter().map(|&member| self.relax(member, memo));
                let members = members.collect::<Result<_, _>>()?;
                self.arena.union(members)?
            }
            Node::Repeat { inner, min, max } => {
                let inner = self.relax(inner, memo)?;
                match max {
                    Some(max) if max <= FEW_COPIES => self.arena.repeat(inner, min, Some(max))?,
                    _ => self.arena.repeat(inner, min.min(1), None)?,
                }
            }
            _ => node,
        };
        memo.relaxed.insert(node, relaxed);
        Ok(relaxed)
    }
}
