//! Whether a thread has a completion.
//!
//! Mostly what can follow the hypothesis ([`viability`](super::viability)) and what the parser can read say so at once: in the
//! main scope, or in that of what can still come ([`scope`](mod@super::scope)). Where tokens cannot stand side by side, or
//! only a doubtful terminal goes on ([`competition`](super::competition)), it depends on the stack, and a search decides.

use std::collections::VecDeque;

use maskwright_grammar::TerminalId;
use rustc_hash::FxHashSet;

use super::bits::{contains, intersects_outside, is_subset, ones};
use super::hypotheses::{HypothesisId, Outcome};
use super::layout::LayoutId;
use super::{Lexed, LexedThread, Places};
use crate::EngineError;
use crate::configuration::ConfigId;
use crate::parser::Parser;

/// The most places that one search for a completion visits.
const MAX_SEARCH: usize = 20_000;
/// The most threads of the parser, and frames on top of their stacks, that one search goes through. Where a rule can
/// always go on, they grow with the distance.
const MAX_SEARCH_THREADS: usize = 1_000_000;

/// The limit that a search for a completion has reached.
#[derive(Clone, Copy, Debug)]
pub(super) struct GivenUp {
    what: &'static str,
    limit: usize,
}

impl Lexed {
    /// Whether some completion of the text goes on from `thread`.
    ///
    /// # Errors
    /// If that depends on the stack, and the search for a completion reaches its limit.
    pub(super) fn is_viable(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<bool, EngineError> {
        match self.is_viable_at_once(parser, thread)? {
            Some(is_viable) => Ok(is_viable),
            None => self.search(parser, thread),
        }
    }

    /// The same where no search is needed.
    pub(super) fn is_viable_at_once(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<bool>, EngineError> {
        let answer = self.is_viable_within(parser, thread, self.main)?;
        if answer.is_some() {
            return Ok(answer);
        }
        let scope = self.scope_behind(parser, thread.hypothesis)?;
        self.is_viable_within(parser, thread, scope)
    }

    /// The same by what is known of one scope, which has all that can come.
    pub(super) fn is_viable_within(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        scope: usize,
    ) -> Result<Option<bool>, EngineError> {
        let LexedThread { hypothesis, parser: config, layout } = thread;
        let regime = usize::from(self.layouts.get(layout).depth > 0);
        let hidden = &self.tables.hidden;
        let newline = self.tables.layout.as_ref().map(|layout| layout.newline.index());
        let within = &mut self.scopes[scope];
        let is_complete = within.is_complete;
        let (end, bad) = (within.viability.adjacency.end(), within.viability.adjacency.bad());
        let (reads, readable) =
            within.reads_and_readable(parser, config, &mut self.hypotheses, hypothesis, regime)?;
        if intersects_outside(reads, readable, hidden) {
            return Ok(Some(true));
        }
        let (reads_end, reads_bad) = (contains(reads, end), contains(reads, bad));
        let reads_newline = newline.is_some_and(|newline| contains(reads, newline));
        let mut may_continue = !is_subset(readable, hidden);
        let mut is_open = false;
        if !is_complete {
            // What cannot be finished without doubtful terminals may be with them.
            let (everything, others) = self.scopes.split_at_mut(1);
            let reads = others[scope - 1].viability.reads(&mut self.hypotheses, hypothesis, regime)?;
            let readable = everything[0].readable(parser, config);
            is_open = intersects_outside(reads, readable, hidden);
            may_continue = !is_subset(readable, hidden);
        }
        if !(reads_end || reads_bad || reads_newline) {
            return Ok((!is_open).then_some(false));
        }
        let tables = self.tables.clone();
        let can_end = self.can_end(parser, config, layout)?;
        if reads_end && can_end {
            return Ok(Some(true));
        }
        let (mut breaks_well, mut may_break) = (false, false);
        if let Some(rules) = &tables.layout
            && regime == 0
        {
            for &(config, layout) in self.after_any_newline(parser, config, layout, rules.newline)?.iter() {
                let is_text =
                    |terminal: usize| terminal != rules.indent.index() && terminal != rules.dedent.index();
                let can_end = self.can_end(parser, config, layout)?;
                let mut breaks =
                    |scope: usize| can_end || ones(self.scopes[scope].readable(parser, config)).any(is_text);
                breaks_well |= breaks(scope);
                may_break |= breaks(0);
                if breaks_well && may_break {
                    break;
                }
            }
            if breaks_well && reads_newline {
                return Ok(Some(true));
            }
        }
        if is_complete {
            may_break = breaks_well;
        }
        let may_finish = may_continue || can_end || may_break;
        let is_open = is_open || (may_finish && reads_bad) || (may_break && !breaks_well && reads_newline);
        Ok((!is_open).then_some(false))
    }

    /// Where a newline and some width can lead: deeper, to the same block, or to one around it. Linear in the blocks, when
    /// first asked.
    fn after_any_newline(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        layout: LayoutId,
        newline: TerminalId,
    ) -> Result<Places, EngineError> {
        let layout = self.layouts.with_line(layout, None);
        if let Some((known, meets_hole)) = self.newlines.get(&(config, layout)) {
            self.has_met_hole |= meets_hole;
            return Ok(known.clone());
        }
        let had_met_hole = std::mem::take(&mut self.has_met_hole);
        let mut places = Vec::new();
        let tables = self.tables.clone();
        if let (Some(rules), Some(mut after)) = (&tables.layout, self.shift(parser, config, newline)?) {
            let mut state = *self.layouts.get(layout);
            let deeper = self.layouts.width(state.blocks).saturating_add(1);
            places.extend(self.indent(parser, after, layout, deeper)?);
            loop {
                places.push((after, self.layouts.intern(state)));
                let Some(around) = self.layouts.around(state.blocks) else { break };
                let Some(next) = self.shift(parser, after, rules.dedent)? else { break };
                (after, state.blocks) = (next, around);
            }
        }
        let places: Places = places.into();
        if parser.shared.options.use_memo {
            self.newlines.insert((config, layout), (places.clone(), self.has_met_hole));
            self.memo_bytes += 56 + places.len() * size_of::<(ConfigId, LayoutId)>();
        }
        self.has_met_hole |= had_met_hole;
        Ok(places)
    }

    /// Looks for a completion token by token, as far as ends of tokens are not good or not known to be.
    fn search(&mut self, parser: &mut Parser, root: LexedThread) -> Result<bool, EngineError> {
        let known = match self.searched.get(&root) {
            Some(&known) => known,
            None => {
                let found = self.look_for_completion(parser, root)?;
                self.searched.insert(root, found);
                self.memo_bytes += 24;
                found
            }
        };
        known.map_err(|GivenUp { what, limit }| EngineError::lexed_limit(what, limit))
    }

    /// The same, not kept; given up where a limit on searches is reached.
    fn look_for_completion(
        &mut self,
        parser: &mut Parser,
        root: LexedThread,
    ) -> Result<Result<bool, GivenUp>, EngineError> {
        let mut seen = FxHashSet::from_iter([root]);
        let mut work = VecDeque::from([root]);
        let mut is_oldest = false;
        let mut n_threads = 0;
        // The oldest place and the latest in turn: short completions are found where depth has no end, and
        // long ones where there are many ways.
        while let Some(thread) = if is_oldest { work.pop_front() } else { work.pop_back() } {
            is_oldest = !is_oldest;
            for (terminal, hypothesis) in self.token_ends(thread)? {
                for (config, layout) in self.after_any_token(parser, thread, terminal)? {
                    let hypothesis = self.exact(parser, hypothesis, config, layout)?;
                    let next = LexedThread { hypothesis, parser: config, layout };
                    let threads = parser.configs.threads(config).iter();
                    n_threads += threads.map(|own| 1 + parser.stacks.frames(own.node).len()).sum::<usize>();
                    match self.is_viable_at_once(parser, next)? {
                        Some(true) => return Ok(Ok(true)),
                        Some(false) => {}
                        None if seen.insert(next) => work.push_back(next),
                        None => {}
                    }
                }
            }
            if n_threads > MAX_SEARCH_THREADS {
                return Ok(Err(GivenUp {
                    what: "readings to look for a completion of, where tokens cannot stand side by side",
                    limit: MAX_SEARCH_THREADS,
                }));
            }
            if seen.len() > MAX_SEARCH {
                return Ok(Err(GivenUp {
                    what: "places to look for a completion in, where tokens cannot stand side by side",
                    limit: MAX_SEARCH,
                }));
            }
        }
        Ok(Ok(false))
    }

    /// The ends of the next token that is not ignored which are not good, or not known to be.
    fn token_ends(&mut self, thread: LexedThread) -> Result<Vec<(TerminalId, HypothesisId)>, EngineError> {
        let nested = self.layouts.get(thread.layout).depth > 0;
        let tables = self.tables.clone();
        let newline = tables.layout.as_ref().map(|layout| layout.newline);
        let is_ignored = |terminal: TerminalId| {
            tables.ignored.contains(&terminal) || (nested && newline == Some(terminal))
        };
        let mut seen = FxHashSet::from_iter([thread.hypothesis]);
        let mut work = vec![thread.hypothesis];
        let mut ends = Vec::new();
        while let Some(id) = work.pop() {
            for class in 0..self.hypotheses.n_classes() {
                for index in self.hypotheses.step_class(id, class)? {
                    let outcome = self.hypotheses.outcome(index);
                    if !self.hypotheses.is_for(&outcome, nested) {
                        continue;
                    }
                    let Outcome { terminal, next, .. } = outcome;
                    match terminal.filter(|&terminal| !is_ignored(terminal)) {
                        None if seen.insert(next) => work.push(next),
                        None => {}
                        // Behind a good end too, if the rules cannot be finished there without doubtful terminals.
                        Some(terminal)
                            if !self.scopes[self.main].is_complete
                                || !self.scopes[self.main].viability.is_good(terminal.index(), next) =>
                        {
                            ends.push((terminal, next));
                        }
                        Some(_) => {}
                    }
                }
            }
        }
        ends.sort_unstable();
        ends.dedup();
        Ok(ends)
    }

    fn after_any_token(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        terminal: TerminalId,
    ) -> Result<Vec<(ConfigId, LayoutId)>, EngineError> {
        let is_newline = self.tables.layout.as_ref().is_some_and(|layout| layout.newline == terminal);
        if is_newline {
            return Ok(self.after_any_newline(parser, thread.parser, thread.layout, terminal)?.to_vec());
        }
        let layout = self.layouts.with_line(thread.layout, None);
        let after = self.after_token(parser, thread.parser, layout, terminal, None)?;
        Ok(after.into_iter().collect())
    }
}
