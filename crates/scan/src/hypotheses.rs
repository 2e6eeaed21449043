//! What the lexer may be in the middle of, whatever the parser has read.
//!
//! A match is a token only if no better one follows further on, so after a match both ways are followed: the
//! token goes on, or it has ended and a *guard* watches the bytes after it. A [`Hypothesis`] is one such
//! reading: the lexer's state in the token in progress and the guards of tokens before it. It is wrong, and
//! dropped, as soon as a guard refutes its match; a guard that can refute no more, or only what another one
//! does ([`Guards`]), is forgotten. This is
//! maximal munch (and leftmost-first) with as much lookahead as it takes, exactly.
//!
//! Under the contextual discipline a hypothesis also has the terminals it is read among (`contexts`):
//! at a place where a parser is, exactly those that compete there ([`Hypotheses::exact`]).
//!
//! Hypotheses are interned, and their steps kept, independently of the grammar's rules.

use std::hash::Hash;
use std::ops::Range;
use std::sync::Arc;

use maskwright_automata::meter;
use maskwright_grammar::TerminalId;
use maskwright_lexing::{Choice, Fate, Guards, LexError, LexState};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bits::{Bits, ones};
use crate::carry::Carry;
use crate::contexts::{Ahead, Context, Contexts, SetId};
use crate::error::ScanError;
use crate::tables::LexerTables;

/// The most hypotheses of one grammar.
const MAX_HYPOTHESES: usize = 1 << 20;

/// Units of work that a step takes that is made for the first time.
const UNITS_PER_STEP: u64 = 16;

/// An odd number whose bits are spread, to multiply hashes by.
const HASH_FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

/// A hypothesis, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct HypothesisId(pub u32);

impl HypothesisId {
    /// The number as an index.
    #[inline]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// One reading of the bytes so far as tokens, from where on bytes matter.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Hypothesis<E = ()> {
    /// The lexer in the token in progress.
    pub state: LexState,
    /// Whether that token has no bytes yet.
    pub is_boundary: bool,
    /// What must not refute the tokens before; sorted and distinct.
    pub guards: Box<[LexState]>,
    /// What it carries besides.
    pub carried: E,
    context: Context,
}

/// What one byte can do to a hypothesis.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outcome {
    /// The terminal whose token ends with the byte, if one does.
    pub terminal: Option<TerminalId>,
    /// The hypothesis after it.
    pub next: HypothesisId,
    /// Of a line end that is a terminal: whether `next` is for brackets, which drop it, or for all other
    /// places. Where all terminals always compete it is for both.
    pub is_dropped: bool,
}

/// A hypothesis with all that one byte can do to it.
pub struct Node {
    /// The hypothesis.
    pub id: HypothesisId,
    /// Sorted and distinct.
    pub edges: Vec<Outcome>,
}

/// All hypotheses met so far, and their steps.
pub struct Hypotheses<E = ()> {
    tables: Arc<LexerTables>,
    /// `None` if guards that refute the same are kept apart.
    guards: Option<Guards>,
    /// Of the contextual discipline.
    contexts: Option<Contexts>,
    list: Vec<Hypothesis<E>>,
    ids: FxHashMap<Hypothesis<E>, HypothesisId>,
    /// By byte, its class, and by class, one of its bytes: bytes of a class do the same.
    classes: [u8; 256],
    representatives: Vec<u8>,
    /// Per hypothesis and class of bytes: one more than the number of the list of outcomes; 0 if unknown.
    cells: Vec<u32>,
    outcomes: Vec<Outcome>,
    ranges: Vec<Range<u32>>,
    range_ids: FxHashMap<Box<[Outcome]>, u32>,
}

impl<E: Carry> Hypotheses<E> {
    /// No hypothesis of the lexer of `tables` yet; `merges_alike` makes guards one that refute the same.
    pub fn new(tables: Arc<LexerTables>, merges_alike: bool) -> Hypotheses<E> {
        let newline = tables.layout.as_ref().map(|layout| layout.newline);
        let contexts = tables
            .is_contextual
            .then(|| Contexts::new(tables.n_terminals, &tables.ignored, newline, tables.rivals.clone()));
        let (classes, representatives) = tables.byte_classes(E::COUNTS_BLANKS);
        Hypotheses {
            tables,
            guards: merges_alike.then(Guards::default),
            contexts,
            list: Vec::new(),
            ids: FxHashMap::default(),
            classes,
            representatives,
            cells: Vec::new(),
            outcomes: Vec::new(),
            ranges: Vec::new(),
            range_ids: FxHashMap::default(),
        }
    }

