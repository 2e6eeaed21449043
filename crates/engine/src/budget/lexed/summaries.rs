//! Summaries of the rules of a lexed grammar: at which costs the rest of a rule can be read, whatever the stack below.
//!
//! [`Summaries::exits`] lists, for a rest of a rule begun in a control, the controls in which it can end, each with its cost. An example:
//! the rest `")"` of a call, begun with no token in progress, ends at cost 1 after the token `)`, and inside the token `);` with `;`
//! to come.
//!
//! Each summary is complete up to a *bound* on its cost, which is raised as callers need it. What exceeds the bound is
//! parked: items of a higher cost, and levels of runs that nobody has asked for. When the queue is empty, every summary has all of
//! its exits up to its bound: an item, a call or a run of cost c within bound b has been given b − c.
//!
//! Costs are corrected where a cheaper way is found later, so the order of the queue matters for time only.

use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_grammar::{ExprId, Symbol, TerminalId};
use maskwright_scan::{Blanks, HypothesisId, Point};
use rustc_hash::{FxHashMap, FxHashSet};

use super::blocks::{BlocksId, BlocksPool, Made};
use super::controls::{Control, ControlId, Controls, InText};
use super::ends::Ends;
use super::floors::{ContextId, Floors};
use super::runs::{Exit, Lexing, RunId, Runs};
use super::walks::RunStart;
use crate::EngineError;
use crate::lexed::States;
use crate::parser::Parser;
use crate::spelling::{FutureId, Futures};

/// Units of work that an item takes.
const UNITS_PER_ITEM: u64 = 32;

/// So many looks at levels of runs take the time of an item. A run has no last level where each width of a line is another one.
const LOOKS_PER_ITEM: u64 = 64;

/// A summary.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SummaryId(u32);

/// A place within a summary.
type Place = (ExprId, ControlId);

/// Where in a text, without the token of the vocabulary in progress.
type Spot = (SummaryId, ExprId, HypothesisId, BlocksId);

/// What is asked of all parts in turn: the parser's rules, what reads bytes, and what tokens there are.
pub(super) struct Parts<'a> {
    pub(super) parser: &'a mut Parser,
    pub(super) states: &'a mut States,
    pub(super) futures: &'a mut Futures,
    pub(super) runs: &'a mut Runs,
    /// Which ways lead to which ends; all may lead to any if that is not known.
    pub(super) ends: Option<&'a Ends>,
    pub(super) floors: &'a mut Floors,
}

impl Parts<'_> {
    /// The run from `start`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(super) fn run(&mut self, start: RunStart) -> Result<RunId, EngineError> {
        let (runs, mut lexing) = self.lexing();
        runs.run(&mut lexing, start)
    }

    /// The runs, and what they are made from.
    fn lexing(&mut self) -> (&mut Runs, Lexing<'_>) {
        let points = &mut self.states.places_mut().points;
        (self.runs, Lexing { points, futures: self.futures, ends: self.ends })
    }
}

#[derive(Default)]
struct Summary {
    /// Everything up to this cost is known once the queue is empty.
    bound: u32,
    exits: FxHashMap<ControlId, u32>,
    /// The summaries that use the exits: where each continues, and the cost there.
    callers: FxHashSet<(SummaryId, ExprId, u32)>,
    callees: FxHashSet<(SummaryId, u32)>,
    /// Items that cannot reach the end within the bound: the bound at which they may, the cost, the place.
    parked: Vec<(u32, u32, Place)>,
    /// Calls that cannot either.
    due_calls: Vec<(u32, Call)>,
    /// Items at the bound with no token begun, so that nothing can be read from them yet.
    at_bound: Vec<(u32, Place)>,
    /// Runs that may need more levels.
    waits: Vec<Wait>,
}

/// A run for one terminal that begins at a place.
struct Wait {
    /// The cost of the next level.
    cost: u32,
    /// Where to continue after the terminal; for the end of the text, the place itself.
    next: ExprId,
    /// The rest after the terminal takes at least so much.
    floor: u32,
    terminal: Option<TerminalId>,
    blocks: BlocksId,
    run: RunId,
    n_levels: u32,
}

/// A rule that is to be read at a cost, by its body, and where to continue after it.
#[derive(Clone, Copy)]
struct Call {
    body: ExprId,
    control: ControlId,
    next: ExprId,
    cost: u32,
}

