//! Runs of a lexer: from a point, inside a token of the vocabulary, through ignored tokens and one that is not.
//!
//! A *walk* is what can be come to from (point, future) without beginning another token of the vocabulary: the
//! product of the lexer's hypotheses and the futures, left where a token of the lexer ends that the parser gets. A
//! *run* is made of walks by increasing cost, level by level, as far as it is asked for. Both depend on the lexer and
//! the vocabulary only, so all states of the rules share them.
//!
//! **Costs** count a token of the vocabulary when it is begun. So what is left at cost c with a token in progress is
//! paid for, and a bound on costs bounds what has to be looked at.

use std::sync::Arc;

use maskwright_automata::ByteSet;
use maskwright_grammar::TerminalId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::super::futures::{FutureId, Futures};
use super::blocks::Widths;
use crate::EngineError;
use crate::lexed::{HypothesisId, Lexed, Point};

/// The most walks that are kept.
const MAX_WALKS: usize = 50_000;

/// A run, by number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct RunId(u32);

/// Where a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct RunStart {
    pub(super) point: Point,
    pub(super) future: FutureId,
    /// Whether a bracket is open, so that ends of lines are ignored.
    pub(super) is_nested: bool,
}

/// How a run can be left: with a token of `terminal`, in a hypothesis, inside a token of the vocabulary; or with the
/// end of the text, after ignored tokens only.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Exit {
    /// `None` for the end of the text.
    pub(super) terminal: Option<TerminalId>,
    pub(super) hypothesis: HypothesisId,
    pub(super) future: FutureId,
    /// The widths that the next line may have, if the token ends one.
    pub(super) lines: Widths,
}

/// A token's end: its terminal, its line, the hypothesis behind it; or the text's.
type End = (Option<TerminalId>, Option<u32>, HypothesisId);

/// What can be reached without beginning a token of the vocabulary.
#[derive(Default)]
struct Walk {
    /// Ends of the lexer's tokens, with the rest of the vocabulary's there; the root for its end.
    exits: Vec<(End, FutureId)>,
    /// Points at ends of the vocabulary's tokens.
    ends: Vec<Point>,
}

struct Run {
    is_nested: bool,
    /// By cost, sorted by terminal.
    levels: Vec<Arc<[Exit]>>,
    /// Where tokens of the vocabulary have ended at the cost of the last level.
    frontier: Vec<Point>,
    seen: FxHashSet<Point>,
    /// The least cost at which a token of the vocabulary ends where the lexer's does.
    root_costs: FxHashMap<End, u32>,
    found: FxHashSet<(End, FutureId)>,
}

/// The runs of one grammar over one vocabulary.
#[derive(Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    ids: FxHashMap<RunStart, RunId>,
    walks: FxHashMap<RunStart, Arc<Walk>>,
    readable: FxHashMap<HypothesisId, ByteSet>,
    /// By future, the walk that last came to it, and the point there.
    visited: Vec<(u64, Point)>,
    walk_number: u64,
    n_exits: usize,
}

impl Runs {
    /// The run from `start`.
    pub(super) fn run(
        &mut self,
        lexed: &mut Lexed,
        futures: &mut Futures,
        start: RunStart,
    ) -> Result<RunId, EngineError> {
        if let Some(&known) = self.ids.get(&start) {
            return Ok(known);
        }
        let mut run = Run {
            is_nested: start.is_nested,
            levels: Vec::new(),
            frontier: Vec::new(),
            seen: FxHashSet::default(),
            root_costs: FxHashMap::default(),
            found: FxHashSet::default(),
        };
        if start.future == futures.root() {
            run.seen.insert(start.point);
            run.frontier.push(start.point);
            run.levels.push(Arc::default());
        } else {
            let walk = self.walk(lexed, futures, start)?;
            self.add_level(lexed, futures, &mut run, &[walk])?;
        }
        let id = RunId(self.runs.len() as u32);
        self.runs.push(run);
        self.ids.insert(start, id);
        Ok(id)
    }

    /// The exits of a run at `cost`; `None` if it has none at this cost or more.
    pub(super) fn level(
        &mut self,
        lexed: &mut Lexed,
        futures: &mut Futures,
        id: RunId,
        cost: u32,
    ) -> Result<Option<Arc<[Exit]>>, EngineError> {
        let index = id.0 as usize;
        while self.runs[index].levels.len() <= cost as usize {
            if self.runs[index].frontier.is_empty() {
                return Ok(None);
            }
            let is_nested = self.runs[index].is_nested;
            let frontier = self.runs[index].frontier.clone();
            let mut walks = Vec::with_capacity(frontier.len());
            for point in frontier {
                let start = RunStart { point, future: futures.root(), is_nested };
                walks.push(self.walk(lexed, futures, start)?);
            }
            let empty = Run {
                is_nested,
                levels: Vec::new(),
                frontier: Vec::new(),
                seen: FxHashSet::default(),
                root_costs: FxHashMap::default(),
                found: FxHashSet::default(),
            };
            let mut run = std::mem::replace(&mut self.runs[index], empty);
            run.frontier.clear();
            let added = self.add_level(lexed, futures, &mut run, &walks);
            self.runs[index] = run;
            added?;
        }
        Ok(self.runs[index].levels.get(cost as usize).cloned())
    }

