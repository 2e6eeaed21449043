//! The reader of grammars over the tokens of a lexer.
//!
//! The whole graph of a lattice with masked positions can be large. So a search looks at a part of it first
//! ([`narrow`]): a text found there is a text of the lattice. A graph of a lattice with more texts ([`wide`])
//! refutes: if it has no text, the lattice has none.

use maskwright_automata::Fuel;
use maskwright_grammar::TerminalId;
use maskwright_lexing::{Token, tokenize};
use rustc_hash::FxHashMap;

use crate::chart::Chart;
use crate::ground::InfillError;
use crate::lattice::{
    Blocked, Effort, Lattice, LexerToken, MAX_AROUNDS, Outcome, Piece, Read, around, rough, wide,
};
use crate::lexed::charted::Charted;
use crate::lexed::edges::LexedEdges;
use crate::lexed::graph::Graph;
use crate::lexed::graph::narrow::{Reading, narrow, usual};
use crate::lexed::tables::LexedTables;

/// About how many facts of a narrow graph are made to settle what a position can take, before the whole one
/// is made.
const N_NARROW: usize = 30_000;

/// How many masked positions before one and after it are read as such to refuse its tokens, if few are asked
/// about.
const MASKED_NEAR: [[usize; 2]; 2] = [[0, 3], [3, 3]];

/// Few are one in so many tokens of the vocabulary.
const FEW: usize = 128;

/// About how many facts are made to refuse tokens that way.
const N_AROUND: usize = 50_000;

/// See the module.
pub(crate) struct LexedReader {
    tables: LexedTables,
    /// Whether smaller graphs are searched before the whole one.
    narrow_first: bool,
    /// By lattice around a position, the tokens that were asked about, and those of them that it lets the
    /// position take or that it was not decided about.
    asked: FxHashMap<Lattice, [Box<[u32]>; 2]>,
}

impl Read for LexedReader {
    fn search(&mut self, lattice: &Lattice, effort: Effort, fuel: &Fuel) -> Result<Outcome, InfillError> {
        let (Effort::Likely(n_facts) | Effort::Whole(n_facts)) = effort;
        let part = match effort {
            Effort::Likely(_) => self.likely(lattice, lattice.focus),
            Effort::Whole(_) => None,
        };
        let is_whole = !lattice.keeps_text
            && part.as_ref().is_none_or(|part| part.iter().all(|&reading| reading == Reading::Whole));
        let mut charted = Charted::new(lattice, &part.unwrap_or_default(), &mut self.tables, fuel)?;
        if charted.has_text(n_facts, &mut self.tables, fuel)? == Some(false) {
            return Ok(if is_whole { Outcome::Nothing } else { Outcome::Unknown });
        }
        let found = charted.fillings(&lattice.steps, &mut self.tables, fuel)?;
        Ok(found.map_or(Outcome::Unknown, |(end, fillings)| Outcome::Text { end, fillings }))
    }

