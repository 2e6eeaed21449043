//! The whole chart of a graph at once, by sets of beginnings: which edges are part of a derivation of a whole text.
//!
//! [`Chart`](crate::chart::Chart) makes facts one by one, best ones first. Two sweeps over the nodes make the same
//! facts here. For each node and item (what a call has left to read) there is one set: the nodes where calls begin
//! that have that item here. Forward, an edge or the end of a call moves whole sets. Backward, each set keeps what is
//! *used*: part of a derivation of a whole text. A search that finds a text soon is faster; where all facts are
//! needed (a token that no text has, the masks of all positions) this takes a hundredth of the time.
//!
//! Theorem. An edge is in [`Sweep::is_used`] iff it is marked in a finished chart of the same graph.
//!
//! Proof. Forward, s is in the set of item i at node v iff the fact (call begun at s, i, v) is in the chart: both are
//! closed under the same steps. Nodes come in an order in which edges point forward, so all predecessors of a node
//! are done when it is visited, and so are the items that wait for calls that end there: these calls were begun
//! before, or have read nothing. Each beginning of a call that ends at a node is passed once to the items that wait
//! for it, which may add others. An item that waits in a call that began where the awaited call did (a *corner*) is
//! handled together with that call. If edges lead back within a position, the position is visited until no entry
//! changes. Backward the same, in reverse, for the relation "is in a derivation of a whole text": an edge is, if what
//! follows it is; a call that ends is, if what follows it is, for an item that waits for it. Items that wait for a
//! call begun later may become used by that call, so beginnings are visited in the order of their numbers, along
//! edges, and again where edges lead back. An item that waits lies where the call begins. Within a position that may
//! be a node that was visited already, so such a position is visited until neither entries nor waiting items gain. ∎
//!
//! Complexity: O(g n² / 64) words for n nodes and g items, and O(g n²) ends of calls.

mod backward;
mod beginnings;
mod compact;
mod items;

use std::ops::Range;

use maskwright_grammar::TerminalId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ground::InfillError;
use crate::lexed::edges::LexedEdges;
use crate::lexed::sweep::beginnings::{Bits, Sets};
use crate::lexed::sweep::compact::Compact;
use crate::lexed::sweep::items::{ItemId, Items};

/// An index that stands for nothing.
const NONE: u32 = u32::MAX;

/// How many words of sets are about as much work as a fact that is made by itself.
const WORDS_OF_UNIT: usize = 8;

/// Both sweeps are about so many quarters of the work of the one forward, and that grows with the square of how far it is.
const QUARTERS_OF_FORWARD: u128 = 9;

/// What would take more than so many quarters of the work that there is for it is given up, once one part of so many of that is spent. Over
/// C++ canvases that told after a sixteenth what came of it.
const QUARTERS_OF_HOPE: u128 = 5;
const LEAST_PART: u128 = 16;

/// A set of beginnings: words of the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    at: u32,
    len: u32,
}

impl Row {
    fn range(self) -> Range<usize> {
        self.at as usize..(self.at + self.len) as usize
    }
}

/// An item at a node, and the calls that have it there.
#[derive(Clone, Copy, Debug)]
struct Entry {
    item: ItemId,
    row: Row,
    /// The place of the words that say which of them are used, if some are.
    used: u32,
}

impl Entry {
    /// Makes place in `words` for which of them are used, if none are yet; how many words that was.
    fn begin_use(&mut self, words: &mut Vec<u64>) -> usize {
        if self.used != NONE {
            return 0;
        }
        self.used = words.len() as u32;
        words.resize(words.len() + self.row.len as usize, 0);
        self.row.len as usize
    }
}

/// An item at a node that waits for a call.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    /// What the call begins with.
    callee: ItemId,
    /// The item after the call.
    next: ItemId,
    /// The calls that have the item there.
    row: Row,
    /// The item's number among those of the node.
    entry: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sweep {
    used_apart: FxHashSet<u32>,
}

