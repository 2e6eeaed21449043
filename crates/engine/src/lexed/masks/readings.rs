//! What runs of bytes do to hypotheses, whatever the rules say: sets of readings as a lazy automaton.
//!
//! Rows are made from these: a walk over the token trie takes one table lookup per node, and most subtrees of
//! the trie (the insides of strings, comments and names) are taken whole, because their bytes lead from a set
//! back to itself.
//!
//! A [`Reading`] is one way to lex the bytes since some hypothesis: the terminals whose tokens have ended, in
//! order, and the hypothesis after them. A set of all readings after some bytes is interned. An example in
//! Python: from the beginning of a statement, the bytes `x=` have two readings: `NAME` and then inside of `=`
//! (it may become `==`), and `NAME`, `"="` with nothing begun.
//!
//! Terminals that the parser never gets are left out. A terminal that no sentence has after the one before it
//! ends a reading at once (paper 2, section 3.3: realizable sequences, here seen through ignored terminals).
//!
//! Under the contextual discipline each reading continues both strictly and freely after the first token that
//! it ends (see the crate `scan`): what strict readings say is certain, and what free ones say is possible.
//!
//! Indentation needs the width of a line beside its token, which may have begun before these bytes
//! ([`Blanks`]).

use maskwright_automata::{ByteSet, meter};
use maskwright_grammar::TerminalId;
use maskwright_scan::bits::{Bits, contains, intersects};
use maskwright_scan::{Blanks, HypothesisId, LexerTables, Points};
use rustc_hash::FxHashMap;

use super::super::scopes::Viability;
use crate::EngineError;

/// A token that has ended, as the parser gets it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Symbol {
    pub(super) terminal: TerminalId,
    /// Of a newline, the line after it.
    pub(super) blanks: Blanks,
}

/// A sequence of symbols, by number; 0 is the empty one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SequenceId(pub(super) u32);

impl SequenceId {
    pub(super) const EMPTY: SequenceId = SequenceId(0);
}

/// One way to lex some bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Reading {
    pub(super) sequence: SequenceId,
    pub(super) hypothesis: HypothesisId,
    blanks: Blanks,
}

/// A set of readings, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct SetId(u32);

/// The most readings of a set. Operators that are read both ways make them many: a line of `-`.
const MAX_READINGS: usize = 256;
/// Units of work that a byte takes for each reading.
const UNITS_PER_READING: u64 = 16;

impl SetId {
    /// Stands for all sets of more readings, whatever bytes follow: nothing is known of them.
    pub(super) const TOO_MANY: SetId = SetId(0);

    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

const UNKNOWN: u32 = 0;
const DEAD: u32 = 1;

/// All sets of readings met so far, and their steps.
pub(super) struct Readings {
    /// Each sequence but the empty one as the sequence before it and its last symbol.
    sequences: Vec<(SequenceId, Symbol)>,
    longer: FxHashMap<(SequenceId, Symbol), SequenceId>,
    sets: Vec<Box<[Reading]>>,
    ids: FxHashMap<Box<[Reading]>, SetId>,
    /// Bytes of one column are alike in every step.
    columns: [u16; 256],
    n_columns: usize,
    /// Per set, where its steps begin in `cells`; `u32::MAX` while none is known.
    rows: Vec<u32>,
    /// 0 unknown, 1 dead, else the target plus 2.
    cells: Vec<u32>,
    /// Per set, the bytes that lead back to it, once asked for.
    loops: FxHashMap<SetId, ByteSet>,
}

impl Readings {
    pub(super) fn new(tables: &LexerTables) -> Readings {
        let classes = tables.lexer.byte_classes();
        let mut columns = [0u16; 256];
        let mut keys: Vec<(u8, u8)> = Vec::new();
        for byte in 0..=255u8 {
            let blank =
                if tables.layout.is_some() && matches!(byte, b' ' | b'\t' | b'\n') { byte } else { 0 };
            let key = (classes[usize::from(byte)], blank);
            let column = keys.iter().position(|&known| known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            });
            columns[usize::from(byte)] = column as u16;
        }
        let too_many: Box<[Reading]> = Box::default();
        let nothing = Symbol { terminal: TerminalId::from_index(0), blanks: Blanks::None };
        Readings {
            sequences: vec![(SequenceId::EMPTY, nothing)],
            longer: FxHashMap::default(),
            sets: vec![too_many.clone()],
            ids: FxHashMap::from_iter([(too_many, SetId::TOO_MANY)]),
            columns,
            n_columns: keys.len(),
            rows: vec![u32::MAX],
            cells: Vec::new(),
            loops: FxHashMap::default(),
        }
    }

