//! What sets of readings make of the tokens below a node of the token trie; shared by rows.
//!
//! After the first byte of a token most hypotheses are alike: in a name, in a number, in a string. The set of
//! readings there and the node are all that the rest of a walk depends on. So a [`Part`] is the result of
//! such a walk, by set and node, and rows share them: a third to a fifth of the nodes are left to visit
//! (Python, Go and Java, 128,000 tokens).
//!
//! An example: the rows of "at the beginning of a statement" and of "after an opening bracket" both read a
//! name after the byte `x`. Both use the part of (inside a name, node `x`).

use std::ops::Range;

use maskwright_automata::meter;
use maskwright_scan::LexerTables;
use maskwright_vocabulary::{Trie, TrieNodeId};
use rustc_hash::FxHashMap;

use super::readings::{Context, Readings, SetId};
use crate::EngineError;

/// Subtrees of the token trie with fewer nodes are walked rather than asked whether all their bytes lead
/// back.
const MIN_SUBTREE: usize = 8;

/// The tokens below one node, its own left out, by the set of readings after them.
#[derive(Default)]
pub(super) struct Part {
    /// Sets with where their runs end; those of the first begin at 0.
    sets: Vec<(SetId, u32)>,
    /// Places among the tokens of the trie.
    runs: Vec<Range<u32>>,
}

impl Part {
    /// The sets that tokens lead to, each once, with their places among the tokens of the trie.
    pub(super) fn sets(&self) -> impl Iterator<Item = (SetId, &[Range<u32>])> {
        let mut start = 0;
        self.sets.iter().map(move |&(set, end)| {
            (set, &self.runs[std::mem::replace(&mut start, end as usize)..end as usize])
        })
    }

    fn memory_usage(&self) -> usize {
        self.sets.capacity() * 8 + self.runs.capacity() * 8
    }
}

/// The readings, and the walks made with them.
pub(super) struct Parts {
    pub(super) readings: Readings,
    known: FxHashMap<(TrieNodeId, SetId), Part>,
    n_bytes: usize,
}

impl Parts {
    pub(super) fn new(tables: &LexerTables) -> Parts {
        Parts { readings: Readings::new(tables), known: FxHashMap::default(), n_bytes: 0 }
    }

    /// What `set` makes of the tokens below `node`, walked when first asked for.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn part(
        &mut self,
        context: &mut Context<'_>,
        trie: &Trie,
        node: TrieNodeId,
        set: SetId,
    ) -> Result<&Part, EngineError> {
        if !self.known.contains_key(&(node, set)) {
            let part = walk(&mut self.readings, context, trie, node, set)?;
            self.n_bytes += part.memory_usage();
            self.known.insert((node, set), part);
        }
        Ok(&self.known[&(node, set)])
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.readings.memory_usage() + self.n_bytes + self.known.capacity() * (size_of::<Part>() + 16)
    }
}

/// Whether all that is below `node` leads from `set` back to it.
#[inline(always)]
pub(super) fn stays_below(
    readings: &mut Readings,
    context: &mut Context<'_>,
    trie: &Trie,
    node: TrieNodeId,
    set: SetId,
) -> Result<bool, EngineError> {
    Ok(trie.subtree_nodes(node) >= MIN_SUBTREE
        && trie.bytes_below(node).is_subset(&readings.loops(context, set)?))
}

/// Walks what is below `node` from `set`.
// A function of its own, with the check above in it: otherwise a cold mask of JSON takes 5% more
// instructions.
#[inline(never)]
fn walk(
    readings: &mut Readings,
    context: &mut Context<'_>,
    trie: &Trie,
    node: TrieNodeId,
    set: SetId,
) -> Result<Part, EngineError> {
    let mut found: Vec<(SetId, Range<u32>)> = Vec::new();
    let mut add = |set: SetId, places: Range<u32>| match found.last_mut() {
        _ if places.is_empty() => {}
        Some((last, run)) if *last == set && run.end == places.start => run.end = places.end,
        _ => found.push((set, places)),
    };
    let mut stack = vec![(node, set)];
    while let Some((node, set)) = stack.pop() {
        meter::spend(trie.n_children(node) as u64)?;
        for (byte, child) in trie.children(node) {
            let Some(next) = readings.step(context, set, byte)? else { continue };
            if next == set && stays_below(readings, context, trie, child, set)? {
                add(next, trie.subtree_places(child));
                continue;
            }
            add(next, trie.token_places(child));
            if trie.n_children(child) > 0 {
                stack.push((child, next));
            }
        }
    }
    found.sort_by_key(|&(set, _)| set);
    let mut part = Part::default();
    part.runs.reserve_exact(found.len());
    for (set, run) in found {
        part.runs.push(run);
        let end = part.runs.len() as u32;
        match part.sets.last_mut() {
            Some((last, last_end)) if *last == set => *last_end = end,
            _ => part.sets.push((set, end)),
        }
    }
    part.sets.shrink_to_fit();
    Ok(part)
}