    /// Adds the level that `walks` make.
    fn add_level(
        &mut self,
        lexed: &mut Lexed,
        futures: &mut Futures,
        run: &mut Run,
        walks: &[Arc<Walk>],
    ) -> Result<(), EngineError> {
        let cost = run.levels.len() as u32;
        let root = futures.root();
        let mut parts: FxHashMap<End, Vec<FutureId>> = FxHashMap::default();
        for &(end, future) in walks.iter().flat_map(|walk| &walk.exits) {
            if future == root {
                run.root_costs.entry(end).or_insert(cost);
            } else {
                parts.entry(end).or_default().push(future);
            }
        }
        let mut ends: Vec<(End, FutureId)> =
            run.root_costs.iter().filter(|&(_, &known)| known == cost).map(|(&end, _)| (end, root)).collect();
        for (end, futures_there) in parts {
            let readable = self.readable(lexed, end.2)?;
            let cut = futures_there.into_iter().map(|future| futures.restrict(future, readable)).collect();
            let mut future = futures.union(cut);
            // Lemma 1, with tokens counted when they are begun.
            if let Some(&root_cost) = run.root_costs.get(&end) {
                future = futures.costly(future, cost - root_cost + 1);
            }
            if future != FutureId::EMPTY && run.found.insert((end, future)) {
                ends.push((end, future));
            }
        }
        let mut lines: FxHashMap<(Option<TerminalId>, HypothesisId, FutureId), Vec<u32>> =
            FxHashMap::default();
        for ((terminal, line, hypothesis), future) in ends {
            lines.entry((terminal, hypothesis, future)).or_default().extend(line);
        }
        let mut exits: Vec<Exit> = lines
            .into_iter()
            .map(|((terminal, hypothesis, future), mut lines)| {
                lines.sort_unstable();
                Exit { terminal, hypothesis, future, lines: lines.into() }
            })
            .collect();
        exits.sort_unstable();
        self.n_exits += exits.len();
        run.levels.push(exits.into());
        for &point in walks.iter().flat_map(|walk| &walk.ends) {
            if run.seen.insert(point) {
                run.frontier.push(point);
            }
        }
        Ok(())
    }

    fn walk(
        &mut self,
        lexed: &mut Lexed,
        futures: &Futures,
        start: RunStart,
    ) -> Result<Arc<Walk>, EngineError> {
        if let Some(known) = self.walks.get(&start) {
            return Ok(known.clone());
        }
        let mut walk = Walk::default();
        self.walk_number += 1;
        let number = self.walk_number;
        self.visited.resize(futures.len(), (0, start.point));
        let root = futures.root();
        let mut reads = Vec::new();
        let mut stack = vec![(start.point, start.future)];
        while let Some((point, future)) = stack.pop() {
            for &(byte, next_future) in futures.edges(future) {
                reads.clear();
                lexed.read(point, byte, &mut reads)?;
                let goes_on = !futures.edges(next_future).is_empty();
                let is_end = futures.is_end(next_future);
                for read in &reads {
                    let terminal =
                        read.terminal.filter(|&terminal| !lexed.is_ignored(terminal, start.is_nested));
                    if let Some(terminal) = terminal {
                        let end = (Some(terminal), read.next.line, read.next.hypothesis);
                        if is_end {
                            push_new(&mut walk.exits, (end, root));
                        }
                        if goes_on && self.can_go_on(lexed, futures, end.2, next_future)? {
                            push_new(&mut walk.exits, (end, next_future));
                        }
                        continue;
                    }
                    // An ignored token's line is over.
                    let line = read.next.line.filter(|_| read.terminal.is_none());
                    let next = Point { line, ..read.next };
                    let mark = &mut self.visited[next_future.index()];
                    if *mark == (number, next) {
                        continue;
                    }
                    *mark = (number, next);
                    if is_end {
                        push_new(&mut walk.ends, next);
                        if lexed.ends_here(next.hypothesis) {
                            push_new(&mut walk.exits, ((None, None, next.hypothesis), root));
                        }
                    }
                    if goes_on {
                        stack.push((next, next_future));
                    }
                }
            }
        }
        walk.exits.sort_unstable();
        walk.exits.dedup();
        walk.ends.sort_unstable();
        walk.ends.dedup();
        let walk = Arc::new(walk);
        if self.walks.len() >= MAX_WALKS {
            self.walks.clear();
        }
        self.walks.insert(start, walk.clone());
        Ok(walk)
    }

    /// Whether some rest of a token goes on from `hypothesis` for a byte at least.
    fn can_go_on(
        &mut self,
        lexed: &mut Lexed,
        futures: &Futures,
        hypothesis: HypothesisId,
        future: FutureId,
    ) -> Result<bool, EngineError> {
        let readable = self.readable(lexed, hypothesis)?;
        Ok(futures.edges(future).iter().any(|&(byte, _)| readable.contains(byte)))
    }

    fn readable(&mut self, lexed: &mut Lexed, hypothesis: HypothesisId) -> Result<ByteSet, EngineError> {
        if let Some(&known) = self.readable.get(&hypothesis) {
            return Ok(known);
        }
        let bytes = lexed.readable_bytes(hypothesis)?;
        self.readable.insert(hypothesis, bytes);
        Ok(bytes)
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let walks: usize = self.walks.values().map(|walk| walk.exits.len() * 24 + walk.ends.len() * 12).sum();
        walks + self.walks.len() * 80 + self.runs.len() * 300 + self.n_exits * 80 + self.visited.len() * 24
    }
}

/// Adds what is not the same as the last.
fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.last() != Some(&item) {
        list.push(item);
    }
}
