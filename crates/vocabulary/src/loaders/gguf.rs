//! The vocabulary inside a GGUF file.
//!
//! `tokenizer.ggml.model` is `gpt2` (byte-level BPE with merges, as in tokenizer.json) or `llama`
//! (SentencePiece BPE with scores). How it encodes is read by `gguf_bpe.rs`.

use std::path::Path;

use super::tokens::Tokens;
use super::{Loaded, eos};
use crate::encoder::added_tokens::AddedToken;
use crate::gguf::{GgufFile, GgufValue};
use crate::token_bytes::TokenStyle;
use crate::{TokenId, TokenizerError, TokenizerOptions};

/// Token types (`llama_token_type`).
const UNKNOWN: i64 = 2;
const CONTROL: i64 = 3;
const USER_DEFINED: i64 = 4;
const UNUSED: i64 = 5;

/// Reads the tokens of a file; see [`Tokenizer::from_gguf`](crate::Tokenizer::from_gguf).
pub(crate) fn read(path: &Path, options: &TokenizerOptions) -> Result<Loaded<Metadata>, TokenizerError> {
    let mut metadata = Metadata(GgufFile::open(path)?);
    let eos = metadata.eos()?;
    let tokens = metadata.tokens()?;
    let eos = match &options.eos_token_ids {
        Some(ids) => ids.clone(),
        None if eos.is_empty() => eos::well_known(&tokens)?,
        None => eos,
    };
    Ok(Loaded { tokens, eos, vocab_size: options.vocab_size, rest: metadata })
}

/// The keys that begin with `tokenizer.ggml.`.
pub(crate) struct Metadata(GgufFile);

impl Metadata {
    /// The model's chat template.
    #[cfg(feature = "tokenizers")]
    pub(crate) fn chat_template(&self) -> Option<String> {
        match self.0.value("tokenizer.chat_template") {
            Some(GgufValue::Text(template)) => Some(template.to_string()),
            _ => None,
        }
    }

    pub(super) fn value(&self, name: &str) -> Option<&GgufValue> {
        self.0.value(&key(name))
    }

    pub(super) fn string(&self, name: &str) -> Result<Option<&str>, TokenizerError> {
        match self.value(name) {
            None => Ok(None),
            Some(GgufValue::Text(value)) => Ok(Some(value)),
            Some(_) => Err(wrong(name, "a string")),
        }
    }

    pub(super) fn strings(&mut self, name: &str) -> Result<Vec<String>, TokenizerError> {
        self.0.texts(&key(name))?.ok_or_else(|| wrong(name, "an array of strings"))
    }

    #[cfg(feature = "tokenizers")]
    pub(super) fn floats(&mut self, name: &str) -> Result<Option<Vec<f32>>, TokenizerError> {
        Ok(self.0.floats(&key(name))?)
    }

    /// The ids that end a text, a turn or a message.
    fn eos(&self) -> Result<Vec<TokenId>, TokenizerError> {
        let mut ids = Vec::new();
        for name in ["eos_token_id", "eot_token_id", "eom_token_id"] {
            match self.value(name) {
                None => {}
                Some(&GgufValue::Integer(id)) if u32::try_from(id).is_ok() => ids.push(TokenId(id as u32)),
                Some(_) => return Err(wrong(name, "a token id")),
            }
        }
        Ok(ids)
    }

    fn tokens(&mut self) -> Result<Tokens, TokenizerError> {
        let style = match self.string("model")? {
            Some("gpt2") => TokenStyle::ByteLevel,
            Some("llama") => TokenStyle::SentencePiece { byte_fallback: true },
            Some(model) => {
                return Err(TokenizerError::invalid(format!(
                    "tokenizer.ggml.model is {model:?}; supported are \"llama\" and \"gpt2\""
                )));
            }
            None => {
                return Err(TokenizerError::invalid(
                    "tokenizer.ggml.model is missing: the file has no vocabulary inside",
                ));
            }
        };
        let tokens = self.strings("tokens")?;
        let types = match self.0.integers(&key("token_type"))? {
            Some(types) if types.len() == tokens.len() => types,
            None if self.value("token_type").is_none() => vec![1; tokens.len()],
            _ => return Err(wrong("token_type", "an array of integers, one for each token")),
        };
        let added_tokens = tokens
            .iter()
            .zip(&types)
            .enumerate()
            .filter(|(_, (_, token_type))| [UNKNOWN, CONTROL, USER_DEFINED, UNUSED].contains(token_type))
            .map(|(id, (token, &token_type))| AddedToken {
                id: id as u32,
                content: token.clone(),
                special: token_type != USER_DEFINED,
                single_word: false,
                lstrip: false,
                rstrip: false,
            })
            .collect();
        let unk_token = match (style, self.value("unknown_token_id")) {
            (TokenStyle::SentencePiece { .. }, Some(&GgufValue::Integer(id))) => {
                usize::try_from(id).ok().and_then(|id| tokens.get(id)).cloned()
            }
            _ => None,
        };
        // Of equal tokens the encoder writes the last; the others are read all the same.
        Ok(Tokens { vocab: tokens.into_iter().zip(0..).collect(), unk_token, style, added_tokens })
    }
}

fn key(name: &str) -> String {
    format!("tokenizer.ggml.{name}")
}

pub(super) fn wrong(name: &str, expected: &str) -> TokenizerError {
    TokenizerError::invalid(format!("tokenizer.ggml.{name} is missing or not {expected}"))
}
