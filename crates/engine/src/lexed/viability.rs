//! Which hypotheses can come to something.
//!
//! A thread is kept only if some completion of the text exists, so for each hypothesis h we need the terminals
//! that a token can be next. That is not enough where tokens cannot stand side by side: under maximal munch
//! no text has two tokens of `/a+/` in a row, though the lexer can read either. So a boundary is called *good
//! after T* if every terminal that the rules allow after T can be read there, and leads to a good boundary
//! again (the greatest such relation). From a good boundary, whatever the parser still needs can be
//! spelled, terminal by terminal.
//!
//! reads(h) = the terminals of the next token that is not ignored, over all bytes that may follow, whose
//! boundary is good; with a bit for "the text may end before any such token" and one for "some boundary that
//! is not good can be reached". Both fixpoints are taken over all hypotheses that follow h, once: later ones
//! build on them. If reads(h) meets what the parser reads, the thread is viable. If it does not and no bad
//! boundary is in reach, it is not. Else it depends on the stack, and a search decides it
//! ([`Lexed::is_viable`](super::Lexed)).
//!
//! Under the contextual discipline, tokens behind the next are read strictly (see the crate `scan`), so a good
//! boundary is one, and one that is not may be.
//!
//! Where brackets suspend indentation, newlines count as ignored; so there are two regimes, and a good
//! boundary is good in both.

