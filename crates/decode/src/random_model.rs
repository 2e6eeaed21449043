//! A model whose logits are random: it has no taste, so a constraint must do all the work. Tests of whole
//! decoding loops use it, and campaigns that ask whether every finished text is valid.

use std::collections::HashMap;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::model::{LanguageModel, Logits, ModelError, SequenceId, SequenceInput};

/// Logits drawn uniformly from [0, 1), a pure function of the seed and of the tokens so far; so it keeps the
/// whole contract of [`LanguageModel`] without weights. A row costs O(vocabulary) draws.
///
/// # Examples
/// ```
/// use maskwright_decode::{LanguageModel, RandomModel, SequenceInput};
/// use maskwright_vocabulary::TokenId;
/// let mut model = RandomModel::new(50, 16, 1);
/// let sequence = model.create_sequence().unwrap();
/// let first = model.forward(&[SequenceInput::last(sequence, &[4, 5].map(TokenId))]).unwrap();
/// model.truncate(sequence, 1).unwrap();
/// assert_eq!(model.forward(&[SequenceInput::last(sequence, &[TokenId(5)])]).unwrap(), first);
/// ```
#[derive(Clone, Debug)]
pub struct RandomModel {
    n_vocab: usize,
    context_length: usize,
    seed: u64,
    scale: f32,
    next_id: u32,
    /// For each sequence a hash of every prefix, by length - 1.
    sequences: HashMap<SequenceId, Vec<u64>>,
}

impl RandomModel {
    /// A model over `n_vocab` ids (at least one).
    #[must_use]
    pub fn new(n_vocab: usize, context_length: usize, seed: u64) -> Self {
        let n_vocab = n_vocab.max(1);
        RandomModel { n_vocab, context_length, seed, scale: 1.0, next_id: 0, sequences: HashMap::new() }
    }

    /// Logits from [0, `scale`): above 10 the model becomes opinionated, though still at random.
    #[must_use]
    pub fn with_scale(mut self, scale: f32) -> Self {
        self.scale = scale;
        self
    }

    fn prefixes(&mut self, sequence: SequenceId) -> Result<&mut Vec<u64>, ModelError> {
        self.sequences.get_mut(&sequence).ok_or_else(|| ModelError::unknown_sequence(sequence))
    }

    fn add(&mut self, prefixes: Vec<u64>) -> Result<SequenceId, ModelError> {
        let sequence = SequenceId::new(self.next_id);
        let next_id = self.next_id.checked_add(1);
        self.next_id = next_id.ok_or_else(|| ModelError::new("all 2^32 sequence ids are used up"))?;
        self.sequences.insert(sequence, prefixes);
        Ok(sequence)
    }
}

/// SplitMix64's finaliser (Steele, Lea, Flood 2014): spreads every bit of the input over the output.
pub(crate) fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    hash ^ (hash >> 31)
}

impl LanguageModel for RandomModel {
    fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    fn context_length(&self) -> usize {
        self.context_length
    }

    fn create_sequence(&mut self) -> Result<SequenceId, ModelError> {
        self.add(Vec::new())
    }

    fn fork_sequence(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError> {
        let prefixes = self.prefixes(sequence)?.clone();
        self.add(prefixes)
    }

    fn release_sequence(&mut self, sequence: SequenceId) {
        self.sequences.remove(&sequence);
    }

    fn n_cached(&self, sequence: SequenceId) -> usize {
        self.sequences.get(&sequence).map_or(0, Vec::len)
    }

    fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), ModelError> {
        let prefixes = self.prefixes(sequence)?;
        if n_tokens > prefixes.len() {
            let n_held = prefixes.len();
            return Err(ModelError::new(format!("{n_tokens} tokens are to be kept of {n_held}")));
        }
        prefixes.truncate(n_tokens);
        Ok(())
    }

    fn forward(&mut self, batch: &[SequenceInput<'_>]) -> Result<Vec<Logits>, ModelError> {
        ModelError::check_batch(self, batch)?;
        for input in batch {
            self.prefixes(input.sequence)?;
        }
        let (n_vocab, scale, seed) = (self.n_vocab, self.scale, self.seed);
        let mut rows = Vec::with_capacity(batch.len());
        for input in batch {
            let prefixes = self.prefixes(input.sequence)?;
            for &id in input.tokens {
                let before = prefixes.last().copied().unwrap_or(seed);
                prefixes.push(mix(mix(before).wrapping_add(u64::from(id.0)).wrapping_add(1)));
            }
            let mut values = Vec::with_capacity(input.n_logits * n_vocab);
            for &prefix in &prefixes[prefixes.len() - input.n_logits..] {
                let mut rng = ChaCha8Rng::seed_from_u64(prefix);
                values.extend((0..n_vocab).map(|_| rng.random::<f32>() * scale));
            }
            rows.push(Logits::new(values, n_vocab));
        }
        Ok(rows)
    }
}
