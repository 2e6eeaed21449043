//! What a GGUF file says about a model besides its weights: names, special tokens, chat template.

use std::path::Path;

use maskwright_vocabulary::TokenId;
use maskwright_vocabulary::gguf::GgufValue;

use crate::{config::NetworkConfig, error::ModelsError, gguf::GgufFile};

/// Facts about a model, read without its weights.
///
/// # Examples
/// ```no_run
/// use maskwright_models::ModelInfo;
/// let info = ModelInfo::from_gguf("model.gguf")?;
/// println!("{} layers, end of text: {:?}", info.n_layers, info.eos_ids);
/// # Ok::<(), maskwright_models::ModelsError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// The name the file gives itself.
    pub name: Option<String>,
    /// `llama`, `qwen2` or `gemma3`.
    pub architecture: String,
    /// The number of layers.
    pub n_layers: usize,
    /// The most tokens a text may have.
    pub context_length: usize,
    /// The token that begins a text.
    pub bos_id: Option<TokenId>,
    /// Whether a prompt should begin with it; where the file is silent, the tokenizer's own habit decides.
    pub add_bos: Option<bool>,
    /// The tokens that end a text or a turn of a dialogue, without duplicates.
    pub eos_ids: Vec<TokenId>,
    /// The beginning-of-text token as chat templates spell it; empty if there is none.
    pub bos_token: String,
    /// The end-of-text token as chat templates spell it; empty if there is none.
    pub eos_token: String,
    /// The chat template, in Jinja: see [`ChatTemplate`](crate::ChatTemplate).
    pub chat_template: Option<String>,
}

impl ModelInfo {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// If it cannot be read, is no GGUF file, or not of a network that can be run.
    pub fn from_gguf(path: impl AsRef<Path>) -> Result<Self, ModelsError> {
        Self::read(&mut GgufFile::open(path.as_ref())?)
    }

    pub(crate) fn read(gguf: &mut GgufFile) -> Result<Self, ModelsError> {
        let config = NetworkConfig::from_gguf(gguf)?;
        let id = |gguf: &GgufFile, key: &str| match gguf.value(&format!("tokenizer.ggml.{key}_token_id")) {
            Some(&GgufValue::Integer(id)) => u32::try_from(id).ok().map(TokenId),
            _ => None,
        };
        let text = |gguf: &GgufFile, key: &str| match gguf.value(key) {
            Some(GgufValue::Text(text)) => Some(text.clone()),
            _ => None,
        };
        let bos_id = id(gguf, "bos");
        let mut eos_ids = Vec::new();
        // Besides the end of the text: of a turn, of a message.
        for eos_id in ["eos", "eot", "eom"].into_iter().filter_map(|key| id(gguf, key)) {
            if !eos_ids.contains(&eos_id) {
                eos_ids.push(eos_id);
            }
        }
        let add_bos = match gguf.value("tokenizer.ggml.add_bos_token") {
            Some(&GgufValue::Bool(add_bos)) => Some(add_bos),
            _ => None,
        };
        let mut spelling = |id: Option<TokenId>| -> Result<String, ModelsError> {
            let Some(id) = id else { return Ok(String::new()) };
            Ok(gguf.file().text_at("tokenizer.ggml.tokens", id.0.into())?.unwrap_or_default())
        };
        let bos_token = spelling(bos_id)?;
        let eos_token = spelling(eos_ids.first().copied())?;
        Ok(ModelInfo {
            name: text(gguf, "general.name"),
            architecture: config.architecture.name().to_owned(),
            n_layers: config.n_layers,
            context_length: config.context_length,
            bos_id,
            add_bos,
            eos_ids,
            bos_token,
            eos_token,
            chat_template: text(gguf, "tokenizer.chat_template"),
        })
    }
}
