//! A lexed grammar and a lattice: what is possible, what masked positions can take, one way to fill them.
//!
//! The whole graph of a lattice with masked positions can be large. So two others are asked before: a part of it (`narrow`), where
//! what is found is possible, and one of a larger set of texts (`wide`), where what is not found is impossible. Only
//! what they leave open is asked of the whole.

use maskwright_automata::Fuel;

use crate::InfillError;
use crate::derivation::Filling;
use crate::lattice::{Piece, Step};
use crate::lexed::charted::Charted;
use crate::lexed::earley::Earley;
use crate::lexed::graph::Graph;
use crate::lexed::narrow::{Reading, narrow};
use crate::lexed::tables::LexedTables;
use crate::lexed::wide::wide;
use crate::parse::Blocked;

/// See the module. Charts are made when they are needed.
#[derive(Debug, Default)]
pub(crate) struct LexedParse {
    steps: Vec<Step>,
    ends: Vec<usize>,
    /// How the narrow graph reads the positions, if there is one.
    readings: Option<Vec<Reading>>,
    narrow: Option<Charted>,
    wide: Option<Charted>,
    whole: Option<Charted>,
}

impl LexedParse {
    /// Makes this the parse of the lattice of `steps`, for texts that end at one of the boundaries `ends`.
    pub(crate) fn update(&mut self, steps: &[Step], ends: &[usize], tables: &LexedTables) {
        if self.steps != steps || self.ends != ends {
            *self = LexedParse {
                steps: steps.to_vec(),
                ends: ends.to_vec(),
                readings: narrow(steps).filter(|_| tables.narrow_first),
                ..LexedParse::default()
            };
        }
    }

    /// Whether some text ends at `boundary` or before it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn ends_by(
        &mut self,
        boundary: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        if self.whole.is_none()
            && let Some(readings) = &self.readings
        {
            let narrow = match self.narrow.take() {
                Some(known) => known,
                None => Charted::new(&self.steps, &self.ends, readings, tables, fuel)?,
            };
            if self.narrow.insert(narrow).ends_by(boundary, tables, fuel)? {
                return Ok(true);
            }
            let wide = match self.wide.take() {
                Some(known) => known,
                None => Charted::new(&wide(&self.steps, None), &self.ends, &[], tables, fuel)?,
            };
            if !self.wide.insert(wide).ends_by(boundary, tables, fuel)? {
                return Ok(false);
            }
        }
        self.whole(tables, fuel)?.ends_by(boundary, tables, fuel)
    }

    /// Adds to `mask` the tokens that masked position `position` can take.
    pub(crate) fn add_tokens(
        &mut self,
        position: usize,
        mask: &mut [u32],
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        self.whole(tables, fuel)?.add_tokens(position, mask, tables, fuel)
    }

    /// Whether some text takes the way round piece `position`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn is_skipped(
        &mut self,
        position: usize,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<bool, InfillError> {
        self.whole(tables, fuel)?.is_skipped(position, tables, fuel)
    }

    /// What some text puts into the unknown places, and the boundary that it ends at; `None` if there is none.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn fillings(
        &mut self,
        tables: &mut LexedTables,
        fuel: &Fuel,
    ) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
        if !self.ends_by(self.steps.len(), tables, fuel)? {
            return Ok(None);
        }
        for charted in [&self.narrow, &self.whole].into_iter().flatten() {
            if let Some(fillings) = charted.fillings(tables, fuel)? {
                return Ok(Some(fillings));
            }
        }
        Ok(None)
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
        let mut graph = Graph::new(steps, &[], &[], tables, fuel)?;
        graph.forget_ahead(tables.n_terminals);
        let mut chart = Earley::new(&graph, tables);
        chart.finish(&graph, tables, fuel)?;
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

    fn whole(&mut self, tables: &mut LexedTables, fuel: &Fuel) -> Result<&mut Charted, InfillError> {
        let whole = match self.whole.take() {
            Some(known) => known,
            None => Charted::new(&self.steps, &self.ends, &[], tables, fuel)?,
        };
        Ok(self.whole.insert(whole))
    }
}
