//! Hash-consed expressions: the residues that become states.
//!
//! A residue is a [`NodeId`] into one [`Arena`] per store; equal structures have equal ids, whichever
//! expression they came from, so comparing residues is comparing numbers. Nodes are made only by the smart
//! constructors of `build` and `union`, which keep them canonical, and never change. [`Arena::derivative`]
//! (Brzozowski, *Derivatives of Regular Expressions*, 1964) is the one way from residue to residue. That
//! finitely many residues occur rests on unions and intersections being sets (Brzozowski's similarity) and
//! concatenations being right-nested.
//!
//! Literals and word lists are ranges of a sorted list, walked as a trie by binary search: a residue is a few
//! numbers whatever the length of the words, and an `enum` of 100,000 strings costs nothing to set up.
//!
//! A derivative costs O([`Entry::cost`]) node visits, which a limit bounds; recursion is over nesting,
//! never along a concatenation, and nesting is bounded too.
//!
//! Rejected: `Arc<Regex>` residues (a derivative is then a chain of allocations and reference counts, and
//! deep values drop recursively); position automata (counted repetition unrolls); counters beside states
//! (exact only for unambiguous groups, while counts inside residues are always exact, and lazy).

mod base;
mod build;
mod core;
mod derive;
mod leading;
mod lower;
mod nodes;
mod raise;
mod show;
mod union;
mod words;

pub(crate) use lower::lower;

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::classes::Classes;
use crate::error::NODES;
use crate::{AutomatonError, ByteSet, Regex, meter};

use nodes::Nodes;

pub(crate) use words::WordList;

/// The greatest nesting of a `Regex` that is accepted.
pub(crate) const MAX_NESTING: u32 = 400;
/// The greatest nesting of a node. One operation of a `Regex` lowers to at most two, and derivatives
/// replace parts by parts; so this limit is a safeguard for the stack.
const MAX_NODE_DEPTH: u16 = 4 * MAX_NESTING as u16;

/// Units of work that it takes to look a node up.
const UNITS_PER_NODE: u64 = 1;
/// Units that a new one takes beside that.
const UNITS_PER_NEW_NODE: u64 = 5;

/// A node of an [`Arena`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

/// ∅.
pub(crate) const EMPTY: NodeId = NodeId(0);
/// ε.
pub(crate) const EPSILON: NodeId = NodeId(1);
/// All byte strings.
pub(crate) const ALL: NodeId = NodeId(2);

/// One operation. Invariants: ∅ occurs inside no other node; lists are sorted, distinct and have at least
/// two members.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Node {
    Empty,
    Epsilon,
    /// One byte of `sets[_]`, which is not empty.
    Bytes(u32),
    /// `words[low..high]` of `lists[list]` without their first `depth` bytes, in which they agree. A single
    /// word has at least two bytes left.
    Words {
        list: u32,
        low: u32,
        high: u32,
        depth: u32,
    },
    /// The first is no `Cons`.
    Cons(NodeId, NodeId),
    /// No member is a `Union`, at most one is a `Bytes`.
    Union(Arc<[NodeId]>),
    /// No member is an `Intersection` or `ALL`.
    Intersection(Arc<[NodeId]>),
    /// All byte strings (not only valid UTF-8) but those of the inner language.
    Complement(NodeId),
    /// `max` is at least 2; `min` is 0 if `inner` is nullable.
    Repeat {
        inner: NodeId,
        min: u32,
        max: Option<u32>,
    },
}

/// A node with what is known about its language.
pub(crate) struct Entry {
    pub(crate) node: Node,
    /// ε is in the language.
    pub(crate) nullable: bool,
    /// Intersection or complement occurs inside, so the language may be empty without being written ∅.
    pub(crate) extended: bool,
    /// Memo of the liveness search; see `liveness`.
    pub(crate) alive: Option<bool>,
    /// Levels of nesting; the second part of a `Cons` counts as the same level.
    depth: u16,
    /// The most bytes that a string may have to be sure of seeing all of the node: no count is above so many
    /// units, no sequence longer.
    pub(crate) span: u64,
    /// Every prefix of a word, but for the empty one, is a prefix of a word with at most this many bytes
    /// more; `u64::MAX` if nothing is known.
    pub(crate) completion: u64,
    /// Node visits of one derivative.
    pub(crate) cost: u32,
    /// Every word has at least this many bytes; the exact minimum if not `extended`.
    pub(crate) min_length: u64,
    /// Every word has at most this many bytes, `u64::MAX` meaning no bound; the exact maximum if not
    /// `extended`.
    max_length: u64,
    /// There are at most this many words, `u32::MAX` meaning no bound.
    n_words: u32,
    /// The state that the residue is, or [`NONE`].
    state: u32,
    /// Its place in `members`, or [`NONE`].
    member: u32,
}

