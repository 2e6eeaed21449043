//! What a token does to the parser, and to the indentation around it.
//!
//! A *place* is a configuration of the parser with the [layout](LayoutId) there: the open blocks and
//! brackets. [`Places`] answers where a token leads ([`after_token`](Places::after_token)), and whether a
//! text may end ([`can_end`](Places::can_end)). The tokens of the lexer are known here; which terminal ends
//! where is not.
//!
//! An example in Python: in `if x:⏎    y⏎z` the line end after `y` is followed by a line of width 0, which
//! closes the block of width 4. So `after_token` gives the parser the newline and one dedent, and the place
//! after it has no open block. Inside brackets, `f(⏎    y`, the parser gets no newline, and the layout stays
//! as it is.
//!
//! The stacks of a place may be cut off below a [horizon](super::masks). Then an answer is one of a
//! [`Visible`] part of the stack, and says whether more of the stack might change it.

use std::sync::Arc;

use maskwright_grammar::TerminalId;
use maskwright_scan::{HypothesisId, LayoutId, LayoutState, Layouts, LexerTables, Points};
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::parser::{ConfigId, Parser, Shift};

/// One reading of the text so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LexedThread {
    pub(crate) hypothesis: HypothesisId,
    /// A configuration of the parser, over terminals.
    pub(crate) parser: ConfigId,
    pub(crate) layout: LayoutId,
}

/// A configuration of the parser, and the layout there.
pub(super) type Place = (ConfigId, LayoutId);

/// What was found out with stacks that may be cut off.
#[derive(Clone, Copy, Debug)]
pub(super) struct Visible<T> {
    pub(super) value: T,
    /// Whether some reading returned into frames that were cut off
    /// ([`Frame::HOLE`](crate::parser::Frame::HOLE)): the whole stack may say more.
    pub(super) meets_hole: bool,
}

/// The lexer, the layouts met, and where tokens lead.
pub(crate) struct Places {
    pub(crate) points: Points,
    pub(crate) layouts: Layouts,
    shifts: FxHashMap<(ConfigId, TerminalId), Shift>,
    /// Where a newline can lead.
    newlines: FxHashMap<Place, Visible<Arc<[Place]>>>,
    /// Whether the text may end at a configuration of the parser with so many blocks.
    closings: FxHashMap<(ConfigId, u32), Visible<bool>>,
    memo_bytes: usize,
}

impl Places {
    /// Nothing but the lexer is known.
    pub(super) fn new(points: Points) -> Places {
        Places {
            points,
            layouts: Layouts::default(),
            shifts: FxHashMap::default(),
            newlines: FxHashMap::default(),
            closings: FxHashMap::default(),
            memo_bytes: 0,
        }
    }

    /// The lexer.
    #[inline]
    pub(super) fn tables(&self) -> &Arc<LexerTables> {
        &self.points.tables
    }

    /// Whether a bracket is open.
    #[inline]
    pub(super) fn is_nested(&self, layout: LayoutId) -> bool {
        self.layouts.get(layout).depth > 0
    }

    /// The place after a token; `None` if the parser cannot read it there. `line` is the width of the line
    /// that the token begins, if it is a newline.
    ///
    /// # Errors
    /// If a limit of the parser is reached.
    pub(super) fn after_token(
        &mut self,
        parser: &mut Parser,
        (config, layout): Place,
        terminal: TerminalId,
        line: Option<u32>,
    ) -> Result<Visible<Option<Place>>, EngineError> {
        let tables = &self.points.tables;
        if tables.is_ignored(terminal, self.is_nested(layout)) {
            return Ok(Visible { value: Some((config, layout)), meets_hole: false });
        }
        let is_newline = tables.is_newline(terminal);
        let (opens, closes) = tables.layout.as_ref().map_or((false, false), |rules| {
            (rules.open.contains(&terminal), rules.close.contains(&terminal))
        });
        let Shift { next, meets_hole } = self.shift(parser, config, terminal)?;
        let at = |value| Visible { value, meets_hole };
        let Some(config) = next else { return Ok(at(None)) };
        if is_newline {
            let Some(width) = line else { return Ok(at(None)) };
            let after = self.indent(parser, (config, layout), width)?;
            return Ok(Visible { meets_hole: meets_hole | after.meets_hole, ..after });
        }
        let state = *self.layouts.get(layout);
        let depth = match (opens, closes) {
            (true, _) => state.depth.checked_add(1),
            (false, true) => state.depth.checked_sub(1),
            (false, false) => return Ok(at(Some((config, layout)))),
        };
        let layout = depth.map(|depth| self.layouts.intern(LayoutState { depth, ..state }));
        Ok(at(layout.map(|layout| (config, layout))))
    }

