//! Ends: which terminals, and hypotheses after them, the next token of the parser can end with.
//!
//! An end is a terminal and the hypothesis after its token. [`Ends`] has the set of ends that each hypothesis can reach, so that
//! [`runs`](super::runs) leave alone ways that lead to nothing new. An example: from the middle of a name in C only two ends
//! can be reached, the name and the keyword that it may become.
//!
//! The sets are found once per grammar, over all hypotheses that a text can lead to ([`Explored`]). In brackets newlines are not the
//! parser's, so there are two sets for each.

use maskwright_grammar::TerminalId;
use maskwright_scan::bits::{Bits, contains, insert, unite};
use maskwright_scan::{HypothesisId, Points};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::EngineError;

/// With more hypotheses than this nothing is found out.
const MAX_HYPOTHESES: usize = 20_000;

/// A terminal that ends, if one does, and the hypothesis after it.
type Outcome = (Option<TerminalId>, HypothesisId);

/// All hypotheses of a grammar, and what bytes do to them.
pub(super) struct Explored {
    pub(super) order: Vec<HypothesisId>,
    outcomes: Vec<Vec<Outcome>>,
    /// Ends of tokens, sorted: the terminal, the class of the last byte, the hypothesis after it.
    pub(super) last_bytes: Vec<(TerminalId, u8, HypothesisId)>,
}

impl Explored {
    /// `None` if there are too many.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn new(points: &mut Points) -> Result<Option<Explored>, EngineError> {
        let first = points.hypotheses.start()?;
        let mut order = vec![first];
        let mut all_outcomes: Vec<Vec<Outcome>> = Vec::new();
        let mut seen = FxHashSet::from_iter([first]);
        let mut last_bytes = FxHashSet::default();
        while let Some(&hypothesis) = order.get(all_outcomes.len()) {
            let mut outcomes: Vec<Outcome> = Vec::new();
            for class in 0..points.hypotheses.n_classes() {
                let n_before = outcomes.len();
                points.read_class(hypothesis, class, &mut outcomes)?;
                for &(terminal, next) in &outcomes[n_before..] {
                    if let Some(terminal) = terminal {
                        last_bytes.insert((terminal, class as u8, next));
                    }
                }
            }
            outcomes.sort_unstable();
            outcomes.dedup();
            order.extend(outcomes.iter().map(|&(_, next)| next).filter(|&next| seen.insert(next)));
            all_outcomes.push(outcomes);
            if order.len() > MAX_HYPOTHESES {
                return Ok(None);
            }
        }
        let mut last_bytes: Vec<_> = last_bytes.into_iter().collect();
        last_bytes.sort_unstable();
        Ok(Some(Explored { order, outcomes: all_outcomes, last_bytes }))
    }
}

/// Which ends can be reached.
pub(super) struct Ends {
    /// All ends, sorted; their indices are the bits of the sets.
    list: Vec<(TerminalId, HypothesisId)>,
    /// By hypothesis, outside of brackets and inside; the last bit says that the text may end.
    sets: FxHashMap<HypothesisId, [Bits; 2]>,
}

impl Ends {
    pub(super) fn new(points: &Points, explored: &Explored) -> Ends {
        let mut list: Vec<(TerminalId, HypothesisId)> =
            explored.last_bytes.iter().map(|&(terminal, _, hypothesis)| (terminal, hypothesis)).collect();
        list.sort_unstable();
        list.dedup();
        let index_of: FxHashMap<HypothesisId, u32> =
            explored.order.iter().enumerate().map(|(index, &id)| (id, index as u32)).collect();
        let [outside, inside] =
            [false, true].map(|is_nested| sets(points, explored, &list, &index_of, is_nested));
        let sets = explored.order.iter().copied().zip(outside.into_iter().zip(inside).map(|(a, b)| [a, b]));
        let sets = sets.collect();
        Ends { list, sets }
    }

    /// The hypotheses after the next token of the parser, if it is of `terminal`; `None` if that is not known.
    pub(super) fn after(
        &self,
        hypothesis: HypothesisId,
        terminal: TerminalId,
        is_nested: bool,
    ) -> Option<impl Iterator<Item = HypothesisId>> {
        let set = &self.sets.get(&hypothesis)?[usize::from(is_nested)];
        let start = self.list.partition_point(|&(other, _)| other < terminal);
        let of_terminal = self.list[start..].iter().take_while(move |&&(other, _)| other == terminal);
        let reached = of_terminal.enumerate().filter(move |&(offset, _)| contains(set, start + offset));
        Some(reached.map(|(_, &(_, after))| after))
    }

    /// Whether the text may end before any token that the parser gets.
    pub(super) fn may_end_text(&self, hypothesis: HypothesisId, is_nested: bool) -> bool {
        self.sets.get(&hypothesis).is_none_or(|sets| contains(&sets[usize::from(is_nested)], self.list.len()))
    }

    pub(super) fn memory_usage(&self) -> usize {
        self.sets.len() * (self.list.len() / 4 + 64) + self.list.len() * 8
    }
}

/// The sets of all hypotheses, in or out of brackets.
fn sets(
    points: &Points,
    explored: &Explored,
    list: &[(TerminalId, HypothesisId)],
    index_of: &FxHashMap<HypothesisId, u32>,
    is_nested: bool,
) -> Vec<Bits> {
    let mut sets: Vec<Bits> = vec![vec![0; list.len() / 64 + 1].into(); explored.order.len()];
    let mut predecessors: Vec<Vec<u32>> = vec![Vec::new(); explored.order.len()];
    for (index, outcomes) in explored.outcomes.iter().enumerate() {
        for &(terminal, next) in outcomes {
            match terminal.filter(|&terminal| !points.tables.is_ignored(terminal, is_nested)) {
                Some(terminal) => {
                    let end = list.binary_search(&(terminal, next)).unwrap_or(list.len());
                    insert(&mut sets[index], end);
                }
                None => {
                    predecessors[index_of[&next] as usize].push(index as u32);
                    if points.hypotheses.ends_here(next) {
                        insert(&mut sets[index], list.len());
                    }
                }
            }
        }
    }
    let mut work: Vec<u32> = (0..sets.len() as u32).collect();
    while let Some(index) = work.pop() {
        let set = sets[index as usize].clone();
        for &predecessor in &predecessors[index as usize] {
            if unite(&mut sets[predecessor as usize], &set) {
                work.push(predecessor);
            }
        }
    }
    sets
}
