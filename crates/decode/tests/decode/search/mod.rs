//! The searches against exhaustive enumeration: a language so small that every tokenization of every text is
//! listed, and a model without weights that can be asked about each.

mod beams;
mod budget;
mod distribution;
mod explored;
mod likeliest;
mod trees;
mod upkeep;

use std::ops::ControlFlow;
use std::sync::Arc;

use maskwright_decode::{
    Constraint, ConstraintError, FinishReason, Hypothesis, LanguageModel, Progress, RandomModel,
    SearchConfig, SequenceInput,
};
use maskwright_vocabulary::{TokenId, mask_insert};

use crate::support::{EOS, Words, tokens};

const PROMPT: [TokenId; 2] = [TokenId(1), TokenId(2)];

/// Every tokenization of some words, [`EOS`] included, of at most `max_tokens` tokens: a language with a
/// budget.
#[derive(Clone, Debug)]
struct Texts {
    texts: Arc<Vec<Vec<TokenId>>>,
    prefix: Vec<TokenId>,
}

impl Texts {
    fn new(max_tokens: usize) -> Texts {
        let tokens = tokens(&["a", "b", "c", "ab", "bc", "abc", "cc", "x", ""]);
        let words = Words::new(&["abc", "abcabc", "bca", "cccccc", "ab", "aab"], &tokens);
        let mut texts = Vec::new();
        let mut open = vec![(Vec::new(), words)];
        while let Some((text, words)) = open.pop() {
            for id in words.allowed() {
                let (mut text, mut words) = (text.clone(), words.clone());
                text.push(id);
                words.accept_token(id).unwrap();
                if words.is_terminated() { texts.push(text) } else { open.push((text, words)) }
            }
        }
        texts.retain(|text| text.len() <= max_tokens);
        texts.sort();
        Texts { texts: Arc::new(texts), prefix: Vec::new() }
    }

    fn allowed(&self) -> Vec<TokenId> {
        let next = |text: &Vec<TokenId>| text.strip_prefix(&*self.prefix)?.first().copied();
        let mut ids: Vec<TokenId> = self.texts.iter().filter_map(next).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }
}

impl Constraint for Texts {
    fn fill_mask(&mut self, mask: &mut [u32]) -> Result<bool, ConstraintError> {
        mask.fill(0);
        for id in self.allowed() {
            mask_insert(mask, id);
        }
        Ok(true)
    }

    fn accept_token(&mut self, id: TokenId) -> Result<bool, ConstraintError> {
        let is_allowed = self.allowed().contains(&id);
        if is_allowed {
            self.prefix.push(id);
        }
        Ok(is_allowed)
    }

    fn rollback(&mut self, n_steps: usize) -> Result<(), ConstraintError> {
        self.prefix.truncate(self.prefix.len() - n_steps);
        Ok(())
    }

    fn forced_tokens(&mut self) -> Result<Vec<TokenId>, ConstraintError> {
        Ok(Vec::new())
    }

    fn accepts_bytes(&mut self, _bytes: &[u8]) -> Result<bool, ConstraintError> {
        Err(ConstraintError::new("a language of tokens"))
    }

    fn accept_bytes(&mut self, _bytes: &[u8]) -> Result<bool, ConstraintError> {
        Err(ConstraintError::new("a language of tokens"))
    }

    fn is_terminated(&self) -> bool {
        self.prefix.last() == Some(&EOS)
    }

    fn is_accepting(&self) -> bool {
        self.allowed().contains(&EOS)
    }
}

/// A model with opinions; its logits are wider than the vocabulary.
fn model(seed: u64) -> RandomModel {
    RandomModel::new(20, 100, seed).with_scale(4.0)
}

fn search(max_tokens: usize) -> SearchConfig {
    SearchConfig { max_tokens, eos_ids: vec![EOS] }
}

fn go_on(_: &Progress<'_>) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// The log-likelihoods of the tokens of a text, each asked for from the beginning.
fn log_likelihood(model: &mut dyn LanguageModel, text: &[TokenId]) -> f64 {
    log_likelihood_at(1.0, model, text)
}

/// The same at a temperature.
fn log_likelihood_at(temperature: f64, model: &mut dyn LanguageModel, text: &[TokenId]) -> f64 {
    let mut total = 0.0;
    for (n_before, &id) in text.iter().enumerate() {
        let read: Vec<TokenId> = PROMPT.iter().chain(&text[..n_before]).copied().collect();
        let sequence = model.create_sequence().unwrap();
        let logits = model.forward(&[SequenceInput::last(sequence, &read)]).unwrap();
        model.release_sequence(sequence);
        let row = logits[0].row(0);
        let sum: f64 = row.iter().map(|&logit| (f64::from(logit) / temperature).exp()).sum();
        total += f64::from(row[id.index()]) / temperature - sum.ln();
    }
    total
}

/// The whole text as the model wrote it.
fn all_tokens(text: &Hypothesis) -> Vec<TokenId> {
    text.tokens.iter().copied().chain(text.eos_id).collect()
}

/// Checks what is said of a finished text.
fn check(text: &Hypothesis, model: &mut dyn LanguageModel, language: &Texts) {
    let tokens = all_tokens(text);
    assert!(language.texts.contains(&tokens), "{tokens:?}");
    assert_eq!((text.n_tokens, text.finish_reason), (tokens.len(), FinishReason::Eos));
    let expected = log_likelihood(model, &tokens);
    assert!((text.log_likelihood - expected).abs() < 1e-4, "{} {expected}", text.log_likelihood);
}