/// All summaries of one grammar.
#[derive(Default)]
pub(super) struct Summaries {
    pub(super) controls: Controls,
    pub(super) blocks: BlocksPool,
    summaries: Vec<Summary>,
    ids: FxHashMap<Place, SummaryId>,
    /// Items by cost.
    queue: Vec<Vec<(SummaryId, Place)>>,
    /// No item is cheaper than this.
    cheapest: usize,
    costs: FxHashMap<(SummaryId, Place), u32>,
    root_costs: FxHashMap<Spot, u32>,
    /// Summaries whose bound was raised, with what they still have to do about it.
    raised: Vec<SummaryId>,
    /// Whether a token of the vocabulary must end where one of the lexer does.
    pub(super) is_upper: bool,
    n_items: u64,
    /// What ends of lines took; what levels of runs took is [`Runs::n_looks`].
    n_looks: u64,
    /// The most work that may be done.
    max_items: u64,
    /// Whether more was asked for.
    is_spent: bool,
}

impl Summaries {
    /// Nothing is known yet; `is_upper` says whether a token of the vocabulary must end where one of the lexer does.
    pub(super) fn new(is_upper: bool) -> Summaries {
        Summaries { is_upper, ..Summaries::default() }
    }

    /// Items taken so far, and looks at ends of lines.
    pub(super) fn work(&self) -> u64 {
        self.n_items + self.n_looks / LOOKS_PER_ITEM
    }

    /// So many items may be taken in all.
    pub(super) fn allow(&mut self, n_items: u64) {
        self.max_items = n_items;
    }

    /// Whether a search was given up. What is known is incomplete then.
    pub(super) fn is_spent(&self) -> bool {
        self.is_spent
    }

    /// An error if more items were taken than are allowed. What levels of runs took counts, whoever asked for them.
    pub(super) fn check(&mut self, parts: &Parts<'_>) -> Result<(), EngineError> {
        self.is_spent |= self.work() + parts.runs.n_looks() / LOOKS_PER_ITEM > self.max_items;
        match self.is_spent {
            true => Err(EngineError::budget_search(self.max_items)),
            false => Ok(()),
        }
    }

    /// Counts looks.
    fn look(&mut self, n_looks: u64) {
        self.n_looks += n_looks;
        meter::charge(n_looks);
    }

    /// A level of a run ([`Runs::level`]).
    ///
    /// # Errors
    /// If more items would be taken than are allowed, or another limit is reached.
    pub(super) fn level(
        &mut self,
        parts: &mut Parts<'_>,
        run: RunId,
        terminal: Option<TerminalId>,
        cost: u32,
    ) -> Result<Option<Arc<[Exit]>>, EngineError> {
        self.check(parts)?;
        let n_looks = parts.runs.n_looks();
        let (runs, mut lexing) = parts.lexing();
        let level = runs.level(&mut lexing, run, terminal, cost)?;
        meter::charge(parts.runs.n_looks() - n_looks);
        Ok(level)
    }

    /// The exits of the rest of a rule at costs up to `bound`.
    ///
    /// # Errors
    /// If more items would be taken than are allowed, or another limit is reached.
    pub(super) fn exits(
        &mut self,
        parts: &mut Parts<'_>,
        state: ExprId,
        control: ControlId,
        bound: u32,
    ) -> Result<Vec<(ControlId, u32)>, EngineError> {
        let id = self.summary(parts, (state, control))?;
        self.raise(id, bound);
        loop {
            if let Some(raised) = self.raised.pop() {
                self.go_on(parts, raised)?;
            } else if let Some((cost, id, place)) = self.pop() {
                self.take(parts, cost, id, place)?;
            } else {
                break;
            }
            self.check(parts)?;
        }
        let mut exits = self.exits_of(id);
        exits.retain(|&(_, cost)| cost <= bound);
        Ok(exits)
    }

    /// The controls after an exit of a run. `line` is the width of the line where the run begins.
    pub(super) fn after_exit(
        &mut self,
        parts: &mut Parts<'_>,
        blocks: BlocksId,
        line: Option<u32>,
        exit: &Exit,
    ) -> Vec<ControlId> {
        let text = |blocks| InText { hypothesis: exit.hypothesis, future: exit.future, blocks };
        let Some(layout) = parts.states.places().points.tables.layout.as_ref() else {
            return vec![self.controls.intern(Control::Text(text(blocks)))];
        };
        let Some(terminal) = exit.terminal else { return Vec::new() };
        if terminal == layout.newline {
            let mut lines: Vec<u32> = exit.lines.iter().filter_map(|blanks| blanks.line(line)).collect();
            lines.sort_unstable();
            lines.dedup();
            let after = self.blocks.after_line(blocks, &lines, layout.tabs);
            let n_open = u64::from(self.blocks.n_open(blocks));
            self.look(lines.len() as u64 + (after.len() as u64 + 1) * (n_open + 1));
            let control = |(made, blocks)| match made {
                Made::Indent => Control::Indent(text(blocks)),
                Made::Dedents(0) => Control::Text(text(blocks)),
                Made::Dedents(n_dedents) => Control::Dedents(text(blocks), n_dedents),
            };
            return after.into_iter().map(|made| self.controls.intern(control(made))).collect();
        }
        let blocks = if layout.open.contains(&terminal) {
            self.blocks.with_bracket(blocks, true)
        } else if layout.close.contains(&terminal) {
            self.blocks.with_bracket(blocks, false)
        } else {
            Some(blocks)
        };
        blocks.map(|blocks| self.controls.intern(Control::Text(text(blocks)))).into_iter().collect()
    }

