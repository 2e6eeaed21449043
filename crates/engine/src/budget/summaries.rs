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

use maskwright_automata::{ByteSet, meter};
use maskwright_grammar::{Expr, ExprId, ExprPool, ShufflePhase, Symbol, TerminalId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;
use crate::ground::{NEVER, plus};
use crate::parser::Parser;
use crate::spelling::{Effort, FutureId, Spelling, is_beyond};

/// A set of bytes that may follow, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct FollowId(u32);

/// A summary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct SummaryId(u32);

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
pub(crate) struct Summaries {
    summaries: Vec<Summary>,
    ids: FxHashMap<(ExprId, FutureId, FollowId), SummaryId>,
    /// Items that are to be taken, by cost, those at the end of their summary first; no list is empty.
    queue: BTreeMap<(u32, bool), Vec<Item>>,
    /// The least cost at which each item was offered.
    costs: FxHashMap<Item, u32>,
    root_costs: FxHashMap<(SummaryId, ExprId), u32>,
    /// The rests of tokens with which each state was taken.
    covered: FxHashMap<(SummaryId, ExprId), FutureId>,
    /// The item that was being taken when a call had no more work to spend, and its cost.
    unfinished: Option<(u32, Item)>,
    follows: Vec<(ByteSet, u32)>,
    follow_ids: FxHashMap<ByteSet, FollowId>,
    first_bytes: FxHashMap<ExprId, ByteSet>,
    /// Terminals that are not entered, by index.
    avoided: Arc<[bool]>,
    pub(crate) extent: Extent,
    /// How much work all questions together may lead to, and what a single one may.
    allowed: Work,
    done: Done,
}

/// Limits on work, in items.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Work {
    /// Of all questions that are asked of a table.
    pub(crate) of_table: u64,
    /// Of one question that is asked of a fresh table.
    pub(crate) of_question: u64,
}

/// The work of all questions so far.
#[derive(Default)]
struct Done {
    n_items: u64,
    n_offers: u64,
    n_moves: u64,
}

/// Which completions a search considers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) enum Extent {
    /// All; the search is given up where a list in any order has too many orders.
    #[default]
    All,
    /// All but of lists with too many orders: of those only what must come, as it is listed. So costs are upper bounds.
    LongInOrder,
    /// Of all lists in any order only what must come, as it is listed.
    InOrder,
    /// The same, and only tokens that end where terminals do.
    Aligned,
}

/// Units of work that an item takes.
const UNITS_PER_ITEM: u64 = 16;
/// Units of work that an offer takes, and a move.
const UNITS_PER_OFFER: u64 = 4;
/// So many offers of items take the time of one item that is taken.
const OFFERS_PER_ITEM: u64 = 16;
/// So many moves of states do, with the states that they make.
const MOVES_PER_ITEM: u64 = 4;
/// Lists in any order are completed in all orders if that takes at most so many sets of items: those of eight required ones.
const MAX_SETS: u32 = 256;

impl Summaries {
    /// Nothing is known yet; terminals that are `avoided` are not entered.
    pub(crate) fn new(avoided: Arc<[bool]>, extent: Extent) -> Summaries {
        Summaries { avoided, extent, ..Summaries::default() }
    }

    /// Whether a terminal is not entered.
    pub(crate) fn avoids(&self, terminal: TerminalId) -> bool {
        self.avoided.get(terminal.index()).copied().unwrap_or(false)
    }

    /// The same, with nothing known but how much work was done.
    pub(crate) fn forgotten(&mut self) -> Summaries {
        let (done, allowed) = (std::mem::take(&mut self.done), self.allowed);
        Summaries { done, allowed, ..Summaries::new(self.avoided.clone(), self.extent) }
    }

    /// The number of a set of bytes.
    pub(crate) fn follow(&mut self, spelling: &mut Spelling, bytes: ByteSet) -> FollowId {
        if let Some(&known) = self.follow_ids.get(&bytes) {
            return known;
        }
        let id = FollowId(self.follows.len() as u32);
        self.follows.push((bytes, spelling.futures.worst(ByteSet::FULL, bytes)));
        self.follow_ids.insert(bytes, id);
        id
    }

