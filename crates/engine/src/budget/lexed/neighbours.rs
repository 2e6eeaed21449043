//! Neighbours: which terminals may end within one token of the vocabulary.
//!
//! [`Neighbours`] says which terminals can be the next to end inside a token of the vocabulary that has been begun: at a place within
//! it, or after another terminal, wherever that ends. The lower bounds ([`floors`](super::floors)) need it. An example: if the
//! vocabulary has the token `},` and none like `ifin`, the neighbours of `}` include `,`, and those of `if` do not include `in`.
//!
//! The rests of tokens are read with the lexer's hypotheses; after a terminal, all rests that stand after one of its last bytes.
//!
//! Takes time in the hypotheses of the grammar times the classes of bytes, and in the places in tokens where a
//! terminal may end, once per grammar.

use maskwright_grammar::TerminalId;
use maskwright_scan::bits::{Bits, insert};
use maskwright_scan::{HypothesisId, Points};
use rustc_hash::{FxHashMap, FxHashSet};

use super::ends::Explored;
use crate::EngineError;
use crate::spelling::{FutureId, Futures};

/// After one terminal, no more places than this are looked at; all terminals are neighbours then.
const MAX_PLACES: usize = 200_000;

/// A place in the text and in a token.
type Spot = (HypothesisId, FutureId);

/// Which terminals may end in a token that has been begun.
pub(super) struct Neighbours {
    n_words: usize,
    /// By terminal, after its end inside a token.
    of_terminal: Vec<Bits>,
    of_spot: FxHashMap<Spot, Bits>,
}

impl Neighbours {
    /// Finds them for all terminals.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn new(
        points: &mut Points,
        futures: &Futures,
        explored: &Explored,
    ) -> Result<Neighbours, EngineError> {
        let ends = &explored.last_bytes;
        let n_words = points.tables.n_terminals.div_ceil(64);
        let after = after_bytes_of(futures, points.hypotheses.byte_classes(), points.hypotheses.n_classes());
        let mut of_terminal: Vec<Bits> = Vec::with_capacity(points.tables.n_terminals);
        let mut position = 0;
        for index in 0..points.tables.n_terminals {
            let n_ends = ends[position..].iter().take_while(|end| end.0.index() == index).count();
            let mut search = Search::new(n_words);
            for &(_, class, hypothesis) in &ends[position..position + n_ends] {
                for &(byte, future) in &after[usize::from(class)] {
                    search.read(points, futures, hypothesis, byte, future)?;
                }
            }
            of_terminal.push(search.finish(points, futures)?);
            position += n_ends;
        }
        if let Some((newline, made)) =
            points.tables.layout.as_ref().map(|layout| (layout.newline, [layout.indent, layout.dedent]))
        {
            // What indentation makes stands after a newline, or after more of it.
            for terminal in made {
                of_terminal[terminal.index()] = of_terminal[newline.index()].clone();
            }
        }
        Ok(Neighbours { n_words, of_terminal, of_spot: FxHashMap::default() })
    }

    /// The terminals that may end in a token in progress with `future`, at a hypothesis.
    ///
    /// # Errors
    /// If a limit of the lexer is reached.
    pub(super) fn of_spot(
        &mut self,
        points: &mut Points,
        futures: &Futures,
        spot: Spot,
    ) -> Result<Bits, EngineError> {
        if let Some(known) = self.of_spot.get(&spot) {
            return Ok(known.clone());
        }
        let mut search = Search::new(self.n_words);
        search.stack.push(spot);
        let set = search.finish(points, futures)?;
        self.of_spot.insert(spot, set.clone());
        Ok(set)
    }

    /// Drops what was found for places.
    pub(super) fn clear_spots(&mut self) {
        self.of_spot = FxHashMap::default();
    }

    /// The same after a terminal's end, wherever it is.
    pub(super) fn of_terminal(&self, terminal: TerminalId) -> &Bits {
        &self.of_terminal[terminal.index()]
    }

    pub(super) fn memory_usage(&self) -> usize {
        (self.of_spot.len() + self.of_terminal.len()) * (self.n_words * 8 + 40)
    }
}

/// A search for ends of terminals in rests of tokens.
struct Search {
    found: Bits,
    seen: FxHashSet<Spot>,
    stack: Vec<Spot>,
    outcomes: Vec<(Option<TerminalId>, HypothesisId)>,
}

impl Search {
    fn new(n_words: usize) -> Search {
        let found = vec![0; n_words].into();
        Search { found, seen: FxHashSet::default(), stack: Vec::new(), outcomes: Vec::new() }
    }

    /// Reads a byte that leaves `future` of the token.
    fn read(
        &mut self,
        points: &mut Points,
        futures: &Futures,
        hypothesis: HypothesisId,
        byte: u8,
        future: FutureId,
    ) -> Result<(), EngineError> {
        self.outcomes.clear();
        let class = usize::from(points.hypotheses.byte_classes()[usize::from(byte)]);
        points.read_class(hypothesis, class, &mut self.outcomes)?;
        for &(terminal, next) in &self.outcomes {
            // Newlines are read or passed over: in brackets they are ignored.
            if let Some(terminal) = terminal.filter(|&terminal| !points.tables.is_ignored(terminal, false)) {
                insert(&mut self.found, terminal.index());
            }
            let is_passed = terminal.is_none_or(|terminal| points.tables.is_ignored(terminal, true));
            if is_passed && !futures.edges(future).is_empty() && self.seen.insert((next, future)) {
                self.stack.push((next, future));
            }
        }
        Ok(())
    }

    fn finish(mut self, points: &mut Points, futures: &Futures) -> Result<Bits, EngineError> {
        while let Some((hypothesis, future)) = self.stack.pop() {
            for &(byte, next) in futures.edges(future) {
                self.read(points, futures, hypothesis, byte, next)?;
            }
            if self.seen.len() > MAX_PLACES {
                self.found.fill(u64::MAX);
                break;
            }
        }
        Ok(self.found)
    }
}

/// By class of bytes: what tokens have after one of its bytes, each a byte and the rest after that.
fn after_bytes_of(futures: &Futures, classes: &[u8; 256], n_classes: usize) -> Vec<Vec<(u8, FutureId)>> {
    let mut into: Vec<(u8, FutureId)> =
        futures.all().flat_map(|future| futures.edges(future).iter().copied()).collect();
    for (byte, _) in &mut into {
        *byte = classes[usize::from(*byte)];
    }
    into.sort_unstable();
    into.dedup();
    let mut after: Vec<Vec<(u8, FutureId)>> = vec![Vec::new(); n_classes];
    for (class, future) in into {
        after[usize::from(class)].extend_from_slice(futures.edges(future));
    }
    for list in &mut after {
        list.sort_unstable();
        list.dedup();
    }
    after
}
