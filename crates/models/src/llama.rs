//! A GGUF network of the Llama, Qwen 2 or Gemma 3 family as a [`LanguageModel`]: sequences by id, long inputs
//! in pieces.

use std::{collections::HashMap, path::Path};

use maskwright_decode::{LanguageModel, Logits, ModelError, SequenceId, SequenceInput};

use crate::{
    cache::SequenceCache,
    error::ModelsError,
    gguf::GgufFile,
    info::ModelInfo,
    network::{Network, Segment},
};

/// The most tokens in one pass through the network: beyond it the products gain nothing, and the memory for
/// attention scores (heads × tokens of the pass × tokens so far) stays small.
const MAX_PASS_TOKENS: usize = 512;

/// A network on the CPU. Its architecture is `llama` (Llama, Mistral, SmolLM2), `qwen2` (Qwen 2 and 2.5) or
/// `gemma3` (Gemma 3, text only).
///
/// Threads: matrix products use as many as the environment variable `RAYON_NUM_THREADS` says when the first
/// one runs, and all cores if it is unset. For small networks one thread is often the fastest: on a busy
/// two-core machine the threads wait for each other at every product, and a 135M network falls to a tenth of
/// its speed.
///
/// # Examples
/// ```no_run
/// use maskwright_decode::{LanguageModel, SequenceInput};
/// use maskwright_models::LlamaModel;
/// use maskwright_vocabulary::TokenId;
/// let mut model = LlamaModel::from_gguf("model.gguf")?;
/// let sequence = model.create_sequence()?;
/// let logits = model.forward(&[SequenceInput::last(sequence, &[TokenId(1)])])?;
/// assert_eq!(logits[0].row(0).len(), model.n_vocab());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LlamaModel {
    network: Network,
    info: ModelInfo,
    sequences: HashMap<SequenceId, SequenceCache>,
    next_id: u32,
}

impl LlamaModel {
    /// Loads a network. O(file) time; memory for the weights as stored, plus embeddings in use.
    ///
    /// # Errors
    /// If the file cannot be read, is cut off or no GGUF file, is of another architecture, or lacks metadata
    /// or tensors; the message names the file and what is missing.
    pub fn from_gguf(path: impl AsRef<Path>) -> Result<Self, ModelsError> {
        let mut gguf = GgufFile::open(path.as_ref())?;
        let info = ModelInfo::read(&mut gguf)?;
        let network = Network::from_gguf(&mut gguf)?;
        Ok(LlamaModel { network, info, sequences: HashMap::new(), next_id: 0 })
    }

    /// What the file says about the model.
    #[must_use]
    pub fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn add(&mut self, cache: SequenceCache) -> Result<SequenceId, ModelError> {
        let id = self.next_id;
        self.next_id =
            id.checked_add(1).ok_or_else(|| ModelError::new("all 2^32 sequence ids are used up"))?;
        self.sequences.insert(SequenceId::new(id), cache);
        Ok(SequenceId::new(id))
    }

