//! Views of a session: where it stands, and what the rows there say.

use maskwright_automata::{Automaton, ByteSet, StateId};

use super::Matcher;
use crate::ground::MaskBuilder;
use crate::parser::ConfigId;
use crate::session::inspect::RowView;
use crate::session::machine::Machine;
use crate::{EngineError, Error};

impl Matcher {
    /// The number of the session's configuration: texts that lead to one number go on alike, but for what a
    /// watch remembers. It is good for one grammar, as long as its tables are not dropped.
    #[doc(hidden)]
    pub fn inspect_configuration(&self) -> u32 {
        self.state.config.0
    }

    /// The residues of all readings of the text so far, by terminal, with what their rows say. Makes the rows
    /// that are not there yet.
    ///
    /// # Errors
    /// If a limit is reached.
    #[doc(hidden)]
    pub fn inspect_rows(&self) -> Result<Vec<RowView>, Error> {
        if self.is_terminated() {
            return Ok(Vec::new());
        }
        Ok(self.ask(|machine| rows_at(machine, self.state.config))?)
    }
}

fn rows_at(machine: &Machine, config: ConfigId) -> Result<Vec<RowView>, EngineError> {
    let threads = machine.reader.threads(config);
    threads
        .chunk_by(|a, b| (a.terminal, a.residue) == (b.terminal, b.residue))
        .map(|group| {
            let automaton = machine.reader.parser().automaton(group[0].terminal);
            let (n_inside, n_exits) = row_counts(machine, automaton, group[0].residue)?;
            Ok(RowView {
                terminal: group[0].terminal.index(),
                regex: format!("{:?}", automaton.regex()),
                residue: automaton.describe(group[0].residue),
                n_threads: group.len(),
                n_inside,
                n_exits,
            })
        })
        .collect()
}

/// Inside tokens and exits of the row of `residue`.
fn row_counts(
    machine: &Machine,
    automaton: &Automaton,
    residue: StateId,
) -> Result<(Option<usize>, Option<usize>), EngineError> {
    if automaton.is_literal_like() {
        return Ok((None, None));
    }
    let located = EngineError::in_terminal(automaton);
    let vocabulary = &machine.reader.parser().shared.vocabulary;
    let max_bytes = vocabulary.max_token_bytes() as u32;
    let residue = automaton.row_key(residue, max_bytes).map_err(located)?;
    let row = machine.reader.parser().shared.rows.get(automaton, residue).map_err(located)?;
    let mut inside = MaskBuilder::new(vocabulary.n_words());
    row.add_inside(&mut inside);
    let n_inside = inside.finish().len();
    let max_exits = machine.reader.parser().shared.options.max_exits;
    let exits = row.exits_on(ByteSet::FULL, vocabulary, automaton, residue, max_exits).map_err(located)?;
    Ok((Some(n_inside), exits.map(|exits| exits.len())))
}
