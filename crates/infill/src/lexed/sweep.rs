//! The whole chart of a graph at once, by sets of beginnings: which edges are part of a derivation of a whole text.
//!
//! What [`earley`](crate::lexed::earley) makes fact by fact, best ones first, is made here by two sweeps over the nodes. For each node and
//! item (what a call has left to read) there is one set: the nodes where calls begin that have that item here. Forward, an edge or the end of a call
//! moves whole sets; backward, of each set is kept what is *used*: part of a derivation of a whole text. A search that finds a text soon
//! is faster; where all must be known (a token that nothing takes, the masks of all positions) this takes a hundredth of the time.
//!
//! Theorem. An edge is in [`Sweep::is_used`] iff it is marked in a finished chart of the same graph.
//!
//! Proof. Forward, s is in the set of item i at node v iff the fact (call begun at s, i, v) is in the chart: both are closed under the same
//! steps. Nodes come in an order in which edges lead on, and the ends of calls at a node by their beginnings, the last ones first
//! (of one beginning, those before which the others may stand), so each is followed once, when all that leads to it is known; where edges lead back within
//! a position, the position is gone through until nothing changes. Backward the same, in reverse, for the relation "is in a derivation of
//! a whole text": of an edge, if what is behind it is; of a call, if what waits for it is where it ends. ∎
//!
//! Complexity: O(g n² / 64) words for n nodes and g items, and O(g n²) ends of calls.

use maskwright_automata::Fuel;
use maskwright_grammar::TerminalId;
use rustc_hash::FxHashSet;

use crate::InfillError;
use crate::lexed::compact::Compact;
use crate::lexed::graph::Graph;
use crate::lexed::items::{ItemId, Items};
use crate::lexed::tables::LexedTables;

/// An index that stands for nothing.
const NONE: u32 = u32::MAX;

/// A set of beginnings: words of the arena.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Row {
    at: u32,
    len: u32,
}

/// An item at a node, and the calls that have it there.
#[derive(Clone, Copy, Debug)]
struct Entry {
    item: ItemId,
    row: Row,
    /// The place of the words that say which of them are used, if some are.
    used: u32,
}

/// An item at a node that waits for a call.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Waiter {
    /// What the call begins with.
    callee: ItemId,
    /// The item's number among those of the node.
    entry: u32,
    /// The item behind the call.
    next: ItemId,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Sweep {
    used_apart: FxHashSet<u32>,
}

impl Sweep {
    /// Sweeps over a graph, for the edges `apart`; sorted.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn new(
        graph: &Graph,
        apart: &[u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Sweep, InfillError> {
        let compact = Compact::new(graph, apart, tables, fuel)?;
        let mut sweeper = Sweeper::new(graph, &compact, tables, fuel)?;
        sweeper.forward()?;
        sweeper.backward()?;
        let Sweeper { used_apart, .. } = sweeper;
        Ok(Sweep { used_apart })
    }

    /// Whether one of those edges is part of a derivation of a whole text.
    pub(crate) fn is_used(&self, edge: u32) -> bool {
        self.used_apart.contains(&edge)
    }
}

/// Sets of one node that are being made, by item.
#[derive(Debug, Default)]
struct Sets {
    sets: Vec<Set>,
    touched: Vec<ItemId>,
}

/// A set that is being made: all words, of which those from `low` to `high` may be other than zero.
#[derive(Debug, Default)]
struct Set {
    words: Vec<u64>,
    low: usize,
    high: usize,
}

impl Set {
    fn insert(&mut self, bit: u32, n_words: usize) {
        self.reach(bit as usize / 64, bit as usize / 64 + 1, n_words);
        self.words[bit as usize / 64] |= 1 << (bit % 64);
    }

    fn contains(&self, bit: u32) -> bool {
        self.words.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    fn reach(&mut self, low: usize, high: usize, n_words: usize) {
        if self.words.is_empty() {
            self.words.resize(n_words, 0);
        }
        if self.low == self.high {
            (self.low, self.high) = (low, high);
        } else {
            (self.low, self.high) = (self.low.min(low), self.high.max(high));
        }
    }

    fn clear(&mut self) {
        self.words[self.low..self.high].fill(0);
        (self.low, self.high) = (0, 0);
    }
}

impl Sets {
    fn get(&mut self, item: ItemId) -> &mut Set {
        if self.sets.len() <= item.index() {
            self.sets.resize_with(item.index() + 1, Set::default);
        }
        let set = &mut self.sets[item.index()];
        if set.low == set.high {
            self.touched.push(item);
        }
        set
    }

