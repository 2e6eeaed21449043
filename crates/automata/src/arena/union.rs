//! The smart constructor of unions.
//!
//! Members are a set; beyond that, members that end alike are joined where their beginnings are comparable,
//! because derivatives of ambiguous and of counted expressions produce exactly such members, and a state per
//! combination otherwise. All joins are right factorings, `p·s ∪ q·s = (p ∪ q)·s`:
//!
//! * byte sets: `[a]·s ∪ [b]·s = [ab]·s`;
//! * counts that overlap or touch: `x{0,3}·s ∪ x{2,7}·s = x{0,7}·s`, with `x·s` as `x{1,1}·s` and `s` as
//!   `x{0,0}·s` where some `x{…}·s` is there;
//! * absorption: `s ∪ p·s = p·s` where p has ε, and `x*·s ∪ p·x*·s = x*·s` where p is in x*.

use super::{ALL, Arena, EMPTY, EPSILON, Node, NodeId};
use crate::{AutomatonError, ByteSet};

/// How many members with a loop at their beginning are tried on the others, each time a union is made.
const MAX_LOOPED: usize = 8;
/// How many parts of a member may come before what it has in common with another.
const MAX_PREFIX: usize = 16;
/// How many words such a part may be.
const MAX_WORDS: u32 = 64;
/// How deep such parts are looked into.
const MAX_LOOP_DEPTH: u32 = 8;

impl Arena {
    /// What is in any of `members`; ∅ if there are none. O(n log n) for n members after flattening.
    pub(crate) fn union(&mut self, members: Vec<NodeId>) -> Result<NodeId, AutomatonError> {
        let mut flat = Vec::with_capacity(members.len());
        self.flatten(&members, &mut flat);
        loop {
            flat.sort_unstable();
            flat.dedup();
            match *flat {
                [] => return Ok(EMPTY),
                [member] => return Ok(member),
                _ => {}
            }
            if flat.contains(&ALL) || self.has_opposites(&flat) {
                return Ok(ALL);
            }
            if !self.join(&mut flat)? {
                break;
            }
        }
        self.absorb_prefixed(&mut flat);
        if let [member] = *flat {
            return Ok(member);
        }
        if flat[0] == EPSILON && flat[1..].iter().any(|&member| self.is_nullable(member)) {
            flat.remove(0);
            if let [member] = *flat {
                return Ok(member);
            }
        }
        self.intern(Node::Union(flat.into()))
    }

    fn flatten(&self, members: &[NodeId], flat: &mut Vec<NodeId>) {
        for &member in members {
            match self.node(member) {
                Node::Empty => {}
                Node::Union(list) => flat.extend_from_slice(list),
                _ => flat.push(member),
            }
        }
    }

    /// Leaves out members that only put a prefix before what begins with a loop that reads the prefix as
    /// well: `p·x*·s` beside `x*·s`, for p in x*. "Anything, then a, then anything, then b" makes such
    /// members.
    fn absorb_prefixed(&self, members: &mut Vec<NodeId>) {
        let looped: Vec<(NodeId, NodeId)> = members
            .iter()
            .filter_map(|&member| {
                let head = match *self.node(member) {
                    Node::Cons(head, _) => head,
                    _ => member,
                };
                match *self.node(head) {
                    Node::Repeat { inner, min: 0, max: None } => Some((member, inner)),
                    _ => None,
                }
            })
            .take(MAX_LOOPED)
            .collect();
        for (absorber, inner) in looped {
            members.retain(|&member| !self.is_prefixed(member, absorber, inner));
        }
    }

    /// Whether `member` is p·`end` with p, not ε, in `inner`*.
    fn is_prefixed(&self, member: NodeId, end: NodeId, inner: NodeId) -> bool {
        let mut rest = member;
        for _ in 0..MAX_PREFIX {
            match *self.node(rest) {
                Node::Cons(head, tail) if self.is_read_by_loop(head, inner, MAX_LOOP_DEPTH) => rest = tail,
                _ => return false,
            }
            if rest == end {
                return true;
            }
        }
        false
    }