    /// A superset of the bytes that a non-empty reading of `state` can begin with: in a list in any order, members that
    /// were read before are counted too, so a list may seem to begin with itself. All states together take time linear in
    /// their distinct expressions, which chains of optional parts share. A state that leads to such a list takes it alone.
    pub(crate) fn first_bytes(&mut self, parser: &mut Parser, state: ExprId) -> Result<ByteSet, EngineError> {
        let mut stack = vec![state];
        let mut open: FxHashSet<ExprId> = FxHashSet::default();
        while let Some(&top) = stack.last() {
            if self.first_bytes.contains_key(&top) {
                stack.pop();
                continue;
            }
            let (mut bytes, parts) = first_parts(parser, top)?;
            open.insert(top);
            let n_open = stack.len();
            for part in parts {
                match self.first_bytes.get(&part) {
                    Some(known) => bytes = bytes.union(known),
                    None if open.contains(&part) => return self.first_bytes_of_all(parser, state),
                    None => stack.push(part),
                }
            }
            if stack.len() == n_open {
                self.first_bytes.insert(top, bytes);
                open.remove(&top);
                stack.pop();
            }
        }
        Ok(self.first_bytes.get(&state).copied().unwrap_or(ByteSet::EMPTY))
    }

    /// The same where some expression seems to begin with itself: the bytes of all that `state` can begin with.
    fn first_bytes_of_all(&mut self, parser: &mut Parser, state: ExprId) -> Result<ByteSet, EngineError> {
        let mut all = ByteSet::EMPTY;
        let (mut stack, mut met) = (vec![state], FxHashSet::default());
        while let Some(top) = stack.pop() {
            if let Some(known) = self.first_bytes.get(&top) {
                all = all.union(known);
            } else if met.insert(top) {
                let (bytes, parts) = first_parts(parser, top)?;
                all = all.union(&bytes);
                stack.extend(parts);
            }
        }
        self.first_bytes.insert(state, all);
        Ok(all)
    }

    /// The bytes that may follow a symbol in front of `next`, if `follow` may come after that.
    pub(crate) fn follow_of(
        &mut self,
        parser: &mut Parser,
        next: ExprId,
        follow: ByteSet,
    ) -> Result<ByteSet, EngineError> {
        if next == ExprPool::EPSILON {
            return Ok(follow);
        }
        let first = self.first_bytes(parser, next)?;
        Ok(if parser.network.is_nullable(next) { first.union(&follow) } else { first })
    }