    fn known(&self, item: ItemId) -> Option<&Set> {
        self.sets.get(item.index()).filter(|set| set.low < set.high)
    }

    fn clear(&mut self) {
        for item in self.touched.drain(..) {
            self.sets[item.index()].clear();
        }
    }
}

/// The calls that are over at a node: by what they begin with, where they begin.
#[derive(Debug, Default)]
struct Ends {
    list: Vec<(ItemId, u32, Set)>,
    n_used: usize,
    /// Those in use, by falling rank.
    order: Vec<usize>,
    /// All beginnings that are to be looked at.
    open: Set,
}

impl Ends {
    fn clear(&mut self) {
        self.list[..self.n_used].iter_mut().for_each(|(_, _, set)| set.clear());
        self.n_used = 0;
        self.order.clear();
        if self.open.low < self.open.high {
            self.open.clear();
        }
    }

    /// The set of a call, made if there is none.
    fn slot(&mut self, call: ItemId, rank: u32, n_words: usize) -> usize {
        if let Some(slot) = self.list[..self.n_used].iter().position(|(known, _, _)| *known == call) {
            return slot;
        }
        let slot = self.n_used;
        if slot == self.list.len() {
            self.list.push((call, rank, Set::default()));
        }
        self.list[slot].0 = call;
        self.list[slot].1 = rank;
        self.list[slot].2.reach(0, 0, n_words);
        self.n_used += 1;
        let list = &self.list;
        let at = self.order.partition_point(|&other| list[other].1 >= rank);
        self.order.insert(at, slot);
        slot
    }

    /// The last beginning that is to be looked at.
    fn last(&self) -> Option<u32> {
        let range = self.open.low..self.open.high;
        range.rev().find(|&word| self.open.words[word] != 0).map(|word| {
            let bits = self.open.words[word];
            word as u32 * 64 + 63 - bits.leading_zeros()
        })
    }
}

/// A sweep in progress.
struct Sweeper<'s> {
    graph: &'s Graph,
    compact: &'s Compact,
    tables: &'s mut LexedTables,
    fuel: &'s Fuel,
    items: Items,
    top: ItemId,
    /// By node, its number among those where calls can begin; and the reverse.
    number: Vec<u32>,
    nodes: Vec<u32>,
    n_words: usize,
    /// By node, its entries and those that wait.
    entries: Vec<Vec<Entry>>,
    waiters: Vec<Vec<Waiter>>,
    /// By node, what leads to it.
    pending: Vec<Vec<(ItemId, Row)>>,
    /// Numbers of words, and words, of all rows.
    places: Vec<u32>,
    words: Vec<u64>,
    used: Vec<u64>,
    used_apart: FxHashSet<u32>,
    sets: Sets,
    ends: Ends,
}

impl<'s> Sweeper<'s> {
    fn new(
        graph: &'s Graph,
        compact: &'s Compact,
        tables: &'s mut LexedTables,
        fuel: &'s Fuel,
    ) -> Result<Sweeper<'s>, InfillError> {
        let mut items = Items::default();
        let top = items.top(tables, fuel)?;
        let n_nodes = compact.len();
        let mut number = vec![NONE; n_nodes];
        let mut nodes = Vec::new();
        for &node in compact.layers().iter().flat_map(|(nodes, _)| nodes) {
            if compact.is_boundary(node) || Some(node) == compact.start() {
                number[node as usize] = nodes.len() as u32;
                nodes.push(node);
            }
        }
        fuel.spend(4 * n_nodes as u64).map_err(|error| InfillError::work(0, error))?;
        Ok(Sweeper {
            graph,
            compact,
            tables,
            fuel,
            items,
            top,
            number,
            n_words: nodes.len().div_ceil(64),
            nodes,
            entries: vec![Vec::new(); n_nodes],
            waiters: vec![Vec::new(); n_nodes],
            pending: vec![Vec::new(); n_nodes],
            places: Vec::new(),
            words: Vec::new(),
            used: Vec::new(),
            used_apart: FxHashSet::default(),
            sets: Sets::default(),
            ends: Ends::default(),
        })
    }

