//! Which tokens one masked position can take, of a set of tokens in doubt.
//!
//! A chart is made outwards from the position ([`Chart::advance_focus`]): once one of its edges is marked,
//! the edge's tokens are allowed and no longer in doubt.
//!
//! [`Chart::advance_focus`]: crate::chart::Chart::advance_focus

use std::sync::Arc;

use maskwright_automata::{Fuel, FuelError};
use maskwright_vocabulary::{TokenId, mask_contains};

use crate::chart::NodeIndex;
use crate::ground::InfillError;
use crate::lexed::charted::Charted;
use crate::lexed::edges::LexedEdges;
use crate::lexed::graph::Crossing;
use crate::lexed::tables::LexedTables;
use crate::tokens::{NodeSetId, TokenSet};

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
    fn is_asked(&mut self, asked: &[u32], fuel: &Fuel) -> Result<bool, FuelError> {
        if !self.asked.is_some_and(|token| mask_contains(asked, token)) {
            fuel.spend(self.tokens().cost())?;
            self.asked = self.tokens().common(asked);
        }
        Ok(self.asked.is_some())
    }
}

impl Charted {
    /// Moves tokens that position `position` can take from `asked` to `allowed`; whether all of the tokens
    /// that are left can not be taken. Stops when no token is in doubt, or after about `patience` facts.
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
        let out_of_work = |error| InfillError::work(position, error);
        let mut n_marked = usize::MAX;
        let mut has_more = true;
        loop {
            if self.chart.n_marked() != n_marked {
                let is_first = n_marked == usize::MAX;
                n_marked = self.chart.n_marked();
                fuel.spend(1 + takings.len() as u64 / 8).map_err(out_of_work)?;
                let n_before = takings.len();
                for taking in takings.extract_if(.., |taking| self.chart.is_edge_marked(taking.edge)) {
                    fuel.spend(taking.tokens().cost()).map_err(out_of_work)?;
                    taking.tokens().move_to(asked, allowed);
                }
                if is_first || takings.len() < n_before {
                    let mut in_doubt = Vec::with_capacity(takings.len());
                    for mut taking in takings {
                        if taking.is_asked(asked, fuel).map_err(out_of_work)? {
                            in_doubt.push(taking);
                        }
                    }
                    takings = in_doubt;
                    self.forget_known(position, &takings, fuel)?;
                }
            }
            let is_answered = asked.iter().all(|&word| word == 0);
            if is_answered || !has_more || self.chart.n_facts() > patience {
                return Ok(is_answered || !has_more);
            }
            has_more = self.chart.advance_focus(&mut LexedEdges { graph: &self.graph, tables, fuel })?;
        }
    }

    /// Takes out of the graph what is on no path that the grammar's approximation lets pass and, if the graph
    /// `has_all` texts of the lattice, out of `asked` the tokens of the position that are on none. The chart
    /// must be new.
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
        self.graph.refute_edges(&mut tables.grammar, fuel)?;
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
    fn forget_known(&mut self, position: usize, asked: &[Taking], fuel: &Fuel) -> Result<(), InfillError> {
        let edges = self.graph.at[position].iter().flat_map(|&node| self.graph.edges_of(node));
        let edges: Vec<_> = edges.collect();
        let Some(first) = edges.iter().map(|&(edge, _)| edge as usize).min() else { return Ok(()) };
        let spend =
            |units: usize| fuel.spend(units as u64).map_err(|error| InfillError::work(position, error));
        spend(edges.len() + self.graph.nodes.len() / 64)?;
        let last = edges.iter().map(|&(edge, _)| edge as usize).max().unwrap_or(first);
        let mut is_known = vec![true; last + 1 - first];
        let mut is_asked = vec![false; self.graph.nodes.len()];
        for taking in asked {
            is_known[taking.edge as usize - first] = false;
            is_asked[taking.from as usize] = true;
        }
        // Within a token edges lead to nodes of the same position.
        loop {
            spend(edges.len() / 2)?;
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
        Ok(())
    }
}
