//! What one hypothesis of the lexer says about one token, or about any text: the rows of infilling lexed grammars.
//!
//! A scan starts at a set of trie nodes (the text may be within a token of the vocabulary already), and stops where a
//! token of the lexer ends, or the token of the vocabulary does. It does not depend on the position, and is computed
//! once for a vocabulary and a grammar. The theorem of [`crate::scan`] holds as it stands: the trie nodes of a set
//! were all reached by every path to it, so all tokens behind a leap can be taken.

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::TerminalId;
use maskwright_vocabulary::{TokenId, TrieNodeId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::InfillError;
use crate::lexed::hypotheses::HypothesisId;
use crate::lexed::tables::LexedTables;
use crate::node_sets::NodeSetId;
use crate::scan::TokenSet;

/// What the parser gets on the way, and the hypothesis behind it.
pub(crate) type Leap = (Option<TerminalId>, HypothesisId);

/// Where a hypothesis can be after at least one byte. The lists are sorted and distinct.
#[derive(Debug, Default)]
pub(crate) struct TokenScan {
    /// A token of the lexer ends, and the token of the vocabulary goes on from one of the nodes.
    pub(crate) exits: Vec<(Leap, NodeSetId)>,
    /// The token of the vocabulary ends, and one of the lexer with it or not.
    pub(crate) ends: Vec<Leap>,
}

/// What a walk over the trie found.
#[derive(Default)]
struct Found {
    exits: FxHashMap<Leap, Vec<TrieNodeId>>,
    ends: FxHashMap<Leap, Vec<TokenId>>,
}

impl LexedTables {
    /// What `hypothesis` says about the rests of tokens below `from`.
    pub(crate) fn scan(
        &mut self,
        from: NodeSetId,
        hypothesis: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Arc<TokenScan>, InfillError> {
        if let Some(known) = self.scans.get(&(from, hypothesis)) {
            return Ok(known.clone());
        }
        let found = self.walk(from, hypothesis, fuel)?;
        let trie = self.vocabulary.trie();
        let mut exits: Vec<(Leap, NodeSetId)> =
            found.exits.into_iter().map(|(leap, nodes)| (leap, self.node_sets.intern(trie, nodes))).collect();
        exits.sort_unstable();
        let mut ends: Vec<(Leap, Vec<TokenId>)> = found.ends.into_iter().collect();
        ends.sort_unstable();
        let scan = Arc::new(TokenScan { exits, ends: ends.iter().map(|&(leap, _)| leap).collect() });
        let n_vocab = self.vocabulary.n_vocab();
        let tokens = ends.into_iter().map(|(_, mut tokens)| {
            tokens.sort_unstable();
            tokens.dedup();
            TokenSet::new(tokens, n_vocab)
        });
        self.tokens.insert((from, hypothesis), tokens.collect());
        self.scans.insert((from, hypothesis), scan.clone());
        Ok(scan)
    }

    /// The tokens behind each of [`TokenScan::ends`].
    pub(crate) fn scan_tokens(
        &mut self,
        from: NodeSetId,
        hypothesis: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Arc<[TokenSet]>, InfillError> {
        self.scan(from, hypothesis, fuel)?;
        Ok(self.tokens.get(&(from, hypothesis)).cloned().unwrap_or_default())
    }

    /// Walks trie and lexer together. A subtree whose bytes all do nothing to the hypothesis is not stepped through.
    fn walk(&mut self, from: NodeSetId, hypothesis: HypothesisId, fuel: &Fuel) -> Result<Found, InfillError> {
        let vocabulary = self.vocabulary.clone();
        let trie = vocabulary.trie();
        let starts = self.node_sets.nodes(from).clone();
        let mut found = Found::default();
        // Below several nodes the same pair can be met twice.
        let mut seen = FxHashSet::default();
        let is_single = starts.len() == 1;
        let mut stack: Vec<(TrieNodeId, HypothesisId)> =
            starts.iter().map(|&node| (node, hypothesis)).collect();
        while let Some((node, hypothesis)) = stack.pop() {
            if !is_single && !seen.insert((node, hypothesis)) {
                continue;
            }
            let n_children = trie.n_children(node);
            fuel.spend(1 + n_children as u64 / 16).map_err(|error| InfillError::work(0, error))?;
            if n_children > 2 {
                let loops = self.hypotheses.loop_bytes(hypothesis)?;
                if trie.bytes_below(node).is_subset(&loops) {
                    let tokens = &trie.subtree_tokens(node)[trie.tokens(node).len()..];
                    found.ends.entry((None, hypothesis)).or_default().extend_from_slice(tokens);
                    continue;
                }
            }
            for (byte, child) in trie.children(node) {
                let number = self.hypotheses.step(hypothesis, byte)?;
                for outcome in self.hypotheses.outcomes(number) {
                    let leap = (outcome.terminal.and_then(|terminal| self.label(terminal)), outcome.next);
                    if !trie.tokens(child).is_empty() {
                        found.ends.entry(leap).or_default().extend_from_slice(trie.tokens(child));
                    }
                    if trie.n_children(child) == 0 {
                        continue;
                    }
                    match outcome.terminal {
                        None => stack.push((child, outcome.next)),
                        Some(_) => found.exits.entry(leap).or_default().push(child),
                    }
                }
            }
        }
        Ok(found)
    }

    /// Where the token in progress can come to by any text of at least one byte: the leaps at its ends, and the
    /// hypotheses within it.
    pub(crate) fn free_scan(
        &mut self,
        hypothesis: HypothesisId,
        fuel: &Fuel,
    ) -> Result<TokenScan, InfillError> {
        let mut ends = FxHashSet::default();
        let mut reached = FxHashSet::default();
        let mut stack = vec![hypothesis];
        while let Some(from) = stack.pop() {
            for (_, outcome) in self.hypotheses.all_outcomes(from)? {
                fuel.spend(1).map_err(|error| InfillError::work(0, error))?;
                match outcome.terminal {
                    None if reached.insert(outcome.next) => stack.push(outcome.next),
                    None => {}
                    Some(terminal) => {
                        ends.insert((self.label(terminal), outcome.next));
                    }
                }
            }
        }
        let mut exits: Vec<(Leap, NodeSetId)> =
            ends.into_iter().map(|leap| (leap, NodeSetId::ROOT)).collect();
        exits.sort_unstable();
        let mut ends: Vec<Leap> = reached.into_iter().map(|hypothesis| (None, hypothesis)).collect();
        ends.sort_unstable();
        Ok(TokenScan { exits, ends })
    }

    /// The shortest text of at least one byte that leads from a hypothesis to `leap`. There is one: a scan found it.
    pub(crate) fn shortest_text(
        &mut self,
        from: HypothesisId,
        leap: Leap,
        fuel: &Fuel,
    ) -> Result<Vec<u8>, InfillError> {
        // By hypothesis within the token: the one before it, and the byte between.
        let mut came_from: FxHashMap<HypothesisId, (HypothesisId, u8)> = FxHashMap::default();
        let mut queue = std::collections::VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for (byte, outcome) in self.hypotheses.all_outcomes(at)? {
                fuel.spend(1).map_err(|error| InfillError::work(0, error))?;
                let is_end = outcome.terminal.is_some();
                let label = outcome.terminal.and_then(|terminal| self.label(terminal));
                if (label, outcome.next) == leap && is_end == self.hypotheses.is_boundary(leap.1) {
                    let mut bytes = vec![byte];
                    let mut before = at;
                    while before != from {
                        let (earlier, byte) = came_from[&before];
                        bytes.push(byte);
                        before = earlier;
                    }
                    bytes.reverse();
                    return Ok(bytes);
                }
                if !is_end && outcome.next != from && !came_from.contains_key(&outcome.next) {
                    came_from.insert(outcome.next, (at, byte));
                    queue.push_back(outcome.next);
                }
            }
        }
        Ok(Vec::new())
    }
}
