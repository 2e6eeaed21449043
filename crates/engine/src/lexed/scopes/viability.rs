//! Which terminals a hypothesis can lead to, and whether the rest of a text can be spelled after them.
//!
//! A thread is kept only if the text has a completion, so for each hypothesis h we need the terminals that
//! its next token can be: [`reads`](Viability::reads). That is not enough, because some tokens cannot stand
//! side by side. Under maximal munch no text has two tokens of `/a+/` in a row, though the lexer can read
//! either.
//!
//! **Definition.** The boundary after a token of terminal T is *good* if every terminal that the rules allow
//! after T can be read there and leads to a good boundary again (the greatest such relation). From a good
//! boundary, whatever the parser still needs can be spelled, terminal by terminal.
//!
//! **Definition.** reads(h) = the terminals of the next token that is not ignored, over all bytes that may
//! follow, whose boundary is good; with one bit for "the text may end before any such token", and one for
//! "some boundary that is not good can be reached".
//!
//! An example: for `start: A B` with `A: /a+/` and `B: "b"`, the boundary after `a` is good, since `b` can be
//! read there. For `start: A A` it is bad: the only terminal that the rules allow there cannot be read.
//!
//! **Use.** If reads(h) meets what the parser reads, the thread has a completion. If it does not and no bad
//! boundary can be reached, it has none. Otherwise it depends on the stack, and a search decides
//! ([`completions`](super::super::completions)).
//!
//! Both fixpoints are computed at once for all hypotheses that follow h, and later ones build on them. Under
//! the contextual discipline, tokens after the next are read strictly (see the crate `scan`): a good boundary
//! is good indeed, and a bad one may be good. Brackets suspend indentation, and newlines count as ignored
//! there; so there are two *regimes*, outside of brackets (0) and inside (1), and a good boundary is good in
//! both.

use maskwright_grammar::TerminalId;
use maskwright_scan::bits::{Bits, contains, insert, is_subset, n_words, remove, unite};
use maskwright_scan::{Hypotheses, HypothesisId, LexerTables, Node, Outcome};
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
    /// The terminals that are left out of the rules though they can come: none of their ends is good.
    pub(crate) doubtful: Bits,
}

impl Adjacency {
    /// Of the lexer of `tables`, and rules that have `followers` after each terminal.
    pub(super) fn new(tables: &LexerTables, followers: &[Bits], doubtful: &Bits) -> Adjacency {
        let n_words = n_words(tables.n_terminals);
        let made: Vec<usize> = match &tables.layout {
            Some(layout) => vec![layout.indent.index(), layout.dedent.index()],
            None => Vec::new(),
        };
        let flat = needed(followers, &made);
        let mut ignored: Bits = vec![0; n_words].into();
        for terminal in &tables.ignored {
            insert(&mut ignored, terminal.index());
        }
        let mut adjacency = Adjacency {
            n_terminals: tables.n_terminals,
            n_words,
            ignored: vec![ignored],
            needed: vec![flat],
            doubtful: doubtful.clone(),
        };
        if let Some(layout) = &tables.layout {
            // Inside of brackets.
            let mut ignored = adjacency.ignored[0].clone();
            insert(&mut ignored, layout.newline.index());
            let mut nested = adjacency.needed[0].clone();
            for set in &mut nested {
                remove(set, layout.newline.index());
            }
            adjacency.ignored.push(ignored);
            adjacency.needed.push(nested);
        }
        adjacency
    }

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

    /// Whether the text may end after a hypothesis, perhaps with ignored tokens in between.
    pub(crate) fn may_end(
        &mut self,
        hypotheses: &mut Hypotheses,
        id: HypothesisId,
        regime: usize,
    ) -> Result<bool, EngineError> {
        let end = self.adjacency.end();
        Ok(contains(self.reads(hypotheses, id, regime)?, end))
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
        // All ends of tokens count as good until one is found to be bad. Ends after which everything is known
        // are judged at once.
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
fn needed(followers: &[Bits], made: &[usize]) -> Vec<Bits> {
    let mut needed = followers.to_vec();
    loop {
        let mut has_changed = false;
        for terminal in 0..needed.len() {
            for &between in made {
                if contains(&needed[terminal], between) {
                    let after = needed[between].clone();
                    has_changed |= unite(&mut needed[terminal], &after);
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