    /// What it is of.
    #[inline]
    pub fn tables(&self) -> &LexerTables {
        &self.tables
    }

    /// Lets other sets compete after some terminals (`contexts`); whether anything is different. Steps that
    /// end one of those are forgotten, all others stay.
    pub fn follow(&mut self, following: &[Option<Bits>]) -> bool {
        let Some(contexts) = &mut self.contexts else { return false };
        let changed = contexts.follow(following);
        let ends_changed =
            |outcome: &Outcome| outcome.terminal.is_some_and(|ended| changed.contains(ended.index() as u32));
        let is_stale: Vec<bool> = (self.ranges.iter())
            .map(|range| self.outcomes[range.start as usize..range.end as usize].iter().any(ends_changed))
            .collect();
        for cell in self.cells.iter_mut().filter(|cell| **cell > 0) {
            if is_stale[*cell as usize - 1] {
                *cell = 0;
            }
        }
        !changed.is_empty()
    }

    /// The hypothesis before any text, with all terminals.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn start(&mut self) -> Result<HypothesisId, ScanError> {
        let state = self.tables.lexer.start();
        self.make(state, true, Box::default(), E::START, Context::ALL)
    }

    /// The terminals of `wanted` that are never matched by a token among `terminals` and the ignored ones, or
    /// among all.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn hidden(&mut self, terminals: Option<&Bits>, wanted: &Bits) -> Result<Vec<usize>, ScanError> {
        let Some(contexts) = &mut self.contexts else { return Ok(Vec::new()) };
        let set = terminals.map_or(SetId::ALL, |terminals| contexts.following(terminals));
        let start = contexts.start(&self.tables.lexer, self.tables.lexer.start(), set, Choice::Best)?;
        let found = self.tables.lexer.reachable(start)?;
        Ok(ones(wanted)
            .filter(|&terminal| !found.contains(terminal as u32) && contexts.is_read(terminal))
            .collect())
    }

    /// The number of the set of `terminals` and the ignored ones; `None` where all terminals always compete.
    pub fn set(&mut self, terminals: &Bits) -> Option<SetId> {
        self.contexts.as_mut().map(|contexts| contexts.set(terminals))
    }

    /// The hypothesis `id`, at the end of a token, where the terminals of `set` compete for the next.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn exact(&mut self, id: HypothesisId, set: SetId) -> Result<HypothesisId, ScanError> {
        self.restarted(id, Context { set, ..Context::ALL })
    }

    /// The same with all that follows read freely; `None` where it already is, or all terminals always
    /// compete.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn free(&mut self, id: HypothesisId) -> Result<Option<HypothesisId>, ScanError> {
        if self.contexts.is_none() || self.is_free(id) {
            return Ok(None);
        }
        self.restarted(id, Context::FREE).map(Some)
    }

    /// Whether what follows is read freely.
    pub fn is_free(&self, id: HypothesisId) -> bool {
        self.get(id).context.ahead == Ahead::Free
    }

    /// The hypothesis with all tokens after that in progress, or that which begins, read freely.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn free_ahead(&mut self, id: HypothesisId) -> Result<HypothesisId, ScanError> {
        if self.contexts.is_none() || self.is_free(id) {
            return Ok(id);
        }
        let Hypothesis { state, is_boundary, guards, carried, context } = self.get(id).clone();
        self.make(state, is_boundary, guards, carried, Context { ahead: Ahead::Free, ..context })
    }

    fn restarted(&mut self, id: HypothesisId, context: Context) -> Result<HypothesisId, ScanError> {
        let Hypothesis { state, is_boundary, guards, carried, context: before } = self.get(id).clone();
        let Some(contexts) = self.contexts.as_mut().filter(|_| before != context) else { return Ok(id) };
        let state = contexts.start(&self.tables.lexer, state, context.set, context.choice)?;
        self.make(state, is_boundary, guards, carried, context)
    }

    /// Whether an outcome is for places inside of brackets, or outside.
    #[inline]
    pub fn is_for(&self, outcome: &Outcome, is_nested: bool) -> bool {
        outcome.is_dropped == is_nested
            || self.contexts.as_ref().is_none_or(|contexts| {
                !outcome.terminal.is_some_and(|terminal| contexts.is_newline(terminal))
            })
    }

    /// A hypothesis.
    #[inline]
    pub fn get(&self, id: HypothesisId) -> &Hypothesis<E> {
        &self.list[id.index()]
    }

    /// How many hypotheses were met.
    pub fn n_known(&self) -> usize {
        self.list.len()
    }

    /// How many classes of bytes there are; bytes of a class do the same.
    #[inline]
    pub fn n_classes(&self) -> usize {
        self.representatives.len()
    }

    /// By byte, its class.
    #[inline]
    pub fn byte_classes(&self) -> &[u8; 256] {
        &self.classes
    }

    /// One byte of each class.
    #[inline]
    pub fn representatives(&self) -> &[u8] {
        &self.representatives
    }

    /// Whether the text may end here as far as the lexer goes: no token is in progress, and the end refutes
    /// none before.
    pub fn ends_here(&self, id: HypothesisId) -> bool {
        let hypothesis = self.get(id);
        hypothesis.is_boundary
            && hypothesis.carried.may_end()
            && !hypothesis.guards.iter().any(|&guard| self.tables.lexer.refutes_at_end(guard))
    }

    /// What a byte can do, as a range for [`Hypotheses::outcome`].
    ///
    /// # Errors
    /// If a limit is reached.
    #[inline]
    pub fn step(&mut self, id: HypothesisId, byte: u8) -> Result<Range<usize>, ScanError> {
        self.step_class(id, usize::from(self.classes[usize::from(byte)]))
    }

    /// The same for any byte of a class.
    ///
    /// # Errors
    /// If a limit is reached.
    #[inline]
    pub fn step_class(&mut self, id: HypothesisId, class: usize) -> Result<Range<usize>, ScanError> {
        let cell = id.index() * self.representatives.len() + class;
        let known = self.cells[cell];
        let number = if known > 0 {
            known - 1
        } else {
            let byte = self.representatives[class];
            let outcomes = self.compute(id, byte)?;
            let number = self.intern_outcomes(outcomes);
            self.cells[cell] = number + 1;
            number
        };
        let Range { start, end } = self.ranges[number as usize];
        Ok(start as usize..end as usize)
    }

    /// All of a range that [`Hypotheses::step`] gave: those without a terminal first.
    #[inline]
    pub fn outcomes(&self, range: Range<usize>) -> &[Outcome] {
        &self.outcomes[range]
    }

    /// One of a range that [`Hypotheses::step`] gave.
    #[inline]
    pub fn outcome(&self, index: usize) -> Outcome {
        self.outcomes[index]
    }

    fn compute(&mut self, id: HypothesisId, byte: u8) -> Result<Vec<Outcome>, ScanError> {
        meter::spend(UNITS_PER_STEP).map_err(LexError::from)?;
        let tables = self.tables.clone();
        let LexerTables { lexer, layout, .. } = &*tables;
        let newline = layout.as_ref().map(|layout| layout.newline);
        let hypothesis = self.get(id).clone();
        if !hypothesis.carried.is_read_on() {
            return Ok(Vec::new());
        }
        let Some(state) = lexer.step(hypothesis.state, byte)? else { return Ok(Vec::new()) };
        let mut guards = Vec::with_capacity(hypothesis.guards.len() + 1);
        for &guard in &hypothesis.guards {
            match lexer.fate(guard, byte)? {
                Fate::Stands => {}
                Fate::Refuted => return Ok(Vec::new()),
                Fate::Watched(guard) => guards.push(guard),
            }
        }
        let mut outcomes = Vec::new();
        let reachable = lexer.reachable(state)?;
        if !reachable.is_empty() {
            let guards = self.together(guards.clone())?;
            let may_end_line = newline.is_some_and(|newline| reachable.contains(newline.index() as u32));
            for carried in hypothesis.carried.within(byte, layout.as_ref(), may_end_line) {
                let next = self.make(state, false, guards.clone(), carried, hypothesis.context)?;
                outcomes.push(Outcome { terminal: None, next, is_dropped: false });
            }
        }
        for accept in lexer.accepts(state) {
            let mut guards = guards.clone();
            if lexer.can_accept_again(accept.guard)? {
                guards.push(accept.guard);
            }
            let guards = self.together(guards)?;
            let terminal = TerminalId::from_index(accept.terminal as usize);
            let ends_line = newline == Some(terminal);
            let after = match &mut self.contexts {
                Some(contexts) => contexts.after(lexer, state, terminal, hypothesis.context)?,
                None => vec![(lexer.restart(state)?, Context::ALL, false)],
            };
            for carried in hypothesis.carried.after(byte, layout.as_ref(), ends_line) {
                for &(state, context, is_dropped) in &after {
                    if ends_line && self.contexts.is_some() && !carried.is_for(is_dropped) {
                        continue;
                    }
                    let next = self.make(state, true, guards.clone(), carried, context)?;
                    outcomes.push(Outcome { terminal: Some(terminal), next, is_dropped });
                }
            }
        }
        Ok(outcomes)
    }

    /// The guards to keep, sorted and distinct.
    fn together(&mut self, mut guards: Vec<LexState>) -> Result<Box<[LexState]>, ScanError> {
        if let Some(known) = &mut self.guards {
            return Ok(known.together(&self.tables.lexer, guards)?);
        }
        guards.sort_unstable();
        guards.dedup();
        Ok(guards.into())
    }

    /// The guard that stands for `guard` and all that refute the same.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn canonical(&mut self, guard: LexState) -> Result<LexState, ScanError> {
        match &mut self.guards {
            Some(guards) => Ok(guards.canonical(&self.tables.lexer, guard)?),
            None => Ok(guard),
        }
    }

    /// The hypothesis where nothing before is watched.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn unguarded(&mut self, id: HypothesisId) -> Result<HypothesisId, ScanError> {
        let hypothesis = self.get(id);
        match hypothesis.guards.is_empty() {
            true => Ok(id),
            false => self.intern(Hypothesis { guards: Box::default(), ..hypothesis.clone() }),
        }
    }

    /// The hypothesis that carries `carried`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn carrying(&mut self, id: HypothesisId, carried: E) -> Result<HypothesisId, ScanError> {
        let hypothesis = self.get(id);
        match hypothesis.carried == carried {
            true => Ok(id),
            false => self.intern(Hypothesis { carried, ..hypothesis.clone() }),
        }
    }

    fn make(
        &mut self,
        state: LexState,
        is_boundary: bool,
        guards: Box<[LexState]>,
        carried: E,
        mut context: Context,
    ) -> Result<HypothesisId, ScanError> {
        if let Some(contexts) = &self.contexts
            && !is_boundary
            && !contexts.may_be_kept(self.tables.lexer.reachable(state)?)
        {
            context = Context { set: SetId::ANY, choice: Choice::Best, ..context };
        }
        self.intern(Hypothesis { state, is_boundary, guards, carried, context })
    }

    fn intern(&mut self, hypothesis: Hypothesis<E>) -> Result<HypothesisId, ScanError> {
        if let Some(&known) = self.ids.get(&hypothesis) {
            return Ok(known);
        }
        if self.list.len() >= MAX_HYPOTHESES {
            return Err(ScanError::hypotheses(MAX_HYPOTHESES));
        }
        let id = HypothesisId(self.list.len() as u32);
        self.list.push(hypothesis.clone());
        self.ids.insert(hypothesis, id);
        self.cells.resize(self.list.len() * self.representatives.len(), 0);
        Ok(id)
    }

    fn intern_outcomes(&mut self, outcomes: Vec<Outcome>) -> u32 {
        if let Some(&known) = self.range_ids.get(outcomes.as_slice()) {
            return known;
        }
        let number = self.ranges.len() as u32;
        let start = self.outcomes.len() as u32;
        self.outcomes.extend_from_slice(&outcomes);
        self.ranges.push(start..self.outcomes.len() as u32);
        self.range_ids.insert(outcomes.into(), number);
        number
    }

    /// Approximate memory, in bytes.
    pub fn memory_usage(&self) -> usize {
        self.cells.capacity() * 4
            + self.list.len() * (2 * size_of::<Hypothesis<E>>() + 24)
            + self.outcomes.len() * 2 * size_of::<Outcome>()
            + self.ranges.len() * 32
            + self.guards.as_ref().map_or(0, Guards::memory_usage)
            + self.contexts.as_ref().map_or(0, Contexts::memory_usage)
    }
}

