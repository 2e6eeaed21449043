//! The reader of grammars over bytes: one chart for each lattice ([`crate::chart`]).

use maskwright_automata::Fuel;

use crate::InfillError;
use crate::chart::Chart;
use crate::lattice::{Lattice, Piece};
use crate::reader::{Blocked, Effort, Outcome, Read};
use crate::tables::Tables;

impl Read for Tables {
    fn search(&mut self, lattice: &Lattice, effort: Effort, fuel: &Fuel) -> Result<Outcome, InfillError> {
        if lattice.keeps_text {
            // There are no comments.
            return Ok(Outcome::Unknown);
        }
        let (Effort::Likely(n_facts) | Effort::Whole(n_facts)) = effort;
        let mut chart = Chart::new(lattice, self, fuel)?;
        if !chart.search(n_facts, self, fuel)? {
            return Ok(Outcome::Unknown);
        }
        let Some(&(end, goal)) = chart.goals.first() else { return Ok(Outcome::Nothing) };
        Ok(Outcome::Text { end, fillings: chart.fillings(goal, self, fuel)? })
    }

    fn has_text(
        &mut self,
        lattice: &Lattice,
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<Option<bool>, InfillError> {
        let mut chart = Chart::new(lattice, self, fuel)?;
        Ok(chart.search(n_facts, self, fuel)?.then_some(!chart.goals.is_empty()))
    }

    fn prove(
        &mut self,
        lattice: &Lattice,
        position: usize,
        masks: [&mut [u32]; 2],
        n_facts: usize,
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let mut chart = Chart::new(lattice, self, fuel)?;
        chart.finish(n_facts, self, fuel)?;
        move_tokens(&chart, position, masks, self, fuel)
    }

    fn settle(
        &mut self,
        lattice: &Lattice,
        position: usize,
        [asked, allowed]: [&mut [u32]; 2],
        fuel: &Fuel,
    ) -> Result<(), InfillError> {
        let mut chart = Chart::new(lattice, self, fuel)?;
        let finished = chart.finish(usize::MAX, self, fuel);
        // What is found by then is possible even if the rest is not.
        move_tokens(&chart, position, [asked, allowed], self, &Fuel::unlimited())?;
        finished?;
        asked.fill(0);
        Ok(())
    }

    fn blocked(&mut self, lattice: &Lattice, fuel: &Fuel) -> Result<Blocked, InfillError> {
        let mut chart = Chart::new(lattice, self, fuel)?;
        chart.finish(usize::MAX, self, fuel)?;
        let position = chart.last_reached();
        let n_bytes = match lattice.steps.get(position) {
            Some((Piece::Bytes(bytes), _)) => (chart.furthest[position] as usize).min(bytes.len()),
            _ => 0,
        };
        Ok(Blocked { position, n_bytes })
    }
}

/// Moves the tokens that texts of the chart have at the position from `asked` to `allowed`.
fn move_tokens(
    chart: &Chart,
    position: usize,
    [asked, allowed]: [&mut [u32]; 2],
    tables: &mut Tables,
    fuel: &Fuel,
) -> Result<(), InfillError> {
    let goals: Vec<u32> = chart.goals.iter().map(|&(_, goal)| goal).collect();
    let mut found = vec![0; asked.len()];
    chart.add_tokens(&chart.mark(&goals), position, &mut found, tables, fuel)?;
    for ((asked, allowed), found) in asked.iter_mut().zip(allowed).zip(found) {
        *allowed |= *asked & found;
        *asked &= !found;
    }
    Ok(())
}
