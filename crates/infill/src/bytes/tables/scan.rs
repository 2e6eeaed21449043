//! What one terminal says about one token, or about any text: the rows of infilling.
//!
//! A scan starts at a set of trie nodes (the text may be within a token already) with a residue, and reads on
//! to the end of the token. It does not depend on the position, so it is computed once for a vocabulary and a
//! grammar: a run of masked positions inside a JSON string is read by following [`Scan::entries`].
//!
//! Theorem (provenance). Let a node of the chart inside a token be the set V of trie nodes where the
//! terminals read so far can end. Every v in V is reached by *every* path of the chart to that node. So a
//! token w that leads from any v in V on to a useful place is a token that the position can take.
//!
//! Proof, by induction. Exits of a residue r at a boundary are what r reaches and accepts: all from the same
//! r. Exits of a terminal from V are the union over V, and each v in V was reached by all paths. ∎
//!
//! This is why residues at one boundary stay apart and are not joined into sets: then only some members of V
//! would belong to some paths, and marking them useful together would allow tokens without a completion.

use std::sync::Arc;

use maskwright_automata::{AutomatonError, Fuel, StateId};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::bytes::tables::{ResidueId, Scan, ScanTokens, Tables};
use crate::ground::InfillError;
use crate::tokens::{NodeSetId, TokenSet};

/// Work units of a step whose state is looked up in a set.
const UNITS_PER_STEP: u64 = 3;

/// What a walk over the trie found.
#[derive(Default)]
struct Found {
    exits: Vec<TrieNodeId>,
    ends: bool,
    entries: FxHashSet<StateId>,
    /// The tokens, where asked for.
    tokens: Option<FoundTokens>,
}

#[derive(Default)]
struct FoundTokens {
    /// By the state after them.
    by_state: FxHashMap<StateId, Vec<TokenId>>,
    /// Those at whose end the terminal may end.
    ends: Vec<TokenId>,
}

impl Tables {
    /// What `residue` says about the rests of tokens below `from`.
    pub(crate) fn scan(
        &mut self,
        from: NodeSetId,
        residue: ResidueId,
        fuel: &Fuel,
    ) -> Result<Arc<Scan>, InfillError> {
        if let Some(known) = self.scans.get(&(from, residue)) {
            return Ok(known.clone());
        }
        let found = self.walk(from, residue, false, fuel)?;
        let exits =
            (!found.exits.is_empty()).then(|| self.node_sets.intern(self.vocabulary.trie(), found.exits));
        let entries = self.live(residue, found.entries)?;
        let scan = Arc::new(Scan { exits, ends: found.ends, entries });
        self.scans.insert((from, residue), scan.clone());
        Ok(scan)
    }

    /// The tokens after [`scan`](Self::scan).
    pub(crate) fn scan_tokens(
        &mut self,
        from: NodeSetId,
        residue: ResidueId,
        fuel: &Fuel,
    ) -> Result<Arc<ScanTokens>, InfillError> {
        if let Some(known) = self.tokens.get(&(from, residue)) {
            return Ok(known.clone());
        }
        let found = self.walk(from, residue, true, fuel)?;
        let FoundTokens { by_state, ends } = found.tokens.unwrap_or_default();
        let n_vocab = self.vocabulary.n_ids();
        let automaton = self.residue(residue).0.clone();
        let entries = by_state
            .into_iter()
            .map(|(state, tokens)| (self.intern(&automaton, state), TokenSet::new(tokens, n_vocab)))
            .collect();
        let tokens = Arc::new(ScanTokens { ends: TokenSet::new(ends, n_vocab), entries });
        self.tokens.insert((from, residue), tokens.clone());
        Ok(tokens)
    }

    /// What `residue` says about all texts of at least one byte.
    pub(crate) fn free_scan(&mut self, residue: ResidueId, fuel: &Fuel) -> Result<Arc<Scan>, InfillError> {
        if let Some(known) = self.free_scans.get(&residue) {
            return Ok(known.clone());
        }
        let (automaton, start) = self.residue(residue);
        let automaton = automaton.clone();
        let located = |error| InfillError::automaton(format_args!("{:?}", automaton.regex()), error);
        let mut reached: FxHashSet<StateId> = FxHashSet::default();
        let mut stack = vec![start];
        let mut accepts = false;
        while let Some(state) = stack.pop() {
            for byte in automaton.next_bytes(state).map_err(located)?.iter() {
                fuel.spend(UNITS_PER_STEP)?;
                if let Some(next) = automaton.step(state, byte).map_err(located)?
                    && reached.insert(next)
                {
                    accepts |= automaton.is_accepting(next);
                    stack.push(next);
                }
            }
        }
        let entries = self.live(residue, reached)?;
        let scan = Arc::new(Scan { exits: accepts.then_some(NodeSetId::ROOT), ends: false, entries });
        self.free_scans.insert(residue, scan.clone());
        Ok(scan)
    }

