//! Futures: how a token that has been begun may go on.
//!
//! A *future* is a finite set of byte strings, the remainders of tokens, as a node of a minimal acyclic
//! automaton: equal sets are one id (Daciuk and others 2000, from a trie bottom-up). A place inside a token
//! matters for what comes only through its future, so nodes of the token trie with the same remainders are
//! one, and several places reached at the same cost are the union of their futures, one id again.
//!
//! The *root* future stands for "no token begun"; it has a mark of its own, so that no begun token is taken for
//! it. Making the root's futures takes time in the trie, once per vocabulary.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use hashbrown::HashTable;
use maskwright_automata::{ByteSet, meter};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, Vocabulary};
use rustc_hash::{FxHashMap, FxHasher};

use crate::ground::NEVER;

/// A set of remainders.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FutureId(u32);

impl FutureId {
    /// No remainder at all.
    pub(crate) const EMPTY: FutureId = FutureId(0);

    /// The id as a dense index.
    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// Sets with more strings than this are not searched one by one.
const MAX_LISTED: u32 = 4_096;
/// Units of work that spelling takes for each byte.
pub(crate) const UNITS_PER_BYTE: u64 = 40;

#[derive(Clone, Copy)]
struct Node {
    first: u32,
    end: u32,
    /// How many strings are in the set, up to `u32::MAX`.
    n_strings: u32,
    is_end: bool,
    is_root: bool,
}

/// All futures of one vocabulary, and what its tokens can spell.
pub(crate) struct Futures {
    vocabulary: Arc<Vocabulary>,
    nodes: Vec<Node>,
    /// By future, the bytes of its strings.
    bytes: Vec<ByteSet>,
    edges: Vec<(u8, FutureId)>,
    ids: HashTable<FutureId>,
    root: FutureId,
    unions: FxHashMap<Box<[FutureId]>, FutureId>,
    costly: FxHashMap<(FutureId, u32), FutureId>,
    /// By byte and the byte before it, see [`Futures::worst`].
    worst: Box<[u32]>,
    /// The string that was spelled last, and the least number of tokens that spell it from each byte on.
    spelled: (Box<[u8]>, Vec<Option<u32>>),
    /// What was asked for so far.
    worst_of: FxHashMap<(ByteSet, ByteSet), u32>,
}

impl Futures {
    /// The futures of all places in the tokens of `vocabulary`.
    pub(crate) fn new(vocabulary: Arc<Vocabulary>) -> Futures {
        let mut futures = Futures {
            vocabulary: vocabulary.clone(),
            nodes: Vec::new(),
            bytes: Vec::new(),
            edges: Vec::new(),
            ids: HashTable::new(),
            root: FutureId::EMPTY,
            unions: FxHashMap::default(),
            costly: FxHashMap::default(),
            worst: worst_by_bytes(&vocabulary),
            spelled: (Box::default(), vec![Some(0)]),
            worst_of: FxHashMap::default(),
        };
        futures.intern(false, false, &[]);
        let trie = vocabulary.trie();
        let mut order: Vec<TrieNodeId> = vec![Trie::ROOT];
        let mut position = 0;
        while let Some(&node) = order.get(position) {
            position += 1;
            order.extend(trie.children(node).map(|(_, child)| child));
        }
        let mut of_node = vec![FutureId::EMPTY; trie.n_nodes()];
        let mut edges = Vec::new();
        for &node in order.iter().rev() {
            edges.clear();
            edges.extend(trie.children(node).map(|(byte, child)| (byte, of_node[child.index()])));
            let is_end = !trie.tokens(node).is_empty();
            of_node[node.index()] = futures.intern(is_end, node == Trie::ROOT, &edges);
        }
        futures.root = of_node[Trie::ROOT.index()];
        futures
    }

    /// No token begun.
    pub(crate) fn root(&self) -> FutureId {
        self.root
    }

    /// How many futures there are.
    pub(crate) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// All futures, the empty one included.
    pub(crate) fn all(&self) -> impl Iterator<Item = FutureId> {
        (0..self.nodes.len() as u32).map(FutureId)
    }

