//! Which terminals can still come after a hypothesis.
//!
//! **Definition.** over(h) = all terminals whose tokens can end in some text after hypothesis h, ignored ones
//! included, and a bit for the end of the text.
//!
//! [`Reach`] computes these sets. A guard can forbid a terminal for good, so they differ between hypotheses.
//! An example: after `/*` was read as two operators, over(h) has no comment. The rules
//! [restricted](super::scope) to over(h) say whether the text can be finished.
//!
//! One search finds the sets of all hypotheses that follow h. Equal sets have one number.

use maskwright_scan::bits::{Bits, insert, unite};
use maskwright_scan::{Hypotheses, HypothesisId, Outcome};
use rustc_hash::FxHashMap;

use crate::EngineError;

/// The sets over(h), found for all that follows a hypothesis at once and kept.
pub(super) struct Reach {
    n_terminals: usize,
    n_words: usize,
    sets: Vec<Bits>,
    ids: FxHashMap<Bits, u32>,
    /// By hypothesis, one more than the number of its set; 0 if unknown.
    known: Vec<u32>,
}

impl Reach {
    pub(super) fn new(n_terminals: usize, n_words: usize) -> Reach {
        Reach { n_terminals, n_words, sets: Vec::new(), ids: FxHashMap::default(), known: Vec::new() }
    }

    /// The set of a number.
    pub(super) fn set(&self, number: u32) -> &Bits {
        &self.sets[number as usize]
    }

    /// The number of over(h), counted from 0. Tokens after the next are read freely: that allows all that can
    /// come.
    pub(super) fn over(
        &mut self,
        hypotheses: &mut Hypotheses,
        root: HypothesisId,
    ) -> Result<u32, EngineError> {
        let root = hypotheses.free_ahead(root)?;
        if let Some(known @ 1..) = self.known.get(root.index()).copied() {
            return Ok(known - 1);
        }
        let is_known = |known: &[u32], id: HypothesisId| known.get(id.index()).copied().unwrap_or(0) > 0;
        let nodes = hypotheses.explore(root, |id| is_known(&self.known, id))?;
        let local: FxHashMap<HypothesisId, usize> =
            nodes.iter().enumerate().map(|(index, node)| (node.id, index)).collect();
        let n_words = self.n_words;
        let mut sets = vec![0u64; nodes.len() * n_words];
        let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let set = &mut sets[index * n_words..(index + 1) * n_words];
            if hypotheses.ends_here(node.id) {
                insert(set, self.n_terminals);
            }
            for &Outcome { terminal, next, .. } in &node.edges {
                if let Some(terminal) = terminal {
                    insert(set, terminal.index());
                }
                match local.get(&next) {
                    Some(&next) => predecessors[next].push(index as u32),
                    None => {
                        unite(set, &self.sets[self.known[next.index()] as usize - 1]);
                    }
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
        self.known.resize(hypotheses.n_known(), 0);
        for (index, node) in nodes.iter().enumerate() {
            let set = &sets[index * n_words..(index + 1) * n_words];
            let number = match self.ids.get(set) {
                Some(&number) => number,
                None => {
                    let number = self.sets.len() as u32;
                    self.sets.push(set.into());
                    self.ids.insert(set.into(), number);
                    number
                }
            };
            self.known[node.id.index()] = number + 1;
        }
        Ok(self.known[root.index()] - 1)
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.known.capacity() * 4 + self.sets.len() * (self.n_words * 16 + 48)
    }
}
