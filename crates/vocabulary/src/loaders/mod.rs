//! Loaders for the files that tokenizers come in.
//!
//! Each reads its format into typed parts; [`definition`] makes the tokenizer. Files come from anywhere, so every
//! size is checked against a limit before memory is taken for it.

pub(crate) mod definition;
pub(crate) mod eos;
pub(crate) mod gguf;
pub(crate) mod gguf_reader;
pub(crate) mod hugging_face;
pub(crate) mod pre_tokenizers;
pub(crate) mod tiktoken;
pub(crate) mod tokenizer_json;

use std::io::Read;
use std::path::Path;

use crate::TokenizerError;

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
