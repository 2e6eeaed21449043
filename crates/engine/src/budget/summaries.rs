//! Summaries: reading the rest of a rule, in tokens, whatever the stack below.
//!
//! The summary of (state e, future u, follow) holds the costs at which e, begun inside a token with future u, can be read to
//! its end, each with the future of the token in progress there. They are the triples (open node, symbol,
//! open node) of the least-cost problem, found by Knuth's generalisation of Dijkstra's algorithm: one queue over the
//! items (summary, state, future) of all summaries, each with its cost since its own summary began. A summary that
//! is called while others are under way starts at cost 0; what it derives for its callers is never cheaper
//! than the call, so what was taken from the queue before stays final.

use std::collections::BTreeMap;
use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::{ExprId, ExprPool, Symbol, TerminalId};
use rustc_hash::FxHashMap;

use super::futures::{FutureId, NEVER};
use super::runs::{Effort, Spelling, is_beyond};
use crate::EngineError;
use crate::machine::Machine;

/// A set of bytes that may follow, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct FollowId(u32);

/// A summary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SummaryId(u32);

/// A place in a summary: its state and the token in progress.
type Item = (SummaryId, ExprId, FutureId);

struct Summary {
    follow: FollowId,
    exits: Vec<(FutureId, u32)>,
    /// The cost at which it ends with a token.
    root_cost: u32,
    /// All other futures of the exits, as one.
    left: FutureId,
    /// The summaries that wait for the exits: where each goes on, and the cost there.
    callers: Vec<(SummaryId, ExprId, u32)>,
    /// The caller that last needed more.
    needed_by: usize,
    /// Items that no caller needs so far.
    parked: Vec<(u32, ExprId, FutureId)>,
    is_asked: bool,
    is_complete: bool,
}

/// All summaries of one grammar.
#[derive(Default)]
pub(super) struct Summaries {
    summaries: Vec<Summary>,
    ids: FxHashMap<(ExprId, FutureId, FollowId), SummaryId>,
    /// Items that are to be taken, by cost; no list is empty.
    queue: BTreeMap<u32, Vec<Item>>,
    /// The least cost at which each item was offered.
    costs: FxHashMap<Item, u32>,
    root_costs: FxHashMap<(SummaryId, ExprId), u32>,
    /// The rests of tokens with which each state was taken.
    covered: FxHashMap<(SummaryId, ExprId), FutureId>,
    follows: Vec<(ByteSet, u32)>,
    follow_ids: FxHashMap<ByteSet, FollowId>,
    first_bytes: FxHashMap<ExprId, ByteSet>,
    /// Terminals that are not entered, by index.
    avoided: Arc<[bool]>,
    n_items: u64,
    n_offers: u64,
}

/// So many offers of items take the time of one item that is taken.
const OFFERS_PER_ITEM: u64 = 16;

impl Summaries {
    /// Nothing is known yet; terminals that are `avoided` are not entered.
    pub(super) fn new(avoided: Arc<[bool]>) -> Summaries {
        Summaries { avoided, ..Summaries::default() }
    }

    /// Whether a terminal is not entered.
    pub(super) fn avoids(&self, terminal: TerminalId) -> bool {
        self.avoided.get(terminal.index()).copied().unwrap_or(false)
    }

    /// The same, with nothing known.
    pub(super) fn forgotten(&self) -> Summaries {
        Summaries::new(self.avoided.clone())
    }

    /// The number of a set of bytes.
    pub(super) fn follow(&mut self, spelling: &mut Spelling, bytes: ByteSet) -> FollowId {
        if let Some(&known) = self.follow_ids.get(&bytes) {
            return known;
        }
        let id = FollowId(self.follows.len() as u32);
        self.follows.push((bytes, spelling.futures.worst(ByteSet::FULL, bytes)));
        self.follow_ids.insert(bytes, id);
        id
    }