    fn summary(&mut self, parts: &mut Parts<'_>, place: Place) -> Result<SummaryId, EngineError> {
        let fresh = SummaryId(self.summaries.len() as u32);
        let id = *self.ids.entry(place).or_insert(fresh);
        if id == fresh {
            self.summaries.push(Summary::default());
            self.push(parts, 0, id, place)?;
        }
        Ok(id)
    }

    /// What may end in the token in progress in a control.
    pub(super) fn context(
        &mut self,
        parts: &mut Parts<'_>,
        control: ControlId,
    ) -> Result<ContextId, EngineError> {
        match self.controls.get(control) {
            Control::Text(text) => parts.floors.inside(
                &mut parts.states.places_mut().points,
                parts.futures,
                (text.hypothesis, text.future),
            ),
            // What indentation makes takes no token anyway.
            Control::Indent(_) | Control::Dedents(..) | Control::End(_) => Ok(ContextId::ROOT),
        }
    }

    /// Adds an item that may be new.
    fn push(
        &mut self,
        parts: &mut Parts<'_>,
        cost: u32,
        id: SummaryId,
        place: Place,
    ) -> Result<(), EngineError> {
        if self.costs.get(&(id, place)).is_some_and(|&known| known <= cost) {
            return Ok(());
        }
        let context = self.context(parts, place.1)?;
        let floor = parts.floors.of_state(parts.parser, place.0, context)?;
        let needed = cost.saturating_add(floor);
        let summary = &mut self.summaries[id.0 as usize];
        if needed > summary.bound {
            summary.parked.push((needed, cost, place));
            return Ok(());
        }
        let bucket = cost as usize;
        if self.queue.len() <= bucket {
            self.queue.resize_with(bucket + 1, Vec::new);
        }
        self.queue[bucket].push((id, place));
        self.cheapest = self.cheapest.min(bucket);
        Ok(())
    }

    /// The cheapest item.
    fn pop(&mut self) -> Option<(u32, SummaryId, Place)> {
        while self.cheapest < self.queue.len() {
            if let Some((id, place)) = self.queue[self.cheapest].pop() {
                return Some((self.cheapest as u32, id, place));
            }
            self.cheapest += 1;
        }
        None
    }

    fn raise(&mut self, id: SummaryId, bound: u32) {
        let summary = &mut self.summaries[id.0 as usize];
        if summary.bound < bound {
            summary.bound = bound;
            self.raised.push(id);
        }
    }

    /// Gives what a summary has begun its share of a higher bound.
    fn go_on(&mut self, parts: &mut Parts<'_>, id: SummaryId) -> Result<(), EngineError> {
        let summary = &mut self.summaries[id.0 as usize];
        let bound = summary.bound;
        let parked: Vec<_> = summary.parked.extract_if(.., |&mut (needed, ..)| needed <= bound).collect();
        let due_calls: Vec<_> =
            summary.due_calls.extract_if(.., |&mut (needed, _)| needed <= bound).collect();
        let due = std::mem::take(&mut summary.at_bound);
        let callees: Vec<(SummaryId, u32)> = summary.callees.iter().copied().collect();
        let waits: Vec<_> =
            summary.waits.extract_if(.., |wait| wait.cost.saturating_add(wait.floor) <= bound).collect();
        for (_, cost, place) in parked {
            self.push(parts, cost, id, place)?;
        }
        for (_, call) in due_calls {
            self.call(parts, id, call)?;
        }
        for (cost, place) in due {
            self.read_on(parts, cost, id, place)?;
        }
        for wait in waits {
            self.follow(parts, id, wait)?;
        }
        for (callee, needed) in callees {
            self.raise(callee, bound.saturating_sub(needed));
        }
        Ok(())
    }

