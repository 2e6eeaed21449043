//! Runs of a lexer: from a point, inside a token of the vocabulary, through ignored tokens and one that is not.
//!
//! A search asks a run how a terminal can be read at some cost ([`Runs::level`]). An example: before any text, the run for a number has at
//! cost 1 the exits after each token that is a whole number, and after each token that begins with one, like `1,` with the rest `,`.
//!
//! A run is made of walks ([`walks`](super::walks)) by increasing cost, level by level, as far as it is asked for. For one terminal, only
//! the points are walked from that can reach a new end of it ([`ends`](super::ends)). Both depend on the lexer and the vocabulary
//! only, so all states of the rules share them.
//!
//! **Costs** count a token of the vocabulary when it is begun. So the rest of a token in progress at cost c is paid for, and a bound on
//! costs bounds the work.

use std::collections::hash_map::Entry;
use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::TerminalId;
use maskwright_scan::{Blanks, HypothesisId, Point, Points};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ends::Ends;
use super::walks::{End, RunStart, Walk, Walks};
use crate::EngineError;
use crate::spelling::{FutureId, Futures};

/// Making a level takes the time of so many looks.
const LOOKS_PER_LEVEL: u64 = 16;

/// A run, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct RunId(u32);

/// How a run can be left: with a token of `terminal`, in a hypothesis, inside a token of the vocabulary; or with the
/// end of the text, after ignored tokens only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Exit {
    /// `None` for the end of the text.
    pub(super) terminal: Option<TerminalId>,
    pub(super) hypothesis: HypothesisId,
    pub(super) future: FutureId,
    /// The widths that the next line may have, if the token ends one; distinct.
    pub(super) lines: Arc<[Blanks]>,
}

struct Run {
    is_nested: bool,
    /// By cost, where tokens of the vocabulary have ended and nothing was read from yet; by hypothesis, as it does not depend on
    /// the lines what can be read from there.
    pending: Vec<FxHashMap<HypothesisId, Vec<Point>>>,
    /// The least cost of each point met.
    costs: FxHashMap<Point, u32>,
    /// By cost, the walks made, each with what the bytes up to it made.
    walks: Vec<Vec<(Arc<Walk>, Blanks)>>,
    /// By terminal, the exits by cost, as far as asked for.
    levels: FxHashMap<Option<TerminalId>, Vec<Arc<[Exit]>>>,
    /// The least cost at which a token of the vocabulary ends where the lexer's does.
    root_costs: FxHashMap<End, u32>,
    closed: FxHashSet<(End, FutureId)>,
}

/// What runs are made from.
pub(super) struct Lexing<'a> {
    pub(super) points: &'a mut Points,
    pub(super) futures: &'a mut Futures,
    /// Which ways lead to which ends; all may lead to any if that is not known.
    pub(super) ends: Option<&'a Ends>,
}

/// The runs of one grammar over one vocabulary.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    ids: FxHashMap<RunStart, RunId>,
    walks: Walks,
    n_exits: usize,
    /// Looks at levels, and at walks and points from which levels are made.
    n_looks: u64,
}

impl Runs {
    /// Drops the runs, but not the walks that they are made of.
    pub(super) fn clear(&mut self) {
        *self = Runs { walks: std::mem::take(&mut self.walks), ..Runs::default() };
    }

    /// The run from `start`.
    pub(super) fn run(&mut self, lexing: &mut Lexing<'_>, start: RunStart) -> Result<RunId, EngineError> {
        if let Some(&known) = self.ids.get(&start) {
            return Ok(known);
        }
        let mut run = Run {
            is_nested: start.is_nested,
            pending: Vec::new(),
            costs: FxHashMap::default(),
            walks: Vec::new(),
            levels: FxHashMap::default(),
            root_costs: FxHashMap::default(),
            closed: FxHashSet::default(),
        };
        if start.future == lexing.futures.root() {
            run.add_pending(start.point, 0);
        } else {
            let walk = self.walks.walk(lexing.points, lexing.futures, start)?;
            run.add_walk(walk, Blanks::More(0), 0);
        }
        let id = RunId(self.runs.len() as u32);
        self.runs.push(run);
        self.ids.insert(start, id);
        Ok(id)
    }

