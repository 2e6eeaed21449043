//! The network: a transformer without a causal mask, so that every position sees what is known on both sides.
//!
//! Positions are learned vectors added to the tokens', norms are RMS norms before each block, and the
//! feed-forward is two matrices with a squared ReLU between them (So et al. 2021), which costs no
//! exponential. The output matrix is the embedding. Every operation is one that candle can differentiate, so
//! training and decoding run the same code; candle's fused norms and softmax have no backward pass.
//!
//! A pass over n positions takes 2 operations for each weight and position and n² for attention: 2 to 3 ms
//! for 64 positions of a million weights.

use std::collections::HashMap;

use candle_core::{D, DType, Device, Result, Tensor};
use candle_nn::ops::softmax;

use super::config::DiffusionConfig;

const NORM_EPSILON: f64 = 1e-5;

/// The names and shapes of a network's weights, in a fixed order. Matrices are (inputs, outputs).
pub(crate) fn weight_shapes(config: &DiffusionConfig) -> Vec<(String, Vec<usize>)> {
    let width = config.n_embedding;
    let mut shapes = vec![
        ("token_embedding".to_owned(), vec![config.n_vocab, width]),
        ("position_embedding".to_owned(), vec![config.n_positions, width]),
        ("output_norm".to_owned(), vec![width]),
        ("output_bias".to_owned(), vec![config.n_vocab]),
    ];
    for layer in 0..config.n_layers {
        let mut add =
            |name: &str, shape: &[usize]| shapes.push((format!("layers.{layer}.{name}"), shape.to_vec()));
        add("attention_norm", &[width]);
        add("query_key_value", &[width, 3 * width]);
        add("attention_output", &[width, width]);
        add("feed_forward_norm", &[width]);
        add("up", &[width, 4 * width]);
        add("down", &[4 * width, width]);
    }
    shapes
}

/// The weights of a network.
#[derive(Clone, Debug)]
pub(crate) struct Network {
    config: DiffusionConfig,
    token_embedding: Tensor,
    position_embedding: Tensor,
    output_norm: Tensor,
    output_bias: Tensor,
    layers: Vec<Layer>,
}

#[derive(Clone, Debug)]
struct Layer {
    attention_norm: Tensor,
    query_key_value: Tensor,
    attention_output: Tensor,
    feed_forward_norm: Tensor,
    up: Tensor,
    down: Tensor,
}

impl Network {
    /// A network of these weights, by name; they are used as they are, so that a trainer's variables stay
    /// variables.
    ///
    /// # Errors
    /// If a weight is missing or has another shape than the sizes demand.
    pub(crate) fn new(config: DiffusionConfig, weights: &HashMap<String, Tensor>) -> Result<Network> {
        for (name, shape) in weight_shapes(&config) {
            match weights.get(&name) {
                None => candle_core::bail!("the weight {name} is missing"),
                Some(weight) if weight.dims() != shape => {
                    candle_core::bail!("the weight {name} has shape {:?}, needed is {shape:?}", weight.dims())
                }
                Some(_) => {}
            }
        }
        let weight = |name: &str| weights[name].clone();
        let layer = |layer: usize| {
            let weight = |name: &str| weights[&format!("layers.{layer}.{name}")].clone();
            Layer {
                attention_norm: weight("attention_norm"),
                query_key_value: weight("query_key_value"),
                attention_output: weight("attention_output"),
                feed_forward_norm: weight("feed_forward_norm"),
                up: weight("up"),
                down: weight("down"),
            }
        };
        Ok(Network {
            config,
            token_embedding: weight("token_embedding"),
            position_embedding: weight("position_embedding"),
            output_norm: weight("output_norm"),
            output_bias: weight("output_bias"),
            layers: (0..config.n_layers).map(layer).collect(),
        })
    }

    /// The sizes.
    pub(crate) fn config(&self) -> &DiffusionConfig {
        &self.config
    }

    /// Logits of `n_rows` canvases of equal length, given one after the other; a row of logits for each
    /// position, or for those of `wanted` alone (indices into `ids`).
    pub(crate) fn forward(&self, ids: &[u32], n_rows: usize, wanted: Option<&[u32]>) -> Result<Tensor> {
        let (length, width) = (ids.len() / n_rows, self.config.n_embedding);
        let ids = Tensor::new(ids, &Device::Cpu)?;
        let tokens = self.token_embedding.index_select(&ids, 0)?.reshape((n_rows, length, width))?;
        let positions = self.position_embedding.narrow(0, 0, length)?;
        let mut rows = tokens.broadcast_add(&positions)?.reshape((n_rows * length, width))?;
        for layer in &self.layers {
            let normed = norm(&rows, &layer.attention_norm)?;
            rows = (rows + self.attend(layer, &normed, n_rows)?.matmul(&layer.attention_output)?)?;
            let inner = norm(&rows, &layer.feed_forward_norm)?.matmul(&layer.up)?.relu()?.sqr()?;
            rows = (rows + inner.matmul(&layer.down)?)?;
        }
        if let Some(wanted) = wanted {
            rows = rows.index_select(&Tensor::new(wanted, &Device::Cpu)?, 0)?;
        }
        norm(&rows, &self.output_norm)?.matmul(&self.token_embedding.t()?)?.broadcast_add(&self.output_bias)
    }

    /// Attention of all positions of a canvas to all of it.
    fn attend(&self, layer: &Layer, normed: &Tensor, n_rows: usize) -> Result<Tensor> {
        let (n_heads, head_size) = (self.config.n_heads, self.config.head_size());
        let width = self.config.n_embedding;
        let length = normed.dim(0)? / n_rows;
        let projected = normed.matmul(&layer.query_key_value)?;
        let heads = |part: usize| {
            let part = projected.narrow(1, part * width, width)?;
            part.reshape((n_rows, length, n_heads, head_size))?.transpose(1, 2)?.contiguous()
        };
        let scale = 1.0 / (head_size as f64).sqrt();
        let scores = (heads(0)? * scale)?.matmul(&heads(1)?.t()?)?;
        let attended = softmax(&scores, D::Minus1)?.matmul(&heads(2)?)?;
        attended.transpose(1, 2)?.reshape((n_rows * length, width))
    }
}

fn norm(rows: &Tensor, gain: &Tensor) -> Result<Tensor> {
    let mean_square = rows.sqr()?.mean_keepdim(D::Minus1)?;
    rows.broadcast_div(&(mean_square + NORM_EPSILON)?.sqrt()?)?.broadcast_mul(gain)
}

/// Weights as they are used, from those of a file, which may be narrower.
pub(crate) fn widened(weights: HashMap<String, Tensor>) -> Result<HashMap<String, Tensor>> {
    weights.into_iter().map(|(name, weight)| Ok((name, weight.to_dtype(DType::F32)?))).collect()
}