/// No number of this kind.
const NONE: u32 = u32::MAX;

/// The sets that the next byte is tested against.
#[derive(PartialEq, Eq, Hash, Default)]
struct Leading {
    /// Numbers of sets, sorted and distinct.
    sets: Vec<u32>,
    /// Bytes that are tested for alone.
    singles: ByteSet,
}

/// The derivatives of one node, by the classes of its own leading bytes.
struct MemberRow {
    classes: Arc<Classes>,
    /// By class; [`UNSEEN`] where not asked for yet.
    next: Box<[NodeId]>,
}

/// No node has this number: memory ends before.
const UNSEEN: NodeId = NodeId(NONE);

/// The nodes of one store.
pub(crate) struct Arena {
    entries: Nodes,
    sets: Vec<ByteSet>,
    set_ids: FxHashMap<ByteSet, u32>,
    lists: Vec<WordList>,
    list_ids: FxHashMap<Regex, u32>,
    /// Short rests of words, by their content, so that they are one residue whatever list they are from.
    rests: FxHashMap<Box<[u8]>, NodeId>,
    /// Derivatives of the plain members of intersections: many intersections, such as the residues of
    /// `body ∩ ¬names`, share their costly member.
    members: Vec<MemberRow>,
    /// Byte classes by the sets that they come from.
    partitions: FxHashMap<Leading, Arc<Classes>>,
    /// Expressions met before, and whether every word of one is valid UTF-8.
    lowered: FxHashMap<Regex, NodeId>,
    texts: FxHashMap<Regex, bool>,
    memory: usize,
    /// What `memory` may rise to before the next [`allow`](Arena::allow).
    ceiling: usize,
    /// What one automaton may add to `memory`.
    max_memory: usize,
    max_cost: u64,
}

impl Arena {
    /// An arena to which one automaton may add at most about `max_memory` bytes, and which makes no node
    /// that costs more than `max_cost` visits to derive.
    pub(crate) fn new(max_cost: u64, max_memory: usize) -> Arena {
        let mut arena = Arena {
            entries: Nodes::new(),
            sets: Vec::new(),
            set_ids: FxHashMap::default(),
            lists: Vec::new(),
            list_ids: FxHashMap::default(),
            rests: FxHashMap::default(),
            members: Vec::new(),
            partitions: FxHashMap::default(),
            lowered: FxHashMap::default(),
            texts: FxHashMap::default(),
            memory: 0,
            ceiling: max_memory,
            max_memory,
            max_cost,
        };
        let full = arena.set_id(ByteSet::FULL);
        let nodes = [
            Node::Empty,
            Node::Epsilon,
            Node::Repeat { inner: NodeId(3), min: 0, max: None },
            Node::Bytes(full),
        ];
        let lengths = [(0, 0), (0, 1), (u64::MAX, u32::MAX), (1, 256)];
        for (i, (node, (max_length, n_words))) in nodes.into_iter().zip(lengths).enumerate() {
            let entry = Entry {
                nullable: matches!(node, Node::Epsilon | Node::Repeat { .. }),
                min_length: u64::from(matches!(node, Node::Bytes(_))),
                max_length,
                n_words,
                state: NONE,
                member: NONE,
                node,
                extended: false,
                alive: None,
                depth: 2,
                span: 0,
                completion: 0,
                cost: 2,
            };
            arena.entries.push(NodeId(i as u32), entry);
        }
        arena
    }

    pub(crate) fn entry(&self, id: NodeId) -> &Entry {
        &self.entries[id]
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.entry(id).node
    }

    pub(crate) fn is_nullable(&self, id: NodeId) -> bool {
        self.entry(id).nullable
    }