    /// The place after the tokens that a line of the given width makes.
    fn indent(
        &mut self,
        parser: &mut Parser,
        (mut config, layout): Place,
        width: u32,
    ) -> Result<Visible<Option<Place>>, EngineError> {
        let tables = self.tables().clone();
        let mut meets_hole = false;
        let Some(rules) = &tables.layout else {
            return Ok(Visible { value: Some((config, layout)), meets_hole });
        };
        let mut state = *self.layouts.get(layout);
        if rules.tabs.is_deeper(width, self.layouts.width(state.blocks)) {
            let shift = self.shift(parser, config, rules.indent)?;
            meets_hole |= shift.meets_hole;
            let Some(next) = shift.next else { return Ok(Visible { value: None, meets_hole }) };
            (config, state.blocks) = (next, self.layouts.within(state.blocks, width));
        } else {
            while width < self.layouts.width(state.blocks)
                && let Some(around) = self.layouts.around(state.blocks)
            {
                let shift = self.shift(parser, config, rules.dedent)?;
                meets_hole |= shift.meets_hole;
                let Some(next) = shift.next else { return Ok(Visible { value: None, meets_hole }) };
                (config, state.blocks) = (next, around);
            }
            if width != self.layouts.width(state.blocks) {
                return Ok(Visible { value: None, meets_hole });
            }
        }
        Ok(Visible { value: Some((config, self.layouts.intern(state))), meets_hole })
    }

    /// Where a newline and a line of some width can lead: to a new block, to the same block, or to one around
    /// it. Takes time linear in the blocks when first asked.
    ///
    /// # Errors
    /// If a limit of the parser is reached.
    pub(super) fn after_any_newline(
        &mut self,
        parser: &mut Parser,
        (config, layout): Place,
        newline: TerminalId,
    ) -> Result<Visible<Arc<[Place]>>, EngineError> {
        let layout = self.layouts.with_line(layout, None);
        if let Some(known) = self.newlines.get(&(config, layout)) {
            return Ok(known.clone());
        }
        let tables = self.tables().clone();
        let Shift { next, mut meets_hole } = match &tables.layout {
            Some(_) => self.shift(parser, config, newline)?,
            None => Shift { next: None, meets_hole: false },
        };
        let mut places = Vec::new();
        if let (Some(rules), Some(mut after)) = (&tables.layout, next) {
            let mut state = *self.layouts.get(layout);
            let deeper = self.layouts.width(state.blocks).saturating_add(1);
            let opened = self.indent(parser, (after, layout), deeper)?;
            meets_hole |= opened.meets_hole;
            places.extend(opened.value);
            loop {
                places.push((after, self.layouts.intern(state)));
                let Some(around) = self.layouts.around(state.blocks) else { break };
                let shift = self.shift(parser, after, rules.dedent)?;
                meets_hole |= shift.meets_hole;
                let Some(next) = shift.next else { break };
                (after, state.blocks) = (next, around);
            }
        }
        let after: Visible<Arc<[Place]>> = Visible { value: places.into(), meets_hole };
        if parser.shared.options.use_memo {
            self.memo_bytes += 56 + after.value.len() * size_of::<Place>();
            self.newlines.insert((config, layout), after.clone());
        }
        Ok(after)
    }

    /// Whether the text may end at a place, where all blocks are closed.
    ///
    /// # Errors
    /// If a limit of the parser is reached.
    pub(super) fn can_end(
        &mut self,
        parser: &mut Parser,
        (mut config, layout): Place,
    ) -> Result<Visible<bool>, EngineError> {
        let Some(dedent) = self.tables().layout.as_ref().map(|layout| layout.dedent) else {
            return Ok(Visible { value: parser.configs.is_accepting(config), meets_hole: false });
        };
        let mut n_left = self.layouts.n_blocks(self.layouts.get(layout).blocks);
        // Where a block was closed, and whether that met a hole.
        let mut closed: Vec<((ConfigId, u32), bool)> = Vec::new();
        let mut answer = loop {
            if n_left == 0 {
                break Visible { value: parser.configs.is_accepting(config), meets_hole: false };
            }
            if let Some(&known) = self.closings.get(&(config, n_left)) {
                break known;
            }
            let Shift { next, meets_hole } = self.shift(parser, config, dedent)?;
            closed.push(((config, n_left), meets_hole));
            let Some(next) = next else { break Visible { value: false, meets_hole: false } };
            (config, n_left) = (next, n_left - 1);
        };
        for (place, meets_hole) in closed.into_iter().rev() {
            answer.meets_hole |= meets_hole;
            if parser.shared.options.use_memo {
                self.closings.insert(place, answer);
                self.memo_bytes += 24;
            }
        }
        Ok(answer)
    }

    /// The parser's configuration after one more terminal.
    ///
    /// # Errors
    /// If a limit of the parser is reached.
    pub(super) fn shift(
        &mut self,
        parser: &mut Parser,
        config: ConfigId,
        terminal: TerminalId,
    ) -> Result<Shift, EngineError> {
        if let Some(&known) = self.shifts.get(&(config, terminal)) {
            return Ok(known);
        }
        let made = parser.shift(config, terminal)?;
        if parser.shared.options.use_memo {
            self.shifts.insert((config, terminal), made);
            self.memo_bytes += 40;
        }
        Ok(made)
    }

    /// Drops what is memoised. Layouts stay: sessions hold their ids.
    pub(super) fn clear_memo(&mut self) {
        self.shifts = FxHashMap::default();
        self.newlines = FxHashMap::default();
        self.closings = FxHashMap::default();
        self.memo_bytes = 0;
    }

    pub(super) fn memo_bytes(&self) -> usize {
        self.memo_bytes
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.memo_bytes + self.points.hypotheses.memory_usage() + self.layouts.memory_usage()
    }
}