    /// Whether a token may end here.
    #[inline]
    pub(crate) fn is_end(&self, future: FutureId) -> bool {
        self.nodes[future.0 as usize].is_end
    }

    /// The ways on, by ascending byte.
    #[inline]
    pub(crate) fn edges(&self, future: FutureId) -> &[(u8, FutureId)] {
        let node = self.nodes[future.0 as usize];
        &self.edges[node.first as usize..node.end as usize]
    }

    /// How many strings it has, up to `u32::MAX`.
    #[inline]
    pub(crate) fn n_strings(&self, future: FutureId) -> u32 {
        self.nodes[future.0 as usize].n_strings
    }

    /// The bytes of its strings.
    #[inline]
    pub(crate) fn bytes(&self, future: FutureId) -> &ByteSet {
        &self.bytes[future.0 as usize]
    }

    #[cfg(test)]
    fn step(&self, future: FutureId, byte: u8) -> Option<FutureId> {
        let edges = self.edges(future);
        edges.binary_search_by_key(&byte, |&(label, _)| label).ok().map(|at| edges[at].1)
    }

    fn intern(&mut self, is_end: bool, is_root: bool, edges: &[(u8, FutureId)]) -> FutureId {
        let Futures { nodes, bytes, edges: all, ids, .. } = self;
        let hash = |is_end: bool, is_root: bool, edges: &[(u8, FutureId)]| {
            let mut hasher = FxHasher::default();
            (is_end, is_root, edges).hash(&mut hasher);
            hasher.finish()
        };
        let of = |node: &Node, all: &[(u8, FutureId)]| {
            hash(node.is_end, node.is_root, &all[node.first as usize..node.end as usize])
        };
        let entry = ids.entry(
            hash(is_end, is_root, edges),
            |id| {
                let node = &nodes[id.0 as usize];
                (node.is_end, node.is_root) == (is_end, is_root)
                    && &all[node.first as usize..node.end as usize] == edges
            },
            |id| of(&nodes[id.0 as usize], all),
        );
        match entry {
            hashbrown::hash_table::Entry::Occupied(entry) => *entry.get(),
            hashbrown::hash_table::Entry::Vacant(entry) => {
                let id = FutureId(nodes.len() as u32);
                entry.insert(id);
                let n_strings = edges.iter().fold(u32::from(is_end), |sum, (_, next)| {
                    sum.saturating_add(nodes[next.0 as usize].n_strings)
                });
                let mut own_bytes = ByteSet::EMPTY;
                for &(byte, next) in edges {
                    own_bytes = own_bytes.union(&bytes[next.index()]);
                    own_bytes.insert(byte);
                }
                bytes.push(own_bytes);
                let first = all.len() as u32;
                all.extend_from_slice(edges);
                nodes.push(Node { first, end: all.len() as u32, n_strings, is_end, is_root });
                id
            }
        }
    }

    /// The strings of `future` that begin with a byte of `bytes`; the root is cut like any other and is the root no more.
    pub(crate) fn restrict(&mut self, future: FutureId, bytes: ByteSet) -> FutureId {
        let node = self.nodes[future.0 as usize];
        let is_whole = self.edges(future).iter().all(|(byte, _)| bytes.contains(*byte));
        if is_whole && !node.is_end && !node.is_root {
            return future;
        }
        let kept: Vec<(u8, FutureId)> =
            self.edges(future).iter().copied().filter(|(byte, _)| bytes.contains(*byte)).collect();
        self.intern(false, false, &kept)
    }

