//! Walks of a lexer: what can be reached from a point inside one token of the vocabulary.
//!
//! A [`Walk`] lists the ends of the lexer's tokens that the parser gets, with the rest of the vocabulary's token there, and the
//! points where the vocabulary's token itself ends. An example: from the beginning of a statement with the token `x =` in progress, the
//! walk ends after the name `x`, with ` =` left.
//!
//! A walk is the product of the lexer's hypotheses and the futures. Where all bytes of the rest of a token lead back to one point, as
//! inside names, strings and comments, the rest is taken whole. Large parts are walks of their own, because most places in names and
//! keywords lead to the same.

use std::sync::Arc;

use maskwright_automata::{ByteSet, meter};
use maskwright_grammar::TerminalId;
use maskwright_scan::{Blanks, HypothesisId, Point, Points, Read};
use rustc_hash::FxHashMap;

use crate::EngineError;
use crate::spelling::{FutureId, Futures};

/// Units of work that a byte of a token takes.
const UNITS_PER_EDGE: u64 = 4;

/// Futures with fewer strings are walked rather than asked whether all their bytes lead back.
const MIN_STRINGS: u32 = 8;
/// Futures with as many strings are walked by themselves, to be used again.
const MIN_SHARED: u32 = 32;
/// So many walks are made one inside the other.
const MAX_DEPTH: u32 = 8;
/// The most walks that are kept.
const MAX_WALKS: usize = 50_000;

/// Where a walk or a run begins.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct RunStart {
    /// Before any bytes ([`Point::begun`]).
    pub(super) point: Point,
    pub(super) future: FutureId,
    /// Whether a bracket is open, so that ends of lines are ignored.
    pub(super) is_nested: bool,
}

/// A token's end: its terminal, its line, the hypothesis after it; or the text's.
pub(super) type End = (Option<TerminalId>, Blanks, HypothesisId);

/// A way out of a walk: an end, and the rest of the vocabulary's token there (the root at its end).
type WayOut = (End, FutureId);

/// What can be reached without beginning a token of the vocabulary.
#[derive(Default)]
pub(super) struct Walk {
    number: u64,
    /// Sorted.
    exits: Vec<WayOut>,
    /// Points at ends of the vocabulary's tokens.
    pub(super) ends: Vec<Point>,
}

impl Walk {
    /// Whether there are exits for a terminal (for the end of the text).
    pub(super) fn has_exits(&self, terminal: Option<TerminalId>) -> bool {
        !self.exits_for(terminal).is_empty()
    }

    /// The exits for a terminal (for the end of the text).
    fn exits_for(&self, terminal: Option<TerminalId>) -> &[WayOut] {
        let start = self.exits.partition_point(|&((other, ..), _)| other < terminal);
        let n_exits = self.exits[start..].partition_point(|&((other, ..), _)| other == terminal);
        &self.exits[start..start + n_exits]
    }

    /// Adds the ways out of a walk that begins within this one, after bytes that made `before`.
    fn add(&mut self, part: &Walk, before: Blanks) {
        for &((terminal, line, hypothesis), future) in &part.exits {
            push_new(&mut self.exits, ((terminal, line.after_bytes(before), hypothesis), future));
        }
        for point in &part.ends {
            push_new(&mut self.ends, point.after_bytes(before));
        }
    }
}

/// Bytes that all lead from a point back to it and do the same besides: they end a token, or an
/// ignored one, after which none of them can be read.
struct Loop {
    bytes: ByteSet,
    /// Where rests of such bytes end.
    at_end: Walk,
}

/// The walks of one grammar over one vocabulary.
#[derive(Default)]
pub(super) struct Walks {
    walks: FxHashMap<RunStart, Arc<Walk>>,
    /// By walk and terminal, see [`Walks::exits`].
    exits: FxHashMap<(u64, Option<TerminalId>), Arc<[WayOut]>>,
    n_exits: usize,
    readable: FxHashMap<HypothesisId, ByteSet>,
    loops: FxHashMap<(Point, bool), Arc<Loop>>,
    /// By future, the walk that visited it last, and the point there.
    visited: Vec<(u64, Point)>,
    walk_number: u64,
}

