//! Runs: reading one terminal to its end, in tokens.
//!
//! An example: the terminal is `[0-9]+`, read from its beginning between tokens, and the vocabulary has `1`, `12` and `1]`. One
//! token (`1` or `12`) ends it, so it can be left between tokens at cost 1. Or `1]` is begun: then it is left within that token, of
//! which `]` is still to be read, at cost 0, since a token is paid where it ends.
//!
//! The run of (residue, future, follow) says at which costs a reading of the terminal that stands at `residue`, inside a
//! token with `future`, can leave it: for each cost the future of the token that is then in progress, cut to
//! the bytes of `follow` that may come next, and the least cost at which it ends with a token. The empty reading does not count.
//!
//! Found by increasing cost over pairs (residue, future). All pairs of one cost are one graph search through the
//! product of the terminal's automaton and the futures (a *walk*). Walks at the start of a token are the large ones: they are put
//! together from those after each first byte, and are shared by all grammars of a compiler. Of residues at the start of a token
//! those are left out that others contain which are walked no later: what leaves them leaves those too, at no greater cost.

mod futures;
mod known;
mod partition;
mod ways;

use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId, meter};
use maskwright_vocabulary::Vocabulary;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;
use crate::ground::NEVER;
pub(crate) use futures::{FutureId, Futures, UNITS_PER_BYTE};
pub(crate) use known::visit_known;
pub(crate) use partition::{Partition, Partitioning};
use ways::Ways;
pub(crate) use ways::{Way, first_of_way};

/// Costs at which something can be left, each with the future of the token in progress; ascending.
pub(crate) type Exits = Arc<[(FutureId, u32)]>;

/// Exits, and how many costs were looked at.
type FoundExits = (Vec<(FutureId, u32)>, u32);

/// How much is done to find a run.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effort {
    /// Tokens that span terminals are left out, and what is not known is spelled by a shortest word.
    Upper,
    /// The run itself, in [`MAX_STEPS`] steps at most.
    Exact,
}

/// Units of work that a byte of a walk takes.
const UNITS_PER_EDGE: u64 = 4;

/// A residue, the future of the token that it is read in, and the bytes that may follow.
type RunKey = ((u64, StateId), FutureId, ByteSet);

/// The steps that one run may take, those of walks that are known included: some tenths of a second.
const MAX_STEPS: u64 = 10_000_000;
/// Walks of at most so many steps are made again rather than kept.
const MAX_FORGOTTEN: u64 = 64;
/// So many residues are compared with one to see whether they read all that it does.
const MAX_COMPARED: usize = 64;
/// The most runs and walks that are kept.
const MAX_KEPT: usize = 200_000;
/// Bytes that partitions may take before they are dropped.
const MAX_PARTITION_BYTES: usize = 64 << 20;
/// The most partitions that are kept unfinished.
const MAX_UNFINISHED: usize = 16;
/// How many tokens ahead a run looks before counters are told apart.
const SATURATED_TOKENS: u32 = 4;

/// What one vocabulary says about terminals; shared by the grammars of a compiler.
pub(crate) struct Spelling {
    pub(crate) futures: Futures,
    max_token_bytes: u32,
    walks: FxHashMap<((u64, StateId), FutureId), Arc<Walk>>,
    /// Runs that looked further than [`SATURATED_TOKENS`].
    runs: FxHashMap<RunKey, Exits>,
    /// The others, by the residue with its counts cut, and by how far they had to look.
    shared: FxHashMap<(RunKey, u32), Exits>,
    /// What the tokens do to residues.
    partitions: FxHashMap<(u64, StateId), Arc<Partition>>,
    partition_bytes: usize,
    /// Partitions that a call has left unfinished, the last one last.
    unfinished: Vec<((u64, StateId), Partitioning)>,
    /// Runs that take too many steps.
    given_up: FxHashSet<RunKey>,
    /// By residue, what spelling its shortest word costs.
    upper: FxHashMap<(u64, StateId), u32>,
    ways: Ways,
    /// By future: the walk that last came to it, and the residue there.
    seen: Vec<(u64, StateId)>,
    walk_number: u64,
}