impl Sweep {
    /// Sweeps over the edges of a graph, for the edges `apart`; sorted. If it is to be done `soon`, `None` as soon as it can be seen that
    /// its fuel will not do.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn new(
        edges: LexedEdges<'_>,
        apart: &[u32],
        soon: bool,
    ) -> Result<Option<Sweep>, InfillError> {
        let compact = Compact::new(edges.graph, apart, edges.tables, edges.fuel)?;
        let mut sweeper = Sweeper::new(edges, &compact)?;
        if !sweeper.forward(soon)? {
            return Ok(None);
        }
        sweeper.backward()?;
        let Sweeper { used_apart, .. } = sweeper;
        Ok(Some(Sweep { used_apart }))
    }

    /// Whether one of those edges is part of a derivation of a whole text.
    pub(crate) fn is_used(&self, edge: u32) -> bool {
        self.used_apart.contains(&edge)
    }
}

/// Calls that begin where their caller begins. What follows such a call has the caller's beginning, whichever that is.
#[derive(Debug)]
struct Corner {
    /// The item of the caller after the call.
    next: ItemId,
    /// Where callers begin that make the call there.
    at: Bits,
}

/// What is kept of an item with which calls begin.
#[derive(Default, Debug)]
struct Calls {
    /// Who makes them where they begin themselves.
    corners: Vec<Corner>,
    /// Where others wait for them.
    waited: Bits,
}

/// A sweep in progress.
struct Sweeper<'s> {
    edges: LexedEdges<'s>,
    compact: &'s Compact,
    items: Items,
    top: ItemId,
    /// By node, its number among those where calls can begin; and the reverse.
    number: Vec<u32>,
    nodes: Vec<u32>,
    /// By node, its entries.
    entries: Vec<Vec<Entry>>,
    /// All that wait, those of one node next to each other and sorted; and where those are, by the node's number.
    waiters: Vec<Waiter>,
    waiters_at: Vec<(u32, u32)>,
    /// How many beginnings are those of nodes that are not visited again.
    n_settled: u32,
    /// The items that continue where calls end, for some beginnings of these calls in a word, and where those are.
    joint: Vec<(ItemId, Row)>,
    joint_at: FxHashMap<(ItemId, u32, u64), Range<u32>>,
    joining: Sets,
    /// By node, what leads to it.
    pending: Vec<Vec<(ItemId, Row)>>,
    /// Words of all rows, each with its number.
    words: Vec<(u32, u64)>,
    used: Vec<u64>,
    used_apart: FxHashSet<u32>,
    /// What is kept of items with which calls begin, by item.
    calls: Vec<Calls>,
    /// By item, the calls that it follows and that its own call begins with: what they begin with, and the number of the corner.
    corners: Vec<Vec<(ItemId, usize)>>,
    /// The number of each corner among those of its call, by what the call begins with and what follows it.
    corner_numbers: FxHashMap<(ItemId, ItemId), usize>,
    /// Of the node that is being visited: by item, what is there, or what of it is used.
    sets: Sets,
    /// By what calls begin with, where those begin that are over there; the same of those that waiters must be told of, or that are used.
    ended: Sets,
    open: Sets,
    /// The beginnings of calls that waiters must be told of, as words, and how many words may be other than zero.
    begins: (Vec<u64>, usize),
    /// By item, whether it can read on at the node of that number, plus one.
    passes: Vec<(u32, bool)>,
    /// The beginnings from which edges lead back to them, or to ones with lower numbers; and whether more calls from there are used.
    loops: Bits,
    has_looped: bool,
    /// Whether more is used of what waits at a node, by the end of a call at another.
    has_grown: bool,
    /// What has been added to a set and must be followed.
    added: Vec<(ItemId, usize, u64)>,
}