    /// One pass over pieces of different inputs; appends the logits of each to its input's.
    fn pass(
        &mut self,
        batch: &[SequenceInput<'_>],
        pieces: &[Piece],
        values: &mut [Vec<f32>],
    ) -> Result<(), ModelError> {
        let mut taken: Vec<(SequenceId, SequenceCache)> = Vec::with_capacity(pieces.len());
        for piece in pieces {
            let sequence = batch[piece.input].sequence;
            taken.extend(self.sequences.remove(&sequence).map(|cache| (sequence, cache)));
        }
        let mut segments: Vec<Segment<'_>> = pieces
            .iter()
            .zip(&mut taken)
            .map(|(piece, (_, cache))| Segment {
                tokens: &batch[piece.input].tokens[piece.start..piece.end],
                cache,
                n_logits: piece.n_logits,
            })
            .collect();
        let result = self.network.forward(&mut segments);
        if result.is_ok() {
            for segment in &mut segments {
                segment.cache.advance(segment.tokens.len());
            }
        }
        self.sequences.extend(taken);
        let logits = result.map_err(|error| ModelError::with_source("the network failed", error))?;
        let mut rest = logits.as_slice();
        for piece in pieces {
            let (own, others) = rest.split_at(piece.n_logits * self.network.n_vocab());
            values[piece.input].extend_from_slice(own);
            rest = others;
        }
        Ok(())
    }
}

/// A part of an input that fits into one pass.
struct Piece {
    input: usize,
    start: usize,
    end: usize,
    n_logits: usize,
}

/// Cuts a batch into passes of at most [`MAX_PASS_TOKENS`] tokens; within a pass no input occurs twice, and
/// the pieces of an input keep their order.
fn passes(batch: &[SequenceInput<'_>]) -> Vec<Vec<Piece>> {
    let mut passes = Vec::new();
    let (mut pass, mut n_in_pass) = (Vec::new(), 0);
    for (index, input) in batch.iter().enumerate() {
        let first_wanted = input.tokens.len() - input.n_logits;
        let mut start = 0;
        while start < input.tokens.len() {
            let end = input.tokens.len().min(start + MAX_PASS_TOKENS - n_in_pass);
            let n_logits = end - first_wanted.clamp(start, end);
            pass.push(Piece { input: index, start, end, n_logits });
            n_in_pass += end - start;
            start = end;
            if n_in_pass == MAX_PASS_TOKENS {
                passes.push(std::mem::take(&mut pass));
                n_in_pass = 0;
            }
        }
    }
    if !pass.is_empty() {
        passes.push(pass);
    }
    passes
}

impl LanguageModel for LlamaModel {
    fn n_vocab(&self) -> usize {
        self.network.n_vocab()
    }

    fn context_length(&self) -> usize {
        self.network.config().context_length
    }

    fn create_sequence(&mut self) -> Result<SequenceId, ModelError> {
        let cache = SequenceCache::new(self.network.config());
        self.add(cache.map_err(|error| ModelError::with_source("no cache could be made", error))?)
    }

    fn fork_sequence(&mut self, sequence: SequenceId) -> Result<SequenceId, ModelError> {
        let cache = self.sequences.get(&sequence).ok_or_else(|| ModelError::unknown_sequence(sequence))?;
        let fork =
            cache.fork().map_err(|error| ModelError::with_source("the cache cannot be copied", error))?;
        self.add(fork)
    }

    fn release_sequence(&mut self, sequence: SequenceId) {
        self.sequences.remove(&sequence);
    }

    fn n_cached(&self, sequence: SequenceId) -> usize {
        self.sequences.get(&sequence).map_or(0, SequenceCache::n_tokens)
    }

    fn truncate(&mut self, sequence: SequenceId, n_tokens: usize) -> Result<(), ModelError> {
        let cache = self.sequences.get_mut(&sequence);
        let cache = cache.ok_or_else(|| ModelError::unknown_sequence(sequence))?;
        let n_held = cache.n_tokens();
        if n_tokens > n_held {
            return Err(ModelError::new(format!("{n_tokens} tokens are to be kept of {n_held}")));
        }
        cache.truncate(n_tokens);
        Ok(())
    }

    fn forward(&mut self, batch: &[SequenceInput<'_>]) -> Result<Vec<Logits>, ModelError> {
        ModelError::check_batch(self, batch)?;
        if let Some(input) = batch.iter().find(|input| !self.sequences.contains_key(&input.sequence)) {
            return Err(ModelError::unknown_sequence(input.sequence));
        }
        let before: Vec<usize> = batch.iter().map(|input| self.n_cached(input.sequence)).collect();
        let mut values = vec![Vec::new(); batch.len()];
        for pieces in passes(batch) {
            if let Err(error) = self.pass(batch, &pieces, &mut values) {
                for (input, n_tokens) in batch.iter().zip(before) {
                    self.truncate(input.sequence, n_tokens)?;
                }
                return Err(error);
            }
        }
        let n_vocab = self.network.n_vocab();
        Ok(values.into_iter().map(|values| Logits::new(values, n_vocab)).collect())
    }
}
