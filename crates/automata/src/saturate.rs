//! Residues cut to what a bounded number of bytes can tell apart.

use crate::arena::{EPSILON, Node, NodeId};
use crate::liveness::is_alive;
use crate::residues::{Access, Residues};
use crate::{AutomatonError, ByteSet};

/// Node visits of the search for a word of a pattern that is none of counted units; without an answer the
/// intersection of the two stays as it is.
const INCLUSION_FUEL: u64 = 400_000;

/// As many copies a wider language still counts.
const FEW_COPIES: u32 = 4;

/// `node` with what strings of at most `max_bytes` bytes cannot reach cut off; see
/// [`Automaton::row_key`](crate::Automaton::row_key) for what that is and what it keeps.
pub(crate) fn saturate(on: &mut impl Access, node: NodeId, max_bytes: u32) -> Result<NodeId, AutomatonError> {
    let residues = on.residues();
    if residues.arena.entry(node).span <= u64::from(max_bytes) {
        return Ok(node);
    }
    if let Some(&known) = residues.saturated.cut.get(&(node, max_bytes)) {
        return Ok(known);
    }
    let result = match residues.arena.node(node).clone() {
        Node::Cons(..) => saturate_sequence(on, node, max_bytes)?,
        Node::Union(list) => {
            let mut members = Vec::with_capacity(list.len());
            for &member in &*list {
                members.push(saturate(on, member, max_bytes)?);
            }
            on.residues().drop_hidden(&mut members, max_bytes);
            on.residues().arena.union(members)?
        }
        Node::Repeat { inner, min, max } => {
            let length = residues.arena.entry(inner).min_length.max(1);
            let cap = u32::try_from(u64::from(max_bytes) / length + 1).unwrap_or(u32::MAX);
            let inner = saturate(on, inner, max_bytes)?;
            on.residues().arena.repeat(inner, min.min(cap), max.map(|max| max.min(cap)))?
        }
        Node::Intersection(list) => match *list {
            [a, b] if is_far_from_bound(on, a, b, max_bytes)? => saturate(on, a, max_bytes)?,
            [a, b] if is_far_from_bound(on, b, a, max_bytes)? => saturate(on, b, max_bytes)?,
            _ => node,
        },
        _ => node,
    };
    on.residues().saturated.cut.insert((node, max_bytes), result);
    Ok(result)
}

fn saturate_sequence(on: &mut impl Access, node: NodeId, max_bytes: u32) -> Result<NodeId, AutomatonError> {
    let residues = on.residues();
    // Each head with the most bytes that it can see.
    let mut heads = Vec::new();
    let (mut rest, mut left) = (node, max_bytes);
    while let &Node::Cons(head, tail) = residues.arena.node(rest) {
        if residues.arena.entry(rest).span <= u64::from(left) {
            break;
        }
        heads.push((head, left));
        let length = residues.arena.entry(head).min_length;
        if length > u64::from(left) && !residues.arena.entry(tail).extended {
            rest = residues.ending_of(tail)?;
            break;
        }
        left = left.saturating_sub(u32::try_from(length).unwrap_or(u32::MAX));
        rest = tail;
    }
    let mut result = match residues.arena.node(rest) {
        Node::Cons(..) => rest,
        _ => saturate(on, rest, left)?,
    };
    for &(head, left) in heads.iter().rev() {
        let head = saturate(on, head, left)?;
        result = on.residues().arena.concat(head, result)?;
    }
    Ok(result)
}

/// Whether `counted` is m to n units (or m at least) and a suffix, all of `pattern` has at least m units and
/// the suffix, and n is so great that no string of `max_bytes` bytes comes near it.
fn is_far_from_bound(
    on: &mut impl Access,
    pattern: NodeId,
    counted: NodeId,
    max_bytes: u32,
) -> Result<bool, AutomatonError> {
    let residues = on.residues();
    let (head, suffix) = match *residues.arena.node(counted) {
        Node::Cons(head, suffix) => (head, suffix),
        _ => (counted, EPSILON),
    };
    let &Node::Repeat { inner, min, max } = residues.arena.node(head) else { return Ok(false) };
    let entry = residues.arena.entry(pattern);
    let furthest = entry.completion.max(entry.min_length).saturating_add(u64::from(max_bytes));
    if entry.extended || max.is_some_and(|max| u64::from(max) <= furthest) {
        return Ok(false);
    }
    let units = residues.arena.repeat(inner, min, None)?;
    let unbounded = residues.arena.concat(units, suffix)?;
    let outside = residues.arena.complement(unbounded)?;
    let wider = residues.relax(pattern)?;
    let difference = residues.arena.intersection(vec![wider, outside])?;
    match is_alive(on, difference, INCLUSION_FUEL, None) {
        Err(error) if error.is_out_of_work() => Err(error),
        is_alive => Ok(!is_alive.unwrap_or(true)),
    }
}

impl Residues {
    /// Drops members whose words are all longer than `max_bytes`, where another member goes on after any
    /// string of the bytes that they begin with: what a search is in the middle of, far from its end.
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

    /// The bytes that words of `tail` end with, as an expression, or ε: what ends as before shows where it
    /// does not ([`Automaton::core`](crate::Automaton::core)).
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

    /// A language around that of `node`, with fewer residues: of many copies no more is known than that there
    /// is one. Few copies stay, since so are the bytes of one character written.
    fn relax(&mut self, node: NodeId) -> Result<NodeId, AutomatonError> {
        if let Some(&known) = self.saturated.relaxed.get(&node) {
            return Ok(known);
        }
        let relaxed = match self.arena.node(node).clone() {
            Node::Cons(..) => {
                let (mut heads, mut rest) = (Vec::new(), node);
                while let &Node::Cons(head, tail) = self.arena.node(rest) {
                    heads.push(head);
                    rest = tail;
                }
                let mut result = self.relax(rest)?;
                for &head in heads.iter().rev() {
                    let head = self.relax(head)?;
                    result = self.arena.concat(head, result)?;
                }
                result
            }
            Node::Union(list) => {
                let members = list.iter().map(|&member| self.relax(member));
                let members = members.collect::<Result<_, _>>()?;
                self.arena.union(members)?
            }
            Node::Repeat { inner, min, max } => {
                let inner = self.relax(inner)?;
                match max {
                    Some(max) if max <= FEW_COPIES => self.arena.repeat(inner, min, Some(max))?,
                    _ => self.arena.repeat(inner, min.min(1), None)?,
                }
            }
            _ => node,
        };
        self.saturated.relaxed.insert(node, relaxed);
        Ok(relaxed)
    }
}
