//! Ways through terminals: what a run has found on the way to its least cost.
//!
//! A run says that a terminal can be finished with so many tokens, and not with which. Where a call has no work left to search for the first
//! of them, it is looked up here.

use std::sync::Arc;

use maskwright_automata::{Automaton, StateId, meter};
use maskwright_vocabulary::{TokenId, Trie, Vocabulary};
use rustc_hash::FxHashMap;

use crate::EngineError;

/// With more residues all are forgotten.
const MAX_KEPT: usize = 200_000;
/// Units of work that a byte of a token takes.
const UNITS_PER_BYTE: u64 = 1;

/// How a terminal can be finished from a residue, at the start of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Way {
    /// The tokens that it takes.
    pub(crate) cost: u32,
    /// The residue after the first of them; `None` for the end of the terminal.
    next: Option<StateId>,
}

/// The ways that are known, by residue.
#[derive(Default)]
pub(super) struct Ways(FxHashMap<(u64, StateId), Way>);

impl Ways {
    /// Notes a way that ends with a token from `last`; `before` has the residue before each but the first.
    pub(super) fn note(
        &mut self,
        automaton: &Automaton,
        last: StateId,
        before: &FxHashMap<StateId, StateId>,
    ) {
        if self.0.len() > MAX_KEPT {
            self.0.clear();
        }
        let mut way = Way { cost: 1, next: None };
        let mut at = last;
        loop {
            meter::charge(UNITS_PER_BYTE);
            let key = automaton.residue_key(at);
            if self.0.get(&key).is_some_and(|known| known.cost <= way.cost) {
                return;
            }
            self.0.insert(key, way);
            way = Way { cost: way.cost + 1, next: Some(at) };
            match before.get(&at) {
                Some(&earlier) => at = earlier,
                None => return,
            }
        }
    }

    /// The way from a residue.
    pub(super) fn get(&self, automaton: &Automaton, residue: StateId) -> Option<Way> {
        self.0.get(&automaton.residue_key(residue)).copied()
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.0.len() * 40
    }
}

/// The tokens of some text that go on a way from `residue`.
///
/// # Errors
/// If a limit of the automaton is reached, or the call is out of work.
pub(crate) fn first_of_way(
    vocabulary: &Arc<Vocabulary>,
    automaton: &Automaton,
    residue: StateId,
    way: Way,
) -> Result<Vec<TokenId>, EngineError> {
    let trie = vocabulary.trie();
    let mut stack = vec![(Trie::ROOT, residue)];
    while let Some((node, residue)) = stack.pop() {
        meter::spend(UNITS_PER_BYTE * trie.n_children(node) as u64)?;
        for (byte, child) in trie.children(node) {
            let next = automaton.step(residue, byte).map_err(EngineError::in_terminal(automaton))?;
            let Some(next) = next else { continue };
            let is_there = way.next.map_or_else(|| automaton.is_accepting(next), |to| to == next);
            if is_there && !trie.tokens(child).is_empty() {
                return Ok(trie.tokens(child).to_vec());
            }
            if trie.n_children(child) > 0 {
                stack.push((child, next));
            }
        }
    }
    Ok(Vec::new())
}
