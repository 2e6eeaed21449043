//! What infilling asks of the lexer's hypotheses, beside their steps (`scan`).
//!
//! Where a hypothesis is in the indentation, whether a token in progress is one that goes on with nearly any
//! text (a comment, a string), which bytes leave it as it is.
//!
//! Widths in hypotheses are relative to where a step begins. [`Hypotheses::on`] makes of one that was stepped
//! to the one that stands for all widths, and the width itself.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::TerminalId;
use maskwright_lexing::Fate;
use maskwright_scan::{Carry, HypothesisId, Indent, LexerTables, Outcome, ScanError, Width};

use crate::ground::InfillError;

/// How many bytes away from where it is steady a hypothesis is nearly so: a character has at most three more.
const MAX_UNSTEADY: usize = 3;

/// A comment or a string can continue with at least so many bytes. ASCII alone has 128.
const ANY_TEXT: usize = 96;

/// How a grammar over the tokens of a lexer is read.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LexerForm {
    /// By the basic lexer.
    Basic,
    /// By the contextual lexer, with at least all terminals that can follow as competitors: its texts are
    /// some of that lexer's.
    ContextualStrict,
    /// By the contextual lexer, with no competitors: it has all texts of that lexer, and more.
    ContextualFree,
}

/// The clear boundary, which stands for several hypotheses ([`crate::lexed::tables::clear`]) and is none
/// itself.
pub(crate) const CLEAR: HypothesisId = HypothesisId(u32::MAX);

/// All hypotheses met so far, their steps, and what is known of them.
pub(crate) struct Hypotheses {
    scan: maskwright_scan::Hypotheses<Indent>,
    /// The hypothesis before any text.
    pub(crate) start: HypothesisId,
    /// By hypothesis.
    known: Vec<Known>,
}

/// What was found out about a hypothesis.
#[derive(Clone, Copy, Default)]
struct Known {
    /// The one with the width from which one comes in place of its own.
    relative: Option<HypothesisId>,
    /// The bytes that do nothing to it.
    loops: Option<ByteSet>,
    /// How many bytes leave the token in progress as it is.
    n_steady: Option<usize>,
    /// Whether nearly any text continues it.
    reads_anything: Option<bool>,
    /// [`Hypotheses::is_nearly_steady`].
    is_nearly_steady: Option<bool>,
    /// [`Hypotheses::is_watched_on`].
    is_watched_on: Option<bool>,
}

impl Deref for Hypotheses {
    type Target = maskwright_scan::Hypotheses<Indent>;

    fn deref(&self) -> &Self::Target {
        &self.scan
    }
}

impl DerefMut for Hypotheses {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.scan
    }
}