    /// The exits of a run for a terminal (for the end of the text) at `cost`; `None` if it has none at this cost or more.
    pub(super) fn level(
        &mut self,
        lexing: &mut Lexing<'_>,
        id: RunId,
        terminal: Option<TerminalId>,
        cost: u32,
    ) -> Result<Option<Arc<[Exit]>>, EngineError> {
        let index = id.0 as usize;
        loop {
            self.n_looks += 1;
            let levels = self.runs[index].levels.entry(terminal).or_default();
            let n_levels = levels.len() as u32;
            if let Some(level) = levels.get(cost as usize) {
                return Ok(Some(level.clone()));
            }
            if let Some(before) = n_levels.checked_sub(1) {
                self.walk_on(lexing, index, terminal, before)?;
            }
            let (is_any_found, n_looks) = self.runs[index].has_exits(terminal, n_levels);
            self.n_looks += n_looks;
            if !is_any_found && !self.goes_on(lexing, index, terminal, n_levels)? {
                return Ok(None);
            }
            self.add_level(lexing, index, terminal, n_levels)?;
        }
    }

    /// Walks from the points at `cost` that can lead to something new for `terminal`.
    fn walk_on(
        &mut self,
        lexing: &mut Lexing<'_>,
        index: usize,
        terminal: Option<TerminalId>,
        cost: u32,
    ) -> Result<(), EngineError> {
        let pending = match self.runs[index].pending.get_mut(cost as usize) {
            Some(pending) => std::mem::take(pending),
            None => return Ok(()),
        };
        let mut left = FxHashMap::default();
        let mut outcome = Ok(());
        for (hypothesis, waiting) in pending {
            let is_walked = match outcome {
                Ok(()) => self.walk_from(lexing, index, (terminal, hypothesis, cost), &waiting),
                Err(_) => Ok(false),
            };
            // Where the work ends, the others wait on.
            if !matches!(is_walked, Ok(true)) {
                left.insert(hypothesis, waiting);
            }
            outcome = outcome.and(is_walked.map(|_| ()));
        }
        self.runs[index].pending[cost as usize] = left;
        outcome
    }

    /// Walks from points of a hypothesis; false if that cannot lead to anything new.
    fn walk_from(
        &mut self,
        lexing: &mut Lexing<'_>,
        index: usize,
        (terminal, hypothesis, cost): (Option<TerminalId>, HypothesisId, u32),
        points: &[Point],
    ) -> Result<bool, EngineError> {
        if !self.is_worth_it(lexing, index, terminal, hypothesis, cost)? {
            return Ok(false);
        }
        let is_nested = self.runs[index].is_nested;
        for point in points {
            if self.runs[index].costs.get(point) == Some(&cost) {
                let start = RunStart { point: point.begun(), future: lexing.futures.root(), is_nested };
                let walk = self.walks.walk(lexing.points, lexing.futures, start)?;
                self.runs[index].add_walk(walk, point.line, cost + 1);
            }
        }
        Ok(true)
    }

