//! Which tokens end a text.

use std::path::Path;

use serde_json::Value;

use super::tokens::Tokens;
use super::{MAX_CONFIG_LEN, read_limited};
use crate::{TokenId, TokenizerError};

/// Names that end a text, or a turn of a chat, in the models in use. All that a tokenizer has count: which of
/// them a model was tuned to write is not known without its configuration.
const WELL_KNOWN: [&str; 14] = [
    "<|endoftext|>",
    "</s>",
    "<eos>",
    "<|im_end|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "<|return|>",
    "<|call|>",
    "<|eot|>",
    "<|EOT|>",
    "<\u{ff5c}end\u{2581}of\u{2581}sentence\u{ff5c}>",
    "<|END_OF_TURN_TOKEN|>",
];

/// The ids of the well-known names among the added tokens.
///
/// # Errors
/// If there is none.
pub(crate) fn well_known(tokens: &Tokens) -> Result<Vec<TokenId>, TokenizerError> {
    let added = tokens.added_tokens.iter();
    let ends = added.filter(|token| WELL_KNOWN.contains(&token.content.as_str()));
    let ids: Vec<TokenId> = ends.map(|token| TokenId(token.id)).collect();
    if ids.is_empty() { Err(TokenizerError::no_eos()) } else { Ok(ids) }
}

/// The ids that the configuration files beside the tokenizer file name; `None` if none does.
///
/// # Errors
/// If such a file is not JSON, or what it names is not an id or a token.
pub(crate) fn beside(path: &Path, tokens: &Tokens) -> Result<Option<Vec<TokenId>>, TokenizerError> {
    for (name, read) in [
        ("generation_config.json", generation_config as fn(&Value, &Tokens) -> _),
        ("tokenizer_config.json", tokenizer_config),
    ] {
        let path = path.with_file_name(name);
        if !path.is_file() {
            continue;
        }
        let ids = read_limited(&path, MAX_CONFIG_LEN)
            .and_then(|json| Ok(serde_json::from_slice(&json)?))
            .and_then(|config| read(&config, tokens))
            .map_err(|error| error.at(&path))?;
        if !ids.is_empty() {
            return Ok(Some(ids));
        }
    }
    Ok(None)
}

/// `eos_token_id`: an id or a list of ids.
fn generation_config(config: &Value, _: &Tokens) -> Result<Vec<TokenId>, TokenizerError> {
    let id = |value: &Value| {
        value.as_u64().and_then(|id| u32::try_from(id).ok()).map(TokenId).ok_or_else(|| {
            TokenizerError::invalid(format!(
                "/eos_token_id has {value}; expected is a token id or a list of them"
            ))
        })
    };
    match config.get("eos_token_id") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(Value::Array(ids)) => ids.iter().map(id).collect(),
        Some(value) => Ok(vec![id(value)?]),
    }
}

/// `eos_token`: a token, or an object with its `content`.
fn tokenizer_config(config: &Value, tokens: &Tokens) -> Result<Vec<TokenId>, TokenizerError> {
    let token = match config.get("eos_token") {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Object(token)) => token.get("content").and_then(Value::as_str),
        Some(token) => token.as_str(),
    };
    let Some(token) = token else {
        return Err(TokenizerError::invalid("/eos_token is neither a string nor an object with a content"));
    };
    let added = tokens.added_tokens.iter().find(|added| added.content == token).map(|added| added.id);
    let id = added
        .or_else(|| tokens.vocab.iter().find(|(model_token, _)| model_token == token).map(|&(_, id)| id));
    match id {
        Some(id) => Ok(vec![TokenId(id)]),
        None => Err(TokenizerError::invalid(format!(
            "/eos_token is {token:?}, which the tokenizer does not have"
        ))),
    }
}
