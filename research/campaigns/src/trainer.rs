//! Training of a masked diffusion network on the CPU, by candle's automatic differentiation.
//!
//! The objective is that of masked diffusion (Austin et al. 2021; Sahoo et al. 2024; Nie et al. 2025): a
//! share of a text's tokens, drawn uniformly, is masked, and the network is asked for them. The loss is the
//! mean over all masked tokens of a batch, without the weight 1/share: that weight makes the loss a bound on
//! the likelihood, and its variance is what a short training cannot afford.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, ensure};
use candle_core::{DType, Device, Tensor, Var};
use candle_nn::loss::cross_entropy;
use candle_nn::{AdamW, Optimizer, ParamsAdamW};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use maskwright_models::{DiffusionConfig, MaskedDiffusionModel};

/// Canvases of equal length and what was masked in them.
#[derive(Clone, Debug, Default)]
pub(crate) struct MaskedBatch {
    /// The number of canvases.
    pub(crate) n_rows: usize,
    /// Their tokens, canvas after canvas, with the mask where a token is to be found.
    pub(crate) ids: Vec<u32>,
    /// The indices into `ids` of what is to be found; at least one.
    pub(crate) masked: Vec<u32>,
    /// What was there.
    pub(crate) targets: Vec<u32>,
}

/// A network in training. The same seed and batches give the same weights on the same machine.
pub(crate) struct DiffusionTrainer {
    model: MaskedDiffusionModel,
    weights: Vec<(String, Var)>,
    optimizer: AdamW,
}

impl DiffusionTrainer {
    /// A network of random weights.
    ///
    /// # Errors
    /// If the sizes do not fit together.
    pub(crate) fn new(config: DiffusionConfig, seed: u64) -> anyhow::Result<DiffusionTrainer> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut weights = Vec::new();
        for (name, shape) in MaskedDiffusionModel::weight_shapes(&config) {
            let values = initial(&name, &shape, config.n_layers, &mut rng);
            weights.push((name, Var::from_tensor(&Tensor::from_vec(values, shape, &Device::Cpu)?)?));
        }
        let tensors: HashMap<String, Tensor> =
            weights.iter().map(|(name, weight)| (name.clone(), weight.as_tensor().clone())).collect();
        let parameters = ParamsAdamW { beta2: 0.98, weight_decay: 0.01, ..ParamsAdamW::default() };
        let optimizer = AdamW::new(weights.iter().map(|(_, weight)| weight.clone()).collect(), parameters)?;
        let model = MaskedDiffusionModel::from_tensors(config, &tensors).context("no network can be made")?;
        Ok(DiffusionTrainer { model, weights, optimizer })
    }

    /// The number of weights.
    pub(crate) fn n_weights(&self) -> usize {
        self.weights.iter().map(|(_, weight)| weight.elem_count()).sum()
    }

    /// The mean cross-entropy, in nats, of what is masked in `batch`.
    ///
    /// # Errors
    /// If the batch is not whole: see [`MaskedBatch`].
    pub(crate) fn loss(&self, batch: &MaskedBatch) -> anyhow::Result<f32> {
        Ok(self.loss_tensor(batch)?.to_scalar()?)
    }

    /// One step of AdamW; returns the loss before it.
    ///
    /// # Errors
    /// As [`loss`](DiffusionTrainer::loss).
    pub(crate) fn step(&mut self, batch: &MaskedBatch, learning_rate: f64) -> anyhow::Result<f32> {
        let loss = self.loss_tensor(batch)?;
        self.optimizer.set_learning_rate(learning_rate);
        self.optimizer.backward_step(&loss).context("a training step failed")?;
        Ok(loss.to_scalar()?)
    }

    /// Writes the weights as safetensors, half precision.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn save(&self, path: &Path) -> anyhow::Result<()> {
        let halves: HashMap<String, Tensor> = self
            .weights
            .iter()
            .map(|(name, weight)| Ok((name.clone(), weight.to_dtype(DType::F16)?)))
            .collect::<anyhow::Result<_>>()?;
        candle_core::safetensors::save(&halves, path)
            .with_context(|| format!("{} cannot be written", path.display()))
    }

    fn loss_tensor(&self, batch: &MaskedBatch) -> anyhow::Result<Tensor> {
        let MaskedBatch { n_rows, ids, masked, targets } = batch;
        let is_whole = *n_rows > 0 && ids.len().is_multiple_of(*n_rows) && !masked.is_empty();
        ensure!(
            is_whole && masked.len() == targets.len(),
            "a batch of {n_rows} canvases has {} tokens, {} masked positions and {} targets",
            ids.len(),
            masked.len(),
            targets.len()
        );
        let logits =
            self.model.logits_at(ids, *n_rows, masked).context("the batch does not fit the network")?;
        Ok(cross_entropy(&logits, &Tensor::new(targets.as_slice(), &Device::Cpu)?)?)
    }
}

/// First values: gains are 1 and biases 0, matrices normal with variance 1 / inputs, those that write into
/// the residual stream smaller by its depth.
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

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: DiffusionConfig = DiffusionConfig {
        n_vocab: 11,
        n_positions: 7,
        n_embedding: 12,
        n_heads: 3,
        n_layers: 2,
        mask_id: 10,
        pad_id: 9,
        separator_id: 8,
    };

    #[test]
    fn training_learns_what_there_is_to_learn() {
        let mut trainer = DiffusionTrainer::new(CONFIG, 2).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let mut batch = || {
            let mut batch = MaskedBatch { n_rows: 8, ..MaskedBatch::default() };
            for row in 0..8 {
                let first = rng.random_range(0..4);
                let hidden = rng.random_range(1..7);
                for position in 0..7 {
                    let token = (first + position) % 8;
                    batch.ids.push(if position == hidden { 10 } else { token });
                }
                batch.masked.push(row * 7 + hidden);
                batch.targets.push((first + hidden) % 8);
            }
            batch
        };
        let before = trainer.loss(&batch()).unwrap();
        for _ in 0..150 {
            trainer.step(&batch(), 0.01).unwrap();
        }
        let after = trainer.loss(&batch()).unwrap();
        assert!(before > 1.5 && after < 0.3, "{before} {after}");
        let empty = trainer.loss(&MaskedBatch::default()).unwrap_err();
        assert!(empty.to_string().contains("a batch of 0 canvases"), "{empty}");
    }
}
