//! Which tokens one masked position can take, of a set of tokens in doubt.
//!
//! A chart is made outwards from the position ([`Chart::advance_focus`]): once one of its edges is marked, the edge's
//! tokens are allowed and no longer in doubt. If that does not end soon, [`Sweep`] makes all facts of the graph at
//! once.
//!
//! [`Chart::advance_focus`]: crate::chart::Chart::advance_focus

use std::sync::Arc;

use maskwright_automata::Fuel;
use maskwright_vocabulary::{TokenId, mask_contains};

use crate::chart::NodeIndex;
use crate::ground::InfillError;
use crate::lexed::charted::Charted;
use crate::lexed::edges::LexedEdges;
use crate::lexed::graph::Crossing;
use crate::lexed::sweep::Sweep;
use crate::lexed::tables::LexedTables;
use crate::tokens::{NodeSetId, TokenSet};

/// About how many facts are made one by one before all are made at once.
const N_SEARCHED: usize = 200_000;

/// An edge of the position, and its tokens.
struct Taking {
    edge: u32,
    from: NodeIndex,
    tokens: Arc<[TokenSet]>,
    index: usize,
    /// One of its tokens that was in doubt when last checked.
    asked: Option<TokenId>,
}

impl Taking {
    fn tokens(&self) -> &TokenSet {
        &self.tokens[self.index]
    }

    /// Whether one of its tokens is in doubt.
    fn is_asked(&mut self, asked: &[u32]) -> bool {
        if !self.asked.is_some_and(|token| mask_contains(asked, token)) {
            self.asked = self.tokens().common(asked);
        }
        self.asked.is_some()
    }
}

impl Charted {
    /// Moves tokens that position `position` can take from `asked` to `allowed`; whether all of the tokens that are left can
    /// not be taken. Stops when no token is in doubt, or after about `patience` facts.
    ///
    /// The chart must be new, or have been used for the same position, and is of no other use afterwards.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn decide(
        &mut self,
        position: usize,
        asked: &mut [u32],
        allowed: &mut [u32],
        patience: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        // Those that may have tokens in doubt.
        let mut takings = self.takings(position, tables, fuel)?;
        self.chart.focus_on(position, &LexedEdges { graph: &self.graph, tables, fuel });
        let mut n_marked = usize::MAX;
        let mut has_more = true;
        loop {
            if self.chart.n_marked() != n_marked {
                let is_first = n_marked == usize::MAX;
                n_marked = self.chart.n_marked();
                fuel.spend(1 + takings.len() as u64 / 8)
                    .map_err(|error| InfillError::work(position, error))?;
                let n_before = takings.len();
                takings.retain(|taking| {
                    let is_taken = self.chart.is_edge_marked(taking.edge);
                    if is_taken {
                        taking.tokens().move_to(asked, allowed);
                    }
                    !is_taken
                });
                if is_first || takings.len() < n_before {
                    takings.retain_mut(|taking| taking.is_asked(asked));
                    self.forget_known(position, &takings);
                }
            }
            let is_answered = asked.iter().all(|&word| word == 0);
            if is_answered || !has_more || self.chart.n_facts() > patience {
                return Ok(is_answered || !has_more);
            }
            has_more = self.chart.advance_focus(&mut LexedEdges { graph: &self.graph, tables, fuel })?;
        }
    }

    /// The same to the end: after as many facts as are searched quickly, all are made at once.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn settle(
        &mut self,
        position: usize,
        asked: &mut [u32],
        allowed: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        if !self.decide(position, asked, allowed, N_SEARCHED, tables, fuel)? {
            self.sweep(position, asked, allowed, tables, fuel)?;
        }
        Ok(())
    }

    /// Moves all tokens that position `position` can take on the graph from `asked` to `allowed`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn sweep(
        &mut self,
        position: usize,
        asked: &mut [u32],
        allowed: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        self.swept((position, false), [asked, allowed], tables, fuel).map(|_| ())
    }

    /// The same if `fuel` does; false, and nothing else, as soon as it can be seen that it does not.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn sweep_if_soon(
        &mut self,
        position: usize,
        asked: &mut [u32],
        allowed: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        self.swept((position, true), [asked, allowed], tables, fuel)
    }

    fn swept(
        &mut self,
        (position, soon): (usize, bool),
        [asked, allowed]: [&mut [u32]; 2],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        let mut takings = self.takings(position, tables, fuel)?;
        takings.retain_mut(|taking| taking.is_asked(asked));
        if takings.is_empty() {
            return Ok(true);
        }
        let mut edges: Vec<u32> = takings.iter().map(|taking| taking.edge).collect();
        edges.sort_unstable();
        let ways = LexedEdges { graph: &self.graph, tables, fuel };
        let Some(sweep) = Sweep::new(ways, &edges, soon)? else { return Ok(false) };
        for taking in takings.iter().filter(|taking| sweep.is_used(taking.edge)) {
            taking.tokens().move_to(asked, allowed);
        }
        Ok(true)
    }

    /// Takes out of the graph what is on no path that the grammar's approximation lets pass and, if the graph `has_all` texts of the
    /// lattice, out of `asked` the tokens of the position that are on none. The chart must be new.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn refute(
        &mut self,
        position: usize,
        asked: &mut [u32],
        has_all: bool,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        self.graph.refute_edges(tables, fuel)?;
        if !has_all {
            return Ok(());
        }
        let mut taken = vec![0; asked.len()];
        for taking in self.takings(position, tables, fuel)? {
            taking.tokens().add_to(&mut taken);
        }
        asked.iter_mut().zip(&taken).for_each(|(asked, taken)| *asked &= taken);
        Ok(())
    }

    fn takings(
        &mut self,
        position: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Vec<Taking>, InfillError> {
        let mut takings = Vec::new();
        for &node in &self.graph.at[position] {
            let (place, hypothesis) = self.graph.nodes[node as usize];
            if self.graph.ahead[node as usize].is_none() {
                continue;
            }
            let tokens = tables.scan_tokens(NodeSetId(place.inner), hypothesis, fuel)?;
            for (edge, way) in self.graph.edges_of(node) {
                if let Crossing::Token { index } = way.crossing
                    && (index as usize) < tokens.len()
                {
                    let (tokens, index) = (tokens.clone(), index as usize);
                    takings.push(Taking { edge, from: node, tokens, index, asked: None });
                }
            }
        }
        Ok(takings)
    }

    /// Marks the edges of the position that lead to none of `asked`, to skip them.
    fn forget_known(&mut self, position: usize, asked: &[Taking]) {
        let edges = self.graph.at[position].iter().flat_map(|&node| self.graph.edges_of(node));
        let edges: Vec<_> = edges.collect();
        let Some(first) = edges.iter().map(|&(edge, _)| edge as usize).min() else { return };
        let last = edges.iter().map(|&(edge, _)| edge as usize).max().unwrap_or(first);
        let mut is_known = vec![true; last + 1 - first];
        let mut is_asked = vec![false; self.graph.nodes.len()];
        for taking in asked {
            is_known[taking.edge as usize - first] = false;
            is_asked[taking.from as usize] = true;
        }
        // Within a token edges lead to nodes of the same position.
        loop {
            let mut has_changed = false;
            for &(number, edge) in edges.iter().rev() {
                let leads_on = self.graph.nodes[edge.to as usize].0.position as usize == position;
                if leads_on && is_asked[edge.to as usize] && is_known[number as usize - first] {
                    is_known[number as usize - first] = false;
                    has_changed |= !std::mem::replace(&mut is_asked[edge.from as usize], true);
                }
            }
            if !has_changed {
                break;
            }
        }
        self.chart.skip(first, is_known);
    }
}

