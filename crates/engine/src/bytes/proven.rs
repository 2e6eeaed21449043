//! Tokens that are proven to be allowed, where a mask has no more work to spend.
//!
//! An example: the pattern has so many residues that a row takes seconds. The walk for it was ended, but the
//! transitions that it made are kept. A token whose bytes are all among them is allowed.

use super::BytesReader;
use crate::EngineError;
use crate::ground::MaskBuilder;
use crate::parser::{ConfigId, Thread};
use crate::rows::Lookup;
use crate::spelling::visit_known;

impl BytesReader {
    /// Adds tokens that are known to stay within the terminals that `config` reads.
    ///
    /// # Errors
    /// If the call is out of work; what was added is right.
    pub(crate) fn add_known(&self, config: ConfigId, mask: &mut MaskBuilder) -> Result<(), EngineError> {
        let shared = &self.parser.shared;
        for group in self.parser.configs.threads(config).chunk_by(Thread::reads_alike) {
            let Thread { terminal, residue, .. } = group[0];
            let automaton = self.parser.automaton(terminal);
            match shared.rows.look_up(automaton, residue) {
                Ok(Lookup::Known(row)) => row.add_inside(mask),
                _ => {
                    let trie = shared.vocabulary.trie();
                    visit_known(trie, automaton, residue, |_, tokens| mask.insert_all(tokens))?;
                }
            }
        }
        Ok(())
    }
}