    /// The union of `parts`. Iterative; takes time in the nodes that several parts share.
    pub(crate) fn union(&mut self, mut parts: Vec<FutureId>) -> FutureId {
        struct Level {
            is_end: bool,
            /// What is still to be merged, in descending order of bytes.
            groups: Vec<(u8, Vec<FutureId>)>,
            done: Vec<(u8, FutureId)>,
            key: Box<[FutureId]>,
        }
        parts.retain(|&part| part != FutureId::EMPTY);
        parts.sort_unstable();
        parts.dedup();
        match parts.as_slice() {
            [] => return FutureId::EMPTY,
            &[single] => return single,
            _ => {}
        }
        let mut levels: Vec<Level> = Vec::new();
        let mut pending = Some(parts);
        loop {
            // Either opens `pending`, or goes on with the innermost level.
            let mut result = None;
            if let Some(parts) = pending.take() {
                let key: Box<[FutureId]> = parts.into();
                if let [single] = *key {
                    result = Some(single);
                } else if let Some(&known) = self.unions.get(&key) {
                    result = Some(known);
                } else {
                    let mut edges: Vec<(u8, FutureId)> =
                        key.iter().flat_map(|&part| self.edges(part).iter().copied()).collect();
                    meter::charge(edges.len() as u64);
                    edges.sort_unstable();
                    edges.dedup();
                    let groups = edges
                        .chunk_by(|a, b| a.0 == b.0)
                        .rev()
                        .map(|group| (group[0].0, group.iter().map(|&(_, next)| next).collect()))
                        .collect();
                    let is_end = key.iter().any(|&part| self.is_end(part));
                    levels.push(Level { is_end, groups, done: Vec::new(), key });
                }
            }
            loop {
                if let Some(merged) = result.take() {
                    let Some(level) = levels.last_mut() else { return merged };
                    if let Some((byte, _)) = level.groups.pop() {
                        level.done.push((byte, merged));
                    }
                }
                let Some(level) = levels.last_mut() else { break };
                if let Some((_, group)) = level.groups.last_mut() {
                    pending = Some(std::mem::take(group));
                    break;
                }
                if let Some(level) = levels.pop() {
                    let merged = self.intern(level.is_end, false, &level.done);
                    self.unions.insert(level.key, merged);
                    result = Some(merged);
                }
            }
        }
    }

    /// The strings of `future` that take at least `n_tokens` tokens to spell; all of them, if they are too
    /// many to be looked at.
    pub(crate) fn costly(&mut self, future: FutureId, n_tokens: u32) -> FutureId {
        if n_tokens <= 1 || self.nodes[future.0 as usize].n_strings > MAX_LISTED {
            return future;
        }
        if let Some(&known) = self.costly.get(&(future, n_tokens)) {
            return known;
        }
        let mut strings = self.strings(future);
        strings.retain(|string| self.spell(string) >= n_tokens);
        let kept = self.of_strings(&strings);
        self.costly.insert((future, n_tokens), kept);
        kept
    }

    /// The least number of tokens that spell `string`; [`NEVER`] if none do.
    pub(crate) fn spell(&mut self, string: &[u8]) -> u32 {
        // Shortest words of the residues of one terminal mostly have their ends in common.
        if !self.spelled.0.ends_with(string) {
            meter::charge(UNITS_PER_BYTE * string.len() as u64);
            self.spelled = (string.into(), self.vocabulary.fewest_tokens(string));
        }
        let (last, fewest) = &self.spelled;
        fewest[last.len() - string.len()].unwrap_or(NEVER)
    }

    /// The strings of `future`, sorted.
    fn strings(&self, future: FutureId) -> Vec<Vec<u8>> {
        let mut strings = Vec::new();
        let mut stack = vec![(future, Vec::new())];
        while let Some((future, string)) = stack.pop() {
            for &(byte, next) in self.edges(future).iter().rev() {
                let mut longer: Vec<u8> = string.clone();
                longer.push(byte);
                stack.push((next, longer));
            }
            if self.is_end(future) {
                strings.push(string);
            }
        }
        strings
    }

    fn of_strings(&mut self, strings: &[Vec<u8>]) -> FutureId {
        let parts: Vec<FutureId> = strings
            .iter()
            .map(|string| {
                let leaf = self.intern(true, false, &[]);
                string.iter().rev().fold(leaf, |next, &byte| self.intern(false, false, &[(byte, next)]))
            })
            .collect();
        self.union(parts)
    }

