//! From text to tokens.
//!
//! An [`Encoder`] is a model's own way to cut text; it is asked only about text between added tokens. What it
//! answers is never trusted: [`crate::Tokenizer::encode`] compares bytes and falls back on [`segment`].

pub(crate) mod added_tokens;
#[cfg(feature = "tokenizers")]
pub(crate) mod pipeline;
pub(crate) mod saved;
pub(crate) mod segment;
#[cfg(feature = "tiktoken")]
pub(crate) mod tiktoken;

use self::saved::SavedEncoder;
use crate::{TokenId, TokenizerError};

/// A model's own way to cut text into tokens.
pub(crate) trait Encoder: Send + Sync {
    /// Tokens for `text` whose bytes should be exactly the text's; `None` if the encoder has no answer.
    fn encode_exact(&self, text: &str) -> Option<Vec<TokenId>>;

    /// Tokens for a piece of a prompt that begins at byte `start` of it, as the model was trained to read it:
    /// normalised, with a dummy space in front. `None` as for [`Encoder::encode_exact`].
    ///
    /// # Errors
    /// If the text cannot be normalised.
    fn encode_prompt(&self, text: &str, _start: usize) -> Result<Option<Vec<TokenId>>, TokenizerError> {
        Ok(self.encode_exact(text))
    }

    /// A character that the encoder uses for something else and so cannot take as text.
    fn reserved_char(&self) -> Option<char> {
        None
    }

    /// What makes the encoder again.
    fn save(&self) -> SavedEncoder;
}

/// The encoder of a vocabulary that has no other: the trie is all there is.
pub(crate) struct NoEncoder;

impl Encoder for NoEncoder {
    fn encode_exact(&self, _: &str) -> Option<Vec<TokenId>> {
        None
    }

    fn save(&self) -> SavedEncoder {
        SavedEncoder::None
    }
}