use maskwright_grammar::TerminalId;
use maskwright_scan::bits::{Bits, contains, insert, is_subset, remove, unite};
use maskwright_scan::{Hypotheses, HypothesisId, Node, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;

/// What the fixpoints need to know of a grammar.
pub(crate) struct Adjacency {
    pub(crate) n_terminals: usize,
    /// Words of a set: terminals, the end of the text, and "a bad boundary can be reached".
    pub(crate) n_words: usize,
    /// Per regime, the terminals that the parser never gets.
    pub(crate) ignored: Vec<Bits>,
    /// Per regime and terminal, what must be readable after its token.
    pub(crate) needed: Vec<Vec<Bits>>,
    /// The terminals that are left out of the rules though they can come: no end of theirs is good.
    pub(crate) doubtful: Bits,
}

impl Adjacency {
    /// The bit of the end of the text.
    pub(crate) fn end(&self) -> usize {
        self.n_terminals
    }

    /// The bit that says that a bad boundary can be reached.
    pub(crate) fn bad(&self) -> usize {
        self.n_terminals + 1
    }

    fn n_regimes(&self) -> usize {
        self.ignored.len()
    }
}

/// What is known of hypotheses.
pub(crate) struct Viability {
    pub(crate) adjacency: Adjacency,
    /// Per hypothesis and regime, `n_words` words; zero where unknown.
    reads: Vec<u64>,
    is_solved: Vec<bool>,
    /// Ends of tokens that are not good.
    bad: FxHashSet<(u32, HypothesisId)>,
}

impl Viability {
    pub(crate) fn new(adjacency: Adjacency) -> Viability {
        Viability { adjacency, reads: Vec::new(), is_solved: Vec::new(), bad: FxHashSet::default() }
    }

    /// Forgets what is known, because steps of hypotheses have changed.
    pub(crate) fn forget(&mut self) {
        self.reads.clear();
        self.is_solved.clear();
        self.bad.clear();
    }

    /// reads(h), in a regime.
    pub(crate) fn reads(
        &mut self,
        hypotheses: &mut Hypotheses,
        id: HypothesisId,
        regime: usize,
    ) -> Result<&[u64], EngineError> {
        if !self.is_solved.get(id.index()).copied().unwrap_or(false) {
            self.solve(hypotheses, id)?;
        }
        Ok(self.known(id, regime))
    }

    /// Whether a token's end is good.
    pub(crate) fn is_good(&self, terminal: usize, boundary: HypothesisId) -> bool {
        !self.bad.contains(&(terminal as u32, boundary))
    }

    fn known(&self, id: HypothesisId, regime: usize) -> &[u64] {
        let n_words = self.adjacency.n_words;
        let start = (id.index() * self.adjacency.n_regimes() + regime) * n_words;
        &self.reads[start..start + n_words]
    }

    fn solve(&mut self, hypotheses: &mut Hypotheses, root: HypothesisId) -> Result<(), EngineError> {
        let is_solved = |id: HypothesisId| self.is_solved.get(id.index()).copied().unwrap_or(false);
        let nodes = hypotheses.explore(root, is_solved)?;
        let local: FxHashMap<HypothesisId, usize> =
            nodes.iter().enumerate().map(|(index, node)| (node.id, index)).collect();
        // All ends of tokens are taken for good until one is found not to be; those behind which everything is
        // known are judged at once.
        let mut ends: FxHashSet<(u32, HypothesisId)> = FxHashSet::default();
        for &Outcome { terminal, next, is_dropped } in nodes.iter().flat_map(|node| &node.edges) {
            let terminal = terminal.filter(|_| !is_dropped);
            ends.extend(terminal.map(|terminal| (terminal.index() as u32, next)));
        }
        ends.retain(|&(terminal, next)| {
            if !local.contains_key(&next) && !self.suffices(terminal, |regime| self.known(next, regime)) {
                self.bad.insert((terminal, next));
            }
            local.contains_key(&next)
        });
        let n_regimes = self.adjacency.n_regimes();
        let n_words = self.adjacency.n_words;
        loop {
            let sets: Vec<Vec<u64>> =
                (0..n_regimes).map(|regime| self.least(hypotheses, &nodes, &local, regime)).collect();
            let of = |index: usize, regime: usize| &sets[regime][index * n_words..(index + 1) * n_words];
            let newly_bad: Vec<(u32, HypothesisId)> = ends
                .iter()
                .filter(|&&(terminal, next)| !self.suffices(terminal, |regime| of(local[&next], regime)))
                .copied()
                .collect();
            if newly_bad.is_empty() {
                self.reads.resize(hypotheses.n_known() * n_regimes * n_words, 0);
                self.is_solved.resize(hypotheses.n_known(), false);
                for (index, node) in nodes.iter().enumerate() {
                    self.is_solved[node.id.index()] = true;
                    for regime in 0..n_regimes {
                        let start = (node.id.index() * n_regimes + regime) * n_words;
                        self.reads[start..start + n_words].copy_from_slice(of(index, regime));
                    }
                }
                return Ok(());
            }
            for end in newly_bad {
                ends.remove(&end);
                self.bad.insert(end);
            }
        }
    }

    /// Whether what can be read at a boundary is all that the rules may need after `terminal`.
    fn suffices<'s>(&self, terminal: u32, reads: impl Fn(usize) -> &'s [u64]) -> bool {
        let is_doubtful = contains(&self.adjacency.doubtful, terminal as usize);
        (0..self.adjacency.n_regimes()).all(|regime| {
            self.adjacency.ignored[regime][terminal as usize / 64] >> (terminal % 64) & 1 == 1
                || (!is_doubtful
                    && is_subset(&self.adjacency.needed[regime][terminal as usize], reads(regime)))
        })
    }

    /// The least sets, given which ends of tokens are bad.
    fn least(
        &self,
        hypotheses: &Hypotheses,
        nodes: &[Node],
        local: &FxHashMap<HypothesisId, usize>,
        regime: usize,
    ) -> Vec<u64> {
        let n_words = self.adjacency.n_words;
        let mut sets = vec![0u64; nodes.len() * n_words];
        let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let set = &mut sets[index * n_words..(index + 1) * n_words];
            if hypotheses.ends_here(node.id) {
                insert(set, self.adjacency.end());
            }
            for &outcome in node.edges.iter().filter(|outcome| hypotheses.is_for(outcome, regime > 0)) {
                let Outcome { terminal, next, .. } = outcome;
                match terminal.map(TerminalId::index) {
                    Some(terminal) if !contains(&self.adjacency.ignored[regime], terminal) => {
                        let is_bad = self.bad.contains(&(terminal as u32, next));
                        insert(set, if is_bad { self.adjacency.bad() } else { terminal });
                    }
                    _ => match local.get(&next) {
                        Some(&next) => predecessors[next].push(index as u32),
                        None => {
                            unite(set, self.known(next, regime));
                        }
                    },
                }
            }
        }
        let mut work: Vec<u32> = (0..nodes.len() as u32).collect();
        while let Some(index) = work.pop() {
            let from = sets[index as usize * n_words..(index as usize + 1) * n_words].to_vec();
            for &predecessor in &predecessors[index as usize] {
                let start = predecessor as usize * n_words;
                if unite(&mut sets[start..start + n_words], &from) {
                    work.push(predecessor);
                }
            }
        }
        sets
    }

    pub(crate) fn memory_usage(&self) -> usize {
        self.reads.capacity() * 8 + self.is_solved.capacity() + self.bad.capacity() * 12
    }
}

/// What must be readable after each terminal: what the rules have there, seen through the terminals that
/// `made` says are no part of the text.
pub(crate) fn needed(followers: &[Bits], made: &[usize]) -> Vec<Bits> {
    let mut needed = followers.to_vec();
    loop {
        let mut has_changed = false;
        for terminal in 0..needed.len() {
            for &between in made {
                if contains(&needed[terminal], between) {
                    let behind = needed[between].clone();
                    has_changed |= unite(&mut needed[terminal], &behind);
                }
            }
        }
        if !has_changed {
            break;
        }
    }
    for set in &mut needed {
        for &between in made {
            remove(set, between);
        }
    }
    needed
}