/// What can be reached without ending a token, and by ending one.
#[derive(Default)]
struct Walk {
    /// Futures at which the terminal can be left.
    exits: Vec<FutureId>,
    /// Residues at the ends of tokens that something goes on from.
    ends: Vec<StateId>,
    /// Whether the terminal can be left at the end of a token.
    is_end: bool,
    /// The steps that it took, those of other walks that it is made of included.
    n_steps: u64,
}

impl Walk {
    /// Adds what it is to come to `residue` and `future`; whether the token goes on from there.
    fn add(&mut self, automaton: &Automaton, futures: &Futures, residue: StateId, future: FutureId) -> bool {
        let goes_on = !futures.edges(future).is_empty();
        let is_accepting = automaton.is_accepting(residue);
        if is_accepting && goes_on {
            self.exits.push(future);
        }
        if futures.is_end(future) {
            self.is_end |= is_accepting;
            if self.ends.last() != Some(&residue) {
                self.ends.push(residue);
            }
        }
        goes_on
    }

    /// Leaves everything once, and ends that nothing goes on from out.
    fn finish(&mut self, automaton: &Automaton) -> Result<(), AutomatonError> {
        self.exits.sort_unstable();
        self.exits.dedup();
        self.ends.sort_unstable();
        self.ends.dedup();
        let mut going_on = Vec::with_capacity(self.ends.len());
        for &end in &self.ends {
            if !automaton.next_bytes(end)?.is_empty() {
                going_on.push(end);
            }
        }
        self.ends = going_on;
        Ok(())
    }
}

impl Spelling {
    pub(crate) fn new(vocabulary: Arc<Vocabulary>) -> Spelling {
        Spelling {
            max_token_bytes: vocabulary.max_token_bytes() as u32,
            futures: Futures::new(vocabulary),
            walks: FxHashMap::default(),
            runs: FxHashMap::default(),
            shared: FxHashMap::default(),
            partitions: FxHashMap::default(),
            partition_bytes: 0,
            unfinished: Vec::new(),
            given_up: FxHashSet::default(),
            upper: FxHashMap::default(),
            ways: Ways::default(),
            seen: Vec::new(),
            walk_number: 0,
        }
    }

    /// The run from `residue` inside a token with `future` (at the start of one, if the effort is for upper bounds), or what the
    /// effort is enough for.
    ///
    /// # Errors
    /// If a limit of the automaton is reached, or the effort is not enough.
    pub(crate) fn exits(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        future: FutureId,
        follow: ByteSet,
        effort: Effort,
    ) -> Result<Exits, EngineError> {
        let in_terminal = EngineError::in_terminal(automaton);
        match effort {
            Effort::Upper => self.upper_run(automaton, residue, follow).map_err(in_terminal),
            Effort::Exact => {
                let run = self.run(automaton, residue, future, follow, MAX_STEPS).map_err(in_terminal)?;
                run.ok_or_else(|| EngineError::budget_search(MAX_STEPS))
            }
        }
    }

