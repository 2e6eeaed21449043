//! The shortest words of terminals: with them a text is completed.

use std::collections::VecDeque;
use std::sync::Arc;

use maskwright_automata::{Automaton, AutomatonError, ByteSet, StateId, meter};
use maskwright_vocabulary::Vocabulary;
use rustc_hash::FxHashMap;

use super::far::single_bytes;
use crate::EngineError;

/// Units of work that a byte takes.
const UNITS_PER_BYTE: u64 = 4;
/// So many residues are looked at for a word whose bytes are tokens.
const MAX_RESIDUES: usize = 10_000;

/// The rest of a word, whose beginning other residues share.
#[derive(Clone, Debug)]
pub(super) struct Word {
    whole: Arc<[u8]>,
    start: usize,
}

impl Word {
    pub(super) fn bytes(&self) -> &[u8] {
        &self.whole[self.start..]
    }

    /// Approximate memory, in bytes, if no other residue has it.
    pub(super) fn memory_usage(&self) -> usize {
        self.whole.len()
    }
}

/// The words that are known, by residue.
pub(super) struct Words {
    known: FxHashMap<(u64, StateId), Option<Word>>,
    /// Bytes that are tokens; words of these come first, since they can be spelled wherever they stand.
    tokens: ByteSet,
    n_bytes: usize,
}

impl Words {
    pub(super) fn new(vocabulary: &Vocabulary) -> Words {
        // A token that is named by its id is read as this byte and another.
        let tokens = single_bytes(vocabulary).union(&ByteSet::singleton(0xFF));
        Words { known: FxHashMap::default(), tokens, n_bytes: 0 }
    }

    /// The least of the shortest words from a residue, of those whose bytes are tokens if there are any; `None` where a limit keeps it from being
    /// found.
    ///
    /// All residues along the word learn theirs. **Lemma.** If t·v is the least of the shortest words from a residue, v is that of the residue
    /// after t, because t·u is a word from the first for each word u from the second. ∎
    ///
    /// # Errors
    /// If the call is out of work.
    pub(super) fn of(
        &mut self,
        automaton: &Automaton,
        mut residue: StateId,
    ) -> Result<Option<Word>, EngineError> {
        let key = automaton.residue_key(residue);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let found = automaton.shortest_word(residue).and_then(|word| {
            let is_spelled = word.iter().all(|&byte| self.tokens.contains(byte));
            let spelled = if is_spelled { None } else { spelled_word(automaton, residue, self.tokens)? };
            Ok(spelled.unwrap_or(word))
        });
        let word = match found.map_err(EngineError::in_terminal(automaton)) {
            Ok(word) => Word { whole: word.into(), start: 0 },
            Err(error) if error.is_limit() && !error.is_out_of_work() => {
                self.known.insert(key, None);
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        self.n_bytes += word.memory_usage();
        meter::spend(UNITS_PER_BYTE * word.whole.len() as u64)?;
        self.known.insert(key, Some(word.clone()));
        if !automaton.is_literal_like() {
            for start in 1..word.whole.len() {
                let next = automaton.step(residue, word.whole[start - 1]);
                let Some(next) = next.map_err(EngineError::in_terminal(automaton))? else { break };
                residue = next;
                let rest = Word { whole: word.whole.clone(), start };
                self.known.insert(automaton.residue_key(residue), Some(rest));
            }
        }
        Ok(Some(word))
    }

    /// Approximate memory, in bytes.
    pub(super) fn memory_usage(&self) -> usize {
        self.n_bytes + self.known.len() * 56
    }
}

/// The least of the shortest words from a residue whose bytes are `tokens`; `None` if there is none, or it lies behind too many residues.
fn spelled_word(
    automaton: &Automaton,
    residue: StateId,
    tokens: ByteSet,
) -> Result<Option<Vec<u8>>, AutomatonError> {
    // By residue, the one before it and the byte between.
    let mut before: FxHashMap<StateId, (StateId, u8)> = FxHashMap::default();
    let mut queue = VecDeque::from([residue]);
    while let Some(mut at) = queue.pop_front() {
        if automaton.is_accepting(at) {
            let mut word = Vec::new();
            while at != residue {
                let (from, byte) = before[&at];
                word.push(byte);
                at = from;
            }
            word.reverse();
            return Ok(Some(word));
        }
        for byte in automaton.next_bytes(at)?.intersection(&tokens).iter() {
            meter::spend(UNITS_PER_BYTE).map_err(AutomatonError::from)?;
            let Some(next) = automaton.step(at, byte)? else { continue };
            if next != residue && !before.contains_key(&next) {
                before.insert(next, (at, byte));
                queue.push_back(next);
            }
        }
        if before.len() > MAX_RESIDUES {
            break;
        }
    }
    Ok(None)
}