    fn take(
        &mut self,
        parts: &mut Parts<'_>,
        cost: u32,
        id: SummaryId,
        (state, mut control): Place,
    ) -> Result<(), EngineError> {
        if self.costs.get(&(id, (state, control))).is_some_and(|&known| known <= cost) {
            return Ok(());
        }
        meter::spend(UNITS_PER_ITEM)?;
        self.n_items += 1;
        self.costs.insert((id, (state, control)), cost);
        let mut is_at_bound = false;
        if let Control::Text(text) = self.controls.get(control) {
            let spot = (id, state, text.hypothesis, text.blocks);
            let Some(text) = self.cut(parts, cost, spot, text.future) else { return Ok(()) };
            control = self.controls.intern(Control::Text(text));
            let is_root = text.future == parts.futures.root();
            let n_open = self.blocks.n_open(text.blocks);
            if is_root && n_open > 0 && parts.states.places().points.hypotheses.ends_here(text.hypothesis) {
                let end = self.controls.intern(Control::End(n_open));
                self.push(parts, cost, id, (state, end))?;
            }
            is_at_bound = is_root && cost >= self.summaries[id.0 as usize].bound;
        }
        if parts.parser.network.is_nullable(state) {
            self.leave(parts, id, cost, control)?;
        }
        if is_at_bound {
            self.summaries[id.0 as usize].at_bound.push((cost, (state, control)));
            return Ok(());
        }
        self.read_on(parts, cost, id, (state, control))
    }

    /// The text at a spot at `cost`, without the rests of tokens that are as cheap to spell anew (lemma 1); `None` if no
    /// rest remains.
    fn cut(&mut self, parts: &mut Parts<'_>, cost: u32, spot: Spot, future: FutureId) -> Option<InText> {
        let (_, _, hypothesis, blocks) = spot;
        let mut text = InText { hypothesis, future, blocks };
        if future == parts.futures.root() {
            let known = self.root_costs.entry(spot).or_insert(cost);
            *known = cost.min(*known);
        } else if let Some(&root_cost) = self.root_costs.get(&spot).filter(|&&known| known <= cost) {
            text.future = parts.futures.costly(future, cost - root_cost + 1);
        }
        (text.future != FutureId::EMPTY).then_some(text)
    }

    /// Goes on from a place by what can be read there.
    fn read_on(
        &mut self,
        parts: &mut Parts<'_>,
        cost: u32,
        id: SummaryId,
        (state, control): Place,
    ) -> Result<(), EngineError> {
        let mut terminals = Vec::new();
        for index in parts.parser.network.moves(state) {
            let step = parts.parser.network.move_at(index);
            match step.symbol {
                Symbol::Terminal(terminal) => {
                    terminals.push((terminal, step.next));
                    if let Some(next) = self.after_made(parts, control, terminal) {
                        self.push(parts, cost, id, (step.next, next))?;
                    }
                }
                Symbol::Rule(rule) => {
                    let body = parts.parser.network.body(rule);
                    self.call(parts, id, Call { body, control, next: step.next, cost })?;
                }
            }
        }
        let Control::Text(text) = self.controls.get(control) else { return Ok(()) };
        let ends = (self.blocks.n_open(text.blocks) > 0).then_some((None, state, 0));
        let mut ways: Vec<_> = ends.into_iter().collect();
        for (terminal, next) in terminals {
            let floor = parts.floors.of_state(parts.parser, next, parts.floors.after(terminal))?;
            ways.push((Some(terminal), next, floor));
        }
        if ways.is_empty() {
            return Ok(());
        }
        let run = self.run(parts, text)?;
        for (terminal, next, floor) in ways {
            let wait = Wait { cost, next, floor, terminal, blocks: text.blocks, run, n_levels: 0 };
            self.follow(parts, id, wait)?;
        }
        Ok(())
    }

    /// Asks for the exits of a rule, if the bound has room for what they and the rest after them take at least.
    fn call(&mut self, parts: &mut Parts<'_>, id: SummaryId, call: Call) -> Result<(), EngineError> {
        let Call { body, control, next, cost } = call;
        let context = self.context(parts, control)?;
        let (inside, after) = parts.floors.of_call(parts.parser, (body, next), context)?;
        let needed = cost.saturating_add(after);
        let summary = &mut self.summaries[id.0 as usize];
        let bound = summary.bound;
        if needed.saturating_add(inside) > bound {
            summary.due_calls.push((needed.saturating_add(inside), call));
            return Ok(());
        }
        let callee = self.summary(parts, (body, control))?;
        self.raise(callee, bound - needed);
        self.summaries[id.0 as usize].callees.insert((callee, needed));
        if self.summaries[callee.0 as usize].callers.insert((id, next, cost)) {
            let exits: Vec<(ControlId, u32)> = self.exits_of(callee);
            for (left, more) in exits {
                self.push(parts, cost + more, id, (next, left))?;
            }
        }
        Ok(())
    }

