//! What the lexer may be in the middle of.
//!
//! A match is a token only if no better one follows further on, so after a match both ways are followed: the token
//! goes on, or it has ended and a *guard* watches the bytes after it. A [`Hypothesis`] is one such reading: the
//! lexer's state in the token in progress, and the guards of tokens before it. It is dropped as soon as a guard
//! refutes its match; a guard that can refute no more is forgotten. So of all hypotheses about a whole text that
//! end at a boundary which the end of the text does not refute, exactly one is left, or none: the text's tokens as
//! the lexer takes them.

use maskwright_automata::ByteSet;
use maskwright_lexing::{Fate, Guards, LexState, Lexer};
use rustc_hash::FxHashMap;

use crate::InfillError;

/// The most hypotheses of one grammar.
const MAX_HYPOTHESES: usize = 1 << 20;

/// How many bytes away from where it is settled a hypothesis is nearly so: a character has at most three more.
const MAX_UNSETTLED: usize = 3;

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
    list: Vec<Hypothesis>,
    ids: FxHashMap<Hypothesis, HypothesisId>,
    n_classes: usize,
    /// Per hypothesis and class of bytes, the number of the list of outcomes, plus one; 0 if it is not known.
    cells: Vec<u32>,
    outcomes: Vec<Box<[Outcome]>>,
    outcome_ids: FxHashMap<Box<[Outcome]>, u32>,
    /// By hypothesis: the bytes that do nothing to it.
    loops: Vec<Option<ByteSet>>,
}

impl Hypotheses {
    /// The hypotheses of `lexer`; `merge_alike` makes guards one that refute the same.
    pub(crate) fn new(lexer: Lexer, merge_alike: bool) -> Result<Hypotheses, InfillError> {
        let n_classes = lexer.class_representatives().len();
        let start = Hypothesis { state: lexer.start(), is_boundary: true, guards: Box::default() };
        let mut hypotheses = Hypotheses {
            lexer,
            guards: merge_alike.then(Guards::default),
            list: Vec::new(),
            ids: FxHashMap::default(),
            n_classes,
            cells: Vec::new(),
            outcomes: Vec::new(),
            outcome_ids: FxHashMap::default(),
            loops: Vec::new(),
        };
        hypotheses.intern(start)?;
        Ok(hypotheses)
    }

    /// Whether no token is in progress.
    pub(crate) fn is_boundary(&self, id: HypothesisId) -> bool {
        id == HypothesisId::CLEAR || self.list[id.0 as usize].is_boundary
    }

    /// Whether the lexer is in the same state as before any text, whatever guards there are.
    pub(crate) fn starts_alike(&self, id: HypothesisId) -> bool {
        let hypothesis = &self.list[id.0 as usize];
        hypothesis.is_boundary && hypothesis.state == self.lexer.start()
    }

    /// How many matches before it are still watched.
    pub(crate) fn n_guards(&self, id: HypothesisId) -> usize {
        self.list[id.0 as usize].guards.len()
    }

    /// Whether a match before it may be watched for as long as one likes, as `/` is before `*` where comments end.
    pub(crate) fn is_watched_on(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        for guard in self.list[id.0 as usize].guards.clone() {
            for class in 0..self.n_classes {
                let byte = self.lexer.class_representatives()[class];
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
        let hypothesis = &self.list[id.0 as usize];
        if hypothesis.is_boundary || !hypothesis.guards.is_empty() {
            return Ok(false);
        }
        for class in 0..self.n_classes {
            let number = self.step_class(id, class)?;
            if self.outcomes(number).first() == Some(&Outcome { terminal: None, next: id }) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether a token is in progress that cannot end here, as within a character, nothing before it is watched, and a few
    /// bytes lead to where it is settled.
    pub(crate) fn is_nearly_settled(&mut self, id: HypothesisId) -> Result<bool, InfillError> {
        let mut reached = vec![id];
        for _ in 0..MAX_UNSETTLED {
            let mut next = Vec::new();
            for at in reached {
                let hypothesis = &self.list[at.0 as usize];
                let can_end = !self.lexer.accepts(hypothesis.state).is_empty();
                if hypothesis.is_boundary || can_end || !hypothesis.guards.is_empty() {
                    continue;
                }
                for class in 0..self.n_classes {
                    let number = self.step_class(at, class)?;
                    if let Some(&Outcome { terminal: None, next: to }) = self.outcomes(number).first() {
                        if self.is_settled(to)? {
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

    /// Whether the text may end here: no token is in progress, and the end refutes none before.
    pub(crate) fn ends_here(&self, id: HypothesisId) -> bool {
        let hypothesis = &self.list[id.0 as usize];
        hypothesis.is_boundary && !hypothesis.guards.iter().any(|&guard| self.lexer.refutes_at_end(guard))
    }

    /// The number of what a byte can do, for [`outcomes`](Self::outcomes).
    #[inline]
    pub(crate) fn step(&mut self, id: HypothesisId, byte: u8) -> Result<u32, InfillError> {
        let class = usize::from(self.lexer.byte_classes()[usize::from(byte)]);
        self.step_class(id, class)
    }

    /// What a step can do: at most one outcome has no terminal, and it comes first.
    #[inline]
    pub(crate) fn outcomes(&self, number: u32) -> &[Outcome] {
        &self.outcomes[number as usize]
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

    /// All distinct outcomes of one more byte.
    pub(crate) fn all_outcomes(&mut self, id: HypothesisId) -> Result<Vec<(u8, Outcome)>, InfillError> {
        let mut all = Vec::new();
        for class in 0..self.n_classes {
            let number = self.step_class(id, class)?;
            let byte = self.lexer.class_representatives()[class];
            all.extend(self.outcomes(number).iter().map(|&outcome| (byte, outcome)));
        }
        Ok(all)
    }

    fn step_class(&mut self, id: HypothesisId, class: usize) -> Result<u32, InfillError> {
        let cell = id.0 as usize * self.n_classes + class;
        if let Some(number) = self.cells[cell].checked_sub(1) {
            return Ok(number);
        }
        let byte = self.lexer.class_representatives()[class];
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
            let next = self.intern(Hypothesis { state, is_boundary: false, guards })?;
            outcomes.push(Outcome { terminal: None, next });
        }
        for accept in self.lexer.accepts(state).to_vec() {
            let mut guards = guards.clone();
            if self.lexer.can_accept_again(accept.guard)? {
                guards.push(accept.guard);
            }
            let state = self.lexer.restart(state)?;
            let guards = self.together(guards)?;
            let next = self.intern(Hypothesis { state, is_boundary: true, guards })?;
            outcomes.push(Outcome { terminal: Some(accept.terminal), next });
        }
        Ok(outcomes.into())
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
        let id = HypothesisId(self.list.len() as u32);
        self.list.push(hypothesis.clone());
        self.ids.insert(hypothesis, id);
        self.cells.resize(self.list.len() * self.n_classes, 0);
        self.loops.push(None);
        Ok(id)
    }
}
