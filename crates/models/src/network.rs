//! The Llama network: weights and one forward pass over tokens of several sequences.
//!
//! All tokens of a pass, whatever their sequence, are rows of one matrix, so every weight is read once; only
//! attention is done sequence by sequence. Query heads that share a key-value head are rows of one product, so
//! keys and values are never repeated in memory.
//!
//! Source: Touvron et al. 2023 (RMS norm, SwiGLU, rotary embedding: Su et al. 2021), grouped queries: Ainslie et
//! al. 2023; tensor names and the order of a head's dimensions as in ggml's GGUF documentation. Rotary angles are
//! computed for the positions of the pass, not tabulated: a table for a context of 131,072 takes 64 MB, and the
//! angles of one token cost less than one of its 30 layers' norms.

use std::sync::Arc;

use candle_core::{
    DType, Device, Module, Result, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};
use candle_nn::{
    ops::{rms_norm, softmax_last_dim},
    rotary_emb::{rope, rope_i},
};
use maskwright_vocabulary::TokenId;

use crate::{
    cache::SequenceCache,
    config::{Architecture, NetworkConfig},
    error::ModelsError,
    gguf::GgufFile,
};

/// The weights of a network.
#[derive(Debug)]
pub(crate) struct Network {
    config: NetworkConfig,
    n_vocab: usize,
    embedding: Arc<QTensor>,
    layers: Vec<Layer>,
    norm: Tensor,
    output: QMatMul,
    /// One angle per token and unit of position for each pair of a head's dimensions.
    frequencies: Vec<f64>,
}

#[derive(Debug)]
struct Layer {
    attention_norm: Tensor,
    query: Linear,
    key: Linear,
    value: Linear,
    attention_output: Linear,
    feed_forward_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
}

#[derive(Debug)]
struct Linear {
    weight: QMatMul,
    bias: Option<Tensor>,
}