impl Walks {
    /// The walk from `start`.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn walk(
        &mut self,
        points: &mut Points,
        futures: &Futures,
        start: RunStart,
    ) -> Result<Arc<Walk>, EngineError> {
        self.walk_at(points, futures, start, MAX_DEPTH)
    }

    /// The same; so many walks may be made for it one inside the other.
    fn walk_at(
        &mut self,
        points: &mut Points,
        futures: &Futures,
        start: RunStart,
        depth: u32,
    ) -> Result<Arc<Walk>, EngineError> {
        if let Some(known) = self.walks.get(&start) {
            return Ok(known.clone());
        }
        let mut walk = Walk::default();
        self.walk_number += 1;
        let number = self.walk_number;
        walk.number = number;
        self.visited.resize(futures.len(), (0, start.point));
        let root = futures.root();
        let mut reads = Vec::new();
        let mut parts = Vec::new();
        let mut stack = vec![(start.point, start.future)];
        while let Some((point, future)) = stack.pop() {
            meter::spend(UNITS_PER_EDGE * futures.edges(future).len() as u64)?;
            for &(byte, next_future) in futures.edges(future) {
                reads.clear();
                points.read(point, byte, start.is_nested, &mut reads)?;
                let goes_on = !futures.edges(next_future).is_empty();
                let is_end = futures.is_end(next_future);
                for read in &reads {
                    let terminal = read
                        .terminal
                        .filter(|&terminal| !points.tables.is_ignored(terminal, start.is_nested));
                    if let Some(terminal) = terminal {
                        let end = (Some(terminal), read.next.line, read.next.hypothesis);
                        if is_end {
                            push_new(&mut walk.exits, (end, root));
                        }
                        if goes_on && self.can_go_on(points, futures, end.2, next_future)? {
                            push_new(&mut walk.exits, (end, next_future));
                        }
                        continue;
                    }
                    // An ignored token's line is over.
                    let line = if read.terminal.is_none() { read.next.line } else { Blanks::None };
                    let next = Point { line, ..read.next };
                    let mark = &mut self.visited[next_future.index()];
                    if *mark == (number, next) {
                        continue;
                    }
                    *mark = (number, next);
                    if is_end {
                        push_new(&mut walk.ends, next);
                        if points.hypotheses.ends_here(next.hypothesis) {
                            push_new(&mut walk.exits, ((None, Blanks::None, next.hypothesis), root));
                        }
                    }
                    if !goes_on {
                        continue;
                    }
                    if futures.n_strings(next_future) >= MIN_STRINGS {
                        let known = self.loop_at(points, futures, next.begun(), start.is_nested)?;
                        if futures.bytes(next_future).is_subset(&known.bytes) {
                            walk.add(&known.at_end, next.line);
                            continue;
                        }
                    }
                    if depth > 0 && futures.n_strings(next_future) >= MIN_SHARED {
                        parts.push((
                            RunStart { point: next.begun(), future: next_future, ..start },
                            next.line,
                        ));
                    } else {
                        stack.push((next, next_future));
                    }
                }
            }
        }
        for (part, line) in parts {
            let part = self.walk_at(points, futures, part, depth - 1)?;
            walk.add(&part, line);
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

    /// The exits of a walk for a terminal (for the end of the text), for each end at most one beside the root: the rests of all
    /// tokens that are in progress there and can be read on, in one.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn exits(
        &mut self,
        points: &mut Points,
        futures: &mut Futures,
        walk: &Walk,
        terminal: Option<TerminalId>,
    ) -> Result<Arc<[WayOut]>, EngineError> {
        if let Some(known) = self.exits.get(&(walk.number, terminal)) {
            return Ok(known.clone());
        }
        let root = futures.root();
        let mut exits = Vec::new();
        for same_end in walk.exits_for(terminal).chunk_by(|a, b| a.0 == b.0) {
            let end = same_end[0].0;
            let readable = self.readable(points, end.2)?;
            let mut rests = Vec::with_capacity(same_end.len());
            for &(_, future) in same_end {
                if future == root {
                    exits.push((end, root));
                } else {
                    rests.push(futures.restrict(future, readable));
                }
            }
            let rest = futures.union(rests);
            if rest != FutureId::EMPTY {
                exits.push((end, rest));
            }
        }
        let exits: Arc<[_]> = exits.into();
        if self.exits.len() >= MAX_WALKS {
            self.exits.clear();
            self.n_exits = 0;
        }
        self.n_exits += exits.len();
        self.exits.insert((walk.number, terminal), exits.clone());
        Ok(exits)
    }

    /// The largest loop at a point.
    fn loop_at(
        &mut self,
        points: &mut Points,
        futures: &Futures,
        point: Point,
        is_nested: bool,
    ) -> Result<Arc<Loop>, EngineError> {
        if let Some(known) = self.loops.get(&(point, is_nested)) {
            return Ok(known.clone());
        }
        let mut groups: Vec<(Vec<Read>, ByteSet)> = Vec::new();
        let mut reads = Vec::new();
        for byte in 0..=255 {
            reads.clear();
            points.read(point, byte, is_nested, &mut reads)?;
            if !reads.iter().any(|read| read.terminal.is_none() && read.next == point) {
                continue;
            }
            match groups.iter_mut().find(|(same, _)| *same == reads) {
                Some((_, bytes)) => bytes.insert(byte),
                None => groups.push((reads.clone(), ByteSet::singleton(byte))),
            }
        }
        let mut largest = Loop { bytes: ByteSet::EMPTY, at_end: Walk::default() };
        'groups: for (reads, bytes) in groups {
            if bytes.len() <= largest.bytes.len() {
                continue;
            }
            let mut at_end = Walk::default();
            for Read { terminal, next } in reads {
                let goes_on = self.readable(points, next.hypothesis)?.intersects(&bytes);
                if (terminal.is_some() || next != point) && goes_on {
                    continue 'groups;
                }
                let got = terminal.filter(|&terminal| !points.tables.is_ignored(terminal, is_nested));
                if let Some(got) = got {
                    at_end.exits.push(((Some(got), next.line, next.hypothesis), futures.root()));
                    continue;
                }
                let line = if terminal.is_none() { next.line } else { Blanks::None };
                at_end.ends.push(Point { line, ..next });
                if points.hypotheses.ends_here(next.hypothesis) {
                    at_end.exits.push(((None, Blanks::None, next.hypothesis), futures.root()));
                }
            }
            largest = Loop { bytes, at_end };
        }
        let largest = Arc::new(largest);
        self.loops.insert((point, is_nested), largest.clone());
        Ok(largest)
    }

    /// Whether some rest of a token can be read from `hypothesis` for at least one byte.
    fn can_go_on(
        &mut self,
        points: &mut Points,
        futures: &Futures,
        hypothesis: HypothesisId,
        future: FutureId,
    ) -> Result<bool, EngineError> {
        let readable = self.readable(points, hypothesis)?;
        Ok(futures.edges(future).iter().any(|&(byte, _)| readable.contains(byte)))
    }

    /// The bytes that a hypothesis can read.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn readable(
        &mut self,
        points: &mut Points,
        hypothesis: HypothesisId,
    ) -> Result<ByteSet, EngineError> {
        if let Some(&known) = self.readable.get(&hypothesis) {
            return Ok(known);
        }
        let bytes = points.readable_bytes(hypothesis)?;
        self.readable.insert(hypothesis, bytes);
        Ok(bytes)
    }

    /// Walks made so far.
    pub(super) fn n_made(&self) -> u64 {
        self.walk_number
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        let walks: usize = self.walks.values().map(|walk| walk.exits.len() * 24 + walk.ends.len() * 12).sum();
        walks
            + self.walks.len() * 80
            + self.n_exits * 24
            + self.exits.len() * 64
            + self.visited.len() * 24
            + self.loops.len() * 160
    }
}

/// Adds what is not the same as the last.
fn push_new<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.last() != Some(&item) {
        list.push(item);
    }
}