    fn has_text(
        &mut self,
        lattice: &Lattice,
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<Option<bool>, InfillError> {
        Charted::new(lattice, &[], &mut self.tables, fuel)?.has_text(n_facts, &mut self.tables, fuel)
    }

    fn widened(&self, lattice: &Lattice) -> Lattice {
        if has_counted_text(&self.tables, lattice) { rough(lattice) } else { wide(lattice) }
    }

    fn refuse_few(
        &mut self,
        lattice: &Lattice,
        position: usize,
        asked: &mut [u32],
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        for n_masked in MASKED_NEAR {
            let n_asked: usize = asked.iter().map(|word| word.count_ones() as usize).sum();
            if n_asked > 0 && n_asked * FEW <= self.tables.vocabulary.n_vocab() {
                self.refuse_around(around(lattice, position, n_masked), asked, fuel)?;
            }
        }
        Ok(())
    }

    fn prove(
        &mut self,
        lattice: &Lattice,
        position: usize,
        [asked, allowed]: [&mut [u32]; 2],
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let part = self.likely(lattice, Some(position)).unwrap_or_default();
        let mut charted = Charted::new(lattice, &part, &mut self.tables, fuel)?;
        charted.decide(position, asked, allowed, n_facts, &mut self.tables, fuel)?;
        Ok(())
    }

    fn settle(
        &mut self,
        lattice: &Lattice,
        position: usize,
        [asked, allowed]: [&mut [u32]; 2],
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        if has_counted_text(&self.tables, lattice) {
            let mut rough = Charted::new(&rough(lattice), &[], &mut self.tables, fuel)?;
            rough.refute(position, asked, true, &mut self.tables, fuel)?;
        }
        if let Some(part) = self.likely(lattice, Some(position)) {
            let mut narrow = Charted::asking(lattice, &part, (position, asked), &mut self.tables, fuel)?;
            narrow.decide(position, asked, allowed, N_NARROW, &mut self.tables, fuel)?;
        }
        if asked.iter().any(|&word| word != 0) {
            let mut whole = Charted::asking(lattice, &[], (position, asked), &mut self.tables, fuel)?;
            whole.decide(position, asked, allowed, usize::MAX, &mut self.tables, fuel)?;
            asked.fill(0);
        }
        Ok(())
    }

    fn tokens(&mut self, text: &[u8]) -> Result<Option<Vec<LexerToken>>, InfillError> {
        let (tokens, stuck) = tokenize(&self.tables.hypotheses.tables().lexer, text)?;
        let token = |Token { terminal, range }| {
            let is_ignored = self.tables.is_ignored(TerminalId::from_index(terminal as usize));
            LexerToken { terminal: (!is_ignored).then_some(terminal), range }
        };
        Ok(stuck.is_none().then(|| tokens.into_iter().map(token).collect()))
    }

    fn blocked(&mut self, lattice: &Lattice, fuel: &Fuel) -> Result<Blocked, InfillError> {
        // What lies ahead restricts what is read, and here it must not.
        let mut graph =
            Graph::new(&Lattice { ends: Vec::new(), ..lattice.clone() }, &[], &mut self.tables, fuel)?;
        graph.forget_ahead(self.tables.grammar.n_terminals);
        let mut edges = LexedEdges { graph: &graph, tables: &mut self.tables, fuel };
        let mut chart = Chart::new(&mut edges);
        chart.finish(usize::MAX, &mut edges)?;
        let boundaries = chart.reached().filter(|&node| graph.is_boundary[node as usize]);
        // The last place where a token of the lexer can begin.
        let last = boundaries.map(|node| graph.nodes[node as usize].0).max_by_key(|place| {
            let offset = match lattice.steps.get(place.position as usize) {
                Some((Piece::Bytes(_), _)) => place.inner,
                _ => 0,
            };
            (place.position, offset)
        });
        let Some(place) = last else { return Ok(Blocked { position: 0, n_bytes: 0 }) };
        let position = place.position as usize;
        let is_text = matches!(lattice.steps.get(position), Some((Piece::Bytes(_), _)));
        Ok(Blocked { position, n_bytes: if is_text { place.inner as usize } else { 0 } })
    }
}

impl LexedReader {
    /// A reader with the options of `limits`.
    pub(crate) fn new(tables: LexedTables, narrow_first: bool) -> LexedReader {
        LexedReader { tables, narrow_first, asked: FxHashMap::default() }
    }

    /// How a part of the lattice's graph reads the positions, if there is a part that is likely to have a
    /// text.
    fn likely(&self, lattice: &Lattice, focus: Option<usize>) -> Option<Vec<Reading>> {
        if !self.narrow_first {
            return None;
        }
        let counted = || usual(&lattice.steps).filter(|_| self.tables.hypotheses.tables().layout.is_some());
        narrow(&lattice.steps, focus).or_else(counted)
    }

    /// Removes from `asked` the tokens that the text around a position refutes.
    ///
    /// # Errors
    /// If a limit is reached.
    fn refuse_around(&mut self, around: Lattice, asked: &mut [u32], fuel: &Fuel) -> Result<(), InfillError> {
        let nothing = || vec![0; asked.len()].into_boxed_slice();
        let [mut known, mut allowed] = self.asked.remove(&around).unwrap_or_else(|| [nothing(), nothing()]);
        let mut unknown: Vec<u32> = asked.iter().zip(&known).map(|(asked, known)| asked & !known).collect();
        if unknown.iter().any(|&word| word != 0) {
            known.iter_mut().zip(&unknown).for_each(|(known, unknown)| *known |= unknown);
            let position = around.focus.unwrap_or(0);
            let mut charted =
                Charted::asking(&around, &[], (position, &mut unknown), &mut self.tables, fuel)?;
            if !charted.decide(position, &mut unknown, &mut allowed, N_AROUND, &mut self.tables, fuel)? {
                // What is not refuted by then is not tried again.
                allowed.iter_mut().zip(&unknown).for_each(|(allowed, unknown)| *allowed |= unknown);
            }
        }
        asked.iter_mut().zip(&allowed).for_each(|(asked, allowed)| *asked &= allowed);
        if self.asked.len() >= MAX_AROUNDS {
            self.asked.clear();
        }
        self.asked.insert(around, [known, allowed]);
        Ok(())
    }
}

/// Whether any text may stand somewhere, and the widths of its lines matter.
fn has_counted_text(tables: &LexedTables, lattice: &Lattice) -> bool {
    tables.hypotheses.tables().layout.is_some()
        && lattice.steps.iter().any(|(piece, _)| matches!(piece, Piece::Free))
}
