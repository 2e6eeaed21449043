//! The tokens that are already known to stay in a terminal.
//!
//! Used where a call has no more work to spend: the transitions that a row or partition has made so far are
//! kept.

use maskwright_automata::{Automaton, StateId, meter};
use maskwright_vocabulary::{TokenId, Trie};

use crate::EngineError;

/// Units of work that a token takes.
const UNITS_PER_TOKEN: u64 = 1;

/// Visits the tokens that are known to keep `residue` alive, in the order of their bytes, with the residue
/// after each.
///
/// Each token of the vocabulary takes the same work, whatever is known of it. So with more known, at least as
/// many are visited.
///
/// # Errors
/// If the call is out of work; what was visited is right.
pub(crate) fn visit_known(
    trie: &Trie,
    automaton: &Automaton,
    residue: StateId,
    mut visit: impl FnMut(StateId, &[TokenId]),
) -> Result<(), EngineError> {
    let mut stack = vec![(Trie::ROOT, residue)];
    while let Some((node, residue)) = stack.pop() {
        meter::spend(UNITS_PER_TOKEN * trie.tokens(node).len() as u64)?;
        if !trie.tokens(node).is_empty() {
            visit(residue, trie.tokens(node));
        }
        let steps = automaton.steps(residue);
        let n_before = stack.len();
        for (byte, child) in trie.children(node) {
            match steps.known(byte) {
                Some(Some((next, _))) => stack.push((child, next)),
                _ => meter::spend(UNITS_PER_TOKEN * trie.subtree_tokens(child).len() as u64)?,
            }
        }
        stack[n_before..].reverse();
    }
    Ok(())
}
