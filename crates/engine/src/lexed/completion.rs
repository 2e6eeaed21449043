//! Whether a thread has a completion.
//!
//! Mostly what can follow the hypothesis ([`viability`](super::viability)) and what the parser can read say so at once: in the
//! main scope, or in that of what can still come ([`scope`](mod@super::scope)). Where tokens cannot stand side by side, or
//! only a doubtful terminal goes on ([`competition`](super::competition)), it depends on the stack, and a search decides.

use maskwright_grammar::{ExprId, TerminalId};

use maskwright_scan::LayoutId;
use maskwright_scan::bits::{contains, intersects_outside, is_subset, ones};

use super::best_first::{Found, Goal};
use super::pushdown::Pushdown;
use super::{Lexed, LexedThread, Places};
use crate::EngineError;
use crate::parser::{ConfigId, NodeId, Parser};

impl Lexed {
    /// Whether some completion of the text continues from `thread`; `None` if a search for one was given up.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn is_viable(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<bool>, EngineError> {
        match self.is_viable_at_once(parser, thread)? {
            Some(is_viable) => Ok(Some(is_viable)),
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
        let hidden = &self.points.tables.hidden;
        let newline = self.points.tables.layout.as_ref().map(|layout| layout.newline.index());
        let within = &mut self.scopes[scope];
        let is_complete = within.is_complete;
        let (end, bad) = (within.viability.adjacency.end(), within.viability.adjacency.bad());
        let (reads, readable) =
            within.reads_and_readable(parser, config, &mut self.points.hypotheses, hypothesis, regime)?;
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
            let reads = others[scope - 1].viability.reads(&mut self.points.hypotheses, hypothesis, regime)?;
            let readable = everything[0].readable(parser, config);
            is_open = intersects_outside(reads, readable, hidden);
            may_continue = !is_subset(readable, hidden);
        }
        if !(reads_end || reads_bad || reads_newline) {
            return Ok((!is_open).then_some(false));
        }
        let tables = self.points.tables.clone();
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
    pub(super) fn after_any_newline(
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
        let tables = self.points.tables.clone();
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

    /// The answer of a search, memoized.
    fn search(&mut self, parser: &mut Parser, thread: LexedThread) -> Result<Option<bool>, EngineError> {
        if let Some(&known) = self.searched.get(&thread) {
            return Ok(known);
        }
        let found = self.look_for_completion(parser, thread)?;
        self.searched.insert(thread, found);
        self.memo_bytes += 24;
        Ok(found)
    }

    /// Runs the cheaper searches first. Only the last one makes configurations, which are not freed.
    fn look_for_completion(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<bool>, EngineError> {
        let has_layout = self.points.tables.layout.is_some();
        let is_contextual = self.points.tables.is_contextual;
        if !has_layout {
            match self.ask_pushdown(parser, thread, false)? {
                Some(true) => return Ok(Some(true)),
                Some(false) if !is_contextual => return Ok(Some(false)),
                _ => {}
            }
            if is_contextual && self.ask_pushdown(parser, thread, true)? == Some(false) {
                return Ok(Some(false));
            }
        }
        match self.search_best_first(parser, &[thread], Goal::Known)? {
            Found::Path(path) => {
                for visit in path {
                    self.searched.insert(visit.thread, Some(true));
                    self.memo_bytes += 24;
                }
                Ok(Some(true))
            }
            Found::Nothing => Ok(Some(false)),
            Found::GivenUp => Ok(None),
        }
    }

    fn ask_pushdown(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        is_free: bool,
    ) -> Result<Option<bool>, EngineError> {
        let place = usize::from(is_free);
        let mut pushdown = std::mem::replace(&mut self.pushdowns[place], Pushdown::new(is_free));
        let answer = pushdown.decide(self, parser, thread);
        self.pushdowns[place] = pushdown;
        answer
    }

    /// Whether the main scope has every terminal that can come next.
    pub(super) fn is_main_complete(&self) -> bool {
        self.scopes[self.main].is_complete
    }

    /// Whether the rest of a rule has a sentence within the main scope.
    pub(super) fn is_productive(&mut self, parser: &mut Parser, state: ExprId) -> bool {
        self.scopes[self.main].is_productive(parser, state)
    }

    /// The same for a state followed by what some stack of `node` returns to.
    pub(super) fn finishes(&mut self, parser: &mut Parser, state: ExprId, node: NodeId) -> bool {
        let scope = &mut self.scopes[self.main];
        scope.is_productive(parser, state) && scope.can_finish(parser, node)
    }

    /// The fewest terminals with which the rules can finish the text; [`u32::MAX`] if they cannot.
    pub(crate) fn fewest_terminals(&mut self, parser: &mut Parser, config: ConfigId) -> u32 {
        let mut least = u32::MAX;
        for index in 0..self.configs.threads(config).len() {
            let place = self.configs.threads(config)[index].parser;
            least = least.min(self.distances.of_config(parser, place));
        }
        least
    }

    /// Some text that completes one of `config`, found with the lexer's actual steps. Of the bytes in one class, it has one
    /// that `prefers` accepts, if there is one. `None` if no text is found.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(crate) fn completing_text(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        prefers: &dyn Fn(u8) -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if self.points.tables.layout.is_some() {
            return Ok(None);
        }
        let roots = self.configs.threads(config).to_vec();
        let Found::Path(path) = self.search_best_first(parser, &roots, Goal::End)? else { return Ok(None) };
        let mut text = Vec::new();
        let mut hypothesis = None;
        for visit in path {
            if let (Some(before), Some((_, terminal, next))) = (hypothesis, visit.from) {
                let Some(more) = self.text_to(before, Some((terminal, next)), prefers)? else {
                    return Ok(None);
                };
                text.extend(more);
            }
            hypothesis = Some(visit.thread.hypothesis);
        }
        let Some(last) = hypothesis else { return Ok(None) };
        let Some(more) = self.text_to(last, None, prefers)? else { return Ok(None) };
        text.extend(more);
        Ok(Some(text))
    }
}
