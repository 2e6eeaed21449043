//! What one token of the vocabulary can do to a hypothesis: the *walks* from it.
//!
//! A walk is the sequence of terminals that a token gives the parser, and the hypothesis after it. Many
//! tokens share a walk, and a masked position can take any of them. A few walks are enough to find a text:
//!
//! * between two masked positions those to a *clear* boundary (`clear`), and into what can continue without
//!   limit (a name, a comment, a quoted text): [`Walks::inner`]. Next to the position that a question is
//!   about, some more ([`Walks::open`], [`Walks::near`]);
//! * before known text all: [`Walks::last`].
//!
//! A graph of such walks is a part of the graph of a lattice, so what is possible in it is possible. What is
//! not in it may still be possible. Walks are made once for a vocabulary and a grammar.

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_grammar::TerminalId;
use maskwright_scan::HypothesisId;
use maskwright_vocabulary::TokenId;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::ground::InfillError;
use crate::lexed::hypotheses::{CLEAR, Hypotheses};
use crate::lexed::tables::LexedTables;
use crate::lexed::tables::memo::{Walk, WalkNode, WalkTree, Walks};
use crate::tokens::NodeSetId;

/// The most terminals of a walk.
const MAX_LABELS: usize = 6;

/// The most walks from one hypothesis.
const MAX_WALKS: usize = 1 << 14;

impl LexedTables {
    /// The walks from a hypothesis, or from the clear boundary.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn walks(&mut self, from: HypothesisId, fuel: &Fuel) -> Result<Arc<Walks>, InfillError> {
        if let Some(known) = self.memo.walks.get(&from) {
            return Ok(known.clone());
        }
        let clear = self.clear(fuel)?;
        let all = if from == CLEAR { clear.walks.clone() } else { self.all_walks(from, fuel)? };
        let (mut inner, mut open, mut near, mut last) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (labels, to) in &all {
            let walk = (&labels[..], *to);
            let to_clear = (&labels[..], CLEAR);
            if *to != CLEAR {
                last.push(walk);
            }
            if clear.contains(*to) {
                inner.push(to_clear);
                open.push(to_clear);
                near.extend((*to != CLEAR).then_some(walk));
            } else if self.hypotheses.is_settled(*to)? || self.hypotheses.begins_line(*to) {
                inner.push(walk);
                open.push(walk);
                near.push(walk);
            } else if self.hypotheses.is_nearly_settled(*to)? || self.goes_on_watched(*to)? {
                open.push(walk);
                near.push(walk);
            }
        }
        let tree = |mut walks: Vec<(&[TerminalId], HypothesisId)>| {
            walks.sort_unstable();
            walks.dedup();
            tree_of(&walks, &self.hypotheses)
        };
        let (inner, open, near, last) = (tree(inner), tree(open), tree(near), tree(last));
        let walks = Arc::new(Walks { inner, open, near, last });
        self.memo.walks.insert(from, walks.clone());
        Ok(walks)
    }

    /// Whether a walk may lead into a token in progress while tokens before it are watched. With indentation
    /// a comment at the end of a text is one, after which no newline may come; elsewhere there are as many as
    /// ways to read comments as something else.
    fn goes_on_watched(&mut self, to: HypothesisId) -> Result<bool, InfillError> {
        Ok(self.hypotheses.tables().layout.is_some()
            && (self.hypotheses.is_steady(to)? || self.hypotheses.is_nearly_steady(to)?))
    }

    /// All walks from a hypothesis, or many of them: sorted and distinct.
    pub(crate) fn all_walks(&mut self, from: HypothesisId, fuel: &Fuel) -> Result<Vec<Walk>, InfillError> {
        let mut found: FxHashSet<Walk> = FxHashSet::default();
        let mut stack = vec![(NodeSetId::ROOT, from, Vec::new())];
        let mut seen = FxHashSet::default();
        while let Some((set, at, labels)) = stack.pop() {
            let scan = self.scan(set, at, fuel)?;
            fuel.spend(scan.ends.len() as u64 + 1)?;
            let with = |label: Option<TerminalId>| -> Vec<TerminalId> {
                labels.iter().copied().chain(label).collect()
            };
            for &(label, to) in &scan.ends {
                if found.len() < MAX_WALKS
                    && (!self.hypotheses.is_watched_on(to)? || self.goes_on_watched(to)?)
                {
                    found.insert((with(label).into(), to));
                }
            }
            for &((label, to), set) in &scan.exits {
                let labels = with(label);
                if labels.len() < MAX_LABELS
                    && found.len() < MAX_WALKS
                    && seen.insert((set, to, labels.clone()))
                {
                    stack.push((set, to, labels));
                }
            }
        }
        let mut all: Vec<Walk> = found.into_iter().collect();
        all.sort_unstable();
        Ok(all)
    }

    /// A token that does a walk from a hypothesis, and the hypothesis after it. If the walk leads to the
    /// clear boundary, that is one of those that it stands for. `None` if there is no such token.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn walker(
        &mut self,
        from: HypothesisId,
        labels: &[TerminalId],
        to: HypothesisId,
        fuel: &Fuel,
    ) -> Result<Option<(TokenId, HypothesisId)>, InfillError> {
        let clear = self.clear(fuel)?;
        let is_target = |found| found == to || to == CLEAR && clear.contains(found);
        let mut stack = vec![(NodeSetId::ROOT, from, 0)];
        let mut seen = FxHashSet::default();
        while let Some((set, at, n_read)) = stack.pop() {
            let scan = self.scan(set, at, fuel)?;
            fuel.spend(scan.ends.len() as u64 + 1)?;
            let rest = &labels[n_read..];
            for (index, &(label, behind)) in scan.ends.iter().enumerate() {
                if is_target(behind) && rest.iter().copied().eq(label) {
                    let tokens = self.scan_tokens(set, at, fuel)?;
                    return Ok(tokens
                        .get(index)
                        .and_then(|tokens| tokens.any())
                        .map(|token| (token, behind)));
                }
            }
            for &((label, behind), set) in &scan.exits {
                let n_read = n_read + usize::from(label.is_some());
                if label.is_none_or(|label| rest.first() == Some(&label))
                    && seen.insert((set, behind, n_read))
                {
                    stack.push((set, behind, n_read));
                }
            }
        }
        Ok(None)
    }
}

/// The tree of sorted walks; of those that end within a token of the lexer, all terminals have ended before.
fn tree_of(walks: &[(&[TerminalId], HypothesisId)], hypotheses: &Hypotheses) -> WalkTree {
    let mut tree = WalkTree { nodes: vec![WalkNode::default()] };
    let mut known: FxHashMap<(u32, TerminalId), u32> = FxHashMap::default();
    for &(labels, to) in walks {
        let (last, before) = match labels.split_last() {
            Some((&last, before)) if hypotheses.is_boundary(to) => (Some(last), before),
            _ => (None, labels),
        };
        let mut at = 0u32;
        for &label in before {
            let next = tree.nodes.len() as u32;
            let child = *known.entry((at, label)).or_insert(next);
            if child == next {
                tree.nodes.push(WalkNode::default());
                tree.nodes[at as usize].exits.push((label, child));
            }
            at = child;
        }
        tree.nodes[at as usize].ends.push((last, to));
    }
    tree
}
