//! Loaders for the files that tokenizers come in.
//!
//! Each reads its format into typed parts: [`tokens`] for the vocabulary and `bpe` for the encoder. Only `bpe` needs the crate
//! `tokenizers`. Files are untrusted, so every size is checked against a limit before memory is taken for it.

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
#[cfg(feature = "tokenizers")]
use crate::Tokenizer;
use crate::{TokenId, TokenizerError, Vocabulary};

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

impl<R> Loaded<R> {
    /// The tokens and their bytes.
    pub(crate) fn vocabulary(&self) -> Result<Vocabulary, TokenizerError> {
        self.tokens.vocabulary(&self.eos, self.vocab_size)
    }

    /// The tokens with their encoder, which `read_bpe` reads from the rest of the file.
    #[cfg(feature = "tokenizers")]
    pub(crate) fn tokenizer(
        self,
        read_bpe: impl FnOnce(R, &Tokens) -> Result<bpe::Bpe, TokenizerError>,
    ) -> Result<Tokenizer, TokenizerError> {
        let vocabulary = self.vocabulary()?;
        read_bpe(self.rest, &self.tokens)?.tokenizer(self.tokens, vocabulary)
    }
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