    /// Notes that the language of `id` has a word, or has none.
    pub(crate) fn set_alive(&mut self, id: NodeId, alive: bool) {
        self.entries[id].alive = Some(alive);
    }

    /// The state that the residue is, if it has been made one.
    pub(crate) fn state(&self, id: NodeId) -> Option<u32> {
        Some(self.entry(id).state).filter(|&state| state != NONE)
    }

    /// Notes that the residue is state `state`.
    pub(crate) fn set_state(&mut self, id: NodeId, state: u32) {
        self.entries[id].state = state;
    }

    /// The byte set of number `set`.
    pub(crate) fn set(&self, set: u32) -> &ByteSet {
        &self.sets[set as usize]
    }

    /// The word lists.
    pub(crate) fn lists(&self) -> &[WordList] {
        &self.lists
    }

    /// About how many bytes the nodes take.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }

    /// From now on [`memory`](Arena::memory) may grow by what is left of one automaton's share, of which
    /// `used` bytes are spent.
    pub(crate) fn allow(&mut self, used: usize) {
        self.ceiling = self.memory.saturating_add(self.max_memory.saturating_sub(used));
    }

    /// Counts `bytes` of memory of others against the limit.
    ///
    /// # Errors
    /// If the limit on memory is reached.
    pub(crate) fn charge(&mut self, bytes: usize) -> Result<(), AutomatonError> {
        if bytes > self.ceiling.saturating_sub(self.memory) {
            return Err(AutomatonError::limit("bytes of memory for states", self.max_memory as u64));
        }
        self.memory += bytes;
        Ok(())
    }

    fn set_id(&mut self, set: ByteSet) -> u32 {
        let sets = &mut self.sets;
        *self.set_ids.entry(set).or_insert_with(|| {
            sets.push(set);
            (sets.len() - 1) as u32
        })
    }

    /// The id of a node that is canonical already.
    ///
    /// # Errors
    /// If the node is too costly or too deep, or the limit on memory is reached.
    fn intern(&mut self, node: Node) -> Result<NodeId, AutomatonError> {
        meter::charge(UNITS_PER_NODE);
        if let Some(id) = self.entries.id(&node) {
            return Ok(id);
        }
        let entry = self.describe_node(node)?;
        if u64::from(entry.cost) > self.max_cost {
            return Err(AutomatonError::limit(NODES, self.max_cost));
        }
        if entry.depth > MAX_NODE_DEPTH {
            return Err(AutomatonError::limit("levels of nesting in one residue", u64::from(MAX_NODE_DEPTH)));
        }
        let members = match &entry.node {
            Node::Union(list) | Node::Intersection(list) => list.len() * size_of::<NodeId>() + 16,
            _ => 0,
        };
        self.charge(size_of::<Entry>() + 2 * size_of::<(u32, NodeId)>() + members)?;
        meter::charge(UNITS_PER_NEW_NODE);
        let id = u32::try_from(self.entries.len())
            .map(NodeId)
            .map_err(|_| AutomatonError::limit("nodes", u64::from(u32::MAX)))?;
        self.entries.push(id, entry);
        Ok(id)
    }