    /// The summary of a state.
    pub(crate) fn summary(&mut self, state: ExprId, future: FutureId, follow: FollowId) -> SummaryId {
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
    /// If more work is done than the table may, `effort` is not enough for a run, or another limit is reached. Where a call is out of
    /// work, the next one goes on.
    pub(crate) fn exits(
        &mut self,
        parser: &mut Parser,
        spelling: &mut Spelling,
        summary: SummaryId,
        effort: Effort,
    ) -> Result<&[(FutureId, u32)], EngineError> {
        let index = summary.0 as usize;
        if !self.summaries[index].is_complete {
            self.summaries[index].is_asked = true;
            self.unpark(summary);
            if let Some((cost, item)) = self.unfinished.take() {
                self.expand(parser, spelling, cost, item, effort)?;
            }
            while let Some((cost, item)) = self.pop_before(summary) {
                self.take(parser, spelling, cost, item, effort)?;
                if self.work() > self.allowed.of_table {
                    return Err(EngineError::budget_search(self.allowed.of_question));
                }
            }
            self.summaries[index].is_complete = true;
        }
        Ok(&self.summaries[index].exits)
    }

    /// Sets what the table may do.
    pub(crate) fn allow(&mut self, work: Work) {
        self.allowed = work;
    }

    /// What was done so far, in items.
    pub(crate) fn work(&self) -> u64 {
        self.done.n_items + self.done.n_offers / OFFERS_PER_ITEM + self.done.n_moves / MOVES_PER_ITEM
    }

    /// Whether a state begins with a list in any order whose required items are read as they are listed.
    ///
    /// # Errors
    /// If all orders would have to be tried, and they are too many.
    fn is_in_order(&self, parser: &Parser, state: ExprId) -> Result<bool, EngineError> {
        let Some((list, place)) = parser.network.list_at(state) else { return Ok(false) };
        let left = list.left(place);
        let is_long = || left.n_sets(list) > MAX_SETS;
        match self.extent {
            Extent::All if is_long() => Err(EngineError::budget_orders()),
            Extent::All => Ok(false),
            Extent::LongInOrder => Ok(is_long()),
            Extent::InOrder | Extent::Aligned => Ok(left.n_required > 1 || is_long()),
        }
    }

    fn unpark(&mut self, id: SummaryId) {
        for (cost, state, future) in std::mem::take(&mut self.summaries[id.0 as usize].parked) {
            self.push(cost, (id, state, future));
        }
    }

    /// Adds an item to the queue, unless it was offered at no more before.
    fn offer(&mut self, cost: u32, item: Item) {
        meter::charge(UNITS_PER_OFFER);
        self.done.n_offers += 1;
        let known = self.costs.entry(item).or_insert(NEVER);
        if cost < *known {
            *known = cost;
            self.push(cost, item);
        }
    }

    /// Whether no exit of `cost` or more can matter.
    fn is_past(&self, id: SummaryId, cost: u32) -> bool {
        let summary = &self.summaries[id.0 as usize];
        let worst = match self.extent {
            // No token is in progress where something ends.
            Extent::Aligned => 1,
            Extent::All | Extent::LongInOrder | Extent::InOrder => self.follows[summary.follow.0 as usize].1,
        };
        is_beyond(cost, summary.root_cost, worst)
    }

    /// Whether an exit of `cost` can matter to a caller (or to whoever asked).
    fn is_needed(&mut self, id: SummaryId, cost: u32) -> bool {
        let summary = &self.summaries[id.0 as usize];
        if summary.is_asked {
            return true;
        }
        let matters =
            |&(caller, _, before): &(SummaryId, ExprId, u32)| !self.is_past(caller, plus(before, cost));
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

    fn push(&mut self, cost: u32, item: Item) {
        self.queue.entry((cost, item.1 != ExprPool::EPSILON)).or_default().push(item);
    }

    /// The next item of the queue and its cost, unless no exit of that cost can matter to a summary.
    fn pop_before(&mut self, id: SummaryId) -> Option<(u32, Item)> {
        let cost = self.queue.keys().next()?.0;
        if self.is_past(id, cost) {
            return None;
        }
        let mut first = self.queue.first_entry()?;
        let item = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        item.map(|item| (cost, item))
    }

    /// Takes an item whose cost is final.
    fn take(
        &mut self,
        parser: &mut Parser,
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
        // Each of these reads what `state` reads, and is searched as far.
        let mut alike = parser.network.wider_states(state);
        meter::charge(UNITS_PER_OFFER * alike.len() as u64);
        if self.extent != Extent::All && !alike.is_empty() {
            let is_in_order = self.is_in_order(parser, state)?;
            alike.retain(|&wider| self.is_in_order(parser, wider).is_ok_and(|is| is == is_in_order));
        }
        if future != root {
            let covered = self.covered.entry((id, state)).or_insert(FutureId::EMPTY);
            if spelling.futures.is_inside(future, *covered) {
                return Ok(());
            }
            *covered = spelling.futures.union(vec![*covered, future]);
            let covered = alike.iter().filter_map(|&wider| self.covered.get(&(id, wider)));
            if covered.into_iter().any(|&covered| spelling.futures.is_inside(future, covered)) {
                return Ok(());
            }
        }
        alike.push(state);
        self.done.n_items += 1;
        let root_costs = alike.iter().filter_map(|&state| self.root_costs.get(&(id, state)).copied());
        let root_cost = root_costs.min().unwrap_or(NEVER);
        if future == root {
            self.root_costs.insert((id, state), cost.min(root_cost));
            if root_cost < NEVER {
                return Ok(());
            }
        } else if root_cost <= cost {
            future = spelling.futures.costly(future, cost - root_cost + 2);
            if future == FutureId::EMPTY {
                return Ok(());
            }
        }
        self.expand(parser, spelling, cost, (id, state, future), effort)
    }

    /// Follows an item that was taken. Doing so twice is as good as once.
    fn expand(
        &mut self,
        parser: &mut Parser,
        spelling: &mut Spelling,
        cost: u32,
        item: Item,
        effort: Effort,
    ) -> Result<(), EngineError> {
        let expanded = self.try_expand(parser, spelling, cost, item, effort);
        if expanded.as_ref().is_err_and(EngineError::is_out_of_work) {
            self.unfinished = Some((cost, item));
        }
        expanded
    }

    fn try_expand(
        &mut self,
        parser: &mut Parser,
        spelling: &mut Spelling,
        cost: u32,
        (id, state, future): Item,
        effort: Effort,
    ) -> Result<(), EngineError> {
        let follow = self.follows[self.summaries[id.0 as usize].follow.0 as usize].0;
        if parser.network.is_nullable(state) {
            self.leave(spelling, id, cost, future, follow);
            if self.is_past(id, cost) {
                return Ok(());
            }
        }
        if self.is_in_order(parser, state)? {
            // The rest of the list has a summary of its own, which lists that began otherwise come to as well.
            let own = (state, future, self.summaries[id.0 as usize].follow);
            if self.ids.get(&own) != Some(&id) {
                self.call(spelling, (id, ExprPool::EPSILON, cost), (state, future, follow));
            } else if let Some((member, next)) = parser.network.next_member(state) {
                let after = self.follow_of(parser, next, follow)?;
                self.call(spelling, (id, next, cost), (member, future, after));
            }
            return Ok(());
        }
        meter::spend(UNITS_PER_ITEM + parser.network.n_parts(state) as u64)?;
        let branches = parser.network.branches(state);
        if !branches.is_empty() {
            branches.into_iter().for_each(|branch| self.offer(cost, (id, branch, future)));
            return Ok(());
        }
        let moves = parser.network.moves(state);
        meter::spend(UNITS_PER_OFFER * moves.len() as u64)?;
        self.done.n_moves += moves.len() as u64;
        for index in moves {
            let step = parser.network.move_at(index);
            let after = self.follow_of(parser, step.next, follow)?;
            match step.symbol {
                Symbol::Terminal(terminal) if self.avoids(terminal) => {}
                Symbol::Terminal(terminal) => {
                    let Some(start) = parser.terminal_start(terminal)? else { continue };
                    let automaton = parser.automaton(terminal);
                    let run = spelling.exits(automaton, start, future, after, effort)?;
                    for &(left, more) in run.iter() {
                        self.offer(plus(cost, more), (id, step.next, left));
                    }
                }
                Symbol::Rule(rule) => {
                    let body = parser.network.body(rule);
                    self.call(spelling, (id, step.next, cost), (body, future, after));
                }
            }
        }
        Ok(())
    }

    /// Continues at `caller` from each exit of a summary, those found later included.
    fn call(
        &mut self,
        spelling: &mut Spelling,
        caller: (SummaryId, ExprId, u32),
        (state, future, follow): (ExprId, FutureId, ByteSet),
    ) {
        let follow = self.follow(spelling, follow);
        let callee = self.summary(state, future, follow);
        self.summaries[callee.0 as usize].callers.push(caller);
        self.unpark(callee);
        let (id, next, cost) = caller;
        for at in 0..self.summaries[callee.0 as usize].exits.len() {
            let (left, more) = self.summaries[callee.0 as usize].exits[at];
            self.offer(plus(cost, more), (id, next, left));
        }
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
            self.offer(plus(before, cost), (caller, next, future));
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        self.summaries.len() * (size_of::<Summary>() + 100)
            + self.queue.values().map(|items| items.len() * size_of::<Item>() + 60).sum::<usize>()
            + (self.costs.len() + self.root_costs.len() + self.covered.len()) * 24
    }
}

/// The bytes that an expression can begin with by itself, and the parts that it can begin with.
fn first_parts(parser: &mut Parser, expr: ExprId) -> Result<(ByteSet, Vec<ExprId>), EngineError> {
    let network = &mut parser.network;
    let parts = match network.pool().get(expr).clone() {
        Expr::Never | Expr::Epsilon => Vec::new(),
        Expr::Rule(rule) => vec![network.body(rule)],
        Expr::Seq(head, tail) if network.is_nullable(head) => vec![head, tail],
        Expr::Seq(head, _) => vec![head],
        Expr::Alt(parts) => parts.to_vec(),
        Expr::Repeat { inner, .. } => vec![inner],
        Expr::Shuffle(place) => {
            let list = network.pool().shuffle_list(&place);
            let (members, separator) = (list.members().collect(), vec![list.separator]);
            let (mut parts, then): (Vec<ExprId>, _) = match place.phase {
                ShufflePhase::AfterItem => (separator, members),
                ShufflePhase::Start | ShufflePhase::AfterSeparator => (members, separator),
            };
            if parts.iter().any(|&part| network.is_nullable(part)) {
                parts.extend(then);
            }
            parts
        }
        Expr::Terminal(terminal) => {
            let Some(start) = parser.terminal_start(terminal)? else {
                return Ok((ByteSet::EMPTY, Vec::new()));
            };
            let automaton = parser.automaton(terminal);
            let bytes = automaton.next_bytes(start).map_err(EngineError::in_terminal(automaton))?;
            return Ok((bytes, Vec::new()));
        }
    };
    Ok((ByteSet::EMPTY, parts))
}