    /// Whether a walk from some point at `cost` or more can lead to something new for `terminal`.
    fn goes_on(
        &mut self,
        lexing: &mut Lexing<'_>,
        index: usize,
        terminal: Option<TerminalId>,
        cost: u32,
    ) -> Result<bool, EngineError> {
        for at in cost as usize..self.runs[index].pending.len() {
            self.n_looks += 1;
            let hypotheses: Vec<HypothesisId> = self.runs[index].pending[at].keys().copied().collect();
            for hypothesis in hypotheses {
                self.n_looks += 1;
                if self.is_worth_it(lexing, index, terminal, hypothesis, at as u32)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether a token begun at `hypothesis` can lead to an end of `terminal` that is new, or inside a token of the
    /// vocabulary whose rest is not as cheaply spelled anew (lemma 1).
    fn is_worth_it(
        &mut self,
        lexing: &mut Lexing<'_>,
        index: usize,
        terminal: Option<TerminalId>,
        hypothesis: HypothesisId,
        cost: u32,
    ) -> Result<bool, EngineError> {
        let Some(ends) = lexing.ends else { return Ok(true) };
        let run = &self.runs[index];
        let Some(terminal) = terminal else {
            let is_known = run.root_costs.keys().any(|&(of, ..)| of.is_none());
            return Ok(!is_known && ends.may_end_text(hypothesis, run.is_nested));
        };
        let Some(after) = ends.after(hypothesis, terminal, run.is_nested) else { return Ok(true) };
        let is_newline =
            lexing.points.tables.layout.as_ref().is_some_and(|layout| layout.newline == terminal);
        for hypothesis in after {
            let Some(&known) =
                run.root_costs.get(&(Some(terminal), Blanks::None, hypothesis)).filter(|_| !is_newline)
            else {
                return Ok(true);
            };
            let bytes = self.walks.readable(lexing.points, hypothesis)?;
            // A rest with D tokens is of use at the next cost iff D > that − known.
            if lexing.futures.worst(ByteSet::FULL, bytes) > (cost + 1).saturating_sub(known) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Makes a level of what was found.
    fn add_level(
        &mut self,
        lexing: &mut Lexing<'_>,
        index: usize,
        terminal: Option<TerminalId>,
        cost: u32,
    ) -> Result<(), EngineError> {
        let Lexing { points, futures, .. } = lexing;
        let root = futures.root();
        let mut parts: FxHashMap<End, Vec<FutureId>> = FxHashMap::default();
        let mut roots: Vec<End> = Vec::new();
        let Runs { runs, walks, .. } = self;
        let Run { walks: of_run, root_costs, .. } = &mut runs[index];
        for (walk, before) in of_run.get(cost as usize).into_iter().flatten() {
            for &((_, line, hypothesis), future) in walks.exits(points, futures, walk, terminal)?.iter() {
                let end = (terminal, line.after_bytes(*before), hypothesis);
                if future == root {
                    roots.push(end);
                } else {
                    parts.entry(end).or_default().push(future);
                }
            }
        }
        // From here on nothing fails: a level that is not made leaves no trace.
        let mut ends: Vec<(End, FutureId)> = Vec::new();
        for end in roots {
            if let Entry::Vacant(entry) = root_costs.entry(end) {
                entry.insert(cost);
                ends.push((end, root));
            }
        }
        for (end, futures_there) in parts {
            let mut future = futures.union(futures_there);
            let run = &mut self.runs[index];
            // Lemma 1, with tokens counted when they are begun.
            if let Some(&root_cost) = run.root_costs.get(&end) {
                future = futures.costly(future, cost - root_cost + 1);
            }
            if future != FutureId::EMPTY && run.closed.insert((end, future)) {
                ends.push((end, future));
            }
        }
        let mut lines: FxHashMap<(HypothesisId, FutureId), Vec<Blanks>> = FxHashMap::default();
        for ((_, line, hypothesis), future) in ends {
            lines.entry((hypothesis, future)).or_default().extend((line != Blanks::None).then_some(line));
        }
        let mut exits: Vec<Exit> = lines
            .into_iter()
            .map(|((hypothesis, future), mut lines)| {
                lines.sort_unstable();
                Exit { terminal, hypothesis, future, lines: lines.into() }
            })
            .collect();
        exits.sort_unstable();
        self.n_exits += exits.len() + 1;
        self.n_looks += LOOKS_PER_LEVEL;
        self.runs[index].levels.entry(terminal).or_default().push(exits.into());
        Ok(())
    }

    /// The work of levels so far, in looks.
    pub(super) fn n_looks(&self) -> u64 {
        self.n_looks
    }

    /// Walks made so far.
    pub(super) fn n_walks(&self) -> u64 {
        self.walks.n_made()
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.walks.memory_usage() + self.runs.len() * 300 + self.n_exits * 80
    }
}

impl Run {
    /// Adds a point at which a token of the vocabulary ends.
    fn add_pending(&mut self, point: Point, cost: u32) {
        let known = self.costs.entry(point).or_insert(u32::MAX);
        if *known <= cost {
            return;
        }
        *known = cost;
        let level = cost as usize;
        if self.pending.len() <= level {
            self.pending.resize_with(level + 1, FxHashMap::default);
        }
        self.pending[level].entry(point.hypothesis).or_default().push(point);
    }

    /// Adds a walk that finds what it finds at `cost`; `before` is what the bytes up to it made. What it finds of a level that was
    /// made is known to that already, since all ways to ends of its terminal were followed then.
    fn add_walk(&mut self, walk: Arc<Walk>, before: Blanks, cost: u32) {
        for point in &walk.ends {
            self.add_pending(point.after_bytes(before), cost);
        }
        let level = cost as usize;
        if self.walks.len() <= level {
            self.walks.resize_with(level + 1, Vec::new);
        }
        self.walks[level].push((walk, before));
    }

    /// Whether some walk finds ends of a terminal (of the text) at `cost` or more, and how many were looked at.
    fn has_exits(&self, terminal: Option<TerminalId>, cost: u32) -> (bool, u64) {
        let mut n_looks = 0;
        let walks = self.walks.iter().skip(cost as usize).flatten().inspect(|_| n_looks += 1);
        let has_any = walks.into_iter().any(|(walk, _)| walk.has_exits(terminal));
        (has_any, n_looks)
    }
}