    /// The most tokens that the rest of a begun token takes to spell, when a byte of `before` is the last one read and
    /// one of `first` comes next; [`NEVER`] if some rest cannot be spelled, at least 1.
    pub(crate) fn worst(&mut self, before: ByteSet, first: ByteSet) -> u32 {
        if let Some(&known) = self.worst_of.get(&(before, first)) {
            return known;
        }
        let by_bytes = &self.worst;
        let most = |before: u8| first.iter().map(move |byte| (usize::from(before), usize::from(byte)));
        let worst = before.iter().flat_map(most).map(|(a, b)| by_bytes[a * 256 + b]).fold(1, u32::max);
        self.worst_of.insert((before, first), worst);
        worst
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.nodes.len() * (size_of::<Node>() + size_of::<ByteSet>() + 5)
            + self.edges.len() * 8
            + self.unions.keys().map(|key| key.len() * 4 + 40).sum::<usize>()
            + self.costly.len() * 16
    }
}

/// By two bytes that follow each other in tokens, the most tokens that the rest from the second on takes to spell.
fn worst_by_bytes(vocabulary: &Vocabulary) -> Box<[u32]> {
    let mut worst = vec![1; 256 * 256].into_boxed_slice();
    for id in 0..vocabulary.n_vocab() {
        let token = vocabulary.text(TokenId(id as u32)).unwrap_or_default();
        let spelled = vocabulary.fewest_tokens(token);
        for (pair, least) in token.windows(2).zip(spelled.into_iter().skip(1)) {
            let known = &mut worst[usize::from(pair[0]) * 256 + usize::from(pair[1])];
            *known = least.unwrap_or(NEVER).max(*known);
        }
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;

    fn futures(tokens: &[&str]) -> Futures {
        let tokens = tokens.iter().map(|token| Some(token.as_bytes().to_vec())).collect();
        Futures::new(Vocabulary::from_tokens(tokens, &[], None).unwrap().shared())
    }

    /// Places with the same remainders are one, and unions hold exactly the strings of their parts.
    #[test]
    fn equal_sets_are_one() {
        let mut futures = futures(&["xab", "yab", "xcd", "ycd", "zab", "ab", "a", "q"]);
        let at = |futures: &Futures, text: &[u8]| {
            text.iter().fold(futures.root(), |future, &byte| futures.step(future, byte).unwrap())
        };
        let (x, y, z) = (at(&futures, b"x"), at(&futures, b"y"), at(&futures, b"z"));
        assert_eq!(x, y);
        assert_ne!(x, z);
        assert_eq!(futures.union(vec![x, z]), x);
        let a = at(&futures, b"a");
        let both = futures.union(vec![z, a, FutureId::EMPTY]);
        assert_eq!(futures.strings(both), [&b""[..], b"ab", b"b"].map(<[u8]>::to_vec));
        let from_a = futures.restrict(both, ByteSet::singleton(b'a'));
        assert_eq!(from_a, z);
    }

    /// What is cheap to spell is dropped.
    #[test]
    fn costly_strings() {
        let mut futures = futures(&["xab", "xacc", "a", "b", "ab", "c"]);
        let x = futures.step(futures.root(), b'x').unwrap();
        let kept = futures.costly(x, 2);
        assert_eq!(futures.strings(kept), [b"acc".to_vec()]);
        assert_eq!(futures.costly(x, 4), FutureId::EMPTY);
        let one = ByteSet::singleton;
        assert_eq!(futures.worst(ByteSet::FULL, one(b'a')), 3);
        assert_eq!(futures.worst(ByteSet::FULL, one(b'c')), 2);
        assert_eq!(futures.worst(ByteSet::FULL, one(b'x')), 1);
        // Only in the middle of "xacc" is a rest of two tokens.
        assert_eq!(futures.worst(one(b'a'), one(b'c')), 2);
        assert_eq!(futures.worst(one(b'c'), one(b'c')), 1);
        assert_eq!(futures.worst(one(b'b'), one(b'a')), 1);
    }
}
