//! Earley's recogniser (1970), with the treatment of nullable nonterminals of Aycock and Horspool (2002).
//!
//! Column i of a [`Chart`] holds the items `A → α • β (from j)` such that α derives bytes j to i of the text
//! and some derivation of the grammar has A at j. Since no production is unproductive, such a derivation can
//! be completed: *the text is a prefix of some word iff its last column has an item*. Cubic in the text.

use maskwright_automata::ByteSet;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::cfg::{Cfg, Symbol};

/// `nonterminal → α • β`, begun at column `origin`.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Item {
    nonterminal: u32,
    production: u32,
    dot: u32,
    origin: u32,
}

#[derive(Default)]
struct Column {
    items: Vec<Item>,
    known: FxHashSet<Item>,
    /// The items whose dot is before a nonterminal, by that nonterminal.
    waiting: FxHashMap<usize, Vec<Item>>,
}

impl Column {
    fn add(&mut self, item: Item) {
        if self.known.insert(item) {
            self.items.push(item);
        }
    }
}

/// The recogniser for a text that grows and shrinks at its end.
pub(crate) struct Chart<'a> {
    cfg: &'a Cfg,
    is_nullable: &'a [bool],
    /// One more than the bytes read.
    columns: Vec<Column>,
}

impl<'a> Chart<'a> {
    /// The chart of the empty text. `is_nullable` is `cfg`'s.
    pub(crate) fn new(cfg: &'a Cfg, is_nullable: &'a [bool]) -> Chart<'a> {
        let mut chart = Chart { cfg, is_nullable, columns: Vec::new() };
        let mut first = Column::default();
        chart.predict(0, 0, &mut first);
        chart.close(&mut first);
        chart.columns.push(first);
        chart
    }

    /// Whether some word starts with the text.
    pub(crate) fn is_viable(&self) -> bool {
        !self.last().items.is_empty()
    }

    /// Whether the text is a word.
    pub(crate) fn is_word(&self) -> bool {
        let mut completed = self.last().items.iter().filter(|item| self.after_dot(item).is_none());
        completed.any(|item| item.nonterminal == 0 && item.origin == 0)
    }

    /// The bytes that may come next.
    pub(crate) fn next_bytes(&self) -> ByteSet {
        let symbols = self.last().items.iter().filter_map(|item| self.after_dot(item));
        symbols.fold(ByteSet::EMPTY, |bytes, symbol| match symbol {
            Symbol::Bytes(set) => bytes.union(&set),
            Symbol::Nonterminal(_) => bytes,
        })
    }

    /// The text with `byte` behind it.
    pub(crate) fn push(&mut self, byte: u8) {
        let mut next = Column::default();
        for &item in &self.last().items {
            if matches!(self.after_dot(&item), Some(Symbol::Bytes(set)) if set.contains(byte)) {
                next.add(Item { dot: item.dot + 1, ..item });
            }
        }
        self.close(&mut next);
        self.columns.push(next);
    }

    /// Only the first `n_bytes` of the text.
    pub(crate) fn truncate(&mut self, n_bytes: usize) {
        self.columns.truncate(n_bytes + 1);
    }

    fn last(&self) -> &Column {
        self.columns.last().expect("there is one column more than there are bytes")
    }

    fn after_dot(&self, item: &Item) -> Option<Symbol> {
        let production = &self.cfg.productions[item.nonterminal as usize][item.production as usize];
        production.get(item.dot as usize).copied()
    }

    fn predict(&self, nonterminal: usize, origin: usize, column: &mut Column) {
        for production in 0..self.cfg.productions[nonterminal].len() {
            column.add(Item {
                nonterminal: nonterminal as u32,
                production: production as u32,
                dot: 0,
                origin: origin as u32,
            });
        }
    }

    /// Predicts and completes in `column`, which comes after the chart's, until nothing is new.
    fn close(&self, column: &mut Column) {
        let here = self.columns.len();
        let mut n_done = 0;
        while let Some(&item) = column.items.get(n_done) {
            n_done += 1;
            match self.after_dot(&item) {
                Some(Symbol::Bytes(_)) => {}
                Some(Symbol::Nonterminal(number)) => {
                    let waiting = column.waiting.entry(number).or_default();
                    waiting.push(item);
                    if waiting.len() == 1 {
                        self.predict(number, here, column);
                    }
                    if self.is_nullable[number] {
                        column.add(Item { dot: item.dot + 1, ..item });
                    }
                }
                None => {
                    // What is completed within one column derives ε, and whoever waits for it was moved on
                    // when it began to wait.
                    if item.origin as usize == here {
                        continue;
                    }
                    let origin = &self.columns[item.origin as usize];
                    for &waiting in origin.waiting.get(&(item.nonterminal as usize)).into_iter().flatten() {
                        column.add(Item { dot: waiting.dot + 1, ..waiting });
                    }
                }
            }
        }
    }
}
