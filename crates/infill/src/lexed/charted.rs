//! A lexer's graph of a lattice and its chart: whether it has a text, how that fills the unknown places, and
//! what positions can take.

mod decide;

use maskwright_automata::Fuel;
use maskwright_grammar::TerminalId;

use crate::chart::Chart;
use crate::ground::InfillError;
use crate::lattice::{Filling, Lattice, Node, Piece, Step};
use crate::lexed::edges::LexedEdges;
use crate::lexed::graph::narrow::Reading;
use crate::lexed::graph::{Crossing, Edge, Graph};
use crate::lexed::hypotheses::CLEAR;
use crate::lexed::tables::LexedTables;
use crate::lexed::tables::wide_lines::LineEnds;
use crate::tokens::NodeSetId;

/// See the module.
#[derive(Debug)]
pub(crate) struct Charted {
    pub(crate) graph: Graph,
    pub(crate) chart: Chart,
}

impl Charted {
    /// The chart of the lattice of `steps`, for texts that end at one of the boundaries `ends`, read as
    /// `readings` say.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn new(
        lattice: &Lattice,
        readings: &[Reading],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Charted, InfillError> {
        let graph = Graph::new(lattice, readings, tables, fuel)?;
        let chart = Chart::new(&mut LexedEdges { graph: &graph, tables, fuel });
        Ok(Charted { graph, chart })
    }

    /// The same for what position `position` can take of `asked`: of other tokens there only those that lead
    /// to the same, and nothing that is on no path as far as the grammar's approximation says. Takes out of
    /// `asked` the tokens that are left in no text, if all positions are read as a whole.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn asking(
        lattice: &Lattice,
        readings: &[Reading],
        (position, asked): (usize, &mut [u32]),
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Charted, InfillError> {
        let graph = Graph::asking(lattice, readings, Some((position, asked.into())), tables, fuel)?;
        let chart = Chart::new(&mut LexedEdges { graph: &graph, tables, fuel });
        let mut charted = Charted { graph, chart };
        charted.refute(position, asked, readings.is_empty(), tables, fuel)?;
        Ok(charted)
    }

    /// The same, if about `patience` facts say.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn has_text(
        &mut self,
        patience: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Option<bool>, InfillError> {
        let is_answered =
            self.chart.search(patience, &mut LexedEdges { graph: &self.graph, tables, fuel })?;
        Ok(is_answered.then(|| self.chart.goal().is_some()))
    }

    /// What some text that is known of puts into the unknown places, and the boundary that it ends at; `None`
    /// if none is known of.
    pub(crate) fn fillings(
        &self,
        steps: &[Step],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
        let (mut fillings, mut line_ends) = (Vec::new(), LineEnds::default());
        let Some((goal, node)) = self.chart.goal() else { return Ok(None) };
        let end = self.graph.nodes[node as usize].0.position as usize;
        // Where a walk begins from the clear boundary, the hypothesis that the tokens before led to.
        let mut real = tables.hypotheses.start;
        let mut labels: Vec<TerminalId> = Vec::new();
        for number in self.chart.path(goal) {
            let edge @ Edge { from, label, crossing, .. } = self.graph.edges[number as usize];
            let (place, hypothesis) = self.graph.nodes[from as usize];
            let position = place.position as usize;
            if place == Node::boundary(place.position) {
                labels.clear();
                real = if hypothesis == CLEAR { real } else { hypothesis };
            }
            labels.extend(label);
            let filling = match crossing {
                Crossing::Bytes | Crossing::Skip | Crossing::Indent => None,
                Crossing::Token { index } => {
                    let tokens = tables.scan_tokens(NodeSetId(place.inner), hypothesis, fuel)?;
                    let token = tokens.get(index as usize).and_then(|tokens| tokens.any());
                    token.map(|token| Filling::Token { position, token })
                }
                Crossing::Walk { target } => {
                    let walker = tables.walker(real, &labels, target, fuel)?;
                    walker.map(|(token, behind)| {
                        real = behind;
                        Filling::Token { position, token }
                    })
                }
                Crossing::Text { target } => {
                    let counted = steps.get(position).and_then(|(piece, _)| self.graph.counted_in(piece));
                    let bytes = tables.free_text(hypothesis, (label, target), counted, fuel)?;
                    Some(Filling::Text { position, bytes })
                }
            };
            let bytes = self.bytes_read(edge, filling.as_ref(), steps, tables);
            let number = matches!(crossing, Crossing::Text { .. }).then_some(fillings.len());
            line_ends.pass(edge, bytes, number, &self.graph, tables);
            fillings.extend(filling);
        }
        line_ends.widen(steps, &mut fillings, tables)?;
        Ok(Some((end, fillings)))
    }

    /// The bytes that an edge reads, with what it is filled with; none where they are not known, within a
    /// token.
    fn bytes_read<'b>(
        &self,
        edge: Edge,
        filling: Option<&'b Filling>,
        steps: &'b [Step],
        tables: &'b LexedTables,
    ) -> &'b [u8] {
        let place = self.graph.nodes[edge.from as usize].0;
        match (filling, steps.get(place.position as usize)) {
            (Some(Filling::Text { bytes, .. }), _) => bytes,
            (Some(Filling::Token { token, .. }), _) => tables.vocabulary.text(*token).unwrap_or_default(),
            (None, Some((Piece::Bytes(bytes), _))) if edge.crossing == Crossing::Bytes => {
                let behind = self.graph.nodes[edge.to as usize].0;
                let is_inside = behind.position == place.position;
                let end = if is_inside { behind.inner as usize } else { bytes.len() };
                bytes.get(place.inner as usize..end).unwrap_or_default()
            }
            (None, _) => &[],
        }
    }
}