    fn spend(&self, node: u32, n: usize) -> Result<(), InfillError> {
        let position = self.graph.nodes[self.compact.member(node) as usize].0.position as usize;
        self.fuel.spend(n as u64).map_err(|error| InfillError::work(position, error))
    }

    fn forward(&mut self) -> Result<(), InfillError> {
        let compact = self.compact;
        let Some(start) = compact.start() else { return Ok(()) };
        let first = self.row_of(self.number[start as usize]);
        self.pending[start as usize].push((self.top, first));
        for (position, (nodes, is_cyclic)) in compact.layers().iter().enumerate() {
            loop {
                let mut has_changed = false;
                for &node in nodes {
                    has_changed |= self.visit(node)?;
                    self.lead_on(node, position, true)?;
                }
                if !(*is_cyclic && has_changed) {
                    break;
                }
            }
            for &node in nodes {
                self.lead_on(node, position, false)?;
                self.pending[node as usize] = Vec::new();
            }
        }
        Ok(())
    }

    /// Makes the entries of a node from what leads to it; whether they are others than before.
    fn visit(&mut self, node: u32) -> Result<bool, InfillError> {
        let pending = std::mem::take(&mut self.pending[node as usize]);
        if pending.is_empty() {
            return Ok(false);
        }
        self.spend(node, pending.len())?;
        for &(item, row) in &pending {
            self.unite(item, row);
        }
        self.pending[node as usize] = pending;
        let mut waiters = Vec::new();
        if self.compact.is_boundary(node) {
            self.end_calls(node)?;
            waiters = self.begin_calls(node)?;
        }
        let entries = self.seal();
        // They wait for what they were found with, by number.
        for waiter in &mut waiters {
            let item = ItemId::from_place(waiter.entry);
            waiter.entry = entries.partition_point(|entry| entry.item < item) as u32;
        }
        waiters.sort_unstable();
        waiters.dedup();
        self.spend(node, entries.len() + waiters.len())?;
        let before = &self.entries[node as usize];
        let is_same = before.len() == entries.len()
            && before.iter().zip(&entries).all(|(left, right)| {
                left.item == right.item && self.words_of(left.row) == self.words_of(right.row)
            });
        self.entries[node as usize] = entries;
        self.waiters[node as usize] = waiters;
        Ok(!is_same)
    }

    /// Follows the ends of calls at a node.
    fn end_calls(&mut self, node: u32) -> Result<(), InfillError> {
        let member = self.compact.member(node);
        self.ends.clear();
        for index in 0..self.sets.touched.len() {
            let item = self.sets.touched[index];
            if self.items.may_end(item) {
                self.note_ends(item);
            }
        }
        while let Some(begin) = self.ends.last() {
            self.ends.open.words[begin as usize / 64] &= !(1 << (begin % 64));
            let mut is_again = false;
            let mut at = 0;
            while let Some(&slot) = self.ends.order.get(at) {
                at += 1;
                let (call, rank, set) = &self.ends.list[slot];
                if !set.contains(begin) {
                    continue;
                }
                let (call, rank) = (*call, *rank);
                let from = self.nodes[begin as usize];
                let waiters = std::mem::take(&mut self.waiters[from as usize]);
                let first = waiters.partition_point(|waiter| waiter.callee < call);
                let found = waiters[first..].iter().take_while(|waiter| waiter.callee == call);
                let mut n_found = 0;
                for waiter in found {
                    n_found += 1;
                    if !self.items.can_go_on(waiter.next, member, self.graph, self.tables, self.fuel)? {
                        continue;
                    }
                    let row = self.entries[from as usize][waiter.entry as usize].row;
                    self.unite(waiter.next, row);
                    if self.items.may_end(waiter.next) {
                        is_again |= self.note_row(waiter.next, row, begin, rank);
                    }
                }
                self.waiters[from as usize] = waiters;
                self.spend(node, 1 + n_found)?;
            }
            if is_again {
                self.ends.open.insert(begin, self.n_words);
            }
        }
        Ok(())
    }

