//! From text to tokens.
//!
//! An [`Encoder`] is a model's own way to cut text; it is asked only about text between added tokens. What it
//! answers is never trusted: [`crate::Tokenizer::encode`] compares bytes and falls back on [`segment`].

pub(crate) mod added_tokens;
pub(crate) mod pipeline;
pub(crate) mod segment;

use tiktoken_rs::CoreBPE;

use crate::TokenizerError;
use pipeline::Pipeline;

/// A model's own way to cut text into tokens.
pub(crate) enum Encoder {
    /// What a tokenizer.json or a GGUF describes.
    Pipeline(Box<Pipeline>),
    /// One of OpenAI's encodings.
    Tiktoken(&'static CoreBPE),
    /// None: the trie is all there is.
    Trie,
}

/// Above this many white-space characters in a row, the tiktoken encoder is not asked: its regular expression
/// steps back over them one by one, and gives up with a panic at a million.
const MAX_TIKTOKEN_WHITE_SPACE: usize = 1 << 16;

impl Encoder {
    /// Tokens for `text` whose bytes should be exactly the text's; `None` where there is no encoder for it.
    pub(crate) fn encode_exact(&self, text: &str) -> Option<Vec<u32>> {
        match self {
            Encoder::Pipeline(pipeline) => pipeline.encode_exact(text),
            Encoder::Tiktoken(encoding) => tiktoken(encoding, text),
            Encoder::Trie => None,
        }
    }

    /// Tokens for a piece of a prompt that begins at byte `start` of it, as the model was trained to read it:
    /// normalised, with a dummy space in front. `None` as for [`Encoder::encode_exact`].
    ///
    /// # Errors
    /// If the text cannot be normalised.
    pub(crate) fn encode_prompt(&self, text: &str, start: usize) -> Result<Option<Vec<u32>>, TokenizerError> {
        match self {
            Encoder::Pipeline(pipeline) => pipeline.encode_prompt(text, start).map(Some),
            _ => Ok(self.encode_exact(text)),
        }
    }

    /// A character that the encoder uses for something else and so cannot take as text.
    pub(crate) fn reserved_char(&self) -> Option<char> {
        match self {
            Encoder::Pipeline(pipeline) => pipeline.reserved_char(),
            _ => None,
        }
    }
}

fn tiktoken(encoding: &CoreBPE, text: &str) -> Option<Vec<u32>> {
    let mut run = 0;
    for character in text.chars() {
        run = if character.is_whitespace() { run + 1 } else { 0 };
        if run > MAX_TIKTOKEN_WHITE_SPACE {
            return None;
        }
    }
    Some(encoding.encode_ordinary(text))
}