#[cfg(test)]
mod tests {
    use maskwright_lark::{LarkConfig, LexerKind, parse_lark};
    use maskwright_vocabulary::Vocabulary;

    use super::*;
    use crate::lattice::{Lattice, Piece};
    use crate::lexed::hypotheses::LexerForm;

    /// A sweep that is given up says nothing; one that is not says the same as with all the work that it may take.
    #[test]
    fn sweeps_that_are_given_up_say_nothing() {
        let source =
            "start: group+\ngroup: \"(\" group* \")\" | \"[\" group+ \"]\" | \"x\" group \"y\" | \"z\"\n";
        let config = LarkConfig { lexer: LexerKind::Basic, ..LarkConfig::default() };
        let read = parse_lark(source, "grammar.lark", &config, &Fuel::unlimited()).unwrap();
        let texts = ["(", ")", "[", "]", "x", "y", "z", "()", "](", "zy", "xz"];
        let texts = texts.iter().map(|text| Some(text.as_bytes().to_vec())).collect();
        let vocabulary = Vocabulary::from_tokens(texts, &[], None).unwrap().shared();
        let n_words = vocabulary.n_words();
        let mut tables =
            LexedTables::new(&read.lexed, (None, LexerForm::Basic), vocabulary, true, &Fuel::unlimited())
                .unwrap();
        let mut steps = vec![(Piece::Token, None); 48];
        steps[20] = (Piece::Bytes(b"xz"[..].into()), None);
        let position = 21;
        let ends = vec![steps.len()];
        let lattice = Lattice { steps, ends, focus: None, keeps_text: false };
        let mut sweep = |work: u64, soon: bool| {
            let fuel = Fuel::unlimited();
            let mut charted = Charted::new(&lattice, &[], &mut tables, &fuel).unwrap();
            let (mut asked, mut allowed) = (vec![u32::MAX; n_words], vec![0; n_words]);
            let masks = [&mut asked[..], &mut allowed[..]];
            let outcome = charted.swept((position, soon), masks, &mut tables, &Fuel::new(work));
            (outcome.map_err(|error| error.is_limit()), asked, allowed)
        };
        let whole = sweep(u64::MAX, false);
        assert_eq!(whole.0, Ok(true));
        assert!(whole.2[0] != 0 && whole.1[0] & !whole.2[0] != 0, "some tokens can be taken");
        let (mut n_done, mut n_given_up) = (0, 0);
        for work in (4..24).map(|power| 1 << power) {
            let (outcome, asked, allowed) = sweep(work, true);
            match outcome {
                Ok(true) => {
                    assert_eq!((&asked, &allowed), (&whole.1, &whole.2), "{work} units");
                    n_done += 1;
                }
                Ok(false) | Err(true) => {
                    assert_eq!((asked, allowed), (vec![u32::MAX; n_words], vec![0; n_words]), "{work} units");
                    n_given_up += u32::from(outcome == Ok(false));
                }
                Err(false) => panic!("no other error"),
            }
        }
        assert!(n_done > 0 && n_given_up > 0, "{n_done} done, {n_given_up} given up");
    }
}
