//! What one hypothesis of the lexer says about one token, or about any text: the rows of infilling lexed
//! grammars.
//!
//! A scan starts at a set of trie nodes (the text may already be inside a token of the vocabulary), and stops
//! where a token of the lexer ends, or the token of the vocabulary does. It does not depend on the position,
//! so it is computed once for a vocabulary and a grammar. A *leap* is such a stop inside a token of the
//! vocabulary. The theorem of `bytes/tables/scan.rs` holds here too: every path to a set of trie nodes
//! reaches each of its nodes, so all tokens after a leap can be taken.

use std::collections::VecDeque;
use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_scan::{HypothesisId, Outcome};
use maskwright_vocabulary::{TokenId, Trie, TrieNodeId, mask_words};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ground::InfillError;
use crate::lexed::tables::LexedTables;
use crate::lexed::tables::memo::{FreeScan, Leap, Part, TokenScan};
use crate::tokens::{NodeSetId, TokenSet};

/// The most scans of any text that are kept.
const MAX_FREE_SCANS: usize = 1 << 14;

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
        if let Some(known) = self.memo.scans.get(&(from, hypothesis)) {
            return Ok(known.clone());
        }
        let (mut exits, mut ends): (_, Vec<Leap>);
        if from == NodeSetId::ROOT {
            let (found, parts) = self.first_bytes(hypothesis, fuel)?;
            let mut all: FxHashSet<Leap> = found.ends.into_keys().collect();
            exits = found.exits;
            for part in parts {
                for (leap, nodes) in &part.exits {
                    exits.entry(*leap).or_default().extend_from_slice(nodes);
                }
                all.extend(part.ends.iter().map(|(leap, _)| *leap));
            }
            ends = all.into_iter().collect();
        } else {
            let starts = self.node_sets.nodes(from).clone();
            let found = self.walk(&starts, hypothesis, fuel)?;
            exits = found.exits;
            ends = found.ends.keys().copied().collect();
            self.keep_tokens((from, hypothesis), found.ends);
        }
        let trie = self.vocabulary.trie();
        let mut exits: Vec<(Leap, NodeSetId)> =
            exits.into_iter().map(|(leap, nodes)| (leap, self.node_sets.intern(trie, nodes))).collect();
        exits.sort_unstable();
        ends.sort_unstable();
        let scan = Arc::new(TokenScan { exits, ends });
        self.memo.scans.insert((from, hypothesis), scan.clone());
        Ok(scan)
    }

    /// The tokens after each of [`TokenScan::ends`].
    pub(crate) fn scan_tokens(
        &mut self,
        from: NodeSetId,
        hypothesis: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Arc<[TokenSet]>, InfillError> {
        self.scan(from, hypothesis, fuel)?;
        if let Some(known) = self.memo.tokens.get(&(from, hypothesis)) {
            return Ok(known.clone());
        }
        let (Found { mut ends, .. }, parts) = self.first_bytes(hypothesis, fuel)?;
        for part in parts {
            for (leap, tokens) in &part.ends {
                ends.entry(*leap).or_default().extend_from_slice(tokens);
            }
        }
        Ok(self.keep_tokens((from, hypothesis), ends))
    }

    fn keep_tokens(
        &mut self,
        key: (NodeSetId, HypothesisId),
        ends: FxHashMap<Leap, Vec<TokenId>>,
    ) -> Arc<[TokenSet]> {
        let mut ends: Vec<(Leap, Vec<TokenId>)> = ends.into_iter().collect();
        ends.sort_unstable_by_key(|&(leap, _)| leap);
        let n_vocab = self.vocabulary.n_ids();
        let tokens: Arc<[TokenSet]> = ends
            .into_iter()
            .map(|(_, mut tokens)| {
                // Many are packed in any order.
                if tokens.len() <= mask_words(n_vocab) {
                    tokens.sort_unstable();
                    tokens.dedup();
                }
                TokenSet::new(tokens, n_vocab)
            })
            .collect();
        self.memo.tokens.insert(key, tokens.clone());
        tokens
    }

    /// What tokens do to `hypothesis`: what their first byte does, and the parts that have the rest.
    fn first_bytes(
        &mut self,
        hypothesis: HypothesisId,
        fuel: &Fuel,
    ) -> Result<(Found, Vec<Arc<Part>>), InfillError> {
        let (mut found, mut within) = (Found::default(), Vec::new());
        self.read_byte(Trie::ROOT, hypothesis, &mut found, &mut within)?;
        let parts: Vec<Arc<Part>> = within
            .into_iter()
            .map(|(child, next)| self.part(child, next, fuel))
            .collect::<Result<_, InfillError>>()?;
        let n_listed: usize = parts.iter().map(|part| part.exits.len() + part.ends.len()).sum();
        fuel.spend(256 + n_listed as u64)?;
        Ok((found, parts))
    }

    /// Adds what one more byte from `node` does to `hypothesis` to `found`, and where the token of the lexer
    /// continues to `within`.
    fn read_byte(
        &mut self,
        node: TrieNodeId,
        hypothesis: HypothesisId,
        found: &mut Found,
        within: &mut Vec<(TrieNodeId, HypothesisId)>,
    ) -> Result<(), InfillError> {
        let trie = self.vocabulary.trie();
        for (byte, child) in trie.children(node) {
            for index in self.hypotheses.step(hypothesis, byte)? {
                let outcome = self.hypotheses.outcome(index);
                let leap = (self.label(outcome), outcome.next);
                if !trie.tokens(child).is_empty() {
                    found.ends.entry(leap).or_default().extend_from_slice(trie.tokens(child));
                }
                if trie.n_children(child) == 0 {
                    continue;
                }
                match outcome.terminal {
                    None => within.push((child, outcome.next)),
                    Some(_) => found.exits.entry(leap).or_default().push(child),
                }
            }
        }
        Ok(())
    }

    fn part(
        &mut self,
        node: TrieNodeId,
        hypothesis: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Arc<Part>, InfillError> {
        if let Some(known) = self.memo.parts.get(&(node, hypothesis)) {
            return Ok(known.clone());
        }
        let found = self.walk(&[node], hypothesis, fuel)?;
        let n_kept: usize = found.ends.values().map(Vec::len).sum();
        fuel.spend(n_kept as u64 / 4)?;
        let part = Arc::new(Part {
            exits: found.exits.into_iter().map(|(leap, nodes)| (leap, nodes.into())).collect(),
            ends: found.ends.into_iter().map(|(leap, tokens)| (leap, tokens.into())).collect(),
        });
        self.memo.parts.insert((node, hypothesis), part.clone());
        Ok(part)
    }

    /// Walks trie and lexer together, below each of `starts`. A subtree whose bytes all do nothing to the
    /// hypothesis is not stepped through.
    fn walk(
        &mut self,
        starts: &[TrieNodeId],
        hypothesis: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Found, InfillError> {
        let vocabulary = self.vocabulary.clone();
        let trie = vocabulary.trie();
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
            fuel.spend(4)?;
            if n_children > 2 {
                let loops = self.hypotheses.loop_bytes(hypothesis)?;
                if trie.bytes_below(node).is_subset(&loops) {
                    let tokens = &trie.subtree_tokens(node)[trie.tokens(node).len()..];
                    found.ends.entry((None, hypothesis)).or_default().extend_from_slice(tokens);
                    continue;
                }
            }
            fuel.spend(n_children as u64)?;
            self.read_byte(node, hypothesis, &mut found, &mut stack)?;
        }
        Ok(found)
    }

    /// What the token in progress can reach by any text of at least one byte: the leaps at its ends, and the
    /// hypotheses within it.
    ///
    /// Within any text something that is ignored can always be put after a token, so the many ends with
    /// guards can be one (`separators`).
    ///
    /// Widths of lines up to `counted` are counted, or none are.
    ///
    /// # Errors
    /// If lines that are not counted cannot have all widths, or a limit is reached.
    pub(crate) fn free_scan(
        &mut self,
        hypothesis: HypothesisId,
        counted: Option<u32>,
        fuel: &Fuel,
    ) -> Result<Arc<FreeScan>, InfillError> {
        let key = (hypothesis, counted);
        if let Some(known) = self.memo.free_scans.get(&key) {
            return Ok(known.clone());
        }
        let mut exits: FxHashMap<Leap, HypothesisId> = FxHashMap::default();
        let mut reached = FxHashSet::default();
        let mut queue = VecDeque::from([hypothesis]);
        while let Some(from) = queue.pop_front() {
            for (_, outcome) in self.hypotheses.all_outcomes(from)? {
                fuel.spend(1)?;
                let outcome = self.outcome_counted(outcome, counted)?;
                match outcome.terminal {
                    None if reached.insert(outcome.next) => queue.push_back(outcome.next),
                    None => {}
                    Some(_) => {
                        let parted = self.parted(outcome.next, fuel)?;
                        let target = parted.map_or(outcome.next, |(target, _)| target);
                        exits.entry((self.label(outcome), target)).or_insert(outcome.next);
                    }
                }
            }
        }
        let mut read: Vec<(Leap, HypothesisId)> = Vec::new();
        for ((label, target), real) in exits {
            if label.is_some() || !self.is_idle(hypothesis, target, fuel)? {
                read.push(((label, target), real));
            }
        }
        read.sort_unstable();
        let mut inside: Vec<HypothesisId> = reached.into_iter().collect();
        inside.sort_unstable();
        let scan = Arc::new(FreeScan { exits: read, inside });
        if self.memo.free_scans.len() >= MAX_FREE_SCANS {
            self.memo.free_scans.clear();
        }
        self.memo.free_scans.insert(key, scan.clone());
        Ok(scan)
    }

    /// An outcome where widths up to `counted` are counted, or none are.
    ///
    /// # Errors
    /// If lines that are not counted cannot have all widths, or a limit is reached.
    pub(crate) fn outcome_counted(
        &mut self,
        outcome: Outcome,
        counted: Option<u32>,
    ) -> Result<Outcome, InfillError> {
        let next = self.hypotheses.counted(outcome.next, counted)?;
        if counted.is_some() && !self.hypotheses.is_stretchable(next)? {
            return Err(InfillError::argument(
                "lines of any text may have any width, and the terminal that ends lines here does not take another blank \
                 wherever it takes one: give the hole a number of tokens, exactly or at most",
            ));
        }
        Ok(Outcome { next, ..outcome })
    }

    /// A text after a leap of [`free_scan`](Self::free_scan), or to a hypothesis within the token.
    pub(crate) fn free_text(
        &mut self,
        from: HypothesisId,
        leap: Leap,
        counted: Option<u32>,
        fuel: &Fuel,
    ) -> Result<Vec<u8>, InfillError> {
        let scan = self.free_scan(from, counted, fuel)?;
        let real = scan.exits.iter().find(|&&(exit, _)| exit == leap).map(|&(_, real)| real);
        let Some(real) = real else {
            return self.shortest_text(from, leap, counted, fuel);
        };
        let mut text = self.shortest_text(from, (leap.0, real), counted, fuel)?;
        if real != leap.1
            && let Some((_, separator)) = self.parted(real, fuel)?
        {
            text.extend_from_slice(&separator);
        }
        Ok(text)
    }

    /// The shortest text of at least one byte that leads from a hypothesis to `leap`. There is one: a scan
    /// found it.
    fn shortest_text(
        &mut self,
        from: HypothesisId,
        leap: Leap,
        counted: Option<u32>,
        fuel: &Fuel,
    ) -> Result<Vec<u8>, InfillError> {
        // By hypothesis within the token: the one before it, and the byte between.
        let mut came_from: FxHashMap<HypothesisId, (HypothesisId, u8)> = FxHashMap::default();
        let mut queue = VecDeque::from([from]);
        while let Some(at) = queue.pop_front() {
            for (byte, outcome) in self.hypotheses.all_outcomes(at)? {
                fuel.spend(1)?;
                let outcome = self.outcome_counted(outcome, counted)?;
                let is_end = outcome.terminal.is_some();
                let label = self.label(outcome);
                if (label, outcome.next) == leap && is_end == self.hypotheses.is_boundary(leap.1) {
                    let mut bytes = bytes_from(from, at, &came_from);
                    bytes.push(byte);
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

/// The bytes on the way from one hypothesis to another, by the predecessor of each.
pub(crate) fn bytes_from(
    from: HypothesisId,
    to: HypothesisId,
    came_from: &FxHashMap<HypothesisId, (HypothesisId, u8)>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut at = to;
    while at != from
        && let Some(&(before, byte)) = came_from.get(&at)
    {
        bytes.push(byte);
        at = before;
    }
    bytes.reverse();
    bytes
}
