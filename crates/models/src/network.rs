//! The network: one forward pass over tokens of several sequences, for Llama, Qwen 2 and Gemma 3.
//!
//! All tokens of a pass, whatever their sequence, are rows of one matrix, so every weight is read once; only
//! attention is done sequence by sequence. Query heads that share a key-value head are rows of one product,
//! so keys and values are never repeated in memory.
//!
//! What differs between architectures is data: norms that may be absent ([`Norm`]), biases, the activation,
//! two scales, and the scope of each layer ([`ScopeTable`]).
//!
//! Source: Touvron et al. 2023 (RMS norm, SwiGLU), grouped queries: Ainslie et al. 2023; Gemma Team 2025
//! ("Gemma 3 Technical Report": windows, norms of heads); tensor names and the order of a head's dimensions
//! as in ggml's GGUF documentation.

use std::sync::Arc;

use candle_core::{
    Device, Module, Result, Tensor,
    quantized::{QMatMul, QTensor},
};
use candle_nn::ops::softmax_last_dim;
use maskwright_vocabulary::TokenId;

use crate::{
    cache::SequenceCache,
    config::{Activation, NetworkConfig},
    error::ModelsError,
    gguf::GgufFile,
    scope::{ScopePass, ScopeTable},
    weights::{AttentionWeights, FeedForwardWeights, Layer, Norm, matrix, vector},
};

/// The weights of a network.
#[derive(Debug)]
pub(crate) struct Network {
    config: NetworkConfig,
    n_vocab: usize,
    embedding: Arc<QTensor>,
    layers: Vec<Layer>,
    norm: Norm,
    output: QMatMul,
    /// Those that [`Layer::scope`] counts.
    scopes: Vec<ScopeTable>,
}

/// Tokens of one sequence, to be read after those that its cache has.
pub(crate) struct Segment<'a> {
    pub(crate) tokens: &'a [TokenId],
    pub(crate) cache: &'a mut SequenceCache,
    /// For how many of the last tokens logits are wanted.
    pub(crate) n_logits: usize,
}

impl Network {
    /// Reads the weights.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape than the sizes in the metadata demand.
    pub(crate) fn from_gguf(gguf: &mut GgufFile) -> std::result::Result<Self, ModelsError> {
        let config = NetworkConfig::from_gguf(gguf)?;
        let width = config.n_embedding;
        let n_vocab = match gguf.tensor_info("token_embd.weight").map(|info| info.shape.as_slice()) {
            Some(&[n_vocab, _]) if n_vocab > 0 && u32::try_from(n_vocab).is_ok() => n_vocab,
            Some(shape) => return Err(gguf.error(format!("tensor token_embd.weight has shape {shape:?}"))),
            None => return Err(gguf.error("has no tensor token_embd.weight")),
        };
        let embedding = Arc::new(matrix(gguf, "token_embd.weight", n_vocab, width)?);
        let output = if gguf.tensor_info("output.weight").is_some() {
            Arc::new(matrix(gguf, "output.weight", n_vocab, width)?)
        } else {
            Arc::clone(&embedding)
        };
        let output =
            QMatMul::from_arc(output).map_err(|e| gguf.error("has unusable output weights").because(e))?;
        let norm = Norm::from_gguf(gguf, "output_norm.weight", width, config.norm_epsilon)?;
        let layers = (0..config.n_layers).map(|index| Layer::from_gguf(gguf, &config, index));
        let layers = layers.collect::<std::result::Result<_, _>>()?;
        let scopes = scope_tables(gguf, &config)?;
        Ok(Network { config, n_vocab, embedding, layers, norm, output, scopes })
    }

    /// The sizes.
    pub(crate) fn config(&self) -> &NetworkConfig {
        &self.config
    }

    /// The number of rows of the embedding, and the width of the logits.
    pub(crate) fn n_vocab(&self) -> usize {
        self.n_vocab
    }