impl<'s> Sweeper<'s> {
    fn new(mut edges: LexedEdges<'s>, compact: &'s Compact) -> Result<Sweeper<'s>, InfillError> {
        let mut items = Items::default();
        let top = items.top(&mut edges)?;
        let n_nodes = compact.len();
        let mut number = vec![NONE; n_nodes];
        let mut nodes = Vec::new();
        let mut loops = Bits::default();
        let in_order =
            |(nodes, is_cyclic): &'s (Vec<u32>, bool)| nodes.iter().map(|&node| (node, *is_cyclic));
        for (node, is_cyclic) in compact.layers().iter().flat_map(in_order) {
            if compact.is_boundary(node) || Some(node) == compact.start() {
                if is_cyclic || compact.leads_to_itself(node) {
                    loops.insert(nodes.len() as u32);
                }
                number[node as usize] = nodes.len() as u32;
                nodes.push(node);
            }
        }
        edges.fuel.spend(4 * n_nodes as u64).map_err(|error| InfillError::work(0, error))?;
        let (n_words, waiters_at) = (nodes.len().div_ceil(64), vec![(0, 0); nodes.len()]);
        Ok(Sweeper {
            edges,
            compact,
            items,
            top,
            number,
            nodes,
            entries: vec![Vec::new(); n_nodes],
            waiters: Vec::new(),
            waiters_at,
            n_settled: 0,
            joint: Vec::new(),
            joint_at: FxHashMap::default(),
            joining: Sets::new(n_words),
            pending: vec![Vec::new(); n_nodes],
            words: Vec::new(),
            used: Vec::new(),
            used_apart: FxHashSet::default(),
            calls: Vec::new(),
            corners: Vec::new(),
            corner_numbers: FxHashMap::default(),
            sets: Sets::new(n_words),
            ended: Sets::new(n_words),
            open: Sets::new(n_words),
            begins: (vec![0; n_words], 0),
            passes: Vec::new(),
            loops,
            has_looped: false,
            has_grown: false,
            added: Vec::new(),
        })
    }

    fn spend(&self, node: u32, n: usize) -> Result<(), InfillError> {
        let position = self.compact.position(node);
        self.edges.fuel.spend(n as u64).map_err(|error| InfillError::work(position, error))
    }

    /// Makes all entries; if it is to be done `soon`, only as long as there is hope for that, and then true.
    fn forward(&mut self, soon: bool) -> Result<bool, InfillError> {
        let compact = self.compact;
        let Some(start) = compact.start() else { return Ok(true) };
        let n_units = self.edges.fuel.left();
        let n_nodes = compact.layers().iter().map(|(nodes, _)| nodes.len()).sum();
        let mut n_visited = 0;
        let number = self.number[start as usize] as usize;
        let first = row_of(&mut self.words, [(number / 64, 1 << (number % 64))].into_iter());
        self.pending[start as usize].push((self.top, first));
        for (position, (nodes, is_cyclic)) in compact.layers().iter().enumerate() {
            let number = |sweeper: &Self, node: &u32| sweeper.number[*node as usize];
            let first = is_cyclic.then(|| nodes.iter().map(|node| number(self, node)).min()).flatten();
            loop {
                let mut has_changed = false;
                for &node in nodes {
                    self.n_settled = first.unwrap_or(number(self, &node));
                    let mut is_other = false;
                    while self.visit(node)? {
                        is_other = true;
                        if !self.compact.leads_to_itself(node) {
                            break;
                        }
                        self.lead_on(node, |to| to == node)?;
                    }
                    if is_other {
                        has_changed = true;
                        self.lead_on(node, |to| to != node && compact.position(to) == position)?;
                    }
                }
                if !(*is_cyclic && has_changed) {
                    break;
                }
            }
            for &node in nodes {
                self.lead_on(node, |to| compact.position(to) != position)?;
                self.pending[node as usize] = Vec::new();
            }
            n_visited += nodes.len();
            if soon && !self.is_hopeful(n_units, (n_visited, n_nodes)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether it can be hoped that the sweeps do with `n_units`, after so many nodes of so many.
    fn is_hopeful(&self, n_units: u64, (n_visited, n_nodes): (usize, usize)) -> bool {
        let (n_units, n_spent) = (u128::from(n_units), u128::from(n_units - self.edges.fuel.left()));
        let square = |n: usize| (n as u128).pow(2);
        n_spent * LEAST_PART < n_units
            || QUARTERS_OF_FORWARD * n_spent * square(n_nodes)
                <= QUARTERS_OF_HOPE * n_units * square(n_visited)
    }

    /// Makes the entries of a node from what leads to it; whether they are others than before.
    fn visit(&mut self, node: u32) -> Result<bool, InfillError> {
        let pending = std::mem::take(&mut self.pending[node as usize]);
        if pending.is_empty() {
            return Ok(false);
        }
        self.spend(node, pending.len())?;
        let mut n_words = 0;
        for &(item, row) in &pending {
            n_words += row.len as usize;
            for &(word, bits) in &self.words[row.range()] {
                self.sets.add(item, word as usize, bits);
            }
        }
        self.pending[node as usize] = pending;
        let mut calls = Vec::new();
        if self.compact.is_boundary(node) {
            self.end_calls(node)?;
            calls = self.begin_calls(node)?;
        }
        n_words += self.sets.take_made() + self.ended.take_made() + self.open.take_made();
        self.spend(node, n_words / WORDS_OF_UNIT)?;
        let n_before = self.words.len();
        let entries = self.seal(node)?;
        let before = &self.entries[node as usize];
        let is_same = before.len() == entries.len()
            && before.iter().zip(&entries).all(|(left, right)| {
                left.item == right.item && self.words[left.row.range()] == self.words[right.row.range()]
            });
        if is_same {
            self.words.truncate(n_before);
            return Ok(false);
        }
        let first = self.waiters.len() as u32;
        self.waiters.extend(calls.into_iter().map(|(callee, item, next)| {
            let entry = entries.partition_point(|entry| entry.item < item);
            Waiter { callee, next, row: entries[entry].row, entry: entry as u32 }
        }));
        let number = self.number[node as usize];
        if number != NONE {
            self.waiters_at[number as usize] = (first, self.waiters.len() as u32);
        }
        self.spend(node, entries.len() + self.waiters.len() - first as usize)?;
        self.entries[node as usize] = entries;
        Ok(true)
    }

    /// Follows the ends of calls at a node.
    fn end_calls(&mut self, node: u32) -> Result<(), InfillError> {
        self.ended.clear();
        self.open.clear();
        for index in 0..self.sets.touched().len() {
            let item = self.sets.touched()[index];
            if self.items.may_end(item) {
                let call = self.items.call_of(item);
                self.added.extend(self.sets.words(item).map(|(word, bits)| (call, word, bits)));
            }
        }
        self.end_added(node)?;
        while let Some(word) = self.last_open() {
            self.spend(node, self.open.touched().len() / WORDS_OF_UNIT)?;
            for index in 0..self.open.touched().len() {
                let call = self.open.touched()[index];
                let bits = self.open.take_word(call, word);
                if bits != 0 {
                    self.tell_waiters(node, call, word, bits)?;
                    self.end_added(node)?;
                }
            }
        }
        Ok(())
    }

    /// The last word of beginnings of calls that waiters must be told of.
    fn last_open(&mut self) -> Option<usize> {
        let (words, high) = &mut self.begins;
        while *high > 0 && words[*high - 1] == 0 {
            *high -= 1;
        }
        let word = high.checked_sub(1)?;
        words[word] = 0;
        Some(word)
    }

    /// Continues the items that wait for the calls at some beginnings of a word, at a node where these calls end.
    fn tell_waiters(&mut self, node: u32, call: ItemId, word: usize, bits: u64) -> Result<(), InfillError> {
        // Whoever waits at a node that is still gone through may become more.
        let n_settled = (self.n_settled as usize).saturating_sub(word * 64).min(64);
        let settled = bits & u64::MAX.checked_shr(64 - n_settled as u32).unwrap_or(0);
        if settled.count_ones() > 1 {
            let joint = self.joint_waiters(node, call, word, settled)?;
            let mut n_words = 1;
            for index in joint {
                let (next, row) = self.joint[index];
                n_words += self.go_on(node, next, row)?;
            }
            self.spend(node, 1 + n_words / WORDS_OF_UNIT)?;
        }
        let single = if settled.count_ones() > 1 { bits & !settled } else { bits };
        for begin in Bits::of_word(word, single) {
            let mut n_words = 1;
            for index in self.waiters_for(call, begin) {
                let Waiter { next, row, .. } = self.waiters[index];
                n_words += self.go_on(node, next, row)?;
            }
            self.spend(node, 1 + n_words / WORDS_OF_UNIT)?;
        }
        Ok(())
    }

    /// Continues an item after a call at a node, for the beginnings of a row; returns the number of words.
    fn go_on(&mut self, node: u32, next: ItemId, row: Row) -> Result<usize, InfillError> {
        if !self.can_go_on(next, node)? {
            return Ok(0);
        }
        let ends = self.items.may_end(next).then(|| self.items.call_of(next));
        for &(word, bits) in &self.words[row.range()] {
            self.sets.add(next, word as usize, bits);
            self.added.extend(ends.map(|call| (call, word as usize, bits)));
        }
        Ok(row.len as usize)
    }

    /// All items that wait for the calls at some beginnings of a word, equal ones merged: places in `joint`. The same beginnings are
    /// needed at node after node.
    fn joint_waiters(
        &mut self,
        node: u32,
        call: ItemId,
        word: usize,
        bits: u64,
    ) -> Result<Range<usize>, InfillError> {
        let key = (call, word as u32, bits);
        if let Some(known) = self.joint_at.get(&key) {
            return Ok(known.start as usize..known.end as usize);
        }
        let mut n_words = 0;
        for begin in Bits::of_word(word, bits) {
            for index in self.waiters_for(call, begin) {
                let Waiter { next, row, .. } = self.waiters[index];
                n_words += row.len as usize;
                for &(word, bits) in &self.words[row.range()] {
                    self.joining.add(next, word as usize, bits);
                }
            }
        }
        let (first, n_before) = (self.joint.len(), self.words.len());
        for &next in self.joining.touched() {
            self.joint.push((next, row_of(&mut self.words, self.joining.words(next))));
        }
        self.joining.clear();
        let joint = first..self.joint.len();
        self.joint_at.insert(key, first as u32..joint.end as u32);
        n_words += self.joining.take_made();
        self.spend(node, 1 + n_words / WORDS_OF_UNIT)?;
        self.keep(node, joint.len() + self.words.len() - n_before, self.words.len())?;
        Ok(joint)
    }

    /// The items that wait at `begin` for a call.
    fn waiters_for(&self, call: ItemId, begin: u32) -> Range<usize> {
        let (first, last) = self.waiters_at[begin as usize];
        let waiters = &self.waiters[first as usize..last as usize];
        let start = waiters.partition_point(|waiter| waiter.callee < call);
        let n_waiting = waiters[start..].iter().take_while(|waiter| waiter.callee == call).count();
        first as usize + start..first as usize + start + n_waiting
    }

    /// Ends the calls that were added, and those that are over with them because they began with them; others are to be told.
    fn end_added(&mut self, node: u32) -> Result<(), InfillError> {
        let mut n_words = 0;
        while let Some((call, word, bits)) = self.added.pop() {
            n_words += 1;
            let new = self.ended.add(call, word, bits);
            let Some(calls) = self.calls.get(call.index()).filter(|_| new != 0) else { continue };
            let waited = new & calls.waited.word(word);
            if waited != 0 {
                self.open.add(call, word, waited);
                let (words, high) = &mut self.begins;
                words[word] |= waited;
                *high = (*high).max(word + 1);
            }
            n_words += calls.corners.len();
            for index in 0..calls.corners.len() {
                let corner = &self.calls[call.index()].corners[index];
                let (next, bits) = (corner.next, new & corner.at.word(word));
                if bits != 0 && self.can_go_on(next, node)? {
                    self.sets.add(next, word, bits);
                    if self.items.may_end(next) {
                        self.added.push((self.items.call_of(next), word, bits));
                    }
                }
            }
        }
        self.spend(node, 1 + n_words / WORDS_OF_UNIT)
    }

    /// Whether an item can read on at a node.
    fn can_go_on(&mut self, item: ItemId, node: u32) -> Result<bool, InfillError> {
        if self.passes.len() <= item.index() {
            self.passes.resize(item.index() + 1, (0, false));
        }
        if self.passes[item.index()].0 != node + 1 {
            let member = self.compact.member(node);
            let passes = self.items.can_go_on(item, member, &mut self.edges)?;
            self.passes[item.index()] = (node + 1, passes);
        }
        Ok(self.passes[item.index()].1)
    }

    /// Begins the calls that the items at a node make. Returns of each waiting item what its call begins with, the item, and the item after the call; sorted.
    fn begin_calls(&mut self, node: u32) -> Result<Vec<(ItemId, ItemId, ItemId)>, InfillError> {
        let mut waiters = Vec::new();
        let (number, member) = (self.number[node as usize], self.compact.member(node));
        let (word, bit) = (number as usize / 64, 1 << (number % 64));
        let mut at = 0;
        let mut n_calls = 0;
        while let Some(&item) = self.sets.touched().get(at) {
            at += 1;
            self.items.learn(item, &mut self.edges)?;
            let begins_here = self.items.is_call(item);
            n_calls += 1 + self.items.calls(item).len();
            for place in self.items.calls(item) {
                let (callee, next) = self.items.call_at(place);
                if self.sets.word(callee, word) & bit == 0 {
                    if !self.items.can_begin(callee, member, &mut self.edges)? {
                        continue;
                    }
                    self.sets.add(callee, word, bit);
                }
                self.items.learn(next, &mut self.edges)?;
                if self.calls.len() <= callee.index() {
                    self.calls.resize_with(callee.index() + 1, Calls::default);
                }
                if begins_here {
                    self.corner(callee, next).at.insert(number);
                } else {
                    self.calls[callee.index()].waited.insert(number);
                    waiters.push((callee, item, next));
                }
            }
        }
        self.spend(node, n_calls / 4)?;
        waiters.sort_unstable();
        waiters.dedup();
        Ok(waiters)
    }

    /// The corner of calls that `next` follows.
    fn corner(&mut self, callee: ItemId, next: ItemId) -> &mut Corner {
        let corners = &mut self.calls[callee.index()].corners;
        let number = *self.corner_numbers.entry((callee, next)).or_insert(corners.len());
        if number == corners.len() {
            if self.corners.len() <= next.index() {
                self.corners.resize_with(next.index() + 1, Vec::new);
            }
            self.corners[next.index()].push((callee, number));
            corners.push(Corner { next, at: Bits::default() });
        }
        &mut corners[number]
    }

    /// The sets that were made, as entries; none is being made then.
    fn seal(&mut self, node: u32) -> Result<Vec<Entry>, InfillError> {
        let mut touched = self.sets.touched().to_vec();
        touched.sort_unstable();
        let n_before = self.words.len();
        let mut entries = Vec::with_capacity(touched.len());
        for item in touched {
            let row = row_of(&mut self.words, self.sets.words(item));
            entries.push(Entry { item, row, used: NONE });
        }
        self.sets.clear();
        self.keep(node, self.words.len() - n_before, self.words.len())?;
        Ok(entries)
    }

    /// Pays for `n` words that are kept, of `n_all` of the kind; their places are numbers of 32 bits.
    fn keep(&self, node: u32, n: usize, n_all: usize) -> Result<(), InfillError> {
        self.spend(node, if n_all < NONE as usize { n } else { usize::MAX })
    }

    /// The items that an entry's item becomes on the edges of `node` with `label`, to `to`.
    fn behind(
        &mut self,
        item: ItemId,
        node: u32,
        (label, to): (Option<TerminalId>, u32),
        found: &mut Vec<ItemId>,
    ) -> Result<(), InfillError> {
        found.clear();
        let (node, to) = (self.compact.member(node), self.compact.member(to));
        self.items.learn(item, &mut self.edges)?;
        let Some(terminal) = label else {
            if self.items.can_pass(item, to, &self.edges)
                && let Some(context) = self.items.behind(item, node, None, &self.edges)
            {
                found.push(self.items.within(item, context, &mut self.edges)?);
            }
            return Ok(());
        };
        for place in self.items.reads(item) {
            let (read, next) = self.items.read_at(place);
            if read == terminal
                && let Some(context) = self.items.behind(item, node, label, &self.edges)
            {
                let next = self.items.within(next, context, &mut self.edges)?;
                if self.items.can_go_on(next, to, &mut self.edges)? {
                    found.push(next);
                }
            }
        }
        Ok(())
    }

    /// Takes the entries of a node to some of the nodes that its edges lead to.
    fn lead_on(&mut self, node: u32, is_meant: impl Fn(u32) -> bool) -> Result<(), InfillError> {
        if self.entries[node as usize].is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.entries[node as usize]);
        let mut found = Vec::new();
        let mut before = None;
        for way in self.compact.ways(node) {
            let (to, label) = (way.to, way.label);
            if !is_meant(to) || before == Some((to, label)) {
                continue;
            }
            before = Some((to, label));
            let n_before = self.pending[to as usize].len();
            for entry in &entries {
                self.behind(entry.item, node, (label, to), &mut found)?;
                self.pending[to as usize].extend(found.iter().map(|&item| (item, entry.row)));
            }
            let n_new = self.pending[to as usize].len() - n_before;
            self.spend(node, 1 + entries.len() / 4 + n_new / 2)?;
        }
        self.entries[node as usize] = entries;
        Ok(())
    }
}

/// Keeps the words of a set, by number.
fn row_of(words: &mut Vec<(u32, u64)>, set: impl Iterator<Item = (usize, u64)>) -> Row {
    let at = words.len() as u32;
    words.extend(set.map(|(word, bits)| (word as u32, bits)));
    Row { at, len: words.len() as u32 - at }
}
