//! The sweep from the end to the beginning: of each set of beginnings, what is used in a derivation of a whole text.

use rustc_hash::FxHashMap;

use crate::ground::InfillError;
use crate::lexed::sweep::beginnings::Bits;
use crate::lexed::sweep::items::ItemId;
use crate::lexed::sweep::{Entry, NONE, Sweeper, WORDS_OF_UNIT, Waiter};

impl Sweeper<'_> {
    pub(super) fn backward(&mut self) -> Result<(), InfillError> {
        for (nodes, is_cyclic) in self.compact.layers().iter().rev() {
            loop {
                let mut has_changed = false;
                for &node in nodes.iter().rev() {
                    let mut is_other = false;
                    while self.visit_back(node)? || std::mem::take(&mut self.has_grown) {
                        is_other = true;
                        if !self.compact.leads_to_itself(node) {
                            break;
                        }
                    }
                    has_changed |= is_other | std::mem::take(&mut self.has_grown);
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
        for entry in &entries {
            if entry.used != NONE {
                for index in 0..entry.row.len {
                    let bits = self.used[(entry.used + index) as usize];
                    if bits != 0 {
                        let (word, _) = self.words[(entry.row.at + index) as usize];
                        self.sets.add(entry.item, word as usize, bits);
                    }
                }
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
            let (mut is_used, mut n_words) = (false, 0);
            if behind.iter().any(|entry| entry.used != NONE) {
                for entry in &entries {
                    self.behind(entry.item, node, (label, to), &mut found)?;
                    for &item in &found {
                        if let Ok(index) = behind.binary_search_by_key(&item, |entry| entry.item)
                            && behind[index].used != NONE
                        {
                            n_words += (entry.row.len + behind[index].row.len) as usize;
                            is_used |= self.use_common(*entry, behind[index]);
                        }
                    }
                }
            }
            if to != node {
                self.entries[to as usize] = behind;
            }
            self.spend(node, n_words / WORDS_OF_UNIT)?;
            self.used_apart.extend(way.apart().filter(|_| is_used));
        }
        if self.compact.is_boundary(node) {
            self.entries[node as usize] = entries;
            self.use_ends(node)?;
            entries = std::mem::take(&mut self.entries[node as usize]);
        }
        let (mut has_changed, mut n_kept) = (false, 0);
        for entry in &mut entries {
            if self.sets.is_empty(entry.item) {
                continue;
            }
            n_kept += entry.begin_use(&mut self.used);
            for (index, place) in entry.row.range().enumerate() {
                let used = &mut self.used[entry.used as usize + index];
                let all = *used | self.sets.word(entry.item, self.words[place].0 as usize);
                has_changed |= all != *used;
                *used = all;
            }
        }
        self.keep(node, n_kept, self.used.len())?;
        let n_made = self.sets.take_made() + self.ended.take_made() + self.open.take_made();
        self.spend(node, n_made / WORDS_OF_UNIT)?;
        self.sets.clear();
        self.entries[node as usize] = entries;
        Ok(has_changed)
    }

    /// Uses the beginnings of `entry` that are used after an edge; whether there are any.
    fn use_common(&mut self, entry: Entry, behind: Entry) -> bool {
        let used = &self.used[behind.used as usize..(behind.used + behind.row.len) as usize];
        let mut behind = self.words[behind.row.range()].iter().zip(used).peekable();
        let mut is_used = false;
        for &(word, bits) in &self.words[entry.row.range()] {
            while behind.next_if(|((other, _), _)| *other < word).is_some() {}
            let Some(&(&(other, _), used)) = behind.peek() else { break };
            if other == word && bits & used != 0 {
                is_used = true;
                self.sets.add(entry.item, word as usize, bits & used);
            }
        }
        is_used
    }

    /// Uses the calls that are over at a node where what waits for them is used, and what waits.
    fn use_ends(&mut self, node: u32) -> Result<(), InfillError> {
        let is_goal = self.compact.is_goal(node);
        if self.sets.touched().is_empty() && !is_goal {
            return Ok(());
        }
        self.ended.clear();
        self.open.clear();
        // By call, the items that it may end in.
        let mut ending: FxHashMap<ItemId, Vec<Entry>> = FxHashMap::default();
        let mut begins = Bits::default();
        for entry in &self.entries[node as usize] {
            if self.items.may_end(entry.item) {
                let call = self.items.call_of(entry.item);
                ending.entry(call).or_default().push(*entry);
                for &(word, bits) in &self.words[entry.row.range()] {
                    let word = word as usize;
                    self.ended.add(call, word, bits);
                    let waited = self.calls.get(call.index()).map_or(0, |calls| calls.waited.word(word));
                    begins.unite(word, bits & waited);
                }
            }
        }
        for index in 0..self.sets.touched().len() {
            let item = self.sets.touched()[index];
            self.added.extend(self.sets.words(item).map(|(word, bits)| (item, word, bits)));
        }
        if is_goal && !self.ended.is_empty(self.top) {
            let start = self.number[self.compact.start().unwrap_or(node) as usize];
            self.use_end(self.top, start as usize / 64, 1 << (start % 64), &ending);
        }
        self.use_added(node, &ending)?;
        let calls: Vec<ItemId> = self.ended.touched().to_vec();
        // An item that waits for a call was begun before it, so one pass is enough, except where edges lead back.
        loop {
            self.has_looped = false;
            for begin in begins.iter() {
                self.spend(node, calls.len() / WORDS_OF_UNIT)?;
                let (word, bit) = (begin as usize / 64, 1 << (begin % 64));
                for &call in &calls {
                    let is_waited =
                        self.calls.get(call.index()).is_some_and(|calls| calls.waited.contains(begin));
                    if is_waited
                        && self.ended.word(call, word) & bit != 0
                        && self.use_waiters(node, call, begin)?
                    {
                        self.use_end(call, word, bit, &ending);
                        self.use_added(node, &ending)?;
                    }
                }
            }
            if !self.has_looped {
                return Ok(());
            }
        }
    }

    /// Uses calls that are over: the items that they may end in.
    fn use_end(&mut self, call: ItemId, word: usize, bits: u64, ending: &FxHashMap<ItemId, Vec<Entry>>) {
        let new = self.open.add(call, word, bits);
        if new == 0 {
            return;
        }
        self.has_looped |= new & self.loops.word(word) != 0;
        for entry in ending.get(&call).into_iter().flatten() {
            let row = &self.words[entry.row.range()];
            let Ok(at) = row.binary_search_by_key(&(word as u32), |&(word, _)| word) else { continue };
            let used = row[at].1 & new;
            if used != 0 {
                let new = self.sets.add(entry.item, word, used);
                if new != 0 {
                    self.added.push((entry.item, word, new));
                }
            }
        }
    }

    /// Uses the calls that are followed by what was added, if their callers begin with them.
    fn use_added(&mut self, node: u32, ending: &FxHashMap<ItemId, Vec<Entry>>) -> Result<(), InfillError> {
        let mut n_words = 0;
        while let Some((next, word, bits)) = self.added.pop() {
            n_words += 1;
            let n_corners = self.corners.get(next.index()).map_or(0, Vec::len);
            n_words += n_corners;
            for index in 0..n_corners {
                let (callee, number) = self.corners[next.index()][index];
                let at = self.calls[callee.index()].corners[number].at.word(word);
                let used = bits & at & self.ended.word(callee, word);
                if used != 0 {
                    self.use_end(callee, word, used, ending);
                }
            }
        }
        self.spend(node, 1 + n_words / WORDS_OF_UNIT)
    }

    /// Uses the items that wait for a call that ends at a node, as far as they are used after it; whether some are.
    fn use_waiters(&mut self, node: u32, call: ItemId, begin: u32) -> Result<bool, InfillError> {
        let from = self.nodes[begin as usize] as usize;
        let mut is_used = false;
        let (mut n_words, mut n_kept) = (1, 0);
        for index in self.waiters_for(call, begin) {
            let Waiter { next, row, entry, .. } = self.waiters[index];
            if self.sets.is_empty(next) {
                continue;
            }
            n_words += row.len as usize;
            let common = |&(word, bits): &(u32, u64)| bits & self.sets.word(next, word as usize);
            let row = &self.words[row.range()];
            if row.iter().all(|word| common(word) == 0) {
                continue;
            }
            is_used = true;
            let entry = &mut self.entries[from][entry as usize];
            n_kept += entry.begin_use(&mut self.used);
            for (used, word) in self.used[entry.used as usize..].iter_mut().zip(row) {
                let common = common(word);
                self.has_grown |= common & !*used != 0;
                *used |= common;
            }
        }
        self.keep(node, n_kept, self.used.len())?;
        self.spend(node, 1 + n_words / WORDS_OF_UNIT)?;
        Ok(is_used)
    }
}