    /// The shortest text of at least one byte that leads from a residue to another, or to one that accepts.
    /// There is one: the scan that made the crossing found it.
    pub(crate) fn shortest_text(
        &self,
        from: ResidueId,
        target: Option<ResidueId>,
        fuel: &Fuel,
    ) -> Result<Vec<u8>, InfillError> {
        let (automaton, start) = self.residue(from);
        let target = target.map(|target| automaton_key(self, target));
        let located = |error| self.located(from, error);
        // By state: the state before it, and the byte between.
        let mut came_from: FxHashMap<StateId, (StateId, u8)> = FxHashMap::default();
        let mut queue = std::collections::VecDeque::from([start]);
        while let Some(state) = queue.pop_front() {
            for byte in automaton.next_bytes(state).map_err(located)?.iter() {
                fuel.spend(UNITS_PER_STEP)?;
                let Some(next) = automaton.step(state, byte).map_err(located)? else { continue };
                let is_there = match target {
                    Some(key) => automaton.residue_key(next) == key,
                    None => automaton.is_accepting(next),
                };
                if is_there {
                    let mut bytes = vec![byte];
                    let mut at = state;
                    while at != start {
                        let (before, byte) = came_from[&at];
                        bytes.push(byte);
                        at = before;
                    }
                    bytes.reverse();
                    return Ok(bytes);
                }
                if next != start && !came_from.contains_key(&next) {
                    came_from.insert(next, (state, byte));
                    queue.push_back(next);
                }
            }
        }
        Ok(Vec::new())
    }

    /// Those of `states` that read on, as residues in a fixed order.
    fn live(
        &mut self,
        residue: ResidueId,
        states: FxHashSet<StateId>,
    ) -> Result<Box<[ResidueId]>, InfillError> {
        let automaton = self.residue(residue).0.clone();
        let mut live = Vec::new();
        for state in states {
            if !automaton.next_bytes(state).map_err(|error| self.located(residue, error))?.is_empty() {
                live.push(self.intern(&automaton, state));
            }
        }
        live.sort_unstable();
        Ok(live.into())
    }

    /// Walks trie and automaton together. A subtree whose bytes all keep the residue is not stepped through.
    fn walk(
        &self,
        from: NodeSetId,
        residue: ResidueId,
        with_tokens: bool,
        fuel: &Fuel,
    ) -> Result<Found, InfillError> {
        let (automaton, start) = self.residue(residue);
        let located = |error: AutomatonError| self.located(residue, error);
        let spend = |units: usize| fuel.spend(units as u64).map_err(|error| InfillError::work(0, error));
        let trie = self.vocabulary.trie();
        let from = self.node_sets.nodes(from);
        let mut found = Found { tokens: with_tokens.then(Default::default), ..Found::default() };
        // Below several nodes the same pair can be met twice.
        let mut seen = FxHashSet::default();
        let is_single = from.len() == 1;
        let mut stack: Vec<(TrieNodeId, StateId)> = from.iter().map(|&node| (node, start)).collect();
        while let Some((node, state)) = stack.pop() {
            if !is_single && !seen.insert((node, state)) {
                continue;
            }
            let n_children = trie.n_children(node);
            // Pairs that may be met again are looked up.
            spend(if is_single { 4 } else { 16 })?;
            let loops = automaton.loop_bytes(state).map_err(located)?;
            if trie.bytes_below(node).is_subset(&loops) {
                found.add_subtree(trie, node, state, automaton.is_accepting(state));
                if automaton.is_accepting(state) {
                    spend(trie.subtree_nodes(node))?;
                }
                if with_tokens {
                    spend(trie.subtree_tokens(node).len())?;
                }
                continue;
            }
            let steps = automaton.steps(state);
            let next_bytes = automaton.next_bytes(state).map_err(located)?;
            let mut visit = |byte, child| -> Result<(), InfillError> {
                if let Some((next, is_accepting)) = steps.next(byte).map_err(located)? {
                    found.add_tokens(trie.tokens(child), next, is_accepting);
                    if trie.n_children(child) > 0 {
                        if is_accepting {
                            found.exits.push(child);
                        }
                        stack.push((child, next));
                    }
                }
                Ok(())
            };
            let by_byte = next_bytes.len() < n_children / 4;
            spend(if by_byte { next_bytes.len() } else { n_children })?;
            if by_byte {
                for byte in next_bytes.iter() {
                    if let Some(child) = trie.child(node, byte) {
                        visit(byte, child)?;
                    }
                }
            } else {
                for (byte, child) in trie.children(node) {
                    visit(byte, child)?;
                }
            }
        }
        found.dedup();
        Ok(found)
    }
}

/// The name of a residue in the whole process.
fn automaton_key(tables: &Tables, residue: ResidueId) -> (u64, StateId) {
    let (automaton, state) = tables.residue(residue);
    automaton.residue_key(state)
}

impl Found {
    /// `tokens` end in `state`.
    fn add_tokens(&mut self, tokens: &[TokenId], state: StateId, is_accepting: bool) {
        if tokens.is_empty() {
            return;
        }
        self.ends |= is_accepting;
        self.entries.insert(state);
        if let Some(FoundTokens { by_state, ends }) = &mut self.tokens {
            by_state.entry(state).or_default().extend_from_slice(tokens);
            if is_accepting {
                ends.extend_from_slice(tokens);
            }
        }
    }

    /// Everything below `node`, itself left out, stays in `state`.
    fn add_subtree(&mut self, trie: &Trie, node: TrieNodeId, state: StateId, is_accepting: bool) {
        let tokens = &trie.subtree_tokens(node)[trie.tokens(node).len()..];
        self.add_tokens(tokens, state, is_accepting);
        if is_accepting {
            let mut stack = vec![node];
            while let Some(node) = stack.pop() {
                for (_, child) in trie.children(node) {
                    if trie.n_children(child) > 0 {
                        self.exits.push(child);
                        stack.push(child);
                    }
                }
            }
        }
    }

    /// Sorts and dedups the tokens, which are met twice where start nodes lie below each other.
    fn dedup(&mut self) {
        if let Some(FoundTokens { by_state, ends }) = &mut self.tokens {
            for tokens in by_state.values_mut().chain([ends]) {
                tokens.sort_unstable();
                tokens.dedup();
            }
        }
    }
}