    /// The run from `residue` inside a token with `future`; see the module's head.
    ///
    /// Residues that differ only in large counts have one run: `Automaton::row_key` for B bytes reads strings
    /// of at most B bytes alike, and a run that ends a tokens ahead reads at most (a+1) tokens. One that looked
    /// further is made anew from the residue itself, and is its alone. How far a run looks depends on `Futures::worst`
    /// too. `worst` may depend on counts that `row_key` drops, so it is part of the cache key.
    ///
    /// `None` if finding it takes more than `max_steps` steps.
    ///
    /// # Errors
    /// If a limit of the automaton is reached.
    fn run(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        future: FutureId,
        follow: ByteSet,
        max_steps: u64,
    ) -> Result<Option<Exits>, AutomatonError> {
        let own_key = (automaton.residue_key(residue), future, follow);
        if let Some(known) = self.runs.get(&own_key) {
            return Ok(Some(known.clone()));
        }
        let worst = self.futures.worst(automaton.regex().last_bytes(), follow);
        let mut near = residue;
        if !automaton.is_literal_like() && automaton.row_key(residue, self.max_token_bytes)? != residue {
            near = automaton.row_key(residue, self.max_token_bytes.saturating_mul(SATURATED_TOKENS))?;
        }
        let shared_key = ((automaton.residue_key(near), future, follow), worst);
        if let Some(known) = self.shared.get(&shared_key) {
            return Ok(Some(known.clone()));
        }
        if max_steps == MAX_STEPS && self.given_up.contains(&own_key) {
            return Ok(None);
        }
        if self.runs.len() + self.shared.len() >= MAX_KEPT {
            self.runs.clear();
            self.shared.clear();
            self.given_up.clear();
        }
        let mut found = self.find(automaton, near, future, (follow, worst), max_steps)?;
        let is_deep = |found: &Option<FoundExits>| found.as_ref().is_some_and(|&(_, n)| n > SATURATED_TOKENS);
        if near != residue && is_deep(&found) {
            found = self.find(automaton, residue, future, (follow, worst), max_steps)?;
        }
        let is_own = is_deep(&found);
        let Some((exits, _)) = found else {
            self.given_up.insert(own_key);
            return Ok(None);
        };
        let exits: Exits = exits.into();
        if is_own {
            self.runs.insert(own_key, exits.clone());
        } else {
            self.shared.insert(shared_key, exits.clone());
        }
        Ok(Some(exits))
    }

    /// A cost at which a reading of the terminal from `residue`, begun with a token, can leave it with one: that of its shortest word,
    /// if tokens spell it.
    ///
    /// # Errors
    /// If a limit of the automaton is reached.
    fn upper_run(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        follow: ByteSet,
    ) -> Result<Exits, AutomatonError> {
        let root = self.futures.root();
        if automaton.is_accepting(residue) {
            // The empty reading is none, and whoever asks knows of it.
            return Ok(Arc::new([]));
        }
        let key = automaton.residue_key(residue);
        let cost = match self.upper.get(&key) {
            Some(&known) => known,
            None => {
                let cost = self.futures.spell(&automaton.shortest_word(residue)?);
                if self.upper.len() >= MAX_KEPT {
                    self.upper.clear();
                }
                self.upper.insert(key, cost);
                cost
            }
        };
        if cost == NEVER {
            let run = self.run(automaton, residue, root, follow, u64::MAX)?;
            return Ok(run
                .iter()
                .flat_map(|run| run.iter().copied())
                .filter(|exit| exit.0 == root)
                .collect());
        }
        Ok(Arc::new([(root, cost)]))
    }