    /// The set before any byte: nothing but `hypothesis`.
    pub(super) fn start(&mut self, hypothesis: HypothesisId, may_be_newline: bool) -> SetId {
        let blanks = if may_be_newline { Blanks::More(0) } else { Blanks::None };
        self.intern(vec![Reading { sequence: SequenceId::EMPTY, hypothesis, blanks }])
    }

    pub(super) fn get(&self, set: SetId) -> &[Reading] {
        &self.sets[set.0 as usize]
    }

    /// The sequence without its last symbol, and that symbol; `None` of the empty one.
    pub(super) fn last(&self, sequence: SequenceId) -> Option<(SequenceId, Symbol)> {
        (sequence != SequenceId::EMPTY).then(|| self.sequences[sequence.0 as usize])
    }

    /// The set after one more byte; `None` if no reading is left.
    #[inline]
    pub(super) fn step(
        &mut self,
        context: &mut Context<'_>,
        set: SetId,
        byte: u8,
    ) -> Result<Option<SetId>, EngineError> {
        let row = self.rows[set.0 as usize];
        let column = usize::from(self.columns[usize::from(byte)]);
        let known = if row == u32::MAX { UNKNOWN } else { self.cells[row as usize + column] };
        match known {
            UNKNOWN => self.step_cold(context, set, byte, column),
            DEAD => Ok(None),
            target => Ok(Some(SetId(target - 2))),
        }
    }

    #[cold]
    fn step_cold(
        &mut self,
        context: &mut Context<'_>,
        set: SetId,
        byte: u8,
        column: usize,
    ) -> Result<Option<SetId>, EngineError> {
        if set == SetId::TOO_MANY {
            return Ok(Some(set));
        }
        meter::spend(UNITS_PER_READING * (1 + self.get(set).len() as u64))?;
        let mut after = Vec::new();
        for index in 0..self.get(set).len() {
            let reading = self.get(set)[index];
            for outcome in context.points.hypotheses.step(reading.hypothesis, byte)? {
                let outcome = context.points.hypotheses.outcome(outcome);
                if !context.points.hypotheses.is_for(&outcome, false) {
                    // Free readings contain what follows inside of brackets.
                    continue;
                }
                let blanks = match &context.points.tables.layout {
                    Some(layout) => reading.blanks.after(byte, layout.tabs),
                    None => Blanks::None,
                };
                let next = match outcome.terminal {
                    None => {
                        let is_newline =
                            blanks != Blanks::None && context.points.may_be_newline(outcome.next)?;
                        let blanks = if is_newline { blanks } else { Blanks::None };
                        Reading { hypothesis: outcome.next, blanks, ..reading }
                    }
                    Some(terminal) if context.points.tables.ignored.contains(&terminal) => {
                        Reading { hypothesis: outcome.next, blanks: Blanks::None, ..reading }
                    }
                    Some(terminal) => {
                        let is_newline = context.points.tables.is_newline(terminal);
                        let blanks = if is_newline { blanks } else { Blanks::None };
                        if !self.may_follow(context, reading.sequence, terminal) {
                            continue;
                        }
                        let sequence = self.longer(reading.sequence, Symbol { terminal, blanks });
                        if let Some(hypothesis) = context.points.hypotheses.free(outcome.next)? {
                            let free = Reading { sequence, hypothesis, blanks: Blanks::None };
                            if self.may_continue(context, free)? {
                                after.push(free);
                            }
                        }
                        Reading { sequence, hypothesis: outcome.next, blanks: Blanks::None }
                    }
                };
                if self.may_continue(context, next)? {
                    after.push(next);
                }
            }
        }
        after.sort_unstable();
        after.dedup();
        let target = match after.len() {
            0 => None,
            1..=MAX_READINGS => Some(self.intern(after)),
            _ => Some(SetId::TOO_MANY),
        };
        let row = &mut self.rows[set.0 as usize];
        if *row == u32::MAX {
            *row = self.cells.len() as u32;
            self.cells.resize(self.cells.len() + self.n_columns, UNKNOWN);
        }
        self.cells[*row as usize + column] = target.map_or(DEAD, |target| target.0 + 2);
        Ok(target)
    }