    /// Reads the tokens of all segments (at least one token each, of different sequences); returns the logits
    /// asked for, segment by segment, as rows one after the other. The caches have the new keys and values
    /// but have not [advanced](SequenceCache::advance).
    pub(crate) fn forward(&self, segments: &mut [Segment<'_>]) -> Result<Vec<f32>> {
        let ids: Vec<u32> = segments.iter().flat_map(|segment| segment.tokens).map(|token| token.0).collect();
        let n_rows = ids.len();
        let mut rows = self.embedding.embedding(&Tensor::from_vec(ids, n_rows, &Device::Cpu)?)?;
        rows = (rows * self.config.embedding_scale)?;
        let lengths: Vec<(usize, usize)> =
            segments.iter().map(|segment| (segment.cache.n_tokens(), segment.tokens.len())).collect();
        let passes = self.scopes.iter().map(|scope| scope.pass(&lengths)).collect::<Result<Vec<_>>>()?;
        for (index, Layer { attention, feed_forward, scope }) in self.layers.iter().enumerate() {
            let attended = self.attend(index, attention, &rows, &passes[*scope], segments)?;
            rows = (rows + attended)?;
            rows = (&rows + self.feed_forward(feed_forward, &rows)?)?;
        }
        let Some(wanted) = wanted_rows(segments)? else { return Ok(Vec::new()) };
        let rows = if wanted.dim(0)? == n_rows { rows } else { rows.index_select(&wanted, 0)? };
        self.output.forward(&self.norm.forward(&rows)?)?.flatten_all()?.to_vec1()
    }

    /// Attention of layer number `index`, all segments; what is to be added to the rows.
    fn attend(
        &self,
        index: usize,
        weights: &AttentionWeights,
        rows: &Tensor,
        pass: &ScopePass,
        segments: &mut [Segment<'_>],
    ) -> Result<Tensor> {
        let NetworkConfig { n_heads, n_kv_heads, head_size, score_scale, .. } = self.config;
        let n_rows = rows.dim(0)?;
        // (heads, rows, head size)
        let heads = |rows: Tensor, n_heads: usize| {
            rows.reshape((n_rows, n_heads, head_size))?.transpose(0, 1)?.contiguous()
        };
        let normed = weights.norm.forward(rows)?;
        let queries = weights.query_norm.forward(&heads(weights.query.forward(&normed)?, n_heads)?)?;
        let queries = (pass.rotate(&queries)? * score_scale)?;
        let keys = weights.key_norm.forward(&heads(weights.key.forward(&normed)?, n_kv_heads)?)?;
        let keys = pass.rotate(&keys)?;
        let values = heads(weights.value.forward(&normed)?, n_kv_heads)?;

        let n_sharing = n_heads / n_kv_heads;
        let mut outputs = Vec::with_capacity(segments.len());
        let mut start = 0;
        for (segment, visible) in segments.iter_mut().zip(&pass.visible) {
            let n_new = segment.tokens.len();
            let part = |heads: &Tensor| heads.narrow(1, start, n_new);
            let (all_keys, all_values) = segment.cache.append(index, &part(&keys)?, &part(&values)?)?;
            let (seen_keys, seen_values) = (visible.of(&all_keys)?, visible.of(&all_values)?);
            // A key-value head's query heads lie one after the other, so they are rows of one matrix.
            let queries =
                part(&queries)?.contiguous()?.reshape((n_kv_heads, n_sharing * n_new, head_size))?;
            let scores = queries.matmul(&seen_keys.t()?)?;
            let shape = scores.shape().clone();
            let scores = visible.hide(&scores.reshape((n_heads, n_new, seen_keys.dim(1)?))?)?;
            let attended = softmax_last_dim(&scores.reshape(shape)?)?.matmul(&seen_values)?;
            let by_head = attended.reshape((n_heads, n_new, head_size))?;
            outputs.push(by_head.transpose(0, 1)?.reshape((n_new, n_heads * head_size))?);
            start += n_new;
        }
        let attended = if outputs.len() == 1 { outputs.remove(0) } else { Tensor::cat(&outputs, 0)? };
        weights.post_norm.forward(&weights.output.forward(&attended)?)
    }

    /// The feed-forward part of a layer: what is to be added to the rows.
    fn feed_forward(&self, weights: &FeedForwardWeights, rows: &Tensor) -> Result<Tensor> {
        let normed = weights.norm.forward(rows)?;
        let gate = weights.gate.forward(&normed)?;
        let gate = match self.config.architecture.activation() {
            Activation::Silu => gate.silu()?,
            Activation::Gelu => gate.gelu()?,
        };
        let inner = (gate * weights.up.forward(&normed)?)?;
        weights.post_norm.forward(&weights.down.forward(&inner)?)
    }
}

/// The indices of the rows whose logits are wanted; `None` if there are none.
fn wanted_rows(segments: &[Segment<'_>]) -> Result<Option<Tensor>> {
    let mut wanted = Vec::new();
    let mut end = 0;
    for segment in segments {
        end += segment.tokens.len() as u32;
        wanted.extend(end - segment.n_logits as u32..end);
    }
    let n_wanted = wanted.len();
    if n_wanted == 0 { Ok(None) } else { Tensor::from_vec(wanted, n_wanted, &Device::Cpu).map(Some) }
}

/// The scopes, their frequencies divided by the scaling factors of the file, if any.
fn scope_tables(
    gguf: &mut GgufFile,
    config: &NetworkConfig,
) -> std::result::Result<Vec<ScopeTable>, ModelsError> {
    let n_pairs = config.head_size / 2;
    let factors = if gguf.tensor_info("rope_freqs.weight").is_some() {
        let factors = vector(gguf, "rope_freqs.weight", n_pairs)?;
        factors.to_vec1::<f32>().map_err(|e| gguf.error("has unusable rope_freqs.weight").because(e))?
    } else {
        vec![1.0; n_pairs]
    };
    let pairs = config.architecture.rope_pairs();
    let table = |scope| ScopeTable::new(scope, pairs, &factors);
    Ok(config.scopes.distinct().into_iter().map(table).collect())
}
