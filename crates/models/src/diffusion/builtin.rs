//! The diffusion model that comes with this crate.

use maskwright_vocabulary::{TokenId, Tokenizer, TokenizerOptions};

use super::config::DiffusionConfig;
use super::model::MaskedDiffusionModel;
use crate::ModelsError;

/// A diffusion model and its tokenizer.
///
/// ```
/// let builtin = maskwright_models::builtin_diffusion()?;
/// assert!(builtin.prompt_ids("smiles")?.len() > 1);
/// assert!(builtin.model.config().n_positions >= 64);
/// # Ok::<(), maskwright_models::ModelsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct BuiltinDiffusion {
    /// The model.
    pub model: MaskedDiffusionModel,
    /// Its tokenizer; a text ends with its EOS token, and then comes padding.
    pub tokenizer: Tokenizer,
}

impl BuiltinDiffusion {
    /// The tokens that ask for a kind of text: its name and the separator. The model knows `smiles` and the
    /// names of [`BUILTIN_SCHEMAS`]; of others it makes what it can.
    ///
    /// # Errors
    /// If the name cannot be encoded.
    pub fn prompt_ids(&self, kind: &str) -> Result<Vec<TokenId>, ModelsError> {
        let ids = self.tokenizer.encode(kind);
        let mut ids = ids.map_err(|error| {
            ModelsError::diffusion("the prompt cannot be encoded").because(error.to_string())
        })?;
        ids.push(TokenId(self.model.config().separator_id));
        Ok(ids)
    }
}

/// The kinds of JSON records that the model was trained on, with a schema for each.
pub const BUILTIN_SCHEMAS: [(&str, &str); 6] = [
    ("person", include_str!("../../assets/diffusion/schemas/person.json")),
    ("book", include_str!("../../assets/diffusion/schemas/book.json")),
    ("city", include_str!("../../assets/diffusion/schemas/city.json")),
    ("event", include_str!("../../assets/diffusion/schemas/event.json")),
    ("order", include_str!("../../assets/diffusion/schemas/order.json")),
    ("recipe", include_str!("../../assets/diffusion/schemas/recipe.json")),
];

/// A model of about a million weights that writes small molecules as SMILES and JSON records of six kinds.
/// Its weights are in this library; `assets/diffusion/README.md` says how they were made. Takes some ten
/// milliseconds.
///
/// # Errors
/// If the files that were built in are damaged.
pub fn builtin_diffusion() -> Result<BuiltinDiffusion, ModelsError> {
    let config = DiffusionConfig::from_json(include_bytes!("../../assets/diffusion/config.json"))?;
    let weights = include_bytes!("../../assets/diffusion/model.safetensors");
    let tokenizer_json = include_bytes!("../../assets/diffusion/tokenizer.json");
    let tokenizer = Tokenizer::from_json(tokenizer_json, &TokenizerOptions::default()).map_err(|error| {
        ModelsError::diffusion("the built-in tokenizer is damaged").because(error.to_string())
    })?;
    Ok(BuiltinDiffusion { model: MaskedDiffusionModel::from_safetensors(config, weights)?, tokenizer })
}