    /// The facts about a node, from those about its parts.
    fn describe_node(&self, node: Node) -> Result<Entry, AutomatonError> {
        let mut entry = Entry {
            nullable: false,
            extended: false,
            alive: None,
            depth: 1,
            span: 0,
            completion: 0,
            cost: 1,
            min_length: 1,
            max_length: 1,
            n_words: u32::MAX,
            state: NONE,
            member: NONE,
            node: Node::Empty,
        };
        match &node {
            // ∅ and ε were there from the beginning.
            Node::Empty | Node::Epsilon => {}
            &Node::Bytes(set) => entry.n_words = self.set(set).len() as u32,
            &Node::Words { list, low, high, depth } => {
                let (least, most) = self.lists[list as usize].lengths(low, high);
                entry.min_length = u64::from(least - depth);
                entry.max_length = u64::from(most - depth);
                entry.n_words = high - low;
                entry.nullable = entry.min_length == 0;
                entry.completion = entry.max_length;
            }
            &Node::Cons(a, b) => {
                let (a, b) = (self.entry(a), self.entry(b));
                entry.nullable = a.nullable && b.nullable;
                entry.extended = a.extended || b.extended;
                entry.depth = (a.depth + 1).max(b.depth);
                entry.cost = a.cost.saturating_add(1).saturating_add(if a.nullable { b.cost } else { 0 });
                entry.min_length = a.min_length.saturating_add(b.min_length);
                entry.span = a.span.max(b.span).max(entry.min_length);
                entry.completion = a.completion.saturating_add(b.min_length).max(b.completion);
                entry.max_length = a.max_length.saturating_add(b.max_length);
                entry.n_words = a.n_words.saturating_mul(b.n_words);
            }
            Node::Union(list) | Node::Intersection(list) => {
                let is_union = matches!(node, Node::Union(_));
                let members = || list.iter().map(|&id| self.entry(id));
                let lengths = || members().map(|member| member.min_length);
                entry.depth = 1 + members().map(|member| member.depth).max().unwrap_or(0);
                entry.cost = members().fold(1u32, |sum, member| sum.saturating_add(member.cost));
                entry.span = members().map(|member| member.span).max().unwrap_or(0);
                entry.completion = members().map(|member| member.completion).max().unwrap_or(0);
                if is_union {
                    entry.nullable = members().any(|member| member.nullable);
                    entry.extended = members().any(|member| member.extended);
                    entry.min_length = lengths().min().unwrap_or(0);
                    entry.max_length = members().map(|member| member.max_length).max().unwrap_or(0);
                    entry.n_words = members().fold(0, |sum, member| sum.saturating_add(member.n_words));
                } else {
                    entry.nullable = members().all(|member| member.nullable);
                    entry.extended = true;
                    entry.completion = u64::MAX;
                    entry.min_length = lengths().max().unwrap_or(0).max(u64::from(!entry.nullable));
                    entry.max_length = members().map(|member| member.max_length).min().unwrap_or(u64::MAX);
                    entry.n_words = members().map(|member| member.n_words).min().unwrap_or(u32::MAX);
                    entry.alive = self.outgrows_exceptions(list).then_some(true);
                }
            }
            &Node::Complement(inner) => {
                let inner = self.entry(inner);
                entry.nullable = !inner.nullable;
                entry.extended = true;
                entry.depth = 1 + inner.depth;
                entry.cost = inner.cost.saturating_add(1);
                entry.completion = u64::MAX;
                entry.min_length = u64::from(inner.nullable);
                entry.max_length = u64::MAX;
            }
            &Node::Repeat { inner, min, max } => {
                let inner = self.entry(inner);
                entry.nullable = min == 0;
                entry.extended = inner.extended;
                entry.depth = 1 + inner.depth;
                let most = u64::from(max.unwrap_or(min));
                entry.span = inner.span.max(most.saturating_mul(inner.min_length.max(1)));
                let others = inner.min_length.saturating_mul(u64::from(min.saturating_sub(1)));
                entry.completion = inner.completion.saturating_add(others);
                entry.cost = inner.cost.saturating_add(1);
                entry.min_length = inner.min_length.saturating_mul(u64::from(min));
                entry.max_length = match max {
                    Some(max) => inner.max_length.saturating_mul(u64::from(max)),
                    None => u64::MAX,
                };
                if let Some(max) = max {
                    // At most n^k words for each count k from min to max.
                    let n_counts = (max - min).saturating_add(1);
                    entry.n_words = inner.n_words.saturating_pow(max).saturating_mul(n_counts);
                }
            }
        }
        entry.node = node;
        Ok(entry)
    }

    /// Whether an intersection of `members` has a word for the simplest of reasons: all members but one
    /// are complements, and that one has a longer word than any that they leave out. So it is with "any
    /// string but these names" in all its residues.
    fn outgrows_exceptions(&self, members: &[NodeId]) -> bool {
        let (mut longest, mut excepted) = (None, 0);
        for &member in members {
            match *self.node(member) {
                Node::Complement(inner) => excepted = excepted.max(self.entry(inner).max_length),
                _ if longest.is_some() || self.entry(member).extended => return false,
                _ => longest = Some(self.entry(member).max_length),
            }
        }
        longest.is_some_and(|longest| longest > excepted)
    }
}