impl Linear {
    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        let product = self.weight.forward(rows)?;
        match &self.bias {
            None => Ok(product),
            Some(bias) => product.broadcast_add(bias),
        }
    }
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
        let (width, inner) = (config.n_embedding, config.n_feed_forward);
        let (queries, keys) = (config.n_heads * config.head_size, config.n_kv_heads * config.head_size);
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
        let norm = vector(gguf, "output_norm.weight", width)?;
        let frequencies = frequencies(gguf, &config)?;
        let has_biases = config.architecture == Architecture::Qwen2;
        let mut layers = Vec::new();
        for layer in 0..config.n_layers {
            let name = |part: &str| format!("blk.{layer}.{part}");
            let mut linear = |part, n_out, n_in, bias| linear(gguf, &name(part), n_out, n_in, bias);
            let query = linear("attn_q", queries, width, has_biases)?;
            let key = linear("attn_k", keys, width, has_biases)?;
            let value = linear("attn_v", keys, width, has_biases)?;
            let attention_output = linear("attn_output", width, queries, false)?;
            let gate = linear("ffn_gate", inner, width, false)?;
            let up = linear("ffn_up", inner, width, false)?;
            let down = linear("ffn_down", width, inner, false)?;
            layers.push(Layer {
                attention_norm: vector(gguf, &name("attn_norm.weight"), width)?,
                query,
                key,
                value,
                attention_output,
                feed_forward_norm: vector(gguf, &name("ffn_norm.weight"), width)?,
                gate,
                up,
                down,
            });
        }
        Ok(Network { config, n_vocab, embedding, layers, norm, output, frequencies })
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
    /// asked for, segment by segment, as rows one after the other. The caches have the new keys and values but
    /// have not [advanced](SequenceCache::advance).
    pub(crate) fn forward(&self, segments: &mut [Segment<'_>]) -> Result<Vec<f32>> {
        let ids: Vec<u32> = segments.iter().flat_map(|segment| segment.tokens).map(|token| token.0).collect();
        let n_rows = ids.len();
        let mut rows = self.embedding.embedding(&Tensor::from_vec(ids, n_rows, &Device::Cpu)?)?;
        let (cos, sin) = self.rotations(segments)?;
        let masks = segments
            .iter()
            .map(|segment| causal_mask(segment.tokens.len(), segment.cache.n_tokens()))
            .collect::<Result<Vec<_>>>()?;
        for (index, layer) in self.layers.iter().enumerate() {
            let normed = rms_norm(&rows, &layer.attention_norm, self.config.norm_epsilon)?;
            let attended = self.attend(index, &normed, &cos, &sin, &masks, segments)?;
            rows = (rows + layer.attention_output.forward(&attended)?)?;
            let normed = rms_norm(&rows, &layer.feed_forward_norm, self.config.norm_epsilon)?;
            let inner = (layer.gate.forward(&normed)?.silu()? * layer.up.forward(&normed)?)?;
            rows = (rows + layer.down.forward(&inner)?)?;
        }
        let Some(wanted) = wanted_rows(segments)? else { return Ok(Vec::new()) };
        let rows = if wanted.dim(0)? == n_rows { rows } else { rows.index_select(&wanted, 0)? };
        let normed = rms_norm(&rows, &self.norm, self.config.norm_epsilon)?;
        self.output.forward(&normed)?.flatten_all()?.to_vec1()
    }

    /// Attention of one layer, all segments; rows in, rows out.
    fn attend(
        &self,
        index: usize,
        normed: &Tensor,
        cos: &Tensor,
        sin: &Tensor,
        masks: &[Option<Tensor>],
        segments: &mut [Segment<'_>],
    ) -> Result<Tensor> {
        let config = &self.config;
        let layer = &self.layers[index];
        let n_rows = normed.dim(0)?;
        // (heads, rows, head size)
        let heads = |rows: Tensor, n_heads: usize| {
            rows.reshape((n_rows, n_heads, config.head_size))?.transpose(0, 1)?.contiguous()
        };
        let rotate = |heads: Tensor| {
            let heads = heads.unsqueeze(0)?;
            match config.architecture {
                Architecture::Llama => rope_i(&heads, cos, sin)?.squeeze(0),
                Architecture::Qwen2 => rope(&heads, cos, sin)?.squeeze(0),
            }
        };
        let scale = 1.0 / (config.head_size as f64).sqrt();
        let queries = (rotate(heads(layer.query.forward(normed)?, config.n_heads)?)? * scale)?;
        let keys = rotate(heads(layer.key.forward(normed)?, config.n_kv_heads)?)?;
        let values = heads(layer.value.forward(normed)?, config.n_kv_heads)?;

        let n_sharing = config.n_heads / config.n_kv_heads;
        let mut outputs = Vec::with_capacity(segments.len());
        let mut start = 0;
        for (segment, mask) in segments.iter_mut().zip(masks) {
            let n_new = segment.tokens.len();
            let part = |heads: &Tensor| heads.narrow(1, start, n_new);
            let (all_keys, all_values) = segment.cache.append(index, &part(&keys)?, &part(&values)?)?;
            // A key-value head's query heads lie one after the other, so they are rows of one matrix.
            let shape = (config.n_kv_heads, n_sharing * n_new, config.head_size);
            let queries = part(&queries)?.contiguous()?.reshape(shape)?;
            let mut scores = queries.matmul(&all_keys.t()?)?;
            if let Some(mask) = mask {
                let n_all = all_keys.dim(1)?;
                let by_head = scores.reshape((config.n_heads, n_new, n_all))?.broadcast_add(mask)?;
                scores = by_head.reshape((config.n_kv_heads, n_sharing * n_new, n_all))?;
            }
            let attended = softmax_last_dim(&scores)?.matmul(&all_values)?;
            let by_head = attended.reshape((config.n_heads, n_new, config.head_size))?;
            outputs.push(by_head.transpose(0, 1)?.reshape((n_new, config.n_heads * config.head_size))?);
            start += n_new;
        }
        if outputs.len() == 1 { Ok(outputs.remove(0)) } else { Tensor::cat(&outputs, 0) }
    }

    /// Cosines and sines (rows, half a head) of every row's position.
    fn rotations(&self, segments: &[Segment<'_>]) -> Result<(Tensor, Tensor)> {
        let (mut cos, mut sin) = (Vec::new(), Vec::new());
        for segment in segments {
            let first = segment.cache.n_tokens();
            for position in first..first + segment.tokens.len() {
                for frequency in &self.frequencies {
                    let (s, c) = (position as f64 * frequency).sin_cos();
                    cos.push(c as f32);
                    sin.push(s as f32);
                }
            }
        }
        let shape = (cos.len() / self.frequencies.len(), self.frequencies.len());
        Ok((Tensor::from_vec(cos, shape, &Device::Cpu)?, Tensor::from_vec(sin, shape, &Device::Cpu)?))
    }
}

/// What is added to the scores (new tokens, all tokens) so that no token attends to a later one; `None` for a
/// single token, which may see all.
fn causal_mask(n_new: usize, n_before: usize) -> Result<Option<Tensor>> {
    if n_new == 1 {
        return Ok(None);
    }
    let n_all = n_before + n_new;
    let mut mask = vec![0_f32; n_new * n_all];
    for (row, scores) in mask.chunks_mut(n_all).enumerate() {
        scores[n_before + row + 1..].fill(f32::NEG_INFINITY);
    }
    Tensor::from_vec(mask, (n_new, n_all), &Device::Cpu).map(Some)
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

/// The rotary frequencies: base^(-2i / head size), divided by the scaling factors of the file, if any.
fn frequencies(gguf: &mut GgufFile, config: &NetworkConfig) -> std::result::Result<Vec<f64>, ModelsError> {
    let n_pairs = config.head_size / 2;
    let factors = if gguf.tensor_info("rope_freqs.weight").is_some() {
        let factors = vector(gguf, "rope_freqs.weight", n_pairs)?;
        factors.to_vec1::<f32>().map_err(|e| gguf.error("has unusable rope_freqs.weight").because(e))?
    } else {
        vec![1.0; n_pairs]
    };
    let frequency = |(pair, factor): (usize, f32)| {
        let exponent = -2.0 * pair as f64 / config.head_size as f64;
        config.rope_base.powf(exponent) / f64::from(factor) / config.rope_divisor
    };
    Ok(factors.into_iter().enumerate().map(frequency).collect())
}

/// A matrix that the products can use.
///
/// candle's products of Q4_1, Q5_0 and Q5_1 take blocks in pairs; rows of an odd number of blocks (which only
/// odd sizes have) are requantised to Q8_0.
fn matrix(
    gguf: &mut GgufFile,
    name: &str,
    n_out: usize,
    n_in: usize,
) -> std::result::Result<QTensor, ModelsError> {
    check_shape(gguf, name, &[n_out, n_in])?;
    let tensor = gguf.tensor(name)?;
    let in_pairs = matches!(tensor.dtype(), GgmlDType::Q4_1 | GgmlDType::Q5_0 | GgmlDType::Q5_1);
    if !in_pairs || n_in.is_multiple_of(2 * tensor.dtype().block_size()) {
        return Ok(tensor);
    }
    let numbers = tensor.dequantize(&Device::Cpu);
    let requantized = numbers.and_then(|numbers| QTensor::quantize(&numbers, GgmlDType::Q8_0));
    requantized.map_err(|error| gguf.error(format!("tensor {name} cannot be requantised")).because(error))
}

/// A vector, as 32-bit numbers.
fn vector(gguf: &mut GgufFile, name: &str, len: usize) -> std::result::Result<Tensor, ModelsError> {
    check_shape(gguf, name, &[len])?;
    let tensor = gguf.tensor(name)?.dequantize(&Device::Cpu).and_then(|tensor| tensor.to_dtype(DType::F32));
    tensor.map_err(|e| gguf.error(format!("tensor {name} cannot be used")).because(e))
}

fn linear(
    gguf: &mut GgufFile,
    name: &str,
    n_out: usize,
    n_in: usize,
    has_bias: bool,
) -> std::result::Result<Linear, ModelsError> {
    let weight = matrix(gguf, &format!("{name}.weight"), n_out, n_in)?;
    let weight = QMatMul::from_qtensor(weight);
    let weight = weight.map_err(|e| gguf.error(format!("tensor {name}.weight cannot be used")).because(e))?;
    let bias = has_bias.then(|| vector(gguf, &format!("{name}.bias"), n_out)).transpose()?;
    Ok(Linear { weight, bias })
}

fn check_shape(gguf: &GgufFile, name: &str, wanted: &[usize]) -> std::result::Result<(), ModelsError> {
    match gguf.tensor_info(name) {
        None => Err(gguf.error(format!("has no tensor {name}"))),
        Some(info) if info.shape != wanted => {
            let given = &info.shape;
            Err(gguf.error(format!("tensor {name} has shape {given:?}, the metadata demand {wanted:?}")))
        }
        Some(_) => Ok(()),
    }
}