    /// Whether `node` is surely within `inner`*.
    fn is_read_by_loop(&self, node: NodeId, inner: NodeId, depth: u32) -> bool {
        if node == inner || node == EPSILON {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let alternatives = match self.node(inner) {
            Node::Union(list) => &**list,
            _ => std::slice::from_ref(&inner),
        };
        let within = |part: NodeId| self.is_read_by_loop(part, inner, depth - 1);
        alternatives.iter().any(|&alternative| self.is_inside(node, alternative, depth))
            || match self.node(node) {
                &Node::Repeat { inner: repeated, .. } => within(repeated),
                &Node::Cons(head, tail) => within(head) && within(tail),
                Node::Union(list) => list.iter().all(|&member| within(member)),
                &Node::Words { list, low, high, depth } => {
                    high - low <= MAX_WORDS
                        && (low..high).all(|i| {
                            let word = &self.lists[list as usize].word(i)[depth as usize..];
                            self.is_split_by(word, alternatives)
                        })
                }
                _ => false,
            }
    }

    /// Whether `node` is surely within `other`, as characters written in several bytes are within wider
    /// classes.
    fn is_inside(&self, node: NodeId, other: NodeId, depth: u32) -> bool {
        if node == other {
            return true;
        }
        let Some(depth) = depth.checked_sub(1) else { return false };
        match (self.node(node), self.node(other)) {
            (&Node::Bytes(some), &Node::Bytes(all)) => self.set(some).is_subset(self.set(all)),
            (Node::Union(list), _) => list.iter().all(|&member| self.is_inside(member, other, depth)),
            (&Node::Cons(a, b), &Node::Cons(c, d)) => {
                self.is_inside(a, c, depth) && self.is_inside(b, d, depth)
            }
            (_, &Node::Repeat { inner, min, max: Some(max) }) if min == max => {
                self.is_copies(node, inner, max, depth)
            }
            _ => false,
        }
    }

    /// Whether `node` is surely within `n` copies of `inner`.
    fn is_copies(&self, node: NodeId, inner: NodeId, n: u32, depth: u32) -> bool {
        let Some(deeper) = depth.checked_sub(1) else { return false };
        match self.node(node) {
            _ if n == 1 => self.is_inside(node, inner, depth),
            &Node::Cons(head, tail) if n > 1 => {
                self.is_inside(head, inner, deeper) && self.is_copies(tail, inner, n - 1, deeper)
            }
            &Node::Repeat { inner: repeated, min, max } if min == n && max == Some(n) => {
                self.is_inside(repeated, inner, deeper)
            }
            Node::Union(list) => list.iter().all(|&member| self.is_copies(member, inner, n, deeper)),
            _ => false,
        }
    }

    /// Whether `word` is surely a sequence of bytes and words that are `alternatives`.
    fn is_split_by(&self, word: &[u8], alternatives: &[NodeId]) -> bool {
        let mut rest = word;
        while !rest.is_empty() {
            let length = alternatives.iter().find_map(|&alternative| self.length_read(alternative, rest));
            match length {
                Some(length) => rest = &rest[length..],
                None => return false,
            }
        }
        true
    }

    /// The length of a prefix of `bytes`, not empty, that is surely a word of `node`.
    fn length_read(&self, node: NodeId, bytes: &[u8]) -> Option<usize> {
        match *self.node(node) {
            Node::Bytes(set) => self.set(set).contains(*bytes.first()?).then_some(1),
            Node::Words { list, low, high, depth } if high - low <= MAX_WORDS => {
                let words = &self.lists[list as usize];
                let mut words = (low..high).map(|i| &words.word(i)[depth as usize..]);
                words.find(|word| !word.is_empty() && bytes.starts_with(word)).map(<[u8]>::len)
            }
            Node::Cons(..) => {
                let (mut length, mut rest) = (0, node);
                while let Node::Cons(head, tail) = *self.node(rest) {
                    length += self.length_read(head, &bytes[length..])?;
                    rest = tail;
                }
                Some(length + self.length_read(rest, &bytes[length..])?)
            }
            Node::Repeat { inner, min, max: Some(max) } if min == max => {
                let mut length = 0;
                for _ in 0..max {
                    length += self.length_read(inner, bytes.get(length..)?)?;
                }
                Some(length)
            }
            _ => None,
        }
    }

    /// One round of joins over the sorted members; whether anything changed. A change lowers the number of
    /// members, so rounds come to an end.
    fn join(&mut self, members: &mut Vec<NodeId>) -> Result<bool, AutomatonError> {
        // (end, beginning, member), so that equal ends are neighbours.
        let mut parts: Vec<(NodeId, NodeId, NodeId)> = members
            .iter()
            .map(|&member| match *self.node(member) {
                Node::Cons(head, tail) => (tail, head, member),
                _ => (EPSILON, member, member),
            })
            .collect();
        parts.sort_unstable();
        let mut result = Vec::with_capacity(members.len());
        let mut absorbed = Vec::new();
        for group in parts.chunk_by(|a, b| a.0 == b.0) {
            let tail = group[0].0;
            let has_tail = tail != EPSILON && members.binary_search(&tail).is_ok();
            if let ([(_, _, member)], false) = (group, has_tail) {
                result.push(*member);
                continue;
            }
            let mut heads: Vec<NodeId> = group.iter().map(|&(_, head, _)| head).collect();
            if has_tail {
                if heads.iter().any(|&head| self.is_nullable(head)) {
                    absorbed.push(tail);
                } else if heads.iter().any(|&head| matches!(self.node(head), Node::Repeat { min: 1, .. })) {
                    heads.push(EPSILON);
                    absorbed.push(tail);
                }
            }
            if heads.len() > 1 {
                self.join_bytes(&mut heads)?;
                self.join_counts(&mut heads)?;
            }
            for head in heads {
                // ε that no count took up stands for the end itself.
                let member = self.concat(head, tail)?;
                self.flatten(&[member], &mut result);
            }
        }
        result.retain(|member| !absorbed.contains(member));
        result.sort_unstable();
        result.dedup();
        let changed = result != *members;
        *members = result;
        Ok(changed)
    }

    /// Joins the byte sets among `heads`.
    fn join_bytes(&mut self, heads: &mut Vec<NodeId>) -> Result<(), AutomatonError> {
        let is_bytes = |arena: &Arena, head: NodeId| matches!(arena.node(head), Node::Bytes(_));
        if heads.iter().filter(|&&head| is_bytes(self, head)).count() < 2 {
            return Ok(());
        }
        let mut all = ByteSet::EMPTY;
        heads.retain(|&head| match *self.node(head) {
            Node::Bytes(set) => {
                all = all.union(self.set(set));
                false
            }
            _ => true,
        });
        heads.push(self.bytes(all)?);
        Ok(())
    }

    /// Joins the repeats of one thing among `heads` where their counts overlap or touch.
    fn join_counts(&mut self, heads: &mut Vec<NodeId>) -> Result<(), AutomatonError> {
        let mut inners: Vec<NodeId> = heads
            .iter()
            .filter_map(|&head| match *self.node(head) {
                Node::Repeat { inner, .. } => Some(inner),
                _ => None,
            })
            .collect();
        inners.sort_unstable();
        inners.dedup();
        for inner in inners {
            let mut counts: Vec<(u32, Option<u32>)> = Vec::new();
            heads.retain(|&head| {
                let count = match *self.node(head) {
                    Node::Epsilon => (0, Some(0)),
                    Node::Repeat { inner: repeated, min, max } if repeated == inner => (min, max),
                    _ if head == inner => (1, Some(1)),
                    _ => return true,
                };
                counts.push(count);
                false
            });
            counts.sort_unstable();
            let mut joined: Vec<(u32, Option<u32>)> = Vec::new();
            for (min, max) in counts {
                match joined.last_mut() {
                    Some(last) if last.1.is_none_or(|end| min <= end.saturating_add(1)) => {
                        last.1 = last.1.zip(max).map(|(a, b)| a.max(b));
                    }
                    _ => joined.push((min, max)),
                }
            }
            for (min, max) in joined {
                heads.push(self.repeat(inner, min, max)?);
            }
        }
        Ok(())
    }
}
