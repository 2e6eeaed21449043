//! Decides whether some completion continues from a thread, for all stacks at once.
//!
//! [`Pushdown::decide`] is asked first, before a search that makes configurations. Lexer and rules together
//! are a pushdown system: the control state is a hypothesis at the end of a token, and the stack is the
//! parser's. The effect of a rule on the control state does not depend on the stack below it, so it is
//! computed once, as a *summary*: from a state of the rules and a hypothesis, the hypotheses in which the
//! rest of the rule can end. There are finitely many summaries, so the search ends however deep rules nest
//! (Bouajjani, Esparza and Maler 1997; Reps, Horwitz and Sagiv 1995).
//!
//! An example: for `pair: A B` and `list: pair*`, from a hypothesis h after an `A`, the summary of the rest
//! `B` has as exits the hypotheses after a `B` that follows h. Every call of `pair` from h uses it, at any
//! depth.
//!
//! After a good end of a token (see [`Viability`](super::super::scopes::Viability)), everything that the
//! rules still need can be spelled. That is a control state of its own ([`Spot::Good`]), which a rule without
//! doubtful terminals preserves.
//!
//! **Exactness.** If all terminals always compete, hypotheses do not depend on the rules, and the answer is
//! exact. With the contextual lexer there are two questions: strict readings can prove that there is a
//! completion, and free ones that there is none (see the crate `scan`); otherwise the answer is open. Control
//! states do not include the width of a line, so this module is not used for grammars with indentation.
//!
//! Takes time proportional to the states of the rules times the square of the hypotheses that bad ends lead
//! to, once per grammar; summaries are kept.

use maskwright_automata::meter;
use maskwright_grammar::{ExprId, ExprPool, Symbol};
use maskwright_scan::HypothesisId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::outlook::Outlook;
use super::super::places::LexedThread;
use crate::EngineError;
use crate::parser::{Frame, NodeId, Parser};

/// The most items that one question may take.
const MAX_ITEMS: usize = 200_000;
/// The most places on the stack that it looks at.
const MAX_PLACES: usize = 100_000;

/// The control state between two tokens.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Spot {
    /// After a good end.
    Good,
    At(HypothesisId),
}

/// The control states in which the rest of a rule can end, from one hypothesis.
#[derive(Default)]
struct Summary {
    /// Where it can end; distinct.
    exits: Vec<Spot>,
    /// The summaries that continue after it, each with its state there.
    callers: Vec<(u32, ExprId)>,
    /// Whether it can end after a good end.
    is_good: bool,
}

/// Units of work that an item takes.
const UNITS_PER_ITEM: u64 = 16;

/// All summaries of one grammar, of one kind of readings.
#[derive(Default)]
pub(super) struct Pushdown {
    /// Whether tokens ahead are read freely.
    is_free: bool,
    ids: FxHashMap<(ExprId, HypothesisId), u32>,
    summaries: Vec<Summary>,
    seen: FxHashSet<(u32, ExprId, Spot)>,
    work: Vec<(u32, ExprId, Spot)>,
}

impl Pushdown {
    /// No summaries yet.
    pub(super) fn new(is_free: bool) -> Pushdown {
        Pushdown { is_free, ..Pushdown::default() }
    }

    /// Whether some reading of this kind leads from `thread` to the end of a text; `None` if that takes too
    /// long to decide.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn decide(
        &mut self,
        outlook: &mut Outlook,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<bool>, EngineError> {
        // As in `budget::over_bytes`: an answer is that of a search that starts with no summaries and may
        // take so many items. While there are at most half as many, it does not matter what was asked before.
        let answer = self.search(outlook, parser, thread, MAX_ITEMS / 2)?;
        if answer.is_some() || self.seen.len() <= MAX_ITEMS / 2 {
            return Ok(answer);
        }
        *self = Pushdown::new(self.is_free);
        self.search(outlook, parser, thread, MAX_ITEMS)
    }

