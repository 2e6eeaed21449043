//! A model that reads each prompt once: the texts of one task have the same prompt, most of what a greedy
//! text costs.
//!
//! Strategies begin with a new sequence that reads the whole prompt but for its last token, without logits.
//! The last such reading is kept, and a sequence that begins with the same one becomes a fork of it. Logits
//! are the model's own either way, by the contract of [`LanguageModel`].
//!
//! Rejected: sharing any common prefix. Prompts of other tasks have a few words in common.

use std::collections::HashMap;

use maskwright::TokenId;
use maskwright_decode::{LanguageModel, Logits, ModelError, SequenceId, SequenceInput};

/// A model, with the last prompt that it has read.
pub(crate) struct PromptMemory<M> {
    model: M,
    /// The model's sequence for each of ours.
    sequences: HashMap<SequenceId, SequenceId>,
    n_created: u32,
    /// A sequence of the model that nobody else has, and what it has read.
    kept: Option<(SequenceId, Vec<TokenId>)>,
}

impl<M: LanguageModel> PromptMemory<M> {
    pub(crate) fn new(model: M) -> Self {
        PromptMemory { model, sequences: HashMap::new(), n_created: 0, kept: None }
    }

    fn add(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError> {
        let id = SequenceId::new(self.n_created);
        let n_created = self.n_created.checked_add(1);
        self.n_created = n_created.ok_or_else(|| ModelError::new("all 2^32 sequence ids are used up"))?;
        self.sequences.insert(id, sequence);
        Ok(id)
    }

    /// The model's sequence; for an unknown one an id that the model does not know either.
    fn inner(&self, sequence: SequenceId) -> SequenceId {
        self.sequences.get(&sequence).copied().unwrap_or(SequenceId::new(u32::MAX))
    }

    /// Reads the tokens that a sequence begins with, unless they are those that are kept.
    fn read_prompt(&mut self, input: &SequenceInput<'_>) -> Result<Vec<Logits>, ModelError> {
        let sequence = self.inner(input.sequence);
        if let Some((kept, tokens)) = &self.kept
            && tokens == input.tokens
        {
            let fork = self.model.fork_sequence(*kept)?;
            self.model.release_sequence(sequence);
            self.sequences.insert(input.sequence, fork);
            return Ok(vec![Logits::new(Vec::new(), self.model.n_vocab())]);
        }
        let rows = self.model.forward(&[SequenceInput { sequence, ..*input }])?;
        let fork = self.model.fork_sequence(sequence)?;
        if let Some((before, _)) = self.kept.replace((fork, input.tokens.to_vec())) {
            self.model.release_sequence(before);
        }
        Ok(rows)
    }
}

impl<M: LanguageModel> LanguageModel for PromptMemory<M> {
    fn n_vocab(&self) -> usize {
        self.model.n_vocab()
    }

    fn context_length(&self) -> usize {
        self.model.context_length()
    }

    fn create_sequence(&mut self) -> Result<SequenceId, ModelError> {
        let sequence = self.model.create_sequence()?;
        self.add(sequence)
    }

    fn fork_sequence(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError> {
        let fork = self.model.fork_sequence(self.inner(sequence))?;
        self.add(fork)
    }

    fn release_sequence(&mut self, sequence: SequenceId) {
        if let Some(inner) = self.sequences.remove(&sequence) {
            self.model.release_sequence(inner);
        }
    }

    fn n_cached(&self, sequence: SequenceId) -> usize {
        self.model.n_cached(self.inner(sequence))
    }

    fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), ModelError> {
        self.model.truncate(self.inner(sequence), n_tokens)
    }

    fn forward(&mut self, batch: &[SequenceInput<'_>]) -> Result<Vec<Logits>, ModelError> {
        if let [input] = batch
            && input.n_logits == 0
            && self.sequences.contains_key(&input.sequence)
            && self.n_cached(input.sequence) == 0
        {
            return self.read_prompt(input);
        }
        let batch: Vec<SequenceInput<'_>> = batch
            .iter()
            .map(|input| SequenceInput { sequence: self.inner(input.sequence), ..*input })
            .collect();
        self.model.forward(&batch)
    }
}

#[cfg(test)]
mod tests {
    use maskwright_decode::RandomModel;

    use super::*;

    /// Reads a prompt and then one token more; their logits.
    fn continued(model: &mut impl LanguageModel, prompt: &[TokenId], last: TokenId) -> Logits {
        let sequence = model.create_sequence().unwrap();
        let input = SequenceInput { sequence, tokens: prompt, n_logits: 0 };
        assert_eq!(model.forward(&[input]).unwrap()[0].n_rows(), 0);
        assert_eq!(model.n_cached(sequence), prompt.len());
        let fork = model.fork_sequence(sequence).unwrap();
        model.release_sequence(sequence);
        let row = model.forward(&[SequenceInput::last(fork, &[last])]).unwrap().remove(0);
        model.truncate(fork, 1).unwrap();
        model.release_sequence(fork);
        row
    }

    #[test]
    fn a_known_prompt_gives_the_same_logits() {
        let mut plain = RandomModel::new(20, 64, 3);
        let mut model = PromptMemory::new(plain.clone());
        for (prompt, last) in [(&[1, 2, 3][..], 4), (&[1, 2, 3], 5), (&[1, 2], 5), (&[1, 2, 3], 4)] {
            let (prompt, last) = (prompt.iter().map(|&id| TokenId(id)).collect::<Vec<_>>(), TokenId(last));
            let row = continued(&mut model, &prompt, last);
            assert_eq!(row, continued(&mut plain, &prompt, last));
            assert_eq!(model.kept.as_ref().map(|(_, tokens)| tokens.as_slice()), Some(&*prompt));
        }
        assert!(model.sequences.is_empty());
        let unknown = SequenceId::new(77);
        assert!(model.forward(&[SequenceInput::last(unknown, &[TokenId(1)])]).is_err());
        assert!(model.truncate(unknown, 0).is_err() && model.fork_sequence(unknown).is_err());
        assert_eq!(model.n_cached(unknown), 0);
    }
}
