//! A model's vocabulary.
//!
//! What a token is: an index in the model's logits and its bytes. This layer knows no grammar. It holds the
//! [`Vocabulary`] with its [`Trie`], the packed [`Mask`], and the loaders for tokenizer files.

mod encoder;
mod error;
mod loaders;
mod mask;
mod text_below;
mod token_bytes;
mod tokenizer;
mod tokenizer_error;
mod trie;
mod vocabulary;

pub use error::VocabularyError;
pub use mask::{Mask, mask_contains, mask_insert, mask_words};
pub use tokenizer::{Tokenizer, TokenizerOptions};
pub use tokenizer_error::TokenizerError;
pub use trie::{Trie, TrieNodeId};
pub use vocabulary::{MAX_VOCABULARY, TokenId, Vocabulary};
