//! A lexed grammar and a lattice: what is possible, what masked positions can take, one way to fill them.

use maskwright_automata::Fuel;

use crate::InfillError;
use crate::derivation::Filling;
use crate::lattice::{Piece, Step};
use crate::lexed::earley::Earley;
use crate::lexed::graph::{Crossing, Graph};
use crate::lexed::tables::LexedTables;
use crate::node_sets::NodeSetId;
use crate::parse::Blocked;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct LexedParse {
    steps: Vec<Step>,
    ends: Vec<usize>,
    is_done: bool,
    graph: Graph,
    chart: Earley,
    /// The marked edges, where they are known.
    marked: Option<Vec<bool>>,
}

impl LexedParse {
    /// Makes this the parse of the lattice of `steps`, for texts that end at one of the boundaries `ends`.
    ///
    /// # Errors
    /// If a limit is reached; then nothing is known.
    pub(crate) fn update(
        &mut self,
        steps: &[Step],
        ends: &[usize],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        if self.is_done && self.steps == steps && self.ends == ends {
            return Ok(());
        }
        *self = LexedParse::default();
        self.graph = Graph::new(steps, ends, tables, fuel)?;
        self.chart = Earley::new(&self.graph, tables, fuel)?;
        self.steps = steps.to_vec();
        self.ends = ends.to_vec();
        self.is_done = true;
        Ok(())
    }

    /// The boundaries of `ends` that texts can end at.
    pub(crate) fn goals(&self) -> Vec<usize> {
        let position = |node: u32| self.graph.nodes[node as usize].0.position as usize;
        let mut goals: Vec<usize> = self
            .graph
            .goals
            .iter()
            .filter(|&&node| self.chart.goal(node).is_some())
            .map(|&n| position(n))
            .collect();
        goals.sort_unstable();
        goals.dedup();
        goals
    }

    /// Adds to `mask` the tokens that masked position `position` can take.
    pub(crate) fn add_tokens(
        &mut self,
        position: usize,
        mask: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        self.mark();
        let Some(marked) = &self.marked else { return Ok(()) };
        for &node in &self.graph.at[position] {
            let (place, hypothesis) = self.graph.nodes[node as usize];
            for (number, edge) in self.graph.edges_of(node) {
                if let Crossing::Token { index } = edge.crossing
                    && marked[number as usize]
                {
                    let tokens = tables.scan_tokens(NodeSetId(place.inner), hypothesis, fuel)?;
                    if let Some(tokens) = tokens.get(index as usize) {
                        tokens.add_to(mask);
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether some text takes the way round piece `position`.
    pub(crate) fn is_skipped(&mut self, position: usize) -> bool {
        self.mark();
        let Some(marked) = &self.marked else { return false };
        self.graph.at[position].iter().any(|&node| {
            let mut edges = self.graph.edges_of(node);
            edges.any(|(number, edge)| edge.crossing == Crossing::Skip && marked[number as usize])
        })
    }

    /// What some text that ends at boundary `end` puts into the unknown places; nothing if there is none.
    pub(crate) fn fillings(
        &self,
        end: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Vec<Filling>, InfillError> {
        let mut fillings = Vec::new();
        let is_there = |node: u32| self.graph.nodes[node as usize].0.position as usize == end;
        let Some(goal) =
            self.graph.goals.iter().filter(|&&node| is_there(node)).find_map(|&node| self.chart.goal(node))
        else {
            return Ok(fillings);
        };
        for number in self.chart.path(goal) {
            let edge = self.graph.edges[number as usize];
            let (place, hypothesis) = self.graph.nodes[edge.from as usize];
            let position = place.position as usize;
            match edge.crossing {
                Crossing::Bytes | Crossing::Skip => {}
                Crossing::Token { index } => {
                    let tokens = tables.scan_tokens(NodeSetId(place.inner), hypothesis, fuel)?;
                    if let Some(token) = tokens.get(index as usize).and_then(|tokens| tokens.any()) {
                        fillings.push(Filling::Token { position, token });
                    }
                }
                Crossing::Text { target } => {
                    let bytes = tables.free_text(hypothesis, (edge.label, target), fuel)?;
                    fillings.push(Filling::Text { position, bytes });
                }
            }
        }
        Ok(fillings)
    }

    /// How far an impossible lattice can be read from the left: to the last place where a token of the lexer can
    /// begin.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn blocked(
        &self,
        steps: &[Step],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Blocked, InfillError> {
        // What lies ahead restricts what is read, and here it must not.
        let mut graph = Graph::new(steps, &[], tables, fuel)?;
        graph.forget_ahead(tables.n_terminals);
        let chart = Earley::new(&graph, tables, fuel)?;
        let boundaries = chart.reached().filter(|&node| graph.is_boundary[node as usize]);
        let last = boundaries.map(|node| graph.nodes[node as usize].0).max_by_key(|place| {
            let offset = match steps.get(place.position as usize) {
                Some((Piece::Bytes(_), _)) => place.inner,
                _ => 0,
            };
            (place.position, offset)
        });
        let Some(place) = last else { return Ok(Blocked { position: 0, n_bytes: 0 }) };
        let position = place.position as usize;
        let is_text = matches!(steps.get(position), Some((Piece::Bytes(_), _)));
        Ok(Blocked { position, n_bytes: if is_text { place.inner as usize } else { 0 } })
    }

    fn mark(&mut self) {
        if self.marked.is_none() {
            let goals: Vec<u32> = self.graph.goals.iter().filter_map(|&node| self.chart.goal(node)).collect();
            self.marked = Some(self.chart.mark(&goals, self.graph.edges.len()));
        }
    }
}
