//! A model that reads long texts in steps of a fraction of a second: between them Ctrl-C is looked at, and a
//! bar or lines tell how far it is.
//!
//! Steps cost little on a CPU: a token of a long pass takes about as long as one alone.

use std::cell::Cell;
use std::rc::Rc;

use maskwright_decode::{LanguageModel, Logits, ModelError, SequenceId, SequenceInput};

use crate::progress::Meter;

/// The tokens of a step.
const STEP: usize = 16;

/// A model whose reading can be stopped.
pub(crate) struct Reading<M> {
    inner: M,
    is_stopped: Box<dyn Fn() -> bool>,
    has_answered: Rc<Cell<bool>>,
}

impl<M: LanguageModel> Reading<M> {
    /// The model `inner`, which stops with an error when `is_stopped` says so.
    pub(crate) fn new(inner: M, is_stopped: impl Fn() -> bool + 'static) -> Reading<M> {
        Reading { inner, is_stopped: Box::new(is_stopped), has_answered: Rc::default() }
    }

    /// The model itself.
    pub(crate) fn inner(&self) -> &M {
        &self.inner
    }

    /// Becomes true after the model has read its first input, with its progress shown.
    pub(crate) fn has_answered(&self) -> Rc<Cell<bool>> {
        self.has_answered.clone()
    }

    /// Reads the tokens of `input` but some of the last, with a call of `on_step` after each step, and says
    /// how many it has read.
    fn read_ahead(
        &mut self,
        input: &SequenceInput<'_>,
        on_step: &mut dyn FnMut(usize),
    ) -> Result<usize, ModelError> {
        let n_ahead = n_ahead(input);
        for step in input.tokens[..n_ahead].chunks(STEP) {
            if (self.is_stopped)() {
                return Err(ModelError::new("interrupted while reading"));
            }
            self.inner.forward(&[SequenceInput { tokens: step, n_logits: 0, ..*input }])?;
            on_step(step.len());
        }
        Ok(n_ahead)
    }
}

/// How many tokens of an input are read before the step that gives its logits.
fn n_ahead(input: &SequenceInput<'_>) -> usize {
    (input.tokens.len() - input.n_logits.max(1)) / STEP * STEP
}

impl<M: LanguageModel> LanguageModel for Reading<M> {
    fn n_vocab(&self) -> usize {
        self.inner.n_vocab()
    }

    fn context_length(&self) -> usize {
        self.inner.context_length()
    }

    fn create_sequence(&mut self) -> Result<SequenceId, ModelError> {
        self.inner.create_sequence()
    }

    fn fork_sequence(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError> {
        self.inner.fork_sequence(sequence)
    }

    fn release_sequence(&mut self, sequence: SequenceId) {
        self.inner.release_sequence(sequence);
    }

    fn n_cached(&self, sequence: SequenceId) -> usize {
        self.inner.n_cached(sequence)
    }

    fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), ModelError> {
        self.inner.truncate(sequence, n_tokens)
    }

    fn forward(&mut self, batch: &[SequenceInput<'_>]) -> Result<Vec<Logits>, ModelError> {
        ModelError::check_batch(self, batch)?;
        let n_tokens: usize = batch.iter().map(n_ahead).sum();
        if n_tokens == 0 {
            self.has_answered.set(true);
            return self.inner.forward(batch);
        }
        let before: Vec<usize> = batch.iter().map(|input| self.n_cached(input.sequence)).collect();
        // A search that reads some text again shows its own progress.
        let is_prompt = before.iter().all(|&n_before| n_before == 0);
        let mut meter = is_prompt.then(|| Meter::new("reading the prompt", "tokens"));
        let mut n_done = 0;
        let mut on_step = |n_read| {
            n_done += n_read;
            if let Some(meter) = &mut meter {
                meter.update(n_done, n_tokens, "");
            }
        };
        let mut read = || {
            let mut rest = batch.to_vec();
            for input in &mut rest {
                let n_read = self.read_ahead(input, &mut on_step)?;
                input.tokens = &input.tokens[n_read..];
            }
            self.inner.forward(&rest)
        };
        let result = read();
        self.has_answered.set(true);
        if result.is_err() {
            for (input, n_before) in batch.iter().zip(before) {
                self.inner.truncate(input.sequence, n_before)?;
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use maskwright::TokenId;
    use maskwright_decode::RandomModel;

    use super::*;

    #[test]
    fn a_text_read_in_steps_gives_the_same_logits() {
        let tokens: Vec<TokenId> = (0..50).map(TokenId).collect();
        for n_tokens in [1, STEP - 1, STEP, STEP + 1, 50] {
            for n_logits in [0, 1, n_tokens.min(20), n_tokens] {
                let mut plain = RandomModel::new(100, 64, 7);
                let mut stepwise = Reading::new(RandomModel::new(100, 64, 7), || false);
                let mut logits = [&mut plain as &mut dyn LanguageModel, &mut stepwise].map(|model| {
                    let sequences = [(); 2].map(|()| model.create_sequence().unwrap());
                    let input = |sequence| SequenceInput { sequence, tokens: &tokens[..n_tokens], n_logits };
                    let logits = model.forward(&sequences.map(input)).unwrap();
                    assert_eq!(model.n_cached(sequences[1]), n_tokens);
                    logits
                });
                let [plain, stepwise] = &mut logits;
                assert_eq!(plain, stepwise);
            }
        }
    }

    /// Ctrl-C was not looked at while a prompt was read, which took half a minute for some hundred words.
    #[test]
    fn reading_stops_between_two_steps() {
        let n_asked = Rc::new(Cell::new(0));
        let asked = n_asked.clone();
        let is_stopped = move || asked.replace(asked.get() + 1) == 2;
        let mut model = Reading::new(RandomModel::new(100, 1_000, 7), is_stopped);
        let sequence = model.create_sequence().unwrap();
        assert!(model.forward(&[SequenceInput::last(sequence, &[TokenId(1); 900])]).is_err());
        assert_eq!((n_asked.get(), model.n_cached(sequence)), (3, 0), "nothing is kept");
        assert!(model.forward(&[SequenceInput::last(sequence, &[TokenId(1); 900])]).is_ok());
    }
}
