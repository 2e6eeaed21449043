//! What the lexer may be in the middle of.
//!
//! A match is a token only if no better one is found further on. So after a match there are two readings: the token
//! continues, or it has ended and a *guard* watches the bytes after it. A [`Hypothesis`] is one such reading: the
//! lexer's state in the token in progress, and the guards of tokens before it. It is dropped as soon as a guard
//! refutes its match; a guard that can refute no more is forgotten. So of all hypotheses about a whole text that end
//! at a boundary which the end of the text does not refute, at most one is left: the text's tokens as the lexer takes
//! them. (With indentation there are several that differ in their assumptions about blocks and brackets; the parser
//! keeps one of them.)

use maskwright_automata::ByteSet;
use maskwright_grammar::{Layout, TerminalId};
use maskwright_lexing::{Fate, Guards, LexState, Lexer};
use rustc_hash::FxHashMap;

use crate::InfillError;
use crate::lexed::indentation::{Indent, Width};

/// The most hypotheses of one grammar.
const MAX_HYPOTHESES: usize = 1 << 20;

/// How many bytes away from where it is steady a hypothesis is nearly so: a character has at most three more.
const MAX_UNSTEADY: usize = 3;

/// A comment or a string can continue with at least so many bytes. ASCII alone has 128.
const ANY_TEXT: usize = 96;

/// A hypothesis, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct HypothesisId(pub(crate) u32);

impl HypothesisId {
    /// That before any text.
    pub(crate) const START: HypothesisId = HypothesisId(0);

    /// The clear boundary, which stands for several hypotheses ([`crate::lexed::clear`]) and is none itself.
    pub(crate) const CLEAR: HypothesisId = HypothesisId(u32::MAX);
}

/// One reading of the bytes so far as tokens, as far as it matters from here on.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Hypothesis {
    /// The lexer in the token in progress.
    state: LexState,
    /// Whether that token has no bytes yet.
    is_boundary: bool,
    /// What must not refute the tokens before; sorted and distinct.
    guards: Box<[LexState]>,
    indent: Indent,
}

/// What one byte can do to a hypothesis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Outcome {
    /// The terminal whose token ends with the byte, if one does.
    pub(crate) terminal: Option<u32>,
    /// The hypothesis after it.
    pub(crate) next: HypothesisId,
}

/// All hypotheses met so far, and their steps.
pub(crate) struct Hypotheses {
    lexer: Lexer,
    /// `None` if guards that refute the same are kept apart.
    guards: Option<Guards>,
    /// What makes indentation, if it makes tokens.
    layout: Option<Layout>,
    list: Vec<Hypothesis>,
    /// By hypothesis, the one with the width from which one comes in place of its own.
    relative: Vec<HypothesisId>,
    ids: FxHashMap<Hypothesis, HypothesisId>,
    /// By byte, its class, and by class, one of its bytes: bytes of a class do the same.
    classes: [u16; 256],
    representatives: Vec<u8>,
    /// Per hypothesis and class of bytes, the number of the list of outcomes, plus one; 0 if it is not known.
    cells: Vec<u32>,
    outcomes: Vec<Box<[Outcome]>>,
    outcome_ids: FxHashMap<Box<[Outcome]>, u32>,
    /// By hypothesis: the bytes that do nothing to it.
    loops: Vec<Option<ByteSet>>,
    /// By hypothesis: how many bytes leave the token in progress as it is.
    steady: Vec<Option<usize>>,
    /// By hypothesis: whether nearly any text continues it.
    reads_anything: Vec<Option<bool>>,
}

impl Hypotheses {
    /// The hypotheses of `lexer`, with indentation if `layout` says what makes that; `merge_alike` makes guards one that refute
    /// the same.
    pub(crate) fn new(
        lexer: Lexer,
        layout: Option<Layout>,
        merge_alike: bool,
    ) -> Result<Hypotheses, InfillError> {
        let (classes, representatives) = byte_classes(&lexer, layout.as_ref());
        let start = Hypothesis {
            state: lexer.start(),
            is_boundary: true,
            guards: Box::default(),
            indent: Indent::None,
        };
        let mut hypotheses = Hypotheses {
            lexer,
            guards: merge_alike.then(Guards::default),
            layout,
            list: Vec::new(),
            relative: Vec::new(),
            ids: FxHashMap::default(),
            classes,
            representatives,
            cells: Vec::new(),
            outcomes: Vec::new(),
            outcome_ids: FxHashMap::default(),
            loops: Vec::new(),
            steady: Vec::new(),
            reads_anything: Vec::new(),
        };
        hypotheses.intern(start)?;
        Ok(hypotheses)
    }