impl Hypotheses {
    /// `root` and all that follow it through hypotheses that are not `known`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub fn explore(
        &mut self,
        root: HypothesisId,
        known: impl Fn(HypothesisId) -> bool,
    ) -> Result<Vec<Node>, ScanError> {
        let mut seen = FxHashSet::from_iter([root]);
        let mut nodes = vec![Node { id: root, edges: Vec::new() }];
        // By range of outcomes, the last node that has it.
        let mut last_at: Vec<usize> = Vec::new();
        let mut position = 0;
        while position < nodes.len() {
            let id = nodes[position].id;
            self.fill(id)?;
            let mut edges = Vec::new();
            last_at.resize(self.ranges.len(), usize::MAX);
            for &number in &self.cells[id.index() * self.n_classes()..(id.index() + 1) * self.n_classes()] {
                if std::mem::replace(&mut last_at[number as usize - 1], position) != position {
                    let Range { start, end } = self.ranges[number as usize - 1];
                    edges.extend_from_slice(&self.outcomes[start as usize..end as usize]);
                }
            }
            edges.sort_unstable();
            edges.dedup();
            for &Outcome { next, .. } in &edges {
                if !known(next) && seen.insert(next) {
                    nodes.push(Node { id: next, edges: Vec::new() });
                }
            }
            nodes[position].edges = edges;
            position += 1;
        }
        Ok(nodes)
    }

    /// Makes all steps of a hypothesis. What a byte does depends on nothing but where it leads the lexer and
    /// the guards, so classes that lead to the same places are computed once.
    fn fill(&mut self, id: HypothesisId) -> Result<(), ScanError> {
        let n_classes = self.n_classes();
        if self.cells[id.index() * n_classes..(id.index() + 1) * n_classes].iter().all(|&cell| cell > 0) {
            return Ok(());
        }
        let Hypothesis { state, guards, .. } = self.get(id).clone();
        // By state, a number for where each class leads.
        let mut rows = vec![0u32; (1 + guards.len()) * n_classes];
        for (&state, row) in std::iter::once(&state).chain(&guards).zip(rows.chunks_exact_mut(n_classes)) {
            self.tables.lexer.row(state, row)?;
        }
        for (class, first) in first_alike(&rows, n_classes).into_iter().enumerate() {
            if first < class {
                self.cells[id.index() * n_classes + class] = self.cells[id.index() * n_classes + first];
            } else {
                self.step_class(id, class)?;
            }
        }
        Ok(())
    }
}