    /// The exits, and how many costs were looked at; `None` if that takes more than `max_steps` steps.
    fn find(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        future: FutureId,
        (follow, worst): (ByteSet, u32),
        max_steps: u64,
    ) -> Result<Option<FoundExits>, AutomatonError> {
        let mut n_steps = 0;
        let root = self.futures.root();
        let mut exits: Vec<(FutureId, u32)> = Vec::new();
        let mut root_cost = NEVER;
        let mut seen: FxHashSet<StateId> = FxHashSet::default();
        // By residue at the end of a token: the one at its start.
        let mut before: FxHashMap<StateId, StateId> = FxHashMap::default();
        let mut keys: FxHashSet<StateId> = FxHashSet::default();
        let mut walked: FxHashSet<StateId> = FxHashSet::default();
        let mut frontier = vec![(residue, future)];
        if future == root {
            seen.insert(residue);
        }
        let mut cost = 0;
        // Lemma 1: from here on nothing is better than having ended a token at `root_cost`.
        while !frontier.is_empty() && !is_beyond(cost, root_cost, worst) {
            let is_last = is_beyond(cost + 1, root_cost, worst);
            let mut left = Vec::new();
            let mut next = Vec::new();
            // What another residue reads too, and did no later, adds nothing.
            meter::spend(frontier.len() as u64)?;
            let begins: Vec<StateId> = frontier.iter().filter(|at| at.1 == root).map(|at| at.0).collect();
            walked.extend(widest(automaton, &walked, &begins)?);
            for (residue, future) in frontier {
                if future == root && !walked.contains(&residue) {
                    continue;
                }
                if future == root && !automaton.is_literal_like() {
                    let key = automaton.row_key(residue, self.max_token_bytes)?;
                    if !keys.insert(key) && is_last {
                        continue;
                    }
                }
                let walk = self.walk(automaton, residue, future)?;
                n_steps += walk.n_steps;
                if n_steps > max_steps {
                    return Ok(None);
                }
                left.extend(walk.exits.iter().map(|&exit| self.futures.restrict(exit, follow)));
                if walk.is_end {
                    if root_cost == NEVER && future == root {
                        self.ways.note(automaton, residue, &before);
                    }
                    root_cost = root_cost.min(cost + 1);
                }
                for &end in walk.ends.iter().filter(|end| seen.insert(**end)) {
                    next.push((end, root));
                    if future == root {
                        before.insert(end, residue);
                    }
                }
            }
            let mut left = self.futures.union(left);
            if cost >= root_cost {
                left = self.futures.costly(left, cost - root_cost + 2);
            }
            if left != FutureId::EMPTY && exits.iter().all(|&(known, _)| known != left) {
                exits.push((left, cost));
            }
            frontier = next;
            cost += 1;
        }
        if root_cost != NEVER {
            exits.push((root, root_cost));
        }
        exits.sort_by_key(|&(_, cost)| cost);
        Ok(Some((exits, cost)))
    }

    fn walk(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        future: FutureId,
    ) -> Result<Arc<Walk>, AutomatonError> {
        let key = (automaton.residue_key(residue), future);
        if let Some(known) = self.walks.get(&key) {
            return Ok(known.clone());
        }
        let walk = Arc::new(match future == self.futures.root() {
            true => self.walk_by_first_byte(automaton, residue)?,
            false => self.search(automaton, residue, future)?,
        });
        if walk.n_steps > MAX_FORGOTTEN {
            if self.walks.len() >= MAX_KEPT {
                self.walks.clear();
            }
            self.walks.insert(key, walk.clone());
        }
        Ok(walk)
    }

    /// The walk from `residue` at the start of a token, put together from those after each first byte: "any key but these
    /// names" is any key, and walks are shared, after most of them.
    fn walk_by_first_byte(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
    ) -> Result<Walk, AutomatonError> {
        let mut walk = Walk::default();
        let root = self.futures.root();
        for index in 0..self.futures.edges(root).len() {
            let (byte, future) = self.futures.edges(root)[index];
            let Some(next) = automaton.step(residue, byte)? else { continue };
            walk.n_steps += 1;
            if walk.add(automaton, &self.futures, next, future) {
                let after = self.walk(automaton, next, future)?;
                walk.n_steps += after.n_steps;
                walk.exits.extend_from_slice(&after.exits);
                walk.ends.extend_from_slice(&after.ends);
                walk.is_end |= after.is_end;
            }
        }
        walk.finish(automaton)?;
        Ok(walk)
    }

    /// The walk from `residue` inside a token with `future`, by search.
    fn search(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        future: FutureId,
    ) -> Result<Walk, AutomatonError> {
        let futures = &self.futures;
        let mut walk = Walk::default();
        self.walk_number += 1;
        let number = self.walk_number;
        // The residue that each future was last seen with. Where several residues take turns at one future, pairs are
        // visited again, at most once for each path: as in the trie.
        let seen = &mut self.seen;
        seen.resize(futures.len(), (0, residue));
        let mut stack = vec![(residue, future)];
        while let Some((residue, future)) = stack.pop() {
            meter::spend(UNITS_PER_EDGE * futures.edges(future).len() as u64)?;
            for &(byte, next_future) in futures.edges(future) {
                let Some(next) = automaton.step(residue, byte)? else { continue };
                let mark = &mut seen[next_future.index()];
                if *mark == (number, next) {
                    continue;
                }
                *mark = (number, next);
                walk.n_steps += 1;
                if walk.add(automaton, futures, next, next_future) {
                    stack.push((next, next_future));
                }
            }
        }
        walk.finish(automaton)?;
        Ok(walk)
    }