impl Hypotheses {
    /// The hypotheses of a lexer that is read in one `form`; `merge_alike` makes guards one that refute the
    /// same.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn new(
        tables: Arc<LexerTables>,
        form: LexerForm,
        merge_alike: bool,
    ) -> Result<Hypotheses, ScanError> {
        let mut scan = maskwright_scan::Hypotheses::new(tables, merge_alike);
        let mut start = scan.start()?;
        if form == LexerForm::ContextualFree {
            start = scan.free(start)?.unwrap_or(start);
        }
        Ok(Hypotheses { start, scan, known: Vec::new() })
    }

    fn known(&mut self, id: HypothesisId) -> &mut Known {
        if self.known.len() <= id.index() {
            self.known.resize(self.scan.n_known(), Known::default());
        }
        &mut self.known[id.index()]
    }

    /// A fact about a hypothesis: as it is known, or as `find` says.
    fn once<T: Copy, E>(
        &mut self,
        id: HypothesisId,
        fact: fn(&mut Known) -> &mut Option<T>,
        find: impl FnOnce(&mut Self) -> Result<T, E>,
    ) -> Result<T, E> {
        if let Some(known) = *fact(self.known(id)) {
            return Ok(known);
        }
        let found = find(self)?;
        *fact(self.known(id)) = Some(found);
        Ok(found)
    }

    /// Whether no token is in progress.
    pub(crate) fn is_boundary(&self, id: HypothesisId) -> bool {
        id == CLEAR || self.get(id).is_boundary
    }

    /// The boundary with the same state of the lexer where nothing watches; `None` within a token, or where
    /// blocks are due.
    pub(crate) fn unguarded(&mut self, id: HypothesisId) -> Result<Option<HypothesisId>, InfillError> {
        let hypothesis = self.get(id);
        if !hypothesis.is_boundary || hypothesis.carried != Indent::None {
            return Ok(None);
        }
        Ok(Some(self.scan.unguarded(id)?))
    }

    /// Where it is in the indentation.
    pub(crate) fn indent(&self, id: HypothesisId) -> Indent {
        if id == CLEAR { Indent::None } else { self.get(id).carried }
    }

    /// The hypothesis that stands for all widths in place of this one's, and the width for one who comes from
    /// `base`; 0 where none counts.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn on(&mut self, id: HypothesisId, base: u32) -> Result<(HypothesisId, u32), ScanError> {
        match self.indent(id).width() {
            None => Ok((id, 0)),
            Some(width) => Ok((self.relative(id)?, width.from(base))),
        }
    }

    /// The hypothesis with the width from which one comes in place of its own.
    fn relative(&mut self, id: HypothesisId) -> Result<HypothesisId, ScanError> {
        self.once(
            id,
            |known| &mut known.relative,
            |this| {
                let here = this.indent(id).with_width(Width::HERE);
                this.carrying(id, here)
            },
        )
    }

    /// The hypothesis where widths up to `counted` are counted, or none are.
    pub(crate) fn counted(
        &mut self,
        id: HypothesisId,
        counted: Option<u32>,
    ) -> Result<HypothesisId, InfillError> {
        let indent = self.indent(id);
        if id == CLEAR { Ok(id) } else { Ok(self.carrying(id, indent.counted(counted))?) }
    }

    /// Whether the line can be widened without limit by blanks, if it can be at all: after one blank, all is
    /// as before another.
    pub(crate) fn is_stretchable(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        if !matches!(self.indent(id), Indent::Blanks(_) | Indent::Last(_)) {
            return Ok(true);
        }
        for blank in [b' ', b'\t'] {
            let outcomes = self.step(id, blank)?;
            let is_wider =
                self.outcomes(outcomes).iter().any(|outcome| self.indent(outcome.next).width().is_some());
            let behind = self.behind_blank(id, blank)?;
            if is_wider && behind.is_empty() {
                return Ok(false);
            }
            for next in behind {
                if self.behind_blank(next, b' ')? != [next] {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Where `blank` makes a line in progress wider and the line's end goes on, the hypotheses after it; each
    /// for all widths.
    fn behind_blank(&mut self, id: HypothesisId, blank: u8) -> Result<Vec<HypothesisId>, InfillError> {
        let outcomes = self.step(id, blank)?;
        let within = self.outcomes(outcomes).iter().filter(|outcome| outcome.terminal.is_none());
        let counting = within.filter(|outcome| self.indent(outcome.next).width().is_some());
        let counting: Vec<HypothesisId> = counting.map(|outcome| outcome.next).collect();
        counting.into_iter().map(|next| Ok(self.relative(next)?)).collect()
    }

    /// The end of the text as a hypothesis, where `indent` says whether all blocks have ended.
    pub(crate) fn at_end(&mut self, indent: Indent) -> Result<HypothesisId, InfillError> {
        Ok(self.scan.carrying(self.start, indent)?)
    }

    /// What the parser may get without any text, and the hypotheses after that.
    pub(crate) fn moves(
        &mut self,
        id: HypothesisId,
    ) -> Result<Vec<(Option<TerminalId>, HypothesisId)>, InfillError> {
        let Some(layout) = &self.tables().layout else { return Ok(Vec::new()) };
        let moves = self.indent(id).moves(layout);
        moves.into_iter().map(|(label, indent)| Ok((label, self.carrying(id, indent)?))).collect()
    }

    /// Whether a match before it may be watched for as long as one likes, as `/` is before `*` where comments
    /// end.
    pub(crate) fn is_watched_on(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        self.once(
            id,
            |known| &mut known.is_watched_on,
            |this| {
                for guard in this.get(id).guards.clone() {
                    for class in 0..this.n_classes() {
                        let byte = this.representatives()[class];
                        if let Fate::Watched(next) = this.tables().lexer.fate(guard, byte)?
                            && this.canonical(next)? == guard
                        {
                            return Ok(true);
                        }
                    }
                }
                Ok(false)
            },
        )
    }

    /// Whether a token is in progress that can go on as it is after some byte, and nothing before it is
    /// watched.
    pub(crate) fn is_settled(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        Ok(self.get(id).guards.is_empty() && self.is_steady(id)?)
    }

    /// Whether a token is in progress that can go on as it is after some byte, watched or not: as in a
    /// comment at the end of a text, after which no newline may come.
    pub(crate) fn is_steady(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        let hypothesis = self.get(id);
        if hypothesis.is_boundary || hypothesis.carried != Indent::None {
            return Ok(false);
        }
        Ok(self.n_steady(id)? > 0)
    }

    /// Whether it is after a newline character and blanks, or after the token of the line's end.
    pub(crate) fn begins_line(&self, id: HypothesisId) -> bool {
        matches!(self.indent(id), Indent::Blanks(_) | Indent::Ended(_) | Indent::Within)
    }

    /// Whether a token is in progress that cannot end here, as within a character, and a few bytes lead to
    /// where it is steady.
    pub(crate) fn is_nearly_steady(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        self.once(id, |known| &mut known.is_nearly_steady, |this| this.is_nearly(id, Hypotheses::is_steady))
    }

    /// Whether nearly any text continues the token in progress, as in a comment or a string; also within a
    /// character of it.
    pub(crate) fn is_in_text(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        Ok(self.reads_anything(id)? || self.is_nearly(id, Hypotheses::reads_anything)?)
    }

    /// Whether a token is in progress that cannot end here, and a few bytes lead to where `is_so`.
    fn is_nearly(
        &mut self,
        id: HypothesisId,
        is_so: fn(&mut Hypotheses, HypothesisId) -> Result<bool, InfillError>,
    ) -> Result<bool, InfillError> {
        let mut reached = vec![id];
        for _ in 0..MAX_UNSTEADY {
            let mut next = Vec::new();
            for at in reached {
                if self.is_boundary(at) || !self.tables().lexer.accepts(self.get(at).state).is_empty() {
                    continue;
                }
                for class in 0..self.n_classes() {
                    if let Some(to) = self.within_after_class(at, class)? {
                        if is_so(self, to)? {
                            return Ok(true);
                        }
                        next.push(to);
                    }
                }
            }
            next.sort_unstable();
            next.dedup();
            reached = next;
        }
        Ok(false)
    }

    /// The same where nothing before it is watched.
    pub(crate) fn is_nearly_settled(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        Ok(self.get(id).guards.is_empty() && self.is_nearly_steady(id)?)
    }

    /// Whether anything can come of a hypothesis where `byte` is next; `true` also where it is not read yet.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn may_read(&mut self, id: HypothesisId, byte: u8) -> Result<bool, InfillError> {
        Ok(id == CLEAR || !self.indent(id).is_read_on() || !self.step(id, byte)?.is_empty())
    }

    /// Whether a text may end at a hypothesis, as far as it says itself; `true` also where blocks are opened
    /// and closed first.
    pub(crate) fn is_ending(&self, id: HypothesisId) -> bool {
        id == CLEAR || !self.indent(id).is_read_on() || self.ends_here(id)
    }

    /// The bytes after which the hypothesis is the same and no token has ended.
    pub(crate) fn loop_bytes(&mut self, id: HypothesisId) -> Result<ByteSet, InfillError> {
        self.once(
            id,
            |known| &mut known.loops,
            |this| {
                let mut loops = ByteSet::EMPTY;
                for byte in 0..=255 {
                    let outcomes = this.step(id, byte)?;
                    if *this.outcomes(outcomes) == [Outcome { terminal: None, next: id, is_dropped: false }] {
                        loops.insert(byte);
                    }
                }
                Ok(loops)
            },
        )
    }

    /// Whether nearly any text continues the token in progress, as in a comment or a string.
    pub(crate) fn reads_anything(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        if self.is_boundary(id) {
            return Ok(false);
        }
        self.once(
            id,
            |known| &mut known.reads_anything,
            |this| {
                let mut n_bytes = 0;
                for byte in 0..=255 {
                    if let Some(next) = this.within_after(id, byte)?
                        && this.n_steady(next)? >= ANY_TEXT
                    {
                        n_bytes += 1;
                    }
                }
                Ok(n_bytes >= ANY_TEXT)
            },
        )
    }

    /// How many bytes leave the token in progress as it is.
    fn n_steady(&mut self, id: HypothesisId) -> Result<usize, InfillError> {
        self.once(
            id,
            |known| &mut known.n_steady,
            |this| {
                let mut n_steady = 0;
                for byte in 0..=255 {
                    n_steady += usize::from(this.within_after(id, byte)? == Some(id));
                }
                Ok(n_steady)
            },
        )
    }

    /// The hypothesis after a byte that continues the token in progress.
    pub(crate) fn within_after(
        &mut self,
        id: HypothesisId,
        byte: u8,
    ) -> Result<Option<HypothesisId>, InfillError> {
        let class = usize::from(self.byte_classes()[usize::from(byte)]);
        self.within_after_class(id, class)
    }

    /// The same for any byte of a class.
    fn within_after_class(
        &mut self,
        id: HypothesisId,
        class: usize,
    ) -> Result<Option<HypothesisId>, InfillError> {
        let outcomes = self.step_class(id, class)?;
        let first = self.outcomes(outcomes).first();
        Ok(first.filter(|outcome| outcome.terminal.is_none()).map(|outcome| outcome.next))
    }

    /// All distinct outcomes of one more byte.
    pub(crate) fn all_outcomes(&mut self, id: HypothesisId) -> Result<Vec<(u8, Outcome)>, InfillError> {
        let mut all = Vec::new();
        for class in 0..self.n_classes() {
            let outcomes = self.step_class(id, class)?;
            let byte = self.representatives()[class];
            all.extend(self.outcomes(outcomes).iter().map(|&outcome| (byte, outcome)));
        }
        Ok(all)
    }
}