    /// Whether no token is in progress.
    pub(crate) fn is_boundary(&self, id: HypothesisId) -> bool {
        id == HypothesisId::CLEAR || self.list[id.0 as usize].is_boundary
    }

    /// The boundary with the same state of the lexer where nothing watches; `None` within a token, or where blocks are due.
    pub(crate) fn unguarded(&mut self, id: HypothesisId) -> Result<Option<HypothesisId>, InfillError> {
        let hypothesis = &self.list[id.0 as usize];
        if !hypothesis.is_boundary || hypothesis.indent != Indent::None {
            return Ok(None);
        }
        if hypothesis.guards.is_empty() {
            return Ok(Some(id));
        }
        self.intern(Hypothesis { guards: Box::default(), ..hypothesis.clone() }).map(Some)
    }

    /// What makes indentation, if it makes tokens.
    pub(crate) fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }

    /// Where it is in the indentation.
    pub(crate) fn indent(&self, id: HypothesisId) -> Indent {
        if id == HypothesisId::CLEAR { Indent::None } else { self.list[id.0 as usize].indent }
    }

    /// The hypothesis that stands for all widths in place of this one's, and the width for one who comes from `base`; 0 where none counts.
    pub(crate) fn on(&self, id: HypothesisId, base: u32) -> (HypothesisId, u32) {
        match self.indent(id).width() {
            None => (id, 0),
            Some(width) => (self.relative[id.0 as usize], width.from(base)),
        }
    }

    /// The hypothesis in another place of the indentation.
    pub(crate) fn with_indent(
        &mut self,
        id: HypothesisId,
        indent: Indent,
    ) -> Result<HypothesisId, InfillError> {
        if self.indent(id) == indent {
            return Ok(id);
        }
        let hypothesis = Hypothesis { indent, ..self.list[id.0 as usize].clone() };
        self.intern(hypothesis)
    }

    /// The hypothesis where widths up to `counted` are counted, or none are.
    pub(crate) fn counted(
        &mut self,
        id: HypothesisId,
        counted: Option<u32>,
    ) -> Result<HypothesisId, InfillError> {
        let indent = self.indent(id);
        self.with_indent(id, indent.counted(counted))
    }

    /// Whether a line may be as wide as one likes from here, if it may be wider at all: behind a blank, all is as before another.
    pub(crate) fn is_stretchable(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        if !matches!(self.indent(id), Indent::Blanks(_) | Indent::Last(_)) {
            return Ok(true);
        }
        for blank in [b' ', b'\t'] {
            let number = self.step(id, blank)?;
            let is_wider =
                self.outcomes(number).iter().any(|outcome| self.indent(outcome.next).width().is_some());
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

    /// Where `blank` makes a line in progress wider and the line's end goes on, the hypotheses behind it; each for all widths.
    fn behind_blank(&mut self, id: HypothesisId, blank: u8) -> Result<Vec<HypothesisId>, InfillError> {
        let number = self.step(id, blank)?;
        let within = self.outcomes(number).iter().filter(|outcome| outcome.terminal.is_none());
        let counting = within.filter(|outcome| self.indent(outcome.next).width().is_some());
        Ok(counting.map(|outcome| self.relative[outcome.next.0 as usize]).collect())
    }

    /// The lexer.
    pub(crate) fn lexer(&self) -> &Lexer {
        &self.lexer
    }

    /// The end of the text as a hypothesis, where `indent` says whether all blocks have ended.
    pub(crate) fn at_end(&mut self, indent: Indent) -> Result<HypothesisId, InfillError> {
        self.with_indent(HypothesisId::START, indent)
    }

    /// What the parser may get without any text, and the hypotheses behind that.
    pub(crate) fn moves(
        &mut self,
        id: HypothesisId,
    ) -> Result<Vec<(Option<TerminalId>, HypothesisId)>, InfillError> {
        let Some(layout) = &self.layout else { return Ok(Vec::new()) };
        let moves = self.indent(id).moves(layout);
        moves.into_iter().map(|(label, indent)| Ok((label, self.with_indent(id, indent)?))).collect()
    }

    /// How many matches before it are still watched.
    pub(crate) fn n_guards(&self, id: HypothesisId) -> usize {
        self.list[id.0 as usize].guards.len()
    }

    /// Whether a match before it may be watched for as long as one likes, as `/` is before `*` where comments end.
    pub(crate) fn is_watched_on(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        for guard in self.list[id.0 as usize].guards.clone() {
            for class in 0..self.representatives.len() {
                let byte = self.representatives[class];
                if let Fate::Watched(next) = self.lexer.fate(guard, byte)?
                    && self.canonical(next)? == guard
                {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a token is in progress that can go on as it is after some byte, and nothing before it is watched.
    pub(crate) fn is_settled(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        Ok(self.list[id.0 as usize].guards.is_empty() && self.is_steady(id)?)
    }

    /// Whether a token is in progress that can go on as it is after some byte, watched or not: as in a comment at the end of a text, behind
    /// which no newline may come.
    pub(crate) fn is_steady(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        let hypothesis = &self.list[id.0 as usize];
        if hypothesis.is_boundary || hypothesis.indent != Indent::None {
            return Ok(false);
        }
        for class in 0..self.representatives.len() {
            let number = self.step_class(id, class)?;
            if self.outcomes(number).first() == Some(&Outcome { terminal: None, next: id }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether it is behind a newline character and blanks, or behind the token of the line's end.
    pub(crate) fn begins_line(&self, id: HypothesisId) -> bool {
        matches!(self.indent(id), Indent::Blanks(_) | Indent::Ended(_) | Indent::Within)
    }

    /// Whether a token is in progress that cannot end here, as within a character, and a few bytes lead to where it is steady.
    pub(crate) fn is_nearly_steady(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        let mut reached = vec![id];
        for _ in 0..MAX_UNSTEADY {
            let mut next = Vec::new();
            for at in reached {
                let hypothesis = &self.list[at.0 as usize];
                let can_end = !self.lexer.accepts(hypothesis.state).is_empty();
                if hypothesis.is_boundary || can_end {
                    continue;
                }
                for class in 0..self.representatives.len() {
                    let number = self.step_class(at, class)?;
                    if let Some(&Outcome { terminal: None, next: to }) = self.outcomes(number).first() {
                        if self.is_steady(to)? {
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
        Ok(self.list[id.0 as usize].guards.is_empty() && self.is_nearly_steady(id)?)
    }

    /// Whether the text may end here: no token is in progress, and the end refutes none before.
    pub(crate) fn ends_here(&self, id: HypothesisId) -> bool {
        let hypothesis = &self.list[id.0 as usize];
        hypothesis.is_boundary
            && hypothesis.indent == Indent::None
            && !hypothesis.guards.iter().any(|&guard| self.lexer.refutes_at_end(guard))
    }

    /// The number of what a byte can do, for [`outcomes`](Self::outcomes).
    #[inline]
    pub(crate) fn step(&mut self, id: HypothesisId, byte: u8) -> Result<u32, InfillError> {
        let class = usize::from(self.classes[usize::from(byte)]);
        self.step_class(id, class)
    }

    /// What a step can do: outcomes without a terminal come first. Without indentation that is at most one.
    #[inline]
    pub(crate) fn outcomes(&self, number: u32) -> &[Outcome] {
        &self.outcomes[number as usize]
    }

    /// Whether anything can come of a hypothesis where `byte` is next; `true` also where it is not read yet.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn may_read(&mut self, id: HypothesisId, byte: u8) -> Result<bool, InfillError> {
        if id == HypothesisId::CLEAR || !self.indent(id).is_read_on() {
            return Ok(true);
        }
        let number = self.step(id, byte)?;
        Ok(!self.outcomes(number).is_empty())
    }

    /// Whether a text may end at a hypothesis, as far as it says itself; `true` also where blocks are opened and closed first.
    pub(crate) fn is_ending(&self, id: HypothesisId) -> bool {
        id == HypothesisId::CLEAR || !self.indent(id).is_read_on() || self.ends_here(id)
    }

    /// The bytes after which the hypothesis is the same and no token has ended.
    pub(crate) fn loop_bytes(&mut self, id: HypothesisId) -> Result<ByteSet, InfillError> {
        if let Some(known) = self.loops[id.0 as usize] {
            return Ok(known);
        }
        let mut loops = ByteSet::EMPTY;
        for byte in 0..=255 {
            let number = self.step(id, byte)?;
            if *self.outcomes(number) == [Outcome { terminal: None, next: id }] {
                loops.insert(byte);
            }
        }
        self.loops[id.0 as usize] = Some(loops);
        Ok(loops)
    }

    /// Whether nearly any text continues the token in progress, as in a comment or a string.
    pub(crate) fn reads_anything(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        if self.is_boundary(id) {
            return Ok(false);
        }
        if let Some(known) = self.reads_anything[id.0 as usize] {
            return Ok(known);
        }
        let mut n_bytes = 0;
        for byte in 0..=255 {
            if let Some(next) = self.within_after(id, byte)?
                && self.n_steady(next)? >= ANY_TEXT
            {
                n_bytes += 1;
            }
        }
        let reads_anything = n_bytes >= ANY_TEXT;
        self.reads_anything[id.0 as usize] = Some(reads_anything);
        Ok(reads_anything)
    }

    /// How many bytes leave the token in progress as it is.
    fn n_steady(&mut self, id: HypothesisId) -> Result<usize, InfillError> {
        if let Some(known) = self.steady[id.0 as usize] {
            return Ok(known);
        }
        let mut n_steady = 0;
        for byte in 0..=255 {
            n_steady += usize::from(self.within_after(id, byte)? == Some(id));
        }
        self.steady[id.0 as usize] = Some(n_steady);
        Ok(n_steady)
    }

    /// The hypothesis after a byte that continues the token in progress.
    pub(crate) fn within_after(
        &mut self,
        id: HypothesisId,
        byte: u8,
    ) -> Result<Option<HypothesisId>, InfillError> {
        let number = self.step(id, byte)?;
        let first = self.outcomes(number).first();
        Ok(first.filter(|outcome| outcome.terminal.is_none()).map(|outcome| outcome.next))
    }

    /// One byte of each class: bytes of a class do the same.
    pub(crate) fn representatives(&self) -> &[u8] {
        &self.representatives
    }

    /// All distinct outcomes of one more byte.
    pub(crate) fn all_outcomes(&mut self, id: HypothesisId) -> Result<Vec<(u8, Outcome)>, InfillError> {
        let mut all = Vec::new();
        for class in 0..self.representatives.len() {
            let number = self.step_class(id, class)?;
            let byte = self.representatives[class];
            all.extend(self.outcomes(number).iter().map(|&outcome| (byte, outcome)));
        }
        Ok(all)
    }

    fn step_class(&mut self, id: HypothesisId, class: usize) -> Result<u32, InfillError> {
        let cell = id.0 as usize * self.representatives.len() + class;
        if let Some(number) = self.cells[cell].checked_sub(1) {
            return Ok(number);
        }
        let byte = self.representatives[class];
        let outcomes = self.compute(id, byte)?;
        let next = self.outcomes.len() as u32;
        let number = *self.outcome_ids.entry(outcomes.clone()).or_insert(next);
        if number == next {
            self.outcomes.push(outcomes);
        }
        self.cells[cell] = number + 1;
        Ok(number)
    }

    fn compute(&mut self, id: HypothesisId, byte: u8) -> Result<Box<[Outcome]>, InfillError> {
        let hypothesis = self.list[id.0 as usize].clone();
        if !hypothesis.indent.is_read_on() {
            return Ok(Box::default());
        }
        let Some(state) = self.lexer.step(hypothesis.state, byte)? else { return Ok(Box::default()) };
        let mut guards = Vec::with_capacity(hypothesis.guards.len() + 1);
        for &guard in &hypothesis.guards {
            match self.lexer.fate(guard, byte)? {
                Fate::Stands => {}
                Fate::Refuted => return Ok(Box::default()),
                Fate::Watched(guard) => guards.push(guard),
            }
        }
        let mut outcomes = Vec::new();
        if !self.lexer.reachable(state)?.is_empty() {
            let guards = self.together(guards.clone())?;
            for indent in self.indents_within(&hypothesis, state, byte)? {
                let next =
                    self.intern(Hypothesis { state, is_boundary: false, guards: guards.clone(), indent })?;
                outcomes.push(Outcome { terminal: None, next });
            }
        }
        for accept in self.lexer.accepts(state).to_vec() {
            let mut guards = guards.clone();
            if self.lexer.can_accept_again(accept.guard)? {
                guards.push(accept.guard);
            }
            let state = self.lexer.restart(state)?;
            let guards = self.together(guards)?;
            for indent in self.indents_behind(&hypothesis, accept.terminal, byte) {
                let next =
                    self.intern(Hypothesis { state, is_boundary: true, guards: guards.clone(), indent })?;
                outcomes.push(Outcome { terminal: Some(accept.terminal), next });
            }
        }
        Ok(outcomes.into())
    }

    /// Where the indentation is within the token that goes on from `hypothesis` by `byte`, to `state`.
    fn indents_within(
        &self,
        hypothesis: &Hypothesis,
        state: LexState,
        byte: u8,
    ) -> Result<Vec<Indent>, InfillError> {
        let Some(layout) = &self.layout else { return Ok(vec![Indent::None]) };
        let may_be_newline = self.lexer.reachable(state)?.contains(layout.newline.index() as u32);
        let indents = hypothesis.indent.after(byte, layout);
        Ok(match hypothesis.indent {
            // Its only sense is the end of such a token.
            _ if may_be_newline => indents,
            Indent::Last(_) => Vec::new(),
            _ => vec![Indent::None],
        })
    }

    /// Where the indentation is behind a token of `terminal` that ends with `byte`.
    fn indents_behind(&self, hypothesis: &Hypothesis, terminal: u32, byte: u8) -> Vec<Indent> {
        match &self.layout {
            Some(layout) if layout.newline.index() as u32 == terminal => {
                let last = hypothesis.indent.after(byte, layout);
                last.into_iter().flat_map(Indent::at_end_of_line).collect()
            }
            _ if matches!(hypothesis.indent, Indent::Last(_)) => Vec::new(),
            _ => vec![Indent::None],
        }
    }

    fn canonical(&mut self, guard: LexState) -> Result<LexState, InfillError> {
        match &mut self.guards {
            Some(guards) => Ok(guards.canonical(&self.lexer, guard)?),
            None => Ok(guard),
        }
    }

    /// The guards to keep, sorted and distinct.
    fn together(&mut self, mut guards: Vec<LexState>) -> Result<Box<[LexState]>, InfillError> {
        if let Some(known) = &mut self.guards {
            return Ok(known.together(&self.lexer, guards)?);
        }
        guards.sort_unstable();
        guards.dedup();
        Ok(guards.into())
    }

    fn intern(&mut self, hypothesis: Hypothesis) -> Result<HypothesisId, InfillError> {
        if let Some(&known) = self.ids.get(&hypothesis) {
            return Ok(known);
        }
        if self.list.len() >= MAX_HYPOTHESES {
            return Err(InfillError::hypotheses(MAX_HYPOTHESES));
        }
        let here = hypothesis.indent.with_width(Width::HERE);
        let relative = if here == hypothesis.indent {
            None
        } else {
            Some(self.intern(Hypothesis { indent: here, ..hypothesis.clone() })?)
        };
        let id = HypothesisId(self.list.len() as u32);
        self.list.push(hypothesis.clone());
        self.ids.insert(hypothesis, id);
        self.relative.push(relative.unwrap_or(id));
        self.cells.resize(self.list.len() * self.representatives.len(), 0);
        self.loops.push(None);
        self.steady.push(None);
        self.reads_anything.push(None);
        Ok(id)
    }
}

/// The lexer's classes of bytes, with those apart that indentation counts.
fn byte_classes(lexer: &Lexer, layout: Option<&Layout>) -> ([u16; 256], Vec<u8>) {
    let mut ids: FxHashMap<(u16, Option<u8>), u16> = FxHashMap::default();
    let mut representatives = Vec::new();
    let mut classes = [0; 256];
    for byte in 0..=255 {
        let counted = layout.filter(|_| matches!(byte, b'\n' | b' ' | b'\t')).map(|_| byte);
        let next = ids.len() as u16;
        let of_lexer = u16::from(lexer.byte_classes()[usize::from(byte)]);
        let class = *ids.entry((of_lexer, counted)).or_insert(next);
        if class == next {
            representatives.push(byte);
        }
        classes[usize::from(byte)] = class;
    }
    (classes, representatives)
}
