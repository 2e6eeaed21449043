//! The next token after a hypothesis: the terminals it can be of, and the hypothesis at each of its ends.
//!
//! [`NextTokens`] skips ignored tokens. All of this depends on the lexer alone, so the searches for
//! completions share it. [`text_to`] says which bytes lead to such an end.
//!
//! An example: for `start: A B` with `A: "a"`, `B: "b"` and ignored blanks, the next token before any text is
//! an `A`, with one end, or a `B`; each can have blanks before it. The text to the end of `A` is `a`.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use maskwright_grammar::{Seen, TerminalId};
use maskwright_scan::{HypothesisId, Outcome, Points};
use rustc_hash::{FxHashMap, FxHashSet};

use super::scopes::Viability;
use crate::EngineError;

/// One way in which the next token can end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct TokenEnd {
    pub(super) terminal: TerminalId,
    /// The hypothesis at the end, which reads the following text strictly or freely.
    pub(super) next: HypothesisId,
    /// Whether the end is good in the main scope ([`Viability`]).
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
    /// All ends of the next token that the parser gets, inside brackets (`is_nested`) or outside; sorted.
    /// `viability` is that of the main scope.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn after(
        &mut self,
        points: &mut Points,
        viability: &mut Viability,
        root: HypothesisId,
        is_nested: bool,
    ) -> Result<Arc<[TokenEnd]>, EngineError> {
        if let Some(known) = self.known.get(&(root, is_nested)) {
            return Ok(known.clone());
        }
        let Points { tables, hypotheses } = points;
        // `is_good` below needs this.
        viability.reads(hypotheses, root, usize::from(is_nested))?;
        let mut seen = FxHashSet::from_iter([root]);
        // Hypotheses share most of their steps; equal steps have one range.
        let mut seen_ranges = FxHashSet::default();
        let mut work = vec![root];
        let mut ends = Vec::new();
        while let Some(id) = work.pop() {
            for class in 0..hypotheses.n_classes() {
                let range = hypotheses.step_class(id, class)?;
                if range.is_empty() || !seen_ranges.insert(range.start) {
                    continue;
                }
                for index in range {
                    let outcome = hypotheses.outcome(index);
                    if !hypotheses.is_for(&outcome, is_nested) {
                        continue;
                    }
                    let Outcome { terminal, next, .. } = outcome;
                    match terminal.filter(|&terminal| !tables.is_ignored(terminal, is_nested)) {
                        Some(terminal) => {
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
        self.n_ends += ends.len();
        self.known.insert((root, is_nested), ends.clone());
        Ok(ends)
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.known.capacity() * 40 + self.n_ends * size_of::<TokenEnd>()
    }
}

/// A shortest text from `root` to the end `target` of the next token or, if `target` is `None`, to an end of
/// the text, inside brackets (`is_nested`) or outside. Of the bytes in one class, it has one that `prefers`
/// accepts, if there is one. `None` if there is no such text.
///
/// # Errors
/// If a limit of the lexer is reached.
pub(super) fn text_to(
    points: &mut Points,
    root: HypothesisId,
    target: Option<(TerminalId, HypothesisId)>,
    is_nested: bool,
    prefers: &dyn Fn(u8) -> bool,
) -> Result<Option<Vec<u8>>, EngineError> {
    if target.is_none() && points.hypotheses.ends_here(root) {
        return Ok(Some(Vec::new()));
    }
    let bytes = preferred_bytes(points, prefers);
    let mut before: FxHashMap<HypothesisId, (HypothesisId, u8)> = FxHashMap::default();
    let mut work = VecDeque::from([root]);
    let mut found = None;
    'search: while let Some(id) = work.pop_front() {
        for (class, &byte) in bytes.iter().enumerate() {
            for index in points.hypotheses.step_class(id, class)? {
                let outcome = points.hypotheses.outcome(index);
                if !points.hypotheses.is_for(&outcome, is_nested) {
                    continue;
                }
                let Outcome { terminal, next, .. } = outcome;
                let terminal = terminal.filter(|&terminal| !points.tables.is_ignored(terminal, is_nested));
                if let Some(terminal) = terminal {
                    if target == Some((terminal, next)) {
                        found = Some((id, byte));
                        break 'search;
                    }
                    continue;
                }
                if target.is_none() && points.hypotheses.ends_here(next) {
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

/// Texts by the next token, each with the end of it that it leads to.
pub(super) type Texts = BTreeMap<TerminalId, Vec<(HypothesisId, Arc<[u8]>)>>;

/// Steps from a hypothesis: a byte each, and the range of its outcomes.
type StepsFrom = Arc<[(u8, Range<usize>)]>;

/// The different steps of hypotheses, each with the least of its bytes that are preferred: of some hundred
/// classes of bytes there are few.
#[derive(Default)]
pub(super) struct Steps {
    /// A byte of each class, with the class; ascending.
    bytes: Vec<(u8, usize)>,
    known: FxHashMap<HypothesisId, StepsFrom>,
    /// The hypotheses that one search has met, and the steps, which hypotheses share.
    met: Seen,
    met_steps: Seen,
}

impl Steps {
    fn of(&mut self, points: &mut Points, id: HypothesisId) -> Result<StepsFrom, EngineError> {
        if let Some(known) = self.known.get(&id) {
            return Ok(known.clone());
        }
        let mut steps: Vec<(u8, Range<usize>)> = Vec::new();
        // Equal steps have one range.
        let mut seen = FxHashSet::default();
        for &(byte, class) in &self.bytes {
            let range = points.hypotheses.step_class(id, class)?;
            if !range.is_empty() && seen.insert(range.start) {
                steps.push((byte, range));
            }
        }
        Ok(self.known.entry(id).or_insert(steps.into()).clone())
    }

    /// Approximate memory, in bytes.
    pub(super) fn n_bytes(&self) -> usize {
        self.known.len() * 160
    }
}

/// The least of the shortest texts from `root` to each end of the next token, as [`text_to`] finds one.
/// `prefers` is that of `steps`.
///
/// # Errors
/// If a limit of the lexer is reached.
pub(super) fn texts_to_ends(
    points: &mut Points,
    root: HypothesisId,
    is_nested: bool,
    prefers: &dyn Fn(u8) -> bool,
    steps: &mut Steps,
) -> Result<Texts, EngineError> {
    if steps.bytes.is_empty() {
        steps.bytes = preferred_bytes(points, prefers).into_iter().zip(0..).collect();
        steps.bytes.sort_unstable();
    }
    steps.met.clear();
    steps.met_steps.clear();
    steps.met.insert(root.index());
    let mut texts = Texts::default();
    let mut met_ends = FxHashSet::default();
    // Hypotheses in the order of their texts, so that the first text to an end is the least; each with the
    // place of the one before, and the byte after that.
    let mut met = vec![(root, 0, 0)];
    let mut at = 0;
    while let Some(&(id, ..)) = met.get(at) {
        for (byte, range) in steps.of(points, id)?.iter() {
            if !steps.met_steps.insert(range.start) {
                continue;
            }
            for index in range.clone() {
                let outcome = points.hypotheses.outcome(index);
                if !points.hypotheses.is_for(&outcome, is_nested) {
                    continue;
                }
                let Outcome { terminal, next, .. } = outcome;
                match terminal.filter(|&terminal| !points.tables.is_ignored(terminal, is_nested)) {
                    Some(terminal) if met_ends.insert((terminal, next)) => {
                        texts.entry(terminal).or_default().push((next, text_of(&met, at, *byte)));
                    }
                    Some(_) => {}
                    None if steps.met.insert(next.index()) => met.push((next, at, *byte)),
                    None => {}
                }
            }
        }
        at += 1;
    }
    Ok(texts)
}

/// The text to the hypothesis at this place, and one more byte.
fn text_of(met: &[(HypothesisId, usize, u8)], mut at: usize, last: u8) -> Arc<[u8]> {
    let mut text = vec![last];
    while at > 0 {
        let (_, before, byte) = met[at];
        text.push(byte);
        at = before;
    }
    text.reverse();
    text.into()
}

/// A byte of each class: one that `prefers` accepts, if there is one.
fn preferred_bytes(points: &Points, prefers: &dyn Fn(u8) -> bool) -> Vec<u8> {
    let mut bytes = points.hypotheses.representatives().to_vec();
    for byte in (0..=255u8).rev().filter(|&byte| prefers(byte)) {
        bytes[usize::from(points.hypotheses.byte_classes()[usize::from(byte)])] = byte;
    }
    bytes
}
