//! The shape of a masked diffusion network, kept as JSON beside its weights.

use serde::{Deserialize, Serialize};

use crate::ModelsError;

/// The sizes of a network and its special tokens.
///
/// ```
/// use maskwright_models::DiffusionConfig;
/// let json = r#"{"n_vocab": 64, "n_positions": 32, "n_embedding": 16, "n_heads": 2, "n_layers": 1,
///     "mask_id": 2, "pad_id": 0, "separator_id": 3}"#;
/// let config = DiffusionConfig::from_json(json.as_bytes())?;
/// assert_eq!(config.head_size(), 8);
/// # Ok::<(), maskwright_models::ModelsError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiffusionConfig {
    /// The width of the logits, in tokens.
    pub n_vocab: usize,
    /// The most positions of a canvas, prompt included.
    pub n_positions: usize,
    /// The width of a position's vector; the feed-forward layers are four times as wide.
    pub n_embedding: usize,
    /// Divides `n_embedding`.
    pub n_heads: usize,
    /// Pairs of attention and feed-forward.
    pub n_layers: usize,
    /// The token that stands for "not known yet".
    pub mask_id: u32,
    /// The token that fills a canvas up behind EOS.
    pub pad_id: u32,
    /// The token between a prompt and its text.
    pub separator_id: u32,
}

impl DiffusionConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// If it is not one, a size is 0, the heads do not divide the width, or a special token is outside the
    /// vocabulary.
    pub fn from_json(json: &[u8]) -> Result<DiffusionConfig, ModelsError> {
        let invalid = || ModelsError::diffusion("the configuration of a diffusion model is wrong");
        let config: DiffusionConfig =
            serde_json::from_slice(json).map_err(|error| invalid().because(error))?;
        config.check().map_err(|problem| invalid().because(problem))?;
        Ok(config)
    }

    /// The width of one head.
    #[must_use]
    pub fn head_size(&self) -> usize {
        self.n_embedding / self.n_heads
    }

    /// Whether a network can have this shape; says why not.
    pub(crate) fn check(&self) -> Result<(), String> {
        let sizes = [self.n_vocab, self.n_positions, self.n_embedding, self.n_heads, self.n_layers];
        if sizes.contains(&0) {
            return Err("a size is 0".to_owned());
        }
        if !self.n_embedding.is_multiple_of(self.n_heads) {
            return Err(format!("{} heads do not divide a width of {}", self.n_heads, self.n_embedding));
        }
        for id in [self.mask_id, self.pad_id, self.separator_id] {
            if id as usize >= self.n_vocab {
                return Err(format!("token {id} is outside the vocabulary of {}", self.n_vocab));
            }
        }
        Ok(())
    }
}