    fn exits_of(&self, id: SummaryId) -> Vec<(ControlId, u32)> {
        self.summaries[id.0 as usize].exits.iter().map(|(&control, &cost)| (control, cost)).collect()
    }

    /// The least cost, if it is at most `bound`, at which the text can end without another token for the parser.
    pub(super) fn end(
        &mut self,
        parts: &mut Parts<'_>,
        text: InText,
        bound: u32,
    ) -> Result<Option<u32>, EngineError> {
        if text.future == parts.futures.root()
            && parts.states.places().points.hypotheses.ends_here(text.hypothesis)
        {
            return Ok(Some(0));
        }
        let run = self.run(parts, text)?;
        for cost in 0..=bound {
            match self.level(parts, run, None, cost)? {
                Some(level) if !level.is_empty() => return Ok(Some(cost)),
                Some(_) => {}
                None => break,
            }
        }
        Ok(None)
    }

    fn run(&mut self, parts: &mut Parts<'_>, text: InText) -> Result<RunId, EngineError> {
        let start = RunStart {
            point: Point { hypothesis: text.hypothesis, line: Blanks::None },
            future: text.future,
            is_nested: self.blocks.is_nested(text.blocks),
        };
        parts.run(start)
    }

    /// Takes the levels of a run that the bound has room for.
    fn follow(&mut self, parts: &mut Parts<'_>, id: SummaryId, mut wait: Wait) -> Result<(), EngineError> {
        let bound = self.summaries[id.0 as usize].bound;
        let root = parts.futures.root();
        while wait.cost.saturating_add(wait.floor) <= bound {
            let level = self.level(parts, wait.run, wait.terminal, wait.n_levels)?;
            let Some(level) = level else { return Ok(()) };
            for exit in level.iter() {
                if self.is_upper && exit.future != root {
                    continue;
                }
                let controls = match exit.terminal {
                    Some(_) => self.after_exit(parts, wait.blocks, None, exit),
                    None => vec![self.controls.intern(Control::End(self.blocks.n_open(wait.blocks)))],
                };
                for control in controls {
                    self.push(parts, wait.cost, id, (wait.next, control))?;
                }
            }
            wait.n_levels += 1;
            wait.cost += 1;
        }
        self.summaries[id.0 as usize].waits.push(wait);
        Ok(())
    }

    /// The control after a token that is no text, if that is due.
    fn after_made(
        &mut self,
        parts: &Parts<'_>,
        control: ControlId,
        terminal: TerminalId,
    ) -> Option<ControlId> {
        let layout = parts.states.places().points.tables.layout.as_ref()?;
        let next = match self.controls.get(control) {
            Control::Indent(text) if terminal == layout.indent => Control::Text(text),
            Control::Dedents(text, 1) if terminal == layout.dedent => Control::Text(text),
            Control::Dedents(text, n) if terminal == layout.dedent => Control::Dedents(text, n - 1),
            Control::End(n @ 1..) if terminal == layout.dedent => Control::End(n - 1),
            _ => return None,
        };
        Some(self.controls.intern(next))
    }

    /// Adds an exit and tells the callers.
    fn leave(
        &mut self,
        parts: &mut Parts<'_>,
        id: SummaryId,
        cost: u32,
        control: ControlId,
    ) -> Result<(), EngineError> {
        let summary = &mut self.summaries[id.0 as usize];
        let known = summary.exits.entry(control).or_insert(u32::MAX);
        if *known <= cost {
            return Ok(());
        }
        *known = cost;
        let callers: Vec<(SummaryId, ExprId, u32)> = summary.callers.iter().copied().collect();
        for (caller, next, before) in callers {
            self.push(parts, before + cost, caller, (next, control))?;
        }
        Ok(())
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let entries: usize = self
            .summaries
            .iter()
            .map(|summary| {
                let calls = summary.callers.len() + summary.callees.len();
                let parked = summary.parked.len() + summary.at_bound.len() + 2 * summary.due_calls.len();
                16 * summary.exits.len() + 20 * calls + 16 * parked + 40 * summary.waits.len()
            })
            .sum();
        entries
            + self.summaries.len() * (size_of::<Summary>() + 40)
            + (self.costs.len() + self.root_costs.len()) * 28
            + self.controls.memory_usage()
            + self.blocks.memory_usage()
    }
}
