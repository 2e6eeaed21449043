//! Loaders for the files that tokenizers come in.
//!
//! Each reads its format into plain data: [`tokens`] for the vocabulary and `bpe` for the encoder.
//! [`Vocabulary`](crate::Vocabulary) and [`Tokenizer`](crate::Tokenizer) are made of these; the loaders know
//! neither. Files are untrusted, so every size is checked against a limit before memory is taken for it.

#[cfg(feature = "tokenizers")]
pub(crate) mod bpe;
#[cfg(feature = "tokenizers")]
pub(crate) mod chat_template;
pub(crate) mod eos;
pub(crate) mod gguf;
#[cfg(feature = "tokenizers")]
pub(crate) mod gguf_bpe;
pub(crate) mod hugging_face;
#[cfg(feature = "tokenizers")]
pub(crate) mod pre_tokenizers;
#[cfg(feature = "tiktoken")]
pub(crate) mod tiktoken;
pub(crate) mod tokenizer_json;
pub(crate) mod tokens;

use std::io::Read;
use std::path::Path;

use self::tokens::Tokens;
use crate::{TokenId, TokenizerError};

/// The largest file that is read beside a tokenizer: configurations have a few hundred kilobytes at most,
/// templates some ten.
const MAX_CONFIG_LEN: usize = 1 << 24;

/// A file whose tokens have been read.
pub(crate) struct Loaded<R> {
    pub(crate) tokens: Tokens,
    /// The ids that end a text.
    pub(crate) eos: Vec<TokenId>,
    /// The width of the logits, where it was given.
    pub(crate) vocab_size: Option<usize>,
    /// The rest of the file, which says how to encode.
    #[cfg_attr(
        not(feature = "tokenizers"),
        expect(dead_code, reason = "the library that encodes is missing")
    )]
    pub(crate) rest: R,
}

/// The content of a file of at most `limit` bytes.
pub(crate) fn read_limited(path: &Path, limit: usize) -> Result<Vec<u8>, TokenizerError> {
    let file = std::fs::File::open(path).map_err(TokenizerError::io)?;
    let mut content = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut content).map_err(TokenizerError::io)?;
    if content.len() > limit {
        return Err(TokenizerError::limit(format!("the file has more than {limit} bytes"), limit));
    }
    Ok(content)
}