    /// The bytes that a non-empty reading of `state` can begin with. No left recursion, so this ends.
    pub(super) fn first_bytes(
        &mut self,
        machine: &mut Machine,
        state: ExprId,
    ) -> Result<ByteSet, EngineError> {
        let mut stack = vec![state];
        while let Some(&top) = stack.last() {
            if self.first_bytes.contains_key(&top) {
                stack.pop();
                continue;
            }
            let mut bytes = ByteSet::EMPTY;
            let n_open = stack.len();
            for index in machine.parser.network.moves(top) {
                match machine.parser.network.move_at(index).symbol {
                    Symbol::Terminal(terminal) => {
                        if let Some(start) = machine.parser.terminal_start(terminal)? {
                            let automaton = machine.parser.automaton(terminal);
                            let next =
                                automaton.next_bytes(start).map_err(|error| located(automaton, error))?;
                            bytes = bytes.union(&next);
                        }
                    }
                    Symbol::Rule(rule) => {
                        let body = machine.parser.network.body(rule);
                        match self.first_bytes.get(&body) {
                            Some(known) => bytes = bytes.union(known),
                            None => stack.push(body),
                        }
                    }
                }
            }
            if stack.len() == n_open {
                self.first_bytes.insert(top, bytes);
                stack.pop();
            }
        }
        Ok(self.first_bytes.get(&state).copied().unwrap_or(ByteSet::EMPTY))
    }

    /// The bytes that may follow a symbol in front of `next`, if `follow` may come behind that.
    pub(super) fn follow_of(
        &mut self,
        machine: &mut Machine,
        next: ExprId,
        follow: ByteSet,
    ) -> Result<ByteSet, EngineError> {
        if next == ExprPool::EPSILON {
            return Ok(follow);
        }
        let first = self.first_bytes(machine, next)?;
        Ok(if machine.parser.network.is_nullable(next) { first.union(&follow) } else { first })
    }

    /// The summary of a state.
    pub(super) fn summary(&mut self, state: ExprId, future: FutureId, follow: FollowId) -> SummaryId {
        let fresh = SummaryId(self.summaries.len() as u32);
        let id = *self.ids.entry((state, future, follow)).or_insert(fresh);
        if id == fresh {
            self.summaries.push(Summary {
                follow,
                exits: Vec::new(),
                root_cost: NEVER,
                left: FutureId::EMPTY,
                callers: Vec::new(),
                needed_by: 0,
                parked: Vec::new(),
                is_asked: false,
                is_complete: false,
            });
            self.offer(0, (id, state, future));
        }
        id
    }

    /// The exits of a summary, as far as they can be part of a cheapest completion, ascending by cost.
    ///
    /// # Errors
    /// If more than `max_items` items are taken, `effort` is not enough for a run, or another limit is reached.
    pub(super) fn exits(
        &mut self,
        machine: &mut Machine,
        spelling: &mut Spelling,
        summary: SummaryId,
        max_items: u64,
        effort: Effort,
    ) -> Result<&[(FutureId, u32)], EngineError> {
        let index = summary.0 as usize;
        if !self.summaries[index].is_complete {
            self.summaries[index].is_asked = true;
            self.unpark(summary);
            let last = self.work().saturating_add(max_items);
            while let Some(&cost) = self.queue.keys().next()
                && !self.is_past(summary, cost)
            {
                if let Some(item) = self.pop(cost) {
                    self.take(machine, spelling, cost, item, effort)?;
                }
                if self.work() > last {
                    return Err(EngineError::budget_search(max_items));
                }
            }
            self.summaries[index].is_complete = true;
        }
        Ok(&self.summaries[index].exits)
    }

    /// What was done so far, in items.
    fn work(&self) -> u64 {
        self.n_items + self.n_offers / OFFERS_PER_ITEM
    }

    fn unpark(&mut self, id: SummaryId) {
        for (cost, state, future) in std::mem::take(&mut self.summaries[id.0 as usize].parked) {
            self.queue.entry(cost).or_default().push((id, state, future));
        }
    }

    /// Adds an item to the queue, unless it was offered at no more before.
    fn offer(&mut self, cost: u32, item: Item) {
        self.n_offers += 1;
        let known = self.costs.entry(item).or_insert(NEVER);
        if cost < *known {
            *known = cost;
            self.queue.entry(cost).or_default().push(item);
        }
    }

    /// Whether no exit of `cost` or more can matter.
    fn is_past(&self, id: SummaryId, cost: u32) -> bool {
        let summary = &self.summaries[id.0 as usize];
        is_beyond(cost, summary.root_cost, self.follows[summary.follow.0 as usize].1)
    }

    /// Whether an exit of `cost` can matter to a caller (or to whoever asked).
    fn is_needed(&mut self, id: SummaryId, cost: u32) -> bool {
        let summary = &self.summaries[id.0 as usize];
        if summary.is_asked {
            return true;
        }
        let matters = |&(caller, _, before): &(SummaryId, ExprId, u32)| !self.is_past(caller, before + cost);
        if summary.callers.get(summary.needed_by).is_some_and(matters) {
            return true;
        }
        match summary.callers.iter().position(matters) {
            Some(found) => {
                self.summaries[id.0 as usize].needed_by = found;
                true
            }
            None => false,
        }
    }