    /// Notes the beginnings of calls that `item` may end here, as far as they are known.
    fn note_ends(&mut self, item: ItemId) {
        let call = self.items.call_of(item);
        let rank = self.items.rank(call, self.tables);
        let slot = self.ends.slot(call, rank, self.n_words);
        let Some(set) = self.sets.known(item) else { return };
        let (low, high) = (set.low, set.high);
        let ended = &mut self.ends.list[slot].2;
        ended.reach(low, high, self.n_words);
        self.ends.open.reach(low, high, self.n_words);
        for word in low..high {
            ended.words[word] |= set.words[word];
            self.ends.open.words[word] |= set.words[word];
        }
    }

    /// The same of a row that was added to `item` where a call of this rank that began at `begin` is over; whether calls that begin there must
    /// be looked at once more.
    fn note_row(&mut self, item: ItemId, row: Row, begin: u32, rank: u32) -> bool {
        let call = self.items.call_of(item);
        let own = self.items.rank(call, self.tables);
        let slot = self.ends.slot(call, own, self.n_words);
        let ended = &mut self.ends.list[slot].2;
        let mut is_again = false;
        for place in row.at..row.at + row.len {
            let (word, bits) = (self.places[place as usize] as usize, self.words[place as usize]);
            ended.reach(word, word + 1, self.n_words);
            let mut new = bits & !ended.words[word];
            ended.words[word] |= bits;
            if word == begin as usize / 64 && new >> (begin % 64) & 1 == 1 {
                new &= !(1 << (begin % 64));
                // Else it comes later in this round.
                is_again |= own >= rank;
            }
            if new != 0 {
                self.ends.open.reach(word, word + 1, self.n_words);
                self.ends.open.words[word] |= new;
            }
        }
        is_again
    }

    /// Begins the calls that the items at a node make; those that wait, with the item's number in place of the entry's.
    fn begin_calls(&mut self, node: u32) -> Result<Vec<Waiter>, InfillError> {
        let mut waiters = Vec::new();
        let (number, member) = (self.number[node as usize], self.compact.member(node));
        let mut at = 0;
        while let Some(&item) = self.sets.touched.get(at) {
            at += 1;
            self.items.learn(item, self.tables, self.fuel)?;
            for place in self.items.calls(item) {
                let (callee, next) = self.items.call_at(place);
                let is_known = self.sets.known(callee).is_some_and(|set| set.contains(number));
                if is_known || self.items.can_begin(callee, member, self.graph, self.tables, self.fuel)? {
                    self.sets.get(callee).insert(number, self.n_words);
                    waiters.push(Waiter { callee, entry: item.place(), next });
                }
            }
        }
        Ok(waiters)
    }

    /// Adds a row to the set of an item.
    fn unite(&mut self, item: ItemId, row: Row) {
        let set = self.sets.get(item);
        for place in row.at as usize..(row.at + row.len) as usize {
            let word = self.places[place] as usize;
            set.reach(word, word + 1, self.n_words);
            set.words[word] |= self.words[place];
        }
    }

    /// The sets that were made, as entries; none is being made then.
    fn seal(&mut self) -> Vec<Entry> {
        let mut touched = std::mem::take(&mut self.sets.touched);
        touched.sort_unstable();
        let mut entries = Vec::with_capacity(touched.len());
        for &item in &touched {
            let set = &mut self.sets.sets[item.index()];
            let at = self.words.len() as u32;
            for word in set.low..set.high {
                if set.words[word] != 0 {
                    self.places.push(word as u32);
                    self.words.push(set.words[word]);
                }
            }
            set.clear();
            entries.push(Entry { item, row: Row { at, len: self.words.len() as u32 - at }, used: NONE });
        }
        touched.clear();
        self.sets.touched = touched;
        entries
    }

    fn row_of(&mut self, number: u32) -> Row {
        let at = self.words.len() as u32;
        self.places.push(number / 64);
        self.words.push(1 << (number % 64));
        Row { at, len: 1 }
    }

    fn words_of(&self, row: Row) -> (&[u32], &[u64]) {
        let range = row.at as usize..(row.at + row.len) as usize;
        (&self.places[range.clone()], &self.words[range])
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
        self.items.learn(item, self.tables, self.fuel)?;
        let Some(terminal) = label else {
            if self.items.can_pass(item, to, self.graph, self.tables)
                && let Some(context) = self.items.behind(item, node, None, self.graph, self.tables)
            {
                found.push(self.items.within(item, context, self.tables, self.fuel)?);
            }
            return Ok(());
        };
        for place in self.items.reads(item) {
            let (read, next) = self.items.read_at(place);
            if read == terminal
                && let Some(context) = self.items.behind(item, node, label, self.graph, self.tables)
            {
                let next = self.items.within(next, context, self.tables, self.fuel)?;
                if self.items.can_go_on(next, to, self.graph, self.tables, self.fuel)? {
                    found.push(next);
                }
            }
        }
        Ok(())
    }

