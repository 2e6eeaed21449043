//! The grammar's approximation over a lexer's graph: which states can read on at a node, and which edges are
//! on no path.
//!
//! Both are fixpoints, one from the goals to the beginning and one from the beginning to the goals. Positions
//! are taken in order. A second pass over a position is needed only where edges lead back to earlier nodes of
//! it, as in pieces of any text.

use maskwright_automata::Fuel;

use crate::chart::START_NODE;
use crate::ground::InfillError;
use crate::lexed::graph::{Edge, Graph};
use crate::lexed::tables::grammar::GrammarTables;
use crate::rules::StatesId;

impl Graph {
    /// Computes which states of the grammar's approximation can read on at each node, from the end to the
    /// beginning. Nodes where none may are dead.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn look_further(
        &mut self,
        grammar: &mut GrammarTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let Some(approximation) = grammar.approximation(fuel)? else { return Ok(()) };
        self.futures = vec![StatesId::NONE; self.nodes.len()];
        for &goal in &self.goals {
            self.futures[goal as usize] = approximation.ends();
        }
        for position in (0..self.at.len()).rev() {
            loop {
                let (mut has_changed, mut goes_back) = (false, false);
                for index in (0..self.at[position].len()).rev() {
                    let node = self.at[position][index];
                    if self.ahead[node as usize].is_none() {
                        continue;
                    }
                    let (start, end) = self.out[node as usize];
                    fuel.spend(u64::from(end - start) / 4 + 1)
                        .map_err(|error| InfillError::work(position, error))?;
                    let mut all = self.futures[node as usize];
                    for &Edge { to, label, .. } in &self.edges[start as usize..end as usize] {
                        // Within a position edges mostly lead to nodes that were made later, and those are
                        // done.
                        goes_back |= self.leads_back(node, to);
                        let behind = self.futures[to as usize];
                        if behind != StatesId::NONE {
                            let before = match label {
                                Some(terminal) => approximation.step_back(terminal, behind, fuel)?,
                                None => behind,
                            };
                            all = approximation.union(all, before, fuel)?;
                        }
                    }
                    has_changed |= all != self.futures[node as usize];
                    self.futures[node as usize] = all;
                }
                if !(has_changed && goes_back) {
                    break;
                }
            }
        }
        for (ahead, &future) in self.ahead.iter_mut().zip(&self.futures) {
            if future == StatesId::NONE {
                *ahead = None;
            }
        }
        Ok(())
    }

    /// Removes the edges that are on no path from the beginning to a goal that the grammar's approximation
    /// lets pass.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn refute_edges(
        &mut self,
        grammar: &mut GrammarTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let Some(approximation) = grammar.approximation(fuel)? else { return Ok(()) };
        if self.futures.is_empty() || self.ahead[START_NODE as usize].is_none() {
            return Ok(());
        }
        let mut reached = vec![StatesId::NONE; self.nodes.len()];
        reached[START_NODE as usize] = approximation.start();
        for position in 0..self.at.len() {
            loop {
                let mut is_settled = true;
                for index in 0..self.at[position].len() {
                    let node = self.at[position][index];
                    let from = reached[node as usize];
                    if from == StatesId::NONE || self.ahead[node as usize].is_none() {
                        continue;
                    }
                    let (start, end) = self.out[node as usize];
                    fuel.spend(u64::from(end - start) / 4 + 1)
                        .map_err(|error| InfillError::work(position, error))?;
                    for &Edge { to, label, .. } in &self.edges[start as usize..end as usize] {
                        if self.ahead[to as usize].is_none() {
                            continue;
                        }
                        let behind = match label {
                            Some(terminal) => approximation.step(terminal, from, fuel)?,
                            None => from,
                        };
                        let all = approximation.union(reached[to as usize], behind, fuel)?;
                        is_settled &= all == reached[to as usize] || !self.leads_back(node, to);
                        reached[to as usize] = all;
                    }
                }
                if is_settled {
                    break;
                }
            }
        }
        for (out, from) in self.out.iter_mut().zip(reached) {
            let (start, end) = *out;
            fuel.spend(u64::from(end - start) / 4 + 1)?;
            let mut kept = start as usize;
            for index in start as usize..end as usize {
                let Edge { to, label, .. } = self.edges[index];
                let behind = match label {
                    _ if self.ahead[to as usize].is_none() => StatesId::NONE,
                    Some(terminal) => approximation.step(terminal, from, fuel)?,
                    None => from,
                };
                if approximation.meet(behind, self.futures[to as usize]) {
                    self.edges.swap(kept, index);
                    kept += 1;
                }
            }
            *out = (start, kept as u32);
        }
        Ok(())
    }
}
