//! What is known of a thread at once, without a search.
//!
//! [`Outlook`] joins the [places](super::places) and the [scopes](super::scopes). It makes the thread after a
//! byte ([`after`](Outlook::after)), and says whether a thread has a completion where that is cheap to see
//! ([`is_viable_at_once`](Outlook::is_viable_at_once)): yes, no, or open.
//!
//! An example: the parser is in `f(` and can read a name or `)`. A hypothesis in the middle of a name reads a
//! name next: the thread has a completion. A hypothesis in the middle of a keyword reads only that keyword:
//! it has none. A hypothesis after which no terminal can stand beside the next one is open, and a search
//! decides ([`completions`](super::completions)).
//!
//! The main scope is asked first; if it leaves the question open, the scope of the terminals that can still
//! come is asked.

use std::sync::Arc;

use maskwright_grammar::{TerminalId, blanks_after};
use maskwright_scan::bits::{contains, intersects_outside, is_subset, ones};
use maskwright_scan::{HypothesisId, Outcome, Points};

use super::next_tokens::{NextTokens, TokenEnd};
use super::places::{LexedThread, Place, Places, Visible};
use super::scopes::Scopes;
use crate::EngineError;
use crate::parser::Parser;

/// Places, scopes, and the tokens that can come next.
pub(crate) struct Outlook {
    pub(super) places: Places,
    pub(super) scopes: Scopes,
    next_tokens: NextTokens,
}

