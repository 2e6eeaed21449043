//! Nodes back as expressions, to be written down and read again.

use rustc_hash::FxHashMap;

use super::{Arena, Node, NodeId};
use crate::Regex;

impl Arena {
    /// An expression for the language of `node`; `None` if there is a complement inside, or if it takes more
    /// than `max_size` operations and bytes of words, a part that occurs twice counted once.
    pub(crate) fn regex(&self, node: NodeId, max_size: usize) -> Option<Regex> {
        Raising { arena: self, known: FxHashMap::default(), size_left: max_size }.regex(node)
    }
}

struct Raising<'a> {
    arena: &'a Arena,
    known: FxHashMap<NodeId, Regex>,
    size_left: usize,
}

impl Raising<'_> {
    /// Recursion is over nesting.
    fn regex(&mut self, node: NodeId) -> Option<Regex> {
        if let Some(known) = self.known.get(&node) {
            return Some(known.clone());
        }
        self.size_left = self.size_left.checked_sub(1)?;
        let regex = match self.arena.node(node) {
            Node::Empty => Regex::empty(),
            Node::Epsilon => Regex::epsilon(),
            &Node::Bytes(set) => Regex::bytes(*self.arena.set(set)),
            &Node::Words { list, low, high, depth } => {
                let words =
                    (low..high).map(|word| &self.arena.lists()[list as usize].word(word)[depth as usize..]);
                let size: usize = words.clone().take(self.size_left + 1).map(|word| word.len() + 1).sum();
                self.size_left = self.size_left.checked_sub(size)?;
                Regex::words(words)
            }
            Node::Cons(..) => {
                let (mut parts, mut part) = (Vec::new(), node);
                while let &Node::Cons(head, tail) = self.arena.node(part) {
                    parts.push(self.regex(head)?);
                    part = tail;
                }
                parts.push(self.regex(part)?);
                Regex::concat(parts)
            }
            Node::Union(list) => Regex::union(self.list(list)?),
            Node::Intersection(list) => Regex::intersection(self.list(list)?),
            // That of an expression is relative to text, that of a node is not.
            Node::Complement(_) => return None,
            &Node::Repeat { inner, min, max } => self.regex(inner)?.repeat(min, max),
        };
        self.known.insert(node, regex.clone());
        Some(regex)
    }

    fn list(&mut self, list: &[NodeId]) -> Option<Vec<Regex>> {
        list.iter().map(|&member| self.regex(member)).collect()
    }
}
