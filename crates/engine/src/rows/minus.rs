//! The row of a language without a few words.
//!
//! "Any JSON string but these names" differs from "any JSON string" along the names only. Its automaton
//! says so ([`Automaton::base`]), and as soon as a text leaves all names, both are in the same state. So the
//! row is the base's row and the tokens that differ, found by walking both states together and stopping
//! where they meet: about as many trie nodes as the names have bytes, instead of hundreds of thousands.

use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonError, StateId};
use maskwright_vocabulary::{Trie, TrieNodeId};

use super::PlainRow;

/// The most pairs of states that are walked before the plain walk is thought cheaper.
const MAX_PAIRS: usize = 20_000;

/// A row as the difference from another.
pub(crate) struct MinusRow {
    pub(crate) base: Arc<PlainRow>,
    /// Tokens inside the base and not inside here, sorted.
    pub(crate) removed_inside: Vec<u32>,
    /// Tokens that exit the base and do not exit here, sorted. A token exits the base at one place only.
    pub(crate) removed_exits: Vec<u32>,
}

impl MinusRow {
    /// The row of `residue` from the row of `base_state`, whose language contains `residue`'s; `None` if the
    /// base's exits are not simple enough, or the two differ too much.
    pub(crate) fn new(
        trie: &Trie,
        automaton: &Automaton,
        residue: StateId,
        base_state: StateId,
        base: &Arc<PlainRow>,
    ) -> Result<Option<MinusRow>, AutomatonError> {
        if !base.has_single_exits() {
            return Ok(None);
        }
        let mut walk =
            Walk { trie, automaton, removed_inside: Vec::new(), removed_exits: Vec::new(), n_visited: 0 };
        let mut pairs = vec![(Trie::ROOT, residue, base_state)];
        while let Some((node, residue, base_state)) = pairs.pop() {
            let (steps, base_steps) = (automaton.steps(residue), automaton.steps(base_state));
            for (byte, child) in trie.children(node) {
                let Some((base_next, base_accepts)) = base_steps.next(byte)? else { continue };
                let next = steps.next(byte)?;
                if next.is_some_and(|(next, _)| next == base_next) {
                    continue;
                }
                if base_accepts && !next.is_some_and(|(_, accepts)| accepts) {
                    walk.remove_exits(child);
                }
                match next {
                    Some((next, _)) => pairs.push((child, next, base_next)),
                    None => walk.remove_subtree(child, base_next)?,
                }
            }
            walk.n_visited += 1;
            if walk.n_visited > MAX_PAIRS {
                return Ok(None);
            }
        }
        let Walk { mut removed_inside, mut removed_exits, .. } = walk;
        removed_inside.sort_unstable();
        removed_exits.sort_unstable();
        Ok(Some(MinusRow { base: base.clone(), removed_inside, removed_exits }))
    }

    pub(crate) fn memory_usage(&self) -> usize {
        (self.removed_inside.capacity() + self.removed_exits.capacity()) * 4 + 128
    }
}

struct Walk<'a> {
    trie: &'a Trie,
    automaton: &'a Automaton,
    removed_inside: Vec<u32>,
    removed_exits: Vec<u32>,
    n_visited: usize,
}

impl Walk<'_> {
    /// The base accepts at `node` and the residue does not: what goes on from there is no exit.
    fn remove_exits(&mut self, node: TrieNodeId) {
        let own = self.trie.tokens(node).len();
        self.removed_exits.extend(self.trie.subtree_tokens(node)[own..].iter().map(|token| token.0));
    }

    /// The residue is dead at `node` and the base is in `base_state`.
    fn remove_subtree(&mut self, node: TrieNodeId, base_state: StateId) -> Result<(), AutomatonError> {
        let mut stack = vec![(node, base_state)];
        while let Some((node, base_state)) = stack.pop() {
            self.n_visited += 1;
            self.removed_inside.extend(self.trie.tokens(node).iter().map(|token| token.0));
            for (byte, child) in self.trie.children(node) {
                if let Some(next) = self.automaton.step(base_state, byte)? {
                    if self.automaton.is_accepting(next) {
                        self.remove_exits(child);
                    }
                    stack.push((child, next));
                }
            }
        }
        Ok(())
    }
}
