//! A network with its weights, as the decoding loops see it.

use std::collections::HashMap;
use std::path::Path;

use candle_core::{Device, Tensor};
use maskwright_decode::{DiffusionModel, Logits, ModelError};
use maskwright_vocabulary::TokenId;

use super::config::DiffusionConfig;
use super::network::{Network, widened};
use crate::ModelsError;

/// A masked diffusion model on the CPU.
///
/// ```
/// use maskwright_decode::DiffusionModel;
/// use maskwright_vocabulary::TokenId;
/// let mut model = maskwright_models::builtin_diffusion()?.model;
/// let mask_id = model.mask_id();
/// assert_eq!(model.forward(&[&[TokenId(1), mask_id, mask_id]]).unwrap()[0].n_rows(), 3);
/// # Ok::<(), maskwright_models::ModelsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct MaskedDiffusionModel {
    network: Network,
}

impl MaskedDiffusionModel {
    /// A model of these sizes with the weights of a safetensors file, given as its bytes.
    ///
    /// # Errors
    /// If the sizes do not fit together, the bytes are no such file, or a weight is missing or has another
    /// shape.
    pub fn from_safetensors(config: DiffusionConfig, bytes: &[u8]) -> Result<Self, ModelsError> {
        config.check().map_err(ModelsError::diffusion)?;
        let wrong = "the weights of a diffusion model are wrong";
        let load = || -> candle_core::Result<Network> {
            let weights: HashMap<String, Tensor> =
                candle_core::safetensors::load_buffer(bytes, &Device::Cpu)?;
            Network::new(config, &widened(weights)?)
        };
        Ok(MaskedDiffusionModel {
            network: load().map_err(|error| ModelsError::diffusion(wrong).because(error))?,
        })
    }

    /// A model from a folder with `config.json` and `model.safetensors`.
    ///
    /// # Errors
    /// If a file cannot be read or is not what it should be.
    pub fn from_folder(folder: &Path) -> Result<Self, ModelsError> {
        let read = |name: &str| {
            let path = folder.join(name);
            std::fs::read(&path).map_err(|error| ModelsError::file(&path, "cannot be read").because(error))
        };
        Self::from_safetensors(
            DiffusionConfig::from_json(&read("config.json")?)?,
            &read("model.safetensors")?,
        )
    }

    /// The sizes and special tokens.
    #[must_use]
    pub fn config(&self) -> &DiffusionConfig {
        self.network.config()
    }

    /// Logits of canvases of one length, as one pass.
    fn pass(&self, canvases: &[&[TokenId]]) -> candle_core::Result<Vec<Logits>> {
        let ids: Vec<u32> = canvases.iter().flat_map(|canvas| canvas.iter()).map(|id| id.0).collect();
        let values: Vec<f32> = self.network.forward(&ids, canvases.len(), None)?.flatten_all()?.to_vec1()?;
        let n_vocab = self.config().n_vocab;
        let n_values = values.len() / canvases.len();
        Ok(values.chunks(n_values).map(|canvas| Logits::new(canvas.to_vec(), n_vocab)).collect())
    }
}

/// For training, which is no part of the product.
#[cfg(feature = "research")]
impl MaskedDiffusionModel {
    /// The names and shapes of a model's weights, in a fixed order. Matrices are (inputs, outputs).
    #[doc(hidden)]
    #[must_use]
    pub fn weight_shapes(config: &DiffusionConfig) -> Vec<(String, Vec<usize>)> {
        super::network::weight_shapes(config)
    }

    /// A model of these weights, by name; they are used as they are, so that a trainer's variables stay
    /// variables.
    ///
    /// # Errors
    /// If the sizes do not fit together, or a weight is missing or has another shape.
    #[doc(hidden)]
    pub fn from_tensors(
        config: DiffusionConfig,
        weights: &HashMap<String, Tensor>,
    ) -> candle_core::Result<Self> {
        config.check().map_err(candle_core::Error::msg)?;
        Ok(MaskedDiffusionModel { network: Network::new(config, weights)? })
    }

    /// Logits of `n_rows` canvases of equal length, given one after the other: (positions asked for, tokens).
    /// `wanted` are indices into `ids`.
    ///
    /// # Errors
    /// If the ids do not fit the model.
    #[doc(hidden)]
    pub fn logits_at(&self, ids: &[u32], n_rows: usize, wanted: &[u32]) -> candle_core::Result<Tensor> {
        self.network.forward(ids, n_rows, Some(wanted))
    }
}

impl DiffusionModel for MaskedDiffusionModel {
    fn n_vocab(&self) -> usize {
        self.config().n_vocab
    }

    fn max_positions(&self) -> usize {
        self.config().n_positions
    }

    fn mask_id(&self) -> TokenId {
        TokenId(self.config().mask_id)
    }

    fn forward(&mut self, canvases: &[&[TokenId]]) -> Result<Vec<Logits>, ModelError> {
        ModelError::check_canvases(self, canvases)?;
        let failed = |error| ModelError::with_source("the forward pass failed", error);
        let Some(first) = canvases.first() else { return Ok(Vec::new()) };
        if canvases.iter().all(|canvas| canvas.len() == first.len()) {
            return self.pass(canvases).map_err(failed);
        }
        let one_by_one = canvases.iter().map(|canvas| self.pass(&[canvas]));
        Ok(one_by_one.collect::<candle_core::Result<Vec<_>>>().map_err(failed)?.concat())
    }
}