    fn search(
        &mut self,
        outlook: &mut Outlook,
        parser: &mut Parser,
        thread: LexedThread,
        max_items: usize,
    ) -> Result<Option<bool>, EngineError> {
        let mut root = thread.hypothesis;
        if self.is_free {
            root = outlook.places.points.hypotheses.free_ahead(root)?;
        }
        let ends = outlook.next_tokens(root, false)?;
        let is_complete = outlook.scopes.is_main_complete();
        let mut seen: FxHashSet<(ExprId, NodeId, Spot)> = FxHashSet::default();
        let mut places = Vec::new();
        for index in 0..parser.configs.threads(thread.parser).len() {
            let own = parser.configs.threads(thread.parser)[index];
            let first = ends.partition_point(|end| end.terminal < own.terminal);
            for end in ends[first..].iter().take_while(|end| end.terminal == own.terminal) {
                let spot = Spot::At(end.next);
                if !(end.is_good && is_complete) && seen.insert((own.next, own.node, spot)) {
                    places.push((own.next, own.node, spot));
                }
                if end.is_good && seen.insert((own.next, own.node, Spot::Good)) {
                    places.push((own.next, own.node, Spot::Good));
                }
            }
        }
        while let Some((state, node, spot)) = places.pop() {
            meter::spend(UNITS_PER_ITEM)?;
            if seen.len() > MAX_PLACES {
                return Ok(None);
            }
            let exits = match spot {
                Spot::Good if outlook.scopes.finishes(parser, state, node) => return Ok(Some(true)),
                Spot::Good => continue,
                Spot::At(_) if state == ExprPool::EPSILON => vec![spot],
                Spot::At(hypothesis) => {
                    let summary = self.summary(state, hypothesis);
                    let can_finish = outlook.scopes.finishes(parser, ExprPool::EPSILON, node);
                    if !self.solve(outlook, parser, (summary, can_finish), max_items)? {
                        return Ok(None);
                    }
                    if can_finish && self.summaries[summary as usize].is_good {
                        return Ok(Some(true));
                    }
                    self.summaries[summary as usize].exits.clone()
                }
            };
            for exit in exits {
                for index in 0..parser.stacks.frames(node).len() {
                    let frame = parser.stacks.frames(node)[index];
                    match (frame, exit) {
                        (Frame::HOLE, _) => return Ok(None),
                        (Frame::BOTTOM, Spot::Good) => return Ok(Some(true)),
                        (Frame::BOTTOM, Spot::At(hypothesis)) => {
                            if outlook.may_end(hypothesis, false)? {
                                return Ok(Some(true));
                            }
                        }
                        (Frame { ret, parent }, _) => {
                            if seen.insert((ret, parent, exit)) {
                                places.push((ret, parent, exit));
                            }
                        }
                    }
                }
            }
        }
        Ok(Some(false))
    }

    fn summary(&mut self, state: ExprId, hypothesis: HypothesisId) -> u32 {
        let fresh = self.summaries.len() as u32;
        let id = *self.ids.entry((state, hypothesis)).or_insert(fresh);
        if id == fresh {
            self.summaries.push(Summary::default());
            self.push(id, state, Spot::At(hypothesis));
        }
        id
    }

    fn push(&mut self, summary: u32, state: ExprId, spot: Spot) {
        if self.seen.insert((summary, state, spot)) {
            self.work.push((summary, state, spot));
        }
    }

    /// Finds all exits of a summary. If a good end `is_enough`, stops as soon as it can end after one.
    /// Returns `false` if this takes too long.
    fn solve(
        &mut self,
        outlook: &mut Outlook,
        parser: &mut Parser,
        (summary, is_enough): (u32, bool),
        max_items: usize,
    ) -> Result<bool, EngineError> {
        let is_complete = outlook.scopes.is_main_complete();
        while !(is_enough && self.summaries[summary as usize].is_good)
            && let Some(&(id, state, spot)) = self.work.last()
        {
            if self.seen.len() > max_items {
                return Ok(false);
            }
            // If the scope is complete, no other exit leads further than a good one.
            if is_complete && self.summaries[id as usize].is_good {
                self.work.pop();
            } else {
                self.take(outlook, parser, id, (state, spot), is_complete)?;
            }
        }
        Ok(true)
    }

    /// Processes the last item of the worklist: follows all moves of the rules from it.
    fn take(
        &mut self,
        outlook: &mut Outlook,
        parser: &mut Parser,
        id: u32,
        (state, spot): (ExprId, Spot),
        is_complete: bool,
    ) -> Result<(), EngineError> {
        meter::spend(UNITS_PER_ITEM)?;
        let hypothesis = match spot {
            Spot::At(hypothesis) => hypothesis,
            Spot::Good => {
                self.work.pop();
                if outlook.scopes.is_productive(parser, state) {
                    self.leave(id, Spot::Good);
                }
                return Ok(());
            }
        };
        let ends = outlook.next_tokens(hypothesis, false)?;
        self.work.pop();
        if parser.network.is_nullable(state) {
            self.leave(id, spot);
        }
        for index in parser.network.moves(state) {
            let step = parser.network.move_at(index);
            match step.symbol {
                Symbol::Terminal(terminal) => {
                    let first = ends.partition_point(|end| end.terminal < terminal);
                    for end in ends[first..].iter().take_while(|end| end.terminal == terminal) {
                        if !(end.is_good && is_complete) {
                            self.push(id, step.next, Spot::At(end.next));
                        }
                        if end.is_good {
                            self.push(id, step.next, Spot::Good);
                        }
                    }
                }
                Symbol::Rule(rule) => {
                    let body = parser.network.body(rule);
                    let callee = self.summary(body, hypothesis);
                    let caller = (id, step.next);
                    if !self.summaries[callee as usize].callers.contains(&caller) {
                        self.summaries[callee as usize].callers.push(caller);
                        for exit in self.summaries[callee as usize].exits.clone() {
                            self.push(id, step.next, exit);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds an exit and tells the callers.
    fn leave(&mut self, id: u32, spot: Spot) {
        let summary = &mut self.summaries[id as usize];
        if summary.exits.contains(&spot) {
            return;
        }
        summary.exits.push(spot);
        summary.is_good |= spot == Spot::Good;
        for (caller, next) in summary.callers.clone() {
            self.push(caller, next, spot);
        }
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.seen.capacity() * 24
            + self.summaries.len() * 96
            + self.ids.capacity() * 16
            + self.work.capacity() * 16
    }
}