    /// How a terminal can be finished from a residue, if a run has found that out.
    pub(crate) fn way(&self, automaton: &Automaton, residue: StateId) -> Option<Way> {
        self.ways.get(automaton, residue)
    }

    /// The partition of a residue, if it is known.
    pub(crate) fn partition(&self, automaton: &Automaton, residue: StateId) -> Option<Arc<Partition>> {
        self.partitions.get(&automaton.residue_key(residue)).cloned()
    }

    /// Takes the partition of a residue that a call has left unfinished.
    pub(crate) fn unfinished(&mut self, automaton: &Automaton, residue: StateId) -> Option<Partitioning> {
        let key = automaton.residue_key(residue);
        let at = self.unfinished.iter().position(|&(known, _)| known == key)?;
        Some(self.unfinished.remove(at).1)
    }

    /// Keeps an unfinished partition, if there are not too many.
    pub(crate) fn keep_unfinished(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        unfinished: Partitioning,
    ) {
        self.unfinished.push((automaton.residue_key(residue), unfinished));
        let n_beyond = self.unfinished.len().saturating_sub(MAX_UNFINISHED);
        self.unfinished.drain(..n_beyond);
    }

    /// Keeps the partition of a residue.
    pub(crate) fn keep_partition(
        &mut self,
        automaton: &Automaton,
        residue: StateId,
        partition: Arc<Partition>,
    ) {
        if self.partition_bytes > MAX_PARTITION_BYTES {
            self.partition_bytes = 0;
            self.partitions = FxHashMap::default();
        }
        let n_bytes = partition.memory_usage();
        if self.partitions.insert(automaton.residue_key(residue), partition).is_none() {
            self.partition_bytes += n_bytes;
        }
    }

    /// Approximate memory, in bytes.
    pub(crate) fn memory_usage(&self) -> usize {
        let walks: usize =
            self.walks.values().map(|walk| walk.exits.len() * 4 + walk.ends.len() * 4 + 80).sum();
        let runs = self.runs.values().chain(self.shared.values());
        let runs: usize = runs.map(|exits| exits.len() * 8 + 80).sum();
        self.futures.memory_usage()
            + walks
            + runs
            + self.partition_bytes
            + self.ways.memory_usage()
            + self.upper.len() * 24
    }
}

/// The members of `begins` whose language no other member and no member of `walked` contains; where there are very many,
/// perhaps some more.
fn widest(
    automaton: &Automaton,
    walked: &FxHashSet<StateId>,
    begins: &[StateId],
) -> Result<Vec<StateId>, AutomatonError> {
    let mut widest: Vec<StateId> = Vec::new();
    for &begin in begins {
        meter::spend(walked.len().min(MAX_COMPARED) as u64 + 1)?;
        let mut is_new = true;
        for &known in walked.iter().chain(&widest).take(MAX_COMPARED) {
            if automaton.is_within(begin, known)? {
                is_new = false;
                break;
            }
        }
        if !is_new {
            continue;
        }
        if widest.len() < MAX_COMPARED {
            let mut kept = Vec::with_capacity(widest.len() + 1);
            for known in widest {
                if !automaton.is_within(known, begin)? {
                    kept.push(known);
                }
            }
            widest = kept;
        }
        widest.push(begin);
    }
    Ok(widest)
}

/// Whether no begun token at `cost` can be better than no token begun at `root_cost`, if the rests of begun
/// tokens take at most `worst` tokens to spell (lemma 1).
pub(crate) fn is_beyond(cost: u32, root_cost: u32, worst: u32) -> bool {
    u64::from(root_cost) + u64::from(worst) <= u64::from(cost) + 1 && root_cost != NEVER && worst != NEVER
}