impl Outlook {
    /// The outlook over a lexer and rules. Nothing is known of them yet.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn new(mut points: Points, parser: &mut Parser) -> Result<Outlook, EngineError> {
        let scopes = Scopes::new(&mut points, &mut parser.network)?;
        Ok(Outlook { places: Places::new(points), scopes, next_tokens: NextTokens::default() })
    }

    /// The thread at the end of a token, at `place`: the terminals that compete are those that the parser can
    /// read.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn thread_at(
        &mut self,
        parser: &Parser,
        hypothesis: HypothesisId,
        (config, layout): Place,
    ) -> Result<LexedThread, EngineError> {
        let is_nested = self.places.is_nested(layout);
        let hypothesis = self.scopes.exact(&mut self.places, parser, hypothesis, config, is_nested)?;
        Ok(LexedThread { hypothesis, parser: config, layout })
    }

    /// The thread after `outcome`, which `byte` has; `None` if the parser cannot read its token. It may have
    /// no completion.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn after(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        outcome: Outcome,
        byte: u8,
    ) -> Result<Option<LexedThread>, EngineError> {
        let Places { points, layouts, .. } = &mut self.places;
        let rules = points.tables.layout.as_ref();
        let line = rules.and_then(|rules| blanks_after(layouts.get(thread.layout).line, byte, rules.tabs));
        let hypothesis = outcome.next;
        let Some(terminal) = outcome.terminal else {
            if rules.is_none() {
                return Ok(Some(LexedThread { hypothesis, ..thread }));
            }
            let is_newline = points.may_be_newline(hypothesis)?;
            let layout = layouts.with_line(thread.layout, line.filter(|_| is_newline));
            return Ok(Some(LexedThread { hypothesis, layout, ..thread }));
        };
        let layout = layouts.with_line(thread.layout, None);
        let after = self.places.after_token(parser, (thread.parser, layout), terminal, line)?;
        after.value.map(|place| self.thread_at(parser, hypothesis, place)).transpose()
    }

    /// The threads after one more byte, each with the outcome that leads to it. They may have no completion.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn after_byte(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        byte: u8,
    ) -> Result<Vec<(Outcome, LexedThread)>, EngineError> {
        let is_nested = self.places.is_nested(thread.layout);
        let mut threads = Vec::new();
        for outcome in self.places.points.hypotheses.step(thread.hypothesis, byte)? {
            let hypotheses = &self.places.points.hypotheses;
            let outcome = hypotheses.outcome(outcome);
            if hypotheses.is_for(&outcome, is_nested)
                && let Some(next) = self.after(parser, thread, outcome, byte)?
            {
                threads.push((outcome, next));
            }
        }
        Ok(threads)
    }

    /// The places after a token of a terminal, of any width if it is a newline.
    ///
    /// # Errors
    /// If a limit of the parser is reached.
    pub(super) fn after_any_token(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        terminal: TerminalId,
    ) -> Result<Vec<Place>, EngineError> {
        if self.places.tables().is_newline(terminal) {
            let after = self.places.after_any_newline(parser, (thread.parser, thread.layout), terminal)?;
            return Ok(after.value.to_vec());
        }
        let layout = self.places.layouts.with_line(thread.layout, None);
        let after = self.places.after_token(parser, (thread.parser, layout), terminal, None)?;
        Ok(after.value.into_iter().collect())
    }

    /// Whether some completion of the text continues from `thread`; `None` if only a search can say.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn is_viable_at_once(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
    ) -> Result<Option<bool>, EngineError> {
        let answer = self.is_viable_within(parser, thread, self.scopes.main())?.value;
        if answer.is_some() {
            return Ok(answer);
        }
        let Outlook { places, scopes, .. } = self;
        let scope = scopes.scope_after(&mut places.points, &mut parser.network, thread.hypothesis)?;
        Ok(self.is_viable_within(parser, thread, scope)?.value)
    }

    /// The same by what is known of one scope, which has all that can come.
    ///
    /// # Errors
    /// If a limit of the lexer or the parser is reached.
    pub(super) fn is_viable_within(
        &mut self,
        parser: &mut Parser,
        thread: LexedThread,
        scope: usize,
    ) -> Result<Visible<Option<bool>>, EngineError> {
        let LexedThread { hypothesis, parser: config, layout } = thread;
        let Outlook { places, scopes, .. } = self;
        let regime = usize::from(places.is_nested(layout));
        let Points { tables, hypotheses } = &mut places.points;
        let hidden = &tables.hidden;
        let within = scopes.get(scope);
        let is_complete = within.is_complete;
        let (end, bad) = (within.viability.adjacency.end(), within.viability.adjacency.bad());
        let (reads, readable) = within.reads_and_readable(parser, config, hypotheses, hypothesis, regime)?;
        let mut meets_hole = false;
        if intersects_outside(reads, readable, hidden) {
            return Ok(Visible { value: Some(true), meets_hole });
        }
        let (reads_end, reads_bad) = (contains(reads, end), contains(reads, bad));
        let newline = tables.layout.as_ref().map(|layout| layout.newline);
        let reads_newline = newline.is_some_and(|newline| contains(reads, newline.index()));
        let mut may_continue = !is_subset(readable, hidden);
        let mut is_open = false;
        if !is_complete {
            // What cannot be finished without doubtful terminals may be with them.
            let (everything, within) = scopes.everything_and(scope);
            let reads = within.viability.reads(hypotheses, hypothesis, regime)?;
            let readable = everything.readable(parser, config);
            is_open = intersects_outside(reads, readable, hidden);
            may_continue = !is_subset(readable, hidden);
        }
        if !(reads_end || reads_bad || reads_newline) {
            return Ok(Visible { value: (!is_open).then_some(false), meets_hole });
        }
        let tables = places.tables().clone();
        let Visible { value: can_end, meets_hole: end_meets_hole } =
            places.can_end(parser, (config, layout))?;
        meets_hole |= end_meets_hole;
        if reads_end && can_end {
            return Ok(Visible { value: Some(true), meets_hole });
        }
        let (mut breaks_well, mut may_break) = (false, false);
        if let Some(rules) = tables.layout.as_ref().filter(|_| regime == 0) {
            let is_text =
                |terminal: usize| terminal != rules.indent.index() && terminal != rules.dedent.index();
            let after = places.after_any_newline(parser, (config, layout), rules.newline)?;
            meets_hole |= after.meets_hole;
            for &(config, layout) in after.value.iter() {
                let can_end = places.can_end(parser, (config, layout))?;
                meets_hole |= can_end.meets_hole;
                let mut breaks = |scope: usize| {
                    can_end.value || ones(scopes.get(scope).readable(parser, config)).any(is_text)
                };
                breaks_well |= breaks(scope);
                may_break |= breaks(0);
                if breaks_well && may_break {
                    break;
                }
            }
            if breaks_well && reads_newline {
                return Ok(Visible { value: Some(true), meets_hole });
            }
        }
        if is_complete {
            may_break = breaks_well;
        }
        let may_finish = may_continue || can_end || may_break;
        let is_open = is_open || (may_finish && reads_bad) || (may_break && !breaks_well && reads_newline);
        Ok(Visible { value: (!is_open).then_some(false), meets_hole })
    }

    /// All ends of the next token that the parser gets, inside brackets (`is_nested`) or outside; sorted.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn next_tokens(
        &mut self,
        hypothesis: HypothesisId,
        is_nested: bool,
    ) -> Result<Arc<[TokenEnd]>, EngineError> {
        let Outlook { places, scopes, next_tokens } = self;
        next_tokens.after(&mut places.points, scopes.viability(), hypothesis, is_nested)
    }

    /// Whether the text may end after a hypothesis, perhaps with ignored tokens in between.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn may_end(&mut self, hypothesis: HypothesisId, is_nested: bool) -> Result<bool, EngineError> {
        let hypotheses = &mut self.places.points.hypotheses;
        self.scopes.viability().may_end(hypotheses, hypothesis, usize::from(is_nested))
    }

    /// The terminals that the next token of `thread` can be, by what the lexer and the parser can read.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn expected(
        &mut self,
        parser: &Parser,
        thread: LexedThread,
    ) -> Result<Vec<TerminalId>, EngineError> {
        let regime = usize::from(self.places.is_nested(thread.layout));
        let hypotheses = &mut self.places.points.hypotheses;
        let reads = self.scopes.viability().reads(hypotheses, thread.hypothesis, regime)?;
        let readable = parser.configs.threads(thread.parser).iter().map(|thread| thread.terminal);
        Ok(readable.filter(|terminal| contains(reads, terminal.index())).collect())
    }

    /// Drops what is memoised.
    pub(super) fn clear_memo(&mut self) {
        self.places.clear_memo();
        self.scopes.clear_memo();
        self.next_tokens = NextTokens::default();
    }

    pub(super) fn memo_bytes(&self) -> usize {
        self.places.memo_bytes() + self.scopes.memo_bytes()
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.places.memory_usage() + self.scopes.memory_usage() + self.next_tokens.memory_usage()
    }
}
