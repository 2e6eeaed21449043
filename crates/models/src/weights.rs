//! The weights of a network's layers: read from a GGUF file, their shapes checked, and applied to rows.

use candle_core::{
    DType, Device, Module, Result, Tensor,
    quantized::{GgmlDType, QMatMul, QTensor},
};
use candle_nn::ops::rms_norm;

use crate::{config::NetworkConfig, error::ModelsError, gguf::GgufFile};

/// One layer: attention and a gated feed-forward part.
#[derive(Debug)]
pub(crate) struct Layer {
    pub(crate) attention: AttentionWeights,
    pub(crate) feed_forward: FeedForwardWeights,
    /// The index of its scope among those of the network.
    pub(crate) scope: usize,
}

/// The weights of attention.
#[derive(Debug)]
pub(crate) struct AttentionWeights {
    pub(crate) norm: Norm,
    pub(crate) query: Linear,
    pub(crate) key: Linear,
    pub(crate) value: Linear,
    /// Norms single heads.
    pub(crate) query_norm: Norm,
    /// Norms single heads.
    pub(crate) key_norm: Norm,
    pub(crate) output: Linear,
    pub(crate) post_norm: Norm,
}

/// The weights of a feed-forward part.
#[derive(Debug)]
pub(crate) struct FeedForwardWeights {
    pub(crate) norm: Norm,
    pub(crate) gate: Linear,
    pub(crate) up: Linear,
    pub(crate) down: Linear,
    pub(crate) post_norm: Norm,
}

impl Layer {
    /// Reads the layer of this index.
    ///
    /// # Errors
    /// If a tensor is missing or has another shape than the sizes in the metadata demand.
    pub(crate) fn from_gguf(
        gguf: &mut GgufFile,
        config: &NetworkConfig,
        index: usize,
    ) -> std::result::Result<Self, ModelsError> {
        let (width, inner) = (config.n_embedding, config.n_feed_forward);
        let (queries, keys) = (config.n_heads * config.head_size, config.n_kv_heads * config.head_size);
        let (architecture, epsilon) = (config.architecture, config.norm_epsilon);
        let name = |part: &str| format!("blk.{index}.{part}");
        let mut linear = |part, n_out, n_in, bias| linear(gguf, &name(part), n_out, n_in, bias);
        let query = linear("attn_q", queries, width, architecture.has_biases())?;
        let key = linear("attn_k", keys, width, architecture.has_biases())?;
        let value = linear("attn_v", keys, width, architecture.has_biases())?;
        let output = linear("attn_output", width, queries, false)?;
        let gate = linear("ffn_gate", inner, width, false)?;
        let up = linear("ffn_up", inner, width, false)?;
        let down = linear("ffn_down", width, inner, false)?;
        let mut norm = |part, n_values, is_there| {
            if is_there { Norm::from_gguf(gguf, &name(part), n_values, epsilon) } else { Ok(Norm::Nothing) }
        };
        let attention = AttentionWeights {
            norm: norm("attn_norm.weight", width, true)?,
            query,
            key,
            value,
            query_norm: norm("attn_q_norm.weight", config.head_size, architecture.has_head_norms())?,
            key_norm: norm("attn_k_norm.weight", config.head_size, architecture.has_head_norms())?,
            output,
            post_norm: norm("post_attention_norm.weight", width, architecture.has_post_norms())?,
        };
        let feed_forward = FeedForwardWeights {
            norm: norm("ffn_norm.weight", width, true)?,
            gate,
            up,
            down,
            post_norm: norm("post_ffw_norm.weight", width, architecture.has_post_norms())?,
        };
        Ok(Layer { attention, feed_forward, scope: config.scopes.index_of(index) })
    }
}

/// A norm of rows.
#[derive(Debug)]
pub(crate) enum Norm {
    /// The rows as they are, where an architecture has no norm.
    Nothing,
    /// Divided by their root mean square, times weights.
    RootMeanSquare { weights: Tensor, epsilon: f32 },
}

impl Norm {
    /// Reads the weights of a root mean square norm.
    ///
    /// # Errors
    /// If there is no such tensor, or it has not `n_values` numbers.
    pub(crate) fn from_gguf(
        gguf: &mut GgufFile,
        name: &str,
        n_values: usize,
        epsilon: f32,
    ) -> std::result::Result<Self, ModelsError> {
        Ok(Norm::RootMeanSquare { weights: vector(gguf, name, n_values)?, epsilon })
    }

    /// Norms along the last dimension.
    pub(crate) fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        match self {
            Norm::Nothing => Ok(rows.clone()),
            Norm::RootMeanSquare { weights, epsilon } => rms_norm(rows, weights, *epsilon),
        }
    }
}

/// A product with a matrix, plus a bias.
#[derive(Debug)]
pub(crate) struct Linear {
    weight: QMatMul,
    bias: Option<Tensor>,
}

impl Linear {
    /// Rows in, rows out.
    pub(crate) fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        let product = self.weight.forward(rows)?;
        match &self.bias {
            None => Ok(product),
            Some(bias) => product.broadcast_add(bias),
        }
    }
}

/// A matrix that the products can use.
///
/// candle's products of Q4_1, Q5_0 and Q5_1 take blocks in pairs; rows of an odd number of blocks (which only
/// odd sizes have) are requantised to Q8_0.
pub(crate) fn matrix(
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
pub(crate) fn vector(
    gguf: &mut GgufFile,
    name: &str,
    len: usize,
) -> std::result::Result<Tensor, ModelsError> {
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