    /// Takes the entries of a node to where its edges lead: within the position, or beyond.
    fn lead_on(&mut self, node: u32, position: usize, is_within: bool) -> Result<(), InfillError> {
        if self.entries[node as usize].is_empty() {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.entries[node as usize]);
        let mut found = Vec::new();
        let mut before = None;
        for way in self.compact.ways(node) {
            let (to, label) = (way.to, way.label);
            let leads_within = self.layer(to) == position;
            if leads_within != is_within || before == Some((to, label)) {
                continue;
            }
            before = Some((to, label));
            self.spend(node, 1 + entries.len() / 4)?;
            for entry in &entries {
                self.behind(entry.item, node, (label, to), &mut found)?;
                for &item in &found {
                    self.pending[to as usize].push((item, entry.row));
                }
            }
        }
        self.entries[node as usize] = entries;
        Ok(())
    }

    fn backward(&mut self) -> Result<(), InfillError> {
        for (nodes, is_cyclic) in self.compact.layers().iter().rev() {
            loop {
                let mut has_changed = false;
                for &node in nodes.iter().rev() {
                    has_changed |= self.visit_back(node)?;
                }
                if !(*is_cyclic && has_changed) {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Finds what is used at a node; whether that is more than before.
    fn visit_back(&mut self, node: u32) -> Result<bool, InfillError> {
        if self.entries[node as usize].is_empty() {
            return Ok(false);
        }
        let mut entries = std::mem::take(&mut self.entries[node as usize]);
        for entry in entries.iter().filter(|entry| entry.used != NONE) {
            let set = self.sets.get(entry.item);
            for index in 0..entry.row.len {
                let word = self.places[(entry.row.at + index) as usize] as usize;
                set.reach(word, word + 1, self.n_words);
                set.words[word] |= self.used[(entry.used + index) as usize];
            }
        }
        let mut found = Vec::new();
        for way in self.compact.ways(node) {
            let (to, label) = (way.to, way.label);
            self.spend(node, 1 + entries.len() / 4)?;
            let behind = match to == node {
                true => entries.clone(),
                false => std::mem::take(&mut self.entries[to as usize]),
            };
            let mut is_used = false;
            if behind.iter().any(|entry| entry.used != NONE) {
                for entry in &entries {
                    self.behind(entry.item, node, (label, to), &mut found)?;
                    for &item in &found {
                        if let Ok(index) = behind.binary_search_by_key(&item, |entry| entry.item)
                            && behind[index].used != NONE
                        {
                            is_used |= self.use_common(*entry, behind[index]);
                        }
                    }
                }
            }
            if to != node {
                self.entries[to as usize] = behind;
            }
            self.used_apart.extend(way.apart().filter(|_| is_used));
        }
        if self.compact.is_boundary(node) {
            self.entries[node as usize] = entries;
            self.use_ends(node)?;
            entries = std::mem::take(&mut self.entries[node as usize]);
        }
        let mut has_changed = false;
        for entry in &mut entries {
            let Some(set) = self.sets.known(entry.item) else { continue };
            let range = entry.row.at as usize..(entry.row.at + entry.row.len) as usize;
            if entry.used == NONE {
                if self.places[range.clone()].iter().all(|&word| set.words[word as usize] == 0) {
                    continue;
                }
                entry.used = self.used.len() as u32;
                self.used.resize(self.used.len() + range.len(), 0);
            }
            for (index, place) in range.enumerate() {
                let used = &mut self.used[entry.used as usize + index];
                let all = *used | set.words[self.places[place] as usize];
                has_changed |= all != *used;
                *used = all;
            }
        }
        self.sets.clear();
        self.entries[node as usize] = entries;
        Ok(has_changed)
    }

    /// Uses the beginnings of `entry` that are used behind an edge; whether there are any.
    fn use_common(&mut self, entry: Entry, behind: Entry) -> bool {
        let (mut at, end) = (behind.row.at, behind.row.at + behind.row.len);
        let mut is_used = false;
        for place in entry.row.at..entry.row.at + entry.row.len {
            let word = self.places[place as usize];
            while at < end && self.places[at as usize] < word {
                at += 1;
            }
            if at == end {
                break;
            }
            if self.places[at as usize] == word {
                let used = self.used[(behind.used + at - behind.row.at) as usize];
                let common = self.words[place as usize] & used;
                if common != 0 {
                    is_used = true;
                    let set = self.sets.get(entry.item);
                    set.reach(word as usize, word as usize + 1, self.n_words);
                    set.words[word as usize] |= common;
                }
            }
        }
        is_used
    }

    /// Uses the calls that are over at a node where what waits for them is used, and what waits.
    fn use_ends(&mut self, node: u32) -> Result<(), InfillError> {
        self.ends.clear();
        let is_goal = self.compact.is_goal(node);
        if self.sets.touched.is_empty() && !is_goal {
            return Ok(());
        }
        let entries = std::mem::take(&mut self.entries[node as usize]);
        let mut ending: Vec<(ItemId, Entry)> = Vec::new();
        for entry in &entries {
            if !self.items.may_end(entry.item) {
                continue;
            }
            let call = self.items.call_of(entry.item);
            let rank = self.items.rank(call, self.tables);
            let slot = self.ends.slot(call, rank, self.n_words);
            ending.push((call, *entry));
            let ended = &mut self.ends.list[slot].2;
            for place in entry.row.at as usize..(entry.row.at + entry.row.len) as usize {
                let word = self.places[place] as usize;
                ended.reach(word, word + 1, self.n_words);
                ended.words[word] |= self.words[place];
                self.ends.open.reach(word, word + 1, self.n_words);
                self.ends.open.words[word] |= self.words[place];
            }
        }
        self.entries[node as usize] = entries;
        let open = self.ends.open.low..self.ends.open.high;
        for word in open {
            let mut bits = self.ends.open.words.get(word).copied().unwrap_or(0);
            while bits != 0 {
                let begin = word as u32 * 64 + bits.trailing_zeros();
                bits &= bits - 1;
                for at in (0..self.ends.order.len()).rev() {
                    let (call, _, set) = &self.ends.list[self.ends.order[at]];
                    let call = *call;
                    if set.contains(begin) && self.use_end(node, call, begin, is_goal)? {
                        for &(_, entry) in ending.iter().filter(|(ended, _)| *ended == call) {
                            if self.contains(entry.row, begin) {
                                self.sets.get(entry.item).insert(begin, self.n_words);
                            }
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Uses what waits for a call that is over at a node; whether there is such.
    fn use_end(&mut self, node: u32, call: ItemId, begin: u32, is_goal: bool) -> Result<bool, InfillError> {
        let from = self.nodes[begin as usize];
        let mut is_used = is_goal && call == self.top;
        let waiters = std::mem::take(&mut self.waiters[from as usize]);
        let first = waiters.partition_point(|waiter| waiter.callee < call);
        let found = waiters[first..].iter().take_while(|waiter| waiter.callee == call);
        let mut n_found = 0;
        for waiter in found {
            n_found += 1;
            let Some(behind) = self.sets.known(waiter.next) else { continue };
            let entry = &mut self.entries[from as usize][waiter.entry as usize];
            let range = entry.row.at as usize..(entry.row.at + entry.row.len) as usize;
            let common = |place: usize| self.words[place] & behind.words[self.places[place] as usize];
            if range.clone().all(|place| common(place) == 0) {
                continue;
            }
            is_used = true;
            if entry.used == NONE {
                entry.used = self.used.len() as u32;
                self.used.resize(self.used.len() + range.len(), 0);
            }
            for (index, place) in range.enumerate() {
                self.used[entry.used as usize + index] |= common(place);
            }
        }
        self.waiters[from as usize] = waiters;
        self.spend(node, 1 + n_found)?;
        Ok(is_used)
    }

    /// The position of a node.
    fn layer(&self, node: u32) -> usize {
        self.graph.nodes[self.compact.member(node) as usize].0.position as usize
    }

    fn contains(&self, row: Row, bit: u32) -> bool {
        let (places, words) = self.words_of(row);
        places.binary_search(&(bit / 64)).is_ok_and(|at| words[at] >> (bit % 64) & 1 == 1)
    }
}
