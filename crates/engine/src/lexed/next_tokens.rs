//! The next token after a hypothesis: the terminals it can be, and the lexer's hypothesis after each.
//!
//! Ignored tokens before it are skipped. All of this depends on the lexer alone, so the searches for completions
//! ([`completion`](super::completion)) share it.

use std::collections::VecDeque;
use std::sync::Arc;

use maskwright_grammar::TerminalId;
use maskwright_scan::bits::contains;
use maskwright_scan::{HypothesisId, Outcome};
use rustc_hash::{FxHashMap, FxHashSet};

use super::Lexed;
use crate::EngineError;

/// One way in which the next token can end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TokenEnd {
    pub(super) terminal: TerminalId,
    /// The hypothesis at the end, which reads the following text strictly or freely.
    pub(super) next: HypothesisId,
    /// Whether the end is good in the main scope ([`viability`](super::viability)).
    pub(super) is_good: bool,
}

/// The ends found so far.
#[derive(Default)]
pub(super) struct NextTokens {
    /// By hypothesis and whether a bracket is open; sorted.
    known: FxHashMap<(HypothesisId, bool), Arc<[TokenEnd]>>,
    n_ends: usize,
}

impl NextTokens {
    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.known.capacity() * 40 + self.n_ends * size_of::<TokenEnd>()
    }
}

impl Lexed {
    /// All ends of the next token that the parser gets, inside brackets (`is_nested`) or outside; sorted.
    pub(super) fn next_tokens(
        &mut self,
        root: HypothesisId,
        is_nested: bool,
    ) -> Result<Arc<[TokenEnd]>, EngineError> {
        if let Some(known) = self.next_tokens.known.get(&(root, is_nested)) {
            return Ok(known.clone());
        }
        // `is_good` below needs this.
        self.scopes[self.main].viability.reads(&mut self.points.hypotheses, root, usize::from(is_nested))?;
        let mut seen = FxHashSet::from_iter([root]);
        // Hypotheses share most of their steps; equal steps have one range.
        let mut seen_ranges = FxHashSet::default();
        let mut work = vec![root];
        let mut ends = Vec::new();
        while let Some(id) = work.pop() {
            for class in 0..self.points.hypotheses.n_classes() {
                let range = self.points.hypotheses.step_class(id, class)?;
                if range.is_empty() || !seen_ranges.insert(range.start) {
                    continue;
                }
                for index in range {
                    let outcome = self.points.hypotheses.outcome(index);
                    if !self.points.hypotheses.is_for(&outcome, is_nested) {
                        continue;
                    }
                    let Outcome { terminal, next, .. } = outcome;
                    match terminal.filter(|&terminal| !self.points.tables.is_ignored(terminal, is_nested)) {
                        Some(terminal) => {
                            let viability = &self.scopes[self.main].viability;
                            let is_good = viability.is_good(terminal.index(), next);
                            ends.push(TokenEnd { terminal, next, is_good });
                        }
                        None if seen.insert(next) => work.push(next),
                        None => {}
                    }
                }
            }
        }
        ends.sort_unstable();
        ends.dedup();
        let ends: Arc<[TokenEnd]> = ends.into();
        self.next_tokens.n_ends += ends.len();
        self.next_tokens.known.insert((root, is_nested), ends.clone());
        Ok(ends)
    }

    /// Whether the text may end after a hypothesis, perhaps with ignored tokens in between.
    pub(super) fn may_end(&mut self, id: HypothesisId, is_nested: bool) -> Result<bool, EngineError> {
        let viability = &mut self.scopes[self.main].viability;
        let end = viability.adjacency.end();
        Ok(contains(viability.reads(&mut self.points.hypotheses, id, usize::from(is_nested))?, end))
    }

    /// A shortest text from `root` to the end `target` of the next token or, if `target` is `None`, to an end of the text. Of
    /// the bytes in one class, it has one that `prefers` accepts, if there is one. `None` if there is no such text.
    pub(super) fn text_to(
        &mut self,
        root: HypothesisId,
        target: Option<(TerminalId, HypothesisId)>,
        prefers: &dyn Fn(u8) -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if target.is_none() && self.points.hypotheses.ends_here(root) {
            return Ok(Some(Vec::new()));
        }
        let bytes = self.preferred_bytes(prefers);
        let mut before: FxHashMap<HypothesisId, (HypothesisId, u8)> = FxHashMap::default();
        let mut work = VecDeque::from([root]);
        let mut found = None;
        'search: while let Some(id) = work.pop_front() {
            for (class, &byte) in bytes.iter().enumerate() {
                for index in self.points.hypotheses.step_class(id, class)? {
                    let Outcome { terminal, next, .. } = self.points.hypotheses.outcome(index);
                    let terminal =
                        terminal.filter(|&terminal| !self.points.tables.is_ignored(terminal, false));
                    if let Some(terminal) = terminal {
                        if target == Some((terminal, next)) {
                            found = Some((id, byte));
                            break 'search;
                        }
                        continue;
                    }
                    if target.is_none() && self.points.hypotheses.ends_here(next) {
                        found = Some((id, byte));
                        break 'search;
                    }
                    if next != root && !before.contains_key(&next) {
                        before.insert(next, (id, byte));
                        work.push_back(next);
                    }
                }
            }
        }
        let Some((mut id, byte)) = found else { return Ok(None) };
        let mut text = vec![byte];
        while let Some(&(earlier, byte)) = before.get(&id) {
            text.push(byte);
            id = earlier;
        }
        text.reverse();
        Ok(Some(text))
    }

    /// A byte of each class: one that `prefers` accepts, if there is one.
    fn preferred_bytes(&self, prefers: &dyn Fn(u8) -> bool) -> Vec<u8> {
        let mut bytes = self.points.tables.lexer.class_representatives().to_vec();
        for byte in (0..=255u8).rev().filter(|&byte| prefers(byte)) {
            bytes[usize::from(self.points.tables.lexer.byte_classes()[usize::from(byte)])] = byte;
        }
        bytes
    }
}