    /// The bytes that lead from a set back to it.
    #[inline(never)]
    pub(super) fn loops(&mut self, context: &mut Context<'_>, set: SetId) -> Result<ByteSet, EngineError> {
        if let Some(&known) = self.loops.get(&set) {
            return Ok(known);
        }
        let mut bytes = ByteSet::EMPTY;
        for byte in 0..=255 {
            if self.step(context, set, byte)? == Some(set) {
                bytes.insert(byte);
            }
        }
        self.loops.insert(set, bytes);
        Ok(bytes)
    }

    /// Whether some sentence has `terminal` after the last terminal of `sequence`. Brackets can hide a
    /// newline, so before and after one any terminal may follow.
    fn may_follow(&self, context: &Context<'_>, sequence: SequenceId, terminal: TerminalId) -> bool {
        let Some((_, last)) = self.last(sequence) else { return true };
        context.points.tables.is_newline(last.terminal)
            || context.points.tables.is_newline(terminal)
            || contains(context.needed(last.terminal), terminal.index())
    }

    /// Whether `reading` can lead to a terminal that some sentence has after its sequence.
    fn may_continue(&self, context: &mut Context<'_>, reading: Reading) -> Result<bool, EngineError> {
        let n_regimes = context.viability.adjacency.ignored.len();
        let bad = context.viability.adjacency.bad();
        let last = self.last(reading.sequence).map(|(_, symbol)| symbol.terminal);
        let needed: Option<Bits> = match last {
            Some(last) if n_regimes == 1 => Some(context.needed(last).into()),
            _ => None,
        };
        for regime in 0..n_regimes {
            let reads =
                context.viability.reads(&mut context.points.hypotheses, reading.hypothesis, regime)?;
            let is_possible = match &needed {
                Some(needed) => contains(reads, bad) || intersects(reads, needed),
                None => reads.iter().any(|&word| word != 0),
            };
            if is_possible {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn longer(&mut self, sequence: SequenceId, symbol: Symbol) -> SequenceId {
        let Readings { sequences, longer, .. } = self;
        *longer.entry((sequence, symbol)).or_insert_with(|| {
            sequences.push((sequence, symbol));
            SequenceId(sequences.len() as u32 - 1)
        })
    }

    fn intern(&mut self, readings: Vec<Reading>) -> SetId {
        if let Some(&known) = self.ids.get(readings.as_slice()) {
            return known;
        }
        let id = SetId(self.sets.len() as u32);
        self.sets.push(readings.as_slice().into());
        self.ids.insert(readings.into(), id);
        self.rows.push(u32::MAX);
        id
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let n_readings: usize = self.sets.iter().map(|set| set.len()).sum();
        self.sequences.len() * 48
            + n_readings * 2 * size_of::<Reading>()
            + self.sets.len() * 64
            + self.cells.capacity() * 4
    }
}

/// What a step of [`Readings`] needs besides them.
pub(super) struct Context<'a> {
    pub(super) points: &'a mut Points,
    /// What is known of hypotheses by the main scope.
    pub(super) viability: &'a mut Viability,
    /// By terminal, what may follow it.
    pub(super) follow: &'a [Bits],
}

impl Context<'_> {
    fn needed(&self, terminal: TerminalId) -> &[u64] {
        &self.follow[terminal.index()]
    }
}
