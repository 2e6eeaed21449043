//! What each reading of a text has passed, as lists with shared beginnings.
//!
//! Lists are interned: equal ones have one id. So what all readings agree on is found by ids.

use std::cell::Cell;
use std::cmp::Ordering;

use maskwright_automata::meter::{self, OutOfWork};
use maskwright_grammar::Label;
use rustc_hash::FxHashMap;

/// So many labels are gone over in the time of a unit of work.
const LABELS_PER_UNIT: u64 = 8;

/// A label that was passed, and how many bytes of the text stand before it.
pub(crate) type Passed = (Label, usize);

/// A list of labels that were passed.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct HistoryId(u32);

impl HistoryId {
    /// Nothing was passed.
    pub(crate) const NONE: HistoryId = HistoryId(0);
}

/// All lists of one session.
#[derive(Clone)]
pub(crate) struct Histories {
    /// By id: the list without the last label, how long it is, and the last label.
    nodes: Vec<(HistoryId, u32, Passed)>,
    ids: FxHashMap<(HistoryId, Passed), HistoryId>,
    /// How many labels were gone over to compare lists.
    n_walked: Cell<u64>,
}

impl Histories {
    pub(crate) fn new() -> Histories {
        let nothing = (HistoryId::NONE, 0, (Label::Begin(0), 0));
        Histories { nodes: vec![nothing], ids: FxHashMap::default(), n_walked: Cell::new(0) }
    }

    /// How many lists are known.
    pub(crate) fn n_known(&self) -> usize {
        self.nodes.len()
    }

    /// Spends the work of what was compared since the last call.
    pub(crate) fn pay(&self) -> Result<(), OutOfWork> {
        meter::spend(self.n_walked.take() / LABELS_PER_UNIT)
    }

    /// The list with one more label.
    pub(crate) fn push(&mut self, history: HistoryId, passed: Passed) -> HistoryId {
        let next = HistoryId(self.nodes.len() as u32);
        let id = *self.ids.entry((history, passed)).or_insert(next);
        if id == next {
            self.nodes.push((history, self.length(history) + 1, passed));
        }
        id
    }

    fn before(&self, history: HistoryId) -> HistoryId {
        self.nodes[history.0 as usize].0
    }

    pub(crate) fn length(&self, history: HistoryId) -> u32 {
        self.nodes[history.0 as usize].1
    }

    /// The last label of a list that has one.
    fn last(&self, history: HistoryId) -> Passed {
        self.nodes[history.0 as usize].2
    }

    /// The first `length` labels of a list.
    fn first(&self, mut history: HistoryId, length: u32) -> HistoryId {
        while self.length(history) > length {
            history = self.before(history);
        }
        history
    }

    /// The longest list that both begin with.
    pub(crate) fn common(&self, one: HistoryId, other: HistoryId) -> HistoryId {
        let (length, longest) =
            (self.length(one).min(self.length(other)), self.length(one).max(self.length(other)));
        let (mut one, mut other) = (self.first(one, length), self.first(other, length));
        while one != other {
            (one, other) = (self.before(one), self.before(other));
        }
        self.n_walked.set(self.n_walked.get() + u64::from(longest - self.length(one)));
        one
    }

    /// The label after a beginning of a list, if the list goes on.
    pub(crate) fn next(&self, beginning: HistoryId, history: HistoryId) -> Option<Passed> {
        let length = self.length(beginning);
        (self.length(history) > length).then(|| self.last(self.first(history, length + 1)))
    }

    /// The labels of a list after the first `from`.
    pub(crate) fn from(&self, history: HistoryId, from: u32) -> Vec<Passed> {
        let mut passed = Vec::new();
        let mut rest = history;
        while self.length(rest) > from {
            passed.push(self.last(rest));
            rest = self.before(rest);
        }
        passed.reverse();
        passed
    }

    /// Two readings have come to one place after `n_bytes` bytes. Which of them counts: `Less` if the first.
    /// Where their labels first differ, it is that with the smaller number; of one number that whose part is
    /// longer, so begins earlier or ends later. A label counts before none, but none before one that was
    /// passed just now: an empty part says nothing.
    pub(crate) fn compare(&self, one: HistoryId, other: HistoryId, n_bytes: usize) -> Ordering {
        let common = self.common(one, other);
        let rank = |history| match self.next(common, history) {
            None => (1, 0, false, 0),
            Some((label, at)) => {
                let is_begin = matches!(label, Label::Begin(_));
                let length = if is_begin { at } else { usize::MAX - at };
                (if at < n_bytes { 0 } else { 2 }, label.number(), is_begin, length)
            }
        };
        rank(one).cmp(&rank(other))
    }
}
