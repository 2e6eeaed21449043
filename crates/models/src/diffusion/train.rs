//! Training of a masked diffusion network on the CPU, by candle's automatic differentiation.
//!
//! The objective is that of masked diffusion (Austin et al. 2021; Sahoo et al. 2024; Nie et al. 2025): a share of a
//! text's tokens, drawn uniformly, is masked, and the network is asked for them. The loss is the mean over all masked
//! tokens of a batch, without the weight 1/share: that weight makes the loss a bound on the likelihood, and its
//! variance is what a short training cannot afford.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{DType, Device, Result, Tensor, Var};
use candle_nn::loss::cross_entropy;
use candle_nn::{AdamW, Optimizer, ParamsAdamW};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::config::DiffusionConfig;
use super::network::{Network, weight_shapes};
use crate::ModelsError;

/// Canvases of equal length and what was masked in them.
///
/// ```
/// use maskwright_models::{DiffusionConfig, DiffusionTrainer, MaskedBatch};
/// let config = DiffusionConfig { n_vocab: 8, n_positions: 4, n_embedding: 8, n_heads: 2, n_layers: 1, mask_id: 7,
///     pad_id: 6, separator_id: 5 };
/// let mut trainer = DiffusionTrainer::new(config, 1)?;
/// let batch = MaskedBatch { n_rows: 2, ids: vec![1, 7, 3, 7, 2, 4], masked: vec![1, 3], targets: vec![2, 1] };
/// let losses: Vec<f32> = (0..20).map(|_| trainer.step(&batch, 0.01)).collect::<Result<_, _>>()?;
/// assert!(losses[19] < losses[0]);
/// # Ok::<(), maskwright_models::ModelsError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MaskedBatch {
    /// The number of canvases.
    pub n_rows: usize,
    /// Their tokens, canvas after canvas, with the mask where a token is to be found.
    pub ids: Vec<u32>,
    /// The indices into `ids` of what is to be found; at least one.
    pub masked: Vec<u32>,
    /// What was there.
    pub targets: Vec<u32>,
}

/// A network in training. The same seed and batches give the same weights on the same machine.
pub struct DiffusionTrainer {
    network: Network,
    weights: Vec<(String, Var)>,
    optimizer: AdamW,
}

impl DiffusionTrainer {
    /// A network of random weights.
    ///
    /// # Errors
    /// If the sizes do not fit together.
    pub fn new(config: DiffusionConfig, seed: u64) -> std::result::Result<DiffusionTrainer, ModelsError> {
        config.check().map_err(ModelsError::diffusion)?;
        Self::random(config, seed)
            .map_err(|error| ModelsError::diffusion("no network can be made").because(error))
    }

    fn random(config: DiffusionConfig, seed: u64) -> Result<DiffusionTrainer> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = Vec::new();
        for (name, shape) in weight_shapes(&config) {
            let values = initial(&name, &shape, config.n_layers, &mut rng);
            weights.push((name, Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu)?)?));
        }
        let tensors: HashMap<String, Tensor> =
            weights.iter().map(|(name, weight)| (name.clone(), weight.as_tensor().clone())).collect();
        let parameters = ParamsAdamW { beta2: 0.98, weight_decay: 0.01, ..ParamsAdamW::default() };
        let optimizer = AdamW::new(weights.iter().map(|(_, weight)| weight.clone()).collect(), parameters)?;
        Ok(DiffusionTrainer { network: Network::new(config, &tensors)?, weights, optimizer })
    }

    /// The number of weights.
    #[must_use]
    pub fn n_weights(&self) -> usize {
        self.weights.iter().map(|(_, weight)| weight.elem_count()).sum()
    }

    /// The mean cross-entropy, in nats, of what is masked in `batch`.
    ///
    /// # Errors
    /// If the batch is not whole: see [`MaskedBatch`].
    pub fn loss(&self, batch: &MaskedBatch) -> std::result::Result<f32, ModelsError> {
        let loss = self.loss_tensor(batch)?.to_scalar::<f32>();
        loss.map_err(|error| ModelsError::diffusion("the loss cannot be computed").because(error))
    }

    /// One step of AdamW; returns the loss before it.
    ///
    /// # Errors
    /// As [`loss`](DiffusionTrainer::loss).
    pub fn step(&mut self, batch: &MaskedBatch, learning_rate: f64) -> std::result::Result<f32, ModelsError> {
        let loss = self.loss_tensor(batch)?;
        self.optimizer.set_learning_rate(learning_rate);
        let stepped = self.optimizer.backward_step(&loss).and_then(|()| loss.to_scalar::<f32>());
        stepped.map_err(|error| ModelsError::diffusion("a training step failed").because(error))
    }

    /// Writes the weights as safetensors, half precision.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> std::result::Result<(), ModelsError> {
        let halves = || -> Result<HashMap<String, Tensor>> {
            self.weights
                .iter()
                .map(|(name, weight)| Ok((name.clone(), weight.to_dtype(DType::F16)?)))
                .collect()
        };
        halves()
            .and_then(|halves| candle_core::safetensors::save(&halves, path))
            .map_err(|error| ModelsError::file(path, "cannot be written").because(error))
    }

    fn loss_tensor(&self, batch: &MaskedBatch) -> std::result::Result<Tensor, ModelsError> {
        let MaskedBatch { n_rows, ids, masked, targets } = batch;
        let is_whole = *n_rows > 0 && ids.len().is_multiple_of(*n_rows) && !masked.is_empty();
        if !is_whole || masked.len() != targets.len() {
            return Err(ModelsError::diffusion(format!(
                "a batch of {n_rows} canvases has {} tokens, {} masked positions and {} targets",
                ids.len(),
                masked.len(),
                targets.len()
            )));
        }
        let loss = || {
            cross_entropy(
                &self.network.forward(ids, *n_rows, Some(masked))?,
                &Tensor::new(targets.as_slice(), &Device::Cpu)?,
            )
        };
        loss().map_err(|error| ModelsError::diffusion("the batch does not fit the network").because(error))
    }
}

/// First values: gains are 1 and biases 0, matrices normal with variance 1 / inputs, those that write into the
/// residual stream smaller by its depth.
fn initial(name: &str, shape: &[usize], n_layers: usize, rng: &mut ChaCha8Rng) -> Vec<f32> {
    let n_values = shape.iter().product();
    if name.ends_with("_norm") {
        return vec![1.0; n_values];
    }
    if name.ends_with("_bias") {
        return vec![0.0; n_values];
    }
    let deviation = if name.ends_with("_embedding") {
        0.05
    } else if name.ends_with("attention_output") || name.ends_with("down") {
        1.0 / (shape[0] as f32 * 2.0 * n_layers as f32).sqrt()
    } else {
        1.0 / (shape[0] as f32).sqrt()
    };
    (0..n_values).map(|_| deviation * normal(rng)).collect()
}

/// A draw from the standard normal distribution (Box and Muller 1958).
fn normal(rng: &mut ChaCha8Rng) -> f32 {
    let radius = (-2.0 * (1.0 - rng.random::<f32>()).ln()).sqrt();
    radius * (std::f32::consts::TAU * rng.random::<f32>()).cos()
}

impl std::fmt::Debug for DiffusionTrainer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DiffusionTrainer").field("config", self.network.config()).finish_non_exhaustive()
    }
}
