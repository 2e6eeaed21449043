//! Encoders as plain data, to be saved with their tokenizer.
//!
//! Such data hold what the loaders read from a file, and the same checks make an encoder of them again.

use serde::{Deserialize, Serialize};

#[cfg(feature = "tokenizers")]
use super::added_tokens::AddedToken;
#[cfg(feature = "tokenizers")]
use crate::TokenizerError;
#[cfg(feature = "tokenizers")]
use crate::loaders::{bpe::Bpe, tokens::Tokens};
use crate::token_bytes::TokenStyle;

/// An encoder, written down.
#[derive(Serialize, Deserialize)]
pub(crate) enum SavedEncoder {
    /// There is none.
    None,
    /// The name of one of OpenAI's encodings.
    Tiktoken(String),
    /// The model and the stages of a tokenizer file.
    Bpe(Box<SavedBpe>),
}

/// The model and the stages of a tokenizer file.
#[derive(Serialize, Deserialize)]
pub(crate) struct SavedBpe {
    pub(crate) vocab: Vec<(String, u32)>,
    pub(crate) unk_token: Option<String>,
    pub(crate) style: TokenStyle,
    pub(crate) merges: Vec<(u32, u32)>,
    pub(crate) ignore_merges: bool,
    pub(crate) byte_fallback: bool,
    pub(crate) fuse_unk: bool,
    /// JSON.
    pub(crate) normalizer: String,
    /// JSON.
    pub(crate) pre_tokenizer: String,
}

/// The most bytes that the merges' texts may take; Gemma's take 5 MB.
#[cfg(feature = "tokenizers")]
const MAX_MERGES_LEN: usize = 1 << 28;

#[cfg(feature = "tokenizers")]
impl SavedBpe {
    /// What the loaders read from a file.
    pub(crate) fn parts(self, added_tokens: Vec<AddedToken>) -> Result<(Tokens, Bpe), TokenizerError> {
        let texts: rustc_hash::FxHashMap<u32, &String> =
            self.vocab.iter().map(|(token, id)| (*id, token)).collect();
        let text = |id: u32| {
            let text = texts.get(&id).map(|&text| text.clone());
            text.ok_or_else(|| {
                TokenizerError::invalid(format!("a merge has the token {id}, which does not exist"))
            })
        };
        // Every merge copies the texts of its tokens, and a long token can be in many merges.
        let mut n_bytes = 0;
        let merges = self.merges.iter().map(|&(left, right)| {
            let merge = (text(left)?, text(right)?);
            n_bytes += merge.0.len() + merge.1.len();
            match n_bytes > MAX_MERGES_LEN {
                true => Err(TokenizerError::limit("the merges are too long".to_owned(), MAX_MERGES_LEN)),
                false => Ok(merge),
            }
        });
        let bpe = Bpe {
            merges: merges.collect::<Result<_, TokenizerError>>()?,
            ignore_merges: self.ignore_merges,
            byte_fallback: self.byte_fallback,
            fuse_unk: self.fuse_unk,
            normalizer: serde_json::from_str(&self.normalizer)?,
            pre_tokenizer: serde_json::from_str(&self.pre_tokenizer)?,
        };
        let tokens = Tokens { vocab: self.vocab, unk_token: self.unk_token, style: self.style, added_tokens };
        Ok((tokens, bpe))
    }
}
