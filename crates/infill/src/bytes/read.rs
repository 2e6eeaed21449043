//! The reader of grammars over bytes: one chart for each lattice.

use maskwright_automata::Fuel;

use crate::bytes::scanned::Scanned;
use crate::bytes::tables::Tables;
use crate::chart::{Chart, Edges};
use crate::ground::InfillError;
use crate::lattice::{Blocked, Effort, Lattice, Outcome, Piece, Read};

impl Read for Tables {
    fn search(&mut self, lattice: &Lattice, effort: Effort, fuel: &Fuel) -> Result<Outcome, InfillError> {
        if lattice.keeps_text {
            // There are no comments.
            return Ok(Outcome::Unknown);
        }
        let (Effort::Likely(n_facts) | Effort::Whole(n_facts)) = effort;
        let mut edges = Scanned::new(lattice, self, fuel);
        let mut chart = Chart::new(&mut edges);
        if !chart.search(n_facts, &mut edges)? {
            return Ok(Outcome::Unknown);
        }
        let Some((goal, node)) = chart.goal() else { return Ok(Outcome::Nothing) };
        let end = edges.position(node) as usize;
        Ok(Outcome::Text { end, fillings: edges.fillings(&chart.path(goal))? })
    }

    fn has_text(
        &mut self,
        lattice: &Lattice,
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<Option<bool>, InfillError> {
        let mut edges = Scanned::new(lattice, self, fuel);
        let mut chart = Chart::new(&mut edges);
        Ok(chart.search(n_facts, &mut edges)?.then_some(chart.goal().is_some()))
    }

    fn prove(
        &mut self,
        lattice: &Lattice,
        position: usize,
        masks: [&mut [u32]; 2],
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let mut edges = Scanned::new(lattice, self, fuel);
        let mut chart = Chart::new(&mut edges);
        chart.finish(n_facts, &mut edges)?;
        move_tokens(&chart, &mut edges, position, masks, fuel)
    }

    fn settle(
        &mut self,
        lattice: &Lattice,
        position: usize,
        [asked, allowed]: [&mut [u32]; 2],
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        // What is found by then is possible even if the rest is not made; to say its tokens takes work too.
        let most = fuel.left() / 3 * 2;
        let part = Fuel::new(most);
        let mut edges = Scanned::new(lattice, self, &part);
        let mut chart = Chart::new(&mut edges);
        let finished = chart.finish(usize::MAX, &mut edges);
        fuel.spend(most - part.left()).map_err(|error| InfillError::work(position, error))?;
        move_tokens(&chart, &mut edges, position, [asked, allowed], fuel)?;
        finished?;
        asked.fill(0);
        Ok(())
    }

    fn blocked(&mut self, lattice: &Lattice, fuel: &Fuel) -> Result<Blocked, InfillError> {
        let mut edges = Scanned::new(lattice, self, fuel);
        let mut chart = Chart::new(&mut edges);
        chart.finish(usize::MAX, &mut edges)?;
        let reached = chart.reached().map(|node| edges.position(node) as usize);
        // The last position at which anything begins to read.
        let position = reached.filter(|&position| position < lattice.steps.len()).max().unwrap_or(0);
        let n_bytes = match lattice.steps.get(position) {
            Some((Piece::Bytes(_), _)) => edges.n_bytes_read(position),
            _ => 0,
        };
        Ok(Blocked { position, n_bytes })
    }
}

/// Moves the tokens that texts of the chart have at the position from `asked` to `allowed`, as many as are
/// found within the limit.
fn move_tokens(
    chart: &Chart,
    edges: &mut Scanned<'_>,
    position: usize,
    [asked, allowed]: [&mut [u32]; 2],
    fuel: &Fuel,
) -> Result<(), InfillError> {
    let mut found = vec![0; asked.len()];
    let added = edges.add_tokens(position, |edge| chart.is_edge_marked(edge), &mut found, fuel);
    for ((asked, allowed), found) in asked.iter_mut().zip(allowed).zip(found) {
        *allowed |= *asked & found;
        *asked &= !found;
    }
    added
}
