//! One lattice under one grammar, of either kind: a chart of a scannerless grammar, or of a lexed one.

use maskwright_automata::Fuel;

use crate::chart::Chart;
use crate::derivation::{Filling, Marked};
use crate::infiller::AnyTables;
use crate::lattice::{Piece, Step};
use crate::lexed::LexedParse;
use crate::{InfillError, Infiller};

/// See the module.
#[derive(Debug)]
pub(crate) struct Parse {
    infiller: Infiller,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Scannerless { chart: Box<Chart>, ends: Vec<usize>, marked: Option<Marked> },
    Lexed(Box<LexedParse>),
}

/// How far a text that is impossible can be read.
pub(crate) struct Blocked {
    /// The first piece that nothing reads to its end.
    pub(crate) position: usize,
    /// How many bytes of it something reads, if it is a text.
    pub(crate) n_bytes: usize,
}

impl Parse {
    /// The parse of nothing yet.
    pub(crate) fn new(infiller: &Infiller) -> Parse {
        let kind = match &*infiller.tables() {
            AnyTables::Scannerless(_) => {
                Kind::Scannerless { chart: Box::default(), ends: Vec::new(), marked: None }
            }
            AnyTables::Lexed(_) => Kind::Lexed(Box::default()),
        };
        Parse { infiller: infiller.clone(), kind }
    }

    /// Makes this the parse of the lattice of `steps`, for texts that end at one of the boundaries `ends`, keeping what
    /// it can.
    ///
    /// # Errors
    /// If a limit is reached; then nothing is known.
    pub(crate) fn update(&mut self, steps: &[Step], ends: &[usize]) -> Result<(), InfillError> {
        let fuel = self.infiller.fuel();
        match (&mut self.kind, &mut *self.infiller.tables()) {
            (Kind::Scannerless { chart, ends: old, marked }, AnyTables::Scannerless(tables)) => {
                if !chart.is_of(steps) || old != ends {
                    *marked = None;
                }
                *old = ends.to_vec();
                chart.update(steps, tables, &fuel)
            }
            (Kind::Lexed(parse), AnyTables::Lexed(tables)) => {
                parse.update(steps, ends, tables);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Whether some text ends at `boundary` or before it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn ends_by(&mut self, boundary: usize) -> Result<bool, InfillError> {
        let fuel = self.infiller.fuel();
        match (&mut self.kind, &mut *self.infiller.tables()) {
            (Kind::Lexed(parse), AnyTables::Lexed(tables)) => parse.ends_by(boundary, tables, &fuel),
            (Kind::Scannerless { chart, ends, .. }, _) => {
                Ok(ends.iter().any(|&end| end <= boundary && chart.goal(end).is_some()))
            }
            _ => Ok(false),
        }
    }

    /// Adds to `mask` the tokens that masked position `position` can take. The first call after an update marks the
    /// chart, in time linear in it.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn add_tokens(&mut self, position: usize, mask: &mut [u32]) -> Result<(), InfillError> {
        let fuel = self.infiller.fuel();
        match (&mut self.kind, &mut *self.infiller.tables()) {
            (Kind::Scannerless { chart, ends, marked }, AnyTables::Scannerless(tables)) => {
                let marked = marked.get_or_insert_with(|| mark(chart, ends));
                chart.add_tokens(marked, position, mask, tables, &fuel)
            }
            (Kind::Lexed(parse), AnyTables::Lexed(tables)) => parse.add_tokens(position, mask, tables, &fuel),
            _ => Ok(()),
        }
    }

    /// Whether some text takes the way round piece `position`.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn is_skipped(&mut self, position: usize) -> Result<bool, InfillError> {
        let fuel = self.infiller.fuel();
        match (&mut self.kind, &mut *self.infiller.tables()) {
            (Kind::Scannerless { chart, ends, marked }, _) => {
                let marked = marked.get_or_insert_with(|| mark(chart, ends));
                Ok(chart.is_skipped(marked, position))
            }
            (Kind::Lexed(parse), AnyTables::Lexed(tables)) => parse.is_skipped(position, tables, &fuel),
            _ => Ok(false),
        }
    }

    /// What some text puts into the unknown places, and the boundary that it ends at; `None` if there is none.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn fillings(&mut self) -> Result<Option<(usize, Vec<Filling>)>, InfillError> {
        let fuel: Fuel = self.infiller.fuel();
        match (&mut self.kind, &mut *self.infiller.tables()) {
            (Kind::Scannerless { chart, ends, .. }, AnyTables::Scannerless(tables)) => {
                let first = ends.iter().find_map(|&end| Some((end, chart.goal(end)?)));
                let Some((end, goal)) = first else { return Ok(None) };
                Ok(Some((end, chart.fillings(goal, tables, &fuel)?)))
            }
            (Kind::Lexed(parse), AnyTables::Lexed(tables)) => parse.fillings(tables, &fuel),
            _ => Ok(None),
        }
    }

    /// How far the lattice of `steps`, which is that of the last update and impossible, can be read.
    ///
    /// # Errors
    /// If a limit is reached.
    pub(crate) fn blocked(&mut self, steps: &[Step]) -> Result<Blocked, InfillError> {
        let fuel = self.infiller.fuel();
        match (&mut self.kind, &mut *self.infiller.tables()) {
            (Kind::Lexed(parse), AnyTables::Lexed(tables)) => parse.blocked(steps, tables, &fuel),
            (Kind::Scannerless { chart, .. }, _) => {
                let position =
                    (0..steps.len()).rev().find(|&position| chart.is_reached(position)).unwrap_or(0);
                let n_bytes = match steps.get(position) {
                    Some((Piece::Bytes(bytes), _)) => (chart.furthest[position] as usize).min(bytes.len()),
                    _ => 0,
                };
                Ok(Blocked { position, n_bytes })
            }
            _ => Ok(Blocked { position: 0, n_bytes: 0 }),
        }
    }
}

fn mark(chart: &Chart, ends: &[usize]) -> Marked {
    let goals: Vec<u32> = ends.iter().filter_map(|&end| chart.goal(end)).collect();
    chart.mark(&goals)
}