/// By column of some rows of `n_columns`, the first that is the same in all of them.
fn first_alike(rows: &[u32], n_columns: usize) -> Vec<usize> {
    let mut hashes = vec![0u64; n_columns];
    for row in rows.chunks_exact(n_columns) {
        for (hash, &value) in hashes.iter_mut().zip(row) {
            *hash = (hash.rotate_left(5) ^ u64::from(value)).wrapping_mul(HASH_FACTOR);
        }
    }
    // Columns by hash, the next place for those that meet; a multiplied hash is best in its upper bits.
    let last_place = (2 * n_columns).next_power_of_two() - 1;
    let mut places: Vec<u32> = vec![u32::MAX; last_place + 1];
    let find = |column: usize| {
        let mut place = (hashes[column] >> 32) as usize & last_place;
        while places[place] != u32::MAX {
            let known = places[place] as usize;
            if rows.chunks_exact(n_columns).all(|row| row[known] == row[column]) {
                return known;
            }
            place = (place + 1) & last_place;
        }
        places[place] = column as u32;
        column
    };
    (0..n_columns).map(find).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::first_alike;

    proptest! {
        #[test]
        fn columns_are_alike_if_they_are_equal(rows in (1usize..9).prop_flat_map(|n_columns| {
            let row = proptest::collection::vec(0u32..3, n_columns);
            proptest::collection::vec(row, 1..4)
        })) {
            let n_columns = rows[0].len();
            let column = |index: usize| rows.iter().map(|row| row[index]).collect::<Vec<u32>>();
            let first = |index: usize| (0..=index).find(|&known| column(known) == column(index));
            let expected: Vec<usize> = (0..n_columns).filter_map(first).collect();
            prop_assert_eq!(first_alike(&rows.concat(), n_columns), expected);
        }
    }
}