    /// An item of `cost`, taken off the queue.
    fn pop(&mut self, cost: u32) -> Option<Item> {
        let items = self.queue.get_mut(&cost)?;
        let item = items.pop();
        if items.is_empty() {
            self.queue.remove(&cost);
        }
        item
    }

    /// Takes an item whose cost is final.
    fn take(
        &mut self,
        machine: &mut Machine,
        spelling: &mut Spelling,
        cost: u32,
        (id, state, mut future): Item,
        effort: Effort,
    ) -> Result<(), EngineError> {
        if self.is_past(id, cost) || self.costs.get(&(id, state, future)).is_some_and(|&known| known < cost) {
            return Ok(());
        }
        if !self.is_needed(id, cost) {
            self.summaries[id.0 as usize].parked.push((cost, state, future));
            return Ok(());
        }
        let root = spelling.futures.root();
        if future != root {
            let covered = self.covered.entry((id, state)).or_insert(FutureId::EMPTY);
            if spelling.futures.is_inside(future, *covered) {
                return Ok(());
            }
            *covered = spelling.futures.union(vec![*covered, future]);
        }
        self.n_items += 1;
        if future == root {
            self.root_costs.insert((id, state), cost);
        } else if let Some(&root_cost) = self.root_costs.get(&(id, state)).filter(|&&known| known <= cost) {
            future = spelling.futures.costly(future, cost - root_cost + 2);
            if future == FutureId::EMPTY {
                return Ok(());
            }
        }
        let follow = self.follows[self.summaries[id.0 as usize].follow.0 as usize].0;
        if machine.parser.network.is_nullable(state) {
            self.leave(spelling, id, cost, future, follow);
        }
        for index in machine.parser.network.moves(state) {
            let step = machine.parser.network.move_at(index);
            let behind = self.follow_of(machine, step.next, follow)?;
            match step.symbol {
                Symbol::Terminal(terminal) if self.avoids(terminal) => {}
                Symbol::Terminal(terminal) => {
                    let Some(start) = machine.parser.terminal_start(terminal)? else { continue };
                    let automaton = machine.parser.automaton(terminal);
                    let run = spelling.exits(automaton, start, future, behind, effort)?;
                    for &(left, more) in run.iter() {
                        self.offer(cost.saturating_add(more), (id, step.next, left));
                    }
                }
                Symbol::Rule(rule) => {
                    let behind = self.follow(spelling, behind);
                    let callee = self.summary(machine.parser.network.body(rule), future, behind);
                    self.summaries[callee.0 as usize].callers.push((id, step.next, cost));
                    self.unpark(callee);
                    for at in 0..self.summaries[callee.0 as usize].exits.len() {
                        let (left, more) = self.summaries[callee.0 as usize].exits[at];
                        self.offer(cost.saturating_add(more), (id, step.next, left));
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds an exit and tells the callers.
    fn leave(
        &mut self,
        spelling: &mut Spelling,
        id: SummaryId,
        cost: u32,
        mut future: FutureId,
        follow: ByteSet,
    ) {
        let summary = &mut self.summaries[id.0 as usize];
        if future == spelling.futures.root() {
            summary.root_cost = summary.root_cost.min(cost);
        } else {
            future = spelling.futures.restrict(future, follow);
            if summary.root_cost <= cost {
                future = spelling.futures.costly(future, cost - summary.root_cost + 2);
            }
            if future == FutureId::EMPTY {
                return;
            }
        }
        if summary.exits.iter().any(|&(known, _)| known == future) {
            return;
        }
        if future != spelling.futures.root() {
            if spelling.futures.is_inside(future, summary.left) {
                return;
            }
            summary.left = spelling.futures.union(vec![summary.left, future]);
        }
        summary.exits.push((future, cost));
        for at in 0..summary.callers.len() {
            let (caller, next, before) = self.summaries[id.0 as usize].callers[at];
            self.offer(before.saturating_add(cost), (caller, next, future));
        }
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.summaries.len() * (size_of::<Summary>() + 100)
            + self.queue.values().map(|items| items.len() * size_of::<Item>() + 60).sum::<usize>()
            + (self.costs.len() + self.root_costs.len() + self.covered.len()) * 24
    }
}

/// An automaton's error, with its terminal.
pub(super) fn located(
    automaton: &maskwright_automata::Automaton,
    error: maskwright_automata::AutomatonError,
) -> EngineError {
    EngineError::automaton(format!("{:?}", automaton.regex()), error)
}
